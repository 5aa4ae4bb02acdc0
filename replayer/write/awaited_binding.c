/* awaited_binding.c: see awaited_binding.h. */
#include "replayer/write/awaited_binding.h"

#include "replayer/write/own_part.h"
#include "replayer/write/own_write.h"
#include "schema/base/json_scan.h"
#include "schema/base/log.h"

#include <stdlib.h>

/* A pod, and the last event of the tape that waits until it is bound. */
struct waiting_pod {
	char *key;
	uint64_t seq;
};

static void waiting_pod_free(struct waiting_pod *p)
{
	free(p->key);
	free(p);
}

void awaited_binding_add(struct awaited_binding *b, uint32_t pods, struct slice scheduler)
{
	b->pods = pods;
	b->schedulers = xrealloc(b->schedulers, (b->count + 1) * sizeof(*b->schedulers));
	b->schedulers[b->count++] = slice_dup(scheduler);
}

void awaited_binding_release(struct awaited_binding *b)
{
	for (size_t i = 0; i < b->count; i++)
		free(b->schedulers[i]);
	free(b->schedulers);
	for (size_t i = 0; i < b->waiting.cap; i++) {
		if (b->waiting.slots[i].value)
			waiting_pod_free(b->waiting.slots[i].value);
	}
	text_map_release(&b->waiting);
}

static char *key_of(const struct change *c)
{
	return xasprintf("%.*s/%.*s", (int)c->namespace.len, c->namespace.ptr, (int)c->name.len, c->name.ptr);
}

static bool is_on_node(struct slice pod)
{
	struct slice node;

	return json_get(pod, "spec.nodeName", &node, NULL) > 0 && !json_text_is(node, "");
}

/* Whether the tape says that one of those schedulers has bound it. */
static bool is_bound(const struct awaited_binding *b, const struct change *c)
{
	struct slice name;
	size_t i = 0;

	if (c->type != EVENT_MODIFIED || !is_on_node(c->object))
		return false;
	if (json_get(c->object, "spec.schedulerName", &name, NULL) <= 0)
		name = slice_of("default-scheduler");
	while (i < b->count && !json_text_is(name, b->schedulers[i]))
		i++;
	return i < b->count;
}

/* Whether the tape's last version of that pod, which nobody has written to, is on no node. */
static bool is_unbound(struct world *world, uint64_t seq)
{
	struct slice pod;
	struct err err;

	if (world_object(world, seq, &pod, &err) == 0)
		return !is_on_node(pod);
	log_warn("%s", err.text);
	return false;
}

void awaited_binding_before(
	const struct awaited_binding *b, struct api *api, const struct collection *in, const struct change *c)
{
	const struct live *l;

	if (!b->pods || in->resource.id != b->pods || !is_bound(b, c))
		return;
	l = live_set_find(&in->live, c->namespace, c->name);
	if (l && !overlay_has(l->seq) && is_unbound(api->world, l->seq))
		own_write_adopt(api, in, c, OWN_PART_NONE);
}

static void note_event(struct awaited_binding *b, const struct change *c)
{
	char *key = key_of(c);
	struct waiting_pod *p = text_map_get(&b->waiting, key);

	if (p) {
		free(key);
	} else {
		p = xmalloc(sizeof(*p));
		p->key = key;
		text_map_put(&b->waiting, key, p);
	}
	p->seq = c->seq;
}

/* Returns the event that was noted; 0: none. */
static uint64_t forget_pod(struct awaited_binding *b, const struct change *c)
{
	char *key = key_of(c);
	struct waiting_pod *p = text_map_get(&b->waiting, key);
	uint64_t seq = p ? p->seq : 0;

	text_map_remove(&b->waiting, key);
	if (p)
		waiting_pod_free(p);
	free(key);
	return seq;
}

bool awaited_binding_holds(
	struct awaited_binding *b, const struct collection *in, const struct change *c, struct slice shown)
{
	if (!b->pods || in->resource.id != b->pods)
		return false;
	if (is_bound(b, c) && !is_on_node(shown) && change_is_of(c, shown)) {
		note_event(b, c);
		return true;
	}
	(void)forget_pod(b, c);
	return false;
}

uint64_t awaited_binding_wrote(struct awaited_binding *b, const struct collection *in, const struct change *c)
{
	if (!b->pods || in->resource.id != b->pods || c->type != EVENT_MODIFIED || !is_on_node(c->object))
		return 0;
	return forget_pod(b, c);
}
