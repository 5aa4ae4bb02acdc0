/* patch_json.c: see patch_json.h. */
#include "replayer/write/patch_json.h"

#include <ctype.h>
#include <stdlib.h>

/* ---- JSON pointers ---- */

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
static int index_of(const char *token, int count)
{
	char *end;
	long n = strtol(token, &end, 10);

	if (n < 0)
		n += count;
	return isspace((unsigned char)*token) || end == token || *end || n < 0 || n >= count ? -1 : (int)n;
}

static cJSON *child_of(const cJSON *parent, const char *token)
{
	int i;

	if (cJSON_IsObject(parent))
		return cJSON_GetObjectItemCaseSensitive(parent, token);
	i = cJSON_IsArray(parent) ? index_of(token, cJSON_GetArraySize(parent)) : -1;
	return i >= 0 ? cJSON_GetArrayItem(parent, i) : NULL;
}

static int no_path(const char *pointer, struct err *err)
{
	return err_set(err, ERR_FAILED, "path '%s' does not exist", pointer);
}

/* Not of the document itself, which has no place. */
static int find_place(cJSON *document, const char *pointer, struct place *ret, struct err *err)
{
	struct place p = {0};

	if (*pointer != '/')
		return no_path(pointer, err);
	for (const char *at = pointer; *at;) {
		cJSON *parent = p.token ? child_of(p.parent, p.token) : document;

		free(p.token);
		p.token = NULL;
		if (!parent)
			return no_path(pointer, err);
		p.parent = parent;
		p.token = next_token(&at);
	}
	*ret = p;
	return 0;
}

/* A member that is not there is no failure, but NULL. */
static int find_value(cJSON *document, const char *pointer, cJSON **ret, struct err *err)
{
	struct place p;
	cJSON *value;
	bool in_object;
	int rc = find_place(document, pointer, &p, err);

	if (rc)
		return rc;
	value = child_of(p.parent, p.token);
	in_object = cJSON_IsObject(p.parent);
	free(p.token);
	if (!value && !in_object)
		return no_path(pointer, err);
	*ret = value;
	return 0;
}

/* ---- operations ---- */

/* cJSON_InsertItemInArray of cJSON 1.7.15 forgets what is put between two items. */
static void insert(cJSON *array, int at, cJSON *value)
{
	cJSON *item = cJSON_GetArrayItem(array, at), *behind = cJSON_CreateArray();

	for (cJSON *next; item; item = next) {
		next = item->next;
		cJSON_AddItemToArray(behind, cJSON_DetachItemViaPointer(array, item));
	}
	cJSON_AddItemToArray(array, value);
	while (behind->child)
		cJSON_AddItemToArray(array, cJSON_DetachItemViaPointer(behind, behind->child));
	cJSON_Delete(behind);
}

/* Takes the value over. */
static int add(cJSON *document, const char *pointer, cJSON *value, struct err *err)
{
	struct place p;
	int i, count, rc = find_place(document, pointer, &p, err);

	if (rc) {
		cJSON_Delete(value);
		return rc;
	}
	count = cJSON_GetArraySize(p.parent);
	i = strcmp(p.token, "-") == 0 ? count : index_of(p.token, count + 1);
	if (cJSON_IsObject(p.parent)) {
		json_tree_set(p.parent, p.token, value);
	} else if (!cJSON_IsArray(p.parent) || i < 0) {
		cJSON_Delete(value);
		rc = err_set(err, ERR_FAILED, "path '%s' is no place to add to", pointer);
	} else if (i == count) {
		cJSON_AddItemToArray(p.parent, value);
	} else {
		insert(p.parent, i, value);
	}
	free(p.token);
	return rc;
}

/* Takes the value out; the caller frees it. */
static int detach(cJSON *document, const char *pointer, cJSON **ret, struct err *err)
{
	struct place p;
	cJSON *value;
	int rc = find_place(document, pointer, &p, err);

	if (rc)
		return rc;
	value = child_of(p.parent, p.token);
	free(p.token);
	if (!value)
		return no_path(pointer, err);
	*ret = cJSON_DetachItemViaPointer(p.parent, value);
	return 0;
}

static int replace(cJSON **document, const char *pointer, cJSON *value, struct err *err)
{
	cJSON *old;
	int rc;

	if (!*pointer) {
		cJSON_Delete(*document);
		*document = value;
		return 0;
	}
	rc = find_value(*document, pointer, &old, err);
	if (rc == 0 && !old)
		return add(*document, pointer, value, err);
	if (rc) {
		cJSON_Delete(value);
		return rc;
	}
	/* In place, so that items keep their index and members their order. */
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
	return 0;
}

