/* audit_join.c: see audit_join.h. */
#include "tools/audit/audit_join.h"

#include "replayer/request/verb.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"
#include "schema/tape/audit_book.h"
#include "tools/audit/audit_evidence.h"

#include <stdlib.h>

#define CANDIDATES_MAX 8

const struct audit_outcome_words audit_outcome_words[AUDIT_OUTCOMES] = {
	[AUDIT_JOINED] = {"joined", "are joined to their events"},
	[AUDIT_KNOWN] = {"known", "had been joined before"},
	[AUDIT_AMBIGUOUS] = {"ambiguous", "may have made one of several events: not joined"},
	[AUDIT_UNCHANGED] = {"unchanged", "changed nothing: what they answered was so before the request"},
	[AUDIT_UNSURE] = {"unsure",
		"answered a version that a list showed: it may be older than the request"},
	[AUDIT_CONTRADICTED] = {"contradicted",
		"answered a version that another manager made, by managedFields"},
	[AUDIT_NOT_ON_TAPE] = {"not_on_tape",
		"made a version that is not on the tape, or nothing there fits them"},
	[AUDIT_NOT_RECORDED] = {"not_recorded", "wrote to resources that are not on the tape"},
	[AUDIT_NO_NAME] = {"no_name",
		"do not say which object they wrote (level Metadata, or nothing answered)"},
	[AUDIT_NO_WRITE] = {"no_write", "do not write"},
	[AUDIT_FAILED] = {"failed", "were refused or failed (code 300 and above, or none)"},
	[AUDIT_DRY_RUN] = {"dry_run", "were dry runs"},
	[AUDIT_OTHER_STAGE] = {"other_stage", "are of another stage than ResponseComplete"},
	[AUDIT_BAD_LINE] = {"bad_line", "are no audit events"},
};

struct audit_joiner {
	struct tape *tape;
	struct audit_book *book;
	int64_t tolerance_ns;
	struct audit_entry entry;
	struct audit_totals totals;
};

int audit_joiner_open(const char *tape_path, int64_t tolerance_ns, struct audit_joiner **ret, struct err *err)
{
	struct audit_joiner *j = xcalloc(1, sizeof(*j));
	int rc = tape_open(tape_path, &j->tape, err);

	j->tolerance_ns = tolerance_ns;
	audit_entry_init(&j->entry);
	if (!rc)
		rc = audit_book_create(tape_path, &j->book, err);
	if (rc)
		audit_joiner_close(j);
	else
		*ret = j;
	return rc;
}

void audit_joiner_close(struct audit_joiner *j)
{
	if (!j)
		return;
	audit_entry_release(&j->entry);
	audit_book_close(j->book);
	tape_close(j->tape);
	free(j);
}

/* ---- noting ---- */

static int note(
	struct audit_joiner *j, const struct evidence *v, enum audit_how how, bool alone, struct err *err)
{
	const struct audit_entry *e = &j->entry;
	const struct audit_claim claim = {
		.uid = slice_of(v->uid),
		.rv = slice_of(v->type == EVENT_DELETED ? "" : v->rv),
		.how = how,
		.alone = alone,
		.audit_id = e->audit_id,
		.verb = e->verb,
		.subresource = e->subresource,
		.user = e->user,
		.impersonated_user = e->impersonated_user,
		.user_agent = e->user_agent,
		.source_ip = e->source_ip,
		.begin_ns = e->begin_ns,
		.end_ns = e->end_ns,
	};
	int rc = audit_book_put(j->book, &claim, err);

	return rc < 0 ? rc : rc ? AUDIT_JOINED : AUDIT_KNOWN;
}

/* ---- finding events ---- */

/* Events are one and the same in both of their groups. */
static bool is_recorded(const struct audit_joiner *j, const struct tape_resource *r)
{
	return slice_is(j->entry.resource, r->resource) &&
	       (slice_is(j->entry.apigroup, r->apigroup) || slice_is(j->entry.resource, "events"));
}

static bool is_resource_recorded(const struct audit_joiner *j)
{
	const struct tape_resource *r;

	for (size_t i = 0; (r = tape_resource_at(j->tape, i)); i++) {
		if (is_recorded(j, r))
			return true;
	}
	return false;
}

