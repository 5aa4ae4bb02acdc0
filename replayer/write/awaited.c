/* awaited.c: see awaited.h. */
#include "replayer/write/awaited.h"

#include "replayer/kinds/builtin.h"
#include "replayer/write/awaited_binding.h"
#include "replayer/write/awaited_dependents.h"
#include "replayer/write/awaited_fields.h"
#include "replayer/write/follow_tape.h"
#include "replayer/write/own_part.h"
#include "replayer/write/own_write.h"
#include "schema/base/json_scan.h"
#include "schema/base/log.h"
#include "schema/base/text_map.h"

#include <stdlib.h>

/* An object from its creation to its end; a name may have several, one after the other. */
struct life {
	char *uid;
	uint64_t first_seq; /* of its events on the tape after the replay's begin */
	uint64_t last_seq;  /* ... of those that have passed; 0: it is to come */
	uint64_t end_seq;   /* ... the last that is left to programs, as they delete it; 0: none */
	bool of_tape;       /* others make it */
	bool is_made;       /* by a program of this replay, or by the tape */
	bool is_asked; /* ... a program has asked for its end, which finalizers or a grace period delay */
	bool is_over;  /* on the tape */
};

struct awaited_name {
	char *key;                        /* "RESOURCE/NAMESPACE/NAME", the resource by its number */
	bool deletes_own, deletes_others; /* those that the program makes; those that others make */
	struct life *lives;               /* in the order of the tape */
	size_t count;
};

/* An object to be brought to where the tape has it. */
struct catching_up {
	uint32_t resource;
	char *namespace, *name;
	uint64_t seq;
	bool is_over; /* there */
};

struct awaited {
	struct world *world;
	struct awaited_name **names;
	size_t count;
	size_t met; /* objects that rules are about */
	struct text_map by_key;
	struct awaited_fields fields;
	struct awaited_binding binding;
	struct awaited_dependents dependents;
	struct catching_up *waiting;
	size_t waiting_count;
};

/* ---- finding ---- */

static char *key_of(uint32_t resource, struct slice namespace, struct slice name)
{
	return xasprintf(
		"%u/%.*s/%.*s", resource, (int)namespace.len, namespace.ptr, (int)name.len, name.ptr);
}

static struct awaited_name *find_name(
	const struct awaited *a, uint32_t resource, struct slice namespace, struct slice name)
{
	char *key = a && a->count ? key_of(resource, namespace, name) : NULL;
	struct awaited_name *found = key ? text_map_get(&a->by_key, key) : NULL;

	free(key);
	return found;
}

static bool has_uid(struct slice object, const char *uid)
{
	struct object_meta meta;

	return json_scan_object(object, &meta, NULL) == 0 && slice_is(meta.uid, uid);
}

/* The life that the event belongs to; NULL: it had begun before the replay. */
static struct life *life_at(struct awaited_name *n, const struct change *c)
{
	for (size_t i = n ? n->count : 0; i; i--) {
		if (n->lives[i - 1].first_seq <= c->seq)
			return has_uid(c->object, n->lives[i - 1].uid) ? &n->lives[i - 1] : NULL;
	}
	return NULL;
}

/* ---- what the tape makes ---- */

static struct awaited_name *add_name(struct awaited *a, const struct event *e)
{
	struct awaited_name *n = xcalloc(1, sizeof(*n));

	a->names = xgrow(a->names, a->count, sizeof(*a->names));
	n->key = key_of(e->resource, e->namespace, e->name);
	a->names[a->count++] = n;
	text_map_put(&a->by_key, n->key, n);
	return n;
}

static void insert_life(struct awaited_name *n, size_t at, const struct event *e)
{
	n->lives = xgrow(n->lives, n->count, sizeof(*n->lives));
	memmove(&n->lives[at + 1], &n->lives[at], (n->count++ - at) * sizeof(*n->lives));
	n->lives[at] = (struct life){
		.uid = slice_dup(e->uid), .first_seq = e->seq, .of_tape = true, .is_made = true};
}

/* The life that the event belongs to, which may be the first of it. */
static struct life *take_life(struct awaited_name *n, const struct event *e)
{
	size_t at = n->count;

	while (at && n->lives[at - 1].first_seq > e->seq)
		at--;
	if (at && slice_is(e->uid, n->lives[at - 1].uid))
		return &n->lives[at - 1];
	insert_life(n, at, e);
	return &n->lives[at];
}

/* Whether the program makes the object. A list shows what had been there before. */
static bool is_creation(const struct await_rule *r, const struct event *e)
{
	return r->creates && e->type == EVENT_ADDED && e->origin != ORIGIN_LIST;
}

