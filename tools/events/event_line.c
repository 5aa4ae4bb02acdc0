/* event_line.c: see event_line.h. */
#include "tools/events/event_line.h"

#include "schema/base/clock.h"
#include "schema/base/json_scan.h"
#include "schema/base/visible.h"
#include "schema/tape/gap_words.h"
#include "tools/cli/time_shown.h"
#include "tools/out/state_text.h"

#include <stdio.h>

#define SHOWN_CHANGES 3 /* on a line that is not wide */
#define SHOWN_WRITERS 4
#define VALUE_BYTES   48
#define SHOWN_STREAMS 3

/* A line that is being written; the first failure is kept, and what follows it does nothing. */
struct line {
	const struct event_line_style *style;
	struct buf *to;
	struct err *err;
	int rc;
};

static void put(struct line *l, const char *text)
{
	if (!l->rc)
		l->rc = buf_append(l->to, text, strlen(text), l->err);
}

static void put_number(struct line *l, const char *format, uint64_t number)
{
	if (!l->rc)
		l->rc = buf_printf(l->to, l->err, format, (unsigned long long)number);
}

static void put_visible(struct line *l, struct slice text)
{
	if (!l->rc)
		l->rc = visible_append(l->to, text, l->err);
}

static void begin_style(struct line *l, enum state_style style)
{
	if (l->style->color)
		put(l, state_text_code(style));
}

static void end_style(struct line *l)
{
	if (l->style->color)
		put(l, STATE_TEXT_PLAIN);
}

static void put_time(struct line *l, int64_t time_ns)
{
	char text[TIME_TEXT_BYTES];

	put(l, time_shown(text, time_ns, l->style->local, l->style->wide ? TIME_DIGITS_ALL : 3));
}

/* ---- values ---- */

/* Cut between two characters. */
static void put_cut(struct line *l, struct slice text)
{
	size_t n = VALUE_BYTES;

	if (l->style->wide || text.len <= VALUE_BYTES) {
		put_visible(l, text);
		return;
	}
	while (n && ((unsigned char)text.ptr[n] & 0xc0) == 0x80)
		n--;
	put_visible(l, (struct slice){text.ptr, n});
	put(l, "...");
}

/* Strings without their quotes, the empty one with them. */
static void put_value(struct line *l, struct slice json)
{
	struct slice inner = {json.ptr + 1, json.len - 2};
	struct buf text;

	if (json.len <= 2 || json.ptr[0] != '"') {
		put_cut(l, json);
		return;
	}
	if (!memchr(inner.ptr, '\\', inner.len)) {
		put_cut(l, inner);
		return;
	}
	buf_init(&text, json.len);
	put_cut(l, json_unescape(json, &text, NULL) ? json : buf_slice(&text));
	buf_release(&text);
}

static void put_change(struct line *l, const struct event_change *c)
{
	static const enum state_style styles[] = {[CHANGE_ADD] = STATE_ADDED,
		[CHANGE_REMOVE] = STATE_REMOVED,
		[CHANGE_REPLACE] = STATE_CHANGED};

	begin_style(l, styles[c->op]);
	put(l, c->op == CHANGE_ADD ? "+" : c->op == CHANGE_REMOVE ? "-" : "");
	put_visible(l, c->change.field);
	end_style(l);
	put(l, " ");
	if (c->op != CHANGE_ADD)
		put_value(l, c->change.old_value);
	if (c->op == CHANGE_REPLACE)
		put(l, " -> ");
	if (c->op != CHANGE_REMOVE)
		put_value(l, c->change.new_value);
}

/* ---- which changes are shown ---- */

/* What is asked for before what comes of it, and last what changes with everything. */
enum change_rank { RANK_WANTED, RANK_OTHER, RANK_STATUS, RANK_NOISE, RANK_COUNT };

static bool ends_with(struct slice s, const char *end)
{
	size_t len = strlen(end);

	return s.len >= len && memcmp(s.ptr + s.len - len, end, len) == 0;
}

static enum change_rank rank_of(struct slice field)
{
	static const char *const noise[] = {
		"Time", "observedGeneration", "metadata.generation", "deletionGracePeriodSeconds", NULL};

	if (slice_begins(field, "spec") || slice_begins(field, "data") ||
		slice_is(field, "metadata.deletionTimestamp"))
		return RANK_WANTED;
	for (const char *const *n = noise; *n; n++) {
		if (ends_with(field, *n))
			return RANK_NOISE;
	}
	return slice_begins(field, "status") ? RANK_STATUS : RANK_OTHER;
}

/* Writers, each once. */
struct writers {
	struct slice names[SHOWN_WRITERS];
	size_t count;
	bool more, unknown;
};