static int test(cJSON *document, const char *pointer, const cJSON *value, struct err *err)
{
	cJSON *found = document;
	int rc = *pointer ? find_value(document, pointer, &found, err) : 0;

	if (rc)
		return rc;
	return (found ? json_tree_equal(found, value) : cJSON_IsNull(value))
		       ? 0
		       : err_set(err, ERR_FAILED, "testing path '%s' value failed", pointer);
}

static int copy(cJSON *document, const char *from, const char *pointer, size_t *copied, struct err *err)
{
	cJSON *value;
	char *text;
	int rc = find_value(document, from, &value, err);

	if (rc)
		return rc;
	text = value ? cJSON_PrintUnformatted(value) : NULL;
	*copied += text ? strlen(text) : 0;
	free(text);
	if (*copied > JSON_PATCH_COPIED_MAX)
		return err_set(
			err, ERR_TOO_LARGE, "copies come to more than %d bytes", JSON_PATCH_COPIED_MAX);
	return add(document, pointer, value ? cJSON_Duplicate(value, true) : cJSON_CreateNull(), err);
}

static int move(cJSON *document, const char *from, const char *pointer, struct err *err)
{
	cJSON *value;
	int rc = detach(document, from, &value, err);

	return rc ? rc : add(document, pointer, value, err);
}

static int apply(cJSON **document, const cJSON *operation, size_t *copied, struct err *err)
{
	static const cJSON null = {.type = cJSON_NULL};
	const char *op = json_tree_text(operation, "op"), *from = json_tree_text(operation, "from");
	const cJSON *path = json_tree_at(operation, "path", NULL),
		    *given = json_tree_at(operation, "value", NULL), *value = given ? given : &null;
	const char *pointer = cJSON_IsString(path) ? path->valuestring : NULL;
	cJSON *gone;
	int rc;

	if (!pointer)
		return err_set(err, ERR_FAILED, "an operation has no path");
	if (strcmp(op, "remove") == 0) {
		rc = detach(*document, pointer, &gone, err);
		if (rc == 0)
			cJSON_Delete(gone);
		return rc;
	}
	if (strcmp(op, "copy") == 0)
		return copy(*document, from, pointer, copied, err);
	if (strcmp(op, "move") == 0)
		return move(*document, from, pointer, err);
	if (strcmp(op, "test") == 0)
		return test(*document, pointer, value, err);
	if (strcmp(op, "add") == 0)
		return add(*document, pointer, cJSON_Duplicate(value, true), err);
	if (strcmp(op, "replace") == 0)
		return replace(document, pointer, cJSON_Duplicate(value, true), err);
	return err_set(err, ERR_FAILED, "unknown operation '%s'", op);
}

/* As the library does it that the API server has, which is not always what the RFC says. */
int patch_json(cJSON **document, const cJSON *patch, struct err *err)
{
	const cJSON *operation;
	size_t copied = 0;

	if (!cJSON_IsArray(patch))
		return err_set(err, ERR_USAGE, "a JSON patch is an array of operations");
	if (cJSON_GetArraySize(patch) > JSON_PATCH_OPERATIONS_MAX)
		return err_set(err, ERR_TOO_LARGE,
			"the allowed maximum operations in a JSON patch is %d, got %d",
			JSON_PATCH_OPERATIONS_MAX, cJSON_GetArraySize(patch));
	cJSON_ArrayForEach(operation, patch)
	{
		if (!cJSON_IsObject(operation))
			return err_set(err, ERR_USAGE, "an operation of a JSON patch is an object");
	}
	cJSON_ArrayForEach(operation, patch)
	{
		int rc = apply(document, operation, &copied, err);

		if (rc)
			return rc;
	}
	return 0;
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
	const cJSON *member;

	cJSON_ArrayForEach(member, patch)
	{
		cJSON *old = cJSON_GetObjectItemCaseSensitive(document, member->string);

		if (cJSON_IsNull(member))
			json_tree_set(document, member->string, NULL);
		else if (cJSON_IsObject(old) && cJSON_IsObject(member))
			patch_merge(old, member);
		else
			json_tree_set(document, member->string, without_nulls(member));
	}
}
