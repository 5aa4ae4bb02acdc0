/*
 * http.c: see http.h. The life of requests. Inside libcurl's callbacks no transfer may be added or removed,
 * so cancellations that come from there are kept and done afterwards.
 */
#include "recorder/http_internal.h"

#include "schema/base/limits.h"

#include <assert.h>
#include <stdlib.h>

#define SPARE_CONNECTIONS  2               /* for those that were told to go away but still carry watches */
#define MAX_LISTS          8               /* at a time: each may hold a page in memory */
#define ANSWER_TIMEOUT_NS  (60 * NS_PER_S) /* until the header has come */
#define SLOW_ANSWER_NS     (5 * NS_PER_S)  /* a list that takes longer to begin lets another one go */
#define NO_ROOM_NS         (2 * NS_PER_S) /* a watch that nobody has begun to send: the connections are full */
#define MOVE_AGAIN_NS      (10 * NS_PER_S)
#define SWEEP_MS           1000
#define READ_AT_ONCE_BYTES (4u << 20) /* what comes before libcurl can be kept from reading on */

/* ---- the life of a request ---- */

static void take_place(struct http_request *r, double rate)
{
	struct placement *places = r->http->places;

	r->lane = placement_choose(places, WATCH_LANES, rate);
	r->rate = rate;
	places[r->lane].rate += rate;
	places[r->lane].count++;
}

static void leave_place(const struct http_request *r)
{
	struct placement *place = &r->http->places[r->lane];

	if (r->lane == LIST_LANE)
		return;
	place->count--;
	place->rate = place->count ? place->rate - r->rate : 0;
}

static void unlink_and_free(struct http_request *r)
{
	struct http *h = r->http;

	leave_place(r);
	if (r->next)
		r->next->prev = r->prev;
	if (r->prev)
		r->prev->next = r->next;
	else
		h->requests = r->next;
	curl_easy_cleanup(r->easy);
	curl_slist_free_all(r->headers);
	free(r->url);
	free(r->accept);
	free(r);
}

/* Lets another list take the place of this one. */
static void leave_turn(struct http_request *r)
{
	r->http->lists_running -= r->has_turn;
	r->has_turn = false;
}

/* From now on nothing is heard of it; what is left is to free it. */
static void bury(struct http_request *r)
{
	leave_turn(r);
	backlog_forget(&r->http->backlog, r);
	r->phase = PHASE_DEAD;
}

/* Takes a request out of libcurl. Not from inside libcurl's callbacks. */
static void detach(struct http_request *r)
{
	if (r->phase == PHASE_RUNNING)
		curl_multi_remove_handle(r->http->lanes[r->lane].multi, r->easy);
	bury(r);
}

static void start_waiting(struct http *h);

static void http_finish(struct http_request *r, CURLcode code)
{
	struct http_handler handler = r->handler;
	struct http_answer answer = http_answer_so_far(r);
	struct http *h = r->http;

	http_answer_end(r, code, &answer);
	if (answer.status == 401)
		credentials_refused(h->credentials, r->begin_mono_ns);
	if (strcmp(answer.http_version, "1.1") == 0 && !h->h1_seen) {
		h->h1_seen = true;
		http_expect_watches(h, h->watch_count);
	}
	/* The strings of the answer belong to the easy handle, which must outlive the call. */
	detach(r);
	handler.on_done(handler.context, &answer);
	unlink_and_free(r);
	start_waiting(h);
}

static void free_dead(struct http *h)
{
	struct http_request *next;

	if (!h->has_dead || h->depth)
		return;
	h->has_dead = false;
	for (struct http_request *r = h->requests; r; r = next) {
		next = r->next;
		if (r->phase != PHASE_DEAD)
			continue;
		curl_multi_remove_handle(h->lanes[r->lane].multi, r->easy);
		unlink_and_free(r);
	}
}

void http_take_results(struct lane *lane)
{
	struct http *h = lane->http;
	CURLMsg *message;
	int left;

	free_dead(h);
	while (!h->closing && !h->gated && (message = curl_multi_info_read(lane->multi, &left))) {
		CURLcode code = message->data.result;
		struct http_request *r;

		if (message->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&r);
		if (r->phase == PHASE_RUNNING)
			http_finish(r, code);
	}
}

static void hear_or_not(struct http *h)
{
	bool deaf = h->held || (h->gated && h->backlog.bytes >= h->enough_bytes);

	if (deaf && !h->deaf)
		http_lanes_deafen(h);
	else if (!deaf && h->deaf)
		http_lanes_hear(h);
}

static size_t pause_request(struct http_request *r)
{
	r->paused = true;
	return CURL_WRITEFUNC_PAUSE;
}

