/* patch_json.c: see patch_json.h. */
#include "replayer/write/patch_json.h"

#include "replayer/json/json_index.h"
#include "replayer/json/json_places.h"

#include <ctype.h>
#include <stdlib.h>

/* ---- JSON pointers ---- */

/* A document while it is patched. */
struct patching {
	cJSON *document;
	struct json_places places;
	size_t copied; /* bytes of what "copy" has made more of */
};

/* Where a pointer leads: a member or an item of `parent`. */
struct place {
	cJSON *parent;
	char *token; /* the last one, unescaped */
};

/* Takes the next token off a pointer, unescaped: ~1 is a slash, ~0 a tilde. */
static char *next_token(const char **pointer)
{
	const char *at = *pointer + 1;
	char *token = xmalloc(strlen(at) + 1), *to = token;

	for (; *at && *at != '/'; at++) {
		if (at[0] == '~' && (at[1] == '0' || at[1] == '1'))
			*to++ = *++at == '0' ? '~' : '/';
		else
			*to++ = *at;
	}
	*to = 0;
	*pointer = at;
	return token;
}

/* The index that a token means among so many; -1 for none. Negative ones count from the end. */
static long index_of(const char *token, size_t count)
{
	char *end;
	long n = strtol(token, &end, 10);

	if (n < 0)
		n += (long)count;
	return isspace((unsigned char)*token) || end == token || *end || n < 0 || n >= (long)count ? -1 : n;
}

/* *ret_at: of an item. */
static cJSON *child_of(struct patching *p, cJSON *parent, const char *token, size_t *ret_at)
{
	long i;

	*ret_at = 0;
	if (cJSON_IsObject(parent))
		return json_places_member(&p->places, parent, token);
	i = cJSON_IsArray(parent) ? index_of(token, json_places_count(&p->places, parent)) : -1;
	if (i < 0)
		return NULL;
	*ret_at = (size_t)i;
	return json_places_item(&p->places, parent, (size_t)i);
}

static int no_path(const char *pointer, struct err *err)
{
	return err_set(err, ERR_FAILED, "path '%s' does not exist", pointer);
}

/* Not of the document itself, which has no place. */
static int find_place(struct patching *p, const char *pointer, struct place *ret, struct err *err)
{
	struct place to = {0};
	size_t unused;

	if (*pointer != '/')
		return no_path(pointer, err);
	for (const char *at = pointer; *at;) {
		cJSON *parent = to.token ? child_of(p, to.parent, to.token, &unused) : p->document;

		free(to.token);
		to.token = NULL;
		if (!parent)
			return no_path(pointer, err);
		to.parent = parent;
		to.token = next_token(&at);
	}
	*ret = to;
	return 0;
}

/* A member that is not there is no failure, but NULL. */
static int find_value(struct patching *p, const char *pointer, cJSON **ret, struct err *err)
{
	struct place to;
	cJSON *value;
	size_t at;
	int rc = find_place(p, pointer, &to, err);

	if (rc)
		return rc;
	value = child_of(p, to.parent, to.token, &at);
	free(to.token);
	if (!value && !cJSON_IsObject(to.parent))
		return no_path(pointer, err);
	*ret = value;
	return 0;
}

/* ---- operations ---- */

/* Takes the value over. */
static int add_item(struct patching *p, struct place to, const char *pointer, cJSON *value, struct err *err)
{
	bool is_array = cJSON_IsArray(to.parent);
	size_t count = is_array ? json_places_count(&p->places, to.parent) : 0;
	long at = strcmp(to.token, "-") == 0 ? (long)count : index_of(to.token, count + 1);

	if (!is_array || at < 0) {
		cJSON_Delete(value);
		return err_set(err, ERR_FAILED, "path '%s' is no place to add to", pointer);
	}
	json_places_insert(&p->places, to.parent, (size_t)at, value);
	return 0;
}

/* Takes the value over. */
static int patch_json_add(struct patching *p, const char *pointer, cJSON *value, struct err *err)
{
	struct place to;
	int rc = find_place(p, pointer, &to, err);

	if (rc) {
		cJSON_Delete(value);
		return rc;
	}
	if (cJSON_IsObject(to.parent))
		json_places_set(&p->places, to.parent, to.token, value);
	else
		rc = add_item(p, to, pointer, value, err);
	free(to.token);
	return rc;
}

/* Takes the value out; the caller frees it. */
static int detach(struct patching *p, const char *pointer, cJSON **ret, struct err *err)
{
	struct place from;
	cJSON *value;
	size_t at;
	int rc = find_place(p, pointer, &from, err);

	if (rc)
		return rc;
	value = child_of(p, from.parent, from.token, &at);
	free(from.token);
	if (!value)
		return no_path(pointer, err);
	json_places_detach(&p->places, from.parent, value, at);
	*ret = value;
	return 0;
}

static int remove_value(struct patching *p, const char *pointer, struct err *err)
{
	cJSON *gone;
	int rc = detach(p, pointer, &gone, err);

	if (rc)
		return rc;
	json_places_forget(&p->places, gone);
	cJSON_Delete(gone);
	return 0;
}

/* Puts the value, which is used up, where the old one stands: items keep their index and members their order.
 */
