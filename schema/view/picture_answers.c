/* picture_answers.c: what is on the tape as a whole, how much there was when, and steps from event to event.
 */
#include "schema/view/answer_out.h"
#include "schema/view/picture_bars.h"
#include "schema/view/picture_internal.h"

/* ---- the whole ---- */

static void put_names(struct answer_out *o)
{
	answer_put(o, ",\"states\":[");
	for (unsigned i = 0; i < LOOK_STATE_COUNT; i++)
		answer_put(o, "%s\"%s\"", i ? "," : "", look_state_name(i));
	answer_put(o, "]");
}

static uint64_t events_of(const struct picture *p, uint32_t resource)
{
	for (size_t i = 0; i < p->bins_count; i++) {
		if (p->bins[i].resource == resource)
			return p->bins[i].total;
	}
	return 0;
}

static void put_resources(struct answer_out *o, const struct picture *p)
{
	const struct tape_resource *r;

	answer_put(o, ",\"resources\":[");
	for (size_t i = 0; (r = tape_resource_at(p->tape, i)); i++) {
		answer_put(o, "%s{\"id\":%u,\"events\":%llu,\"namespaced\":%s", i ? "," : "", r->id,
			(unsigned long long)events_of(p, r->id), r->namespaced ? "true" : "false");
		answer_member(o, "resource", slice_of(r->resource));
		answer_member(o, "group", slice_of(r->apigroup));
		answer_member(o, "version", slice_of(r->version));
		answer_member(o, "kind", slice_of(r->kind));
		answer_put(o, "}");
	}
	answer_put(o, "]");
}

static int64_t begin_of(const struct picture *p)
{
	int64_t begin = p->info.first_time_ns;

	if (p->span.begin_ns && (!begin || p->span.begin_ns < begin))
		begin = p->span.begin_ns;
	return p->from_ns > begin ? p->from_ns : begin;
}

static int64_t end_of(const struct picture *p)
{
	int64_t end = p->span.end_ns > p->info.last_time_ns ? p->span.end_ns : p->info.last_time_ns;

	return p->until_ns < end ? p->until_ns : end;
}

void picture_span(const struct picture *p, int64_t *ret_from_ns, int64_t *ret_to_ns)
{
	*ret_from_ns = begin_of(p);
	*ret_to_ns = end_of(p);
	if (*ret_to_ns <= *ret_from_ns)
		*ret_to_ns = *ret_from_ns + 1;
}

int picture_summary(struct picture *p, struct buf *to, struct err *err)
{
	struct answer_out o = {to, err, 0};

	answer_put(&o,
		"{\"share\":%.3f,\"full\":%s,\"live\":%s,\"lane_objects\":%zu,\"gaps\":%zu,\"missed\":%zu,"
		"\"connections\":%zu",
		picture_share(p), p->full ? "true" : "false", tape_has_writer(p->tape) ? "true" : "false",
		p->track_count, p->gap_count, p->missed_count, p->watch_count);
	answer_number(&o, "events", (int64_t)p->info.events);
	answer_number(&o, "first_seq", (int64_t)p->info.first_seq);
	answer_number(&o, "last_seq", (int64_t)p->info.last_seq);
	answer_number(&o, "begin", begin_of(p));
	answer_number(&o, "end", end_of(p));
	answer_member(&o, "tape", slice_of(p->path));
	put_names(&o);
	put_resources(&o, p);
	answer_put(&o, "}");
	return o.code;
}

int picture_density(struct picture *p, struct buf *to, struct err *err)
{
	struct answer_out o = {to, err, 0};

	answer_put(&o, "{\"share\":%.3f", picture_share(p));
	answer_number(&o, "begin", p->bins_begin_ns);
	answer_number(&o, "bin", p->bin_ns);
	answer_put(&o, ",\"resources\":[");
	for (size_t i = 0; i < p->bins_count; i++) {
		const struct bins *b = &p->bins[i];
		size_t last = BINS;

		while (last > 0 && !b->counts[last - 1])
			last--;
		answer_put(&o, "%s{\"id\":%u,\"events\":%llu,\"counts\":[", i ? "," : "", b->resource,
			(unsigned long long)b->total);
		for (size_t k = 0; k < last; k++)
			answer_put(&o, "%s%u", k ? "," : "", b->counts[k]);
		answer_put(&o, "]}");
	}
	answer_put(&o, "]}");
	return o.code;
}

/* ---- from event to event ---- */

static bool is_version(const struct point *point)
{
	return point->state != LOOK_STATE_COUNT;
}

/* How many points of the lane are not after that event, or that time. */
static size_t points_until(const struct track *t, uint64_t seq, int64_t time_ns)
{
	size_t low = 0, high = t->point_count;

	if (!seq)
		return track_last_at(t, time_ns);
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (t->points[middle].seq <= seq)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int picture_find(struct picture *p, const char *key, uint64_t seq, int64_t time_ns, struct picture_near *ret,
	struct err *err)
{
	size_t at = text_map_position_of(text_map_get(&p->places, key)), until;
	const struct track *t;

	if (at == SIZE_MAX)
		return err_set(err, ERR_NOT_FOUND, "no object '%.300s' is on the tape", key);
	picture_sort_points(p);
	t = &p->tracks[at];
	until = points_until(t, seq, time_ns);
	*ret = (struct picture_near){0};
	for (size_t i = until; i < t->point_count && !ret->after; i++)
		ret->after = is_version(&t->points[i]) ? t->points[i].seq : 0;
	for (size_t i = until; i > 0 && !ret->before; i--) {
		const struct point *point = &t->points[i - 1];

		if (!is_version(point))
			continue;
		if (ret->at)
			ret->before = point->seq;
		else
			ret->at = point->seq;
	}
	return 0;
}