static size_t take_body(char *bytes, size_t size, size_t count, void *context)
{
	struct http_request *r = context;
	struct slice body = {bytes, size * count};
	struct http *h = r->http;

	h->taken++;
	if (r->phase != PHASE_RUNNING || r->aborted)
		return CURL_WRITEFUNC_ERROR;
	if (h->held)
		return pause_request(r);
	if (h->gated && !backlog_add(&h->backlog, r, body, clock_wall_ns(h->clock)))
		return pause_request(r);
	hear_or_not(h);
	r->bytes += body.len;
	if (h->gated || r->handler.on_body(r->handler.context, body, clock_wall_ns(h->clock)) == 0)
		return body.len;
	r->aborted = true;
	return CURL_WRITEFUNC_ERROR;
}

static size_t take_header(char *bytes, size_t size, size_t count, void *context)
{
	struct http_request *r = context;
	size_t len = size * count;
	long status = 0;

	r->head_bytes += len;
	if (r->head_bytes > LIMIT_ANSWER_HEAD_BYTES)
		return CURL_WRITEFUNC_ERROR;
	if (!r->first_byte_mono_ns)
		r->first_byte_mono_ns = clock_mono_ns(r->http->clock);
	if (r->phase != PHASE_RUNNING || len > 2 || (bytes[0] != '\r' && bytes[0] != '\n'))
		return len;
	curl_easy_getinfo(r->easy, CURLINFO_RESPONSE_CODE, &status);
	if (status < 200)
		return len; /* 100 Continue and the like: the real header comes */
	r->header_done = true;
	if (r->handler.on_header) {
		struct http_answer answer = http_answer_so_far(r);

		r->handler.on_header(r->handler.context, &answer);
	}
	return len;
}

/* ---- making a request ---- */

/* Told from the loop, as no callback may come from inside http_get. */
static void fail_later(struct http_request *r, const struct err *err)
{
	snprintf(r->error, sizeof(r->error), "%.*s", CURL_ERROR_SIZE - 1, err->text);
	r->phase = PHASE_FAILED;
	uv_timer_start(&r->http->sweep, r->http->sweep.timer_cb, 0, SWEEP_MS);
}

static void stamp_begin(struct http_request *r)
{
	r->begin_ns = clock_wall_ns(r->http->clock);
	r->begin_mono_ns = clock_mono_ns(r->http->clock);
}

static void http_start(struct http_request *r)
{
	struct http *h = r->http;
	struct err err = {0};

	stamp_begin(r);
	if (http_set_up(r, &err)) {
		fail_later(r, &err);
		return;
	}
	curl_easy_setopt(r->easy, CURLOPT_WRITEFUNCTION, take_body);
	curl_easy_setopt(r->easy, CURLOPT_WRITEDATA, r);
	curl_easy_setopt(r->easy, CURLOPT_HEADERFUNCTION, take_header);
	curl_easy_setopt(r->easy, CURLOPT_HEADERDATA, r);
	r->phase = PHASE_RUNNING;
	r->has_turn = r->lane == LIST_LANE;
	h->lists_running += r->has_turn;
	curl_multi_add_handle(h->lanes[r->lane].multi, r->easy);
}

/* A plugin's failure is that of everybody who waits for it; each tries again in its own time. */
static void on_prepared(void *context, const struct err *err)
{
	struct http *h = context;

	h->preparing = false;
	for (struct http_request *r = h->requests; err->code && r; r = r->next) {
		if (r->phase != PHASE_WAITING)
			continue;
		stamp_begin(r);
		fail_later(r, err);
	}
	start_waiting(h);
}

static void start_waiting(struct http *h)
{
	if (h->closing || h->preparing || h->depth)
		return;
	for (struct http_request *r = h->requests; r; r = r->next) {
		if (r->phase != PHASE_WAITING)
			continue;
		if (!credentials_ready(h->credentials)) {
			h->preparing = true;
			credentials_prepare(h->credentials, on_prepared, h);
			return;
		}
		if (r->lane != LIST_LANE || h->lists_running < MAX_LISTS)
			http_start(r);
	}
}

static struct http_request *http_make(
	struct http *h, const char *target, const char *accept, const struct http_handler *handler)
{
	struct http_request *r = xcalloc(1, sizeof(*r)), *last = h->requests;

	r->http = h;
	r->lane = LIST_LANE;
	r->phase = PHASE_WAITING;
	r->url = xasprintf("%s%s", h->base, target);
	r->accept = xstrdup(accept);
	r->handler = *handler;
	r->easy = curl_easy_init();
	while (last && last->next)
		last = last->next;
	r->prev = last;
	if (last)
		last->next = r;
	else
		h->requests = r;
	return r;
}