static void take_event(struct awaited *a, const struct await_rule *r, const struct event *e)
{
	struct awaited_name *n;
	struct life *l;

	if (!e->uid.len || (r->creates && !is_creation(r, e)) ||
		(r->namespace.len && !slice_equal(r->namespace, e->namespace)) ||
		(r->name.len && !slice_equal(r->name, e->name)))
		return;
	n = find_name(a, e->resource, e->namespace, e->name);
	if (!n)
		n = add_name(a, e);
	n->deletes_own |= r->creates && r->deletes;
	n->deletes_others |= !r->creates;
	l = take_life(n, e);
	if (r->creates)
		l->of_tape = l->is_made = false;
	a->met++;
}

static int read_resource(struct awaited *a, const struct await_rule *r, uint32_t resource, struct err *err)
{
	char *namespace = r->namespace.len ? slice_dup(r->namespace) : NULL;
	char *name = r->name.len ? slice_dup(r->name) : NULL;
	const struct tape_filter filter = {
		.seq_min = a->world->seq + 1, .resource = resource, .namespace = namespace, .name = name};
	struct tape_cursor *cursor;
	struct event e;
	int rc = tape_cursor_open(a->world->tape, &filter, TAPE_FORWARD, &cursor, err);

	while (rc >= 0 && (rc = tape_cursor_next(cursor, &e, err)) > 0)
		take_event(a, r, &e);
	tape_cursor_close(cursor);
	free(namespace);
	free(name);
	return rc;
}

static bool is_kept(
	const struct await_rule *r, const struct tape_resource *of, const struct write_rules *writes)
{
	enum verb verb = r->creates || r->binds ? VERB_CREATE : VERB_UPDATE;

	return write_rules_find(writes, slice_of(of->apigroup), slice_of(of->resource), r->subresource, verb,
		       true) == WRITE_OVERLAY;
}

static int check_policy(const struct await_rule *r, const struct tape_resource *of,
	const struct write_rules *writes, struct err *err)
{
	if (is_kept(r, of, writes))
		return 0;
	return err_set(err, ERR_USAGE,
		"'--await %s' needs '--write %s%s%s=overlay': else nobody would see what a program writes",
		r->text, of->resource, *of->apigroup ? "." : "", of->apigroup);
}

static int apply_to(struct awaited *a, const struct await_rule *r, uint32_t resource, struct err *err)
{
	if (!r->updates)
		return read_resource(a, r, resource, err);
	if (r->binds)
		awaited_binding_add(&a->binding, resource, r->manager);
	else
		awaited_fields_add(&a->fields, resource, r->manager, r->subresource);
	return 0;
}

/* Leases and events are kept anyway, and say nothing about other objects. */
static bool keeps_changes(
	const struct awaited *a, const struct await_rule *r, const struct write_rules *writes)
{
	for (uint32_t i = 0; i < a->world->recorded_count; i++) {
		const struct tape_resource *of = &a->world->collections[i].resource;

		if (of->resource && !builtin_is_aside(slice_of(of->apigroup), slice_of(of->resource)) &&
			is_kept(r, of, writes))
			return true;
	}
	return false;
}

/* It may be added to objects of any resource. */
static int apply_finalizer(
	struct awaited *a, const struct await_rule *r, const struct write_rules *writes, struct err *err)
{
	if (!keeps_changes(a, r, writes))
		return err_set(err, ERR_USAGE,
			"'--await %s' needs '--write overlay': else nobody would see what a program writes",
			r->text);
	awaited_fields_add_finalizer(&a->fields, r->finalizer);
	return 0;
}

/* Grows with whatever a rule is about. */
static size_t rules_met(const struct awaited *a)
{
	return a->met + a->fields.count + a->binding.count;
}

static int apply_rule(
	struct awaited *a, const struct await_rule *r, const struct write_rules *writes, struct err *err)
{
	size_t before = rules_met(a);
	int rc = 0;

	if (r->finalizer.len)
		return apply_finalizer(a, r, writes, err);
	for (uint32_t i = 0; i < a->world->recorded_count && rc == 0; i++) {
		const struct tape_resource *of = &a->world->collections[i].resource;

		if (!of->resource || !slice_is(r->resource, of->resource) ||
			!(r->any_group || slice_is(r->group, of->apigroup)))
			continue;
		rc = check_policy(r, of, writes, err);
		if (rc == 0)
			rc = apply_to(a, r, of->id, err);
	}
	if (rc == 0 && rules_met(a) == before)
		log_warn("'--await %s': the tape has no such %s", r->text,
			r->updates   ? "resource"
			: r->creates ? "new object"
				     : "object that changes");
	return rc;
}

int awaited_open(struct world *world, const struct await_rules *rules, const struct write_rules *writes,
	struct awaited **ret, struct err *err)
{
	struct awaited *a;
	int rc = 0;

