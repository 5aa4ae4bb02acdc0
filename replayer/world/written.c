/* written.c: the part of a world that programs wrote; see world.h and overlay.h. */
#include "replayer/kinds/builtin.h"
#include "replayer/world/world_internal.h"
#include "schema/base/bytes_format.h"
#include "schema/base/json_scan.h"
#include "schema/base/log.h"
#include "schema/base/rv.h"

#include <stdlib.h>

#define NAME_COST_BYTES 512 /* of an object, beside its own bytes: in sets, histories and tables */

/* ---- resources that are not on the tape ---- */

/* Where their versions begin: above all that the tape has told so far. */
static uint64_t latest_rv(const struct world *w)
{
	uint64_t rv = 1;

	for (size_t i = 0; i < w->count; i++) {
		if (w->collections[i].rv > rv)
			rv = w->collections[i].rv;
	}
	return rv;
}

/* Nothing has ever happened to it, so that it can be watched from any version. */
static void begin_empty(struct world *w, struct collection *c)
{
	c->rv = w->counter ? w->counter : latest_rv(w);
	history_reset(&c->history, 1, w->seq);
}

struct collection *world_add(struct world *w, const struct tape_resource *r)
{
	struct collection *c;

	if (w->count == w->recorded_count + WORLD_ADDED_MAX)
		return NULL;
	c = &w->collections[w->count];
	c->resource = (struct tape_resource){.id = (uint32_t)w->count,
		.apigroup = xstrdup(r->apigroup),
		.version = xstrdup(r->version),
		.resource = xstrdup(r->resource),
		.kind = xstrdup(r->kind),
		.namespaced = r->namespaced};
	c->custom = !builtin_group(slice_of(r->apigroup));
	c->served = c->shares_counter = true;
	history_init(&c->history, w->window, 0, 0);
	begin_empty(w, c);
	w->count++;
	return c;
}

void world_free_added(struct world *w)
{
	for (size_t i = w->recorded_count; i < w->count; i++) {
		struct tape_resource *r = &w->collections[i].resource;

		free(r->apigroup);
		free(r->version);
		free(r->resource);
		free(r->kind);
	}
}

/* ---- the tape goes on ---- */

bool world_hides(const struct collection *in, const struct change *c)
{
	return in->written.count && live_set_find(&in->written, c->namespace, c->name);
}

struct change *world_move_up(struct world *w, struct collection *in, struct change **c)
{
	struct change *moved;

	if (!in->written_rv || (*c)->rv == 0 || (*c)->rv > in->written_rv || (*c)->origin == ORIGIN_LIST)
		return *c;
	in->written_rv = in->rv + 1;
	moved = change_renumbered(*c, in->written_rv);
	overlay_move(w->overlay, (*c)->seq, moved->rv);
	change_unref(*c);
	*c = moved;
	return moved;
}

static void lay_over(struct world *w, struct collection *c)
{
	uint64_t rv = (c->rv > c->written_rv ? c->rv : c->written_rv) + 1;

	for (size_t i = 0; i < c->written.count; i++) {
		const struct live *l = c->written.items[i];
		const struct overlay_version *v = overlay_find(w->overlay, l->seq);

		if (v && v->type != EVENT_DELETED)
			live_set_put(&c->live, live_namespace(l), live_name(l), l->seq);
		else
			live_set_remove(&c->live, live_namespace(l), live_name(l));
	}
	c->rv = c->written_rv = rv;
	history_reset(&c->history, rv, w->seq);
}

void world_lay_over(struct world *w)
{
	for (size_t i = 0; i < w->count; i++) {
		if (w->collections[i].written_rv)
			lay_over(w, &w->collections[i]);
		else if (i >= w->recorded_count)
			begin_empty(w, &w->collections[i]);
	}
}

/* ---- writing ---- */

uint64_t world_next_rv(const struct collection *in)
{
	return in->rv + 1;
}

/* Of the version that stands there under the name. */
static size_t cost_in(const struct world *w, const struct live_set *s, const struct overlay_version *v)
{
	const struct live *l = live_set_find(s, v->namespace, v->name);

	return l ? overlay_cost(w->overlay, l->seq) : 0;
}

bool world_has_room(
	struct world *w, const struct collection *in, const struct overlay_version *v, size_t bytes)
{
	char text[BYTES_TEXT_BYTES];
	size_t before, all;

	if (!w->written_max || v->type == EVENT_DELETED)
		return true;
	before = cost_in(w, &in->written, v) + cost_in(w, &in->absorbed, v);
	all = overlay_bytes(w->overlay) + w->written_names * NAME_COST_BYTES;
	if (bytes <= before || all - before + bytes <= w->written_max)
		return true;
	if (!w->told_full)
		log_warn(
			"what programs wrote takes %s, which is all that it may: writes that add to it are refused",
			bytes_format(text, w->written_max));
	w->told_full = true;
	return false;
}

static void drop_old_versions(struct world *w)
{
	uint32_t resource;
	uint64_t seq;

	while ((seq = overlay_drop(w->overlay, &resource)))
		history_drop(&w->collections[resource].history, seq);
}

