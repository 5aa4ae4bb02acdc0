/* follow_tape.c: see follow_tape.h. */
#include "replayer/write/follow_tape.h"

#include "replayer/write/awaited.h"
#include "replayer/write/finalizer_hold.h"
#include "replayer/write/own_part.h"
#include "replayer/write/own_write.h"
#include "schema/base/log.h"

#include <stdlib.h>

bool follow_tape_is_due(const struct collection *in, const struct change *c)
{
	return in->written.count && !overlay_has(c->seq) &&
	       live_set_find(&in->written, c->namespace, c->name);
}

static void follow_begin(
	struct own_write *o, struct api *api, const struct collection *in, const struct change *c)
{
	own_write_begin(
		o, api, world_collection(api->world, in->resource.id), VERB_UPDATE, c->namespace, c->name);
	o->w.tape_seq = c->seq;
	o->w.managed = true;
}

/* Programs have deleted what had the name, and the tape makes another object of it. */
static bool is_free_for(const struct overlay_version *v, const struct change *c)
{
	return v->type == EVENT_DELETED && c->type == EVENT_ADDED && !change_is_of(c, blob_body(v->object));
}

/* The last version under the name, if the event concerns it; NULL if it is the programs'. */
static const struct overlay_version *last_version(
	const struct api *api, const struct collection *in, const struct change *c)
{
	const struct live *l = live_set_find(&in->written, c->namespace, c->name);
	const struct overlay_version *v = overlay_find(api->world->overlay, l->seq);

	return v && (v->part.len || is_free_for(v, c)) ? v : NULL;
}

static void tell_unwritten(const struct write *w, int rc)
{
	if (rc)
		log_warn("%s of %s does not follow the tape: %s", w->name, w->c->resource.resource,
			w->st.message);
}

/* ---- finalizers ---- */

/* Whether the tape takes it away though a program wrote it: somebody else lets the object go. */
static bool is_released(const struct write *w, const char *finalizer)
{
	const struct api *api = w->call->api;

	return finalizer_is_named(finalizer, api->released_finalizers, api->released_finalizer_count);
}

/* The object without what the tape does not have any more, which has it as in `said`; the caller deletes. */
static cJSON *without_released(const struct write *w, const cJSON *said)
{
	const struct api *api = w->call->api;
	cJSON *object = cJSON_Duplicate(w->old, true);

	for (size_t i = 0; write_is_asked_to_end(said) && i < api->released_finalizer_count; i++) {
		if (!write_has_finalizer(said, api->released_finalizers[i]))
			write_drop_finalizer(object, api->released_finalizers[i]);
	}
	return object;
}

/* ---- it has changed ---- */

static void copy_meta(const cJSON *from, cJSON *to, const char *name)
{
	const cJSON *value = json_tree_at(from, "metadata", name, NULL);

	json_tree_set(json_tree_object(to, "metadata"), name, value ? cJSON_Duplicate(value, true) : NULL);
}

/* What the tape itself says is over it ends with an event of its own. */
static int store_followed(struct write *w, cJSON *object, bool is_over)
{
	copy_meta(w->old, object, "resourceVersion");
	copy_meta(w->old, object, "generation");
	write_count_generation(w, object);
	if (write_is_asked_to_end(object) && !write_is_asked_to_end(w->old))
		write_count_end(json_tree_object(object, "metadata"));
	write_normalize(w, object);
	if (json_tree_equal(w->old, object))
		return 0;
	return is_over ? write_store(w, EVENT_MODIFIED, object) : write_store_changed(w, object);
}

/* From now on the tape wants it gone. */
static void mark_ending(struct write *w)
{
	char *part = own_part_end(w->part);

	free(w->part);
	w->part = part;
}

static void lay_under(struct write *w, cJSON *said)
{
	struct field_type type = write_type(w);
	bool is_over = write_is_over(w, said);
	cJSON *object = without_released(w, said);
	struct own_part part;

	if (write_is_asked_to_end(said))
		mark_ending(w);
	own_part_read(w->part, w->old, said, &part);
	own_part_lay_over(&part, object, said, type);
	tell_unwritten(w, store_followed(w, said, is_over));
	own_part_release(&part);
	cJSON_Delete(object);
}

/* ---- it is gone ---- */

/* Takes away what the tape itself ended with. */
static void drop_tapes_finalizers(const struct write *w, const cJSON *last, cJSON *object)
{
	struct own_part part;
	const cJSON *item;

	own_part_read(w->part, w->old, last, &part);
	cJSON_ArrayForEach(item, json_tree_at(w->old, "metadata", "finalizers", NULL))
	{
		const char *name = cJSON_IsString(item) ? item->valuestring : "";

		if (is_released(w, name) ||
			(write_has_finalizer(last, name) && !own_part_has_finalizer(&part, name)))
			write_drop_finalizer(object, name);
	}
	own_part_release(&part);
}

