/* sweep_normal.c: see sweep_normal.h. */
#include "tools/sweep/sweep_normal.h"

#include "replayer/json/json_tree.h"
#include "schema/base/clock.h"
#include "schema/base/limits.h"
#include "tools/sweep/sweep_answer.h"

#include <stdlib.h>
#include <time.h>

/* When that happened which endpoints and their slices answer to: a cluster's latency is measured by it. */
#define TRIGGER_TIME "endpoints.kubernetes.io/last-change-trigger-time"

#define TIME_LEN  20               /* of 2026-01-02T03:04:05Z, but for the Z */
#define AROUND_NS (120 * NS_PER_S) /* a time so near to the run is the time of day */

/* ---- the time of day ---- */

static bool is_digits(const char *text, const char *form)
{
	for (; *form; text++, form++) {
		if (*form == '0' ? (*text < '0' || *text > '9') : *text != *form)
			return false;
	}
	return true;
}

static bool is_now(const struct sweep_normal *n, const char *text)
{
	struct tm tm = {0};
	int64_t ns;

	if (!is_digits(text, "0000-00-00T00:00:00") || !strptime(text, "%Y-%m-%dT%H:%M:%S", &tm))
		return false;
	ns = (int64_t)timegm(&tm) * NS_PER_S;
	return n->rebased || (ns >= n->begin_ns - AROUND_NS && ns <= n->end_ns + AROUND_NS);
}

/* Writes NOW over times of day, fractions of seconds included. */
static void hide_times(const struct sweep_normal *n, char *text)
{
	char *to = text;

	while (*text) {
		if (*text < '0' || *text > '9' || !is_now(n, text)) {
			*to++ = *text++;
			continue;
		}
		text += TIME_LEN - 1;
		if (*text == '.')
			text += 1 + strspn(text + 1, "0123456789");
		memcpy(to, "NOW", 3);
		to += 3;
	}
	*to = '\0';
}

/* ---- one text for one meaning ---- */

static int by_name(const void *left, const void *right)
{
	const cJSON *a = *(cJSON *const *)left, *b = *(cJSON *const *)right;

	return strcmp(a->string ? a->string : "", b->string ? b->string : "");
}

static void sort_members(cJSON *object)
{
	size_t count = (size_t)cJSON_GetArraySize(object);
	cJSON **members = xcalloc(count + 1, sizeof(*members));

	for (size_t i = 0; i < count; i++)
		members[i] = cJSON_DetachItemFromArray(object, 0);
	qsort(members, count, sizeof(*members), by_name);
	for (size_t i = 0; i < count; i++)
		cJSON_AddItemToArray(object, members[i]);
	free(members);
}

struct item {
	cJSON *value;
	char *text;
};

static int by_text(const void *left, const void *right)
{
	return strcmp(((const struct item *)left)->text, ((const struct item *)right)->text);
}

/* Go's maps have no order, and many a program makes a list of one: the ports of a service, references to owners. */
static void sort_items(cJSON *list)
{
	size_t count = (size_t)cJSON_GetArraySize(list);
	struct item *items;

	for (const cJSON *child = list->child; child; child = child->next) {
		if (!cJSON_IsObject(child))
			return;
	}
	items = xcalloc(count + 1, sizeof(*items));
	for (size_t i = 0; i < count; i++) {
		items[i].value = cJSON_DetachItemFromArray(list, 0);
		items[i].text = cJSON_PrintUnformatted(items[i].value);
	}
	qsort(items, count, sizeof(*items), by_text);
	for (size_t i = 0; i < count; i++) {
		cJSON_AddItemToArray(list, items[i].value);
		cJSON_free(items[i].text);
	}
	free(items);
}

static int compare_text(const void *key, const void *item)
{
	return strcmp(key, *(const char *const *)item);
}

static bool is_given(const struct sweep_normal *n, const cJSON *value)
{
	return cJSON_IsString(value) && n->given.count &&
	       bsearch(value->valuestring, n->given.items, n->given.count, sizeof(*n->given.items),
		       compare_text);
}

static int compare_rv(const void *key, const void *item)
{
	return strcmp(key, ((const struct sweep_shown *)item)->rv);
}

/* A member that is called so tells which version of an object the program saw; by the tape, whatever this run showed. */
static const struct sweep_shown *find_shown(const struct sweep_normal *n, const cJSON *value)
{
	bool is_version = cJSON_IsString(value) && value->string && strcasestr(value->string, "version");

	return is_version && n->shown_count
		       ? bsearch(value->valuestring, n->shown, n->shown_count, sizeof(*n->shown), compare_rv)
		       : NULL;
}

static char *normal_text(const struct sweep_normal *n, struct slice text);

/* An object in a text, such as the configuration that was last applied, has members in the order in which they came. */
static void normalize_object_in(const struct sweep_normal *n, cJSON *text)
{
	char *normal;

	if (!cJSON_IsString(text) || *text->valuestring != '{')
		return;
	normal = normal_text(n, slice_of(text->valuestring));
	cJSON_SetValuestring(text, normal);
	free(normal);
}

