/*
 * pack.c: making a sealed extent, see pack.h. unpack.c reads it back; FORMAT.md has the byte tables. The
 * columns are written one after the other so that like stands by like when zstd sees them.
 */
#include "schema/tape/pack.h"

#include "schema/base/limits.h"
#include "schema/base/varint.h"
#include "schema/tape/bare.h"
#include "schema/tape/codec.h"
#include "schema/tape/columns.h"

#include <stdlib.h>

/* The columns are few bytes: a tenth of them is to be had for a little time, where there is time at all. */
#define INDEX_LEVEL       3
#define INDEX_LEVEL_LARGE 19

struct packer {
	const struct extent *x;
	const struct pack_options *options;
	pack_sink *sink;
	void *context;
	struct packed_extent out;
	size_t block_cap;
	struct buf gather, names; /* raw bytes of the pack being filled, and what its objects are called */
	struct buf bare;          /* the same bytes without versions */
	bool is_bare;             /* as far as that is so */
	uint32_t named;           /* the last object that names has */
	uint32_t pack_events;
	size_t chain; /* index + 1 of the chain block being filled */
	uint32_t chain_object;
	struct slice chain_previous;
	struct buf frames; /* of the chain, each after its head */
	struct buf frame;
};

static struct packed_block *add_block(struct packer *p, enum block_kind kind)
{
	struct packed_block *b;

	if (p->out.block_count == p->block_cap) {
		p->block_cap = p->block_cap ? p->block_cap * 2 : 64;
		p->out.blocks = xrealloc(p->out.blocks, p->block_cap * sizeof(*p->out.blocks));
	}
	b = &p->out.blocks[p->out.block_count++];
	*b = (struct packed_block){.kind = kind};
	return b;
}

static int pack_give(struct packer *p, size_t number, const struct buf *data, struct err *err)
{
	return p->sink(p->context, number, &p->out.blocks[number], buf_slice(data), err);
}

static void begin_pack(struct packer *p)
{
	buf_clear(&p->gather);
	buf_clear(&p->names);
	buf_clear(&p->bare);
	p->pack_events = 0;
	p->is_bare = p->options->compact;
}

static const struct pack_effort *effort_of(const struct packer *p)
{
	const struct pack_options *o = p->options;

	return o->large.level && p->gather.len / p->pack_events >= PACK_LARGE_BYTES ? &o->large : &o->effort;
}

static int finish_pack(struct packer *p, struct err *err)
{
	struct packed_block *b;
	int rc;

	if (p->pack_events == 0)
		return 0;
	b = add_block(p, p->is_bare ? BLOCK_BARE : BLOCK_NAMED);
	b->events = p->pack_events;
	b->raw_bytes = p->gather.len;
	buf_clear(&p->frame);
	if ((rc = codec_pack_delta(buf_slice(&p->names), buf_slice(p->is_bare ? &p->bare : &p->gather),
		     effort_of(p)->level, &p->frame, err)) ||
		(rc = pack_give(p, p->out.block_count - 1, &p->frame, err)))
		return rc;
	begin_pack(p);
	return 0;
}

static int add_to_pack(struct packer *p, const struct extent_event *e, struct slice object, struct err *err)
{
	bool named = p->pack_events && p->named == e->object;
	int rc;

	if (!named && (rc = pack_names_add(&p->x->objects[e->object], &p->names, err)))
		return rc;
	p->named = e->object;
	p->is_bare = p->is_bare && bare_put(p->x, e, object, &p->bare);
	rc = buf_append(&p->gather, object.ptr, object.len, err);
	if (rc)
		return rc;
	p->pack_events++;
	return p->gather.len >= effort_of(p)->bytes || p->names.len >= LIMIT_PREFIX_BYTES / 2
		       ? finish_pack(p, err)
		       : 0;
}

static int finish_chain(struct packer *p, struct err *err)
{
	size_t chain = p->chain;

	p->chain = 0;
	return chain ? pack_give(p, chain - 1, &p->frames, err) : 0;
}

static int begin_chain(struct packer *p, uint32_t object_index, struct err *err)
{
	int rc = finish_chain(p, err);

	if (rc)
		return rc;
	add_block(p, BLOCK_CHAIN);
	p->chain = p->out.block_count;
	p->chain_object = object_index;
	p->chain_previous = (struct slice){NULL, 0};
	buf_clear(&p->frames);
	return 0;
}

static bool chain_goes_on(const struct packer *p, uint32_t object_index, size_t length)
{
	const struct packed_block *b = p->chain ? &p->out.blocks[p->chain - 1] : NULL;

	return b && p->chain_object == object_index && p->frames.len < CHAIN_MAX_BYTES &&
	       b->events < CHAIN_LENGTH && b->raw_bytes + length <= LIMIT_BLOCK_BYTES;
}

