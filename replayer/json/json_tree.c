/* json_tree.c: see json_tree.h. */
#include "replayer/json/json_tree.h"

#include "replayer/json/json_index.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>

#define EXACT_DIGITS   15 /* a double keeps any number of this many digits */
#define DUPLICATES_MAX 100
#define PLACE_BYTES    1000 /* of the text of a place */

/* Where the value that is being read stands. */
struct place {
	const struct place *up;
	struct slice key; /* of a member; an item's is empty */
	int index;
};

struct reader {
	struct buf text;   /* of the string being read */
	cJSON *duplicates; /* their places; NULL: nobody asks */
	const struct place *place;
	struct err *err;
};

static int read_value(struct reader *r, struct slice json, unsigned depth, cJSON **ret);

static int not_json(struct reader *r, struct slice json)
{
	return err_set(r->err, ERR_PROTOCOL, "bad JSON: unexpected '%.*s'",
		(int)(json.len < 32 ? json.len : 32), json.ptr);
}

/* Text with a NUL inside cannot be a C string. */
static int read_text(struct reader *r, struct slice json, bool *ret_whole)
{
	int rc;

	for (size_t i = 0; i < json.len; i++) {
		if ((unsigned char)json.ptr[i] < ' ')
			return err_set(r->err, ERR_PROTOCOL, "bad JSON: control character 0x%02x in a string",
				json.ptr[i]);
	}
	buf_clear(&r->text);
	rc = json_unescape(json, &r->text, r->err);
	if (rc == 0)
		rc = buf_append(&r->text, "", 1, r->err);
	*ret_whole = rc == 0 && strlen(r->text.ptr) + 1 == r->text.len;
	return rc;
}

static int read_string(struct reader *r, struct slice json, cJSON **ret)
{
	bool whole;
	char *raw;
	int rc = read_text(r, json, &whole);

	if (rc)
		return rc;
	if (whole) {
		*ret = cJSON_CreateString(r->text.ptr);
		return 0;
	}
	raw = slice_dup(json);
	*ret = cJSON_CreateRaw(raw);
	free(raw);
	return 0;
}

static size_t skip_digits(struct slice s, size_t at)
{
	while (at < s.len && isdigit((unsigned char)s.ptr[at]))
		at++;
	return at;
}

bool json_tree_is_number(struct slice s)
{
	size_t at = s.len && s.ptr[0] == '-', begin = at;

	at = skip_digits(s, at);
	if (at == begin || (s.ptr[begin] == '0' && at > begin + 1))
		return false;
	if (at < s.len && s.ptr[at] == '.') {
		begin = ++at;
		at = skip_digits(s, at);
		if (at == begin)
			return false;
	}
	if (at < s.len && (s.ptr[at] == 'e' || s.ptr[at] == 'E')) {
		at++;
		at += at < s.len && (s.ptr[at] == '+' || s.ptr[at] == '-');
		begin = at;
		at = skip_digits(s, at);
		if (at == begin)
			return false;
	}
	return at == s.len;
}

static int read_number(struct reader *r, struct slice json, cJSON **ret)
{
	char *text;

	if (!json_tree_is_number(json))
		return not_json(r, json);
	text = slice_dup(json);
	*ret = json.len <= EXACT_DIGITS ? cJSON_CreateNumber(strtod(text, NULL)) : cJSON_CreateRaw(text);
	free(text);
	return 0;
}

static int append_place(const struct place *p, struct buf *to, struct err *err)
{
	int rc = p->up ? append_place(p->up, to, err) : 0;

	if (rc)
		return rc;
	return p->key.ptr ? buf_printf(to, err, "%s%.*s", to->len ? "." : "", (int)p->key.len, p->key.ptr)
			  : buf_printf(to, err, "[%d]", p->index);
}

static void note_duplicate(struct reader *r, const struct place *here)
{
	struct buf text;

	if (!r->duplicates || cJSON_GetArraySize(r->duplicates) >= DUPLICATES_MAX)
		return;
	buf_init(&text, PLACE_BYTES);
	if (append_place(here, &text, NULL) == 0 && buf_append(&text, "", 1, NULL) == 0)
		cJSON_AddItemToArray(r->duplicates, cJSON_CreateString(text.ptr));
	buf_release(&text);
}

