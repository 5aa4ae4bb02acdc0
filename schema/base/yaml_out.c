/* yaml_out.c: see yaml_out.h. */
#include "schema/base/yaml_out.h"

#include "schema/base/json_scan.h"
#include "schema/base/limits.h"
#include "schema/base/yaml_text.h"
#include "schema/base/yaml_words.h"

#include <stdlib.h>

/* Where a value begins: its line is empty, has "- " or ": " on it, or has "key:". */
enum place { AT_LINE_START, AFTER_DASH, AFTER_KEY };

struct member {
	struct buf name;
	struct slice value;
};

static int put_value(
	struct yaml_pen *p, struct slice json, unsigned indent, enum place place, struct err *err);

static int put_text(struct yaml_pen *p, struct slice json, unsigned indent, struct err *err)
{
	struct buf text;
	int rc;

	buf_init(&text, LIMIT_OBJECT_BYTES);
	rc = json_unescape(json, &text, err);
	if (rc == 0)
		yaml_put_text(p, buf_slice(&text), indent);
	buf_release(&text);
	return rc;
}

/* ---- the order of members ---- */

/* Digits from a place on, as a number. */
static uint64_t number_at(struct slice text, size_t at, size_t *ret_end)
{
	uint64_t value = 0;

	for (; at < text.len && text.ptr[at] >= '0' && text.ptr[at] <= '9'; at++)
		value = value * 10 + (uint64_t)(text.ptr[at] - '0');
	*ret_end = at;
	return value;
}

/* Whether digits before the place are more than leading zeros. */
static bool is_inside_number(struct slice text, size_t at)
{
	while (at > 0 && text.ptr[at - 1] >= '0' && text.ptr[at - 1] <= '9') {
		if (text.ptr[--at] != '0')
			return true;
	}
	return false;
}

static int yaml_out_compare(uint64_t x, uint64_t y)
{
	return x < y ? -1 : x > y;
}

/* By the first byte of a character: beyond the signs of Latin 1, all are taken for letters. */
static bool is_letter(char c)
{
	unsigned char u = (unsigned char)c;

	return ((u | 0x20) >= 'a' && (u | 0x20) <= 'z') || u >= 0xc3;
}

/* Two texts that differ first at that place: numbers in them by value, letters after everything else. */
static int compare_at(struct slice a, struct slice b, size_t at)
{
	bool x_letter = is_letter(a.ptr[at]), y_letter = is_letter(b.ptr[at]);
	size_t x_end, y_end;
	uint64_t x, y;

	if (x_letter != y_letter)
		return x_letter ? 1 : -1;
	x = number_at(a, at, &x_end);
	y = number_at(b, at, &y_end);
	if (!x_letter && (a.ptr[at] == '0' || b.ptr[at] == '0') && is_inside_number(a, at) && x_end != y_end)
		return yaml_out_compare(x_end, y_end);
	if (!x_letter && x != y)
		return yaml_out_compare(x, y);
	if (!x_letter && x_end != y_end)
		return yaml_out_compare(x_end, y_end);
	return yaml_out_compare((unsigned char)a.ptr[at], (unsigned char)b.ptr[at]);
}

static int compare_members(const void *x, const void *y)
{
	const struct member *m = x, *n = y;
	struct slice a = buf_slice(&m->name), b = buf_slice(&n->name);
	size_t at = 0;

	while (at < a.len && at < b.len && a.ptr[at] == b.ptr[at])
		at++;
	if (at < a.len && at < b.len)
		return compare_at(a, b, at);
	return a.len != b.len ? yaml_out_compare(a.len, b.len)
			      : yaml_out_compare((uintptr_t)m->value.ptr, (uintptr_t)n->value.ptr);
}

/* ---- containers ---- */

static void members_free(struct member *members, size_t count)
{
	for (size_t i = 0; i < count; i++)
		buf_release(&members[i].name);
	free(members);
}

/* The members of an object in their order; the caller frees. */
static int read_members(struct slice json, struct member **ret, size_t *ret_count, struct err *err)
{
	struct member *members = NULL;
	size_t count = 0, cap = 0;
	struct slice key, value;
	struct json_iter it;
	int rc = json_iter_begin(json, &it, err);

	while (rc == 0 && (rc = json_iter_next(&it, &key, &value, err)) > 0) {
		if (count == cap) {
			cap = cap ? 2 * cap : 16;
			members = xrealloc(members, cap * sizeof(*members));
		}
		members[count].value = value;
		buf_init(&members[count].name, LIMIT_OBJECT_BYTES);
		rc = json_unescape(key, &members[count++].name, err);
	}
	if (rc) {
		members_free(members, count);
		return rc;
	}
	if (count)
		qsort(members, count, sizeof(*members), compare_members);
	*ret = members;
	*ret_count = count;
	return 0;
}

static int put_object(
	struct yaml_pen *p, struct slice json, unsigned indent, enum place place, struct err *err)
{
	struct member *members;
	size_t count;
	int rc = read_members(json, &members, &count, err);

	if (rc)
		return rc;
	if (count == 0)
		yaml_put(p, place == AFTER_KEY ? " {}\n" : "{}\n");
	else if (place == AFTER_KEY)
		yaml_put(p, "\n");
	for (size_t i = 0; i < count && rc == 0; i++) {
		if (i > 0 || place != AFTER_DASH)
			yaml_put_spaces(p, indent);
		if (yaml_put_key(p, buf_slice(&members[i].name), indent)) {
			rc = put_value(p, members[i].value, indent, AFTER_KEY, err);
		} else {
			yaml_put(p, " ");
			rc = put_value(p, members[i].value, indent + 2, AFTER_DASH, err);
		}
	}
	members_free(members, count);
	return rc;
}

/* A list under a key begins in the key's column, as kubectl writes it. */
static int put_list(struct yaml_pen *p, struct slice json, unsigned indent, enum place place, struct err *err)
{
	struct slice key, value;
	struct json_iter it;
	bool first = true;
	int rc = json_iter_begin(json, &it, err);

	while (rc == 0 && (rc = json_iter_next(&it, &key, &value, err)) > 0) {
		if (first && place == AFTER_KEY)
			yaml_put(p, "\n");
		if (!first || place != AFTER_DASH)
			yaml_put_spaces(p, indent);
		first = false;
		yaml_put(p, "- ");
		rc = put_value(p, value, indent + 2, AFTER_DASH, err);
	}
	if (rc == 0 && first)
		yaml_put(p, place == AFTER_KEY ? " []\n" : "[]\n");
	return rc;
}

static void put_word(struct yaml_pen *p, struct slice json)
{
	char number[YAML_NUMBER_BYTES];

	json = yaml_number(json, number);
	fprintf(p->to, "%.*s", (int)json.len, json.ptr);
	yaml_put(p, "\n");
}

static int put_value(
	struct yaml_pen *p, struct slice json, unsigned indent, enum place place, struct err *err)
{
	if (json.len && json.ptr[0] == '{')
		return put_object(p, json, place == AFTER_KEY ? indent + 2 : indent, place, err);
	if (json.len && json.ptr[0] == '[')
		return put_list(p, json, indent, place, err);
	if (place == AFTER_KEY)
		yaml_put(p, " ");
	if (json.len && json.ptr[0] == '"')
		return put_text(p, json, place == AFTER_KEY ? indent + 2 : indent, err);
	put_word(p, json);
	return 0;
}

int yaml_out(FILE *to, struct slice json, unsigned indent, struct err *err)
{
	struct yaml_pen pen = {.to = to};

	return put_value(&pen, json, indent, AT_LINE_START, err);
}