struct http_request *http_get(
	struct http *h, const char *target, const char *accept, const struct http_handler *handler)
{
	struct http_request *r = http_make(h, target, accept, handler);

	start_waiting(h);
	return r;
}

struct http_request *http_watch(
	struct http *h, const char *target, double rate, const struct http_handler *handler)
{
	struct http_request *r = http_make(h, target, "application/json", handler);

	take_place(r, rate);
	start_waiting(h);
	return r;
}

void http_cancel(struct http_request *r)
{
	struct http *h = r->http;

	if (h->depth) {
		bury(r);
		h->has_dead = true;
		return;
	}
	detach(r);
	unlink_and_free(r);
	start_waiting(h);
}

static bool is_unanswered(const struct http_request *r, int64_t now, int64_t limit_ns)
{
	return r->phase == PHASE_RUNNING && !r->header_done && now - r->begin_mono_ns > limit_ns;
}

/* The request that has to be ended from here, or NULL: one that failed to start or got no answer in time. */
static struct http_request *find_overdue(struct http *h)
{
	int64_t now = clock_mono_ns(h->clock);

	for (struct http_request *r = h->requests; r; r = r->next) {
		if (r->phase == PHASE_FAILED)
			return r;
		if (r->overdue && is_unanswered(r, now, ANSWER_TIMEOUT_NS))
			return r;
	}
	return NULL;
}

/* When the process was stopped for a while, the answer may be in the socket: the next sweep will know. An
 * aggregated API that does not answer must not keep the lists of all others from being asked for. */
static void note_overdue(struct http *h)
{
	int64_t now = clock_mono_ns(h->clock);

	for (struct http_request *r = h->requests; r; r = r->next) {
		r->overdue = is_unanswered(r, now, ANSWER_TIMEOUT_NS);
		if (is_unanswered(r, now, SLOW_ANSWER_NS))
			leave_turn(r);
	}
}

static bool is_lane_answered(const struct http *h, size_t lane)
{
	for (const struct http_request *r = h->requests; r; r = r->next) {
		if (r->lane == lane && r->header_done)
			return true;
	}
	return false;
}

/* Not one whose server is only slow to be found or to be reached: that would begin anew. */
static bool has_no_connection(const struct http_request *r, int64_t now)
{
	curl_off_t resolved_us = 0, sent_us = 0;

	if (r->lane == LIST_LANE || !is_unanswered(r, now, NO_ROOM_NS) ||
		(r->moved_mono_ns && now - r->moved_mono_ns < MOVE_AGAIN_NS) ||
		!is_lane_answered(r->http, r->lane))
		return false;
	curl_easy_getinfo(r->easy, CURLINFO_NAMELOOKUP_TIME_T, &resolved_us);
	curl_easy_getinfo(r->easy, CURLINFO_PRETRANSFER_TIME_T, &sent_us);
	return !resolved_us && !sent_us;
}

/* A server, or a proxy before it, may let a connection carry fewer requests than we ask for. Then more
 * connections are allowed; libcurl 7.88 only looks at those who wait when they are added again. */
static void make_room(struct http *h)
{
	int64_t now = clock_mono_ns(h->clock);
	size_t count = 0;

	for (struct http_request *r = h->requests; r; r = r->next) {
		r->roomless = has_no_connection(r, now);
		count += r->roomless;
	}
	if (!count)
		return;
	if (h->more_connections < h->watch_count)
		h->more_connections += count / 4 + 1;
	http_expect_watches(h, h->watch_count);
	for (struct http_request *r = h->requests; r; r = r->next) {
		if (!r->roomless)
			continue;
		r->moved_mono_ns = now;
		curl_multi_remove_handle(h->lanes[r->lane].multi, r->easy);
		curl_multi_add_handle(h->lanes[r->lane].multi, r->easy);
	}
}

static void on_sweep(uv_timer_t *timer)
{
	struct http *h = timer->data;
	struct http_request *r;

	if (h->deaf) /* answers may be waiting in the sockets */
		return;
	while (!h->closing && !h->gated && (r = find_overdue(h))) {
		CURLcode code = r->phase == PHASE_FAILED ? CURLE_LOGIN_DENIED : CURLE_OPERATION_TIMEDOUT;

		if (r->phase == PHASE_RUNNING)
			snprintf(r->error, sizeof(r->error), "no answer within %d s",
				(int)(ANSWER_TIMEOUT_NS / NS_PER_S));
		http_finish(r, code);
	}
	if (h->closing)
		return;
	note_overdue(h);
	make_room(h);
	start_waiting(h);
}