	*ret = NULL;
	if (!rules->count)
		return 0;
	a = xcalloc(1, sizeof(*a));
	a->world = world;
	for (size_t i = 0; i < rules->count && rc == 0; i++)
		rc = apply_rule(a, &rules->items[i], writes, err);
	if (rc)
		awaited_free(a);
	else
		*ret = a;
	return rc;
}

static void name_free(struct awaited_name *n)
{
	for (size_t i = 0; i < n->count; i++)
		free(n->lives[i].uid);
	free(n->lives);
	free(n->key);
	free(n);
}

static void catching_up_release(struct catching_up *w)
{
	free(w->namespace);
	free(w->name);
}

void awaited_free(struct awaited *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->count; i++)
		name_free(a->names[i]);
	for (size_t i = 0; i < a->waiting_count; i++)
		catching_up_release(&a->waiting[i]);
	text_map_release(&a->by_key);
	awaited_fields_release(&a->fields);
	awaited_binding_release(&a->binding);
	awaited_dependents_release(&a->dependents);
	free(a->waiting);
	free(a->names);
	free(a);
}

/* ---- the tape goes on ---- */

static bool is_ending(const struct change *c)
{
	struct slice found;

	return c->type == EVENT_DELETED ||
	       json_get(c->object, "metadata.deletionTimestamp", &found, NULL) > 0;
}

/* Whether its end is left to the program. */
static bool is_to_be_deleted(const struct awaited_name *n, const struct life *l)
{
	return l->of_tape ? n->deletes_others : n->deletes_own;
}

static void note_event(const struct awaited_name *n, struct life *l, const struct change *c)
{
	if (is_to_be_deleted(n, l) && is_ending(c))
		l->end_seq = c->seq;
	else
		l->last_seq = c->seq;
	l->is_over |= c->type == EVENT_DELETED;
}

static void hide_unmade(
	struct awaited *a, const struct life *l, const struct collection *in, const struct change *c)
{
	if (l->is_made)
		return;
	world_hide(a->world, world_collection(a->world, in->resource.id), c->namespace, c->name);
	awaited_dependents_await(&a->dependents, l->uid);
}

/* Lays the object over the tape, which would end it. */
static void keep(struct api *api, const struct collection *in, const struct change *c)
{
	const struct live *l = live_set_find(&in->live, c->namespace, c->name);

	if (l && !overlay_has(l->seq))
		own_write_adopt(api, in, c, OWN_PART_NONE);
}

void awaited_before(struct awaited *a, struct api *api, const struct collection *in, const struct change *c)
{
	struct awaited_name *n = find_name(a, in->resource.id, c->namespace, c->name);
	struct life *l = life_at(n, c);

	if (l)
		note_event(n, l, c);
	if (l && !l->of_tape) {
		hide_unmade(a, l, in, c);
	} else if (a) {
		awaited_dependents_before(&a->dependents, a->world, in, c);
		awaited_fields_before(&a->fields, api, in, c);
		awaited_binding_before(&a->binding, api, in, c);
	}
	if (l && l->of_tape && l->end_seq)
		keep(api, in, c);
}

/* Whether an event of that object does not concern the one that is shown under its name, or ends what the program is to
 * end. */
static bool is_left_to_program(
	const struct awaited_name *n, const struct life *l, const struct change *c, struct slice shown)
{
	if (!has_uid(shown, l->uid))
		return !l->of_tape;
	return is_to_be_deleted(n, l) && !l->is_asked && is_ending(c);
}

bool awaited_is_aside(
	struct awaited *a, const struct collection *in, const struct change *c, struct slice shown)
{
	struct awaited_name *n = find_name(a, in->resource.id, c->namespace, c->name);
	const struct life *l = life_at(n, c);

	if (a && (awaited_binding_holds(&a->binding, in, c, shown) ||
			 awaited_dependents_has(&a->dependents, in, c)))
		return true;
	return l && is_left_to_program(n, l, c, shown);
}

bool awaited_keeps(
	const struct awaited *a, const struct collection *in, const struct change *c, struct slice shown)
{
	const struct awaited_name *n = find_name(a, in->resource.id, c->namespace, c->name);

	for (size_t i = 0; n && i < n->count; i++) {
		if (has_uid(shown, n->lives[i].uid))
			return is_to_be_deleted(n, &n->lives[i]);
	}
	return false;
}

char *awaited_part(const struct awaited *a, const struct collection *in, const char *part)
{
	return a ? awaited_fields_part(&a->fields, in->resource.id, part) : xstrdup(part);
}

/* ---- programs write ---- */

/* What controls an object; NULL: nothing does. */
static const cJSON *controller_of(const cJSON *owners)
{
	const cJSON *owner;

	cJSON_ArrayForEach(owner, owners)
	{
		if (cJSON_IsTrue(json_tree_at(owner, "controller", NULL)))
			return owner;
	}
	return NULL;
}

