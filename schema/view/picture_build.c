/*
 * picture_build.c: from events to lanes.
 *
 * In the order of storage an object's versions come one after another, but the objects that had one name
 * after another do not come in the order of time, nor do Events come beside what they are about: points are
 * sorted when somebody looks (picture_sort_points), and what depends on that order, which life follows which,
 * is found then.
 */
#include "schema/view/picture_internal.h"

#include "schema/base/json_scan.h"
#include "schema/base/limits.h"

#include <stdlib.h>

#define OWNERS_MAX 8 /* in a row: what is deeper is shown beside */

/* ---- finding tracks ---- */

static int put_key(struct buf *key, const struct tape_resource *r, struct slice kind, struct slice namespace,
	struct slice name)
{
	const char *resource = r ? r->resource : NULL, *group = r ? r->apigroup : "";
	int rc = resource ? buf_printf(key, NULL, "%s%s%s", resource, *group ? "." : "", group)
			  : buf_append(key, kind.ptr, kind.len, NULL);

	if (!rc)
		rc = buf_append(key, "/", 1, NULL);
	if (!rc)
		rc = buf_append(key, namespace.ptr, namespace.len, NULL);
	if (!rc)
		rc = buf_append(key, "/", 1, NULL);
	if (!rc)
		rc = buf_append(key, name.ptr, name.len, NULL);
	return rc ? rc : buf_append(key, "", 1, NULL);
}

size_t picture_track(struct picture *p, const struct tape_resource *r, struct slice kind,
	struct slice namespace, struct slice name)
{
	struct track *t;
	size_t at;

	buf_clear(&p->key);
	if (put_key(&p->key, r, kind, namespace, name))
		abort(); /* names have a maximum, and the key's is above it */
	at = text_map_position_of(text_map_get(&p->places, p->key.ptr));
	if (at != SIZE_MAX)
		return at;
	p->tracks = xgrow(p->tracks, p->track_count, sizeof(*p->tracks));
	t = &p->tracks[p->track_count];
	*t = (struct track){.key = xstrdup(p->key.ptr),
		.resource = r ? r->id : 0,
		.namespace = slice_dup(namespace),
		.name = slice_dup(name),
		.kind = r ? NULL : slice_dup(kind),
		.resource_len = (uint32_t)strcspn(p->key.ptr, "/")};
	text_map_put(&p->places, t->key, text_map_position(p->track_count));
	p->tree_old = true;
	return p->track_count++;
}

/* The resource of a kind; NULL when the tape has none. `api`: its group and version, or empty. */
static const struct tape_resource *find_kind(const struct picture *p, struct slice kind, struct slice api)
{
	const char *slash = api.len ? memchr(api.ptr, '/', api.len) : NULL;
	struct slice group = {api.ptr, slash ? (size_t)(slash - api.ptr) : 0};
	const struct tape_resource *r;

	for (size_t i = 0; (r = tape_resource_at(p->tape, i)); i++) {
		if (r->kind && slice_is(kind, r->kind) && slice_is(group, r->apigroup))
			return r;
	}
	return NULL;
}

/* Names in objects are escaped; nearly none holds what that changes. Borrowed until the next call. */
static struct slice plain(struct picture *p, struct slice escaped)
{
	if (!escaped.len || !memchr(escaped.ptr, '\\', escaped.len))
		return escaped;
	buf_clear(&p->plain);
	return json_unescape(escaped, &p->plain, NULL) ? escaped : buf_slice(&p->plain);
}

/* ---- owners ---- */

/* Objects may claim to own each other. */
static bool may_own(const struct picture *p, size_t owner, size_t owned)
{
	for (size_t depth = 0; depth < OWNERS_MAX; depth++) {
		if (owner == owned)
			return false;
		if (!p->tracks[owner].owner)
			return true;
		owner = p->tracks[owner].owner - 1;
	}
	return false;
}

/* Only owners in the object's namespace have it below them: a Node owns Pods of many. */
static void find_owner(struct picture *p, size_t at, const struct object_look *look)
{
	const struct tape_resource *r;
	struct slice namespace = slice_of(p->tracks[at].namespace);
	size_t owner;

	if (!look->owner.len || !look->owner_kind.len || p->tracks[at].owner)
		return;
	r = find_kind(p, look->owner_kind, look->owner_api);
	if (namespace.len && ((r && !r->namespaced) || slice_is(look->owner_kind, "Node")))
		return;
	owner = picture_track(p, r, look->owner_kind, namespace, plain(p, look->owner));
	if (!may_own(p, owner, at))
		return;
	p->tracks[at].owner = (uint32_t)owner + 1;
	p->tree_old = true;
}

