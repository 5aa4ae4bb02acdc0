/*
 * h2_road.c: HTTP/2 in both directions; see road.h. Of what the client sends, the frames with the fields of
 * requests are decoded and written anew; every other frame passes as it came, so that windows, pings,
 * priorities and resets stay between client and server. The server's frames are only read.
 *
 * How large a table of header fields may be is told by the side that reads the fields, and counts from when
 * the other side has acknowledged it.
 */
#include "tools/tee/road_internal.h"

#include "schema/base/log.h"
#include "tools/tee/h2_headers.h"

#include <stdlib.h>

#define TALK_BUCKETS  64
#define SETTINGS_OPEN 32 /* not acknowledged yet */
#define NO_SIZE       UINT32_MAX
#define NO_GOAWAY     (-1)

/* Table sizes that one side has told and the other has not acknowledged yet, oldest first. */
struct told_sizes {
	uint32_t items[SETTINGS_OPEN];
	size_t count;
};

struct h2_lane {
	struct h2_cutter cutter;
	struct h2_gather gather;
	struct h2_decoder *decoder;
	struct told_sizes told; /* by the sender in this direction */
	int64_t goaway;         /* its code; NO_GOAWAY: none was sent */
	bool is_padded;         /* the DATA frame at hand: how much padding follows is not known yet */
	uint32_t data_left;     /* of its data, without padding */
};

struct h2_road {
	struct h2_lane requests, answers;
	size_t preface_len; /* of the preface, as far as it was passed on */
	struct h2_encoder *encoder;
	struct talk *talks[TALK_BUCKETS]; /* by stream */
	bool is_unread; /* what the server sends is not HTTP/2; what the client sends is rewritten all the
			   same */
};

static void init_lane(struct h2_lane *l)
{
	h2_cutter_init(&l->cutter);
	h2_gather_init(&l->gather);
	l->decoder = h2_decoder_new();
	l->goaway = NO_GOAWAY;
}

void h2_road_open(struct road *r)
{
	r->h2 = xcalloc(1, sizeof(*r->h2));
	init_lane(&r->h2->requests);
	init_lane(&r->h2->answers);
	r->h2->encoder = h2_encoder_new();
}

static void release_lane(struct h2_lane *l)
{
	h2_cutter_release(&l->cutter);
	h2_gather_release(&l->gather);
	h2_decoder_free(l->decoder);
}

void h2_road_free(struct road *r)
{
	if (!r->h2)
		return;
	release_lane(&r->h2->requests);
	release_lane(&r->h2->answers);
	h2_encoder_free(r->h2->encoder);
	free(r->h2);
	r->h2 = NULL;
}

/* ---- talks ---- */

/* What points to the talk of a stream: to NULL where there is none. */
static struct talk **place_of(struct h2_road *h, uint32_t stream)
{
	struct talk **at = &h->talks[(stream >> 1) % TALK_BUCKETS];

	while (*at && (*at)->stream != stream)
		at = &(*at)->next;
	return at;
}

static void end_talk(struct h2_road *h, uint32_t stream, enum road_end how, enum road_party by, int64_t code)
{
	struct talk **at = place_of(h, stream), *t = *at;

	if (!t)
		return;
	*at = t->next;
	talk_end(t, how, by, code);
}

void h2_road_end(struct road *r, enum road_party by, enum road_end how)
{
	struct h2_road *h = r->h2;
	int64_t code = by == PARTY_CLIENT ? h->requests.goaway : h->answers.goaway;

	if (code != NO_GOAWAY && how == ROAD_FIN)
		how = ROAD_GOAWAY;
	for (size_t i = 0; i < TALK_BUCKETS; i++) {
		while (h->talks[i])
			end_talk(h, h->talks[i]->stream, how, by, code);
	}
}

/* ---- settings ---- */

static uint32_t table_size_in(struct slice settings)
{
	uint32_t size = NO_SIZE;

	for (size_t at = 0; at + 6 <= settings.len; at += 6) {
		if (settings.ptr[at] == 0 && settings.ptr[at + 1] == H2_SETTINGS_HEADER_TABLE_SIZE)
			size = h2_number(settings.ptr + at + 2);
	}
	return size;
}

static int tell_settings(struct h2_lane *from, struct slice settings, struct err *err)
{
	if (from->told.count == SETTINGS_OPEN)
		return err_set(
			err, ERR_PROTOCOL, "more than %d SETTINGS are not acknowledged", SETTINGS_OPEN);
	from->told.items[from->told.count++] = table_size_in(settings);
	return 0;
}

