/* write_object.c: what all objects have, and how one is stored; see write_internal.h. */
#include "replayer/kinds/builtin.h"
#include "replayer/serve/fault_act.h"
#include "replayer/serve/watch.h"
#include "replayer/world/crd.h"
#include "replayer/write/default_values.h"
#include "replayer/write/own_part.h"
#include "replayer/write/upkeep.h"
#include "replayer/write/write_internal.h"
#include "schema/base/clock.h"
#include "schema/base/count_of.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* ---- errors ---- */

void write_set_details(struct write *w, const char *kind)
{
	const struct tape_resource *r = &w->c->resource;

	w->st.has_details = true;
	w->st.name = w->name && *w->name ? xstrdup(w->name) : NULL;
	w->st.group = *r->apigroup ? xstrdup(r->apigroup) : NULL;
	w->st.kind = xstrdup(kind);
}

int write_invalid(
	struct write *w, const char *kind, const char *reason, const char *field, const char *format, ...)
{
	va_list ap;
	char *why;

	va_start(ap, format);
	why = xvasprintf(format, ap);
	va_end(ap);
	write_set_details(w, kind);
	status_set(&w->st, 422, "Invalid", "%s%s%s \"%s\" is invalid: %s: %s", kind, w->st.group ? "." : "",
		w->st.group ? w->st.group : "", w->name ? w->name : "", field, why);
	status_add_cause(&w->st, reason, why, field);
	return ERR_FAILED;
}

int write_refuse_patched(struct write *w, const cJSON *object, const char *why)
{
	struct buf json, quoted;
	char *text;

	buf_init(&json, LIMIT_OBJECT_BYTES);
	buf_init(&quoted, 2 * LIMIT_OBJECT_BYTES);
	if (json_tree_print(object, &json, NULL) || json_escape(buf_slice(&json), &quoted, NULL))
		buf_clear(&quoted);
	text = xasprintf("Invalid value: %.*s: %s", (int)quoted.len, quoted.len ? quoted.ptr : "", why);
	w->st.has_details = true;
	status_set(&w->st, 422, "Invalid", " \"\" is invalid: patch: %s", text);
	status_add_cause(&w->st, "FieldValueInvalid", text, "patch");
	buf_release(&json);
	buf_release(&quoted);
	return ERR_FAILED;
}

int write_conflict(struct write *w, const char *format, ...)
{
	const struct tape_resource *r = &w->c->resource;
	va_list ap;
	char *why;

	va_start(ap, format);
	why = xvasprintf(format, ap);
	va_end(ap);
	write_set_details(w, r->resource);
	status_set(&w->st, 409, "Conflict", "Operation cannot be fulfilled on %s%s%s \"%s\": %s", r->resource,
		*r->apigroup ? "." : "", r->apigroup, w->name, why);
	free(why);
	return ERR_FAILED;
}

int write_check_uid(struct write *w, const char *uid)
{
	const char *has = json_tree_text(json_tree_at(w->old, "metadata", NULL), "uid");

	if (!*uid || strcmp(uid, has) == 0)
		return 0;
	return write_conflict(
		w, "Precondition failed: UID in precondition: %s, UID in object meta: %s", uid, has);
}

/* ---- what is known of the kind ---- */

struct crd_question {
	const struct write *w;
	const char *member;
	bool has;
};

static int ask_crd(void *context)
{
	struct crd_question *q = context;
	const struct collection *c = q->w->c;
	struct slice crd, found;

	if (crd_find(q->w->call->api->world, c, &crd))
		q->has = crd_says(crd, c->resource.version, q->member, &found);
	return 0;
}

bool write_has_subresource(struct write *w, const char *name)
{
	const struct tape_resource *r = &w->c->resource;
	const struct write_resource *known =
		builtin_resource(slice_of(r->apigroup), slice_of(r->version), slice_of(r->resource));
	char *member;
	struct crd_question q;

	if (known)
		return *known->subresources && http_list_has(slice_of(known->subresources), name);
	member = xasprintf("subresources.%s", name);
	q = (struct crd_question){w, member, false};
	(void)!write_in_world(w, ask_crd, &q);
	free(member);
	return q.has;
}

static int find_type(void *context)
{
	struct write *w = context;
	struct type_cache *types = w->call->api->types;

	w->type = type_cache_find(types, w->call->api->world, w->c);
	w->has_type = w->is_beside;
	if (w->is_beside)
		type_cache_pin(types, &w->type);
	return 0;
}

struct field_type write_type(struct write *w)
{
	if (!w->has_type)
		(void)!write_in_world(w, find_type, w);
	return w->type;
}

/* ---- reading ---- */

/* What an absorbed write made is there for those that change or delete it, and may be made once more; what it
 * deleted, the same program may make anew. */