static void add_writer(struct line *l, struct writers *w, struct event_changes *c, size_t index)
{
	struct change_who who;

	if (!l->rc)
		l->rc = event_changes_who(c, index, &who, l->err);
	if (l->rc)
		return;
	if (!who.manager.ptr) {
		w->unknown = true;
		return;
	}
	for (size_t i = 0; i < w->count; i++) {
		if (slice_equal(w->names[i], who.manager))
			return;
	}
	if (w->count < SHOWN_WRITERS)
		w->names[w->count++] = who.manager;
	else
		w->more = true;
}

/* Names are still escaped as JSON. */
static void put_writers(struct line *l, const struct writers *w)
{
	begin_style(l, STATE_HEAD);
	put(l, "  by ");
	for (size_t i = 0; i < w->count; i++) {
		struct buf name;

		put(l, i ? ", " : "");
		buf_init(&name, w->names[i].len + 1);
		put_visible(l, json_unescape(w->names[i], &name, NULL) ? w->names[i] : buf_slice(&name));
		buf_release(&name);
	}
	put(l, w->more ? ", ..." : w->count == 0 ? "?" : w->unknown ? ", ?" : "");
	end_style(l);
}

/* Who asked for it, if the audit log has been joined and tells; else which managers wrote it (NULL: none). */
static void put_who(struct line *l, struct event_changes *c, const struct writers *w)
{
	struct audit_claim request;
	int found = l->rc ? 0 : event_changes_request(c, &request, l->err);

	if (found < 0)
		l->rc = found;
	if (found <= 0 || !request.user.len) {
		if (w)
			put_writers(l, w);
		return;
	}
	begin_style(l, STATE_HEAD);
	put(l, "  by ");
	put_visible(l, request.user);
	put(l, " (");
	put_visible(l, l->style->wide ? request.user_agent : slice_cut(&request.user_agent, '/'));
	put(l, ")");
	end_style(l);
}

/* Returns how many were shown. Noise is shown if there is nothing else, and always if all are. */
static size_t put_changes(struct line *l, struct event_changes *c, struct writers *w)
{
	size_t most = l->style->wide ? SIZE_MAX : SHOWN_CHANGES, shown = 0;

	for (enum change_rank rank = 0; rank < RANK_COUNT && shown < most; rank++) {
		if (rank == RANK_NOISE && shown && !l->style->wide)
			break;
		for (size_t i = 0; i < event_changes_count(c) && shown < most; i++) {
			struct event_change change = event_changes_at(c, i);

			if (change.is_whole || rank_of(change.change.field) != rank)
				continue;
			put(l, shown++ ? ", " : "  ");
			put_change(l, &change);
			add_writer(l, w, c, i);
		}
	}
	return shown;
}

/* The row about the whole object, which is the last one; false when there is none. */
static bool is_whole(const struct event_changes *c)
{
	size_t count = event_changes_count(c);

	return count && event_changes_at(c, count - 1).is_whole;
}

/* ---- events ---- */

static void put_origin(struct line *l, const struct event *e)
{
	if (e->origin == ORIGIN_RELIST)
		put(l, " (seen when listed again)");
	else if (e->origin == ORIGIN_INFERRED)
		put(l, " (concluded: it was no longer listed)");
}

/* An object that a list showed was made at any time by anybody. */
static void put_what(struct line *l, const struct event *e, struct event_changes *c)
{
	struct writers writers = {.count = 0};
	size_t count = event_changes_count(c), whole = is_whole(c), shown;

	if (e->type == EVENT_ADDED && e->origin != ORIGIN_WATCH)
		return;
	shown = put_changes(l, c, &writers);
	if (count - whole > shown)
		put_number(l, " (+%llu)", count - whole - shown);
	if (whole && e->type == EVENT_MODIFIED)
		put(l, "  (the version before is not on the tape)");
	else if (!count)
		put(l, "  (nothing but managedFields or resourceVersion)");
	if (whole)
		add_writer(l, &writers, c, count - 1);
	if (whole && e->type == EVENT_DELETED)
		writers = (struct writers){.unknown = true};
	put_who(l, c, count ? &writers : NULL);
}

static void put_type(struct line *l, const struct event *e)
{
	static const enum state_style styles[] = {[EVENT_ADDED] = STATE_ADDED,
		[EVENT_MODIFIED] = STATE_CHANGED,
		[EVENT_DELETED] = STATE_REMOVED};
	bool listed = e->origin == ORIGIN_LIST;

	begin_style(l, listed ? STATE_HEAD : styles[e->type]);
	if (!l->rc)
		l->rc = buf_printf(l->to, l->err, "%-8s", listed ? "LISTED" : event_type_name(e->type));
	end_style(l);
	put(l, " ");
}