/* Takes the value over. */
static int add_member(
	struct reader *r, cJSON *object, struct json_index *members, const struct place *here, cJSON *value)
{
	bool whole;
	int rc = read_text(r, here->key, &whole);

	if (rc == 0 && !whole)
		rc = err_set(r->err, ERR_PROTOCOL, "bad JSON: a member's name holds a NUL");
	if (rc) {
		cJSON_Delete(value);
		return rc;
	}
	if (json_index_find(members, r->text.ptr)) {
		note_duplicate(r, here);
		json_index_set(members, object, r->text.ptr, NULL);
	}
	cJSON_AddItemToObject(object, r->text.ptr, value);
	json_index_add(members, value);
	return 0;
}

static int read_container(struct reader *r, struct slice json, unsigned depth, cJSON *to)
{
	struct slice key, value;
	struct json_iter it;
	struct json_index members;
	struct place here = {.up = r->place, .index = -1};
	cJSON *child;
	int rc = json_iter_begin(json, &it, r->err);

	json_index_init(&members, to);
	while (rc == 0 && (rc = json_iter_next(&it, &key, &value, r->err)) > 0) {
		here.key = cJSON_IsArray(to) ? (struct slice){NULL, 0} : key;
		here.index++;
		r->place = &here;
		rc = read_value(r, value, depth + 1, &child);
		r->place = here.up;
		if (rc == 0 && cJSON_IsArray(to))
			cJSON_AddItemToArray(to, child);
		else if (rc == 0)
			rc = add_member(r, to, &members, &here, child);
	}
	json_index_release(&members);
	return rc;
}

static int read_value(struct reader *r, struct slice json, unsigned depth, cJSON **ret)
{
	cJSON *container;
	int rc;

	if (depth > JSON_TREE_DEPTH_MAX)
		return err_set(r->err, ERR_TOO_LARGE, "JSON is nested more than %d levels deep",
			JSON_TREE_DEPTH_MAX);
	if (json.len && json.ptr[0] == '"')
		return read_string(r, json, ret);
	if (json.len && (json.ptr[0] == '{' || json.ptr[0] == '[')) {
		container = json.ptr[0] == '{' ? cJSON_CreateObject() : cJSON_CreateArray();
		rc = read_container(r, json, depth, container);
		if (rc)
			cJSON_Delete(container);
		else
			*ret = container;
		return rc;
	}
	if (slice_is(json, "null"))
		*ret = cJSON_CreateNull();
	else if (slice_is(json, "true") || slice_is(json, "false"))
		*ret = cJSON_CreateBool(json.ptr[0] == 't');
	else
		return read_number(r, json, ret);
	return 0;
}

int json_tree_parse(struct slice json, cJSON **ret, struct err *err)
{
	return json_tree_parse_strict(json, ret, NULL, err);
}

int json_tree_parse_strict(struct slice json, cJSON **ret, cJSON *duplicates, struct err *err)
{
	struct reader r = {.duplicates = duplicates, .err = err};
	struct slice whole;
	cJSON *tree = NULL;
	int rc;

	buf_init(&r.text, LIMIT_OBJECT_BYTES);
	json = json_trim(json);
	/* Walked once, so that what is deeper is known to be balanced. */
	rc = json_get(json, "$", &whole, err);
	if (rc >= 0)
		rc = rc == 0 ? err_set(err, ERR_PROTOCOL, "bad JSON: nothing is there")
			     : read_value(&r, whole, 0, &tree);
	buf_release(&r.text);
	if (rc == 0)
		*ret = tree;
	return rc;
}

int json_tree_print(const cJSON *tree, struct buf *to, struct err *err)
{
	char *text = cJSON_PrintUnformatted(tree);
	int rc;

	if (!text)
		return err_set(err, ERR_TOO_LARGE, "JSON is too large to be written");
	rc = buf_append(to, text, strlen(text), err);
	cJSON_free(text);
	return rc;
}

/* ---- looking and changing ---- */

