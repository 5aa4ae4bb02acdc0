/* bundle_read.c: from the bytes of a bundle's file to what it holds. See bundle_internal.h. */
#include "replayer/json/yaml_json.h"
#include "schema/base/json_compact.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"
#include "tools/import/bundle_internal.h"

#include <stdlib.h>

#define SUFFIX_LEN (sizeof("List") - 1)

void bundle_leave_out(struct bundle *b, const char *path, size_t line, const struct err *why)
{
	struct err told = *why;

	if (line)
		err_prefix(&told, why->code, "'%s' of '%s', line %zu", path, b->name, line);
	else
		err_prefix(&told, why->code, "'%s' of '%s'", path, b->name);
	b->importer->counts.left_out++;
	b->options->complain(b->options->context, &told);
}

/* ---- YAML and JSON ---- */

static size_t line_of(struct slice text, size_t at)
{
	size_t line = 1;

	for (size_t i = 0; i < at && i < text.len; i++)
		line += text.ptr[i] == '\n';
	return line;
}

/* Without white space, as a server writes it, into b->json. */
static int take_json(struct bundle *b, size_t *ret_line, struct err *err)
{
	struct slice text = buf_slice(&b->file);
	const char *expected = NULL;
	size_t at = 0;

	if (json_check(text, &at, &expected)) {
		*ret_line = line_of(text, at);
		return err_set(err, ERR_PROTOCOL, "bad JSON: expected %s", expected);
	}
	return json_compact(text, &b->json, err);
}

static int take_yaml(struct bundle *b, size_t *ret_line, struct err *err)
{
	char *text = NULL;
	int rc = yaml_to_json_line(buf_slice(&b->file), &text, ret_line, err);

	if (!rc)
		rc = json_compact(slice_of(text), &b->json, err);
	free(text);
	return rc;
}

/* ---- objects ---- */

/* Older releases of Troubleshoot left the kind of some lists out, and of their items as well. */
static bool lacks_kind(const struct bundle *b, const struct list_page *list)
{
	return b->form == BUNDLE_SUPPORT_BUNDLE && !list->kind.len && !list->api_version.len;
}

static bool is_list(const struct bundle *b, struct slice json)
{
	struct list_page list;
	struct slice items;

	if (json.ptr[0] != '{' || json_scan_list(json, &list, NULL) ||
		json_get(json, "items", &items, NULL) <= 0)
		return false;
	if (lacks_kind(b, &list))
		return true;
	return list.kind.len >= SUFFIX_LEN &&
	       memcmp(list.kind.ptr + list.kind.len - SUFFIX_LEN, "List", SUFFIX_LEN) == 0;
}

/* What is listed although nothing is there: the kind is that of others in the same folder, if there are any. */
static void add_empty(struct bundle *b, const struct bundle_part *part)
{
	if (!part->plural.len)
		return;
	b->empties = xgrow(b->empties, b->empty_count, sizeof(*b->empties));
	b->empties[b->empty_count++] = (struct bundle_empty){.group = slice_dup(part->group),
		.plural = slice_dup(part->plural),
		.namespace = slice_dup(part->namespace)};
}

/* The list is whole for the resource in the namespace of its folder, or in the cluster. */
static void note_list(struct bundle *b, const struct bundle_part *part, size_t resource, struct slice rv)
{
	struct bundle_resource *r = &b->resources[resource];
	size_t scope = bundle_scope(b, resource, part->namespace);
	struct bundle_scope *s = &b->scopes[scope];

	if (!r->plural && part->plural.len)
		r->plural = slice_dup(part->plural);
	s->is_listed = true;
	free(s->rv);
	s->rv = slice_dup(rv);
}

/* How the items of a list went in. */
struct taken {
	size_t resource; /* of the first */
	size_t count;
	bool is_mixed;
};

static int take_item(struct bundle *b, const struct bundle_part *part, const struct list_page *list,
	struct slice item, struct taken *t, struct err *err)
{
	size_t resource = 0;
	struct buf typed;
	unsigned flags;
	int rc = 0;

	buf_init(&typed, LIMIT_OBJECT_BYTES);
	if (list && list->kind.len > SUFFIX_LEN && item.ptr[0] == '{')
		rc = import_typed_item(list, item, &typed, &flags, err);
	else if (item.ptr[0] == '{')
		rc = buf_append(&typed, item.ptr, item.len, err);
	if (!rc && typed.len)
		rc = bundle_add_object(b, part, buf_slice(&typed), &resource, err);
	b->importer->counts.left_out += rc == 0;
	if (rc > 0) {
		t->is_mixed |= t->count && t->resource != resource;
		t->resource = resource;
		t->count++;
	}
	buf_release(&typed);
	return rc < 0 ? rc : 0;
}

static int take_items(struct bundle *b, const struct bundle_part *part, const struct list_page *list,
	struct slice items, struct taken *t, struct err *err)
{
	struct json_iter it;
	struct slice item;
	int more, rc;

	if (items.len == 0)
		return 0;
	rc = json_iter_begin(items, &it, err);
	while (rc == 0 && (more = json_iter_next(&it, NULL, &item, err)) != 0)
		rc = more < 0 ? more : take_item(b, part, list, item, t, err);
	return rc;
}

