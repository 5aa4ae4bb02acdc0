/* json_path.c: what a template finds in a document, see json_path.h. */
#include "schema/base/json_scan.h"
#include "tools/get/go_value.h"
#include "tools/get/json_path_internal.h"

#include <stdio.h>
#include <stdlib.h>

#define DEPTH_MAX 200

static void add_value(struct json_values *to, struct slice value)
{
	to->items = xgrow(to->items, to->count, sizeof(*to->items));
	to->items[to->count++] = value;
}

static int find_list(const struct path_list *l, struct slice value, struct json_values *to, unsigned depth,
	struct err *err);

/* ---- one node ---- */

static int find_members(struct slice value, const char *name, struct json_values *to, struct err *err)
{
	struct go_members m;
	int rc = go_members_of(value, &m, err);

	for (size_t i = 0; i < m.count && !rc; i++) {
		if (!name || (value.ptr[0] == '{' && slice_is(buf_slice(&m.items[i].name), name)))
			add_value(to, m.items[i].value);
	}
	go_members_free(&m);
	return rc;
}

/* Bounds as Go has them: the second is not included, negative ones count from the end. */
static int find_slice(const struct path_node *n, struct slice value, struct json_values *to, struct err *err)
{
	struct go_members m;
	long first, last, step = n->bounds[2].known ? n->bounds[2].value : 1, count;
	int rc;

	if (value.ptr[0] != '[')
		return value.ptr[0] == 'n' ? 0 : err_set(err, ERR_FAILED, "an index of what is no array");
	rc = go_members_of(value, &m, err);
	count = (long)m.count;
	first = n->bounds[0].known ? n->bounds[0].value : 0;
	first += first < 0 ? count : 0;
	last = n->is_index ? first + 1 : n->bounds[1].known ? n->bounds[1].value : count;
	last += last < 0 ? count : 0;
	if (!rc && first != last &&
		(first < 0 || first >= count || last < 0 || last > count || first > last || step < 1))
		rc = err_set(
			err, ERR_FAILED, "array index out of bounds: %ld of an array of %ld", first, count);
	for (long i = first; i < last && !rc; i += step)
		add_value(to, m.items[i].value);
	go_members_free(&m);
	return rc;
}

static int find_below(struct slice value, struct json_values *to, unsigned depth, struct err *err)
{
	struct json_values below = {NULL, 0};
	int rc = depth > DEPTH_MAX ? err_set(err, ERR_TOO_LARGE, "'..' goes deeper than %d levels", DEPTH_MAX)
				   : find_members(value, NULL, &below, err);

	if (!rc && below.count)
		add_value(to, value);
	for (size_t i = 0; i < below.count && !rc; i++)
		rc = find_below(below.items[i], to, depth + 1, err);
	free(below.items);
	return rc;
}

/* ---- filters ---- */

static bool is_number(struct slice v)
{
	return v.len && (v.ptr[0] == '-' || (v.ptr[0] >= '0' && v.ptr[0] <= '9'));
}

static int compare_values(struct slice a, struct slice b, int *ret, struct err *err)
{
	char texts[2][64];
	double x, y;

	if (is_number(a) && is_number(b)) {
		snprintf(texts[0], sizeof(texts[0]), "%.*s", (int)a.len, a.ptr);
		snprintf(texts[1], sizeof(texts[1]), "%.*s", (int)b.len, b.ptr);
		x = strtod(texts[0], NULL);
		y = strtod(texts[1], NULL);
		*ret = (x > y) - (x < y);
		return 0;
	}
	if (a.ptr[0] == '"' && b.ptr[0] == '"') {
		*ret = json_text_compare(a, b);
		return 0;
	}
	if ((a.ptr[0] == 't' || a.ptr[0] == 'f') && (b.ptr[0] == 't' || b.ptr[0] == 'f')) {
		*ret = slice_compare(a, b);
		return 0;
	}
	return err_set(err, ERR_FAILED, "incompatible types for comparison: %.*s and %.*s", (int)a.len, a.ptr,
		(int)b.len, b.ptr);
}

static bool holds(enum path_operator op, int order)
{
	switch (op) {
	case PATH_EQ: return order == 0;
	case PATH_NE: return order != 0;
	case PATH_LE: return order <= 0;
	case PATH_GE: return order >= 0;
	case PATH_LT: return order < 0;
	case PATH_GT: return order > 0;
	case PATH_EXISTS: break;
	}
	return true;
}

/* 1 if the filter lets the item pass. */
static int passes(const struct path_node *n, struct slice item, unsigned depth, struct err *err)
{
	struct json_values left = {NULL, 0}, right = {NULL, 0};
	int order = 0, rc = find_list(&n->lists[0], item, &left, depth, err), found = 0;

	if (!rc && left.count && n->op != PATH_EXISTS)
		rc = find_list(&n->lists[1], item, &right, depth, err);
	if (!rc && n->op == PATH_EXISTS)
		found = left.count != 0;
	else if (!rc && (left.count > 1 || right.count > 1))
		rc = err_set(err, ERR_FAILED, "can only compare one value with one in a filter");
	else if (!rc && left.count && right.count) {
		rc = compare_values(left.items[0], right.items[0], &order, err);
		found = holds(n->op, order);
	}
	free(left.items);
	free(right.items);
	return rc ? rc : found;
}

