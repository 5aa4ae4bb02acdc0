/* remake_documents.c: the documents of a stretch, and those that held where it begins. */
#include "schema/base/limits.h"
#include "schema/tape/codec.h"
#include "schema/tape/pod_log.h"
#include "schema/tape/remake_internal.h"

#include <stdlib.h>

/* They are packed with each other when their segment is sealed. */
#define DOCUMENT_LEVEL 1

static bool is_same(const struct tape_document *a, const struct tape_document *b)
{
	return strcmp(a->path, b->path) == 0 && strcmp(a->variant, b->variant) == 0;
}

static struct tape_document own_document(const struct tape_document *d)
{
	struct tape_document own = *d;

	own.path = xstrdup(d->path);
	own.variant = xstrdup(d->variant);
	own.content_type = xstrdup(d->content_type);
	own.etag = xstrdup(d->etag);
	return own;
}

static void release_document(struct tape_document *d)
{
	free((char *)(uintptr_t)d->path);
	free((char *)(uintptr_t)d->variant);
	free((char *)(uintptr_t)d->content_type);
	free((char *)(uintptr_t)d->etag);
}

static void add_document(struct remake *r, const struct tape_document *d, bool begins)
{
	r->documents = xgrow(r->documents, r->document_count, sizeof(*r->documents));
	r->documents[r->document_count++] =
		(struct kept_document){.document = own_document(d), .begins = begins};
}

static bool has_namespace(const struct remake *r, struct slice namespace)
{
	for (size_t i = 0; i < r->o->namespace_count; i++) {
		if (slice_is(namespace, r->o->namespaces[i]))
			return true;
	}
	return r->o->namespace_count == 0;
}

static bool has_pods(const struct remake *r)
{
	for (size_t i = 0; i < r->o->resource_count; i++) {
		const struct tape_resource *resource = tape_resource_by_id(r->from, r->o->resources[i]);

		if (resource && !*resource->apigroup && strcmp(resource->resource, "pods") == 0)
			return true;
	}
	return r->o->resource_count == 0;
}

/* A log is about a moment, and about a pod that has to be on the new tape. */
static bool is_kept(const struct remake *r, const struct tape_document *d, bool begins)
{
	struct pod_log log;

	if (!pod_log_parse(d, &log))
		return true;
	return !begins && !r->o->hooks.wants && !r->o->hooks.wants_object && has_pods(r) &&
	       has_namespace(r, log.namespace);
}

static int take_document(void *context, const struct tape_document *d)
{
	struct remake *r = context;
	bool begins = remake_passed(r->o->from, d->after_seq, d->time_ns);

	if (r->o->until && !remake_passed(r->o->until, d->after_seq, d->time_ns))
		return 0;
	if (is_kept(r, d, begins))
		add_document(r, d, begins);
	return 0;
}

/* By path and variant, the newest last. */
static int compare_documents(const void *left, const void *right)
{
	const struct kept_document *a = *(struct kept_document *const *)left,
				   *b = *(struct kept_document *const *)right;
	int c = strcmp(a->document.path, b->document.path);

	c = c ? c : strcmp(a->document.variant, b->document.variant);
	return c ? c : (a > b) - (a < b);
}

/* Of those from before the stretch only the last one of its path and variant holds. */
static void choose_newest(struct remake *r)
{
	struct kept_document **sorted = xcalloc(r->document_count + 1, sizeof(struct kept_document *));

	for (size_t i = 0; i < r->document_count; i++)
		sorted[i] = &r->documents[i];
	if (r->document_count)
		qsort(sorted, r->document_count, sizeof(struct kept_document *), compare_documents);
	for (size_t i = 0; i + 1 < r->document_count; i++) {
		const struct kept_document *next = sorted[i + 1];

		if (next->begins && is_same(&sorted[i]->document, &next->document))
			sorted[i]->replaced = true;
	}
	free(sorted);
}

int remake_choose_documents(struct remake *r, struct err *err)
{
	int rc = tape_each_document(r->from, take_document, r, err);

	choose_newest(r);
	return rc;
}

void remake_documents_release(struct remake *r)
{
	for (size_t i = 0; i < r->document_count; i++)
		release_document(&r->documents[i].document);
	free(r->documents);
}

static int queue_document(struct remake *r, const struct tape_document *d, struct slice body,
	uint64_t after_seq, struct err *err)
{
	struct buf packed;
	int rc;

	buf_init(&packed, LIMIT_CHUNK_BYTES);
	rc = codec_pack(body, DOCUMENT_LEVEL, &packed, err);
	if (!rc)
		row_queue_add(r->w->rows, TABLE_DOCUMENT,
			(struct value[]){value_integer(++r->w->ids[TABLE_DOCUMENT]),
				value_integer((int64_t)after_seq), value_integer(d->time_ns),
				value_text(d->path), value_text(d->variant), value_integer(d->http_status),
				value_text(d->content_type), value_text(d->etag),
				value_integer((int64_t)body.len),
				value_integer((int64_t)codec_hash(buf_slice(&packed))),
				value_blob(buf_slice(&packed))});
	buf_release(&packed);
	return rc ? rc : tape_writer_flush(r->w, err);
}

static int put_document(struct remake *r, const struct kept_document *kept, struct err *err)
{
	const struct remake_hooks *h = &r->o->hooks;
	struct tape_document d = kept->document;
	uint64_t seq = kept->begins ? r->first_seq - 1 : d.after_seq;
	struct buf body;
	int rc;

	buf_init(&body, LIMIT_DOCUMENT_BYTES);
	rc = tape_document_body(r->from, d.segment, d.id, &body, err);
	d.body = buf_slice(&body);
	if (!rc && h->rewrite_document)
		rc = h->rewrite_document(h->context, &d, err);
	if (rc == 0)
		rc = queue_document(r, &d, d.body, seq_map_find(&r->seqs, seq), err);
	buf_release(&body);
	return rc < 0 ? rc : 0;
}

int remake_put_begin_documents(struct remake *r, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < r->document_count && !rc; i++) {
		if (r->documents[i].begins && !r->documents[i].replaced)
			rc = put_document(r, &r->documents[i], err);
	}
	return rc;
}

int remake_put_documents(struct remake *r, size_t segment, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < r->document_count && !rc; i++) {
		if (!r->documents[i].begins && r->documents[i].document.segment == segment)
			rc = put_document(r, &r->documents[i], err);
	}
	return rc;
}