static void put_name(struct line *l, const struct tape_resource *r, const struct event *e)
{
	put_visible(l, slice_of(r->resource));
	if (l->style->wide && *r->apigroup) {
		put(l, ".");
		put_visible(l, slice_of(r->apigroup));
	}
	put(l, " ");
	put_visible(l, e->namespace);
	put(l, e->namespace.len ? "/" : "");
	put_visible(l, e->name);
	if (l->style->wide) {
		put(l, " rv ");
		put_visible(l, e->rv);
		put(l, " uid ");
		put_visible(l, e->uid);
	}
}

int event_line_put(const struct event_line_style *style, const struct tape_resource *r, const struct event *e,
	struct event_changes *c, struct buf *to, struct err *err)
{
	struct line l = {style, to, err, 0};

	if (style->json)
		return event_json_put(r, e, c, to, err);
	put_time(&l, e->time_ns);
	put_number(&l, " %6llu ", e->seq);
	put_type(&l, e);
	put_name(&l, r, e);
	put_origin(&l, e);
	put_what(&l, e, c);
	put(&l, "\n");
	return l.rc;
}

/* ---- gaps ---- */

static void put_streams(struct line *l, const struct event_gap *gaps, size_t count)
{
	size_t most = l->style->wide || count <= SHOWN_STREAMS + 1 ? count : SHOWN_STREAMS;

	for (size_t i = 0; i < most; i++) {
		put(l, i ? ", " : " ");
		put_visible(l, slice_of(gaps[i].resource->resource));
		if (*gaps[i].namespace) {
			put(l, " in ");
			put_visible(l, slice_of(gaps[i].namespace));
		}
	}
	if (most < count)
		put_number(l, " and %llu more", count - most);
}

static int64_t length_of(const struct event_gap *g)
{
	return g->duration_ns >= 0 ? g->duration_ns : time_sub(g->end_ns, g->begin_ns);
}

static void put_length(struct line *l, const struct event_gap *gaps, size_t count)
{
	char text[TIME_TEXT_BYTES];
	int64_t longest = 0;

	for (size_t i = 0; i < count; i++)
		longest = length_of(&gaps[i]) > longest ? length_of(&gaps[i]) : longest;
	put(l, count > 1 ? " for up to " : " for ");
	put(l, duration_format(text, longest));
}

static void put_hidden(struct line *l, const struct event_gap *gaps, size_t count)
{
	static const char *const formats[] = {
		" %llu modified", " %llu added", " %llu deleted", " %llu made again"};
	uint64_t sums[4] = {0};
	const char *before = ", which showed";

	for (size_t i = 0; i < count; i++) {
		sums[0] += gaps[i].modified;
		sums[1] += gaps[i].added;
		sums[2] += gaps[i].deleted;
		sums[3] += gaps[i].recreated;
	}
	for (size_t i = 0; i < 4; i++) {
		if (!sums[i])
			continue;
		put(l, before);
		put_number(l, formats[i], sums[i]);
		before = ",";
	}
}

static int put_gap_line(const struct event_line_style *style, const struct event_gap *gaps, size_t count,
	struct buf *to, struct err *err)
{
	struct line l = {style, to, err, 0};
	bool filled = strcmp(gaps->how_ended, "filled") == 0; /* by merge: nothing is missing */

	begin_style(&l, STATE_GAP);
	put_time(&l, gaps->was_open ? gaps->end_ns : gaps->begin_ns);
	put(&l, filled           ? "        SEEN BY ANOTHER RECORDING"
		: gaps->was_open ? "        WATCHED AGAIN"
				 : "        NOT WATCHED");
	put_streams(&l, gaps, count);
	if (gaps->open) {
		put(&l, " from here on");
	} else {
		put(&l, gaps->was_open ? " after the gap" : "");
		put_length(&l, gaps, count);
	}
	put(&l, ": ");
	put_visible(&l, slice_of(gap_reason_words(gaps->reason)));
	if (!gaps->open && !filled) {
		put(&l, ", ended by ");
		put_visible(&l, slice_of(gaps->how_ended));
		put_hidden(&l, gaps, count);
	}
	end_style(&l);
	put(&l, "\n");
	return l.rc;
}

int event_line_put_gaps(const struct event_line_style *style, const struct event_gap *gaps, size_t count,
	struct buf *to, struct err *err)
{
	int rc = 0;

	if (!style->json)
		return put_gap_line(style, gaps, count, to, err);
	for (size_t i = 0; i < count && !rc; i++)
		rc = event_json_put_gap(&gaps[i], to, err);
	return rc;
}
