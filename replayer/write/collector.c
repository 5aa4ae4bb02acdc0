/* collector.c: see collector.h. What is to be looked at again is only named in the queue; what is to be done follows from the
 * state when its turn comes. */
#include "replayer/write/collector.h"

#include "replayer/run/run.h"
#include "replayer/world/owner_index.h"
#include "replayer/write/own_write.h"
#include "replayer/write/owners.h"
#include "schema/base/clock.h"
#include "schema/base/json_scan.h"

#include <stdlib.h>

#define MOMENT_NS (100 * NS_PER_MS) /* in which an answer reaches its client, also on a busy machine */

enum job_kind {
	JOB_GONE,    /* an owner is gone: all its dependents are looked at */
	JOB_LEFT,    /* the same of an owner that the tape deleted: those that programs wrote */
	JOB_LOOK,    /* a dependent: has it an owner left? */
	JOB_DELETED, /* an object that waits for its dependents, or for them to be orphans */
};

struct gc_job {
	enum job_kind kind;
	struct object_ref object; /* of JOB_GONE and JOB_LEFT nothing */
	char *uid;
	int64_t due_ns; /* of an object that was created: before that it is not deleted */
	struct gc_job *next;
};

struct gc_queue {
	struct gc_job *first, *last;
};

struct collector {
	struct api *api;
	struct owner_index *index;
	bool is_filled;
	uint64_t untold;            /* of the world, when the index was filled */
	struct gc_queue now, later; /* later: those that are to be deleted when they are due */
	bool is_busy;               /* the run knows that something is under way */
};

struct collector *collector_new(struct api *api)
{
	struct collector *g = xcalloc(1, sizeof(*g));

	g->api = api;
	g->index = owner_index_new();
	return g;
}

static void release_job(struct gc_job *j)
{
	free(j->object.namespace);
	free(j->object.name);
	free(j->uid);
	free(j);
}

static void release_queue(struct gc_queue *q)
{
	for (struct gc_job *j = q->first, *next; j; j = next) {
		next = j->next;
		release_job(j);
	}
}

void collector_free(struct collector *g)
{
	if (!g)
		return;
	release_queue(&g->now);
	release_queue(&g->later);
	owner_index_free(g->index);
	free(g);
}

/* ---- the queue ---- */

static void put(struct gc_queue *q, struct gc_job *j)
{
	if (q->last)
		q->last->next = j;
	else
		q->first = j;
	q->last = j;
}

static struct gc_job *enqueue(struct collector *g, enum job_kind kind, uint32_t resource,
	struct slice namespace, struct slice name, struct slice uid)
{
	struct gc_job *j = xcalloc(1, sizeof(*j));

	*j = (struct gc_job){.kind = kind,
		.object = {resource, slice_dup(namespace), slice_dup(name)},
		.uid = slice_dup(uid)};
	put(&g->now, j);
	if (!g->is_busy)
		g->api->run->under_way++;
	g->is_busy = true;
	return j;
}

static struct gc_job *dequeue(struct gc_queue *q)
{
	struct gc_job *j = q->first;

	q->first = j->next;
	if (!q->first)
		q->last = NULL;
	j->next = NULL;
	return j;
}

static void enqueue_object(struct collector *g, enum job_kind kind, const struct object_ref *o)
{
	enqueue(g, kind, o->resource, slice_of(o->namespace), slice_of(o->name), (struct slice){NULL, 0});
}

/* ---- what happened ---- */

static void fill(struct collector *g)
{
	if (g->is_filled && g->untold == g->api->world->untold)
		return;
	owner_index_fill(g->index, g->api->world);
	g->is_filled = true;
	g->untold = g->api->world->untold;
}

static bool has_owners(struct slice object)
{
	struct slice owners;

	return json_get(object, "metadata.ownerReferences", &owners, NULL) > 0;
}

static bool is_being_deleted(struct slice object)
{
	struct slice when;

	return json_get(object, "metadata.deletionTimestamp", &when, NULL) > 0;
}

/* The owners of what has gone may have waited for that. */
static void look_at_owners(struct collector *g, const struct change *c)
{
	struct slice owners, key, owner;
	struct json_iter it;
	struct object_ref found;

	if (json_get(c->object, "metadata.ownerReferences", &owners, NULL) <= 0 ||
		json_iter_begin(owners, &it, NULL))
		return;
	while (json_iter_next(&it, &key, &owner, NULL) > 0) {
		if (!owners_place(g->api->world, c->namespace, owner, &found))
			continue;
		enqueue_object(g, JOB_DELETED, &found);
		free(found.namespace);
		free(found.name);
	}
}