/* `by` has acknowledged the oldest SETTINGS of `from`: what it sends may use such a table. */
static int acknowledge(struct h2_lane *by, struct h2_lane *from, struct err *err)
{
	struct told_sizes *told = &from->told;
	uint32_t size;

	if (!told->count)
		return 0;
	size = told->items[0];
	told->count--;
	memmove(told->items, told->items + 1, told->count * sizeof(*told->items));
	return size == NO_SIZE ? 0 : h2_decoder_limit(by->decoder, size, err);
}

/* What concerns the connection, in a frame that `from` sent. */
static int take_control(
	struct h2_lane *from, struct h2_lane *other, const struct h2_piece *piece, struct err *err)
{
	const struct h2_frame *f = &piece->frame;

	if (f->type == H2_SETTINGS && f->flags & H2_END_STREAM)
		return acknowledge(from, other, err);
	if (f->type == H2_SETTINGS)
		return tell_settings(from, piece->payload, err);
	if (f->type == H2_GOAWAY && piece->payload.len >= 8)
		from->goaway = h2_number(piece->payload.ptr + 4);
	return 0;
}

/* ---- data ---- */

/* The part of a piece of a DATA frame that is data. Padding's length comes first, padding last. */
static struct slice data_of(struct h2_lane *l, const struct h2_piece *piece)
{
	struct slice s = piece->payload;

	if (piece->is_first) {
		l->is_padded = piece->frame.flags & H2_PADDED;
		l->data_left = piece->frame.length;
	}
	if (l->is_padded && s.len) {
		uint32_t taken = 1 + (unsigned char)*s.ptr;

		l->is_padded = false;
		l->data_left -= taken < l->data_left ? taken : l->data_left;
		s = (struct slice){s.ptr + 1, s.len - 1};
	}
	if (s.len > l->data_left)
		s.len = l->data_left;
	l->data_left -= (uint32_t)s.len;
	return s;
}

/* ---- what the client sends ---- */

static int pass(const struct h2_piece *piece, struct buf *out, struct err *err)
{
	int rc = piece->is_first ? buf_append(out, piece->head, H2_HEAD_BYTES, err) : 0;

	return rc ? rc : buf_append(out, piece->payload.ptr, piece->payload.len, err);
}

static void begin_talk(struct road *r)
{
	struct h2_road *h = r->h2;
	const struct talk_head head = {
		field_value(&r->fields, ":method"), field_value(&r->fields, ":path"), &r->fields, "2"};
	struct talk **at, *t = road_begin_talk(r, &head);

	if (h->is_unread) {
		talk_end(t, ROAD_UNREAD, PARTY_TEE, -1);
		return;
	}
	t->stream = h->requests.gather.first.stream;
	at = place_of(h, t->stream);
	t->next = *at;
	*at = t;
}

static int send_block(struct road *r, struct buf *out, struct err *err)
{
	struct h2_road *h = r->h2;
	const struct h2_gather *g = &h->requests.gather;
	bool is_new = !*place_of(h, g->first.stream);
	struct talk *t;
	int rc;

	field_list_clear(&r->fields);
	rc = h2_decode(h->requests.decoder, buf_slice(&g->block), &r->fields, err);
	if (rc)
		return rc;
	is_new = is_new && field_first(&r->fields, ":method"); /* else trailers */
	if (is_new)
		begin_talk(r);
	if (is_new && !rewrite_fields(r->o.rewrite, &r->fields))
		return err_set(
			err, ERR_DENIED, "a client asks without the tee's own token, or as somebody else");
	t = *place_of(h, g->first.stream);
	if (t && g->first.flags & H2_END_STREAM)
		talk_asked_end(t);
	return h2_encode(h->encoder, g, &r->fields, out, err);
}

static void note_data(struct h2_road *h, const struct h2_piece *piece)
{
	struct slice data = data_of(&h->requests, piece);
	struct talk *t = *place_of(h, piece->frame.stream);

	if (!t)
		return;
	talk_asked(t, data);
	if (piece->is_last && piece->frame.flags & H2_END_STREAM)
		talk_asked_end(t);
}