static int find_filtered(const struct path_node *n, struct slice value, struct json_values *to,
	unsigned depth, struct err *err)
{
	struct json_values items = {NULL, 0};
	int rc = value.ptr[0] == '[' ? find_members(value, NULL, &items, err) : 0;

	for (size_t i = 0; i < items.count && rc >= 0; i++) {
		rc = passes(n, items.items[i], depth, err);
		if (rc > 0)
			add_value(to, items.items[i]);
	}
	free(items.items);
	return rc < 0 ? rc : 0;
}

/* ---- lists of nodes ---- */

static int find_node(const struct path_node *n, struct slice value, struct json_values *to, unsigned depth,
	struct err *err)
{
	switch (n->kind) {
	case PATH_VALUE: add_value(to, slice_of(n->text)); break;
	case PATH_FIELD: return find_members(value, n->text, to, err);
	case PATH_SLICE: return find_slice(n, value, to, err);
	case PATH_WILDCARD: return find_members(value, NULL, to, err);
	case PATH_RECURSIVE: return find_below(value, to, depth, err);
	case PATH_FILTER: return find_filtered(n, value, to, depth, err);
	case PATH_LIST: return find_list(&n->lists[0], value, to, depth, err);
	case PATH_UNION:
	case PATH_RANGE: break; /* of find_step() and of print_list() */
	}
	return 0;
}

/* Of all values that were found so far: a text once, a union list by list. */
static int find_step(const struct path_node *n, const struct json_values *now, struct json_values *to,
	unsigned depth, struct err *err)
{
	int rc = 0;

	if (n->kind == PATH_VALUE) {
		add_value(to, slice_of(n->text));
		return 0;
	}
	for (size_t i = 0; n->kind == PATH_UNION && i < n->list_count; i++) {
		for (size_t k = 0; k < now->count && !rc; k++)
			rc = find_list(&n->lists[i], now->items[k], to, depth + 1, err);
	}
	for (size_t k = 0; n->kind != PATH_UNION && k < now->count && !rc; k++)
		rc = find_node(n, now->items[k], to, depth + 1, err);
	return rc;
}

static int find_list(const struct path_list *l, struct slice value, struct json_values *to, unsigned depth,
	struct err *err)
{
	struct json_values now = {NULL, 0}, next;
	int rc = depth > DEPTH_MAX ? err_set(err, ERR_TOO_LARGE, "a path nests too deep") : 0;

	add_value(&now, value);
	for (size_t i = 0; i < l->count && !rc; i++) {
		next = (struct json_values){NULL, 0};
		rc = find_step(&l->items[i], &now, &next, depth, err);
		free(now.items);
		now = next;
	}
	for (size_t i = 0; i < now.count && !rc; i++)
		add_value(to, now.items[i]);
	free(now.items);
	return rc;
}

/* A template may print the document as it stands, which then has to be something. */
static int trim_document(struct slice *document, struct err *err)
{
	*document = json_trim(*document);
	return document->len ? 0 : err_set(err, ERR_PROTOCOL, "the document is empty, expected JSON");
}

int json_path_find(const struct json_path *p, struct slice document, struct json_values *ret, struct err *err)
{
	int rc = trim_document(&document, err);

	*ret = (struct json_values){NULL, 0};
	return rc ? rc : find_list(&p->root, document, ret, 0, err);
}

/* ---- printing ---- */

static int print_values(const struct json_values *v, struct buf *to, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < v->count && !rc; i++) {
		struct slice value = v->items[i];
		bool is_whole = value.ptr[0] == '{' || value.ptr[0] == '[';

		rc = buf_append(to, " ", i != 0, err);
		if (!rc)
			rc = is_whole ? go_json_put(value, 0, 0, to, err) : go_text_put(value, to, err);
	}
	return rc;
}

static int print_list(
	const struct path_list *l, struct slice value, struct buf *to, unsigned depth, struct err *err)
{
	int rc = depth > DEPTH_MAX ? err_set(err, ERR_TOO_LARGE, "ranges nest too deep") : 0;

	for (size_t i = 0; i < l->count && !rc; i++) {
		const struct path_node *n = &l->items[i];
		struct json_values found = {NULL, 0};
		bool is_range = n->kind == PATH_RANGE;

		rc = is_range ? find_list(&n->lists[0], value, &found, 0, err)
			      : find_node(n, value, &found, 0, err);
		if (!rc && !is_range)
			rc = print_values(&found, to, err);
		for (size_t k = 0; is_range && k < found.count && !rc; k++)
			rc = print_list(&n->lists[1], found.items[k], to, depth + 1, err);
		free(found.items);
	}
	return rc;
}

int json_path_print(const struct json_path *p, struct slice document, struct buf *to, struct err *err)
{
	int rc = trim_document(&document, err);

	return rc ? rc : print_list(&p->root, document, to, 0, err);
}

void path_list_release(struct path_list *l)
{
	for (size_t i = 0; i < l->count; i++) {
		for (size_t k = 0; k < l->items[i].list_count; k++)
			path_list_release(&l->items[i].lists[k]);
		free(l->items[i].lists);
		free(l->items[i].text);
	}
	free(l->items);
	*l = (struct path_list){NULL, 0};
}

void json_path_free(struct json_path *p)
{
	if (!p)
		return;
	path_list_release(&p->root);
	free(p);
}
