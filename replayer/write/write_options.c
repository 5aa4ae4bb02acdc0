/* write_options.c: the options of a write, in its query or, of a deletion, in its body; see write_internal.h.
 */
#include "replayer/write/write_internal.h"
#include "schema/base/count_of.h"
#include "schema/base/limits.h"
#include "schema/base/utf8.h"

#include <errno.h>
#include <stdlib.h>

/* ---- of all writes ---- */

/* What was asked for a dry run of: one text for each dryRun of the query. */
static cJSON *dry_runs(const struct query *q)
{
	cJSON *list = cJSON_CreateArray();

	for (size_t i = 0; i < q->count; i++) {
		char *text;

		if (!slice_is(q->pairs[i].name, "dryRun"))
			continue;
		text = slice_dup(q->pairs[i].value);
		cJSON_AddItemToArray(list, cJSON_CreateString(text));
		free(text);
	}
	return list;
}

static bool is_all(const cJSON *list)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, list)
	{
		if (strcmp(cJSON_GetStringValue(item), "All") != 0)
			return false;
	}
	return true;
}

/* Sets w->dry_run; tells a cause of what is no dry run. */
static void check_dry_run(struct write *w, const cJSON *list)
{
	char *text;

	w->dry_run = cJSON_GetArraySize(list) > 0;
	if (is_all(list))
		return;
	text = cJSON_PrintUnformatted(list);
	status_invalid_cause(&w->st, "FieldValueNotSupported", "dryRun",
		"Unsupported value: %s: supported values: \"All\"", text);
	cJSON_free(text);
}

/* 422 when there are causes. */
static int refuse_options(struct write *w, const char *kind)
{
	if (w->st.cause_count == 0)
		return 0;
	status_invalid_begin(&w->st, kind);
	return status_invalid_end(&w->st);
}

/* ---- of a create, an update, a patch ---- */

/* What is wrong with the options goes into w->st; the caller looks at its causes. */
static void check_apply_options(struct write *w)
{
	bool apply = write_body_type_is(write_body_type(w->call), WRITE_APPLY_PATCH);

	if (apply && !query_get(&w->call->query, "fieldManager").len)
		status_invalid_cause(&w->st, "FieldValueRequired", "fieldManager",
			"Required value: is required for apply patch");
	if (!apply && query_has(&w->call->query, "force"))
		status_invalid_cause(&w->st, "FieldValueForbidden", "force",
			"Forbidden: may not be specified for non-apply patch");
}

static struct slice rest_of(struct slice text, size_t at)
{
	return (struct slice){text.ptr + at, text.len - at};
}

/* As Go quotes a text. */
static void append_quoted(struct buf *to, struct slice text)
{
	static const char names[] = "abtnvfr"; /* of the characters 7 to 13 */

	for (size_t at = 0, n; at < text.len; at += n) {
		struct slice rest = rest_of(text, at);
		uint32_t c = 0;

		n = utf8_read(rest, &c);
		if (n == 0 || (c < 0x80 && utf8_is_active(c) && !(c >= '\a' && c <= '\r')))
			(void)!buf_printf(to, NULL, "\\x%02x", (unsigned char)*rest.ptr);
		else if (c >= '\a' && c <= '\r')
			(void)!buf_printf(to, NULL, "\\%c", names[c - '\a']);
		else if (utf8_is_active(c))
			(void)!buf_printf(to, NULL, "\\u%04x", (unsigned)c);
		else
			(void)!buf_printf(
				to, NULL, "%s%.*s", c == '"' || c == '\\' ? "\\" : "", (int)n, rest.ptr);
		n += n == 0;
	}
}

/* Where the first character that is not to be printed stands; the length when there is none. */
static size_t find_active(struct slice text, uint32_t *ret)
{
	size_t at = 0;

	for (size_t n; at < text.len; at += n ? n : 1) {
		n = utf8_read(rest_of(text, at), ret);
		if (n && utf8_is_active(*ret))
			break;
	}
	return at < text.len ? at : text.len;
}

static void check_manager_text(struct write *w, struct slice name)
{
	struct buf quoted;
	uint32_t c = 0;
	size_t at = find_active(name, &c);

	if (at == name.len)
		return;
	buf_init(&quoted, LIMIT_REQUEST_BODY_BYTES);
	append_quoted(&quoted, name);
	status_invalid_cause(&w->st, "FieldValueInvalid", "fieldManager",
		"Invalid value: \"%.*s\": invalid character U+%04X (at position %zu)", (int)quoted.len,
		quoted.ptr, (unsigned)c, at);
	buf_release(&quoted);
}

static void check_field_manager(struct write *w)
{
	struct slice name = query_get(&w->call->query, "fieldManager");

	if (name.len > FIELD_MANAGER_MAX)
		status_invalid_cause(&w->st, "FieldValueTooLong", "fieldManager",
			"Too long: may not be more than %d bytes", FIELD_MANAGER_MAX);
	check_manager_text(w, name);
}

