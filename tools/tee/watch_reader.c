/* watch_reader.c: see watch_reader.h. */
#include "tools/tee/watch_reader.h"

#include "replayer/protobuf/protobuf.h"
#include "replayer/protobuf/protobuf_wire.h"
#include "replayer/wire/http.h"
#include "replayer/wire/websocket.h"
#include "schema/base/limits.h"
#include "tools/tee/cbor.h"
#include "tools/tee/h2_frames.h"

#include <stdlib.h>

#define KEEP_BYTES (1u << 20) /* a buffer that became larger gives its memory back */

/* The frame of WebSocket at hand. */
struct message {
	unsigned char head[14];
	size_t head_len;
	uint64_t left; /* of its payload */
	bool is_data, is_last, has_head;
};

struct watch_reader {
	enum watch_encoding encoding;
	bool is_websocket, is_closed;
	bool skips;         /* JSON: up to the next line feed */
	bool is_lost;       /* nothing more can be found */
	struct buf partial; /* of an event, or of a message */
	struct message message;
	struct buf json, object; /* of an event that is not JSON */
	watch_reader_each *each; /* of the call that runs */
	void *context;
};

static bool has_type(struct slice content_type, const char *type)
{
	return slice_equal_nocase(slice_trim(slice_cut(&content_type, ';')), slice_of(type));
}

struct watch_reader *watch_reader_new(struct slice content_type, bool is_websocket)
{
	struct watch_reader *r = xcalloc(1, sizeof(*r));

	r->is_websocket = is_websocket;
	if (has_type(content_type, "application/vnd.kubernetes.protobuf"))
		r->encoding = WATCH_PROTOBUF;
	else if (has_type(content_type, "application/cbor-seq") || has_type(content_type, "application/cbor"))
		r->encoding = WATCH_CBOR;
	buf_init(&r->partial, LIMIT_OBJECT_BYTES);
	buf_init(&r->json, LIMIT_OBJECT_BYTES);
	buf_init(&r->object, LIMIT_OBJECT_BYTES);
	return r;
}

void watch_reader_free(struct watch_reader *r)
{
	if (!r)
		return;
	buf_release(&r->partial);
	buf_release(&r->json);
	buf_release(&r->object);
	free(r);
}

/* ---- one event ---- */

static int finish_event(struct watch_reader *r, struct watch_event *e)
{
	e->is_read = e->frame.type.len && e->frame.object.len;
	return r->each(r->context, e);
}

static int read_json(struct watch_reader *r, struct watch_event *e)
{
	(void)!json_scan_frame(e->raw, &e->frame, NULL);
	return finish_event(r, e);
}

/* {1: bytes}, as RawExtension is. */
static struct slice raw_extension(struct slice message)
{
	struct wire_field f;
	struct slice raw = {NULL, 0};

	while (wire_next(&message, &f, NULL) > 0) {
		if (f.number == 1 && f.type == WIRE_BYTES)
			raw = f.bytes;
	}
	return raw;
}

static int read_protobuf(struct watch_reader *r, struct watch_event *e)
{
	struct slice rest = e->raw, object = {NULL, 0};
	struct wire_field f;

	while (wire_next(&rest, &f, NULL) > 0) {
		if (f.number == 1 && f.type == WIRE_BYTES)
			e->frame.type = f.bytes;
		else if (f.number == 2 && f.type == WIRE_BYTES)
			object = raw_extension(f.bytes);
	}
	buf_clear(&r->object);
	if (object.len && protobuf_to_json(object, &r->object, NULL) == 0 &&
		json_scan_object(buf_slice(&r->object), &e->frame.meta, NULL) == 0)
		e->frame.object = buf_slice(&r->object);
	return finish_event(r, e);
}

static int read_cbor(struct watch_reader *r, struct watch_event *e)
{
	buf_clear(&r->json);
	if (cbor_to_json(e->raw, &r->json, NULL) == 0)
		(void)!json_scan_frame(buf_slice(&r->json), &e->frame, NULL);
	return finish_event(r, e);
}

static int read_event(struct watch_reader *r, struct slice raw)
{
	struct watch_event e = {.raw = raw, .encoding = r->encoding};

	if (!raw.len)
		return 0;
	switch (r->encoding) {
	case WATCH_PROTOBUF: return read_protobuf(r, &e);
	case WATCH_CBOR: return read_cbor(r, &e);
	default: return read_json(r, &e);
	}
}

static void forget_partial(struct watch_reader *r)
{
	buf_clear(&r->partial);
	if (r->partial.cap > KEEP_BYTES)
		buf_release(&r->partial);
}

/* ---- lines ---- */

static int feed_lines(struct watch_reader *r, struct slice bytes, struct err *err)
{
	int rc = 0;

	while (rc == 0 && bytes.len) {
		const char *feed = memchr(bytes.ptr, '\n', bytes.len);
		struct slice line = {bytes.ptr, feed ? (size_t)(feed - bytes.ptr) : bytes.len};

		bytes = feed ? (struct slice){feed + 1, bytes.len - line.len - 1} : (struct slice){NULL, 0};
		if (r->skips) {
			r->skips = !feed;
			continue;
		}
		if (feed && !r->partial.len) {
			rc = read_event(r, line);
			continue;
		}
		rc = buf_append(&r->partial, line.ptr, line.len, err);
		if (rc == 0 && feed) {
			rc = read_event(r, buf_slice(&r->partial));
			forget_partial(r);
		}
	}
	return rc;
}