/* ---- points ---- */

static void note_loud(struct track *t, uint32_t at)
{
	if (t->points[at].note < NOTE_RESTART)
		return;
	t->loud = xgrow(t->loud, t->loud_count, sizeof(*t->loud));
	t->loud[t->loud_count++] = at;
}

void picture_add_point(struct picture *p, size_t at, const struct point *point)
{
	struct track *t = &p->tracks[at];

	if (p->point_count >= PICTURE_POINTS_MAX) {
		p->full = true;
		return;
	}
	t->points = xgrow(t->points, t->point_count, sizeof(*t->points));
	t->points[t->point_count] = *point;
	if (t->point_count) {
		const struct point *before = &t->points[t->point_count - 1];

		t->unsorted |= before->seq > point->seq || before->time_ns > point->time_ns;
	} else {
		p->tree_old = true;
	}
	note_loud(t, t->point_count++);
	p->point_count++;
}

static void add_step(struct track *t, const struct event *e, const struct object_look *look)
{
	const struct step *last = t->step_count ? &t->steps[t->step_count - 1] : NULL;
	int32_t wanted = (int32_t)look->wanted, ready = (int32_t)look->ready;

	if (look->wanted < 0 || look->wanted > INT32_MAX || look->ready < 0 || look->ready > INT32_MAX ||
		(last && last->wanted == wanted && last->ready == ready && last->seq < e->seq))
		return;
	t->unsorted |= last && last->seq > e->seq;
	t->steps = xgrow(t->steps, t->step_count, sizeof(*t->steps)); /* `last` is gone */
	t->steps[t->step_count++] = (struct step){e->time_ns, e->seq, wanted, ready};
}

/* The place of the life that the event belongs to, in the order in which they were found. */
static uint32_t find_life(struct track *t, const struct event *e, bool *ret_new)
{
	*ret_new = false;
	for (uint32_t i = t->life_count; i > 0; i--) {
		struct life *l = &t->lives[i - 1];

		if (!slice_is(e->uid, l->uid))
			continue;
		if (e->seq < l->first_seq) {
			l->first_seq = e->seq;
			l->begin_ns = e->time_ns;
		}
		return i - 1;
	}
	*ret_new = true;
	t->lives = xgrow(t->lives, t->life_count, sizeof(*t->lives));
	t->lives[t->life_count] = (struct life){e->seq, e->time_ns, slice_dup(e->uid)};
	t->unsorted |= t->life_count > 0;
	return t->life_count++;
}

static enum note note_of_type(const struct event *e)
{
	if (e->type == EVENT_DELETED)
		return e->origin == ORIGIN_INFERRED ? NOTE_INFERRED : NOTE_DELETED;
	return e->type == EVENT_ADDED ? NOTE_ADDED : NOTE_CHANGED;
}

/* What the version says beside the one before it, which is of the same life and came just before. */
static enum note note_of(
	const struct track *t, const struct event *e, const struct object_look *look, bool follows)
{
	if (e->type == EVENT_DELETED || !follows)
		return note_of_type(e);
	if (look->oom_killed && (!t->oom_killed || look->restarts > t->restarts))
		return NOTE_OOM;
	if (look->restarts > t->restarts)
		return NOTE_RESTART;
	/* What has an owner follows it: that is no news. */
	if (look->wanted >= 0 && !look->owner.len && t->generation && look->generation > t->generation &&
		look->state != LOOK_TERMINATING)
		return NOTE_SPEC;
	return note_of_type(e);
}

static void take_version(struct picture *p, const struct tape_resource *r, const struct event *e,
	const struct object_look *look)
{
	size_t at = picture_track(p, r, (struct slice){NULL, 0}, e->namespace, e->name);
	struct track *t = &p->tracks[at];
	struct point point = {
		e->time_ns, .seq = e->seq, .state = e->type == EVENT_DELETED ? LOOK_GONE : look->state};
	bool is_new;
	uint32_t life = find_life(t, e, &is_new);

	point.note = note_of(t, e, look, !is_new && life == t->version_life);
	t->version_life = life;
	t->generation = look->generation;
	t->restarts = look->restarts;
	t->oom_killed = look->oom_killed;
	t->busy += e->origin == ORIGIN_WATCH;
	if (e->type != EVENT_DELETED)
		add_step(t, e, look);
	picture_add_point(p, at, &point);
	if (is_new)
		find_owner(p, at, look);
}

