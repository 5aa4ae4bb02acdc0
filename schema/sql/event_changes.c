/* event_changes.c: see event_changes.h. */
#include "schema/sql/event_changes.h"

#include "schema/base/limits.h"
#include "schema/sql/last_versions.h"
#include "schema/sql/managed_fields.h"

#include <stdlib.h>

/* Ten thousand objects and more; it is far less than the blocks in which they lie. */
#define KEPT_BYTES ((size_t)64 << 20)

struct event_changes {
	struct object_version old, new;
	struct last_versions *kept; /* of other objects; NULL: of none */
	uint64_t walk_end;          /* of the walk for which they are kept */
	struct buf identity, uid;   /* of the event */
	enum event_type type;
	bool has_old;
	struct json_diff *diff;
	size_t count; /* the change past those of the diff is about the whole object */
	/* Of all changes, if managedFields tell of one writer; looked for when first asked. */
	bool writer_known;
	struct slice writer;
	struct managed_entries entries;
	/* Of the request; the book is opened when first asked. */
	struct tape *tape; /* borrowed */
	struct buf rv;
	struct audit_book *book;
	bool book_known;
};

const char *change_op_name(enum change_op op)
{
	static const char *const names[] = {
		[CHANGE_ADD] = "add", [CHANGE_REMOVE] = "remove", [CHANGE_REPLACE] = "replace"};

	return names[op];
}

/* ---- versions ---- */

/* The last event before `e` of this very object: 1, or 0 for none. For where several objects have one key at a time, as in what
 * was imported of several clusters: the last event of the key may be that of another one. */
static int previous_of_uid(
	struct tape *t, const struct event *e, uint64_t *ret_seq, enum event_type *ret_type, struct err *err)
{
	char *namespace = slice_dup(e->namespace), *name = slice_dup(e->name), *uid = slice_dup(e->uid);
	struct tape_filter filter = {.resource = e->resource,
		.namespace = namespace,
		.name = name,
		.uid = uid,
		.seq_max = e->seq - 1};
	struct tape_cursor *cursor = NULL;
	struct event before;
	int found = tape_cursor_open(t, &filter, TAPE_BACKWARD, &cursor, err);

	if (!found)
		found = tape_cursor_next(cursor, &before, err);
	if (found > 0) {
		*ret_seq = before.seq;
		*ret_type = before.type;
	}
	tape_cursor_close(cursor);
	free(namespace);
	free(name);
	free(uid);
	return found;
}

/* The event before `e` of its object: 1, or 0 for none. What is added has none if another object had its key. */
static int previous_of_object(
	struct tape *t, const struct event *e, uint64_t *ret_seq, enum event_type *ret_type, struct err *err)
{
	struct event before;
	struct buf keep;
	uint64_t seq;
	int rc = tape_previous(t, e->seq, &seq, err);

	if (rc || !seq)
		return rc;
	buf_init(&keep, LIMIT_OBJECT_BYTES);
	rc = tape_event(t, seq, &before, &keep, err);
	if (!rc && before.resource == e->resource && slice_equal(before.uid, e->uid)) {
		*ret_seq = seq;
		*ret_type = before.type;
		rc = 1;
	} else if (!rc && e->type != EVENT_ADDED) {
		rc = previous_of_uid(t, e, ret_seq, ret_type, err);
	}
	buf_release(&keep);
	return rc;
}

/* Looks up the version before `e`; v->seq is 0 when there is none of the same object. */
static int version_before(struct tape *t, const struct event *e, struct slice identity,
	struct object_version *v, struct err *err)
{
	enum event_type type = EVENT_ADDED;
	struct slice object;
	uint64_t seq = 0;
	int rc;

	v->seq = 0;
	rc = previous_of_object(t, e, &seq, &type, err);
	if (rc <= 0 || type == EVENT_DELETED)
		return rc < 0 ? rc : 0;
	rc = tape_object(t, seq, &object, err);
	return rc ? rc : object_version_set(v, seq, identity, object, err);
}

/* Puts the version before the event into c->old, which has the one of the event before that one in the walk. */
static int load_old(struct event_changes *c, struct tape *t, const struct event *e, struct err *err)
{
	struct slice identity = buf_slice(&c->identity);

	if (object_version_precedes(&c->old, e->seq, identity))
		return 0;
	if (c->kept) {
		last_versions_put(c->kept, &c->old);
		if (last_versions_take(c->kept, e->seq, identity, &c->old))
			return 0;
	}
	return version_before(t, e, identity, &c->old, err);
}

/* Puts the event's object into c->new and the version before it into c->old. */
static int load_versions(struct event_changes *c, struct tape *t, struct tape_cursor *cursor,
	const struct event *e, struct err *err)
{
	struct object_version last = c->new;
	struct slice object;
	int rc;

	c->new = c->old;
	c->old = last;
	rc = object_identity(&c->identity, e, err);
	if (!rc)
		rc = load_old(c, t, e, err);
	if (!rc)
		rc = tape_cursor_object(cursor, &object, err);
	return rc ? rc : object_version_set(&c->new, e->seq, buf_slice(&c->identity), object, err);
}

void event_changes_walk(struct event_changes *c, uint64_t after_seq, uint64_t last_seq)
{
	if (!c->kept)
		c->kept = last_versions_new(KEPT_BYTES);
	if (after_seq != c->walk_end) {
		c->new.seq = 0;
		last_versions_clear(c->kept);
	}
	c->walk_end = last_seq;
}

