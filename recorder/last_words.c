/* last_words.c: see last_words.h. */
#include "recorder/last_words.h"

#include "recorder/container_death.h"
#include "recorder/request_row.h"
#include "schema/base/hash.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"
#include "schema/base/timestamp.h"
#include "schema/tape/pod_log.h"

#include <stdlib.h>

#define MAX_RUNNING    2 /* of the eight answers that http.h takes at a time: lists go first */
#define MAX_WAITING    200
#define MAX_PER_MINUTE 120
/* Of what comes the last is kept. (limitBytes of the API counts from the first of the lines that are asked for.) */
#define MAX_FETCHED_BYTES (64u << 20)
#define MAX_BODY_BYTES    (1u << 20)
#define MAX_KEPT_BYTES    (64u << 10)
/* Containers that are known to have died, by hash. One that falls out is fetched again when its pod changes. */
#define SEEN_SLOTS (1u << 14)
/* What died longer ago than this when the recording began is no news; clocks of nodes may differ. */
#define OLD_NEWS_NS (600 * NS_PER_S)

/* One log that is to be fetched. */
struct last_word {
	struct last_word *next;
	struct last_words *owner;
	struct pod_log log; /* its slices are own texts */
	int64_t finished_ns;
	bool previous;
	char *target;
	struct http_request *request; /* NULL while it waits */
	struct buf body;
	struct fetched {
		uint64_t bytes;
		bool is_shortened; /* the body is the end of what came */
		int64_t first_ns;  /* of the first line that came; 0: not known */
	} fetched;
};

struct last_words {
	struct recorder_context *x;
	unsigned lines;
	struct last_word *first, **last; /* those that run come first */
	unsigned running, waiting;
	int64_t begin_ns; /* wall clock */
	int64_t minute_mono_ns;
	unsigned this_minute;
	uint64_t seen[SEEN_SLOTS];
	/* The event whose deaths are looked at. */
	const struct event *event;
};

struct last_words *last_words_new(struct recorder_context *x, unsigned lines)
{
	struct last_words *l = xcalloc(1, sizeof(*l));

	l->x = x;
	l->lines = lines;
	l->last = &l->first;
	l->begin_ns = clock_wall_ns(x->clock);
	return l;
}

/* ---- one of them ---- */

static struct slice own_slice(struct slice s)
{
	return (struct slice){slice_dup(s), s.len};
}

static void free_slice(struct slice s)
{
	free((char *)(uintptr_t)s.ptr);
}

static void last_word_free(struct last_word *w)
{
	free_slice(w->log.namespace);
	free_slice(w->log.pod);
	free_slice(w->log.container);
	free_slice(w->log.uid);
	free_slice(w->log.container_id);
	free(w->target);
	buf_release(&w->body);
	free(w);
}

static void set_target(struct last_word *w)
{
	char *path = pod_log_path(&w->log);

	free(w->target);
	/* One line more than is kept tells whether there were more. */
	w->target = xasprintf("%s?container=%s%s&tailLines=%u&timestamps=true", path, w->log.container.ptr,
		w->previous ? "&previous=true" : "", w->owner->lines + 1);
	free(path);
}

static void unlink_word(struct last_word *w)
{
	struct last_words *l = w->owner;
	struct last_word **at = &l->first;

	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	if (!w->next)
		l->last = at;
}

/* ---- onto the tape ---- */

static void put_document(
	const struct last_words *l, const struct pod_log *log, int status, struct slice body, int64_t time_ns)
{
	char *path = pod_log_path(log), *variant = pod_log_variant(log);
	const struct tape_document row = {
		.time_ns = time_ns,
		.path = path,
		.variant = variant,
		.http_status = status,
		.content_type = pod_log_content_type(log),
		.body = body.len ? body : slice_of(""),
	};
	struct err err;

	if (tape_writer_document(flusher_tape(l->x->flusher), &row, &err))
		l->x->fatal(l->x->owner, &err);
	flusher_dirty(l->x->flusher);
	free(path);
	free(variant);
}

static void put_reason(const struct last_words *l, const struct pod_log *log, int status, const char *reason)
{
	put_document(l, log, status, slice_of(reason), clock_wall_ns(l->x->clock));
}

/* The last lines, at most so many and so many bytes. */
static struct slice choose_lines(const struct last_word *w, bool *ret_cut)
{
	struct slice all = buf_slice(&w->body);
	const char *end = all.ptr + all.len, *at = end, *from = end;
	unsigned lines = 0;