/* ---- lengths ---- */

/* The length of the event at the front of what has come, with what frames it; 0 when it is not whole. */
static int64_t event_length(const struct watch_reader *r, struct slice in, size_t *ret_head, struct err *err)
{
	uint32_t len;

	*ret_head = r->encoding == WATCH_PROTOBUF ? 4 : 0;
	if (r->encoding == WATCH_CBOR)
		return cbor_length(in, err);
	if (in.len < 4)
		return 0;
	len = h2_number(in.ptr);
	if (len > LIMIT_OBJECT_BYTES)
		return err_set(
			err, ERR_TOO_LARGE, "event of %u bytes: maximum is %u", len, LIMIT_OBJECT_BYTES);
	return in.len >= 4 + (size_t)len ? 4 + (int64_t)len : 0;
}

static int feed_lengths(struct watch_reader *r, struct slice bytes, struct err *err)
{
	int rc = buf_append(&r->partial, bytes.ptr, bytes.len, err);
	size_t head, used = 0;
	int64_t len = 1;

	while (rc == 0 && len > 0) {
		struct slice in = {r->partial.ptr + used, r->partial.len - used};

		len = in.len ? event_length(r, in, &head, err) : 0;
		if (len > 0)
			rc = read_event(r, (struct slice){in.ptr + head, (size_t)len - head});
		used += len > 0 ? (size_t)len : 0;
	}
	buf_consume(&r->partial, used);
	if (!r->partial.len)
		forget_partial(r);
	return rc ? rc : (int)(len < 0 ? len : 0);
}

/* ---- WebSocket ---- */

/* Servers do not mask. The length has 7, 16 or 64 bits. */
static size_t message_head_bytes(const struct message *m)
{
	if (m->head_len < 2)
		return 2;
	return 2u + ((m->head[1] & 0x7f) == 126 ? 2 : (m->head[1] & 0x7f) == 127 ? 8 : 0);
}

static void read_message_head(struct message *m)
{
	size_t n = message_head_bytes(m);

	m->left = m->head[1] & 0x7f;
	if (n > 2)
		m->left = 0;
	for (size_t i = 2; i < n; i++)
		m->left = m->left << 8 | m->head[i];
	m->is_last = m->head[0] & 0x80;
	m->is_data = (m->head[0] & 0x0f) < WEBSOCKET_CLOSE;
	m->has_head = true;
}

static int end_message(struct watch_reader *r)
{
	struct message *m = &r->message;
	bool is_whole = m->is_data && m->is_last;
	int rc = 0;

	r->is_closed |= (m->head[0] & 0x0f) == WEBSOCKET_CLOSE;
	*m = (struct message){.head_len = 0};
	if (!is_whole)
		return 0;
	rc = read_event(r, buf_slice(&r->partial));
	forget_partial(r);
	return rc;
}

static int feed_message(struct watch_reader *r, struct slice *bytes, struct err *err)
{
	struct message *m = &r->message;
	struct slice part = *bytes;
	int rc = 0;

	while (!m->has_head && bytes->len) {
		m->head[m->head_len++] = (unsigned char)*bytes->ptr;
		*bytes = (struct slice){bytes->ptr + 1, bytes->len - 1};
		if (m->head_len == message_head_bytes(m))
			read_message_head(m);
	}
	if (!m->has_head)
		return 0;
	part = (struct slice){bytes->ptr, bytes->len < m->left ? bytes->len : (size_t)m->left};
	if (m->is_data)
		rc = buf_append(&r->partial, part.ptr, part.len, err);
	m->left -= part.len;
	*bytes = (struct slice){bytes->ptr + part.len, bytes->len - part.len};
	return rc == 0 && m->left == 0 ? end_message(r) : rc;
}

/* ---- the whole ---- */

int watch_reader_feed(
	struct watch_reader *r, struct slice bytes, watch_reader_each *each, void *context, struct err *err)
{
	int rc = 0;

	r->each = each;
	r->context = context;
	if (r->is_lost)
		return 0;
	if (r->is_websocket) {
		while (rc == 0 && bytes.len)
			rc = feed_message(r, &bytes, err);
	} else if (r->encoding == WATCH_JSON) {
		rc = feed_lines(r, bytes, err);
	} else {
		rc = feed_lengths(r, bytes, err);
	}
	r->is_lost |= rc == ERR_PROTOCOL || rc == ERR_TOO_LARGE;
	return rc;
}

void watch_reader_lose(struct watch_reader *r)
{
	forget_partial(r);
	r->skips = !r->is_websocket && r->encoding == WATCH_JSON;
	r->is_lost |= !r->skips;
}

int watch_reader_end(struct watch_reader *r, watch_reader_each *each, void *context, struct err *err)
{
	struct watch_frame frame;
	bool is_whole = !r->is_websocket && r->encoding == WATCH_JSON && r->partial.len && !r->is_lost &&
			json_scan_frame(buf_slice(&r->partial), &frame, NULL) == 0;

	(void)err;
	if (!is_whole)
		return 0;
	r->each = each;
	r->context = context;
	return feed_lines(r, slice_of("\n"), err);
}

struct slice watch_reader_tail(const struct watch_reader *r)
{
	return buf_slice(&r->partial);
}

bool watch_reader_is_closed(const struct watch_reader *r)
{
	return r->is_closed;
}
