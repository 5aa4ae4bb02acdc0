/* deck.c: see deck.h. */
#include "replayer/deck.h"

#include "schema/base/clock.h"
#include "schema/base/count_of.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"

#include <stdio.h>

static int open_timeline(struct deck *d, uint64_t from_seq, struct timeline **ret, struct err *err)
{
	const struct timeline_options options = {.path = d->path,
		.marks = d->marks,
		.from_seq = from_seq,
		.until_seq = d->until_seq,
		.longest_silence_ns = d->longest_silence_ns,
		.ready = player_read,
		.context = d->player};

	return timeline_open(&options, ret, err);
}

int deck_open(struct deck *d, struct err *err)
{
	int rc = open_timeline(d, d->world->seq, &d->timeline, err);

	if (rc == 0)
		player_move(d->player, d->timeline, d->first_ns);
	return rc;
}

void deck_close(struct deck *d)
{
	timeline_close(d->timeline);
	d->timeline = NULL;
}

static int deck_move(struct deck *d, uint64_t seq, int64_t tape_ns, struct err *err)
{
	bool back = seq < d->world->seq;
	struct timeline *timeline;
	int rc;

	if (d->is_fixed)
		return err_set(err, ERR_USAGE,
			"what a client saw is given again in its order: the replay cannot be moved");
	rc = open_timeline(d, seq, &timeline, err);
	if (rc)
		return rc;
	watches_before_move(d->watches);
	rc = world_seek(d->world, seq, err);
	if (rc) {
		timeline_close(timeline);
		return rc;
	}
	timeline_replace(timeline, d->timeline);
	d->timeline = timeline;
	d->world->time_ns = tape_ns;
	if (d->world->rebase)
		world_rebase(d->world, tape_ns);
	watches_after_move(d->watches, back);
	player_move(d->player, timeline, tape_ns);
	rc = d->moved ? d->moved(d->context, back, err) : 0;
	player_tick(d->player);
	return rc;
}

/* Finds it, and notes what was guessed: the tape, and the part that is replayed, may end before. */
static int find_position(struct deck *d, const char *position, struct tape_position *ret, struct err *err)
{
	int rc = tape_position_find(d->tape, position, ret, err);

	if (rc)
		return rc;
	*d->notice = 0;
	if (tape_position_remark(ret, position, d->notice))
		return 0;
	if (ret->seq < d->first_seq && strcmp(position, "start") != 0)
		snprintf(d->notice, sizeof(d->notice),
			"'%.60s' lies before the beginning of this replay, event %llu", position,
			(unsigned long long)d->first_seq);
	else if (ret->seq > d->until_seq && !ret->is_end)
		snprintf(d->notice, sizeof(d->notice),
			"'%.60s' lies after the end of this replay, event %llu", position,
			(unsigned long long)d->until_seq);
	return 0;
}

int deck_seek(struct deck *d, const char *position, struct err *err)
{
	struct tape_position p;
	int rc = find_position(d, position, &p, err);

	if (rc)
		return rc;
	if (p.seq <= d->first_seq)
		return deck_move(d, d->first_seq, p.time_ns > d->first_ns ? p.time_ns : d->first_ns, err);
	return deck_move(d, p.seq < d->until_seq ? p.seq : d->until_seq, p.time_ns, err);
}

int deck_rewind(struct deck *d, struct err *err)
{
	*d->notice = 0;
	return deck_move(d, d->first_seq, d->first_ns, err);
}

static void deck_run(struct deck *d)
{
	player_start(d->player);
	player_resume(d->player);
}

int deck_run_until(struct deck *d, const char *position, struct err *err)
{
	struct tape_position p;
	int rc = find_position(d, position, &p, err);

	if (rc)
		return rc;
	if (p.seq <= d->world->seq)
		return err_set(err, ERR_USAGE,
			"'%s' lies not ahead of the position: event %llu, position %llu", position,
			(unsigned long long)p.seq, (unsigned long long)d->world->seq);
	player_stop_at(d->player, p.seq);
	deck_run(d);
	return 0;
}

int deck_run_until_event(struct deck *d, struct slice expression, struct err *err)
{
	struct predicate *predicate;
	struct moment_frame frame;
	int rc = tape_position_frame(d->tape, &frame, err);

	if (rc)
		return rc;
	rc = predicate_compile(expression, &frame, &predicate, err);
	if (rc)
		return err_prefix(err, rc, "bad expression");
	player_stop_when(d->player, predicate);
	deck_run(d);
	return 0;
}

/* ---- telling ---- */

/* The event at the position: 1, or 0 where there is none. */
static int find_event(const struct deck *d, struct event *ret, const struct tape_resource **ret_resource,
	struct buf *strings)
{
	if (d->world->seq == 0 || tape_event(d->tape, d->world->seq, ret, strings, NULL))
		return 0;
	*ret_resource = tape_resource_by_id(d->tape, ret->resource);
	return *ret_resource != NULL;
}

