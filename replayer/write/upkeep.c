/* upkeep.c: see upkeep.h. */
#include "replayer/write/upkeep.h"

#include "replayer/write/awaited.h"
#include "replayer/write/collector.h"
#include "replayer/write/crd_ending.h"
#include "replayer/write/finalizer_hold.h"
#include "replayer/write/follow_tape.h"
#include "replayer/write/held_names.h"
#include "replayer/write/namespace_ending.h"
#include "replayer/write/own_write.h"
#include "schema/base/clock.h"
#include "schema/base/json_scan.h"

#include <stdlib.h>

#define STEPS 200 /* of the collector, before others have their turn */

/* A pod whose grace runs out. */
struct ending {
	int64_t due_ns; /* tape time */
	int64_t grace_s;
	uint32_t resource;
	char *namespace, *name, *uid;
};

struct upkeep {
	struct api *api;
	struct player *player;
	struct crd_ending *crds;
	struct held_names *held;
	struct collector *collector; /* NULL: nothing is collected */
	const struct player_director *other;
	void *other_context;
	struct ending *endings; /* by time; those of one time as they were written */
	size_t count, cap;
	int64_t last_ns;  /* where the clock stood when it was last looked at */
	int64_t event_ns; /* of the event that is about to be applied; INT64_MAX: none is */
};

struct upkeep *upkeep_new(struct api *api, struct player *player, bool gc,
	const struct player_director *other, void *other_context)
{
	struct upkeep *u = xcalloc(1, sizeof(*u));

	u->api = api;
	u->player = player;
	u->crds = crd_ending_new(api);
	u->held = held_names_new(api);
	u->collector = gc ? collector_new(api) : NULL;
	u->other = other;
	u->other_context = other_context;
	u->event_ns = INT64_MAX;
	player_direct(player, &upkeep_director, u);
	return u;
}

static void ending_release(struct ending *e)
{
	free(e->namespace);
	free(e->name);
	free(e->uid);
}

void upkeep_free(struct upkeep *u)
{
	if (!u)
		return;
	for (size_t i = 0; i < u->count; i++)
		ending_release(&u->endings[i]);
	free(u->endings);
	collector_free(u->collector);
	crd_ending_free(u->crds);
	held_names_free(u->held);
	free(u);
}

/* ---- what was written ---- */

/* When there is work that waits for no tape time, by the monotonic clock: 0 at once, INT64_MAX never. */
static int64_t work_due_ns(const struct upkeep *u)
{
	if (crd_ending_is_busy(u->crds) || held_names_is_busy(u->held) || awaited_is_busy(u->api->awaited))
		return 0;
	return u->collector ? collector_due_ns(u->collector) : INT64_MAX;
}

static bool is_working(const struct upkeep *u)
{
	return work_due_ns(u) != INT64_MAX;
}

/* Where the replay's clock stands. */
static int64_t upkeep_now(const struct upkeep *u)
{
	const struct player *p = u->player;

	if (u->event_ns != INT64_MAX)
		return u->event_ns;
	if (player_state(p) == PLAYER_ENDED && player_speed(p) == SPEED_MAX)
		return INT64_MAX;
	return player_tape_ns(p);
}

static void insert(struct upkeep *u, const struct ending *e)
{
	size_t at = u->count;

	if (u->count == u->cap) {
		u->cap = u->cap ? 2 * u->cap : 16;
		u->endings = xrealloc(u->endings, u->cap * sizeof(*u->endings));
	}
	while (at > 0 && u->endings[at - 1].due_ns > e->due_ns)
		at--;
	memmove(u->endings + at + 1, u->endings + at, (u->count - at) * sizeof(*u->endings));
	u->endings[at] = *e;
	u->count++;
}

/* Seconds of grace that the object's deletion leaves it; 0 if it is not being deleted, or ends at once. */
static int64_t grace_of(struct slice object)
{
	struct slice grace;
	char *digits;
	long long seconds;

	if (json_get(object, "metadata.deletionGracePeriodSeconds", &grace, NULL) <= 0)
		return 0;
	digits = slice_dup(grace);
	seconds = strtoll(digits, NULL, 10);
	free(digits);
	return seconds > 0 ? seconds : 0;
}

static char *uid_of(struct slice object)
{
	struct object_meta meta;

	return json_scan_object(object, &meta, NULL) ? xstrdup("") : slice_dup(meta.uid);
}

static bool is_pod(const struct collection *c)
{
	return strcmp(c->resource.resource, "pods") == 0 && !*c->resource.apigroup;
}

void upkeep_wrote(struct upkeep *u, const struct collection *in, const struct change *c)
{
	int64_t grace_s = is_pod(in) && c->type == EVENT_MODIFIED ? grace_of(c->object) : 0, now_ns;
	struct ending e;

	crd_ending_wrote(u->crds, in, c);
	held_names_wrote(u->held, in, c);
	awaited_wrote(u->api->awaited, in, c);
	if (u->collector)
		collector_wrote(u->collector, in, c);
	if (is_working(u))
		player_nudge(u->player);
	if (!grace_s)
		return;
	now_ns = player_tape_ns(u->player);
	e = (struct ending){.due_ns = time_add(now_ns, grace_s * NS_PER_S),
		.grace_s = grace_s,
		.resource = in->resource.id,
		.namespace = slice_dup(c->namespace),
		.name = slice_dup(c->name),
		.uid = uid_of(c->object)};
	insert(u, &e);
	player_nudge(u->player);
}

