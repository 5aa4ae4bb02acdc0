/* list_options.c: see list_options.h. */
#include "replayer/request/list_options.h"

#include <errno.h>
#include <stdlib.h>

/* Go's strconv.ParseInt, base 10, 64 bits. Returns NULL or what is wrong. */
static const char *parse_int(const char *text, int64_t *ret)
{
	const char *digits = text + (*text == '-' || *text == '+');
	char *end;

	for (const char *p = digits; *p; p++) {
		if (*p < '0' || *p > '9')
			return "invalid syntax";
	}
	if (!*digits)
		return "invalid syntax";
	errno = 0;
	*ret = strtoll(text, &end, 10);
	return errno ? "value out of range" : NULL;
}

static int parse_number(const struct query *q, const char *name, int64_t *ret, struct status *st)
{
	char *text;
	const char *problem;

	*ret = 0;
	if (!query_has(q, name))
		return 0;
	text = slice_dup(query_get(q, name));
	problem = parse_int(text, ret);
	if (problem)
		status_bad_request(st, "strconv.ParseInt: parsing \"%s\": %s", text, problem);
	free(text);
	return problem ? ERR_FAILED : 0;
}

bool rv_parse(const char *text, uint64_t *ret, char **ret_problem)
{
	const char *problem = NULL;
	char *end;

	for (const char *p = text; *p; p++) {
		if (*p < '0' || *p > '9')
			problem = "invalid syntax";
	}
	if (!*text)
		problem = "invalid syntax";
	errno = 0;
	*ret = problem ? 0 : strtoull(text, &end, 10);
	if (!problem && errno)
		problem = "value out of range";
	*ret_problem = problem ? xasprintf("strconv.ParseUint: parsing \"%s\": %s", text, problem) : NULL;
	return !problem;
}

static int parse_labels(const struct query *q, struct list_options *o, struct status *st)
{
	struct err err;

	if (label_selector_parse(query_get(q, "labelSelector"), &o->labels, &err) == 0)
		return 0;
	return status_bad_request(st, "%s", err.text);
}

static int parse_fields(const struct query *q, struct list_options *o, struct status *st)
{
	struct err err;

	if (field_selector_parse(query_get(q, "fieldSelector"), &o->fields, &err) == 0)
		return 0;
	return status_bad_request(st, "%s", err.text);
}

static int resolve_fields(const struct selectable_kind *kind, struct list_options *o, struct status *st)
{
	struct err err;

	if (field_selector_resolve(o->fields, kind, &err) == 0)
		return 0;
	return status_bad_request(st, "%s", err.text);
}

/* A watch without a resourceVersion begins with the state: the server fills in how it says so. */
static void fill_in(struct list_options *o, const char *match)
{
	bool no_rv = !*o->rv || strcmp(o->rv, "0") == 0;

	if (!o->watch || o->send_initial != UNSET || *match || !no_rv)
		return;
	o->send_initial = YES;
	o->match = MATCH_NOT_OLDER;
}

static void forbid(struct status *st, const char *field, const char *why)
{
	status_invalid_cause(st, "FieldValueForbidden", field, "Forbidden: %s", why);
}

static void check_list(const struct list_options *o, const char *match, struct status *st)
{
	if (*match && !*o->rv)
		forbid(st, "resourceVersionMatch",
			"resourceVersionMatch is forbidden unless resourceVersion is provided");
	if (*match && *o->continue_token)
		forbid(st, "resourceVersionMatch",
			"resourceVersionMatch is forbidden when continue is provided");
	if (*match && o->match == MATCH_NONE)
		status_invalid_cause(st, "FieldValueNotSupported", "resourceVersionMatch",
			"Unsupported value: \"%s\": supported values: \"Exact\", \"NotOlderThan\", \"\"",
			match);
	if (o->match == MATCH_EXACT && strcmp(o->rv, "0") == 0)
		forbid(st, "resourceVersionMatch",
			"resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
	if (o->send_initial != UNSET)
		forbid(st, "sendInitialEvents", "sendInitialEvents is forbidden for list");
}

static void check_watch(const struct list_options *o, const char *match, struct status *st)
{
	bool given = *match || o->match != MATCH_NONE; /* the server's own filling in counts */

	if (o->send_initial != UNSET && o->match != MATCH_NOT_OLDER)
		forbid(st, "resourceVersionMatch",
			"sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
	if (given && o->send_initial == UNSET)
		forbid(st, "resourceVersionMatch",
			"resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
	if (given && o->match != MATCH_NOT_OLDER)
		status_invalid_cause(st, "FieldValueNotSupported", "resourceVersionMatch",
			"Unsupported value: \"%s\": supported values: \"NotOlderThan\"", match);
	if (given && *o->continue_token)
		forbid(st, "resourceVersionMatch",
			"resourceVersionMatch is forbidden when continue is provided");
}

static int list_options_check(const struct list_options *o, const char *match, struct status *st)
{
	struct status found = {0};

	status_invalid_begin(&found, "ListOptions");
	if (o->watch)
		check_watch(o, match, &found);
	else
		check_list(o, match, &found);
	if (found.cause_count == 0) {
		status_release(&found);
		return 0;
	}
	*st = found;
	return status_invalid_end(st);
}

int list_options_parse(const struct query *q, bool force_watch, const struct selectable_kind *kind,
	struct list_options *ret, struct status *ret_status)
{
	struct list_options *o = ret;
	char *match = slice_dup(query_get(q, "resourceVersionMatch"));
	int rc;

	*o = (struct list_options){
		.watch = query_true(q, "watch"),
		.bookmarks = query_true(q, "allowWatchBookmarks"),
		.rv = slice_dup(query_get(q, "resourceVersion")),
		.continue_token = slice_dup(query_get(q, "continue")),
		.match = strcmp(match, "Exact") == 0          ? MATCH_EXACT
			 : strcmp(match, "NotOlderThan") == 0 ? MATCH_NOT_OLDER
							      : MATCH_NONE,
	};
	if (query_has(q, "sendInitialEvents"))
		o->send_initial = query_true(q, "sendInitialEvents") ? YES : NO;
	rc = parse_number(q, "timeoutSeconds", &o->timeout_seconds, ret_status);
	if (rc == 0)
		rc = parse_number(q, "limit", &o->limit, ret_status);
	if (rc == 0)
		rc = parse_labels(q, o, ret_status);
	if (rc == 0)
		rc = parse_fields(q, o, ret_status);
	fill_in(o, match);
	if (rc == 0)
		rc = list_options_check(o, match, ret_status);
	if (rc == 0)
		rc = resolve_fields(kind, o, ret_status);
	/* The old path form is checked as a list, and the server fills nothing in for it. */
	o->watch |= force_watch;
	if (o->limit < 0)
		o->limit = 0;
	free(match);
	return rc;
}

void list_options_release(struct list_options *o)
{
	free(o->rv);
	free(o->continue_token);
	label_selector_free(o->labels);
	field_selector_free(o->fields);
	*o = (struct list_options){0};
}
