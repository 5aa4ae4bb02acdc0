/* fault_rule.c: see fault_rule.h. */
#include "replayer/fault/fault_rule.h"

#include "replayer/fault/fault_keys.h"
#include "schema/base/clock.h"

#include <inttypes.h>
#include <stdlib.h>

#define RESTART_HOLD_NS (30 * NS_PER_S) /* the clock waits for a program to be back */

void fault_texts_add(struct fault_texts *to, char *text)
{
	to->items = xrealloc(to->items, (to->count + 1) * sizeof(*to->items));
	to->items[to->count++] = text;
}

static void release_texts(struct fault_texts *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->items[i]);
	free(t->items);
}

static void release_what(struct fault_what *w)
{
	free(w->reason);
	free(w->message);
	free(w->status);
	free(w->as_of);
}

static void release_resources(struct fault_resource *items, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(items[i].resource);
		free(items[i].group);
		free(items[i].version);
	}
	free(items);
}

void fault_kind_of_write_release(struct fault_kind_of_write *w)
{
	release_texts(&w->resource);
	release_resources(w->meant, w->meant_count);
	free(w->subresource);
}

static void release_where(struct fault_where *w)
{
	release_resources(w->meant, w->meant_count);
	release_texts(&w->resource);
	release_texts(&w->requests);
	free(w->place);
	free(w->namespace);
	free(w->client);
	free(w->credential);
}

void fault_resources_add(struct fault_resource **items, size_t *count, const struct fault_resource *r)
{
	*items = xrealloc(*items, (*count + 1) * sizeof(**items));
	(*items)[(*count)++] = (struct fault_resource){.resource = xstrdup(r->resource),
		.group = xstrdup(r->group),
		.version = r->version ? xstrdup(r->version) : NULL,
		.namespaced = r->namespaced};
}

void fault_rule_release(struct fault_rule *r)
{
	free(r->name);
	free(r->when.at);
	free(r->when.event);
	free(r->when.place);
	free(r->when.write);
	free(r->when.since);
	fault_kind_of_write_release(&r->when.written);
	release_where(&r->where);
	release_what(&r->what);
	release_what(&r->during);
	*r = (struct fault_rule){0};
}

void fault_file_release(struct fault_file *f)
{
	for (size_t i = 0; i < f->count; i++)
		fault_rule_release(&f->rules[i]);
	free(f->rules);
	*f = (struct fault_file){0};
}

static void fault_rule_append(struct fault_file *f, struct fault_rule *r)
{
	f->rules = xrealloc(f->rules, (f->count + 1) * sizeof(*f->rules));
	f->rules[f->count++] = *r;
	*r = (struct fault_rule){0};
}

int fault_file_add(struct fault_file *f, struct fault_rule *r, struct err *err)
{
	if (f->count == FAULT_RULES_MAX)
		return err_set(err, ERR_TOO_LARGE, "more than %d faults", FAULT_RULES_MAX);
	fault_rule_append(f, r);
	return 0;
}

void fault_file_add_recorded(struct fault_file *f, struct fault_rule *r)
{
	fault_rule_append(f, r);
	f->recorded_count++;
}

struct fault_rule fault_rule_default(void)
{
	return (struct fault_rule){.when = {.nth = 1, .every = 1},
		.what = {.act = FAULT_UNSAID, .count = 1},
		.during = {.act = FAULT_UNSAID, .count = 1},
		.for_ns = FAULT_LENGTH_UNSAID,
		.times = 1,
		.probability = 1};
}

bool fault_where_is_all(const struct fault_where *w)
{
	return !w->resource.count && !w->requests.count && !w->namespace && !w->client && !w->credential;
}

static void finish_where(struct fault_where *w)
{
	w->request_mask = w->requests.count ? 0 : (1u << FAULT_REQUEST_KINDS) - 1;
	for (size_t i = 0; i < w->requests.count; i++) {
		int kind = fault_word_index(FAULT_REQUEST_WORDS, slice_of(w->requests.items[i]));

		if (kind >= 0)
			w->request_mask |= 1u << kind;
	}
}

static void finish_length(struct fault_rule *r)
{
	bool each_event = fault_touches_frames(r->what.act) &&
			  (r->when.trigger == FAULT_AT_EVENT || r->when.trigger == FAULT_AT_WRITE);

	if (r->for_events)
		r->for_ns = FAULT_FOREVER;
	else if (r->for_ns == FAULT_LENGTH_UNSAID)
		r->for_ns = fault_lasts(r->what.act) && !each_event ? FAULT_FOREVER : 0;
}