cJSON *json_tree_at(const cJSON *tree, ...)
{
	const char *name;
	va_list names;

	va_start(names, tree);
	while (tree && (name = va_arg(names, const char *)))
		tree = cJSON_GetObjectItemCaseSensitive(tree, name);
	va_end(names);
	return (cJSON *)(uintptr_t)tree;
}

const char *json_tree_text(const cJSON *object, const char *name)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, name);

	return cJSON_IsString(value) ? value->valuestring : "";
}

void json_tree_set(cJSON *object, const char *name, cJSON *value)
{
	cJSON *old = cJSON_GetObjectItemCaseSensitive(object, name);

	if (!value)
		cJSON_DeleteItemFromObjectCaseSensitive(object, name);
	else if (old)
		cJSON_ReplaceItemInObjectCaseSensitive(object, name, value);
	else
		cJSON_AddItemToObject(object, name, value);
}

void json_tree_set_text(cJSON *object, const char *name, const char *value)
{
	json_tree_set(object, name, cJSON_CreateString(value));
}

cJSON *json_tree_object(cJSON *object, const char *name)
{
	cJSON *value = cJSON_GetObjectItemCaseSensitive(object, name);

	if (cJSON_IsObject(value))
		return value;
	value = cJSON_CreateObject();
	json_tree_set(object, name, value);
	return value;
}

/* ---- comparing ---- */

static bool items_equal(const cJSON *a, const cJSON *b)
{
	for (a = a->child, b = b->child; a && b; a = a->next, b = b->next) {
		if (!json_tree_equal(a, b))
			return false;
	}
	return !a && !b;
}

static bool same_count(const cJSON *a, const cJSON *b)
{
	for (a = a->child, b = b->child; a && b;) {
		a = a->next;
		b = b->next;
	}
	return !a && !b;
}

/* Members mostly stand in the same order; from where they do not, they are looked up. As there are as many on
 * both sides, and each name once, one side is enough. */
static bool members_equal(const cJSON *a, const cJSON *b)
{
	const cJSON *mine = a->child, *theirs = b->child;
	struct json_index of_b;
	bool same = same_count(a, b);

	for (; same && mine && strcmp(mine->string, theirs->string) == 0; theirs = theirs->next) {
		same = json_tree_equal(mine, theirs);
		mine = mine->next;
	}
	if (!same || !mine)
		return same;
	json_index_init(&of_b, b);
	for (; same && mine; mine = mine->next)
		same = json_tree_equal(mine, json_index_find(&of_b, mine->string));
	json_index_release(&of_b);
	return same;
}

static double number_of(const cJSON *value)
{
	return cJSON_IsRaw(value) ? strtod(value->valuestring, NULL) : value->valuedouble;
}

/* A number of many digits is kept as its text; two integers are told apart by their digits, all others as
 * doubles, as Kubernetes does. */
static bool numbers_equal(const cJSON *a, const cJSON *b)
{
	bool raw = cJSON_IsRaw(a) && cJSON_IsRaw(b);

	if (raw && !strpbrk(a->valuestring, ".eE") && !strpbrk(b->valuestring, ".eE"))
		return strcmp(a->valuestring, b->valuestring) == 0;
	return number_of(a) == number_of(b);
}

static bool is_raw_text(const cJSON *value)
{
	return cJSON_IsRaw(value) && value->valuestring[0] == '"';
}

bool json_tree_equal(const cJSON *a, const cJSON *b)
{
	if (!a || !b)
		return a == b;
	if (is_raw_text(a) || is_raw_text(b))
		return cJSON_IsRaw(a) && cJSON_IsRaw(b) && strcmp(a->valuestring, b->valuestring) == 0;
	if ((cJSON_IsNumber(a) || cJSON_IsRaw(a)) && (cJSON_IsNumber(b) || cJSON_IsRaw(b)))
		return numbers_equal(a, b);
	if ((a->type & 0xff) != (b->type & 0xff))
		return false;
	if (cJSON_IsString(a))
		return strcmp(a->valuestring, b->valuestring) == 0;
	if (cJSON_IsArray(a))
		return items_equal(a, b);
	return !cJSON_IsObject(a) || members_equal(a, b);
}