int deck_event_text(const struct deck *d, struct buf *to, struct err *err)
{
	const struct tape_resource *r;
	struct buf strings;
	struct event e;
	int rc = 0;

	buf_init(&strings, 8 * LIMIT_NAME_BYTES);
	if (find_event(d, &e, &r, &strings))
		rc = buf_printf(to, err, "%s %s%s%s %.*s%s%.*s rv %.*s", event_type_name(e.type), r->resource,
			*r->apigroup ? "." : "", r->apigroup, (int)e.namespace.len, e.namespace.ptr,
			e.namespace.len ? "/" : "", (int)e.name.len, e.name.ptr, (int)e.rv.len, e.rv.ptr);
	buf_release(&strings);
	return rc;
}

static int put_text(const char *key, struct slice text, struct buf *to, struct err *err)
{
	int rc = buf_printf(to, err, ",\"%s\":", key);

	return rc ? rc : json_escape(text, to, err);
}

static int put_event(const struct event *e, const struct tape_resource *r, struct buf *to, struct err *err)
{
	const struct {
		const char *key;
		struct slice text;
	} members[] = {{"type", slice_of(event_type_name(e->type))}, {"apigroup", slice_of(r->apigroup)},
		{"version", slice_of(r->version)}, {"resource", slice_of(r->resource)},
		{"namespace", e->namespace}, {"name", e->name}, {"uid", e->uid}, {"rv", e->rv}};
	int rc = buf_printf(to, err, "{\"seq\":%llu", (unsigned long long)e->seq);

	for (size_t i = 0; i < COUNT_OF(members) && rc == 0; i++)
		rc = put_text(members[i].key, members[i].text, to, err);
	return rc ? rc : buf_append(to, "}", 1, err);
}

static int put_event_or_null(const struct deck *d, struct buf *to, struct err *err)
{
	const struct tape_resource *r;
	struct buf strings;
	struct event e;
	int rc = buf_printf(to, err, ",\"event\":");

	buf_init(&strings, 8 * LIMIT_NAME_BYTES);
	if (rc == 0)
		rc = find_event(d, &e, &r, &strings) ? put_event(&e, r, to, err)
						     : buf_append(to, "null", 4, err);
	buf_release(&strings);
	return rc;
}

static int put_notice(const struct deck *d, struct buf *to, struct err *err)
{
	return *d->notice ? put_text("notice", slice_of(d->notice), to, err)
			  : buf_printf(to, err, ",\"notice\":null");
}

static int put_stop(const struct deck *d, struct buf *to, struct err *err)
{
	struct player_stop stop = player_stop(d->player);

	return buf_printf(to, err, ",\"stop\":{\"number\":%llu,\"state\":\"%s\"}}",
		(unsigned long long)stop.number, player_stop_state_name(stop.state));
}

static int put_view(const struct deck *d, struct buf *to, struct err *err)
{
	return d->view_url ? put_text("view", slice_of(d->view_url), to, err)
			   : buf_printf(to, err, ",\"view\":null");
}

int deck_show(struct deck *d, struct err *err)
{
	return d->view_url ? 0 : d->show(d->show_context, &d->view_url, err);
}

int deck_status(const struct deck *d, struct buf *to, struct err *err)
{
	char at[TIME_TEXT_BYTES], now[TIME_TEXT_BYTES], speed[32] = "\"max\"";
	int64_t tape_ns, mono_ns = player_anchor(d->player, &tape_ns);
	int rc;

	if (player_speed(d->player) != SPEED_MAX)
		snprintf(speed, sizeof(speed), "%g", player_speed(d->player));
	rc = buf_printf(to, err,
		"{\"state\":\"%s\",\"speed\":%s,\"tape\":", player_state_name(player_state(d->player)),
		speed);
	if (rc == 0)
		rc = json_escape(slice_of(d->path), to, err);
	if (rc == 0)
		rc = buf_printf(to, err,
			",\"seq\":%llu,\"first_seq\":%llu,\"last_seq\":%llu,\"event_time\":\"%s\",\"time\":\"%s\","
			"\"watches\":%zu,\"anchor\":{\"tape_ns\":%lld,\"mono_ns\":%lld}",
			(unsigned long long)d->world->seq, (unsigned long long)d->first_seq,
			(unsigned long long)d->until_seq, time_format(at, d->world->time_ns),
			time_format(now, player_tape_ns(d->player)), watches_running(d->watches),
			(long long)tape_ns, (long long)mono_ns);
	if (rc == 0)
		rc = put_event_or_null(d, to, err);
	if (rc == 0)
		rc = put_notice(d, to, err);
	if (rc == 0)
		rc = put_view(d, to, err);
	return rc ? rc : put_stop(d, to, err);
}