/* Adds the version to the overlay, in front of what lives under its name. */
static const struct overlay_version *add_version(struct world *w, struct collection *in,
	const struct overlay_version *v, uint64_t rv, struct slice object)
{
	const struct live *live = live_set_find(&in->live, v->namespace, v->name);
	struct overlay_version version = *v;

	version.previous_seq = live ? live->seq : 0;
	version.rv = rv;
	version.resource = in->resource.id;
	version.time_ns = w->time_ns;
	return overlay_add(w->overlay, &version, object);
}

int64_t world_write(struct world *w, struct collection *in, const struct overlay_version *v,
	struct slice object, struct change **ret)
{
	const struct overlay_version *added = add_version(w, in, v, world_next_rv(in), object);

	overlay_supersede(w->overlay, added->previous_seq);
	if (v->type == EVENT_DELETED) {
		live_set_remove(&in->live, v->namespace, v->name);
		overlay_supersede(w->overlay, added->seq);
	} else {
		live_set_put(&in->live, v->namespace, v->name, added->seq);
	}
	w->written_names += live_set_put(&in->written, v->namespace, v->name, added->seq) == 0;
	in->rv = in->written_rv = added->rv;
	*ret = change_of_version(added);
	change_cache_add(w->changes, *ret);
	history_add(&in->history, in->rv, added->seq);
	drop_old_versions(w);
	return (int64_t)history_end(&in->history) - 1;
}

int world_adopt(struct world *w, struct collection *in, struct slice namespace, struct slice name,
	struct slice part, struct err *err)
{
	const struct live *l = live_set_find(&in->live, namespace, name);
	const struct overlay_version v = {.type = EVENT_MODIFIED,
		.tape_seq = l->seq,
		.namespace = namespace,
		.name = name,
		.part = part};
	const struct overlay_version *added;
	struct object_meta meta;
	struct slice object;
	uint64_t rv = 0;
	int rc = world_object(w, l->seq, &object, err);

	if (rc == 0)
		rc = json_scan_object(object, &meta, err);
	if (rc)
		return rc;
	rv_to_u64(meta.rv, &rv);
	added = add_version(w, in, &v, rv, object);
	live_set_put(&in->live, namespace, name, added->seq);
	w->written_names += live_set_put(&in->written, namespace, name, added->seq) == 0;
	if (rv > in->written_rv)
		in->written_rv = rv;
	return 0;
}

void world_hide(struct world *w, struct collection *in, struct slice namespace, struct slice name)
{
	const struct overlay_version v = {.type = EVENT_DELETED, .namespace = namespace, .name = name};
	uint64_t seq;

	if (live_set_find(&in->written, namespace, name))
		return;
	seq = add_version(w, in, &v, in->rv, slice_of("{}"))->seq;
	overlay_supersede(w->overlay, seq);
	live_set_put(&in->written, namespace, name, seq);
	w->written_names++;
}

void world_forget(struct world *w, struct collection *in, struct slice namespace, struct slice name)
{
	if (in->absorbed.count)
		overlay_supersede(w->overlay, live_set_remove(&in->absorbed, namespace, name));
}

void world_remember(
	struct world *w, struct collection *in, const struct overlay_version *v, struct slice object)
{
	bool hides = live_set_find(&in->live, v->namespace, v->name);

	world_forget(w, in, v->namespace, v->name);
	if (hides || v->type != EVENT_DELETED)
		live_set_put(
			&in->absorbed, v->namespace, v->name, add_version(w, in, v, in->rv, object)->seq);
	drop_old_versions(w);
}

const struct overlay_version *world_remembered(
	const struct world *w, const struct collection *in, struct slice namespace, struct slice name)
{
	const struct live *kept = live_set_find(&in->absorbed, namespace, name);
	const struct live *live = live_set_find(&in->live, namespace, name);
	const struct overlay_version *v = kept ? overlay_find(w->overlay, kept->seq) : NULL;

	return v && v->previous_seq == (live ? live->seq : 0) ? v : NULL;
}

int world_written_object(struct world *w, uint64_t seq, struct slice *ret, struct err *err)
{
	const struct overlay_version *v = overlay_find(w->overlay, seq);

	if (!v)
		return err_set(err, ERR_NOT_FOUND, "written version %llu is kept no more",
			(unsigned long long)(seq - OVERLAY_SEQ));
	*ret = blob_body(v->object);
	return 0;
}

/* ---- older states ---- */

static int undo_one(
	struct world *w, const struct history_entry *entry, struct live_set *state, struct err *err)
{
	struct change *c;
	int rc = change_cache_get(w->changes, entry->seq, entry->rv, &c, err);

	if (rc)
		return rc;
	rc = change_find_previous(w->changes, c, err);
	if (rc == 0 && c->previous_seq)
		live_set_put(state, c->namespace, c->name, c->previous_seq);
	else if (rc == 0)
		live_set_remove(state, c->namespace, c->name);
	change_unref(c);
	return rc;
}

int world_undo(struct world *w, struct collection *c, uint64_t rv, struct live_set *to, struct err *err)
{
	uint64_t first = history_after(&c->history, rv);
	int rc = 0;

	live_set_copy(&c->live, to);
	for (uint64_t n = history_end(&c->history); n > first && rc == 0; n--)
		rc = undo_one(w, history_at(&c->history, n - 1), to, err);
	return rc;
}