uint64_t write_find(const struct write *w, struct slice name)
{
	const struct live *l = live_set_find(&w->c->live, w->namespace, name);
	const struct overlay_version *v = world_remembered(w->call->api->world, w->c, w->namespace, name);
	uint64_t seq = l ? l->seq : 0;

	if (!v || w->policy != WRITE_ABSORB || (l && !(w->by && v->by == w->by)))
		return seq;
	if (w->verb == VERB_CREATE)
		return 0;
	return v->type == EVENT_DELETED ? seq : v->seq;
}

struct reading {
	struct write *w;
	struct slice name;
	bool even_hidden;
	struct buf json; /* of the object; empty: there is none */
	struct err err;
};

/* What programs wrote of that version. */
static char *part_of(const struct write *w, uint64_t seq)
{
	const struct overlay_version *v = overlay_find(w->call->api->world->overlay, seq);

	if (!v)
		return seq ? xstrdup(OWN_PART_NONE) : NULL;
	return v->part.len ? slice_dup(v->part) : NULL;
}

static int read_version(void *context)
{
	struct reading *r = context;
	struct write *w = r->w;
	struct slice object;
	int rc;

	w->rv = w->c->rv;
	w->old_seq = write_find(w, r->name);
	free(w->part);
	w->part = part_of(w, w->old_seq);
	if (!w->old_seq || (!r->even_hidden && write_hides(w->call, w->c, r->name)))
		return 0;
	rc = world_object(w->call->api->world, w->old_seq, &object, &r->err);
	return rc ? rc : buf_append(&r->json, object.ptr, object.len, &r->err);
}

/* Of what no program has written yet, only the tape can have asked for the end. */
static void note_tapes_end(struct write *w)
{
	if (!w->old || !w->part || strcmp(w->part, OWN_PART_NONE) != 0 || !write_is_asked_to_end(w->old))
		return;
	free(w->part);
	w->part = own_part_end(OWN_PART_NONE);
}

static int write_object_load(struct write *w, struct slice name, bool even_hidden)
{
	struct reading r = {.w = w, .name = name, .even_hidden = even_hidden};
	int rc;

	cJSON_Delete(w->old);
	w->old = NULL;
	buf_init(&r.json, LIMIT_OBJECT_BYTES);
	rc = write_in_world(w, read_version, &r);
	if (rc == 0 && r.json.len)
		rc = json_tree_parse(buf_slice(&r.json), &w->old, &r.err);
	buf_release(&r.json);
	if (rc)
		return status_set(&w->st, 500, "InternalError", "Internal error occurred: %s", r.err.text);
	note_tapes_end(w);
	return 0;
}

int write_load(struct write *w, struct slice name)
{
	return write_object_load(w, name, false);
}

int write_load_named(struct write *w, const cJSON *object)
{
	const cJSON *metadata = json_tree_at(object, "metadata", NULL);
	bool seen = *json_tree_text(metadata, "uid") || *json_tree_text(metadata, "resourceVersion");

	return write_object_load(w, slice_of(w->name), seen);
}

int write_load_existing(struct write *w)
{
	const struct tape_resource *r = &w->c->resource;
	int rc = write_load(w, slice_of(w->name));

	if (rc || w->old)
		return rc;
	return status_not_found(&w->st, slice_of(r->apigroup), slice_of(r->resource), slice_of(w->name));
}

int write_check_place(struct write *w, cJSON *object)
{
	cJSON *metadata = json_tree_object(object, "metadata");
	const char *name = json_tree_text(metadata, "name"),
		   *namespace = json_tree_text(metadata, "namespace");
	struct slice path = w->namespace;

	if (!*name)
		return status_bad_request(&w->st,
			"the name of the object (%s based on URL) was undeterminable: name must be provided",
			w->name);
	if (strcmp(name, w->name) != 0)
		return status_bad_request(&w->st,
			"the name of the object (%s) does not match the name on the URL (%s)", name, w->name);
	if (*namespace && !slice_is(path, namespace) && w->verb == VERB_PATCH)
		return status_bad_request(&w->st,
			"the namespace of the provided object does not match the namespace sent on the request");
	if (*namespace && !slice_is(path, namespace))
		return status_bad_request(&w->st,
			"the namespace of the object (%s) does not match the namespace on the request (%.*s)",
			namespace, (int)path.len, path.ptr);
	if (path.len && !*namespace) {
		char *text = slice_dup(path);

		json_tree_set_text(metadata, "namespace", text);
		free(text);
	}
	return 0;
}

/* ---- storing ---- */

/* The program's own clock is the wall clock, so new times are the wall clock's, not the tape's. */
void write_timestamp(char to[TIMESTAMP_BYTES], int64_t ahead_s)
{
	time_t seconds = (time_t)(clock_wall_ns(&clock_system) / NS_PER_S + ahead_s);
	struct tm parts;

	gmtime_r(&seconds, &parts);
	strftime(to, TIMESTAMP_BYTES, "%Y-%m-%dT%H:%M:%SZ", &parts);
}