	*ret_cut = w->fetched.is_shortened;
	while (at > all.ptr) {
		const char *feed = memrchr(all.ptr, '\n', (size_t)(at - all.ptr) - 1);

		at = feed ? feed + 1 : all.ptr;
		if (lines == w->owner->lines || (size_t)(end - at) > MAX_KEPT_BYTES) {
			*ret_cut = true;
			break;
		}
		from = at;
		lines++;
	}
	return (struct slice){from, (size_t)(end - from)};
}

static void put_lines(struct last_word *w, const struct http_answer *answer)
{
	struct pod_log log = w->log;
	struct slice kept = choose_lines(w, &log.cut_front);
	int64_t time_ns = answer->begin_ns;

	log.cut_end = answer->curl_code;
	if (!kept.len && log.cut_front)
		put_reason(w->owner, &w->log, 0, "its last line is longer than what is kept of a log");
	else
		put_document(w->owner, &log, 200, kept, time_ns);
}

/* In the words of the server, or of libcurl. */
static void put_failure(const struct last_word *w, const struct http_answer *answer)
{
	struct slice message;
	struct buf text;

	buf_init(&text, MAX_BODY_BYTES);
	if (answer->status == 0 || answer->curl_code)
		(void)!buf_printf(&text, NULL, "%s: %s",
			answer->status ? "the answer broke off" : "no answer came", answer->error);
	else if (json_get(buf_slice(&w->body), "$.message", &message, NULL) <= 0 ||
		 json_unescape(message, &text, NULL))
		(void)!buf_printf(&text, NULL, "the server answered %d", answer->status);
	put_document(w->owner, &w->log, answer->status == 200 ? 0 : answer->status, buf_slice(&text),
		answer->begin_ns);
	buf_release(&text);
}

static void account(const struct last_word *w, const struct http_answer *answer)
{
	struct request_row row = {.set = false};
	struct err err;

	request_row_set(&row, "log", w->target, answer, buf_slice(&w->body));
	if (request_row_write(&row, flusher_tape(w->owner->x->flusher), &err))
		w->owner->x->fatal(w->owner->x->owner, &err);
	request_row_release(&row);
}

/* ---- fetching ---- */

static void fetch_some(struct last_words *l);

static void note_first_line(struct last_word *w)
{
	struct slice rest = buf_slice(&w->body), time, text;
	int64_t time_ns;

	if (!w->fetched.is_shortened && pod_log_line(&rest, &time, &text) && timestamp_parse(time, &time_ns))
		w->fetched.first_ns = time_ns;
}

/* Leaves the second half. */
static void shorten(struct last_word *w)
{
	size_t half = w->body.len / 2;

	note_first_line(w);
	w->fetched.is_shortened = true;
	memmove(w->body.ptr, w->body.ptr + half, w->body.len - half);
	w->body.len -= half;
}

static int on_body(void *context, struct slice bytes, int64_t time_ns)
{
	struct last_word *w = context;
	int rc = 0;

	(void)time_ns;
	w->fetched.bytes += bytes.len;
	if (w->fetched.bytes > MAX_FETCHED_BYTES)
		return ERR_TOO_LARGE;
	while (bytes.len && !rc) {
		size_t room = w->body.max - w->body.len, len = bytes.len < room ? bytes.len : room;

		if (!len)
			shorten(w);
		rc = buf_append(&w->body, bytes.ptr, len, NULL);
		bytes = (struct slice){bytes.ptr + len, bytes.len - len};
	}
	return rc;
}

/* The container began again between its death and our question, and the answer is of a later life. A log tells
 * nanoseconds, a pod seconds. */
static bool is_of_later(struct last_word *w)
{
	note_first_line(w);
	return w->finished_ns && w->fetched.first_ns >= w->finished_ns + NS_PER_S;
}

static void fetch(struct last_word *w);

/* Of an answer that broke off. Whether there are any. */
static bool keep_whole_lines(struct last_word *w)
{
	const char *feed = w->body.len ? memrchr(w->body.ptr, '\n', w->body.len) : NULL;

	w->body.len = feed ? (size_t)(feed + 1 - w->body.ptr) : 0;
	return feed;
}

static void fetch_again(struct last_word *w)
{
	set_target(w);
	buf_clear(&w->body);
	w->fetched = (struct fetched){0};
	fetch(w);
}

static void on_done(void *context, const struct http_answer *answer)
{
	struct last_word *w = context;
	struct last_words *l = w->owner;
	bool has_lines = answer->status == 200 && (!answer->curl_code || keep_whole_lines(w));
	bool is_of_other = has_lines && is_of_later(w);

	w->request = NULL;
	account(w, answer);
	if (is_of_other && !w->previous) {
		w->previous = true;
		fetch_again(w);
		return;
	}
	if (is_of_other)
		put_reason(
			l, &w->log, 0, "the container had begun and ended once more before it was fetched");
	else if (has_lines)
		put_lines(w, answer);
	else
		put_failure(w, answer);
	l->running--;
	unlink_word(w);
	last_word_free(w);
	fetch_some(l);
}