/* The first event for which `is_it` holds: 1, 0 for none. */
static int find_first(struct audit_joiner *j, const struct tape_filter *filter,
	bool (*is_it)(const struct event *e, struct slice rv), struct slice rv, struct evidence *ret,
	struct err *err)
{
	struct tape_cursor *c;
	struct event e;
	int more = tape_cursor_open(j->tape, filter, TAPE_FORWARD, &c, err);

	if (more)
		return more;
	while ((more = tape_cursor_next(c, &e, err)) > 0) {
		if (!is_it(&e, rv))
			continue;
		evidence_set(ret, &e);
		break;
	}
	tape_cursor_close(c);
	return more;
}

static bool is_version(const struct event *e, struct slice rv)
{
	return e->origin != ORIGIN_INFERRED && slice_equal(e->rv, rv);
}

static bool is_deletion(const struct event *e, struct slice rv)
{
	(void)rv;
	return e->type == EVENT_DELETED;
}

static int find_version(
	struct audit_joiner *j, const char *uid, const char *rv, struct evidence *ret, struct err *err)
{
	const struct tape_filter filter = {.uid = uid, .rv_min = rv, .rv_max = rv};

	return find_first(j, &filter, is_version, slice_of(rv), ret, err);
}

static bool is_after_request(const struct audit_joiner *j, int64_t time_ns)
{
	return time_ns >= j->entry.begin_ns - j->tolerance_ns;
}

static bool is_before_answer(const struct audit_joiner *j, int64_t time_ns)
{
	return time_ns <= j->entry.end_ns + j->tolerance_ns;
}

/* ---- by uid: what is deleted for good ---- */

/* A deletion that only a list showed may have happened long before it was seen. */
static int join_deletion(struct audit_joiner *j, const char *uid, struct err *err)
{
	const struct tape_filter filter = {.uid = uid, .time_min_ns = j->entry.begin_ns - j->tolerance_ns};
	struct evidence v;
	int rc = find_first(j, &filter, is_deletion, (struct slice){"", 0}, &v, err);

	if (rc <= 0)
		return rc ? rc : AUDIT_NOT_ON_TAPE;
	if (v.origin == ORIGIN_WATCH && !is_before_answer(j, v.time_ns))
		rc = AUDIT_NOT_ON_TAPE;
	else
		rc = note(j, &v, AUDIT_BY_UID, true, err);
	evidence_release(&v);
	return rc;
}

/* ---- by version: what was answered ---- */

/* A create is never without effect; any other write may have answered what another one made. */
static int judge_version(struct audit_joiner *j, struct evidence *v, struct err *err)
{
	const struct audit_entry *e = &j->entry;
	int rc;

	if (slice_is(e->verb, "create") && !e->subresource.len)
		return AUDIT_JOINED;
	if (!is_after_request(j, v->time_ns))
		return AUDIT_UNCHANGED;
	rc = evidence_load(v, j->tape, err);
	if (rc)
		return rc;
	if (slice_is(e->verb, "delete"))
		return evidence_begins_deletion(v) ? AUDIT_JOINED : AUDIT_UNCHANGED;
	if (v->origin != ORIGIN_WATCH)
		return evidence_is_dated(v, e) ? AUDIT_JOINED : AUDIT_UNSURE;
	if (slice_is(e->verb, "create")) /* of a subresource: it has no manager */
		return AUDIT_JOINED;
	return evidence_managed(v, e) == MANAGED_CONTRADICTS ? AUDIT_CONTRADICTED : AUDIT_JOINED;
}

static int join_found(struct audit_joiner *j, struct evidence *v, struct err *err)
{
	int rc = v->type == EVENT_DELETED ? AUDIT_JOINED : judge_version(j, v, err);

	return rc == AUDIT_JOINED ? note(j, v, AUDIT_BY_VERSION, true, err) : rc;
}

static bool is_being_deleted(struct slice object)
{
	struct slice time;

	return json_get(object, "$.metadata.deletionTimestamp", &time, NULL) > 0;
}

/* Those of a namespace's content stand in its spec. */
static bool has_finalizers(struct slice object)
{
	struct slice list;

	return (json_get(object, "$.metadata.finalizers", &list, NULL) > 0 && list.len > 2) ||
	       (json_get(object, "$.spec.finalizers", &list, NULL) > 0 && list.len > 2);
}

