/*
 * http_lane.c: see http_internal.h. libcurl's multi_socket interface under libuv: libcurl says which sockets
 * to watch and when to be called again, the loop obeys.
 */
#include "recorder/http_internal.h"
#include "schema/base/count_of.h"

#include <stdlib.h>

#define LOOK_MS 100

/* A socket that libcurl uses. */
struct watched {
	struct watched *next, *prev;
	uv_poll_t poll;
	struct lane *lane;
	curl_socket_t socket;
	int events; /* that libcurl wants to hear of */
};

static void on_look(uv_timer_t *timer);

static void act(struct lane *lane, curl_socket_t socket, int what)
{
	int running;

	lane->stirred = lane->stirring = true;
	if (!uv_is_active((uv_handle_t *)&lane->http->look))
		uv_timer_start(&lane->http->look, on_look, LOOK_MS, 0);
	lane->http->depth++;
	curl_multi_socket_action(lane->multi, socket, what, &running);
	lane->http->depth--;
	http_take_results(lane);
}

/* A socket in error is read all the same: what had arrived before is in it, and then libcurl learns why.
 * libuv stops watching such a socket. */
static void on_ready(uv_poll_t *poll, int status, int events)
{
	struct watched *w = poll->data;
	int what = status < 0 ? CURL_CSELECT_IN : 0;

	if (events & UV_READABLE)
		what |= CURL_CSELECT_IN;
	if (events & UV_WRITABLE)
		what |= CURL_CSELECT_OUT;
	act(w->lane, w->socket, what);
	if (status < 0 && !w->lane->http->deaf && !uv_is_closing((uv_handle_t *)poll) &&
		!uv_is_active((uv_handle_t *)poll))
		uv_poll_start(poll, UV_READABLE, on_ready);
}

static void on_timer(uv_timer_t *timer)
{
	struct lane *lane = timer->data;

	if (lane->http->deaf)
		lane->overslept = true;
	else
		act(lane, CURL_SOCKET_TIMEOUT, 0);
}

static int want_timer(CURLM *multi, long timeout_ms, void *context)
{
	struct lane *lane = context;

	(void)multi;
	if (lane->http->closing)
		return 0;
	if (timeout_ms < 0)
		uv_timer_stop(&lane->timer);
	else
		uv_timer_start(&lane->timer, on_timer, (uint64_t)timeout_ms, 0);
	return 0;
}

/* Makes libcurl run every request of the lane's connections. */
static void nudge(struct lane *lane)
{
	curl_socket_t sockets[8];
	uint64_t before = lane->http->taken;
	size_t count = 0;

	for (struct watched *w = lane->sockets; w && count < COUNT_OF(sockets); w = w->next)
		sockets[count++] = w->socket;
	while (count--)
		act(lane, sockets[count], CURL_CSELECT_IN);
	lane->stirred = lane->http->taken != before;
}

/* libcurl 7.88 reads for all requests of an HTTP/2 connection and, rarely, forgets to go on with one of them:
 * its bytes stay in libcurl until something else comes. So a lane that has fallen silent is run once more. */
static void on_look(uv_timer_t *timer)
{
	struct http *h = timer->data;
	bool again = false;

	for (size_t i = 0; i < LANES && !h->closing && !h->deaf; i++) {
		struct lane *lane = &h->lanes[i];

		if (lane->stirred && !lane->stirring && h->tls && !h->h1_seen)
			nudge(lane);
		lane->stirring = false;
		again |= lane->stirred;
	}
	if (again && !h->closing)
		uv_timer_start(&h->look, on_look, LOOK_MS, 0);
}

static void forget_socket(struct watched *w)
{
	if (w->next)
		w->next->prev = w->prev;
	if (w->prev)
		w->prev->next = w->next;
	else
		w->lane->sockets = w->next;
}

static void keep_socket(struct lane *lane, struct watched *w)
{
	w->lane = lane;
	w->next = lane->sockets;
	if (w->next)
		w->next->prev = w;
	lane->sockets = w;
}

static void free_handle(uv_handle_t *handle)
{
	free(handle->data);
}

static int want_socket(CURL *easy, curl_socket_t socket, int what, void *context, void *socket_context)
{
	struct lane *lane = context;
	struct watched *w = socket_context;

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		if (w) {
			forget_socket(w);
			uv_poll_stop(&w->poll);
			uv_close((uv_handle_t *)&w->poll, free_handle);
			curl_multi_assign(lane->multi, socket, NULL);
		}
		return 0;
	}
	if (!w) {
		w = xcalloc(1, sizeof(*w));
		keep_socket(lane, w);
		w->socket = socket;
		uv_poll_init_socket(lane->http->loop, &w->poll, socket);
		w->poll.data = w;
		curl_multi_assign(lane->multi, socket, w);
	}
	w->events = (what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0);
	if (!lane->http->deaf)
		uv_poll_start(&w->poll, w->events, on_ready);
	return 0;
}

void http_lanes_deafen(struct http *h)
{
	h->deaf = true;
	for (size_t i = 0; i < LANES; i++) {
		for (struct watched *w = h->lanes[i].sockets; w; w = w->next)
			uv_poll_stop(&w->poll);
	}
}

void http_lanes_hear(struct http *h)
{
	h->deaf = false;
	for (size_t i = 0; i < LANES; i++) {
		struct lane *lane = &h->lanes[i];

		for (struct watched *w = lane->sockets; w; w = w->next)
			uv_poll_start(&w->poll, w->events, on_ready);
		if (lane->overslept)
			uv_timer_start(&lane->timer, on_timer, 0, 0);
		lane->overslept = false;
	}
	uv_timer_start(&h->look, on_look, LOOK_MS, 0);
}

void http_lane_open(struct http *h, struct lane *lane)
{
	lane->http = h;
	lane->multi = curl_multi_init();
	curl_multi_setopt(lane->multi, CURLMOPT_SOCKETFUNCTION, want_socket);
	curl_multi_setopt(lane->multi, CURLMOPT_SOCKETDATA, lane);
	curl_multi_setopt(lane->multi, CURLMOPT_TIMERFUNCTION, want_timer);
	curl_multi_setopt(lane->multi, CURLMOPT_TIMERDATA, lane);
	curl_multi_setopt(lane->multi, CURLMOPT_MAX_CONCURRENT_STREAMS, (long)HTTP_WATCHES_PER_CONNECTION);
	uv_timer_init(h->loop, &lane->timer);
	lane->timer.data = lane;
}