static int take_page(
	struct bundle *b, const struct bundle_part *part, const struct list_page *list, struct err *err)
{
	struct slice kind = {list->kind.ptr, list->kind.len - SUFFIX_LEN};
	struct taken t = {0};
	int rc = take_items(b, part, list, list->items, &t, err);

	if (rc || t.is_mixed)
		return rc;
	if (t.count)
		note_list(b, part, t.resource, list->rv);
	else if (kind.len && list->api_version.len)
		note_list(b, part, bundle_resource(b, list->api_version, kind), list->rv);
	else
		add_empty(b, part);
	return 0;
}

static int take_list(struct bundle *b, const struct bundle_part *part, struct slice json, struct err *err)
{
	char *api_version = NULL, *kind = NULL;
	struct list_page list;
	int rc = json_scan_list(json, &list, err);

	if (rc)
		return rc;
	if (lacks_kind(b, &list)) {
		if (!bundle_list_of_folder(part->folder, &api_version, &kind))
			return err_set(err, ERR_PROTOCOL, "the list does not say of what");
		list.api_version = slice_of(api_version);
		list.kind = slice_of(kind);
	}
	rc = take_page(b, part, &list, err);
	free(api_version);
	free(kind);
	return rc;
}

/* A bare array of objects. */
static int take_array(struct bundle *b, const struct bundle_part *part, struct slice json, struct err *err)
{
	struct taken t = {0};
	int rc = take_items(b, part, NULL, json, &t, err);

	if (rc == 0 && t.count == 0)
		add_empty(b, part);
	else if (rc == 0 && !t.is_mixed && part->plural.len)
		note_list(b, part, t.resource, (struct slice){"", 0});
	return rc;
}

/* Objects of a recording are found by their files again, for what happened to them. */
static void note_path(struct bundle *b, const char *path)
{
	char *stem = xstrdup(path);
	char *dot = strrchr(stem, '.');

	if (b->form != BUNDLE_CRUST_GATHER || !dot || !b->version_count) {
		free(stem);
		return;
	}
	*dot = 0;
	b->paths = xgrow(b->paths, b->path_count, sizeof(*b->paths));
	b->paths[b->path_count++] = stem;
	text_map_put(&b->versions_by_path, stem, text_map_position(b->version_count - 1));
}

static int take_objects(struct bundle *b, const struct bundle_part *part, const char *path, struct slice json,
	struct err *err)
{
	size_t resource, before = b->version_count;
	int rc;

	if (json.len && json.ptr[0] == '[')
		return take_array(b, part, json, err);
	if (json.len && is_list(b, json))
		return take_list(b, part, json, err);
	rc = json.len ? bundle_add_object(b, part, json, &resource, err) : 0;
	if (rc == 0)
		return err_set(err, ERR_PROTOCOL, "it is neither an object nor a list");
	if (b->version_count > before)
		note_path(b, path);
	return rc < 0 ? rc : 0;
}

/* ---- files ---- */

static int take_patches(struct bundle *b, const char *path, struct err *err)
{
	struct bundle_patches *p;
	int rc = bundle_take_room(b, b->file.len, err);

	if (rc)
		return rc;
	b->patches = xgrow(b->patches, b->patches_count, sizeof(*b->patches));
	p = &b->patches[b->patches_count++];
	*p = (struct bundle_patches){.path = xstrdup(path), .lines = b->file};
	buf_init(&b->file, LIMIT_BUNDLE_FILE_BYTES);
	return 0;
}

/* The last line that is a time: the first one may be that of the beginning. */
static void take_moment(struct bundle *b)
{
	struct slice rest = buf_slice(&b->file);
	int64_t ns;

	while (rest.ptr && rest.len) {
		if (bundle_time(slice_cut(&rest, '\n'), &ns) && ns > b->moment_ns)
			b->moment_ns = ns;
	}
}

static int take_part(
	struct bundle *b, const struct bundle_part *part, const char *path, size_t *ret_line, struct err *err)
{
	int rc;

	if (part->kind == PART_MOMENT) {
		take_moment(b);
		return 0;
	}
	if (part->kind == PART_PATCHES)
		return take_patches(b, path, err);
	rc = part->is_yaml ? take_yaml(b, ret_line, err) : take_json(b, ret_line, err);
	if (rc)
		return rc;
	return part->kind == PART_OBJECTS ? take_objects(b, part, path, buf_slice(&b->json), err)
					  : bundle_take_discovery(b, part, buf_slice(&b->json), err);
}

int bundle_read_file(
	struct bundle *b, const struct bundle_part *part, const char *path, int64_t time_ns, struct err *err)
{
	struct err why = {0};
	size_t line = 0;
	int rc;

	buf_clear(&b->json);
	/* A tar whose sizes are one too large has a NUL after each file. */
	b->file.len -= b->file.len && b->file.ptr[b->file.len - 1] == 0;
	rc = take_part(b, part, path, &line, &why);
	if (b->is_full)
		return err_copy(err, &why);
	if (rc)
		bundle_leave_out(b, path, line, &why);
	else if (part->kind == PART_OBJECTS && time_ns > b->newest_file_ns)
		b->newest_file_ns = time_ns;
	return 0;
}
