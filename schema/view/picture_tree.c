/*
 * picture_tree.c: the order of lanes: namespaces, in them workloads with what they own below them, and then
 * everything else grouped by resource. It is made anew when there are new objects, but never takes more than
 * a small part of the time.
 */
#include "schema/view/picture_internal.h"

#include "schema/base/clock.h"
#include "schema/base/count_of.h"

#include <stdlib.h>

#define COST_TIMES  20   /* between two makings, as many times of what one takes */
#define OPEN_NODES  400  /* up to this many lanes everything is open at first */
#define OPEN_SPACES 3000 /* ... and all namespaces */

/* What a place in the tree is sorted by. */
struct rank {
	uint32_t track;
	uint64_t busy;
	int64_t begin_ns;
};

struct space {
	const char *name;
	uint32_t first; /* of its roots' list: track + 1 */
	struct rank rank;
};

struct tree {
	struct picture *p;
	uint32_t *child, *next; /* of each track: first of those below, next beside; + 1 */
	struct rank *ranks;     /* of each track with what it owns */
	struct space *spaces;
	size_t space_count, node_cap;
	struct text_map space_places;
};

/* ---- sums ---- */

static bool is_shown(const struct tree *t, uint32_t track)
{
	return t->p->tracks[track].point_count || t->child[track];
}

/* Owners are at most OWNERS_MAX deep. */
static void sum_track(struct tree *t, uint32_t at)
{
	const struct track *track = &t->p->tracks[at];
	struct rank *r = &t->ranks[at];

	*r = (struct rank){at, track->busy, track->point_count ? track->points[0].time_ns : INT64_MAX};
	for (uint32_t child = t->child[at]; child; child = t->next[child - 1]) {
		sum_track(t, child - 1);
		r->busy += t->ranks[child - 1].busy;
		if (t->ranks[child - 1].begin_ns < r->begin_ns)
			r->begin_ns = t->ranks[child - 1].begin_ns;
	}
}

static struct space *space_of(struct tree *t, const char *name)
{
	size_t at = text_map_position_of(text_map_get(&t->space_places, name));

	if (at == SIZE_MAX) {
		at = t->space_count;
		t->spaces = xgrow(t->spaces, t->space_count, sizeof(*t->spaces));
		t->spaces[t->space_count++] = (struct space){.name = name, .rank.begin_ns = INT64_MAX};
		text_map_put(&t->space_places, name, text_map_position(at));
	}
	return &t->spaces[at];
}

static void link_tracks(struct tree *t)
{
	struct picture *p = t->p;

	for (uint32_t i = 0; i < p->track_count; i++) {
		uint32_t owner = p->tracks[i].owner;

		if (owner) {
			t->next[i] = t->child[owner - 1];
			t->child[owner - 1] = i + 1;
		}
	}
	for (uint32_t i = 0; i < p->track_count; i++) {
		struct space *s;

		if (p->tracks[i].owner || !is_shown(t, i))
			continue;
		sum_track(t, i);
		s = space_of(t, p->tracks[i].namespace);
		t->next[i] = s->first;
		s->first = i + 1;
		s->rank.busy += t->ranks[i].busy;
		if (t->ranks[i].begin_ns < s->rank.begin_ns)
			s->rank.begin_ns = t->ranks[i].begin_ns;
	}
}

/* ---- order ---- */

static int compare_ranks(const struct tree *t, const struct rank *a, const struct rank *b)
{
	if (t->p->sort == PICTURE_BUSY && a->busy != b->busy)
		return a->busy < b->busy ? 1 : -1;
	if (t->p->sort == PICTURE_BY_TIME && a->begin_ns != b->begin_ns)
		return a->begin_ns > b->begin_ns ? 1 : -1;
	return 0;
}

static int compare_tracks(const void *a, const void *b, void *context)
{
	const struct tree *t = context;
	const struct rank *x = &t->ranks[*(const uint32_t *)a], *y = &t->ranks[*(const uint32_t *)b];
	int order = compare_ranks(t, x, y);

	return order ? order : strcmp(t->p->tracks[x->track].key, t->p->tracks[y->track].key);
}

/* What has no namespace comes last: it seldom changes. */
static int compare_spaces(const void *a, const void *b, void *context)
{
	const struct space *x = a, *y = b;
	int order;

	if (!*x->name != !*y->name)
		return !*x->name - !*y->name;
	order = compare_ranks(context, &x->rank, &y->rank);
	return order ? order : strcmp(x->name, y->name);
}

static struct slice resource_name(const struct track *t)
{
	return (struct slice){t->key, t->resource_len};
}

static int compare_groups(const void *a, const void *b, void *context)
{
	const struct tree *t = context;
	const struct track *x = &t->p->tracks[*(const uint32_t *)a], *y = &t->p->tracks[*(const uint32_t *)b];
	int order = slice_compare(resource_name(x), resource_name(y));

	return order ? order : compare_tracks(a, b, context);
}

/* ---- nodes ---- */

static size_t add_node(struct tree *t, const struct node *n)
{
	struct picture *p = t->p;

	p->nodes = xgrow(p->nodes, p->node_count, sizeof(*p->nodes));
	p->nodes[p->node_count] = *n;
	return p->node_count++;
}