static void put_in_place(struct patching *p, cJSON *old, cJSON *value)
{
	json_places_forget(&p->places, old);
	for (cJSON *child; (child = old->child);)
		cJSON_Delete(cJSON_DetachItemViaPointer(old, child));
	free(old->valuestring);
	old->valuestring = value->valuestring;
	old->type = (old->type & cJSON_StringIsConst) | value->type;
	old->valueint = value->valueint;
	old->valuedouble = value->valuedouble;
	old->child = value->child;
	value->valuestring = NULL;
	value->child = NULL;
	cJSON_Delete(value);
}

static int patch_json_replace(struct patching *p, const char *pointer, cJSON *value, struct err *err)
{
	cJSON *old;
	int rc;

	if (!*pointer) {
		json_places_release(&p->places);
		cJSON_Delete(p->document);
		p->document = value;
		return 0;
	}
	rc = find_value(p, pointer, &old, err);
	if (rc == 0 && !old)
		return patch_json_add(p, pointer, value, err);
	if (rc)
		cJSON_Delete(value);
	else
		put_in_place(p, old, value);
	return rc;
}

static int test(struct patching *p, const char *pointer, const cJSON *value, struct err *err)
{
	cJSON *found = p->document;
	int rc = *pointer ? find_value(p, pointer, &found, err) : 0;

	if (rc)
		return rc;
	return (found ? json_tree_equal(found, value) : cJSON_IsNull(value))
		       ? 0
		       : err_set(err, ERR_FAILED, "testing path '%s' value failed", pointer);
}

static int patch_json_copy(struct patching *p, const char *from, const char *pointer, struct err *err)
{
	cJSON *value;
	char *text;
	int rc = find_value(p, from, &value, err);

	if (rc)
		return rc;
	text = value ? cJSON_PrintUnformatted(value) : NULL;
	p->copied += text ? strlen(text) : 0;
	free(text);
	if (p->copied > JSON_PATCH_COPIED_MAX)
		return err_set(
			err, ERR_TOO_LARGE, "copies come to more than %d bytes", JSON_PATCH_COPIED_MAX);
	return patch_json_add(p, pointer, value ? cJSON_Duplicate(value, true) : cJSON_CreateNull(), err);
}

static int patch_json_move(struct patching *p, const char *from, const char *pointer, struct err *err)
{
	cJSON *value;
	int rc = detach(p, from, &value, err);

	return rc ? rc : patch_json_add(p, pointer, value, err);
}

static int patch_json_apply(struct patching *p, const cJSON *operation, struct err *err)
{
	static const cJSON null = {.type = cJSON_NULL};
	const char *op = json_tree_text(operation, "op"), *from = json_tree_text(operation, "from");
	const cJSON *path = json_tree_at(operation, "path", NULL),
		    *given = json_tree_at(operation, "value", NULL), *value = given ? given : &null;
	const char *pointer = cJSON_IsString(path) ? path->valuestring : NULL;

	if (!pointer)
		return err_set(err, ERR_FAILED, "an operation has no path");
	if (strcmp(op, "remove") == 0)
		return remove_value(p, pointer, err);
	if (strcmp(op, "copy") == 0)
		return patch_json_copy(p, from, pointer, err);
	if (strcmp(op, "move") == 0)
		return patch_json_move(p, from, pointer, err);
	if (strcmp(op, "test") == 0)
		return test(p, pointer, value, err);
	if (strcmp(op, "add") == 0)
		return patch_json_add(p, pointer, cJSON_Duplicate(value, true), err);
	if (strcmp(op, "replace") == 0)
		return patch_json_replace(p, pointer, cJSON_Duplicate(value, true), err);
	return err_set(err, ERR_FAILED, "unknown operation '%s'", op);
}

/* As the library does it that the API server has, which is not always what the RFC says. */
int patch_json(cJSON **document, const cJSON *patch, struct err *err)
{
	struct patching p = {.document = *document};
	const cJSON *operation;
	int rc = 0;

	if (!cJSON_IsArray(patch))
		return err_set(err, ERR_USAGE, "a JSON patch is an array of operations");
	if (cJSON_GetArraySize(patch) > JSON_PATCH_OPERATIONS_MAX)
		return err_set(err, ERR_TOO_LARGE,
			"the allowed maximum operations in a JSON patch is %d, got %d",
			JSON_PATCH_OPERATIONS_MAX, cJSON_GetArraySize(patch));
	cJSON_ArrayForEach(operation, patch)
	{
		if (!cJSON_IsObject(operation) && !cJSON_IsNull(operation))
			return err_set(err, ERR_USAGE, "an operation of a JSON patch is an object");
	}
	cJSON_ArrayForEach(operation, patch)
	{
		rc = patch_json_apply(&p, operation, err);
		if (rc)
			break;
	}
	json_places_release(&p.places);
	*document = p.document;
	return rc;
}

/* ---- merging ---- */

static cJSON *without_nulls(const cJSON *value)
{
	cJSON *made;

	if (!cJSON_IsObject(value))
		return cJSON_Duplicate(value, true);
	made = cJSON_CreateObject();
	patch_merge(made, value);
	return made;
}

void patch_merge(cJSON *document, const cJSON *patch)
{
	struct json_index members;
	const cJSON *member;

	json_index_init(&members, document);
	cJSON_ArrayForEach(member, patch)
	{
		cJSON *old = json_index_find(&members, member->string);

		if (cJSON_IsNull(member))
			json_index_set(&members, document, member->string, NULL);
		else if (cJSON_IsObject(old) && cJSON_IsObject(member))
			patch_merge(old, member);
		else
			json_index_set(&members, document, member->string, without_nulls(member));
	}
	json_index_release(&members);
}
