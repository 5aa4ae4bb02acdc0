/*
 * event_changes.h: what one event changed compared with the version of the same object (resource and UID)
 * before it, and by whom. The table `changes` and all commands that print changes use it.
 *
 * Give it the events of one walk: it keeps the version that it saw last, so that a walk in the order of
 * storage decodes each object once. If the walk does not give the version before, it fetches that one.
 */
#ifndef SCHEMA_SQL_EVENT_CHANGES_H
#define SCHEMA_SQL_EVENT_CHANGES_H

#include "schema/sql/json_diff.h"
#include "schema/tape/audit_book.h"
#include "schema/tape/reader.h"

enum change_op { CHANGE_ADD, CHANGE_REMOVE, CHANGE_REPLACE };

/* A field; or the whole object, with the path "$" and no field, of an event that made it, took it away, or has no
 * version before it on the tape (a "replace" without an old value). Borrowed until the next event_changes_make. */
struct event_change {
	enum change_op op;
	bool is_whole;
	struct json_change change; /* path, field, old and new value: raw JSON */
};

/* Who is said to have written something. Empty: it is not known. */
struct change_who {
	struct slice manager; /* by managedFields, still with the escapes of JSON */
};

struct event_changes;

struct event_changes *event_changes_new(void);
void event_changes_free(struct event_changes *c); /* accepts NULL */

/* For walks that show either all of an object's events or none: announces one, of the events after after_seq
 * up to last_seq. The last version of each object is kept, up to a maximum. It also serves the next walk if
 * that begins where this one ends; else it is dropped. */
void event_changes_walk(struct event_changes *c, uint64_t after_seq, uint64_t last_seq);

/* Replaces the contents of c by the event at the cursor. `with_noise` as in json_diff.h. Returns the number
 * of changes, 0 if nothing but noise changed. Reads objects of the tape. */
int event_changes_make(struct event_changes *c, struct tape *t, struct tape_cursor *cursor,
	const struct event *e, bool with_noise, struct err *err) MUST_CHECK;

size_t event_changes_count(const struct event_changes *c);
struct event_change event_changes_at(const struct event_changes *c, size_t index);

/* The event's object, borrowed until the next event_changes_make. */
struct slice event_changes_object(const struct event_changes *c);

/* The manager that made the change. A deletion has none: managedFields name the last writer, not who deletes.
 * An object that appears was made by its manager if it has only one. Negative if something is not JSON. */
int event_changes_who(
	struct event_changes *c, size_t index, struct change_who *ret, struct err *err) MUST_CHECK;

/* The request that made the event, of the tape's audit book: 1 and its claim, borrowed until the next call on c; 0: it is
 * not known. */
int event_changes_request(struct event_changes *c, struct audit_claim *ret, struct err *err) MUST_CHECK;

/* "add", "remove", "replace". */
const char *change_op_name(enum change_op op);

#endif
