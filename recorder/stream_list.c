/* stream_list.c: see stream.h. Listing by pages, relisting after a gap, and probing. */
#include "recorder/stream_internal.h"

#include "recorder/discovery.h"
#include "schema/base/limits.h"
#include "schema/base/log.h"
#include "schema/base/rv.h"

#define PAGE_ITEMS 500

/* ---- what arrives ---- */

static int fail_page(struct stream *s, int rc)
{
	json_list_clear(&s->listing.page);
	stream_hold(s);
	return rc;
}

static int take_page_bytes(struct stream *s, struct slice bytes, int64_t time_ns)
{
	struct err *err = &s->page_err;
	int rc = listing_page_bytes(&s->listing, bytes, time_ns, err);

	if (rc == 0 && s->body_bytes > LIMIT_LIST_BYTES)
		rc = err_set(
			err, ERR_TOO_LARGE, "page of the list is larger than %u bytes", LIMIT_LIST_BYTES);
	if (!stream_hold(s) && rc == 0)
		rc = err_set(err, ERR_TOO_LARGE, "unfinished items of all lists are larger than %u bytes",
			LIMIT_UNFINISHED_BYTES);
	return rc ? fail_page(s, rc) : 0;
}

/* Of an answer that turns out to be no list, the beginning is told. */
static void keep_beginning(struct stream *s, struct slice bytes)
{
	size_t room = CONNECTION_STATUS_BYTES - s->body.len;

	(void)!buf_append(&s->body, bytes.ptr, bytes.len < room ? bytes.len : room, NULL);
}

static void on_header(void *context, const struct http_answer *answer)
{
	struct stream *s = context;

	s->is_page = answer->status == 200;
}

/* Non-zero ends the request: what follows is of no use. */
static int on_body(void *context, struct slice bytes, int64_t time_ns)
{
	struct stream *s = context;

	keep_beginning(s, bytes);
	s->body_bytes += bytes.len;
	if (!s->is_page)
		return s->body_bytes > LIMIT_ERROR_BODY_BYTES;
	return take_page_bytes(s, bytes, time_ns);
}

static int pass_item(void *context, struct slice item, struct err *err)
{
	(void)context;
	(void)item;
	(void)err;
	return 0;
}

static int on_probe_body(void *context, struct slice bytes, int64_t time_ns)
{
	struct stream *s = context;
	int rc = json_list_feed(&s->listing.page, bytes, pass_item, NULL, NULL);

	(void)time_ns;
	s->body_bytes += bytes.len;
	return !stream_hold(s) || rc || s->body_bytes > LIMIT_LIST_BYTES;
}

static void drop_body(struct stream *s)
{
	buf_release(&s->body);
	s->body_bytes = 0;
	s->page_err = (struct err){0};
	json_list_clear(&s->listing.page);
	stream_hold(s);
}

/* ---- what is asked ---- */

static int make_target(struct stream *s, struct buf *target, struct err *err)
{
	int rc = buf_printf(target, err, "%s?", s->path);

	if (rc == 0 && !s->no_limit)
		rc = buf_printf(target, err, "limit=%d", PAGE_ITEMS);
	if (rc == 0 && s->listing.next) {
		rc = buf_printf(target, err, "&continue=");
		if (rc == 0)
			rc = http_escape(s->listing.next, target, err);
	}
	if (rc == 0)
		rc = stream_add_selectors(s, target, err);
	/* "?&x=" and a lone "?" are legal but not pretty. */
	if (rc == 0 && target->ptr[target->len - 1] == '?')
		target->len--;
	return rc ? rc : buf_append(target, "", 1, err);
}

static void on_list_done(void *context, const struct http_answer *answer);

/* The row of a list, or of a request for one item of it. */
static int begin_row(struct stream *s, const char *purpose, const char *target, struct err *err)
{
	const struct connection_start start = {
		.stream = s->id, .purpose = purpose, .target = target, .timeout_seconds = -1};

	return connection_begin(&s->connection, s->x, &start, err);
}

static int ask_page(struct stream *s, struct err *err)
{
	const struct http_handler handler = {on_header, on_body, on_list_done, s};
	struct buf target;
	int rc;

	buf_init(&target, LIMIT_REQUEST_HEAD_BYTES);
	rc = make_target(s, &target, err);
	if (rc == 0)
		rc = begin_row(s, "list", target.ptr, err);
	if (rc == 0) {
		drop_body(s);
		listing_page_begin(&s->listing, &s->connection);
		s->request = http_get(s->x->http, target.ptr, "application/json", &handler);
		stream_enter(s, STREAM_LISTING);
	}
	buf_release(&target);
	return rc;
}