/* Whether the event is what a request to delete did. One with a grace period or finalizers began it; a later one ends it. */
static bool takes_away(const struct evidence *v)
{
	return evidence_begins_deletion(v) ||
	       (v->type == EVENT_DELETED && !is_being_deleted(buf_slice(&v->old)));
}

/* The event that took an object away, of which the answer has the state before: the first one that deletes it or
 * begins to. */
static int join_taken(struct audit_joiner *j, const char *uid, struct err *err)
{
	const struct tape_filter filter = {.uid = uid,
		.time_min_ns = j->entry.begin_ns - j->tolerance_ns,
		.time_max_ns = j->entry.end_ns + j->tolerance_ns};
	struct tape_cursor *c;
	struct event e;
	int more = tape_cursor_open(j->tape, &filter, TAPE_FORWARD, &c, err), rc = AUDIT_NOT_ON_TAPE;

	if (more)
		return more;
	while (rc == AUDIT_NOT_ON_TAPE && (more = tape_cursor_next(c, &e, err)) > 0) {
		struct evidence v;
		int loaded;

		evidence_set(&v, &e);
		loaded = evidence_load(&v, j->tape, err);
		if (loaded < 0)
			rc = loaded;
		else if (takes_away(&v))
			rc = note(j, &v, AUDIT_BY_UID, true, err);
		evidence_release(&v);
	}
	tape_cursor_close(c);
	return more < 0 ? more : rc;
}

/* The object that a delete answered: with the deletion's own version, with that which set deletionTimestamp, or as it
 * was before. */
static int join_deleted(struct audit_joiner *j, struct slice object, const char *uid, int found,
	struct evidence *v, struct err *err)
{
	int rc = found ? join_found(j, v, err) : AUDIT_NOT_ON_TAPE;

	if (rc < 0 || rc == AUDIT_JOINED || rc == AUDIT_KNOWN || is_being_deleted(object))
		return rc;
	return join_taken(j, uid, err);
}

/* What any other write answered. One that takes the last finalizer answers the version that was there before, without
 * it: nobody ever sees that, only the deletion. */
static int join_written(struct audit_joiner *j, struct slice object, const char *uid, int found,
	struct evidence *v, struct err *err)
{
	int rc;

	if (!found)
		return AUDIT_NOT_ON_TAPE;
	if (!is_being_deleted(object) || has_finalizers(object) || v->type == EVENT_DELETED)
		return join_found(j, v, err);
	rc = evidence_load(v, j->tape, err);
	if (rc)
		return rc;
	return has_finalizers(buf_slice(&v->object)) ? join_deletion(j, uid, err) : join_found(j, v, err);
}

static int join_object(struct audit_joiner *j, struct slice object, struct err *err)
{
	struct object_meta meta;
	struct evidence v = {0};
	char *uid, *rv;
	int rc;

	if (json_scan_object(object, &meta, NULL) || !meta.uid.len || !meta.rv.len)
		return AUDIT_NO_NAME;
	uid = slice_dup(meta.uid);
	rv = slice_dup(meta.rv);
	rc = find_version(j, uid, rv, &v, err);
	if (rc >= 0)
		rc = slice_is(j->entry.verb, "delete") ? join_deleted(j, object, uid, rc, &v, err)
						       : join_written(j, object, uid, rc, &v, err);
	evidence_release(&v);
	free(uid);
	free(rv);
	return rc;
}

/* An item is as it was before; one that was being deleted already was left alone. */
static int join_item(struct audit_joiner *j, struct slice item, struct err *err)
{
	struct object_meta meta;
	char *uid;
	int rc;

	if (json_scan_object(item, &meta, NULL) || !meta.uid.len)
		return AUDIT_NO_NAME;
	if (is_being_deleted(item))
		return AUDIT_UNCHANGED;
	uid = slice_dup(meta.uid);
	rc = join_taken(j, uid, err);
	free(uid);
	return rc;
}

/* What a deletecollection answered: joined if one of them is. */
static int join_list(struct audit_joiner *j, struct slice object, struct err *err)
{
	int rc, outcome = AUDIT_NO_NAME;
	struct slice items, item;
	struct json_iter it;

	if (json_get(object, "$.items", &items, NULL) <= 0 || items.ptr[0] != '[' ||
		json_iter_begin(items, &it, NULL))
		return AUDIT_UNCHANGED; /* null is an empty list */
	while (json_iter_next(&it, NULL, &item, NULL) > 0) {
		rc = join_item(j, item, err);
		if (rc < 0)
			return rc;
		outcome = rc < outcome ? rc : outcome;
	}
	return outcome == AUDIT_NO_NAME && json_trim(items).len <= 2 ? AUDIT_UNCHANGED : outcome;
}