static void write_object_tell(struct write *w, const struct overlay_version *version, struct slice object)
{
	struct api *api = w->call->api;
	struct change *c;
	int64_t number = world_write(api->world, w->c, version, object, &c);

	if (api->faults)
		fault_act_version(api->faults, w->c, c, w->tape_seq != 0);
	if (w->tape_seq && !w->is_late) {
		upkeep_followed(api->upkeep, w->c, c, (uint64_t)number);
	} else {
		watches_deliver(api->watches, w->c, c, (uint64_t)number);
		upkeep_wrote(api->upkeep, w->c, c);
	}
	change_unref(c);
}

/* Watchers first see the recorded object go, if the new one takes its place unseen by its writer. */
static int displace_recorded(struct write *w, struct slice name)
{
	const struct overlay_version gone = {
		.type = EVENT_DELETED, .tape_seq = w->tape_seq, .namespace = w->namespace, .name = name};
	const struct live *l = live_set_find(&w->c->live, w->namespace, name);
	struct slice object;
	struct buf last;
	struct err err;
	int rc;

	if (!l)
		return 0;
	buf_init(&last, LIMIT_OBJECT_BYTES);
	rc = world_object(w->call->api->world, l->seq, &object, &err);
	if (rc == 0)
		rc = object_with_rv(object, world_next_rv(w->c), &last, &err);
	if (rc == 0)
		write_object_tell(w, &gone, buf_slice(&last));
	else
		status_set(&w->st, 500, "InternalError", "Internal error occurred: %s", err.text);
	buf_release(&last);
	return rc ? ERR_FAILED : 0;
}

/* Whether this write asks an object to end that stays for a while: nobody will end it here. */
static bool is_ending(const struct write *w, const cJSON *object)
{
	return w->old && !write_is_asked_to_end(w->old) && write_is_asked_to_end(object);
}

/* Whether the tape's object stays what it is, whatever an absorbed write asks of it. */
static bool is_the_tapes(const struct write *w, enum event_type type)
{
	struct slice name = slice_of(w->name);
	const struct overlay_version *v = world_remembered(w->call->api->world, w->c, w->namespace, name);

	if (!live_set_find(&w->c->live, w->namespace, name))
		return false;
	if (!w->by)
		return true;
	return type != EVENT_DELETED &&
	       !(v && v->by == w->by && (v->type != EVENT_DELETED || type == EVENT_ADDED));
}

/* A version that is to be stored. */
struct storing {
	struct write *w;
	enum event_type type;
	struct slice name, json; /* of a deletion, the last state */
	char *part;              /* what of it programs wrote; NULL: all */
	struct buf numbered;     /* with its resourceVersion, */
	uint64_t rv;             /* ... this one */
};

/* Whether it may be stored: it must be of the object that was read, and there must be room. */
static int check_store(struct storing *s, const struct overlay_version *v)
{
	struct write *w = s->w;

	w->is_stale = w->is_beside && write_find(w, s->name) != w->old_seq;
	if (w->is_stale)
		return ERR_FAILED;
	if (world_has_room(w->call->api->world, w->c, v, s->json.len))
		return 0;
	return status_set(
		&w->st, 500, NULL, "etcdserver: mvcc: database space exceeded"); /* etcd's own words */
}

/* What an absorbed write made, or deleted. */
static int remember(void *context)
{
	struct storing *s = context;
	struct write *w = s->w;
	const struct overlay_version version = {
		.namespace = w->namespace, .name = s->name, .type = s->type, .by = w->by};
	int rc = check_store(s, &version);

	if (rc == 0 && !is_the_tapes(w, s->type))
		world_remember(w->call->api->world, w->c, &version, s->json);
	w->old_seq = write_find(w, s->name); /* it may be written once more */
	return rc;
}

static int publish(void *context)
{
	struct storing *s = context;
	struct write *w = s->w;
	const struct overlay_version version = {.namespace = w->namespace,
		.name = s->name,
		.type = s->type,
		.tape_seq = w->tape_seq,
		.part = slice_of(s->part ? s->part : "")};
	struct err err;
	int rc = check_store(s, &version);

	if (rc == 0 && s->type == EVENT_ADDED)
		rc = displace_recorded(w, s->name);
	if (rc)
		return rc;
	s->rv = world_next_rv(w->c);
	if (object_with_rv(s->json, s->rv, &s->numbered, &err))
		return status_set(
			&w->st, 413, "RequestEntityTooLarge", "Request entity is too large: %s", err.text);
	write_object_tell(w, &version, buf_slice(&s->numbered));
	w->old_seq = write_find(w, s->name); /* it may be written once more */
	return 0;
}