/* ---- changes ---- */

struct event_changes *event_changes_new(void)
{
	struct event_changes *c = xcalloc(1, sizeof(*c));

	object_version_init(&c->old);
	object_version_init(&c->new);
	buf_init(&c->identity, 4 * LIMIT_NAME_BYTES);
	buf_init(&c->uid, LIMIT_NAME_BYTES + 16);
	buf_init(&c->rv, LIMIT_NAME_BYTES + 16);
	c->diff = json_diff_new();
	return c;
}

void event_changes_free(struct event_changes *c)
{
	if (!c)
		return;
	object_version_release(&c->old);
	object_version_release(&c->new);
	last_versions_free(c->kept);
	json_diff_free(c->diff);
	buf_release(&c->identity);
	buf_release(&c->uid);
	buf_release(&c->rv);
	audit_book_close(c->book);
	free(c);
}

int event_changes_make(struct event_changes *c, struct tape *t, struct tape_cursor *cursor,
	const struct event *e, bool with_noise, struct err *err)
{
	struct slice none = {NULL, 0};
	int rc;

	/* After a deletion the next object of that UID is new. */
	if (c->type == EVENT_DELETED)
		c->new.seq = 0;
	c->count = 0;
	c->writer_known = false;
	c->tape = t;
	buf_clear(&c->rv);
	buf_clear(&c->uid);
	rc = load_versions(c, t, cursor, e, err);
	if (!rc)
		rc = buf_append(&c->uid, e->uid.ptr, e->uid.len, err);
	if (!rc)
		rc = buf_append(&c->rv, e->rv.ptr, e->rv.len, err);
	if (rc)
		return rc;
	c->type = e->type;
	c->has_old = c->old.seq != 0;
	rc = json_diff_make(c->diff, c->has_old ? buf_slice(&c->old.object) : none,
		c->has_old ? buf_slice(&c->new.object) : none, with_noise, err);
	if (rc)
		return err_prefix(
			err, rc, "cannot compare event %llu with the one before", (unsigned long long)e->seq);
	c->count = json_diff_count(c->diff) + (!c->has_old || e->type == EVENT_DELETED);
	return (int)c->count;
}

size_t event_changes_count(const struct event_changes *c)
{
	return c->count;
}

struct slice event_changes_object(const struct event_changes *c)
{
	return buf_slice(&c->new.object);
}

static struct event_change change_of_field(const struct json_diff *d, size_t index)
{
	struct json_change change = json_diff_at(d, index);
	enum change_op op = !change.old_value.len   ? CHANGE_ADD
			    : !change.new_value.len ? CHANGE_REMOVE
						    : CHANGE_REPLACE;

	return (struct event_change){op, false, change};
}

struct event_change event_changes_at(const struct event_changes *c, size_t index)
{
	static const enum change_op ops[] = {[EVENT_ADDED] = CHANGE_ADD,
		[EVENT_MODIFIED] = CHANGE_REPLACE,
		[EVENT_DELETED] = CHANGE_REMOVE};
	struct slice none = {NULL, 0};

	if (index < json_diff_count(c->diff))
		return change_of_field(c->diff, index);
	return (struct event_change){ops[c->type], true,
		{slice_of("$"), slice_of(""), c->has_old ? buf_slice(&c->old.object) : none,
			c->type == EVENT_DELETED ? none : buf_slice(&c->new.object)}};
}

/* ---- who ---- */

/* The writer of all changes, if there is only one. */
static int find_writer(struct event_changes *c, struct err *err)
{
	struct slice old = c->has_old ? buf_slice(&c->old.object) : (struct slice){NULL, 0};
	int rc = 0;

	if (c->writer_known)
		return 0;
	c->writer = (struct slice){NULL, 0};
	if (!json_diff_managers(c->diff, &c->entries.old, &c->entries.new))
		rc = managed_fields_entries(old, buf_slice(&c->new.object), &c->entries, err);
	if (!rc)
		rc = managed_fields_writer(&c->entries, &c->writer, err);
	c->writer_known = rc >= 0;
	return rc < 0 ? rc : 0;
}

int event_changes_who(struct event_changes *c, size_t index, struct change_who *ret, struct err *err)
{
	struct event_change change = event_changes_at(c, index);
	int rc;

	*ret = (struct change_who){{NULL, 0}};
	if (change.is_whole && c->type != EVENT_ADDED)
		return 0;
	rc = find_writer(c, err);
	if (rc)
		return rc;
	ret->manager = c->writer;
	if (c->writer.ptr || change.is_whole)
		return 0;
	rc = managed_fields_owner(
		&c->entries, buf_slice(&c->new.object), change.change.path, &ret->manager, err);
	return rc < 0 ? rc : 0;
}

int event_changes_request(struct event_changes *c, struct audit_claim *ret, struct err *err)
{
	const struct event e = {.type = c->type, .uid = buf_slice(&c->uid), .rv = buf_slice(&c->rv)};
	int rc = c->book_known ? 0 : audit_book_open(tape_path_of(c->tape), &c->book, err);

	c->book_known = !rc;
	return rc ? rc : audit_book_find(c->book, &e, ret, err);
}