void stream_begin_list(struct stream *s)
{
	struct err err;
	int rc = 0;

	/* What a later list shows was missed, and belongs to a gap. */
	if (s->listed) {
		gap_begin(&s->gap, s->x, s->id, "unknown", s->resume.rv, 0);
		rc = gap_write(&s->gap, s->x, &err);
	}
	/* A list that broke off between pages goes on with the page it had asked for. */
	if (rc == 0 && !s->listing.next)
		listing_begin(&s->listing, !s->listed);
	if (rc == 0)
		rc = ask_page(s, &err);
	if (rc)
		stream_fatal(s, &err);
}

/* A list older than what we have seen is of another life of the cluster. */
static bool is_older(const struct stream *s, struct slice rv)
{
	struct slice last = slice_of(s->resume.rv);

	return rv_valid(rv) && rv_valid(last) && rv_compare(rv, last) < 0;
}

static void tell_epoch(struct stream *s, const char *rv)
{
	char why[256];

	snprintf(
		why, sizeof(why), "resourceVersion of %s went back from %s to %s", s->name, s->resume.rv, rv);
	s->new_epoch = true;
	s->x->suspect(s->x->owner, why);
}

static void tell_gap(const struct stream *s)
{
	const struct tape_gap *g = &s->gap.row;

	if (!g->id)
		return;
	if (!(g->modified + g->added + g->deleted + g->recreated)) {
		notices_say(s->x->notices, clock_mono_ns(s->x->clock), LOG_LEVEL_WARN, s->name,
			"history was lost and listed again, no change is visible", "");
		return;
	}
	log_warn("%s: history was lost after resourceVersion %s (%s); the new list shows %ju modified, "
		 "%ju added, %ju deleted, %ju recreated unseen",
		s->name, s->gap.from_rv, s->gap.reason, (uintmax_t)g->modified, (uintmax_t)g->added,
		(uintmax_t)g->deleted, (uintmax_t)g->recreated);
}

static int stream_list_complete(struct stream *s, uint64_t connection, int64_t time_ns, struct err *err)
{
	const struct tape_mark mark = {.time_ns = time_ns,
		.kind = MARK_LIST,
		.stream = s->id,
		.connection = connection,
		.rv = slice_of(s->listing.rv)};
	int rc;

	if (is_older(s, mark.rv))
		tell_epoch(s, s->listing.rv);
	rc = tape_writer_mark(flusher_tape(s->x->flusher), &mark, err);
	if (rc == 0) {
		tell_gap(s);
		rc = gap_end(
			&s->gap, s->x, s->new_epoch ? "epoch" : "relist", s->listing.rv, connection, err);
	}
	if (rc)
		return rc;
	resume_forget(&s->resume);
	resume_set(&s->resume, mark.rv);
	s->listed = true;
	s->new_epoch = s->no_limit = false;
	s->listed_mono_ns = clock_mono_ns(s->x->clock);
	s->error_count = 0;
	listing_stop(&s->listing);
	flusher_dirty(s->x->flusher);
	stream_tell_settled(s);
	return 0;
}

/* What is told at once even of the first list; all else ends the recording, or is told as a refusal. */
static bool may_pass(const struct http_answer *answer)
{
	return !answer->status || answer->status == 200 || answer->status == 429 || answer->status >= 500;
}

static void tell_failure(struct stream *s, const struct http_answer *answer, const struct err *page_err)
{
	int64_t now = clock_mono_ns(s->x->clock);
	bool is_news = trouble_note(&s->trouble, now, s->connection.reason);
	char text[TROUBLE_TEXT_BYTES];
	const char *since = trouble_text(&s->trouble, now, text);
	struct err err = *page_err;

	if (!err.code)
		(void)discovery_explain(s->x->http, answer, buf_slice(&s->body), &err);
	if (*since)
		err_suffix(&err, err.code, "%s", since);
	if (is_news && (s->told_settled || may_pass(answer)))
		notices_say(s->x->notices, now, LOG_LEVEL_WARN, s->name, "cannot list", err.text);
	err_prefix(&err, err.code, "cannot list %s", s->name);
	stream_tell_refused(s, answer, &err);
}

static struct end_facts facts_of(const struct http_answer *answer)
{
	return (struct end_facts){.http_status = answer->status,
		.sent = answer->sent,
		.curl_code = answer->curl_code,
		.os_errno = answer->os_errno,
		.goaway = answer->goaway,
		.h2_error = answer->h2_error,
		.timeout_seconds = -1};
}