static void note_gone(struct collector *g, const struct change *c, enum job_kind kind)
{
	struct object_meta meta;

	owner_index_remove(g->index, c);
	if (json_scan_object(c->object, &meta, NULL) == 0 && meta.uid.len)
		enqueue(g, kind, c->resource, c->namespace, c->name, meta.uid);
	look_at_owners(g, c);
}

void collector_wrote(struct collector *g, const struct collection *in, const struct change *c)
{
	struct gc_job *j;

	(void)in;
	if (!g->is_filled && c->type != EVENT_DELETED && !has_owners(c->object) &&
		!is_being_deleted(c->object))
		return; /* nothing is to be looked for yet */
	fill(g);
	if (c->type == EVENT_DELETED) {
		note_gone(g, c, JOB_GONE);
		return;
	}
	owner_index_add(g->index, c);
	if (is_being_deleted(c->object))
		enqueue(g, JOB_DELETED, c->resource, c->namespace, c->name, (struct slice){NULL, 0});
	else if (has_owners(c->object)) {
		j = enqueue(g, JOB_LOOK, c->resource, c->namespace, c->name, (struct slice){NULL, 0});
		if (c->type == EVENT_ADDED)
			j->due_ns = clock_mono_ns(&clock_system) + MOMENT_NS;
	}
}

void collector_followed(struct collector *g, const struct change *c)
{
	if (!g->is_filled)
		return;
	if (c->type == EVENT_DELETED) {
		note_gone(g, c, JOB_LEFT);
		return;
	}
	owner_index_add(g->index, c);
	if (c->type == EVENT_ADDED && has_owners(c->object))
		enqueue(g, JOB_LOOK, c->resource, c->namespace, c->name, (struct slice){NULL, 0});
}

void collector_applied(struct collector *g, const struct collection *in, const struct change *c)
{
	if (!live_set_find(&in->written, c->namespace, c->name))
		collector_followed(g, c);
}

/* ---- what is done ---- */

static void look_at_dependents(struct collector *g, const char *uid, bool written_only)
{
	struct object_ref *refs;
	size_t count = owner_index_find(g->index, uid, &refs);

	for (size_t i = 0; i < count; i++) {
		const struct collection *c = world_collection(g->api->world, refs[i].resource);

		if (!written_only ||
			live_set_find(&c->written, slice_of(refs[i].namespace), slice_of(refs[i].name)))
			enqueue_object(g, JOB_LOOK, &refs[i]);
	}
	object_refs_free(refs, count);
}

static bool begin_write(
	struct collector *g, const struct object_ref *object, enum verb verb, struct own_write *ret)
{
	struct collection *c = world_collection(g->api->world, object->resource);

	own_write_begin(ret, g->api, c, verb, slice_of(object->namespace), slice_of(object->name));
	return ret->w.old && own_write_is_allowed(ret);
}

/* Whether an object that exists names the owner, and in such a way that it blocks its end; it counts only if it can be
 * deleted. */
static bool blocks(struct collector *g, const struct object_ref *dependent, const char *uid)
{
	struct own_write o;
	bool does = begin_write(g, dependent, VERB_DELETE, &o) && owners_blocks(o.w.old, uid);

	own_write_end(&o);
	return does;
}

/* Dependents go; once there is none that blocks, the owner does. */
static void advance_foreground(struct collector *g, struct own_write *owner)
{
	struct object_ref *refs;
	size_t count = owner_index_find(g->index, own_write_uid(owner), &refs), blocking = 0;

	for (size_t i = 0; i < count; i++) {
		blocking += blocks(g, &refs[i], own_write_uid(owner));
		enqueue_object(g, JOB_LOOK, &refs[i]);
	}
	object_refs_free(refs, count);
	if (!blocking)
		own_write_drop_finalizer(owner, FINALIZER_FOREGROUND);
}

static void orphan_one(struct collector *g, const struct object_ref *dependent, const char *uid)
{
	struct own_write o;

	if (begin_write(g, dependent, VERB_UPDATE, &o)) {
		cJSON *object = cJSON_Duplicate(o.w.old, true);

		owners_drop(object, uid);
		own_write_replace(&o, object);
	}
	own_write_end(&o);
}