static void take_all_results(struct http *h)
{
	for (size_t i = 0; i < LANES; i++)
		http_take_results(&h->lanes[i]);
}

/* Lets the transfers go on that were told to wait. */
static void unpause(struct http *h)
{
	h->depth++;
	for (struct http_request *r = h->requests; r; r = r->next) {
		if (r->phase == PHASE_RUNNING && r->paused) {
			r->paused = false;
			curl_easy_pause(r->easy, CURLPAUSE_CONT);
		}
	}
	h->depth--;
	take_all_results(h);
}

void http_hold(struct http *h, bool hold)
{
	if (h->held == hold)
		return;
	h->held = hold;
	hear_or_not(h);
	if (!hold)
		unpause(h);
}

static void deliver_backlog(struct http *h)
{
	const struct backlog_item *item;

	while (!h->closing && !h->gated && (item = backlog_take(&h->backlog))) {
		struct http_request *r = item->owner;
		struct slice bytes = {item->bytes, item->len};

		if (r && r->handler.on_body(r->handler.context, bytes, item->time_ns)) {
			r->aborted = true;
			http_finish(r, CURLE_WRITE_ERROR);
		}
	}
}

void http_shut_gate(struct http *h, size_t max_bytes)
{
	h->gated = true;
	h->enough_bytes = max_bytes;
	h->backlog.max_bytes = max_bytes + READ_AT_ONCE_BYTES;
	hear_or_not(h);
}

void http_open_gate(struct http *h)
{
	if (!h->gated)
		return;
	h->gated = false;
	deliver_backlog(h);
	if (h->gated) /* by who took something in */
		return;
	hear_or_not(h);
	if (!h->held)
		unpause(h);
	take_all_results(h);
}

size_t http_backlog_bytes(const struct http *h)
{
	return h->backlog.bytes;
}

/* ---- the server ---- */

struct http *http_new(uv_loop_t *loop, const struct clock *clock, const struct cluster_config *config)
{
	struct http *h = xcalloc(1, sizeof(*h));

	curl_global_init(CURL_GLOBAL_DEFAULT);
	h->loop = loop;
	h->clock = clock;
	h->config = config;
	h->credentials = credentials_new(loop, clock, config);
	http_set_base(h);
	for (size_t i = 0; i < LANES; i++)
		http_lane_open(h, &h->lanes[i]);
	uv_timer_init(loop, &h->sweep);
	h->sweep.data = h;
	uv_timer_start(&h->sweep, on_sweep, SWEEP_MS, SWEEP_MS);
	uv_timer_init(loop, &h->look);
	h->look.data = h;
	h->open_handles = LANES + 2;
	http_expect_watches(h, 1);
	return h;
}

void http_expect_watches(struct http *h, size_t count)
{
	long limit =
		(long)(count / HTTP_WATCHES_PER_CONNECTION + 1 + SPARE_CONNECTIONS + h->more_connections);

	/* Without HTTP/2 every watch needs a connection of its own. */
	h->watch_count = count;
	if (!h->tls || h->h1_seen)
		limit = 0;
	for (size_t i = 0; i < WATCH_LANES; i++) {
		curl_multi_setopt(h->lanes[i].multi, CURLMOPT_MAX_HOST_CONNECTIONS, limit);
		curl_multi_setopt(h->lanes[i].multi, CURLMOPT_MAXCONNECTS, (long)count + 8);
	}
}

const char *http_server(const struct http *h)
{
	return h->authority;
}

static void drop_handle(struct http *h)
{
	if (--h->open_handles == 0)
		free(h);
}

static void on_lane_closed(uv_handle_t *handle)
{
	drop_handle(((struct lane *)handle->data)->http);
}

static void on_timer_closed(uv_handle_t *handle)
{
	drop_handle(handle->data);
}

void http_free(struct http *h)
{
	if (!h)
		return;
	assert(!h->depth);
	h->closing = true;
	backlog_release(&h->backlog);
	while (h->requests) {
		detach(h->requests);
		unlink_and_free(h->requests);
	}
	for (size_t i = 0; i < LANES; i++) {
		curl_multi_cleanup(h->lanes[i].multi);
		uv_close((uv_handle_t *)&h->lanes[i].timer, on_lane_closed);
	}
	uv_close((uv_handle_t *)&h->sweep, on_timer_closed);
	uv_close((uv_handle_t *)&h->look, on_timer_closed);
	credentials_free(h->credentials);
	curl_slist_free_all(h->connect_list);
	free(h->connect_to);
	free(h->proxy);
	free(h->authority);
	free(h->base);
}
