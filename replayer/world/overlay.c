/* overlay.c: see overlay.h. */
#include "replayer/world/overlay.h"

#include <stdlib.h>

/* An open table of seq to version; seqs are never 0 and never leave. */
struct moved {
	uint64_t seq, rv;
};

struct overlay {
	struct overlay_version **versions; /* by seq - OVERLAY_SEQ; NULL once dropped */
	bool *superseded;
	size_t count, cap;
	size_t next_drop; /* none before it is superseded and still there, unless it came later */
	size_t bytes, superseded_bytes; /* bytes: of those that are not superseded */
	struct moved *moved;
	size_t moved_count, moved_cap; /* cap: a power of two */
	struct overlay_shown *shown;
	size_t shown_count;
};

struct overlay *overlay_new(void)
{
	return xcalloc(1, sizeof(struct overlay));
}

static size_t cost(const struct overlay_version *v)
{
	return sizeof(*v) + v->namespace.len + v->name.len + v->part.len + v->object->len;
}

static void version_free(struct overlay_version *v)
{
	if (!v)
		return;
	blob_unref(v->object);
	free(v);
}

void overlay_free(struct overlay *o)
{
	if (!o)
		return;
	for (size_t i = 0; i < o->count; i++)
		version_free(o->versions[i]);
	free(o->versions);
	free(o->superseded);
	free(o->moved);
	free(o->shown);
	free(o);
}

static struct slice overlay_copy(struct slice s, char *to)
{
	if (s.len)
		memcpy(to, s.ptr, s.len);
	return (struct slice){to, s.len};
}

static void note_shown(struct overlay *o, uint64_t seq, uint64_t rv)
{
	o->shown = xgrow(o->shown, o->shown_count, sizeof(*o->shown));
	o->shown[o->shown_count++] = (struct overlay_shown){seq, rv};
}

const struct overlay_version *overlay_add(
	struct overlay *o, const struct overlay_version *v, struct slice object)
{
	struct overlay_version *added =
		xmalloc(sizeof(*added) + v->namespace.len + v->name.len + v->part.len);
	char *text = (char *)(added + 1);

	if (o->count == o->cap) {
		o->cap = o->cap ? 2 * o->cap : 64;
		o->versions = xrealloc(o->versions, o->cap * sizeof(struct overlay_version *));
		o->superseded = xrealloc(o->superseded, o->cap * sizeof(*o->superseded));
	}
	*added = *v;
	added->seq = OVERLAY_SEQ + o->count;
	added->namespace = overlay_copy(v->namespace, text);
	added->name = overlay_copy(v->name, text + v->namespace.len);
	added->part = overlay_copy(v->part, text + v->namespace.len + v->name.len);
	added->object = blob_of(object);
	o->superseded[o->count] = false;
	o->versions[o->count++] = added;
	o->bytes += cost(added);
	if (v->tape_seq)
		note_shown(o, v->tape_seq, v->rv);
	return added;
}

const struct overlay_version *overlay_find(const struct overlay *o, uint64_t seq)
{
	return overlay_has(seq) && seq - OVERLAY_SEQ < o->count ? o->versions[seq - OVERLAY_SEQ] : NULL;
}

size_t overlay_cost(const struct overlay *o, uint64_t seq)
{
	const struct overlay_version *v = overlay_find(o, seq);

	return v && !o->superseded[seq - OVERLAY_SEQ] ? cost(v) : 0;
}

size_t overlay_bytes(const struct overlay *o)
{
	return o->bytes;
}

void overlay_supersede(struct overlay *o, uint64_t seq)
{
	const struct overlay_version *v = overlay_find(o, seq);
	size_t at = (size_t)(seq - OVERLAY_SEQ);

	if (!v || o->superseded[at])
		return;
	o->superseded[at] = true;
	o->bytes -= cost(v);
	o->superseded_bytes += cost(v);
	if (at < o->next_drop)
		o->next_drop = at;
}

uint64_t overlay_drop(struct overlay *o, uint32_t *ret_resource)
{
	struct overlay_version *v;
	uint64_t seq;

	if (o->superseded_bytes <= OVERLAY_KEPT_BYTES)
		return 0;
	while (o->next_drop < o->count && !(o->versions[o->next_drop] && o->superseded[o->next_drop]))
		o->next_drop++;
	if (o->next_drop == o->count)
		return 0;
	v = o->versions[o->next_drop];
	o->versions[o->next_drop++] = NULL;
	o->superseded_bytes -= cost(v);
	seq = v->seq;
	*ret_resource = v->resource;
	version_free(v);
	return seq;
}

/* ---- events that moved up ---- */

static struct moved *moved_slot(const struct overlay *o, uint64_t seq)
{
	size_t at = (size_t)(seq * UINT64_C(0x9e3779b97f4a7c15)) & (o->moved_cap - 1);

	while (o->moved[at].seq && o->moved[at].seq != seq)
		at = (at + 1) & (o->moved_cap - 1);
	return &o->moved[at];
}

static void moved_grow(struct overlay *o)
{
	struct moved *old = o->moved;
	size_t old_cap = o->moved_cap;

	o->moved_cap = old_cap ? 2 * old_cap : 256;
	o->moved = xcalloc(o->moved_cap, sizeof(*o->moved));
	for (size_t i = 0; i < old_cap; i++) {
		if (old[i].seq)
			*moved_slot(o, old[i].seq) = old[i];
	}
	free(old);
}

const struct overlay_shown *overlay_shown(const struct overlay *o, size_t *ret_count)
{
	*ret_count = o->shown_count;
	return o->shown;
}

void overlay_move(struct overlay *o, uint64_t seq, uint64_t rv)
{
	struct moved *slot;

	if (2 * o->moved_count >= o->moved_cap)
		moved_grow(o);
	slot = moved_slot(o, seq);
	o->moved_count += slot->seq == 0;
	*slot = (struct moved){seq, rv};
	note_shown(o, seq, rv);
}

uint64_t overlay_moved(const struct overlay *o, uint64_t seq)
{
	return o->moved_count ? moved_slot(o, seq)->rv : 0;
}