static void orphan_all(struct collector *g, struct own_write *owner)
{
	struct object_ref *refs;
	size_t count = owner_index_find(g->index, own_write_uid(owner), &refs);

	for (size_t i = 0; i < count; i++)
		orphan_one(g, &refs[i], own_write_uid(owner));
	object_refs_free(refs, count);
	own_write_drop_finalizer(owner, FINALIZER_ORPHAN);
}

/* Only what programs had deleted: what was recorded goes on as it was. */
static void advance_deletion(struct collector *g, const struct object_ref *object)
{
	struct own_write o;
	const struct collection *c = world_collection(g->api->world, object->resource);
	bool is_written =
		live_set_find(&c->written, slice_of(object->namespace), slice_of(object->name)) != NULL;

	if (begin_write(g, object, VERB_UPDATE, &o) && is_written && write_is_asked_to_end(o.w.old)) {
		if (write_has_finalizer(o.w.old, FINALIZER_ORPHAN))
			orphan_all(g, &o);
		else if (write_has_finalizer(o.w.old, FINALIZER_FOREGROUND))
			advance_foreground(g, &o);
	}
	own_write_end(&o);
}

static const char *policy_of(const cJSON *object, const struct owners_count *owners, bool has_dependents)
{
	if (owners->waiting && has_dependents)
		return "Foreground";
	if (write_has_finalizer(object, FINALIZER_ORPHAN))
		return "Orphan";
	return write_has_finalizer(object, FINALIZER_FOREGROUND) ? "Foreground" : "Background";
}

static void delete_dependent(struct collector *g, struct own_write *o, const struct owners_count *owners)
{
	cJSON *options = cJSON_CreateObject();
	struct object_ref *refs;
	size_t count = owner_index_find(g->index, own_write_uid(o), &refs);

	json_tree_set_text(options, "propagationPolicy", policy_of(o->w.old, owners, count > 0));
	json_tree_set_text(json_tree_object(options, "preconditions"), "uid", own_write_uid(o));
	object_refs_free(refs, count);
	own_write_remove(o, options);
}

/* An object that names owners: it goes when none is left, and forgets those that are gone while others are there. Returns
 * whether it is to go, but not yet. */
static bool look_at(struct collector *g, const struct object_ref *object, bool is_due)
{
	struct own_write o;
	struct owners_count owners;
	bool is_lost = false;

	if (begin_write(g, object, VERB_DELETE, &o) && !write_is_asked_to_end(o.w.old)) {
		owners_find(g->api->world, &o.w, &owners);
		is_lost = !owners.there && owners.gone + owners.waiting;
		if (owners.there && owners.gone + owners.waiting)
			own_write_replace(&o, owners_without_lost(g->api->world, &o.w));
		if (is_lost && is_due)
			delete_dependent(g, &o, &owners);
	}
	own_write_end(&o);
	return is_lost && !is_due;
}

/* Returns whether it is to be done later. */
static bool do_job(struct collector *g, const struct gc_job *j, int64_t now_ns)
{
	switch (j->kind) {
	case JOB_GONE: look_at_dependents(g, j->uid, false); break;
	case JOB_LEFT: look_at_dependents(g, j->uid, true); break;
	case JOB_LOOK: return look_at(g, &j->object, j->due_ns <= now_ns);
	case JOB_DELETED: advance_deletion(g, &j->object); break;
	}
	return false;
}

int64_t collector_due_ns(const struct collector *g)
{
	if (g->now.first)
		return 0;
	return g->later.first ? g->later.first->due_ns : INT64_MAX;
}

void collector_work(struct collector *g, size_t steps, bool at_once)
{
	int64_t now_ns = at_once ? INT64_MAX : clock_mono_ns(&clock_system);

	while (g->later.first && g->later.first->due_ns <= now_ns)
		put(&g->now, dequeue(&g->later));
	if (!g->now.first)
		return;
	fill(g);
	while (g->now.first && steps--) {
		struct gc_job *j = dequeue(&g->now);

		if (do_job(g, j, now_ns)) {
			put(&g->later, j);
			continue;
		}
		release_job(j);
	}
	if (g->now.first || g->later.first)
		return;
	g->is_busy = false;
	g->api->run->under_way--;
}
