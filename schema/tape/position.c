/* position.c: see position.h. */
#include "schema/tape/position.h"

#include "schema/base/clock.h"
#include "schema/base/limits.h"
#include "schema/base/rv.h"

#include <stdlib.h>

#define NS_PER_DAY (86400 * NS_PER_S)

int tape_position_at_time(struct tape *t, int64_t time_ns, uint64_t *ret_seq, struct err *err)
{
	uint64_t next;
	int failed;

	if (time_ns == INT64_MAX)
		time_ns--;
	failed = tape_seq_at_time(t, time_ns + 1, &next, err);
	if (failed)
		return failed;
	*ret_seq = next ? next - 1 : 0;
	return 0;
}

/* Within one resource the watch delivers in the order of resourceVersions, so the walk goes back from the
 * end, and over what has only higher ones. */
int tape_position_at_rv(
	struct tape *t, uint32_t resource, struct slice rv, uint64_t *ret_seq, struct err *err)
{
	struct tape_filter filter = {.resource = resource};
	struct tape_cursor *c;
	struct event e;
	char *text;
	int more;

	if (!rv_valid(rv))
		return err_set(err, ERR_USAGE, "bad resourceVersion '%.*s': expected digits",
			(int)(rv.len < 80 ? rv.len : 80), rv.ptr);
	text = slice_dup(rv);
	filter.rv_max = text;
	more = tape_cursor_open(t, &filter, TAPE_BACKWARD, &c, err);
	free(text);
	if (more < 0)
		return more;
	more = tape_cursor_next(c, &e, err);
	if (more >= 0)
		*ret_seq = more ? e.seq : 0;
	tape_cursor_close(c);
	return more < 0 ? more : 0;
}

/* "pods" in "pods@5321": as the API names it, or with its group as in deployments.apps. */
static int find_resource(struct tape *t, struct slice name, uint32_t *ret_id, struct err *err)
{
	const struct tape_resource *r;

	for (size_t i = 0; (r = tape_resource_at(t, i)); i++) {
		char *full = xasprintf("%s.%s", r->resource, r->apigroup);
		bool is_it = slice_is(name, r->resource) || slice_is(name, full);

		free(full);
		if (is_it) {
			*ret_id = r->id;
			return 0;
		}
	}
	return err_set(err, ERR_USAGE, "bad position: the tape has no resource '%.*s'",
		(int)(name.len < 80 ? name.len : 80), name.ptr);
}

static int parse_rv(struct tape *t, const char *text, uint64_t *ret_seq, struct err *err)
{
	const char *at = strchr(text, '@');
	uint32_t resource = 0;
	int failed;

	if (strncmp(text, "rv:", 3) == 0)
		return tape_position_at_rv(t, 0, slice_of(text + 3), ret_seq, err);
	failed = find_resource(t, (struct slice){text, (size_t)(at - text)}, &resource, err);
	if (failed)
		return failed;
	return tape_position_at_rv(t, resource, slice_of(at + 1), ret_seq, err);
}

static bool is_clock_time(const char *text)
{
	return strlen(text) >= 5 && strspn(text, "0123456789") == 2 && text[2] == ':';
}

/* The day is the tape's first, or the one after when that time was before the tape began. */
static int parse_clock_time(const struct tape_info *info, const char *text, int64_t *ret_ns, struct err *err)
{
	char date[TIME_TEXT_BYTES];
	char *full = xasprintf("%.10sT%sZ", time_format(date, info->first_time_ns), text);
	int64_t ns;
	int code = time_parse(full, 0, 0, &ns, NULL);

	free(full);
	if (code)
		return err_set(err, ERR_USAGE, "bad time '%.80s': expected HH:MM:SS", text);
	*ret_ns = ns < time_sub(info->first_time_ns, NS_PER_S) ? time_add(ns, NS_PER_DAY) : ns;
	return 0;
}

static bool is_seq(const char *text, uint64_t *ret)
{
	const char *digits = strncmp(text, "seq:", 4) == 0 ? text + 4 : text;
	size_t count = strspn(digits, "0123456789");

	if (count == 0 || digits[count] || count > (digits == text ? 9u : 18u))
		return false;
	*ret = strtoull(digits, NULL, 10);
	return true;
}

/* *ret_ns is written only when the text names a time. */
static int parse(struct tape *t, const char *text, const struct tape_info *info, uint64_t *ret_seq,
	int64_t *ret_ns, struct err *err)
{
	int64_t ns;
	uint64_t seq;
	int failed;

	if (strcmp(text, "start") == 0 || strcmp(text, "end") == 0 || strcmp(text, "now") == 0) {
		*ret_seq = *text != 's' ? info->last_seq : info->first_seq ? info->first_seq - 1 : 0;
		return 0;
	}
	if (is_seq(text, &seq)) {
		*ret_seq = seq < info->last_seq ? seq : info->last_seq;
		return 0;
	}
	if (strncmp(text, "rv:", 3) == 0 || (strchr(text, '@') && *text != '@'))
		return parse_rv(t, text, ret_seq, err);
	if (is_clock_time(text)) {
		failed = parse_clock_time(info, text, &ns, err);
		if (failed)
			return failed;
	} else if (time_parse(text, info->last_time_ns, info->first_time_ns, &ns, NULL)) {
		return err_set(err, ERR_USAGE,
			"bad position '%.80s': expected a time (12:03:05, 2026-01-31T12:03:05Z, -5m, +30s), start, end, "
			"seq:N, rv:N or RESOURCE@RV",
			text);
	}
	*ret_ns = ns;
	return tape_position_at_time(t, ns, ret_seq, err);
}

int tape_position_parse(struct tape *t, const char *text, uint64_t *ret_seq, struct err *err)
{
	struct tape_info info;
	int64_t ns;
	int failed;

	failed = tape_info(t, &info, err);
	if (failed)
		return failed;
	return parse(t, text, &info, ret_seq, &ns, err);
}

static int time_of(struct tape *t, uint64_t seq, int64_t *ret_ns, struct err *err)
{
	struct buf strings;
	struct event e;
	int rc;

	buf_init(&strings, 8 * LIMIT_NAME_BYTES);
	rc = tape_event(t, seq, &e, &strings, err);
	if (rc == 0)
		*ret_ns = e.time_ns;
	buf_release(&strings);
	return rc;
}

int tape_position_parse_time(
	struct tape *t, const char *text, uint64_t *ret_seq, int64_t *ret_ns, struct err *err)
{
	struct tape_info info;
	int64_t ns = INT64_MIN;
	uint64_t seq;
	int rc = tape_info(t, &info, err);

	if (rc == 0)
		rc = parse(t, text, &info, &seq, &ns, err);
	if (rc == 0 && ns == INT64_MIN) {
		ns = info.first_time_ns;
		if (seq >= info.first_seq && info.events)
			rc = time_of(t, seq, &ns, err);
	}
	if (rc == 0) {
		*ret_seq = seq;
		*ret_ns = ns;
	}
	return rc;
}
