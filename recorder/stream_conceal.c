/*
 * stream_conceal.c: see stream_internal.h. A stream of Secrets may break in the middle of one, and a server
 * may answer with one where it should not: of such bytes no more is kept or told than their length and a
 * digest. What the API server itself says of a failure, a Status, stays as it is.
 */
#include "recorder/stream_internal.h"

#include "schema/base/limits.h"
#include "schema/tape/redact.h"

bool stream_conceals(const struct stream *s)
{
	return s->ingest.redacts && s->x->redactor;
}

void stream_conceal_answer(struct stream *s)
{
	struct buf clean;

	if (!stream_conceals(s) || !s->body.len)
		return;
	buf_init(&clean, s->body.max);
	if (redactor_answer(s->x->redactor, buf_slice(&s->body), &clean, NULL))
		buf_clear(&clean);
	buf_release(&s->body);
	s->body = clean;
}

void stream_keep_bad(struct stream *s, struct slice bytes)
{
	struct buf *bad = &s->watch.bad;
	int rc;

	buf_clear(bad);
	if (stream_conceals(s))
		rc = redactor_bytes(s->x->redactor, bytes, bad, NULL);
	else
		rc = buf_append(bad, bytes.ptr,
			bytes.len < CONNECTION_TAIL_BYTES ? bytes.len : CONNECTION_TAIL_BYTES, NULL);
	if (rc)
		buf_clear(bad);
}

struct slice stream_tail(struct stream *s)
{
	struct slice tail = frames_tail(&s->watch.frames);

	if (s->watch.bad_frame)
		return buf_slice(&s->watch.bad);
	if (!tail.len || !stream_conceals(s))
		return tail;
	stream_keep_bad(s, tail);
	return buf_slice(&s->watch.bad);
}

int stream_take_error(struct stream *s, struct slice object, struct err *err)
{
	struct buf *error = &s->watch.error;
	long code = status_body_number(object, "$.code");

	buf_clear(error);
	if (!stream_conceals(s))
		return buf_append(error, object.ptr, object.len, err);
	return redactor_error(s->x->redactor, object, code > 0 ? code : 0, error, err);
}

int stream_put_mark(struct stream *s, struct tape_mark *mark, struct err *err)
{
	struct buf clean;
	int rc = 0;

	buf_init(&clean, LIMIT_OBJECT_BYTES);
	if (mark->kind == MARK_BOOKMARK && stream_conceals(s)) {
		rc = redactor_object(s->x->redactor, mark->object, &clean, err);
		mark->object = buf_slice(&clean);
	}
	flusher_dirty(s->x->flusher);
	if (rc == 0)
		rc = tape_writer_mark(flusher_tape(s->x->flusher), mark, err);
	buf_release(&clean);
	return rc;
}