static int send_piece(struct road *r, const struct h2_piece *piece, struct buf *out, struct err *err)
{
	struct h2_road *h = r->h2;
	int rc = 0;

	if (piece->frame.type == H2_PUSH_PROMISE)
		return err_set(err, ERR_PROTOCOL, "a client sends PUSH_PROMISE");
	if (piece->is_first)
		rc = h2_gather_take(&h->requests.gather, piece, err);
	if (rc)
		return rc < 0 ? rc : send_block(r, out, err);
	if (piece->frame.type == H2_HEADERS || piece->frame.type == H2_CONTINUATION)
		return 0;
	rc = take_control(&h->requests, &h->answers, piece, err);
	if (piece->frame.type == H2_DATA)
		note_data(h, piece);
	else if (piece->frame.type == H2_RST_STREAM && piece->payload.len == 4)
		end_talk(
			h, piece->frame.stream, ROAD_RST_STREAM, PARTY_CLIENT, h2_number(piece->payload.ptr));
	return rc ? rc : pass(piece, out, err);
}

static int pass_preface(struct h2_road *h, struct slice *in, struct buf *out, struct err *err)
{
	size_t left = H2_PREFACE_BYTES - h->preface_len, n = in->len < left ? in->len : left;
	struct slice part = {in->ptr, n};

	if (memcmp(part.ptr, &H2_PREFACE[h->preface_len], n) != 0)
		return err_set(err, ERR_PROTOCOL, "a client that agreed on HTTP/2 sends something else");
	h->preface_len += n;
	*in = (struct slice){in->ptr + n, in->len - n};
	return buf_append(out, part.ptr, part.len, err);
}

int h2_road_request(struct road *r, struct slice *in, struct buf *out, struct err *err)
{
	struct h2_road *h = r->h2;
	struct h2_piece piece;
	int rc = 0;

	if (h->preface_len < H2_PREFACE_BYTES)
		rc = pass_preface(h, in, out, err);
	if (rc || h->preface_len < H2_PREFACE_BYTES)
		return rc;
	while ((rc = h2_cut(&h->requests.cutter, in, &piece, err)) > 0) {
		rc = send_piece(r, &piece, out, err);
		if (rc)
			break;
	}
	return rc;
}

/* ---- what the server sends ---- */

static int take_block(struct road *r, struct err *err)
{
	struct h2_lane *l = &r->h2->answers;
	uint32_t stream = l->gather.first.stream;
	struct talk *t = *place_of(r->h2, stream);
	uint64_t status = 0;
	int rc;

	field_list_clear(&r->fields);
	rc = h2_decode(l->decoder, buf_slice(&l->gather.block), &r->fields, err);
	if (rc || !t || l->gather.first.type == H2_PUSH_PROMISE)
		return rc;
	if (!t->is_answered && field_number(field_value(&r->fields, ":status"), &status) && status >= 200)
		talk_answer(t, (int)status, &r->fields);
	if (l->gather.first.flags & H2_END_STREAM)
		end_talk(r->h2, stream, ROAD_COMPLETE, PARTY_SERVER, -1);
	return 0;
}

static void take_data(struct h2_road *h, const struct h2_piece *piece)
{
	struct slice data = data_of(&h->answers, piece);
	struct talk *t = *place_of(h, piece->frame.stream);

	if (!t)
		return;
	talk_body(t, data);
	if (piece->is_last && piece->frame.flags & H2_END_STREAM)
		end_talk(h, piece->frame.stream, ROAD_COMPLETE, PARTY_SERVER, -1);
}

static int take_piece(struct road *r, const struct h2_piece *piece, struct err *err)
{
	struct h2_road *h = r->h2;
	int rc = piece->is_first ? h2_gather_take(&h->answers.gather, piece, err) : 0;

	if (rc)
		return rc < 0 ? rc : take_block(r, err);
	if (piece->frame.type == H2_DATA)
		take_data(h, piece);
	else if (piece->frame.type == H2_RST_STREAM && piece->payload.len == 4)
		end_talk(
			h, piece->frame.stream, ROAD_RST_STREAM, PARTY_SERVER, h2_number(piece->payload.ptr));
	return take_control(&h->answers, &h->requests, piece, err);
}

/* What cannot be read need not be: it has been passed on. */
void h2_road_answer(struct road *r, struct slice *in)
{
	struct h2_piece piece;
	struct err why;
	int rc = 0;

	while (!r->h2->is_unread && (rc = h2_cut(&r->h2->answers.cutter, in, &piece, &why)) > 0) {
		rc = take_piece(r, &piece, &why);
		if (rc)
			break;
	}
	if (rc < 0) {
		log_warn("what the server sends is not HTTP/2: %s; it passes unread", why.text);
		h2_road_end(r, PARTY_TEE, ROAD_UNREAD);
		r->h2->is_unread = true;
	}
}