/* Ends the row of a page. */
static int end_page(struct stream *s, const struct http_answer *answer, bool is_nonsense,
	const struct followup *next, int64_t delay, struct err *err)
{
	struct end_facts facts = facts_of(answer);
	char reason[END_REASON_BYTES];
	struct connection_end end = {
		.last_rv = s->listing.rv, .next_action = followup_word(next, true), .next_delay_ns = delay};

	facts.bad_frame = is_nonsense;
	end.reason = answer->status == 404 && s->listed ? "resource_gone" : end_reason(reason, &facts);
	if (answer->status != 200 || is_nonsense)
		end.error_status = buf_slice(&s->body);
	return connection_end(&s->connection, s->x, answer, &end, err);
}

/* What the page came to: 1 more pages, 0 the list is complete, negative: it was none. */
static int judge_page(struct stream *s, const struct http_answer *answer, int64_t now)
{
	int rc = ERR_NETWORK;

	if (s->page_err.code)
		rc = s->page_err.code;
	else if (answer->status == 200 && !answer->curl_code)
		rc = listing_page_end(&s->listing, now, &s->page_err);
	if (rc < 0)
		stream_conceal_answer(s);
	return rc;
}

/* The pages cannot be gone on with: everything is asked for in one piece. */
static void give_up_pages(struct stream *s)
{
	listing_stop(&s->listing);
	s->no_limit = true;
}

static void on_list_done(void *context, const struct http_answer *answer)
{
	struct stream *s = context;
	struct list_outcome outcome = {
		.http_status = answer->status, .on_later_page = s->listing.next != NULL};
	int64_t now = clock_wall_ns(s->x->clock), delay;
	uint64_t connection = s->connection.row.id;
	struct followup next;
	struct err err;
	int rc;

	s->request = NULL;
	stream_note_status(s, answer);
	rc = judge_page(s, answer, now);
	outcome.complete = rc == 0;
	outcome.has_more = rc > 0;
	next = followup_list(&outcome);
	delay = stream_plan(s, &next, answer->retry_after_s);
	if (end_page(s, answer, s->page_err.code != 0, &next, delay, &err) ||
		(rc == 0 && stream_list_complete(s, connection, now, &err))) {
		stream_fatal(s, &err);
		return;
	}
	if (rc < 0)
		tell_failure(s, answer, &s->page_err);
	drop_body(s);
	if (next.history_lost || s->listing.is_stuck)
		give_up_pages(s);
	if (s->state != STREAM_STOPPED)
		stream_go(s, &next, delay);
}

/* ---- probing ---- */

static void on_probe_done(void *context, const struct http_answer *answer)
{
	struct stream *s = context;
	const struct followup rewatch = {FOLLOW_WATCH, PACE_NOW, false},
			      relist = {FOLLOW_LIST, PACE_NOW, true};
	struct end_facts facts = facts_of(answer);
	char reason[END_REASON_BYTES], rv[RESUME_RV_BYTES] = "";
	struct connection_end end = {.reason = end_reason(reason, &facts), .next_delay_ns = 0};
	struct json_list *page = &s->listing.page;
	struct err err;
	bool is_old = false;

	s->request = NULL;
	if (answer->status == 200 && !answer->curl_code && json_list_end(page, pass_item, NULL, NULL) == 0 &&
		page->rv.len < sizeof(rv)) {
		is_old = is_older(s, buf_slice(&page->rv));
		snprintf(rv, sizeof(rv), "%.*s", (int)page->rv.len, page->rv.ptr ? page->rv.ptr : "");
	}
	end.last_rv = rv;
	end.next_action = is_old ? "relist" : "rewatch";
	if (connection_end(&s->connection, s->x, answer, &end, &err)) {
		stream_fatal(s, &err);
		return;
	}
	drop_body(s);
	stream_go(s, is_old ? &relist : &rewatch, 0);
}

void stream_begin_probe(struct stream *s)
{
	const struct http_handler handler = {
		.on_body = on_probe_body, .on_done = on_probe_done, .context = s};
	struct buf target;
	struct err err;
	int rc;

	buf_init(&target, LIMIT_REQUEST_HEAD_BYTES);
	rc = buf_printf(&target, &err, "%s?limit=1%c", s->path, 0);
	if (rc == 0)
		rc = begin_row(s, "probe", target.ptr, &err);
	if (rc == 0) {
		drop_body(s);
		s->request = http_get(s->x->http, target.ptr, "application/json", &handler);
		stream_enter(s, STREAM_PROBING);
	}
	buf_release(&target);
	if (rc)
		stream_fatal(s, &err);
}
