/*
 * bundle_history.c: what happened to the objects of a recording of crust-gather. Beside an object's file lies one of
 * JSON patches, one a line, each from the object as it was to what the recorder was told next. An annotation that the
 * recorder puts in tells when, and of what: crust-gather.io/added, /updated or /deleted. An object that is made
 * again goes on in the same file.
 */
#include "replayer/json/json_tree.h"
#include "replayer/write/patch_json.h"
#include "schema/base/count_of.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"
#include "tools/import/bundle_internal.h"

#include <stdlib.h>

/* One object as its patches are played. */
struct history {
	struct bundle *bundle;
	cJSON *tree;
	struct bundle_version at; /* scope, time and whether it is live, of what it was last */
	char *uid, *rv;
	struct buf json;
};

bool bundle_annotated(struct slice object, enum event_type *ret_type, int64_t *ret_ns)
{
	static const struct {
		const char *path;
		enum event_type type;
	} rows[] = {{"metadata.annotations['crust-gather.io/added']", EVENT_ADDED},
		{"metadata.annotations['crust-gather.io/updated']", EVENT_MODIFIED},
		{"metadata.annotations['crust-gather.io/deleted']", EVENT_DELETED}};
	bool found = false;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct slice value;
		int64_t ns;

		if (json_get(object, rows[i].path, &value, NULL) <= 0 || !bundle_time(value, &ns) ||
			(found && ns < *ret_ns))
			continue;
		*ret_type = rows[i].type;
		*ret_ns = ns;
		found = true;
	}
	return found;
}

static void remember(struct history *h, const struct object_meta *meta)
{
	free(h->uid);
	free(h->rv);
	h->uid = slice_dup(meta->uid);
	h->rv = slice_dup(meta->rv);
}

/* A watch that begins again tells of everything again. */
static bool says_nothing_new(const struct history *h, enum event_type type, const struct object_meta *meta)
{
	return h->at.type != EVENT_DELETED && type != EVENT_DELETED && slice_is(meta->uid, h->uid) &&
	       slice_is(meta->rv, h->rv);
}

static enum event_type type_of(const struct history *h, enum event_type said, const struct object_meta *meta)
{
	bool is_new = h->at.type == EVENT_DELETED || !slice_is(meta->uid, h->uid);

	if (said == EVENT_DELETED)
		return said;
	return is_new ? EVENT_ADDED : EVENT_MODIFIED;
}

static int note_version(struct history *h, struct err *err)
{
	enum event_type said = EVENT_MODIFIED;
	struct object_meta meta;
	int rc;

	buf_clear(&h->json);
	rc = json_tree_print(h->tree, &h->json, err);
	if (!rc)
		rc = json_scan_object(buf_slice(&h->json), &meta, err);
	if (!rc && (!meta.kind.len || !meta.name.len))
		rc = err_set(err, ERR_PROTOCOL, "what it makes of the object is none");
	if (rc)
		return rc;
	(void)bundle_annotated(buf_slice(&h->json), &said, &h->at.time_ns);
	if (says_nothing_new(h, said, &meta))
		return 0;
	h->at.type = type_of(h, said, &meta);
	h->at.is_watched = true;
	remember(h, &meta);
	return bundle_add_version(h->bundle, &h->at, buf_slice(&h->json), &meta, err);
}

static int play_line(struct history *h, struct slice line, struct err *err)
{
	cJSON *patch = NULL;
	int rc = json_tree_parse(line, &patch, err);

	if (!rc)
		rc = patch_json(&h->tree, patch, err);
	if (!rc)
		rc = note_version(h, err);
	cJSON_Delete(patch);
	return rc;
}

/* After a line that does not fit nothing is known of the object any more. */
static int play_lines(struct history *h, const struct bundle_patches *p, struct err *err)
{
	struct slice rest = buf_slice(&p->lines);

	for (size_t number = 1; rest.ptr && rest.len; number++) {
		struct slice line = slice_cut(&rest, '\n');
		struct err why = {0};

		if (line.len == 0 || play_line(h, line, &why) == 0)
			continue;
		if (h->bundle->is_full)
			return err_copy(err, &why);
		bundle_leave_out(h->bundle, p->path, number, &why);
		break;
	}
	return 0;
}

static const struct bundle_version *base_of(struct bundle *b, const char *path)
{
	char *stem = xstrdup(path), *dot = strrchr(stem, '.');
	size_t at;

	if (dot)
		*dot = 0;
	at = text_map_position_of(text_map_get(&b->versions_by_path, stem));
	free(stem);
	return at < b->version_count ? &b->versions[at] : NULL;
}

static int play_file(struct bundle *b, const struct bundle_patches *p, struct err *err)
{
	const struct bundle_version *base = base_of(b, p->path);
	struct history h = {.bundle = b};
	struct err why = {0};
	int rc;

	if (!base) {
		err_set(&why, ERR_PROTOCOL, "the object that it changes is not there");
		bundle_leave_out(b, p->path, 0, &why);
		return 0;
	}
	h.at = *base;
	h.uid = xstrdup(base->uid);
	h.rv = xstrdup(base->rv);
	buf_init(&h.json, LIMIT_OBJECT_BYTES);
	rc = json_tree_parse(slice_of(base->json), &h.tree, &why);
	if (rc)
		bundle_leave_out(b, p->path, 0, &why);
	rc = rc ? 0 : play_lines(&h, p, err);
	cJSON_Delete(h.tree);
	buf_release(&h.json);
	free(h.uid);
	free(h.rv);
	return rc;
}

int bundle_play_patches(struct bundle *b, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < b->patches_count && rc == 0; i++)
		rc = play_file(b, &b->patches[i], err);
	return rc;
}