/* A chain's data is its frames one after the other, each after the varints of its
 * raw and its frame length. */
static int add_to_chain(struct packer *p, uint32_t object_index, struct slice object, struct err *err)
{
	struct packed_block *b;
	uint8_t head[2 * VARINT_MAX_BYTES];
	size_t head_len;
	int rc;

	if (!chain_goes_on(p, object_index, object.len) && (rc = begin_chain(p, object_index, err)))
		return rc;
	buf_clear(&p->frame);
	rc = codec_pack_delta(p->chain_previous, object, p->options->effort.level, &p->frame, err);
	if (rc)
		return rc;
	head_len = varint_put(head, object.len);
	head_len += varint_put(head + head_len, p->frame.len);
	if ((rc = buf_append(&p->frames, head, head_len, err)) ||
		(rc = buf_append(&p->frames, p->frame.ptr, p->frame.len, err)))
		return rc;
	b = &p->out.blocks[p->chain - 1];
	b->events++;
	b->raw_bytes += object.len;
	p->chain_previous = object;
	return 0;
}

static int fill_blocks(struct packer *p, struct err *err)
{
	const struct extent *x = p->x;
	int rc;

	begin_pack(p);
	for (size_t i = 0; i < x->event_count; i++) {
		const struct extent_event *e = &x->events[x->layout[i]];
		struct slice object = {x->bytes.ptr + e->offset, e->length};

		rc = !p->options->compact && object.len >= CHAIN_MIN_BYTES
			     ? add_to_chain(p, e->object, object, err)
			     : add_to_pack(p, e, object, err);
		if (rc)
			return rc;
	}
	rc = finish_pack(p, err);
	return rc ? rc : finish_chain(p, err);
}

static void put_name(const struct packer *p, struct columns *c, struct slice previous, struct slice name)
{
	static const struct text_columns apart = {COLUMN_NAME, COLUMN_NAME_LENGTH, COLUMN_NAME_BYTES};

	if (p->options->compact)
		column_put_parts(c, &apart, previous, name);
	else
		column_put_text(c, COLUMN_NAME, previous, name);
}

static void put_object_columns(const struct packer *p, struct columns *c)
{
	const struct extent_object *previous = NULL;
	const struct extent *x = p->x;

	for (size_t i = 0; i < x->object_count; i++) {
		const struct extent_object *o = &x->objects[i];

		column_put(c, COLUMN_RESOURCE, o->resource - (previous ? previous->resource : 0));
		column_put(c, COLUMN_RUN, o->count);
		column_put_text(c, COLUMN_NAMESPACE, previous ? previous->namespace : (struct slice){0},
			o->namespace);
		put_name(p, c, previous ? previous->name : (struct slice){0}, o->name);
		column_put_uid(c, COLUMN_UID, o->uid);
		previous = o;
	}
}

static void put_head(const struct extent_event *e, struct columns *c)
{
	column_put(c, COLUMN_HEAD, e->head);
	column_put(c, COLUMN_STREAM, e->stream);
}

static void put_layout_columns(const struct extent *x, bool with_heads, struct columns *c)
{
	int64_t place = 0, length = 0;

	for (size_t i = 0; i < x->event_count; i++) {
		const struct extent_event *e = &x->events[x->layout[i]];

		column_put(c, COLUMN_PLACE, zigzag((int64_t)x->layout[i] - place));
		column_put(c, COLUMN_LENGTH, zigzag((int64_t)e->length - length));
		if (with_heads)
			put_head(e, c);
		place = x->layout[i];
		length = e->length;
	}
}

/* 0 says that a text follows; anything else is the zigzag distance from the last number, plus one. */
static void put_rv(
	const struct extent *x, const struct extent_event *e, uint64_t *previous, struct columns *c)
{
	uint64_t distance = e->rv_is_text ? UINT64_MAX : zigzag((int64_t)(e->rv - *previous));

	if (distance == UINT64_MAX) {
		column_put(c, COLUMN_RV, 0);
		column_put_text(c, COLUMN_RV_TEXT, (struct slice){0},
			e->rv_is_text ? x->texts[e->rv] : column_number_text(c, e->rv));
		return;
	}
	column_put(c, COLUMN_RV, distance + 1);
	*previous = e->rv;
}