/* A Warning is a mark on the lane of what it is about, whether or not that is on the tape. */
static void take_warning(struct picture *p, const struct event *e, const struct object_look *look)
{
	const struct tape_resource *r = find_kind(p, look->about_kind, look->about_api);
	struct point point = {e->time_ns, .seq = e->seq, .note = NOTE_WARNING, .state = LOOK_STATE_COUNT};
	struct buf name;
	size_t at;

	if (!look->is_warning || e->type == EVENT_DELETED || !look->about_kind.len)
		return;
	buf_init(&name, 2 * LIMIT_NAME_BYTES);
	if (look->about_name.len <= LIMIT_NAME_BYTES && look->about_namespace.len <= LIMIT_NAME_BYTES &&
		look->about_kind.len <= LIMIT_NAME_BYTES && !json_unescape(look->about_name, &name, NULL)) {
		at = picture_track(p, r, look->about_kind, plain(p, look->about_namespace), buf_slice(&name));
		picture_add_point(p, at, &point);
	}
	buf_release(&name);
}

int picture_take_event(struct picture *p, const struct event *e, struct slice object, struct err *err)
{
	const struct tape_resource *r = tape_resource_by_id(p->tape, e->resource);
	struct object_look look;

	if (!r)
		return err_set(err, ERR_CORRUPT, "event %llu is of an unknown resource %u",
			(unsigned long long)e->seq, e->resource);
	bins_add(p, e->resource, e->time_ns);
	object_look(slice_of(r->resource), object, &look);
	if (look.owner.len > LIMIT_NAME_BYTES || look.owner_kind.len > LIMIT_NAME_BYTES)
		look.owner.len = 0;
	if (strcmp(r->resource, "events") == 0)
		take_warning(p, e, &look);
	else
		take_version(p, r, e, &look);
	return 0;
}

/* ---- order ---- */

static int compare_points(const void *a, const void *b)
{
	const struct point *x = a, *y = b;

	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static int compare_steps(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static int compare_lives(const void *a, const void *b)
{
	const struct life *x = a, *y = b;

	return x->first_seq < y->first_seq ? -1 : x->first_seq > y->first_seq;
}

static struct point *find_point(const struct track *t, uint64_t seq)
{
	struct point key = {.seq = seq};

	return t->point_count ? bsearch(&key, t->points, t->point_count, sizeof(key), compare_points) : NULL;
}

static void sort_track(struct track *t)
{
	char *version = t->life_count ? t->lives[t->version_life].uid : NULL;

	if (t->point_count)
		qsort(t->points, t->point_count, sizeof(*t->points), compare_points);
	if (t->step_count)
		qsort(t->steps, t->step_count, sizeof(*t->steps), compare_steps);
	if (t->life_count)
		qsort(t->lives, t->life_count, sizeof(*t->lives), compare_lives);
	for (uint32_t i = 0; i < t->life_count; i++) {
		if (t->lives[i].uid == version)
			t->version_life = i;
	}
	for (size_t i = 1; i < t->point_count; i++) {
		if (t->points[i].time_ns < t->points[i - 1].time_ns)
			t->points[i].time_ns = t->points[i - 1].time_ns;
	}
	for (uint32_t i = 1; i < t->life_count; i++) {
		struct point *first = find_point(t, t->lives[i].first_seq);

		if (first)
			first->note = NOTE_RECREATED;
	}
	t->loud_count = 0;
	free(t->loud);
	t->loud = NULL;
	for (uint32_t i = 0; i < t->point_count; i++)
		note_loud(t, i);
	t->unsorted = false;
}

void picture_sort_points(struct picture *p)
{
	for (size_t i = 0; i < p->track_count; i++) {
		if (p->tracks[i].unsorted)
			sort_track(&p->tracks[i]);
	}
}

size_t track_last_at(const struct track *t, int64_t time_ns)
{
	size_t low = 0, high = t->point_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (t->points[middle].time_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

size_t track_last_loud_at(const struct track *t, int64_t time_ns)
{
	size_t low = 0, high = t->loud_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (t->points[t->loud[middle]].time_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void picture_release_tracks(struct picture *p)
{
	for (size_t i = 0; i < p->track_count; i++) {
		struct track *t = &p->tracks[i];

		for (uint32_t k = 0; k < t->life_count; k++)
			free(t->lives[k].uid);
		free(t->lives);
		free(t->points);
		free(t->steps);
		free(t->loud);
		free(t->key);
		free(t->kind);
		free((char *)t->namespace);
		free((char *)t->name);
	}
	free(p->tracks);
	text_map_release(&p->places);
}