/* A program that is started again has nothing before its watches are back. */
static void finish_hold(struct fault_rule *r)
{
	if (r->what.act == FAULT_RESTART && !r->hold_ns)
		r->hold_ns = RESTART_HOLD_NS;
}

static int finish_write(struct fault_rule *r, struct err *err)
{
	fault_kind_of_write_release(&r->when.written);
	r->when.written = (struct fault_kind_of_write){0};
	if (r->when.trigger != FAULT_AT_WRITE)
		return 0;
	return fault_write_parse(r->when.write, &r->when.written, err);
}

/* What a request gets while a watch in the same scope is cut off: what keeps a reflector's place. It watches
 * again from where it was after a refused connection and after 429, and after nothing else. */
static void finish_during(struct fault_rule *r)
{
	if (r->during.act != FAULT_UNSAID)
		return;
	if (r->what.act == FAULT_STALL || r->what.act == FAULT_REFUSE) {
		r->during.act = r->what.act;
	} else if (!fault_ends_streams(r->what.act)) {
		r->during.act = FAULT_NOTHING;
	} else if (!fault_where_is_all(&r->where)) {
		r->during.act = FAULT_HTTP;
		r->during.code = 429;
	} else {
		r->during.act = FAULT_REFUSE;
	}
}

static int check_what(const struct fault_what *w, const char *which, struct err *err)
{
	if ((w->act == FAULT_HTTP || w->act == FAULT_WRITE_ERROR) && (w->code < 400 || w->code > 599))
		return err_set(
			err, ERR_USAGE, "bad code %" PRId64 " in '%s': expected 400 to 599", w->code, which);
	if (w->act == FAULT_ERROR && w->code && (w->code < 400 || w->code > 599))
		return err_set(
			err, ERR_USAGE, "bad code %" PRId64 " in '%s': expected 400 to 599", w->code, which);
	if (w->act == FAULT_RST_STREAM && w->code > 13)
		return err_set(
			err, ERR_USAGE, "bad code %" PRId64 " in '%s': HTTP/2 has 0 to 13", w->code, which);
	if (w->retry_after_ns % NS_PER_S)
		return err_set(err, ERR_USAGE, "bad retry_after in '%s': expected whole seconds", which);
	if (w->status && (w->reason || w->message))
		return err_set(err, ERR_USAGE, "'%s' has a status: reason and message belong into it", which);
	return 0;
}

static int check_during(const struct fault_rule *r, struct err *err)
{
	if (r->during.act == FAULT_UNSAID)
		return 0;
	if (!fault_what_shapes[r->during.act].during)
		return err_set(err, ERR_USAGE,
			"'%s' is nothing that a request can get: expected refuse, http, rst, fin, stall, wait or nothing",
			fault_do_word(r->during.act));
	if (r->for_ns == 0)
		return err_set(err, ERR_USAGE,
			"'during' says what requests get while it lasts, but there is no 'for'");
	return check_what(&r->during, "during", err);
}

/* Without control characters, and without blanks at its ends. */
static bool is_header_text(const char *text)
{
	size_t len = strlen(text);

	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return false;
	}
	return len && text[0] != ' ' && text[len - 1] != ' ';
}

static bool is_namespace(const char *text)
{
	return strlen(text) <= 63 && text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-")] == 0;
}

static int check_where(const struct fault_where *w, struct err *err)
{
	if (w->client && !is_header_text(w->client))
		return err_set(err, ERR_USAGE,
			"nothing would match the client '%.60s': expected a pattern over a User-Agent, as 'manager/*'",
			w->client);
	if (w->namespace && !is_namespace(w->namespace))
		return err_set(err, ERR_USAGE,
			"nothing would match the namespace '%.60s': expected its name, or nothing for requests over all",
			w->namespace);
	return 0;
}

