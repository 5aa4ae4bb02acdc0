/* view_desk.c: see view_desk.h. */
#include "replayer/view_desk.h"

#include "replayer/control.h"
#include "schema/base/clock.h"
#include "schema/base/limits.h"
#include "schema/view/answer_out.h"

/* The tape's time of the event that a client was sent last; 0 where there is none. */
static int64_t seen_time(const struct view_desk *d, uint64_t seq)
{
	struct event e;
	struct buf keep;
	int64_t time_ns = 0;

	if (!seq)
		return 0;
	buf_init(&keep, 8 * LIMIT_NAME_BYTES);
	if (tape_event(d->deck->tape, seq, &e, &keep, NULL) == 0)
		time_ns = e.time_ns;
	buf_release(&keep);
	return time_ns;
}

static void put_client(struct answer_out *o, const struct view_desk *d, const struct run_client *c)
{
	answer_put(o,
		"{\"requests\":%llu,\"lists\":%llu,\"watches\":%llu,\"relists\":%llu,\"events\":%llu,\"refused\":%llu",
		(unsigned long long)c->requests, (unsigned long long)c->lists, (unsigned long long)c->watches,
		(unsigned long long)c->relists, (unsigned long long)c->events,
		(unsigned long long)c->refused);
	answer_member(o, "name", slice_of(c->name));
	answer_number(o, "seen_seq", (int64_t)c->seen_seq);
	answer_number(o, "seen_ns", seen_time(d, c->seen_seq));
	answer_put(o, "}");
}

static void put_desk(struct answer_out *o, const struct view_desk *d, struct slice status)
{
	answer_put(o, "{\"status\":");
	if (!o->code)
		o->code = buf_append(o->to, status.ptr, status.len, o->err);
	answer_number(o, "now_ns", player_tape_ns(d->deck->player));
	answer_put(o,
		",\"late\":{\"count\":%llu,\"half_ns\":%lld,\"most_ns\":%lld,\"max_ns\":%lld},\"clients\":[",
		(unsigned long long)d->run->late.count, (long long)histogram_at(&d->run->late, 0.5),
		(long long)histogram_at(&d->run->late, 0.99), (long long)d->run->late.max_ns);
	for (size_t i = 0; i < d->run->client_count; i++) {
		answer_put(o, i ? "," : "");
		put_client(o, d, &d->run->clients[i]);
	}
	answer_put(o, "]}");
}

int view_desk_serve(void *context, struct slice method, struct slice what, const struct query *q,
	struct slice body, struct buf *to, struct err *err)
{
	const struct view_desk *d = context;
	struct answer_out o = {to, err, 0};
	struct buf status;
	int rc;

	(void)body;
	if (!slice_skip(&what, "desk") || (what.len && !slice_skip(&what, "/"))) {
		(void)!err_set(err, ERR_NOT_FOUND, "there is no such desk");
		return 404;
	}
	buf_init(&status, LIMIT_DOCUMENT_BYTES);
	rc = control_act(d->deck, method, what, q, &status, err);
	if (rc < 400) {
		put_desk(&o, d, buf_slice(&status));
		rc = o.code ? 500 : rc;
	}
	buf_release(&status);
	return rc;
}