/* ---- by moment: level Metadata ---- */

struct candidates {
	struct evidence items[CANDIDATES_MAX];
	size_t count;
	bool too_many;
};

static bool fits_type(const struct audit_entry *e, const struct event *event)
{
	if (event->origin != ORIGIN_WATCH)
		return false;
	if (slice_is(e->verb, "create") && !e->subresource.len)
		return event->type == EVENT_ADDED;
	return event->type != EVENT_ADDED || slice_is(e->verb, "patch");
}

static bool is_candidate_known(const struct candidates *all, const struct event *e)
{
	for (size_t i = 0; i < all->count; i++) {
		if (slice_is(e->uid, all->items[i].uid) && slice_is(e->rv, all->items[i].rv))
			return true;
	}
	return false;
}

/* The pod that it names by its uid is bound once: the event is certain, however late it came. */
static bool is_binding(const struct audit_entry *e)
{
	return slice_is(e->verb, "create") && slice_is(e->subresource, "binding");
}

/* It notes in the pod's status why, and then deletes it; for neither does the server write managedFields. */
static bool is_eviction(const struct audit_entry *e)
{
	return slice_is(e->verb, "create") && slice_is(e->subresource, "eviction");
}

/* Whether nothing that the object says is against it. */
static bool fits_object(const struct audit_entry *e, const struct evidence *v)
{
	enum evidence_managed managed = evidence_managed(v, e);

	if (e->uid.len && !slice_is(e->uid, v->uid))
		return false;
	if (slice_is(e->verb, "delete"))
		return v->type == EVENT_DELETED || evidence_begins_deletion(v);
	if (slice_is(e->verb, "update") && e->rv.len && v->old_rv && !slice_is(e->rv, v->old_rv))
		return false;
	if (is_binding(e))
		return evidence_binds(v);
	if (is_eviction(e))
		return takes_away(v);
	if (slice_is(e->verb, "create") && e->subresource.len) /* without a manager */
		return managed == MANAGED_SILENT;
	return managed != MANAGED_CONTRADICTS;
}

static int add_candidate(
	struct audit_joiner *j, struct candidates *all, const struct event *e, struct err *err)
{
	struct evidence *v = &all->items[all->count];
	int rc;

	if (!fits_type(&j->entry, e) || is_candidate_known(all, e) || all->too_many)
		return 0;
	if (all->count == CANDIDATES_MAX) {
		all->too_many = true;
		return 0;
	}
	evidence_set(v, e);
	rc = evidence_load(v, j->tape, err);
	if (!rc && fits_object(&j->entry, v))
		all->count++;
	else
		evidence_release(v);
	return rc;
}

static int find_candidates(struct audit_joiner *j, uint32_t resource, struct candidates *all, struct err *err)
{
	char *namespace = slice_dup(j->entry.namespace), *name = slice_dup(j->entry.name);
	const struct tape_filter filter = {.resource = resource,
		.namespace = namespace,
		.name = name,
		.time_min_ns = j->entry.begin_ns - j->tolerance_ns,
		.time_max_ns =
			is_binding(&j->entry) && j->entry.uid.len ? 0 : j->entry.end_ns + j->tolerance_ns};
	struct tape_cursor *c;
	struct event e;
	int more = tape_cursor_open(j->tape, &filter, TAPE_FORWARD, &c, err), rc = 0;

	if (!more) {
		while (!rc && (more = tape_cursor_next(c, &e, err)) > 0)
			rc = add_candidate(j, all, &e, err);
		tape_cursor_close(c);
	}
	free(namespace);
	free(name);
	return rc ? rc : more;
}

static int note_candidates(struct audit_joiner *j, const struct candidates *all, struct err *err)
{
	int rc = AUDIT_NOT_ON_TAPE;

	for (size_t i = 0; i < all->count && rc >= 0; i++)
		rc = note(j, &all->items[i], AUDIT_BY_MOMENT, all->count == 1 && !all->too_many, err);
	return rc >= 0 && (all->count > 1 || all->too_many) ? AUDIT_AMBIGUOUS : rc;
}