/* json_tree_parse has limited the depth. References, such as a volume's claimRef, have a version as well, which says
 * when the program looked; so does a label with a version that this run gave out. */
static void normalize_tree(const struct sweep_normal *n, cJSON *tree)
{
	const struct sweep_shown *shown = find_shown(n, tree);

	if (cJSON_IsObject(tree))
		cJSON_DeleteItemFromObjectCaseSensitive(tree, "resourceVersion");
	else if (shown)
		cJSON_SetValuestring(tree, shown->own);
	else if (is_given(n, tree))
		cJSON_SetValuestring(tree, SWEEP_VERSION);
	else
		normalize_object_in(n, tree);
	for (cJSON *child = tree->child; child; child = child->next)
		normalize_tree(n, child);
	if (cJSON_IsObject(tree))
		sort_members(tree);
	else if (cJSON_IsArray(tree))
		sort_items(tree);
}

static void drop_trigger_time(cJSON *object)
{
	cJSON *meta = cJSON_GetObjectItemCaseSensitive(object, "metadata");
	cJSON *annotations = cJSON_GetObjectItemCaseSensitive(meta, "annotations");

	cJSON_DeleteItemFromObjectCaseSensitive(annotations, TRIGGER_TIME);
	if (cJSON_IsObject(annotations) && !annotations->child)
		cJSON_DeleteItemFromObjectCaseSensitive(meta, "annotations");
}

/* A program may create an object in one run and update it in another: the order of
 * members is not its work. */
static char *normal_text(const struct sweep_normal *n, struct slice text)
{
	cJSON *tree = NULL;
	struct buf out;
	char *result;

	if (json_tree_parse(text, &tree, NULL))
		return slice_dup(text);
	buf_init(&out, LIMIT_DOCUMENT_BYTES);
	drop_trigger_time(tree);
	normalize_tree(n, tree);
	result = json_tree_print(tree, &out, NULL) == 0 ? slice_dup(buf_slice(&out)) : slice_dup(text);
	buf_release(&out);
	cJSON_Delete(tree);
	return result;
}

/* ---- the versions of a run ---- */

/* resourceVersions that only this run's writes took. */
static const char given_sql[] =
	"SELECT DISTINCT rv FROM writes WHERE policy = 'overlay' AND status BETWEEN 200 AND 299 AND coalesce(rv, '') <> ''"
	" AND rv NOT IN (SELECT CAST(rv AS TEXT) FROM events) ORDER BY rv";

/* Versions with which this run showed events of the tape, and their own. A version that is
 * the own one of another event, which was shown with it, stands for that event. */
static const char shown_sql[] =
	"WITH shown AS (SELECT json_extract(j.value, '$[0]') AS seq, json_extract(j.value, '$[1]') AS rv"
	"  FROM run, json_each(run.value) AS j WHERE run.name = 'shown')"
	" SELECT DISTINCT s.rv, CAST(e.rv AS TEXT) FROM shown AS s JOIN events AS e USING (seq) WHERE CAST(e.rv AS TEXT) <> s.rv"
	"  AND s.rv NOT IN (SELECT CAST(rv AS TEXT) FROM events WHERE CAST(rv AS TEXT) IN (SELECT rv FROM shown)"
	"   AND seq NOT IN (SELECT seq FROM shown) AND seq <= (SELECT CAST(value AS INTEGER) FROM run WHERE name = 'last_seq'))"
	" ORDER BY 1";

static int on_given(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	(void)count;
	(void)err;
	text_list_add(&((struct sweep_normal *)context)->given, slice_dup(v[0].bytes));
	return 0;
}

static int on_shown(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	struct sweep_normal *n = context;

	(void)count;
	(void)err;
	n->shown = xgrow(n->shown, n->shown_count, sizeof(*n->shown));
	n->shown[n->shown_count++] = (struct sweep_shown){slice_dup(v[0].bytes), slice_dup(v[1].bytes)};
	return 0;
}

int sweep_normal_read(struct sql_session *s, struct sweep_normal *n, struct err *err)
{
	const struct sql_sink given = {.row = on_given, .context = n};
	const struct sql_sink shown = {.row = on_shown, .context = n};
	int rc = sql_session_run(s, slice_of(given_sql), &given, err);

	return rc ? rc : sql_session_run(s, slice_of(shown_sql), &shown, err);
}

void sweep_normal_release(struct sweep_normal *n)
{
	for (size_t i = 0; i < n->shown_count; i++) {
		free(n->shown[i].rv);
		free(n->shown[i].own);
	}
	free(n->shown);
	text_list_release(&n->given);
}

/* Times go first: they must not decide about an order. */
char *sweep_normal_text(const struct sweep_normal *n, struct slice text)
{
	char *timeless = slice_dup(text), *content;

	hide_times(n, timeless);
	content = normal_text(n, slice_of(timeless));
	free(timeless);
	return content;
}