static void end_node(struct tree *t, size_t at)
{
	t->p->nodes[at].span = (uint32_t)(t->p->node_count - at - 1);
}

/* The members of a list, sorted; the caller frees. */
static uint32_t *sorted_list(struct tree *t, uint32_t first, size_t *ret_count)
{
	uint32_t *list = NULL;

	*ret_count = 0;
	for (uint32_t at = first; at; at = t->next[at - 1]) {
		list = xgrow(list, *ret_count, sizeof(*list));
		list[(*ret_count)++] = at - 1;
	}
	if (list)
		qsort_r(list, *ret_count, sizeof(*list), compare_tracks, t);
	return list;
}

static void add_object(struct tree *t, uint32_t track, uint32_t depth)
{
	const struct rank *r = &t->ranks[track];
	size_t at =
		add_node(t, &(struct node){NODE_OBJECT, depth, 0, track, r->busy, r->begin_ns, false, false});
	size_t count;
	uint32_t *children = sorted_list(t, t->child[track], &count);

	for (size_t i = 0; i < count; i++)
		add_object(t, children[i], depth + 1);
	free(children);
	end_node(t, at);
}

static bool is_workload(const struct tree *t, uint32_t track)
{
	static const char *const names[] = {"pods", "deployments.apps", "replicasets.apps",
		"statefulsets.apps", "daemonsets.apps", "jobs.batch", "cronjobs.batch",
		"replicationcontrollers", "nodes"};
	struct slice resource = resource_name(&t->p->tracks[track]);

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		if (slice_is(resource, names[i]))
			return true;
	}
	return t->child[track] != 0;
}

static void add_groups(struct tree *t, uint32_t *tracks, size_t count)
{
	if (count)
		qsort_r(tracks, count, sizeof(*tracks), compare_groups, t);
	for (size_t i = 0, end; i < count; i = end) {
		struct slice resource = resource_name(&t->p->tracks[tracks[i]]);
		size_t group =
			add_node(t, &(struct node){NODE_GROUP, 1, 0, tracks[i], 0, INT64_MAX, false, false});

		for (end = i; end < count; end++) {
			const struct rank *r = &t->ranks[tracks[end]];

			if (!slice_equal(resource, resource_name(&t->p->tracks[tracks[end]])))
				break;
			add_object(t, tracks[end], 2);
			t->p->nodes[group].busy += r->busy;
			if (r->begin_ns < t->p->nodes[group].begin_ns)
				t->p->nodes[group].begin_ns = r->begin_ns;
		}
		end_node(t, group);
	}
}

static void add_space(struct tree *t, const struct space *s)
{
	size_t at = add_node(t, &(struct node){NODE_NAMESPACE, 0, 0, s->first - 1, s->rank.busy,
					s->rank.begin_ns, false, false});
	size_t count, others = 0;
	uint32_t *roots = sorted_list(t, s->first, &count);

	for (size_t i = 0; i < count; i++) {
		if (is_workload(t, roots[i]))
			add_object(t, roots[i], 1);
		else
			roots[others++] = roots[i];
	}
	add_groups(t, roots, others);
	free(roots);
	end_node(t, at);
}

static void make_nodes(struct picture *p)
{
	struct tree t = {.p = p,
		.child = xcalloc(p->track_count + 1, sizeof(*t.child)),
		.next = xcalloc(p->track_count + 1, sizeof(*t.next)),
		.ranks = xcalloc(p->track_count + 1, sizeof(*t.ranks))};

	free(p->nodes);
	p->nodes = NULL;
	p->node_count = 0;
	link_tracks(&t);
	if (t.space_count)
		qsort_r(t.spaces, t.space_count, sizeof(*t.spaces), compare_spaces, &t);
	for (size_t i = 0; i < t.space_count; i++)
		add_space(&t, &t.spaces[i]);
	text_map_release(&t.space_places);
	free(t.spaces);
	free(t.child);
	free(t.next);
	free(t.ranks);
}

void picture_make_tree(struct picture *p, enum picture_sort sort)
{
	int64_t now = clock_mono_ns(&clock_system);

	picture_sort_points(p);
	if (p->nodes && p->sort == sort &&
		(!p->tree_old || (p->cursor && now - p->tree_made_ns < COST_TIMES * p->tree_cost_ns)))
		return;
	p->sort = sort;
	make_nodes(p);
	p->tree_old = false;
	p->tree_made_ns = clock_mono_ns(&clock_system);
	p->tree_cost_ns = p->tree_made_ns - now;
}

bool node_is_open_at_first(const struct picture *p, const struct node *n)
{
	if (n->kind == NODE_NAMESPACE)
		return (p->node_count <= OPEN_SPACES || n->span <= OPEN_NODES) &&
		       *p->tracks[n->track].namespace;
	return n->kind == NODE_OBJECT && p->node_count <= OPEN_NODES;
}

char *node_key(const struct picture *p, const struct node *n)
{
	const struct track *t = &p->tracks[n->track];

	if (n->kind == NODE_NAMESPACE)
		return xasprintf("n/%s", t->namespace);
	if (n->kind == NODE_GROUP)
		return xasprintf("g/%s/%.*s", t->namespace, (int)t->resource_len, t->key);
	return xstrdup(t->key);
}