static void fetch(struct last_word *w)
{
	const struct http_handler handler = {.on_body = on_body, .on_done = on_done, .context = w};

	w->request = http_get(w->owner->x->http, w->target, "text/plain, */*", &handler);
}

static void fetch_some(struct last_words *l)
{
	struct last_word *w = l->first;

	while (w && l->running < MAX_RUNNING) {
		if (!w->request) {
			l->running++;
			l->waiting--;
			fetch(w);
		}
		w = w->next;
	}
}

/* ---- deaths ---- */

/* Remembers the death. True the first time, and again for what was forgotten since. */
static bool note_death(struct last_words *l, const struct pod_log *log)
{
	uint64_t hash = hash_add(hash_add(HASH_EMPTY, log->container_id), log->uid), *slot;

	if (slice_is(log->container_id, POD_LOG_NO_ID))
		hash = hash_add(hash, log->container) + log->restart;
	hash += !hash;
	slot = &l->seen[hash % SEEN_SLOTS];
	if (*slot == hash)
		return false;
	*slot = hash;
	return true;
}

static bool is_minute_over(const struct last_words *l)
{
	return clock_mono_ns(l->x->clock) - l->minute_mono_ns >= 60 * NS_PER_S;
}

static void count_fetch(struct last_words *l)
{
	if (is_minute_over(l)) {
		l->minute_mono_ns = clock_mono_ns(l->x->clock);
		l->this_minute = 0;
	}
	l->this_minute++;
}

static const char *why_not(const struct last_words *l, const struct pod_log *log)
{
	if (slice_is(log->container_id, POD_LOG_NO_ID))
		return "the cluster gave that container no id";
	if (l->event->type == EVENT_DELETED)
		return "the pod was gone when its death was seen";
	if (l->waiting >= MAX_WAITING)
		return "too many others were waiting to be fetched";
	if (l->this_minute >= MAX_PER_MINUTE && !is_minute_over(l))
		return "more containers died in that minute than logs are fetched of";
	return NULL;
}

static void enqueue(struct last_words *l, const struct pod_log *log, const struct container_death *death)
{
	struct last_word *w = xcalloc(1, sizeof(*w));

	*w = (struct last_word){.owner = l, .finished_ns = death->finished_ns, .previous = death->previous};
	w->log = (struct pod_log){
		.namespace = own_slice(log->namespace),
		.pod = own_slice(log->pod),
		.container = own_slice(log->container),
		.uid = own_slice(log->uid),
		.container_id = own_slice(log->container_id),
		.restart = log->restart,
	};
	buf_init(&w->body, MAX_BODY_BYTES);
	set_target(w);
	*l->last = w;
	l->last = &w->next;
	l->waiting++;
	count_fetch(l);
	fetch_some(l);
}

static bool is_news(const struct last_words *l, const struct container_death *death)
{
	if (l->event->origin == ORIGIN_LIST || l->event->origin == ORIGIN_INFERRED)
		return false;
	return l->event->origin == ORIGIN_RELIST || !death->finished_ns ||
	       death->finished_ns >= l->begin_ns - OLD_NEWS_NS;
}

static void on_death(void *context, const struct container_death *death)
{
	struct last_words *l = context;
	const struct event *e = l->event;
	const struct pod_log log = {
		.namespace = e->namespace,
		.pod = e->name,
		.container = death->container,
		.uid = e->uid,
		.container_id = death->container_id.len ? death->container_id : slice_of(POD_LOG_NO_ID),
		.restart = death->restart,
	};
	const char *reason;

	if (!pod_log_is_nameable(&log) || !note_death(l, &log) || !is_news(l, death))
		return;
	reason = why_not(l, &log);
	if (reason)
		put_reason(l, &log, 0, reason);
	else
		enqueue(l, &log, death);
}

void last_words_event(struct last_words *l, const struct tape_resource *resource, const struct event *e,
	struct slice object)
{
	if (!l || *resource->apigroup || strcmp(resource->resource, "pods") != 0)
		return;
	l->event = e;
	container_deaths(object, on_death, l);
	l->event = NULL;
}

/* ---- the end ---- */

void last_words_end(struct last_words *l)
{
	struct last_word *w;

	while (l && (w = l->first)) {
		if (w->request)
			http_cancel(w->request);
		if (flusher_tape(l->x->flusher))
			put_reason(l, &w->log, 0, "the recording ended before it was fetched");
		unlink_word(w);
		last_word_free(w);
	}
}

void last_words_free(struct last_words *l)
{
	free(l);
}
