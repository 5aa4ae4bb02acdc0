/*
 * import_secrets.c: see import_internal.h. What goes onto the tape passes here, so that values of Secrets
 * stay out of it as they stay out of what a recorder writes. The key is made when the first Secret comes.
 */
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"
#include "schema/tape/redact.h"
#include "tools/import/import_internal.h"

#include <stdlib.h>
#include <sys/prctl.h>

void importer_redact(struct importer *m, const char *tape_path)
{
	m->secrets.tape_path = tape_path;
}

void import_secrets_init(struct import_secrets *s)
{
	buf_init(&s->object, LIMIT_OBJECT_BYTES);
	buf_init(&s->tail, LIMIT_OBJECT_BYTES);
	buf_init(&s->status, LIMIT_OBJECT_BYTES);
}

void import_secrets_release(struct import_secrets *s)
{
	redactor_close(s->redactor);
	buf_release(&s->object);
	buf_release(&s->tail);
	buf_release(&s->status);
	free(s->streams);
}

/* ---- streams ---- */

static void note_stream(struct import_secrets *s, uint32_t id)
{
	s->streams = xgrow(s->streams, s->stream_count, sizeof(*s->streams));
	s->streams[s->stream_count++] = id;
}

static bool is_noted(const struct import_secrets *s, uint32_t id)
{
	for (size_t i = 0; i < s->stream_count; i++) {
		if (s->streams[i] == id)
			return true;
	}
	return false;
}

int import_make_stream(struct importer *m, const struct tape_resource *resource, struct tape_stream *stream,
	uint32_t *ret, struct err *err)
{
	uint32_t id;
	int rc = tape_writer_resource(m->writer, resource, &stream->resource, err);

	if (rc == 0)
		rc = tape_writer_stream(m->writer, stream, &id, err);
	if (rc)
		return rc;
	if (redactor_concerns(resource->apigroup, resource->resource) && !is_noted(&m->secrets, id))
		note_stream(&m->secrets, id);
	*ret = id;
	return 0;
}

/* ---- what is written ---- */

/* 1: values have to be taken out, and there is a redactor; 0: they stay. */
static int wants_redaction(
	struct importer *m, uint32_t stream, const struct object_meta *meta, struct err *err)
{
	struct import_secrets *s = &m->secrets;
	bool is_secret = meta && redactor_concerns_kind(meta->api_version, meta->kind);
	int rc = 0;

	if (!s->tape_path || (!is_secret && !is_noted(s, stream)))
		return 0;
	if (!s->redactor) {
		prctl(PR_SET_DUMPABLE, 0);
		rc = redactor_open(s->tape_path, &s->redactor, err);
	}
	return rc ? rc : 1;
}

int import_append(
	struct importer *m, const struct event *e, struct slice object, uint64_t *ret_seq, struct err *err)
{
	struct object_meta meta;
	int rc = json_scan_object(object, &meta, err);

	if (rc == 0 && slice_is(meta.kind, "CustomResourceDefinition"))
		kind_names_add_definition(&m->names, object);
	if (rc == 0)
		rc = wants_redaction(m, e->stream, &meta, err);
	if (rc > 0) {
		buf_clear(&m->secrets.object);
		rc = redactor_object(m->secrets.redactor, object, &m->secrets.object, err);
		object = buf_slice(&m->secrets.object);
	}
	return rc ? rc : tape_writer_append_scanned(m->writer, e, object, &meta, ret_seq, err);
}

static int clean_mark(struct importer *m, struct tape_mark *mark, struct err *err)
{
	struct buf *to = &m->secrets.object;
	struct slice code;
	int rc;

	buf_clear(to);
	if (mark->kind != MARK_ERROR)
		rc = redactor_object(m->secrets.redactor, mark->object, to, err);
	else if (json_get(mark->object, "code", &code, NULL) > 0)
		rc = redactor_error(m->secrets.redactor, mark->object, strtol(code.ptr, NULL, 10), to, err);
	else
		rc = redactor_error(m->secrets.redactor, mark->object, 0, to, err);
	mark->object = buf_slice(to);
	return rc;
}

int import_mark(struct importer *m, struct tape_mark *mark, struct err *err)
{
	struct object_meta meta = {0};
	int rc;

	if (!mark->object.len)
		return tape_writer_mark(m->writer, mark, err);
	rc = json_scan_object(mark->object, &meta, err);
	if (rc == 0)
		rc = wants_redaction(m, mark->stream, &meta, err);
	if (rc > 0)
		rc = clean_mark(m, mark, err);
	return rc ? rc : tape_writer_mark(m->writer, mark, err);
}

int import_clean_connection(struct importer *m, struct tape_connection *c, struct err *err)
{
	struct import_secrets *s = &m->secrets;
	int rc = wants_redaction(m, c->stream, NULL, err);

	if (rc <= 0)
		return rc;
	buf_clear(&s->tail);
	buf_clear(&s->status);
	rc = c->tail.len ? redactor_bytes(s->redactor, c->tail, &s->tail, err) : 0;
	if (rc == 0 && c->error_status)
		rc = redactor_answer(s->redactor, slice_of(c->error_status), &s->status, err);
	if (rc == 0)
		rc = buf_append(&s->status, "", 1, err);
	c->tail = buf_slice(&s->tail);
	if (c->error_status)
		c->error_status = s->status.ptr;
	return rc;
}
