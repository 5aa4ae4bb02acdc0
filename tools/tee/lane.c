/*
 * lane.c: how bytes pass; see pair.h. What comes from the server is written to the client first and read by
 * the road afterwards; what comes from the client has to be read first, as heads of requests are rewritten.
 */
#include "tools/tee/pair_internal.h"

#include "schema/base/clock.h"

/* Pieces in one turn, so that a busy pair does not hold up the others. */
#define PIECES_A_TURN 16

/* Whether the pair still passes bytes after what was just done. */
static bool is_open(const struct pair *p)
{
	return p->state == PAIR_OPEN && !p->is_resetting;
}

static void pump(struct pair *p, struct lane *l);

/* ---- giving ---- */

/* `to` takes nothing any more. What a server has said before is still told. */
static bool fail_to_give(struct pair *p, struct lane *l)
{
	bool is_first = !l->has_failed;

	l->has_failed = l->is_over = true;
	buf_clear(&l->held);
	if (is_first && l == &p->up && !p->is_resetting)
		pump(p, &p->down);
	pair_reset(p, l->party == PARTY_CLIENT ? PARTY_SERVER : PARTY_CLIENT);
	return false;
}

bool lane_flush(struct pair *p, struct lane *l)
{
	while (l->held.len) {
		ssize_t n = channel_write(&l->to->channel, buf_slice(&l->held));

		if (n < 0)
			return fail_to_give(p, l);
		if (n == 0)
			return false;
		buf_consume(&l->held, (size_t)n);
	}
	if (l->held.cap)
		buf_release(&l->held);
	return true;
}

/* Writes what it can and holds the rest. False when the pair is broken. */
static bool lane_give(struct pair *p, struct lane *l, struct slice bytes)
{
	ssize_t n = 0;

	if (!l->held.len)
		n = channel_write(&l->to->channel, bytes);
	if (n < 0)
		return fail_to_give(p, l);
	return buf_append(&l->held, bytes.ptr + n, bytes.len - (size_t)n, NULL) == 0;
}

/* ---- taking ---- */

/* What of the client's bytes cannot be used yet is kept. */
static bool take_request(struct pair *p, struct slice bytes)
{
	struct err err;

	if (road_request(p->road, &bytes, &p->up.held, &err)) {
		pair_refuse(p, &err);
		return false;
	}
	if (bytes.len && buf_append(&p->unread, bytes.ptr, bytes.len, NULL))
		return false;
	(void)lane_flush(p, &p->up);
	return is_open(p);
}

/* A client that had to wait may go on now. */
static bool take_unread(struct pair *p)
{
	struct buf kept = p->unread;
	bool goes_on;

	if (!kept.len || road_waits(p->road))
		return true;
	buf_init(&p->unread, kept.max);
	goes_on = take_request(p, buf_slice(&kept));
	buf_release(&kept);
	return goes_on;
}

static bool take_answer(struct pair *p, struct slice bytes)
{
	struct err err;
	bool given = lane_give(p, &p->down, bytes);

	if (road_answer(p->road, bytes, &err)) {
		pair_refuse(p, &err);
		return false;
	}
	return given && take_unread(p) && is_open(p);
}

/* ---- ends ---- */

/* Carries over what `from` has said last. False: `to` is full. */
static bool carry_end(struct pair *p, struct lane *l)
{
	if (l->owes_goodbye && !channel_say_goodbye(&l->to->channel))
		return false;
	l->owes_goodbye = false;
	if (!l->owes_fin)
		return true;
	l->owes_fin = false;
	l->is_over = true;
	channel_say_fin(&l->to->channel);
	pair_note_end(p, l->party, ROAD_FIN);
	if (p->up.is_over && p->down.is_over)
		pair_finish(p);
	return false;
}

/* A client that loses its server comes back at once, and should then find what it would have found. */
static bool has_to_look(struct pair *p, const struct lane *l, ssize_t end)
{
	if (l != &p->down || p->has_looked || end == CHANNEL_GOODBYE)
		return false;
	p->has_looked = p->is_looking = p->is_asking = true;
	p->end_seen = end;
	p->x->look(p->x->owner, p);
	p->is_asking = false;
	return p->is_looking;
}

static void take_end(struct pair *p, struct lane *l, ssize_t end)
{
	if (has_to_look(p, l, end))
		return;
	if (end == CHANNEL_RESET) {
		pair_reset(p, l->party);
		return;
	}
	l->owes_goodbye |= end == CHANNEL_GOODBYE;
	l->owes_fin |= end == CHANNEL_FIN;
}

void pair_looked(struct pair *p)
{
	if (!p->is_looking)
		return;
	p->is_looking = false;
	if (p->is_asking || !is_open(p))
		return;
	take_end(p, &p->down, p->end_seen);
	if (is_open(p))
		pair_pump(p);
}

/* ---- a turn ---- */

/* Whether more may be read for the lane. */
static bool may_read(struct pair *p, struct lane *l)
{
	if (!is_open(p) || l->is_over || !lane_flush(p, l) || !carry_end(p, l) || !is_open(p))
		return false;
	if (l == &p->up ? p->unread.len || road_waits(p->road) : p->is_looking)
		return false;
	l->is_stalled = p->x->waits_for_desk && feed_is_full(p->x->feed);
	return !l->is_stalled;
}

/* One piece. False when there is none now. */
static bool pass_piece(struct pair *p, struct lane *l)
{
	ssize_t n = channel_read(&l->from->channel, p->x->scratch, CHANNEL_PIECE_BYTES);
	struct slice bytes = {p->x->scratch, n > 0 ? (size_t)n : 0};

	if (n == 0)
		return false;
	if (n < 0) {
		take_end(p, l, n);
		return true;
	}
	feed_set_time(p->x->feed, clock_wall_ns(&clock_system), clock_mono_ns(&clock_system));
	return l == &p->up ? take_request(p, bytes) : take_answer(p, bytes);
}

/* What TLS has read already no poll will tell of. */
static void pump(struct pair *p, struct lane *l)
{
	for (int i = 0; may_read(p, l); i++) {
		if (i >= PIECES_A_TURN && !channel_has_read(&l->from->channel) && !l->from->is_broken)
			return;
		if (!pass_piece(p, l))
			return;
	}
}

static int events_of(struct pair *p, const struct lane *from, const struct lane *to)
{
	bool waits = from == &p->up ? p->unread.len || road_waits(p->road) : p->is_looking;
	bool reads = !from->is_over && !from->held.len && !from->owes_goodbye && !from->owes_fin &&
		     !from->is_stalled && !waits;
	bool writes = to->held.len || to->owes_goodbye || (reads && from->from->channel.reads_by_writing);

	return (reads ? UV_READABLE : 0) | (writes ? UV_WRITABLE : 0);
}

void pair_pump(struct pair *p)
{
	pump(p, &p->down);
	if (is_open(p))
		pump(p, &p->up);
	if (!is_open(p))
		return;
	pair_poll(&p->client, events_of(p, &p->up, &p->down));
	pair_poll(&p->server, events_of(p, &p->down, &p->up));
}