static int join_moment(struct audit_joiner *j, struct err *err)
{
	const struct tape_resource *r;
	struct candidates all = {0};
	int rc = 0;

	if (!j->entry.name.len)
		return AUDIT_NO_NAME;
	for (size_t i = 0; (r = tape_resource_at(j->tape, i)) && !rc; i++) {
		if (is_recorded(j, r))
			rc = find_candidates(j, r->id, &all, err);
	}
	if (!rc)
		rc = note_candidates(j, &all, err);
	for (size_t i = 0; i < all.count; i++)
		evidence_release(&all.items[i]);
	return rc;
}

/* ---- lines ---- */

static bool is_write(const struct audit_entry *e)
{
	return verb_is_write(verb_find(e->verb)) && !subresource_is_bytes(e->subresource) &&
	       !slice_is(e->subresource, "token");
}

/* Status answers a delete, and many subresources. */
static int join_answer(struct audit_joiner *j, struct err *err)
{
	const struct audit_entry *e = &j->entry;
	struct slice uid, kind;
	struct object_meta meta;
	char *own;
	int rc;

	if (!e->object.len || json_scan_object(e->object, &meta, NULL))
		return join_moment(j, err);
	if (slice_is(meta.kind, "Status")) {
		if (!slice_is(e->verb, "delete") || json_get(e->object, "$.details.uid", &uid, NULL) <= 0 ||
			uid.len <= 2)
			return join_moment(j, err);
		own = slice_dup((struct slice){uid.ptr + 1, uid.len - 2});
		rc = join_deletion(j, own, err);
		free(own);
		return rc;
	}
	kind = meta.kind;
	if (slice_is(e->verb, "deletecollection") && kind.len > 4 &&
		memcmp(kind.ptr + kind.len - 4, "List", 4) == 0)
		return join_list(j, e->object, err);
	return meta.uid.len && meta.rv.len ? join_object(j, e->object, err) : join_moment(j, err);
}

/* What becomes of a line without a look at events; AUDIT_JOINED for those that may have made some. */
static enum audit_outcome sort_line(struct audit_joiner *j, struct slice line)
{
	const struct audit_entry *e = &j->entry;

	if (audit_entry_parse(&j->entry, line, NULL))
		return AUDIT_BAD_LINE;
	if (!slice_is(e->stage, "ResponseComplete"))
		return AUDIT_OTHER_STAGE;
	if (!is_write(e))
		return AUDIT_NO_WRITE;
	if (e->code < 200 || e->code >= 300)
		return AUDIT_FAILED;
	if (e->dry_run)
		return AUDIT_DRY_RUN;
	return is_resource_recorded(j) ? AUDIT_JOINED : AUDIT_NOT_RECORDED;
}

/* enum audit_outcome, or an error. */
static int join_line(struct audit_joiner *j, struct slice line, struct err *err)
{
	enum audit_outcome outcome = sort_line(j, line);

	return outcome == AUDIT_JOINED ? join_answer(j, err) : (int)outcome;
}

int audit_joiner_take(struct audit_joiner *j, struct slice line, struct err *err)
{
	int rc;

	if (!json_trim(line).len)
		return 0;
	rc = join_line(j, line, err);
	if (rc < 0)
		return rc;
	j->totals.lines++;
	j->totals.outcomes[rc]++;
	return 0;
}

int64_t audit_joiner_ready_ns(struct audit_joiner *j, struct slice line)
{
	return sort_line(j, line) == AUDIT_JOINED ? j->entry.end_ns + j->tolerance_ns : 0;
}

int audit_joiner_refresh(struct audit_joiner *j, struct err *err)
{
	int rc = tape_refresh(j->tape, err);

	return rc < 0 ? rc : 0;
}

int audit_joiner_flush(struct audit_joiner *j, struct err *err)
{
	return audit_book_flush(j->book, err);
}

int audit_joiner_totals(struct audit_joiner *j, struct audit_totals *ret, struct err *err)
{
	struct audit_book_counts counts;
	int rc = audit_book_count(j->book, &counts, err);

	if (rc)
		return rc;
	j->totals.events = counts.events;
	j->totals.disputed = counts.disputed;
	*ret = j->totals;
	return 0;
}
