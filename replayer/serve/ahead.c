/* ahead.c: see ahead.h. */
#include "replayer/serve/ahead.h"

#include "replayer/serve/fault_act.h"
#include "replayer/world/player.h"
#include "replayer/world/reach.h"
#include "schema/base/clock.h"

#include <stdlib.h>

#define PATIENCE_NS   (3 * NS_PER_S)
#define LOOK_MS       20
#define RETRY_AFTER_S 1

/* Owns itself until it is routed again or the client goes. */
struct waiting {
	struct waiting *next, **link;
	struct api_call call;
	struct http_request request; /* with a copy of its texts */
	struct buf texts;
	struct collection *c; /* NULL: it waits for its deadline alone */
	int64_t deadline_ns;  /* monotonic */
	uint64_t episode;     /* of a fault, for whose end it waits; 0: for none */
	bool times_out;       /* the deadline is the client's own */
	int status;           /* of an answer that waits; 0: the request does */
	struct buf body, warnings;
};

struct ahead {
	uv_timer_t timer; /* runs while somebody waits */
	struct waiting *first;
};

struct ahead *ahead_new(uv_loop_t *loop)
{
	struct ahead *a = xcalloc(1, sizeof(*a));

	uv_timer_init(loop, &a->timer);
	a->timer.data = a;
	return a;
}

static void on_timer_closed(uv_handle_t *handle)
{
	free(handle->data);
}

void ahead_close(struct ahead *a)
{
	if (a)
		uv_close((uv_handle_t *)&a->timer, on_timer_closed);
}

bool ahead_is_awaited(const struct api_call *call, const struct collection *c, uint64_t rv)
{
	const struct api *api = call->api;

	if (api->ahead_policy != AHEAD_REACHED)
		return api->ahead_policy == AHEAD_SILENT;
	return world_will_reach(api->world, c, rv, api->until_seq);
}

/* Resources without a cache are asked of the store, which knows at once; only to watches does it tell a
 * pause. */
int ahead_refuse(struct api_call *call, const struct collection *c, uint64_t rv, struct status *st)
{
	bool is_awaited = ahead_is_awaited(call, c, rv), has_cache = !collection_is_uncached(c);
	bool has_hint = is_awaited && (has_cache || call->verb == VERB_WATCH);

	call->awaited_rv = is_awaited && has_cache && !call->has_waited ? rv : 0;
	return status_too_large_version(st, rv, c->rv, has_hint ? RETRY_AFTER_S : 0);
}

/* ---- waiting ---- */

static void waiting_free(struct waiting *p)
{
	*p->link = p->next;
	if (p->next)
		p->next->link = p->link;
	buf_release(&p->texts);
	buf_release(&p->body);
	buf_release(&p->warnings);
	free(p);
}

static void on_closed(void *owner)
{
	waiting_free(owner);
}

static const struct exchange_owner waiting_owner = {.closed = on_closed};

/* The API server's own words for a request whose time is up; it says them as plain text. */
static void answer_timeout(struct api_call *call)
{
	static const char text[] =
		"{\"metadata\":{},\"status\":\"Failure\",\"message\":\"Timeout: request did not complete within the "
		"allotted timeout\",\"reason\":\"Timeout\",\"details\":{},\"code\":504}\n";
	struct answer_headers h;

	call->x->more_header_count = 0;
	answer_headers_init(&h, call->request, TEXT_TYPE);
	respond_bytes(call->x, &h, 504, slice_of(text));
}

static void go_on(struct waiting *p)
{
	exchange_own(p->call.x, NULL, NULL);
	p->call.has_waited = p->c != NULL;
	if (p->status)
		respond_laid_out(p->call.x, p->call.request, &p->call.style, p->status, buf_slice(&p->body));
	else if (p->times_out && p->c->rv < p->call.awaited_rv)
		answer_timeout(&p->call);
	else
		p->call.api->route_again(&p->call);
	waiting_free(p);
}

static struct waiting *find_due(const struct ahead *a, int64_t now_ns)
{
	struct waiting *p = a->first;

	for (; p; p = p->next) {
		if (p->c)
			world_catch_up(p->call.api->world, p->c);
		if ((p->c && p->c->rv >= p->call.awaited_rv) || now_ns >= p->deadline_ns)
			break;
	}
	return p;
}

static void on_look(uv_timer_t *timer)
{
	struct ahead *a = timer->data;
	int64_t now_ns = clock_mono_ns(&clock_system);
	struct waiting *p = find_due(a, now_ns);
	struct player *player = p ? p->call.api->player : NULL;

	/* From the beginning again: what is answered may end a connection, and others that wait with it. */
	while (p) {
		go_on(p);
		p = find_due(a, now_ns);
	}
	if (!a->first)
		uv_timer_stop(&a->timer);
	if (player && !ahead_has_delayed(a))
		player_nudge(player);
}

static void set_deadline(struct waiting *p)
{
	int64_t most_ns = p->call.timeout_ns;

	p->times_out = most_ns > 0 && most_ns < PATIENCE_NS;
	p->deadline_ns = clock_mono_ns(&clock_system) + (p->times_out ? most_ns : PATIENCE_NS);
}

static struct waiting *park(struct api_call *call, struct collection *c)
{
	struct ahead *a = call->api->ahead;
	struct waiting *p = xcalloc(1, sizeof(*p));

	p->call = *call;
	p->c = c;
	http_request_copy(call->request, false, &p->texts, &p->request);
	p->call.request = &p->request;
	p->next = a->first;
	p->link = &a->first;
	if (p->next)
		p->next->link = &p->next;
	a->first = p;
	exchange_own(call->x, &waiting_owner, p);
	if (!uv_is_active((uv_handle_t *)&a->timer))
		uv_timer_start(&a->timer, on_look, LOOK_MS, LOOK_MS);
	return p;
}

bool ahead_park(struct api_call *call, struct collection *c)
{
	if (call->awaited_rv)
		set_deadline(park(call, c));
	return call->awaited_rv != 0;
}

bool ahead_has_delayed(const struct ahead *a)
{
	const struct waiting *p = a->first;

	while (p && (p->c || p->status || p->episode))
		p = p->next;
	return p != NULL;
}

void ahead_hold(struct api_call *call, uint64_t episode)
{
	struct waiting *p = park(call, NULL);

	p->deadline_ns = INT64_MAX;
	p->episode = episode;
}

void ahead_release(struct ahead *a, uint64_t episode)
{
	for (struct waiting *p = a->first; p; p = p->next) {
		if (p->episode == episode)
			p->deadline_ns = 0;
	}
}

void ahead_delay(struct api_call *call, int64_t by_ns)
{
	park(call, NULL)->deadline_ns = clock_mono_ns(&clock_system) + by_ns;
}

static struct slice copy_of(struct slice text, struct buf *to)
{
	buf_init(to, text.len);
	(void)!buf_append(to, text.ptr, text.len, NULL);
	return buf_slice(to);
}

void ahead_answer(struct api_call *call, int status, struct slice body, int64_t by_ns)
{
	struct waiting *p = park(call, NULL);

	p->deadline_ns = clock_mono_ns(&clock_system) + by_ns;
	p->status = status;
	p->call.style.warnings = copy_of(call->style.warnings, &p->warnings);
	(void)copy_of(body, &p->body);
}