static bool has_same(const cJSON *a, const cJSON *b, const char *member)
{
	return strcmp(json_tree_text(a, member), json_tree_text(b, member)) == 0;
}

/* The ownerReferences of the object as the tape made it; NULL: none. The caller frees. */
static cJSON *owners_of(const struct awaited *a, const struct life *l)
{
	struct slice object, list;
	struct err err;
	cJSON *owners;

	if (world_object(a->world, l->first_seq, &object, &err) ||
		json_get(object, "metadata.ownerReferences", &list, NULL) <= 0 ||
		json_tree_parse(list, &owners, NULL))
		return NULL;
	return owners;
}

/* Whether the tape made it for another one under the name of what controls these. */
static bool is_of_another(const struct awaited *a, const struct life *l, const cJSON *owners)
{
	const cJSON *own = controller_of(owners), *theirs;
	cJSON *list = own ? owners_of(a, l) : NULL;
	bool is;

	theirs = controller_of(list);
	is = theirs && has_same(own, theirs, "kind") && has_same(own, theirs, "name") &&
	     !has_same(own, theirs, "uid");
	cJSON_Delete(list);
	return is;
}

const char *awaited_uid(const struct awaited *a, const struct collection *in, struct slice namespace,
	struct slice name, const cJSON *owners)
{
	const struct awaited_name *n = find_name(a, in->resource.id, namespace, name);
	const struct life *late =
		NULL; /* over on the tape before the program has made it, which is to end it, too */

	for (size_t i = 0; n && i < n->count; i++) {
		const struct life *l = &n->lives[i];

		if (l->is_made || is_of_another(a, l, owners))
			continue;
		if (!l->is_over)
			return l->uid;
		if (is_to_be_deleted(n, l))
			late = l;
	}
	return late ? late->uid : NULL;
}

bool awaited_is_to_come(const struct awaited *a, const struct collection *in, struct slice namespace,
	struct slice name, const char *uid)
{
	const char *next = awaited_uid(a, in, namespace, name, NULL);

	return next && strcmp(next, uid) == 0;
}

static void catch_up_later(
	struct awaited *a, const struct collection *in, const struct change *c, uint64_t seq, bool is_over)
{
	a->waiting = xgrow(a->waiting, a->waiting_count, sizeof(*a->waiting));
	a->waiting[a->waiting_count++] = (struct catching_up){
		in->resource.id, slice_dup(c->namespace), slice_dup(c->name), seq, is_over};
}

/* A program has made the object. */
static void made(struct awaited *a, const struct awaited_name *n, struct life *l, const struct collection *in,
	const struct change *c)
{
	l->is_made = true;
	awaited_dependents_made(&a->dependents, l->uid);
	if (l->last_seq && (!l->is_over || is_to_be_deleted(n, l)))
		catch_up_later(a, in, c, l->last_seq, false);
}

/* It is to be deleted: whatever the tape says of that from now on, or has said, happens to it. */
static void asked(struct awaited *a, struct life *l, const struct collection *in, const struct change *c)
{
	l->is_asked = true;
	if (l->end_seq)
		catch_up_later(a, in, c, l->end_seq, l->is_over);
}

void awaited_wrote(struct awaited *a, const struct collection *in, const struct change *c)
{
	struct awaited_name *n = find_name(a, in->resource.id, c->namespace, c->name);
	uint64_t bound_seq = a ? awaited_binding_wrote(&a->binding, in, c) : 0;

	if (bound_seq)
		catch_up_later(a, in, c, bound_seq, false);
	for (size_t i = 0; n && i < n->count; i++) {
		struct life *l = &n->lives[i];

		if (!has_uid(c->object, l->uid))
			continue;
		if (!l->is_made && c->type == EVENT_ADDED)
			made(a, n, l, in, c);
		else if (is_to_be_deleted(n, l) && !l->is_asked && c->type == EVENT_MODIFIED && is_ending(c))
			asked(a, l, in, c);
	}
}

bool awaited_is_busy(const struct awaited *a)
{
	return a && (a->waiting_count > 0 || awaited_dependents_is_busy(&a->dependents));
}

void awaited_work(struct awaited *a, struct api *api)
{
	for (size_t i = 0; a && i < a->waiting_count; i++) {
		struct catching_up w = a->waiting[i]; /* a write may add others */
		const struct followed_state to = {slice_of(w.namespace), slice_of(w.name), w.seq, w.is_over};

		follow_tape_to(api, world_collection(a->world, w.resource), &to);
		catching_up_release(&w);
	}
	if (!a)
		return;
	a->waiting_count = 0;
	awaited_dependents_work(&a->dependents, api);
}
