/* followup.c: see followup.h. */
#include "recorder/followup.h"

#include <string.h>

/* This many ERROR events in a row, without a frame between, and the stream lists again. */
#define MAX_ERRORS 3

static bool is_refusal(int status)
{
	switch (status) {
	case 400:
	case 401:
	case 403:
	case 404:
	case 405:
	case 406:
	case 422: return true;
	default: return false;
	}
}

static bool is_expired(int code, const char *reason)
{
	return code == 410 || (reason && (strcmp(reason, "Expired") == 0 || strcmp(reason, "Gone") == 0));
}

struct followup followup_watch(const struct watch_outcome *o)
{
	/* A server that refuses what it has just listed must not be asked in a tight loop. */
	enum followup_pace relist_pace = o->just_listed ? PACE_BACKOFF : PACE_NOW;

	if (o->error_code || o->error_reason) {
		if (is_expired(o->error_code, o->error_reason))
			return (struct followup){FOLLOW_LIST, relist_pace, true};
		if (o->rv_too_large)
			return (struct followup){FOLLOW_LIST, PACE_BACKOFF, true};
		return (struct followup){
			o->errors >= MAX_ERRORS ? FOLLOW_LIST : FOLLOW_WATCH, PACE_BACKOFF, false};
	}
	if (o->http_status == 410)
		return (struct followup){FOLLOW_LIST, relist_pace, true};
	if (o->bad_frame || o->backwards)
		return (struct followup){FOLLOW_LIST, PACE_BACKOFF, false};
	if (is_refusal(o->http_status))
		return (struct followup){FOLLOW_WATCH, PACE_SLOW, false};
	/* A server, or what is in between, that ends each watch at once must not be asked in a tight loop either. */
	if (o->short_again)
		return (struct followup){FOLLOW_WATCH, PACE_BACKOFF, false};
	return (struct followup){FOLLOW_WATCH, o->settled || o->overtaken ? PACE_NOW : PACE_BACKOFF, false};
}

struct followup followup_list(const struct list_outcome *o)
{
	if (o->complete)
		return (struct followup){FOLLOW_WATCH, PACE_NOW, false};
	if (o->has_more)
		return (struct followup){FOLLOW_LIST, PACE_NOW, false};
	if (o->http_status == 410 && o->on_later_page)
		return (struct followup){FOLLOW_LIST, PACE_NOW, true};
	return (struct followup){FOLLOW_LIST, is_refusal(o->http_status) ? PACE_SLOW : PACE_BACKOFF, false};
}

const char *followup_word(const struct followup *f, bool was_list)
{
	if (f->step == FOLLOW_WATCH)
		return was_list ? "watch" : "rewatch";
	return was_list ? "retry" : "relist";
}