static char *add_to_part(struct write *w, const char *part, const cJSON *old, const cJSON *object)
{
	char *manager = write_manager_name(w), *sub = slice_dup(w->sub);
	char *added = own_part_add(part, old, object, write_type(w), manager, sub);

	free(manager);
	free(sub);
	return added;
}

/* Of a new object that is to follow the tape: all but what the API server put there. */
static char *first_part(struct write *w, const cJSON *object)
{
	static const char *const names[] = {"name", "namespace", "uid"};
	cJSON *servers = cJSON_CreateObject(), *metadata = json_tree_object(servers, "metadata");
	const cJSON *status =
		write_has_subresource(w, "status") ? json_tree_at(object, "status", NULL) : NULL;
	char *part;

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		const cJSON *value = json_tree_at(object, "metadata", names[i], NULL);

		json_tree_set(metadata, names[i], value ? cJSON_Duplicate(value, true) : NULL);
	}
	json_tree_set(servers, "status", status ? cJSON_Duplicate(status, true) : NULL);
	part = add_to_part(w, OWN_PART_NONE, servers, object);
	cJSON_Delete(servers);
	return part;
}

/* What programs will have written of the object once this is stored. */
static char *next_part(struct write *w, enum event_type type, const cJSON *object)
{
	if (w->tape_seq || (type == EVENT_DELETED && own_part_is_ending(w->part)))
		return xstrdup(w->part);
	if (type == EVENT_ADDED && w->is_awaited)
		return first_part(w, object);
	return type == EVENT_MODIFIED && w->part ? add_to_part(w, w->part, w->old, object) : NULL;
}

static int write_object_store(struct write *w, enum event_type type, cJSON *object)
{
	cJSON *metadata = json_tree_object(object, "metadata");
	bool absorbed = w->policy == WRITE_ABSORB;
	struct storing s = {.w = w, .type = absorbed && is_ending(w, object) ? EVENT_DELETED : type};
	char *name = xstrdup(absorbed ? w->name : json_tree_text(metadata, "name")), rv[24];
	struct buf json;
	struct err err;
	int rc;

	buf_init(&json, LIMIT_OBJECT_BYTES);
	buf_init(&s.numbered, LIMIT_OBJECT_BYTES);
	rc = json_tree_print(object, &json, &err);
	s.name = slice_of(name);
	s.part = absorbed ? NULL : next_part(w, type, object);
	s.json = buf_slice(&json);
	if (rc)
		status_set(&w->st, 413, "RequestEntityTooLarge", "Request entity is too large: %s", err.text);
	else
		rc = write_in_world(w, absorbed ? remember : publish, &s);
	if (rc == 0 && !absorbed) {
		snprintf(rv, sizeof(rv), "%llu", (unsigned long long)s.rv);
		json_tree_set_text(metadata, "resourceVersion", rv);
		free(w->part);
		w->part = s.part;
		s.part = NULL;
	}
	free(s.part);
	buf_release(&json);
	buf_release(&s.numbered);
	free(name);
	return rc ? ERR_FAILED : 0;
}

int write_store(struct write *w, enum event_type type, cJSON *object)
{
	cJSON *metadata = json_tree_object(object, "metadata");

	write_normalize(w, object);
	if (w->dry_run) {
		if (type == EVENT_ADDED)
			cJSON_DeleteItemFromObjectCaseSensitive(metadata, "resourceVersion");
		return 0;
	}
	if (w->policy != WRITE_ABSORB) {
		json_tree_set_text(
			metadata, "resourceVersion", "0"); /* where it belongs; the number is given later */
		write_normalize(w, object);
	}
	return write_object_store(w, type, object);
}

void write_answer_success(struct write *w, int code, const cJSON *object)
{
	const struct tape_resource *r = &w->c->resource;
	cJSON *status = cJSON_CreateObject(), *details;

	cJSON_AddStringToObject(status, "kind", "Status");
	cJSON_AddStringToObject(status, "apiVersion", "v1");
	cJSON_AddObjectToObject(status, "metadata");
	cJSON_AddStringToObject(status, "status", "Success");
	if (object) {
		details = cJSON_AddObjectToObject(status, "details");
		cJSON_AddStringToObject(details, "name", w->name);
		if (*r->apigroup)
			cJSON_AddStringToObject(details, "group", r->apigroup);
		cJSON_AddStringToObject(details, "kind", r->resource);
		cJSON_AddStringToObject(
			details, "uid", json_tree_text(json_tree_at(object, "metadata", NULL), "uid"));
	} else {
		cJSON_AddNumberToObject(status, "code", code);
	}
	w->answer = status;
	w->is_status = true;
	w->code = code;
}