/* Whether what it does is done to requests of a kind that `requests` leaves out. */
static int check_requests(const struct fault_rule *r, struct err *err)
{
	bool of_lists = r->what.act == FAULT_STALE_LIST || r->what.act == FAULT_STALE_VIEW ||
			r->what.act == FAULT_SLOW || r->stale_ns;
	bool of_watches = fault_ends_streams(r->what.act) || fault_touches_frames(r->what.act);
	unsigned lists = 1u << FAULT_LIST | 1u << FAULT_WATCH; /* a watch can be a list, too */

	if (of_watches && !(r->where.request_mask >> FAULT_WATCH & 1))
		return err_set(err, ERR_USAGE,
			"nothing would happen: '%s' is done to watches, and 'requests' leaves them out",
			fault_do_word(r->what.act));
	if (of_lists && !(r->where.request_mask & lists))
		return err_set(err, ERR_USAGE,
			"nothing would happen: '%s' is done to lists, and 'requests' leaves them out",
			r->stale_ns ? "stale" : fault_do_word(r->what.act));
	return 0;
}

static int check_scope(const struct fault_rule *r, struct err *err)
{
	bool refuses = r->what.act == FAULT_REFUSE || r->during.act == FAULT_REFUSE;

	if (refuses && !fault_where_is_all(&r->where))
		return err_set(err, ERR_USAGE,
			"a refused connection has said nothing yet: 'refuse' goes without 'where', 'http' with it");
	if (r->hold_ns && r->what.act != FAULT_RESTART &&
		(!fault_ends_streams(r->what.act) || r->what.act == FAULT_STALL))
		return err_set(err, ERR_USAGE, "'hold' waits for watches, but '%s' ends none",
			fault_do_word(r->what.act));
	if (r->when.trigger == FAULT_AT_POSITION && r->times != 1)
		return err_set(err, ERR_USAGE, "'times' is %" PRId64 ", but a position comes once", r->times);
	if (r->what.act == FAULT_NOTHING && r->during.act == FAULT_NOTHING && !r->compaction && !r->stale_ns)
		return err_set(err, ERR_USAGE, "nothing would happen: expected compaction, stale or during");
	if (r->when.await_ns && !r->when.since)
		return err_set(err, ERR_USAGE, "'await' waits at the position of 'since', which is missing");
	return check_requests(r, err);
}

/* What an act needs that is more than a word of its own. */
static int check_act(const struct fault_rule *r, struct err *err)
{
	const char *word = fault_do_word(r->what.act);

	if (fault_strikes_writes(r->what.act) && r->when.trigger != FAULT_AT_WRITE)
		return err_set(err, ERR_USAGE,
			"'%s' is done to the write that 'when' names: expected 'write' there", word);
	if (fault_strikes_writes(r->what.act) && r->for_ns)
		return err_set(err, ERR_USAGE, "'%s' is done to one write: it has no 'for'", word);
	if ((r->what.act == FAULT_BURST || r->what.act == FAULT_WAIT) && !r->for_ns)
		return err_set(err, ERR_USAGE,
			"'%s' keeps back what comes while it lasts, but there is no 'for'", word);
	if (r->what.act == FAULT_PAUSE && (r->for_ns == 0 || r->for_events || r->clock != FAULT_WALL))
		return err_set(err, ERR_USAGE,
			"'pause' stops the tape's clock for a duration by the wall: it needs "
			"'for' and \"clock\": \"wall\"");
	if (r->what.until_quiet && r->what.act != FAULT_PAUSE)
		return err_set(err, ERR_USAGE,
			"'%s' does not wait until clients are quiet: only 'pause' does", word);
	if (r->what.act == FAULT_STALE_LIST && !r->what.by_ns == !r->what.as_of)
		return err_set(err, ERR_USAGE, "'stale_list' needs one of 'by' and 'as_of'");
	if (r->what.before_write && !r->what.as_of)
		return err_set(err, ERR_USAGE,
			"'before_write' counts the writes that followed an event: it needs 'as_of'");
	return 0;
}

int fault_rule_finish(struct fault_rule *r, size_t number, struct err *err)
{
	int rc;

	if (!r->name)
		r->name = xasprintf("rule %zu", number);
	if (r->what.act == FAULT_ERROR && !r->what.code)
		r->what.code = 410;
	finish_where(&r->where);
	finish_length(r);
	finish_hold(r);
	rc = finish_write(r, err);
	if (rc == 0)
		rc = check_where(&r->where, err);
	if (rc == 0)
		rc = check_what(&r->what, "what", err);
	if (rc == 0)
		rc = check_during(r, err);
	if (rc == 0)
		rc = check_act(r, err);
	if (rc < 0)
		return rc;
	finish_during(r);
	return check_scope(r, err);
}
