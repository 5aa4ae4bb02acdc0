/*
 * recover_check.h: recovers a damaged tape of the model's (tape_model.h) and holds the new one against the
 * model: it is sound, every event in it is one of the model's, byte for byte, and each that is not was told.
 */
#ifndef TESTS_UNIT_RECOVER_CHECK_H
#define TESTS_UNIT_RECOVER_CHECK_H

#include "schema/tape/recover.h"
#include "schema/tape/verify.h"
#include "tests/unit/tape_model.h"

/* What one recovery said: by old seq whether it is lost. */
struct told {
	bool *lost;
	size_t seqs;
	unsigned long events, rows, tables_in_doubt, calls;
	char why[128], file[64];
};

static inline int note_loss(void *context, const struct tape_loss *loss)
{
	struct told *t = context;

	if (!t->calls++) {
		snprintf(t->why, sizeof(t->why), "%s", loss->why);
		snprintf(t->file, sizeof(t->file), "%s", loss->file);
	}
	ck_assert_uint_le(loss->first, loss->last);
	if (loss->table) {
		t->rows += loss->first ? loss->last - loss->first + 1 : 0;
		t->tables_in_doubt += !loss->first;
		return 0;
	}
	t->events += loss->last - loss->first + 1;
	for (uint64_t seq = loss->first; seq <= loss->last && seq <= t->seqs; seq++) {
		ck_assert(!t->lost[seq]);
		t->lost[seq] = true;
	}
	if (loss->event)
		ck_assert_uint_eq(loss->event->seq, loss->first);
	return 0;
}

static inline int fail_at_damage(void *context, const struct tape_damage *d)
{
	(void)context;
	ck_abort_msg("new tape: %s: %s: found %s, expected %s", d->file, d->what, d->found, d->expected);
	return 1;
}

static inline void check_sound(const char *path)
{
	struct tape_verify_options options = {.damaged = fail_at_damage};
	struct tape_verify_result result;
	struct err err;

	ck_assert_ok(tape_verify(path, &options, &result, &err), &err);
}

/* The events of the new tape are the model's, but for those that were told lost. */
static inline void check_events(struct model *m, const char *path, const struct told *told, bool tail_unknown)
{
	struct tape_cursor *c;
	struct slice object;
	struct event e;
	struct tape *t;
	struct err err;
	uint64_t old = 0, new = 0;

	ck_assert_ok(tape_open(path, &t, &err), &err);
	ck_assert_ok(tape_cursor_open(t, NULL, TAPE_FORWARD, &c, &err), &err);
	while (tape_cursor_next(c, &e, &err) > 0) {
		do
			old++;
		while (old <= m->count && told->lost[old]);
		ck_assert_uint_eq(e.seq, ++new);
		ck_assert_ok(tape_cursor_object(c, &object, &err), &err);
		e.seq = old;
		model_check_event(m, &e, object);
	}
	for (old++; old <= m->count && !tail_unknown; old++)
		ck_assert_msg(
			told->lost[old], "event %llu is lost and nobody said so", (unsigned long long)old);
	tape_cursor_close(c);
	tape_close(t);
}

/* cut: the end may lack without a word, as nothing tells a log that was cut from one that ended there. */
static inline struct told recover_cut(struct model *m, bool cut, struct tape_recover_result *ret)
{
	struct told told = {.lost = calloc(m->count + 1, sizeof(bool)), .seqs = m->count};
	struct tape_recover_options options = {.lost = note_loss, .context = &told};
	struct tape_recover_result result;
	char *to = xasprintf("%s/new.tape", m->dir), *command = xasprintf("rm -rf %s/new.tape", m->dir);
	struct err err;

	ck_assert_int_eq(system(command), 0);
	ck_assert_ok(tape_recover(m->path, to, &options, &result, &err), &err);
	ck_assert_uint_eq(result.lost_events, told.events);
	ck_assert_uint_eq(result.lost_rows, told.rows);
	check_sound(to);
	check_events(m, to, &told, cut || result.tail_unknown);
	if (ret)
		*ret = result;
	free(to);
	free(command);
	return told;
}

static inline struct told recover(struct model *m, struct tape_recover_result *ret)
{
	return recover_cut(m, false, ret);
}

static inline void add_rows(struct tape_writer *w)
{
	struct tape_mark mark = {.kind = MARK_BOOKMARK, .stream = 1, .rv = slice_of("5")};
	struct tape_document d = {
		.path = "/api", .variant = "", .body = slice_of("{\"kind\":\"APIVersions\"}")};
	struct tape_connection c = {.stream = 1, .purpose = "watch", .target = "/api/v1/pods"};
	struct err err;

	ck_assert_ok(tape_writer_mark(w, &mark, &err), &err);
	ck_assert_ok(tape_writer_document(w, &d, &err), &err);
	ck_assert_ok(tape_writer_begin_connection(w, &c, &err), &err);
}

#endif
