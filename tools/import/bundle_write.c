/* bundle_write.c: from what was read of a bundle to the tape. See bundle_internal.h. */
#include "schema/base/clock.h"
#include "tools/import/bundle_internal.h"

#include <stdlib.h>

static char none[1];

/* ---- order ---- */

/* By time; at one time by resource, namespace and name, and one object's versions as they came. */
struct place {
	const struct bundle_version *version;
	const struct bundle_scope *scope;
};

static int compare_places(const void *left, const void *right)
{
	const struct place *a = left, *b = right;
	int by_text;

	if (a->version->time_ns != b->version->time_ns)
		return a->version->time_ns < b->version->time_ns ? -1 : 1;
	if (a->scope->resource != b->scope->resource)
		return a->scope->resource < b->scope->resource ? -1 : 1;
	by_text = strcmp(a->scope->namespace, b->scope->namespace);
	if (by_text == 0)
		by_text = strcmp(a->version->name, b->version->name);
	if (by_text)
		return by_text;
	return (a->version->order > b->version->order) - (a->version->order < b->version->order);
}

static struct place *places_of(const struct bundle *b)
{
	struct place *places = xcalloc(b->version_count + 1, sizeof(*places));

	for (size_t i = 0; i < b->version_count; i++)
		places[i] = (struct place){&b->versions[i], &b->scopes[b->versions[i].scope]};
	qsort(places, b->version_count, sizeof(*places), compare_places);
	return places;
}

/* ---- times ---- */

static int64_t newest_in_objects(const struct bundle *b)
{
	int64_t newest_ns = 0;

	for (size_t i = 0; i < b->version_count; i++) {
		int64_t ns = import_time_in(slice_of(b->versions[i].json));

		newest_ns = ns > newest_ns ? ns : newest_ns;
	}
	return newest_ns;
}

/* Where the moment comes from, in words. */
static const char *find_moment(struct bundle *b)
{
	if (b->importer->clock) {
		b->moment_ns = clock_wall_ns(b->importer->clock);
		return "time of reading";
	}
	if (b->moment_ns)
		return "its own moment";
	b->moment_ns = b->newest_file_ns;
	if (b->moment_ns)
		return "the moment of its newest file";
	b->moment_ns = newest_in_objects(b);
	return "the moment of its newest object";
}

static void give_times(struct bundle *b)
{
	for (size_t i = 0; i < b->version_count; i++) {
		struct bundle_version *v = &b->versions[i];

		if (b->options->times_of_objects)
			v->time_ns = import_time_in(slice_of(v->json));
		else if (v->time_ns == 0 || b->importer->clock)
			v->time_ns = b->moment_ns;
	}
}

/* ---- streams ---- */

static int make_stream(struct bundle *b, struct bundle_scope *s, struct err *err)
{
	const struct bundle_resource *r = &b->resources[s->resource];
	struct slice version = slice_of(r->api_version), group = slice_cut(&version, '/');
	struct tape_stream stream = {
		.namespace = s->namespace, .label_selector = none, .field_selector = none};
	struct tape_resource resource = {.resource = r->plural, .kind = r->kind, .namespaced = r->namespaced};
	int rc;

	resource.apigroup = version.ptr ? slice_dup(group) : xstrdup("");
	resource.version = slice_dup(version.ptr ? version : group);
	rc = import_make_stream(b->importer, &resource, &stream, &s->stream, err);
	free(resource.apigroup);
	free(resource.version);
	return rc;
}

/* Lists without items are those of the resource that has the same name. */
static void place_empties(struct bundle *b)
{
	struct text_map by_name = {0};
	char **names = xcalloc(b->resource_count + 1, sizeof(*names));

	for (size_t i = b->resource_count; i-- > 0;) {
		struct slice version = slice_of(b->resources[i].api_version),
			     group = slice_cut(&version, '/');

		names[i] = xasprintf(
			"%s.%.*s", b->resources[i].plural, version.ptr ? (int)group.len : 0, group.ptr);
		text_map_put(&by_name, names[i], text_map_position(i));
	}
	for (size_t i = 0; i < b->empty_count; i++) {
		const struct bundle_empty *e = &b->empties[i];
		char *name = xasprintf("%s.%s", e->plural, e->group);
		size_t at = text_map_position_of(text_map_get(&by_name, name));

		free(name);
		if (at >= b->resource_count)
			continue;
		at = bundle_scope(b, at, slice_of(e->namespace));
		b->scopes[at].is_listed = true;
	}
	text_map_release(&by_name);
	for (size_t i = 0; i < b->resource_count; i++)
		free(names[i]);
	free(names);
}

/* ---- rows ---- */