static uint64_t distance(int64_t from, int64_t to)
{
	int64_t d = wrap_sub(to, from);

	return d < 0 ? -(uint64_t)d : (uint64_t)d;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Of all distances between times: recorders count less finely than in ns. */
static uint64_t find_unit(const struct extent *x)
{
	uint64_t unit = 0;
	int64_t time_ns = 0;

	for (size_t i = 0; i < x->event_count && unit != 1; i++) {
		unit = common_divisor(unit, distance(time_ns, x->events[i].time_ns));
		time_ns = x->events[i].time_ns;
	}
	return unit && unit <= INT64_MAX ? unit : 1;
}

static void put_event_columns(const struct extent *x, uint64_t unit, bool with_heads, struct columns *c)
{
	uint64_t seq = 0, rv = 0;
	int64_t time_ns = 0;

	for (size_t i = 0; i < x->event_count; i++) {
		const struct extent_event *e = &x->events[i];

		column_put(c, COLUMN_SEQ, e->seq - seq - 1);
		column_put(c, COLUMN_TIME, zigzag(wrap_sub(e->time_ns, time_ns) / (int64_t)unit));
		if (with_heads)
			put_head(e, c);
		put_rv(x, e, &rv, c);
		seq = e->seq;
		time_ns = e->time_ns;
	}
}

static int pack_index(struct packer *p, struct err *err)
{
	uint64_t unit = p->options->compact ? find_unit(p->x) : 0;
	struct columns *c = columns_new();
	struct buf raw;
	int rc;

	for (size_t i = 0; i < p->out.block_count; i++)
		column_put(c, COLUMN_BLOCK,
			(uint64_t)p->out.blocks[i].events << 1 | (p->out.blocks[i].kind == BLOCK_CHAIN));
	put_object_columns(p, c);
	put_layout_columns(p->x, p->options->compact, c);
	put_event_columns(p->x, unit ? unit : 1, !p->options->compact, c);
	buf_init(&raw, LIMIT_INDEX_BYTES);
	rc = columns_write(c, p->x->event_count, p->x->object_count, p->out.block_count, unit, &raw, err);
	columns_free(c);
	p->out.index_raw_bytes = raw.len;
	if (!rc)
		rc = codec_pack(buf_slice(&raw),
			p->options->effort.level > 1 ? INDEX_LEVEL_LARGE : INDEX_LEVEL, &p->out.index, err);
	buf_release(&raw);
	return rc;
}

uint32_t filter_hash_uid(struct slice uid)
{
	return (uint32_t)codec_hash(uid);
}

uint32_t filter_hash_key(uint32_t resource, struct slice namespace, struct slice name)
{
	return (uint32_t)(codec_hash(namespace) * 31 + codec_hash(name) +
			  (uint64_t)resource * 0x9e3779b97f4a7c15u);
}

static int compare_u32(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return (a > b) - (a < b);
}

int pack_filter(const struct extent *x, struct buf *to, struct err *err)
{
	size_t n = 2 * x->object_count;
	uint32_t *hashes = xmalloc(n * sizeof(*hashes)), previous = 0;
	int rc = 0;

	for (size_t i = 0; i < x->object_count; i++) {
		const struct extent_object *o = &x->objects[i];

		hashes[2 * i] = filter_hash_uid(o->uid);
		hashes[2 * i + 1] = filter_hash_key(o->resource, o->namespace, o->name);
	}
	if (n)
		qsort(hashes, n, sizeof(*hashes), compare_u32);
	for (size_t i = 0; i < n && !rc; i++) {
		uint8_t bytes[VARINT_MAX_BYTES];

		if (i && hashes[i] == previous)
			continue;
		rc = buf_append(to, bytes, varint_put(bytes, hashes[i] - previous), err);
		previous = hashes[i];
	}
	free(hashes);
	return rc;
}

int pack_extent(struct extent *x, const struct pack_options *options, pack_sink *sink, void *context,
	struct packed_extent *ret, struct err *err)
{
	struct packer p = {.x = x, .options = options, .sink = sink, .context = context};
	int rc;

	extent_sort(x);
	buf_init(&p.gather, LIMIT_CHUNK_BYTES);
	buf_init(&p.names, LIMIT_PREFIX_BYTES);
	buf_init(&p.bare, LIMIT_CHUNK_BYTES);
	buf_init(&p.frames, LIMIT_CHUNK_BYTES);
	buf_init(&p.frame, LIMIT_CHUNK_BYTES);
	buf_init(&p.out.index, LIMIT_INDEX_BYTES);
	buf_init(&p.out.filter, LIMIT_INDEX_BYTES);
	rc = fill_blocks(&p, err);
	buf_release(&p.gather);
	buf_release(&p.names);
	buf_release(&p.bare);
	buf_release(&p.frames);
	buf_release(&p.frame);
	if (!rc)
		rc = pack_index(&p, err);
	if (!rc && !options->compact)
		rc = pack_filter(x, &p.out.filter, err);
	if (rc) {
		pack_release(&p.out);
		return rc;
	}
	*ret = p.out;
	return 0;
}

void pack_release(struct packed_extent *p)
{
	free(p->blocks);
	buf_release(&p->index);
	buf_release(&p->filter);
	*p = (struct packed_extent){0};
}
