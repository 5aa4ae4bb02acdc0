/* registry.c: see registry.h. */
#include "schema/tape/registry.h"

#include "schema/tape/segment.h"

#include <stdlib.h>

void registry_release(struct registry *r)
{
	for (size_t i = 0; i < r->resource_count; i++) {
		free(r->resources[i].apigroup);
		free(r->resources[i].version);
		free(r->resources[i].resource);
		free(r->resources[i].kind);
	}
	for (size_t i = 0; i < r->stream_count; i++) {
		free(r->streams[i].namespace);
		free(r->streams[i].label_selector);
		free(r->streams[i].field_selector);
	}
	for (size_t i = 0; i < r->key_count; i++)
		free(r->keys[i]);
	free(r->keys);
	text_map_release(&r->resource_ids);
	text_map_release(&r->stream_ids);
	free(r->resources);
	free(r->streams);
	*r = (struct registry){0};
}

/* ---- by identity ---- */

/* Lengths stand before the names, which may hold anything. The caller frees. */
static char *resource_key(const struct tape_resource *r)
{
	return xasprintf("%zu %zu %s%s%s", strlen(r->apigroup), strlen(r->version), r->apigroup, r->version,
		r->resource);
}

static char *stream_key(const struct tape_stream *s)
{
	return xasprintf("%u %zu %zu %s%s%s", s->resource, strlen(s->namespace), strlen(s->label_selector),
		s->namespace, s->label_selector, s->field_selector);
}

/* Frees the key. */
static uint32_t registry_find(const struct text_map *ids, char *key)
{
	void *found = text_map_get(ids, key);

	free(key);
	return found ? (uint32_t)text_map_position_of(found) : 0;
}

/* Takes the key over. */
static void registry_note(struct registry *r, struct text_map *ids, char *key, uint32_t id)
{
	if (text_map_get(ids, key)) {
		free(key);
		return;
	}
	r->keys = xgrow(r->keys, r->key_count, sizeof(*r->keys));
	r->keys[r->key_count++] = key;
	text_map_put(ids, key, text_map_position(id));
}

uint32_t registry_find_resource(const struct registry *r, const struct tape_resource *resource)
{
	return registry_find(&r->resource_ids, resource_key(resource));
}

uint32_t registry_find_stream(const struct registry *r, const struct tape_stream *stream)
{
	return registry_find(&r->stream_ids, stream_key(stream));
}

uint32_t registry_add_resource(struct registry *r, const struct tape_resource *resource)
{
	uint32_t id = (uint32_t)r->resource_count + 1;

	r->resources = xgrow(r->resources, r->resource_count, sizeof(*r->resources));
	r->resources[r->resource_count++] = (struct tape_resource){
		.id = id,
		.apigroup = xstrdup(resource->apigroup),
		.version = xstrdup(resource->version),
		.resource = xstrdup(resource->resource),
		.kind = xstrdup(resource->kind),
		.namespaced = resource->namespaced,
	};
	registry_note(r, &r->resource_ids, resource_key(resource), id);
	return id;
}

uint32_t registry_add_stream(struct registry *r, const struct tape_stream *stream)
{
	uint32_t id = (uint32_t)r->stream_count + 1;

	r->streams = xgrow(r->streams, r->stream_count, sizeof(*r->streams));
	r->streams[r->stream_count++] = (struct tape_stream){
		.id = id,
		.resource = stream->resource,
		.namespace = xstrdup(stream->namespace),
		.label_selector = xstrdup(stream->label_selector),
		.field_selector = xstrdup(stream->field_selector),
	};
	registry_note(r, &r->stream_ids, stream_key(stream), id);
	return id;
}

/* ---- by id ---- */

const struct tape_stream *registry_stream(const struct registry *r, uint32_t id)
{
	return id && id <= r->stream_count ? &r->streams[id - 1] : NULL;
}

const struct tape_resource *registry_resource(const struct registry *r, uint32_t id)
{
	return id && id <= r->resource_count ? &r->resources[id - 1] : NULL;
}

/* Never NULL, as SQLite gives for a NULL column. */
static char *text_of(sqlite3_stmt *statement, int column)
{
	const unsigned char *text = sqlite3_column_text(statement, column);

	return (char *)(uintptr_t)(text ? text : (const unsigned char *)"");
}

static int load_rows(struct registry *r, sqlite3 *db, const char *sql,
	int (*take)(struct registry *, sqlite3_stmt *), struct err *err)
{
	sqlite3_stmt *statement;
	int step = SQLITE_DONE, rc = segment_prepare(db, sql, &statement, err);

	if (rc)
		return rc;
	while (!rc && (step = sqlite3_step(statement)) == SQLITE_ROW) {
		if (take(r, statement))
			rc = err_set(err, ERR_CORRUPT,
				"'%s': id %lld of a resource or stream is out of order",
				sqlite3_db_filename(db, "main"),
				(long long)sqlite3_column_int64(statement, 0));
	}
	if (!rc && step != SQLITE_DONE)
		rc = segment_failed(db, err, "cannot read '%s'", sqlite3_db_filename(db, "main"));
	sqlite3_finalize(statement);
	return rc;
}

static int take_resource(struct registry *r, sqlite3_stmt *statement)
{
	struct tape_resource resource = {
		.apigroup = text_of(statement, 1),
		.version = text_of(statement, 2),
		.resource = text_of(statement, 3),
		.kind = text_of(statement, 4),
		.namespaced = sqlite3_column_int(statement, 5) != 0,
	};
	int64_t id = sqlite3_column_int64(statement, 0);

	if (id >= 1 && id <= (int64_t)r->resource_count)
		return 0;
	return registry_add_resource(r, &resource) == id ? 0 : -1;
}

static int take_stream(struct registry *r, sqlite3_stmt *statement)
{
	struct tape_stream stream = {
		.resource = (uint32_t)sqlite3_column_int64(statement, 1),
		.namespace = text_of(statement, 2),
		.label_selector = text_of(statement, 3),
		.field_selector = text_of(statement, 4),
	};
	int64_t id = sqlite3_column_int64(statement, 0);

	if (!registry_resource(r, stream.resource))
		return -1;
	if (id >= 1 && id <= (int64_t)r->stream_count)
		return 0;
	return registry_add_stream(r, &stream) == id ? 0 : -1;
}

int registry_load(struct registry *r, sqlite3 *db, struct err *err)
{
	int rc = load_rows(r, db,
		"SELECT id, apigroup, version, resource, kind, namespaced FROM resource ORDER BY id",
		take_resource, err);

	if (rc)
		return rc;
	return load_rows(r, db,
		"SELECT id, resource, namespace, label_selector, field_selector FROM stream ORDER BY id",
		take_stream, err);
}