void upkeep_followed(struct upkeep *u, struct collection *in, struct change *c, uint64_t number)
{
	if (u->collector)
		collector_followed(u->collector, c);
	player_hand_on(u->player, in, c, number);
}

bool upkeep_is_owed(const struct upkeep *u)
{
	return held_names_is_owed(u->held);
}

void upkeep_give_up(struct upkeep *u)
{
	held_names_give_up(u->held);
}

/* ---- what has come to an end ---- */

static cJSON *options_at_once(const char *uid)
{
	cJSON *options = cJSON_CreateObject();

	json_tree_set(options, "gracePeriodSeconds", cJSON_CreateNumber(0));
	json_tree_set_text(json_tree_object(options, "preconditions"), "uid", uid);
	return options;
}

/* As the kubelet would, unless somebody was faster: the pod is gone, or was given less. */
static void end_pod(struct upkeep *u, const struct ending *e)
{
	struct collection *c = world_collection(u->api->world, e->resource);
	struct own_write o;
	const cJSON *grace;

	own_write_begin(&o, u->api, c, VERB_DELETE, slice_of(e->namespace), slice_of(e->name));
	grace = json_tree_at(o.w.old, "metadata", "deletionGracePeriodSeconds", NULL);
	if (cJSON_IsNumber(grace) && (int64_t)grace->valuedouble == e->grace_s &&
		strcmp(own_write_uid(&o), e->uid) == 0)
		own_write_remove(&o, options_at_once(e->uid));
	own_write_end(&o);
}

/* The replay went back: what is left of each grace is what was left. */
static void follow_clock(struct upkeep *u)
{
	int64_t now_ns = player_tape_ns(u->player);
	int64_t back_ns = now_ns < u->last_ns ? time_sub(u->last_ns, now_ns) : 0;

	for (size_t i = 0; i < u->count && back_ns; i++)
		u->endings[i].due_ns = time_sub(u->endings[i].due_ns, back_ns);
	u->last_ns = now_ns;
}

static void end_pods(struct upkeep *u)
{
	int64_t now_ns = upkeep_now(u);

	while (u->count && u->endings[0].due_ns <= now_ns) {
		struct ending e = u->endings[0];

		memmove(u->endings, u->endings + 1, --u->count * sizeof(*u->endings));
		end_pod(u, &e);
		ending_release(&e);
	}
}

/* A part of what is to be done, so that requests have their turn. */
static void do_some(struct upkeep *u, bool at_once)
{
	end_pods(u);
	crd_ending_work(u->crds);
	held_names_work(u->held);
	awaited_work(u->api->awaited, u->api);
	if (u->collector)
		collector_work(u->collector, STEPS, at_once);
}

/* ---- what the player tells ---- */

/* All that is to be done comes before the next event. */
static void do_all(struct upkeep *u)
{
	do {
		do_some(u, true);
	} while (is_working(u));
}

static int before(
	void *context, const struct collection *in, const struct change *c, int64_t tape_ns, struct err *err)
{
	struct upkeep *u = context;

	u->event_ns = tape_ns;
	do_all(u);
	finalizer_hold_before(u->api, in, c);
	awaited_before(u->api->awaited, u->api, in, c);
	namespace_ending_before(u->api, in, c);
	u->event_ns = INT64_MAX;
	return u->other ? u->other->before(u->other_context, in, c, tape_ns, err) : 0;
}

static void after(void *context, const struct collection *in, const struct change *c, int64_t tape_ns)
{
	struct upkeep *u = context;

	if (follow_tape_is_due(in, c))
		held_names_follow(u->held, in, c, follow_tape(u->api, in, c));
	if (u->collector)
		collector_applied(u->collector, in, c);
	if (is_working(u))
		player_nudge(u->player);
	if (u->other)
		u->other->after(u->other_context, in, c, tape_ns);
}

static void upkeep_tick(void *context)
{
	struct upkeep *u = context;

	follow_clock(u);
	do_some(u, false);
	if (u->other)
		u->other->tick(u->other_context);
}

static void next(void *context, int64_t *ret_tape_ns, int64_t *ret_mono_ns)
{
	const struct upkeep *u = context;

	int64_t due_ns = work_due_ns(u);

	*ret_tape_ns = *ret_mono_ns = INT64_MAX;
	if (u->other)
		u->other->next(u->other_context, ret_tape_ns, ret_mono_ns);
	if (due_ns < *ret_mono_ns)
		*ret_mono_ns = due_ns;
	if (u->count && u->endings[0].due_ns < *ret_tape_ns)
		*ret_tape_ns = u->endings[0].due_ns;
}

static void upkeep_settle(void *context)
{
	struct upkeep *u = context;

	follow_clock(u);
	if (u->other)
		u->other->settle(u->other_context);
}

static bool is_holding(const void *context)
{
	const struct upkeep *u = context;

	return u->other && u->other->is_holding(u->other_context);
}

const struct player_director upkeep_director = {.before = before,
	.after = after,
	.tick = upkeep_tick,
	.next = next,
	.settle = upkeep_settle,
	.is_holding = is_holding};