static int write_documents(struct bundle *b, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < b->document_count && rc == 0; i++) {
		const struct bundle_document *d = &b->documents[i];
		struct tape_document row = {.time_ns = b->moment_ns,
			.path = d->path,
			.variant = d->variant,
			.http_status = 200,
			.content_type = "application/json",
			.etag = none,
			.body = slice_of(d->body)};

		b->importer->counts.rows++;
		rc = tape_writer_document(b->importer->writer, &row, err);
	}
	return rc;
}

static int write_events(struct bundle *b, const struct place *places, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < b->version_count && rc == 0; i++) {
		const struct bundle_version *v = places[i].version;
		struct event e = {.stream = places[i].scope->stream,
			.time_ns = v->time_ns,
			.type = v->type,
			.origin = v->is_watched ? ORIGIN_WATCH : ORIGIN_LIST};

		rc = import_append(b->importer, &e, slice_of(v->json), &b->importer->last_seq, err);
		b->importer->counts.events += rc == 0;
		if (rc == 0 && tape_writer_is_full(b->importer->writer))
			rc = tape_writer_flush(b->importer->writer, err);
	}
	return rc;
}

static int write_mark(struct bundle *b, const struct bundle_scope *s, int64_t end_ns, struct err *err)
{
	struct tape_mark mark = {.kind = MARK_LIST,
		.stream = s->stream,
		.time_ns = end_ns,
		.rv = s->rv ? slice_of(s->rv) : (struct slice){none, 0},
		.connection = b->importer->connection.id};

	b->importer->counts.marks++;
	return tape_writer_mark(b->importer->writer, &mark, err);
}

/* From the first moment after the bundle's on. */
static int write_gap(
	struct bundle *b, const struct bundle_scope *s, const char *reason, int64_t end_ns, struct err *err)
{
	struct tape_gap gap = {.stream = s->stream,
		.begin_seq = b->importer->last_seq,
		.begin_ns = end_ns + 1,
		.duration_ns = -1,
		.from_rv = s->rv ? s->rv : none,
		.to_rv = none,
		.reason = reason,
		.how_ended = "open",
		.connection_before = b->importer->connection.id};

	b->importer->counts.rows++;
	return tape_writer_gap(b->importer->writer, &gap, err);
}

/* Of no stream: a replay begins with the objects, although none of the lists is known to be whole. */
static int write_whole(struct bundle *b, int64_t end_ns, struct err *err)
{
	const struct bundle_scope of_none = {.stream = 0};

	for (size_t i = 0; i < b->scope_count; i++) {
		if (b->scopes[i].is_listed)
			return 0;
	}
	return b->patches_count ? 0 : write_mark(b, &of_none, end_ns, err);
}

static int write_scopes(struct bundle *b, int64_t end_ns, struct err *err)
{
	const char *reason = b->patches_count ? "client_stop" : "snapshot";
	int rc = write_whole(b, end_ns, err);

	for (size_t i = 0; i < b->scope_count && rc == 0; i++) {
		if (b->scopes[i].is_listed)
			rc = write_mark(b, &b->scopes[i], end_ns, err);
		if (rc == 0)
			rc = write_gap(b, &b->scopes[i], reason, end_ns, err);
	}
	return rc;
}

/* What the input is and lacks, in one line of the tape. */
static int begin_connection(struct bundle *b, const char *moment, struct err *err)
{
	struct importer *m = b->importer;

	free(m->lacks);
	m->lacks = xasprintf("%s: %s, %s, %s", bundle_form_name(b->form),
		b->patches_count ? "a recording without its gaps" : "a snapshot, nothing was watched",
		b->options->times_of_objects ? "times taken from the objects" : moment,
		b->document_count ? "discovery"
				  : "no discovery: names of resources from paths and definitions");
	return import_begin_connection(m, m->lacks, err);
}

int bundle_write(struct bundle *b, struct err *err)
{
	const char *moment = find_moment(b);
	struct place *places;
	int64_t end_ns = b->moment_ns;
	int rc = 0;

	bundle_name_resources(b);
	place_empties(b);
	give_times(b);
	places = places_of(b);
	if (b->version_count && places[b->version_count - 1].version->time_ns > end_ns)
		end_ns = places[b->version_count - 1].version->time_ns;
	for (size_t i = 0; i < b->scope_count && rc == 0; i++)
		rc = make_stream(b, &b->scopes[i], err);
	if (!rc && !(rc = begin_connection(b, moment, err)) && !(rc = write_documents(b, err)) &&
		!(rc = write_events(b, places, err)))
		rc = write_scopes(b, end_ns, err);
	free(places);
	return rc;
}