/* The object, asked to end, if finalizers hold it; else NULL. */
static cJSON *held(const struct write *w, const cJSON *last)
{
	cJSON *object = cJSON_Duplicate(w->old, true), *metadata = json_tree_object(object, "metadata");
	char now[TIMESTAMP_BYTES];

	drop_tapes_finalizers(w, last, object);
	if (!json_tree_at(metadata, "finalizers", NULL)) {
		cJSON_Delete(object);
		return NULL;
	}
	write_timestamp(now, 0);
	if (!write_is_asked_to_end(object)) {
		json_tree_set_text(metadata, "deletionTimestamp", now);
		write_count_end(metadata);
	}
	json_tree_set(metadata, "deletionGracePeriodSeconds", cJSON_CreateNumber(0));
	return object;
}

/* last: as the tape saw it last. Returns whether it is held. */
static bool end_followed(struct write *w, const cJSON *last)
{
	cJSON *held_back = held(w, last);
	cJSON *object = held_back ? held_back : cJSON_Duplicate(w->old, true);

	mark_ending(w);
	if (!json_tree_equal(w->old, held_back))
		tell_unwritten(w, write_store(w, held_back ? EVENT_MODIFIED : EVENT_DELETED, object));
	cJSON_Delete(object);
	return held_back != NULL;
}

/* ---- another one has its name ---- */

/* The recording missed that the earlier object was deleted. Returns whether that one is held: then nobody sees its
 * successor yet. */
static bool replace_followed(struct write *w, cJSON *said)
{
	if (w->old && (own_part_is_ending(w->part) || end_followed(w, w->old)))
		return true;
	cJSON_Delete(w->old);
	w->old = NULL;
	free(w->part);
	w->part = xstrdup(OWN_PART_NONE);
	tell_unwritten(w, write_store(w, EVENT_ADDED, said));
	return false;
}

/* ---- all of it ---- */

/* Whether what has the name is left to programs. */
static bool keeps_name(const struct write *w, const struct change *c)
{
	const struct overlay_version *v =
		w->old ? overlay_find(w->call->api->world->overlay, w->old_seq) : NULL;

	return v && awaited_keeps(w->call->api->awaited, w->c, c, blob_body(v->object));
}

/* Returns whether the event is hidden for now. */
static bool follow_change(struct write *w, const struct change *c, bool same, cJSON *said)
{
	finalizer_hold_keep(w);
	if (c->type != EVENT_DELETED && !same)
		return keeps_name(w, c) || replace_followed(w, said);
	if (c->type != EVENT_DELETED && w->old)
		lay_under(w, said);
	else if (same && w->old)
		(void)end_followed(w, said);
	return false;
}

bool follow_tape(struct api *api, const struct collection *in, const struct change *c)
{
	const struct overlay_version *v = last_version(api, in, c);
	struct own_write o;
	cJSON *said;
	char *part;
	bool same, is_held;

	if (!v || awaited_is_aside(api->awaited, in, c, blob_body(v->object)) ||
		json_tree_parse(c->object, &said, NULL))
		return false;
	follow_begin(&o, api, in, c);
	part = o.w.part ? o.w.part : slice_dup(v->part);
	o.w.part = awaited_part(api->awaited, in, part);
	free(part);
	same = change_is_of(c, blob_body(v->object));
	is_held = follow_change(&o.w, c, same, said);
	cJSON_Delete(said);
	own_write_end(&o);
	return is_held;
}

/* last: as the tape has it now, or had it when it was deleted; it is changed. */
static void bring_to(
	struct api *api, struct collection *in, const struct followed_state *to, bool is_over, cJSON *last)
{
	struct own_write o;

	own_write_begin(&o, api, in, VERB_UPDATE, to->namespace, to->name);
	o.w.tape_seq = to->seq;
	o.w.is_late = true;
	o.w.managed = true;
	if (o.w.old && o.w.part && is_over)
		(void)end_followed(&o.w, last);
	else if (o.w.old && o.w.part)
		lay_under(&o.w, last);
	own_write_end(&o);
}

void follow_tape_to(struct api *api, struct collection *in, const struct followed_state *to)
{
	struct slice text;
	cJSON *last = NULL;
	struct err err;
	int rc = world_object(api->world, to->seq, &text, &err);

	if (rc == 0)
		rc = json_tree_parse(text, &last, &err);
	if (rc) {
		log_warn("%s", err.text);
		return;
	}
	bring_to(api, in, to, false, last);
	if (to->is_over)
		bring_to(api, in, to, true, last);
	cJSON_Delete(last);
}
