/* picture.c: see picture.h: opening, reading on, and counting. */
#include "schema/view/picture_internal.h"

#include "schema/base/clock.h"
#include "schema/base/limits.h"

#include <stdlib.h>

#define LOOK_EVERY_NS    NS_PER_S
#define EVENTS_PER_CLOCK 64 /* between two looks at the clock */

/* ---- counting ---- */

/* Twice as much time a bin: two become one. */
static void double_bins(struct picture *p)
{
	for (size_t i = 0; i < p->bins_count; i++) {
		uint32_t *counts = p->bins[i].counts;

		for (size_t k = 0; k < BINS / 2; k++)
			counts[k] = counts[2 * k] + counts[2 * k + 1];
		memset(counts + BINS / 2, 0, BINS / 2 * sizeof(*counts));
	}
	p->bin_ns *= 2;
}

static struct bins *bins_of(struct picture *p, uint32_t resource)
{
	for (size_t i = 0; i < p->bins_count; i++) {
		if (p->bins[i].resource == resource)
			return &p->bins[i];
	}
	p->bins = xgrow(p->bins, p->bins_count, sizeof(*p->bins));
	p->bins[p->bins_count] = (struct bins){.resource = resource};
	return &p->bins[p->bins_count++];
}

void bins_add(struct picture *p, uint32_t resource, int64_t time_ns)
{
	struct bins *b = bins_of(p, resource);
	int64_t after = time_sub(time_ns, p->bins_begin_ns);

	while (after / p->bin_ns >= BINS && p->bin_ns < INT64_MAX / 4)
		double_bins(p);
	after /= p->bin_ns;
	b->counts[after < 0 ? 0 : after >= BINS ? BINS - 1 : after]++;
	b->total++;
}

static void begin_bins(struct picture *p)
{
	int64_t length = time_sub(p->info.last_time_ns, p->info.first_time_ns);

	p->bins_begin_ns = p->info.first_time_ns;
	p->bin_ns = length / BINS + 1;
	if (p->bin_ns < NS_PER_MS)
		p->bin_ns = NS_PER_MS;
}

/* ---- opening ---- */

int picture_open(const char *path, struct picture **ret, struct err *err)
{
	struct picture *p = xcalloc(1, sizeof(*p));
	int rc;

	buf_init(&p->key, 8 * LIMIT_NAME_BYTES);
	buf_init(&p->plain, LIMIT_OBJECT_BYTES);
	p->path = xstrdup(path);
	p->until_ns = INT64_MAX;
	p->from_ns = INT64_MIN;
	p->looked_ns = INT64_MIN;
	p->next_seq = 1;
	rc = tape_open(path, &p->tape, err);
	if (!rc)
		rc = tape_info(p->tape, &p->info, err);
	if (!rc)
		rc = picture_load_rows(p, err);
	if (rc) {
		picture_close(p);
		return rc;
	}
	begin_bins(p);
	*ret = p;
	return 0;
}

void picture_close(struct picture *p)
{
	if (!p)
		return;
	tape_cursor_close(p->cursor);
	picture_release_tracks(p);
	picture_release_rows(p);
	predicate_free(p->where);
	tape_close(p->tape);
	buf_release(&p->key);
	buf_release(&p->plain);
	free(p->nodes);
	free(p->bins);
	free(p->namespace);
	free(p->path);
	free(p);
}

void picture_bound(struct picture *p, const char *namespace, int64_t from_ns, int64_t until_ns)
{
	p->namespace = namespace ? xstrdup(namespace) : NULL;
	if (from_ns)
		p->from_ns = from_ns;
	if (until_ns)
		p->until_ns = until_ns;
}

int picture_where(struct picture *p, struct slice expression, struct err *err)
{
	const struct moment_frame frame = {
		clock_wall_ns(&clock_system), p->info.first_time_ns, p->info.last_time_ns};

	return predicate_compile(expression, &frame, &p->where, err);
}

struct tape *picture_tape(struct picture *p)
{
	return p->tape;
}

/* ---- reading on ---- */

static int open_cursor(struct picture *p, struct err *err)
{
	const struct tape_filter filter = {.seq_min = p->next_seq,
		.time_max_ns = p->until_ns == INT64_MAX ? 0 : p->until_ns,
		.namespace = p->namespace};

	return tape_cursor_open(p->tape, &filter, TAPE_STORED, &p->cursor, err);
}

/* Looks for news: 1 when there is something to read. */
static int look_at_tape(struct picture *p, struct err *err)
{
	int64_t now = clock_mono_ns(&clock_system);
	bool is_first = p->looked_ns == INT64_MIN;
	int more;

	if (p->full || (!is_first && now - p->looked_ns < LOOK_EVERY_NS))
		return 0;
	p->looked_ns = now;
	more = is_first ? 0 : tape_refresh(p->tape, err);
	if (more < 0)
		return more;
	if (more && ((more = tape_info(p->tape, &p->info, err)) || (more = picture_load_rows(p, err))))
		return more;
	if (p->info.last_seq < p->next_seq)
		return 0;
	if (p->next_seq == 1)
		begin_bins(p);
	more = open_cursor(p, err);
	return more ? more : 1;
}

static int take_next(struct picture *p, struct err *err)
{
	struct slice object;
	struct event e;
	int more = tape_cursor_next(p->cursor, &e, err), rc;

	if (more <= 0)
		return more;
	rc = tape_cursor_object(p->cursor, &object, err);
	if (!rc && p->where)
		rc = predicate_test(p->where, tape_resource_by_id(p->tape, e.resource), &e, object, err);
	else if (!rc)
		rc = 1;
	if (rc > 0)
		rc = picture_take_event(p, &e, object, err);
	p->read_count++;
	return rc ? rc : 1;
}

/* The cursor gave all that it had. */
static void end_pass(struct picture *p)
{
	tape_cursor_close(p->cursor);
	p->cursor = NULL;
	p->next_seq = p->info.last_seq + 1;
	p->pass_count++;
	p->tree_old = true;
}

int picture_advance(struct picture *p, int64_t budget_ns, struct err *err)
{
	int64_t until = clock_mono_ns(&clock_system) + budget_ns;
	int more = p->cursor ? 1 : look_at_tape(p, err);

	for (unsigned i = 1; more > 0 && !p->full; i++) {
		more = take_next(p, err);
		if (i % EVENTS_PER_CLOCK == 0 && clock_mono_ns(&clock_system) >= until)
			break;
	}
	if (more < 0)
		return more;
	if (p->cursor && (more == 0 || p->full))
		end_pass(p);
	return p->cursor != NULL;
}

double picture_share(const struct picture *p)
{
	if (p->pass_count || !p->info.events)
		return 1;
	return p->cursor ? tape_cursor_share(p->cursor) : 0;
}
