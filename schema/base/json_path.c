/* json_path.c: walking arrays and objects, and the value at a path. */
#include "schema/base/json_scan.h"
#include "schema/base/json_walk.h"

#include <string.h>

int json_iter_begin(struct slice value, struct json_iter *ret, struct err *err)
{
	struct json_cursor c = json_cursor_over(value, err);
	bool is_object = json_peek(&c) == '{';
	int rc = json_enter(&c, is_object ? '{' : '[');

	if (rc < 0)
		return rc;
	*ret = (struct json_iter){.rest = {c.at, (size_t)(c.end - c.at)}, .is_object = is_object};
	return 0;
}

int json_iter_next(struct json_iter *it, struct slice *ret_key, struct slice *ret_value, struct err *err)
{
	struct json_cursor c = json_cursor_over(it->rest, err);
	struct json_key key = {0};
	struct slice value;
	bool first = !it->started;
	int rc;

	c.depth = 1;
	if (it->ended)
		return 0;
	rc = it->is_object ? json_next_member(&c, &first, &key) : json_next_item(&c, &first);
	if (rc == 0) {
		it->ended = true;
		return json_finish(&c);
	}
	if (rc > 0 && json_take(&c, &value) < 0)
		rc = ERR_PROTOCOL;
	if (rc < 0)
		return rc;
	it->started = true;
	it->rest = (struct slice){c.at, (size_t)(c.end - c.at)};
	if (ret_key)
		*ret_key = key.text;
	*ret_value = value;
	return 1;
}

#define PATH_MAX_STEPS 64

/* One step of a path: a member's name, or an item's index when name.ptr is NULL. */
struct step {
	struct slice name;
	size_t index;
};

/* Each reads what stands at `at` and returns what follows it, NULL when it is no step of a path. */
static const char *read_quoted(const char *at, struct step *ret)
{
	const char *close = strchr(at + 1, *at);

	if (!close)
		return NULL;
	ret->name = (struct slice){at + 1, (size_t)(close - at - 1)};
	return close + 1;
}

static const char *read_name(const char *at, struct step *ret)
{
	size_t len = strcspn(at, ".[]");

	if (*at == '"')
		return read_quoted(at, ret);
	ret->name = (struct slice){at, len};
	return len ? at + len : NULL;
}

static const char *read_index(const char *at, struct step *ret)
{
	size_t digits = strspn(at, "0123456789");

	if (digits == 0 || digits > 9)
		return NULL;
	ret->name = (struct slice){0};
	ret->index = 0;
	for (; digits > 0; digits--)
		ret->index = ret->index * 10 + (size_t)(*at++ - '0');
	return at;
}

static const char *read_step(const char *at, struct step *ret)
{
	if (*at == '.')
		return read_name(at + 1, ret);
	if (*at != '[')
		return NULL;
	at = at[1] == '\'' || at[1] == '"' ? read_quoted(at + 1, ret) : read_index(at + 1, ret);
	return at && *at == ']' ? at + 1 : NULL;
}

/* Returns the number of steps, or a negative code. */
static int read_path(const char *path, struct step steps[PATH_MAX_STEPS], struct err *err)
{
	const char *at = path;
	int count = 0;

	if (*at == '$')
		at++;
	else if (*at != '[')
		at = read_name(at, &steps[count++]);
	while (at && *at && count < PATH_MAX_STEPS)
		at = read_step(at, &steps[count++]);
	if (!at || *path == 0)
		return err_set(err, ERR_USAGE,
			"bad path '%.200s': expected one such as $.metadata.labels['a.b/c'] or "
			"$.spec.containers[0].image",
			path);
	if (*at)
		return err_set(err, ERR_USAGE, "bad path '%.200s': more than %d steps", path, PATH_MAX_STEPS);
	return count;
}

/* Leaves the empty slice in *ret when the path leads nowhere. Calls itself once a
 * step, through the next two. */
static int json_path_find(struct json_cursor *c, const struct step *steps, int count, struct slice *ret);

/* Goes on after a match: a later member of the same name would count instead. */
static int find_member(struct json_cursor *c, const struct step *steps, int count, struct slice *ret)
{
	struct json_key key;
	struct slice other;
	bool first = true;
	int rc = json_enter(c, '{');

	while (rc == 0 && (rc = json_next_member(c, &first, &key)) > 0) {
		if (json_key_equal(&key, steps->name))
			rc = json_path_find(c, steps + 1, count - 1, ret);
		else
			rc = json_take(c, &other);
	}
	return rc;
}

static int find_item(struct json_cursor *c, const struct step *steps, int count, struct slice *ret)
{
	struct slice other;
	size_t index = 0;
	bool first = true;
	int rc = json_enter(c, '[');

	while (rc == 0 && (rc = json_next_item(c, &first)) > 0) {
		if (index++ == steps->index)
			rc = json_path_find(c, steps + 1, count - 1, ret);
		else
			rc = json_take(c, &other);
	}
	return rc;
}

static int json_path_find(struct json_cursor *c, const struct step *steps, int count, struct slice *ret)
{
	struct slice other;
	char bracket = json_peek(c);

	*ret = (struct slice){0};
	if (count == 0)
		return json_take(c, ret);
	if (steps->name.ptr && bracket == '{')
		return find_member(c, steps, count, ret);
	if (!steps->name.ptr && bracket == '[')
		return find_item(c, steps, count, ret);
	return json_take(c, &other);
}

int json_get(struct slice json, const char *path, struct slice *ret_value, struct err *err)
{
	struct json_cursor c = json_cursor_over(json, err);
	struct step steps[PATH_MAX_STEPS];
	struct slice value;
	int count = read_path(path, steps, err), rc;

	if (count < 0)
		return count;
	rc = json_path_find(&c, steps, count, &value);
	if (rc == 0)
		rc = json_finish(&c);
	if (rc < 0 || !value.ptr)
		return rc;
	*ret_value = value;
	return 1;
}

struct slice json_get_text(struct slice json, const char *path)
{
	struct slice value;

	if (json_get(json, path, &value, NULL) <= 0 || value.len < 2 || *value.ptr != '"')
		return (struct slice){NULL, 0};
	return (struct slice){value.ptr + 1, value.len - 2};
}
