/*
 * push_note.h: the file TAPE.push (TAPE.push-clickhouse) beside a tape that was pushed: where to, and how much of it, so that
 * `info` can say what the store lacks without asking it. Losing it loses nothing.
 */
#ifndef RECORDER_PUSH_PUSH_NOTE_H
#define RECORDER_PUSH_PUSH_NOTE_H

#include "schema/base/buf.h"

enum push_note_kind { PUSH_NOTE_STORE, PUSH_NOTE_CLICKHOUSE, PUSH_NOTE_KINDS };

struct push_note {
	enum push_note_kind kind;
	char *tape_id, *url;
	uint32_t first;    /* of the segments that the store ever had; 0: not known */
	uint32_t through;  /* the store has every segment up to this number */
	int64_t pushed_ns; /* wall clock: when that was found */
};

/* Failures are ignored. */
void push_note_write(const char *tape_path, const struct push_note *note);

/* False if the tape in that place, which has that id, has no note: one of a tape that was there before it counts as none. The
 * caller releases. */
bool push_note_read(
	const char *tape_path, const char *tape_id, enum push_note_kind kind, struct push_note *ret);
void push_note_release(struct push_note *note);

/* Sealed segments here that the store does not have, and when the first of them was sealed (0 without one). */
struct push_lag {
	uint64_t segments, bytes;
	int64_t since_ns;
};
struct push_lag push_note_lag(const char *tape_path, const struct push_note *note);

#endif