static void check_field_validation(struct write *w)
{
	struct slice how = query_get(&w->call->query, "fieldValidation");

	if (how.len && !slice_is(how, "Strict") && !slice_is(how, "Warn") && !slice_is(how, "Ignore"))
		status_invalid_cause(&w->st, "FieldValueNotSupported", "fieldValidation",
			"Unsupported value: \"%.*s\": supported values: \"\", \"Ignore\", \"Strict\", \"Warn\"",
			(int)how.len, how.ptr);
}

int write_check_options(struct write *w)
{
	cJSON *list;

	if (w->verb == VERB_DELETE || w->verb == VERB_DELETE_COLLECTION) {
		w->dry_run = query_has(
			&w->call->query, "dryRun"); /* also of one that is refused; read in full later */
		return 0;
	}
	list = dry_runs(&w->call->query);
	if (w->verb == VERB_PATCH)
		check_apply_options(w);
	check_field_manager(w);
	check_dry_run(w, list);
	check_field_validation(w);
	cJSON_Delete(list);
	return refuse_options(w, verb_options(w->verb));
}

/* ---- of a deletion ---- */

/* The seconds of a query. */
static int parse_grace(struct write *w, struct slice text, int64_t *ret)
{
	char *digits = slice_dup(text), *end;
	long long value;
	int rc = 0;

	errno = 0;
	value = strtoll(digits, &end, 10);
	if (end == digits || *end || strspn(digits, " \t\n\v\f\r"))
		rc = status_bad_request(&w->st, "strconv.ParseInt: parsing \"%s\": invalid syntax", digits);
	else if (errno == ERANGE)
		rc = status_bad_request(
			&w->st, "strconv.ParseInt: parsing \"%s\": value out of range", digits);
	else
		*ret = value;
	free(digits);
	return rc;
}

/* The options of the query, as a body would have them. */
static int query_options(struct write *w, cJSON **ret)
{
	const struct query *q = &w->call->query;
	struct slice policy = query_get(q, "propagationPolicy");
	cJSON *options;
	int64_t grace_s = 0;

	if (query_has(q, "gracePeriodSeconds") &&
		parse_grace(w, query_get(q, "gracePeriodSeconds"), &grace_s))
		return ERR_FAILED;
	options = cJSON_CreateObject();
	if (query_has(q, "gracePeriodSeconds"))
		json_tree_set(options, "gracePeriodSeconds", cJSON_CreateNumber((double)grace_s));
	if (query_has(q, "orphanDependents"))
		json_tree_set(
			options, "orphanDependents", cJSON_CreateBool(query_true(q, "orphanDependents")));
	if (policy.len) {
		char *text = slice_dup(policy);

		json_tree_set_text(options, "propagationPolicy", text);
		free(text);
	}
	json_tree_set(options, "dryRun", dry_runs(q));
	*ret = options;
	return 0;
}

/* Those of the body, which are there in any version. */
static int body_options(struct write *w, cJSON **ret)
{
	static const struct write_kind want = {"DeleteOptions", "", ""};
	cJSON *options;
	const char *kind;
	char *problem;
	int rc = write_body_options(w->call, &options, &w->st);

	if (rc)
		return rc;
	kind = json_tree_text(options, "kind");
	if (*kind && strcmp(kind, want.kind) != 0)
		problem = xasprintf("no kind \"%s\" is registered for version \"%s\" in scheme "
				    "\"pkg/api/legacyscheme/scheme.go:30\"",
			kind, json_tree_text(options, "apiVersion"));
	else
		problem = write_decoding_problem(options, &want);
	if (!problem) {
		*ret = options;
		return 0;
	}
	rc = status_bad_request(&w->st, "%s", problem);
	free(problem);
	cJSON_Delete(options);
	return rc;
}

static void check_policy(struct write *w, const cJSON *options)
{
	const char *policy = json_tree_text(options, "propagationPolicy");
	static const char *const policies[] = {"", "Foreground", "Background", "Orphan"};
	bool known = false;

	for (size_t i = 0; i < COUNT_OF(policies); i++)
		known = known || strcmp(policy, policies[i]) == 0;
	if (*policy && cJSON_IsBool(json_tree_at(options, "orphanDependents", NULL)))
		status_invalid_cause(&w->st, "FieldValueInvalid", "propagationPolicy",
			"Invalid value: \"%s\": orphanDependents and deletionPropagation cannot be both set",
			policy);
	if (!known)
		status_invalid_cause(&w->st, "FieldValueNotSupported", "propagationPolicy",
			"Unsupported value: \"%s\": supported values: \"Foreground\", \"Background\", \"Orphan\", "
			"\"nil\"",
			policy);
}

int write_delete_options(struct write *w, cJSON **ret)
{
	cJSON *options = NULL;
	int rc = w->call->body.bytes.len ? body_options(w, &options) : query_options(w, &options);

	if (rc)
		return rc;
	check_policy(w, options);
	check_dry_run(w, json_tree_at(options, "dryRun", NULL));
	rc = refuse_options(w, "DeleteOptions");
	if (rc)
		cJSON_Delete(options);
	else
		*ret = options;
	return rc;
}
