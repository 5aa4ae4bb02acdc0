/* audit_evidence.c: see audit_evidence.h. */
#include "tools/audit/audit_evidence.h"

#include "schema/base/clock.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"
#include "schema/base/timestamp.h"
#include "schema/sql/managed_fields.h"

#include <stdlib.h>

void evidence_set(struct evidence *v, const struct event *e)
{
	*v = (struct evidence){.seq = e->seq,
		.time_ns = e->time_ns,
		.type = e->type,
		.origin = e->origin,
		.uid = slice_dup(e->uid),
		.rv = slice_dup(e->rv)};
	buf_init(&v->object, LIMIT_OBJECT_BYTES);
	buf_init(&v->old, LIMIT_OBJECT_BYTES);
}

void evidence_release(struct evidence *v)
{
	free(v->uid);
	free(v->rv);
	free(v->old_rv);
	buf_release(&v->object);
	buf_release(&v->old);
	*v = (struct evidence){0};
}

static int read_object(struct tape *t, uint64_t seq, struct buf *to, struct err *err)
{
	struct slice object;
	int rc = tape_object(t, seq, &object, err);

	return rc ? rc : buf_append(to, object.ptr, object.len, err);
}

/* The event before it counts only if it is of the same object. */
static int read_before(struct evidence *v, struct tape *t, uint64_t seq, struct err *err)
{
	struct event before;
	struct buf keep;
	int rc;

	buf_init(&keep, LIMIT_OBJECT_BYTES);
	rc = tape_event(t, seq, &before, &keep, err);
	if (!rc && before.type != EVENT_DELETED && slice_is(before.uid, v->uid)) {
		v->old_rv = slice_dup(before.rv);
		rc = read_object(t, seq, &v->old, err);
	}
	buf_release(&keep);
	return rc;
}

int evidence_load(struct evidence *v, struct tape *t, struct err *err)
{
	uint64_t before;
	int rc;

	if (v->object.len)
		return 0;
	rc = tape_previous(t, v->seq, &before, err);
	if (!rc)
		rc = read_object(t, v->seq, &v->object, err);
	return rc || !before ? rc : read_before(v, t, before, err);
}

/* ---- managedFields ---- */

static struct slice managed_entries(const struct buf *object)
{
	struct slice entries;

	if (json_get(buf_slice(object), "$.metadata.managedFields", &entries, NULL) > 0 &&
		entries.ptr[0] == '[')
		return entries;
	return (struct slice){"[]", 2};
}

static bool has_entry(struct slice entries, struct slice entry)
{
	struct json_iter it;
	struct slice value;

	if (json_iter_begin(entries, &it, NULL))
		return false;
	while (json_iter_next(&it, NULL, &value, NULL) > 0) {
		if (slice_equal(value, entry))
			return true;
	}
	return false;
}

/* Whether a member of an entry is that text; a member that is absent is the empty text. */
static bool member_is(struct slice entry, const char *name, struct slice text)
{
	struct slice value;
	struct buf wanted;
	bool same;

	if (json_get(entry, name, &value, NULL) <= 0)
		return text.len == 0;
	buf_init(&wanted, 8 * LIMIT_NAME_BYTES);
	same = json_escape(text, &wanted, NULL) == 0 && json_text_compare(value, buf_slice(&wanted)) == 0;
	buf_release(&wanted);
	return same;
}

static bool is_of_request(struct slice entry, const struct audit_entry *e)
{
	return member_is(entry, "manager", e->field_manager) &&
	       member_is(entry, "subresource", e->subresource);
}

enum evidence_managed evidence_managed(const struct evidence *v, const struct audit_entry *e)
{
	struct slice old = managed_entries(&v->old), entry;
	enum evidence_managed found = MANAGED_SILENT;
	struct json_iter it;

	if (!e->field_manager.len || !v->old.len || json_iter_begin(managed_entries(&v->object), &it, NULL))
		return MANAGED_SILENT;
	while (json_iter_next(&it, NULL, &entry, NULL) > 0) {
		if (has_entry(old, entry))
			continue;
		if (is_of_request(entry, e))
			return MANAGED_AGREES;
		if (!managed_fields_lost_replicas(old, entry))
			found = MANAGED_CONTRADICTS;
	}
	return found;
}

/* Times of entries are whole seconds, rounded down. */
static bool is_dated(struct slice entry, const struct audit_entry *e)
{
	struct slice time;
	int64_t ns;

	return json_get(entry, "time", &time, NULL) > 0 && time.len > 2 &&
	       timestamp_parse((struct slice){time.ptr + 1, time.len - 2}, &ns) &&
	       ns > e->begin_ns - NS_PER_S && ns <= e->end_ns;
}

bool evidence_is_dated(const struct evidence *v, const struct audit_entry *e)
{
	struct slice entry;
	struct json_iter it;

	if (json_iter_begin(managed_entries(&v->object), &it, NULL))
		return false;
	while (json_iter_next(&it, NULL, &entry, NULL) > 0) {
		if (is_of_request(entry, e) && is_dated(entry, e))
			return true;
	}
	return false;
}

static bool is_being_deleted(const struct buf *object)
{
	struct slice time;

	return object->len && json_get(buf_slice(object), "$.metadata.deletionTimestamp", &time, NULL) > 0;
}

bool evidence_begins_deletion(const struct evidence *v)
{
	return is_being_deleted(&v->object) && !is_being_deleted(&v->old);
}

static bool has_node(const struct buf *object)
{
	struct slice name;

	return object->len && json_get(buf_slice(object), "$.spec.nodeName", &name, NULL) > 0;
}

bool evidence_binds(const struct evidence *v)
{
	return has_node(&v->object) && v->old.len && !has_node(&v->old);
}
