/*
 * unpack.c: reading what pack.c made. Nothing here trusts the bytes: every count is checked before it sizes
 * anything, every sum before it becomes an offset.
 */
#include "schema/base/limits.h"
#include "schema/base/varint.h"
#include "schema/tape/bare.h"
#include "schema/tape/codec.h"
#include "schema/tape/columns.h"
#include "schema/tape/pack.h"

#include <stdlib.h>

#define MIN_OBJECT_BYTES 2   /* {} */
#define FRAME_HEAD_BYTES 128 /* more than each frame of a chain costs beside its contents */

static int unpack_damaged(const char *what, struct err *err)
{
	return err_set(err, ERR_CORRUPT, "index of an extent: %s", what);
}

static int get_objects(struct column_reader *r, struct extent *x, struct err *err)
{
	char namespace[LIMIT_NAME_BYTES], name[LIMIT_NAME_BYTES], uid[LIMIT_NAME_BYTES];
	struct extent_object previous = {0};
	uint64_t first = 0;

	for (size_t i = 0; i < r->objects; i++) {
		struct extent_object *o = &x->objects[i];
		uint64_t resource = previous.resource + column_get(r, COLUMN_RESOURCE);
		uint64_t run = column_get(r, COLUMN_RUN);

		if (resource == 0 || resource > UINT32_MAX || run == 0 || run > r->events - first)
			return unpack_damaged("runs of objects exceed the events", err);
		*o = (struct extent_object){
			.resource = (uint32_t)resource, .first = (uint32_t)first, .count = (uint32_t)run};
		o->namespace = column_get_text(r, COLUMN_NAMESPACE, previous.namespace, namespace);
		o->namespace = slice_equal(o->namespace, previous.namespace) ? previous.namespace
									     : extent_keep(x, o->namespace);
		o->name = extent_keep(x, column_get_parts(r, &r->names, previous.name, name));
		o->uid = extent_keep(x, column_get_uid(r, COLUMN_UID, uid));
		if (i && extent_compare_object(&previous, o) >= 0)
			return unpack_damaged("objects are not in order", err);
		if (extent_index_memory(x) > LIMIT_EXTENT_MEMORY)
			return unpack_damaged("names exceed the maximum", err);
		first += run;
		previous = *o;
	}
	return first == r->events ? 0 : unpack_damaged("runs of objects do not cover the events", err);
}

static int get_head(struct column_reader *r, struct extent_event *e, struct err *err)
{
	uint64_t head = column_get(r, COLUMN_HEAD), stream = column_get(r, COLUMN_STREAM);

	if (!head_is_known(head) || head & HEAD_RV_GIVEN || stream > UINT32_MAX)
		return unpack_damaged("event has an unknown type, origin or stream", err);
	e->head = (uint8_t)head;
	e->stream = (uint32_t)stream;
	return 0;
}

/* Fills the layout, which must be a permutation that goes up within each object's run. */
static int get_layout(struct column_reader *r, struct extent *x, struct err *err)
{
	int64_t place = 0, length = 0;
	size_t i = 0;

	for (size_t o = 0; o < x->object_count; o++) {
		for (uint32_t k = 0; k < x->objects[o].count; k++, i++) {
			int64_t before = place;

			place = wrap_add(place, unzigzag(column_get(r, COLUMN_PLACE)));
			length = wrap_add(length, unzigzag(column_get(r, COLUMN_LENGTH)));
			if (place < 0 || (uint64_t)place >= r->events || (k && place <= before))
				return unpack_damaged("layout is not in the order of events", err);
			if (length < MIN_OBJECT_BYTES || length > LIMIT_OBJECT_BYTES)
				return unpack_damaged("length of an object is out of bounds", err);
			x->layout[i] = (uint32_t)place;
			x->events[place].object = (uint32_t)o;
			x->events[place].length = (uint32_t)length;
			x->events[place].block++; /* counts visits until get_places numbers the blocks */
			if (r->by_object && get_head(r, &x->events[place], err))
				return ERR_CORRUPT;
		}
	}
	for (i = 0; i < r->events; i++) {
		if (x->events[i].block != 1)
			return unpack_damaged("layout names an event twice", err);
	}
	return 0;
}

/* The blocks of one kind, in order, each with the number of events it still takes. */
struct block_walk {
	struct varint_reader from;
	unsigned kind;
	uint64_t number, next_number, left;
	uint64_t offset;
};

static bool next_block(struct block_walk *w)
{
	while (w->from.at < w->from.end) {
		uint64_t block = varint_get(&w->from);

		w->number = w->next_number++;
		if ((block & 1) == w->kind) {
			w->left = block >> 1;
			w->offset = 0;
			return w->left > 0 && !w->from.failed;
		}
	}
	return false;
}

/* Which block an event lies in follows from its length, as pack.c fills packs and chains in layout order. */
static int get_places(struct column_reader *r, struct extent *x, struct err *err)
{
	struct block_walk walks[2] = {
		{.from = r->columns[COLUMN_BLOCK], .kind = BLOCK_PACK},
		{.from = r->columns[COLUMN_BLOCK], .kind = BLOCK_CHAIN},
	};

	for (size_t i = 0; i < r->blocks; i++)
		column_get(r, COLUMN_BLOCK);
	for (size_t i = 0; i < r->events; i++) {
		struct extent_event *e = &x->events[x->layout[i]];
		struct block_walk *w = &walks[pack_is_chained(x, e)];

		if (w->left == 0 && !next_block(w))
			return unpack_damaged("blocks hold fewer events than the index", err);
		e->block = (uint32_t)w->number;
		e->offset = (uint32_t)w->offset;
		w->offset += e->length;
		w->left--;
		x->raw_bytes += e->length;
		if (w->offset > LIMIT_BLOCK_BYTES || x->raw_bytes > LIMIT_CHUNK_BYTES)
			return unpack_damaged("objects exceed the maximum", err);
	}
	if (walks[0].left || walks[1].left || next_block(&walks[0]) || next_block(&walks[1]))
		return unpack_damaged("blocks hold more events than the index", err);
	return 0;
}

static bool get_rv(struct column_reader *r, struct extent *x, struct extent_event *e, uint64_t *previous)
{
	char scratch[LIMIT_NAME_BYTES];
	uint64_t value = column_get(r, COLUMN_RV);

	e->rv_is_text = value == 0;
	if (value) {
		*previous += (uint64_t)unzigzag(value - 1);
		e->rv = *previous;
		return true;
	}
	e->rv = extent_add_text(x, column_get_text(r, COLUMN_RV_TEXT, (struct slice){0}, scratch));
	return !r->columns[COLUMN_RV_TEXT].failed && extent_index_memory(x) <= LIMIT_EXTENT_MEMORY;
}

static int get_events(struct column_reader *r, struct extent *x, struct err *err)
{
	uint64_t seq = 0, rv = 0;
	int64_t time_ns = 0;

	for (size_t i = 0; i < r->events; i++) {
		struct extent_event *e = &x->events[i];
		uint64_t step = column_get(r, COLUMN_SEQ) + 1;

		if (step == 0 || seq + step < seq)
			return unpack_damaged("numbers of events go back", err);
		seq += step;
		time_ns = wrap_add(
			time_ns, (int64_t)((uint64_t)unzigzag(column_get(r, COLUMN_TIME)) * r->unit));
		if (!r->by_object && get_head(r, e, err))
			return ERR_CORRUPT;
		if (!get_rv(r, x, e, &rv))
			return unpack_damaged("event has an unknown resourceVersion", err);
		e->seq = seq;
		e->time_ns = time_ns;
		x->min_time_ns = time_ns < x->min_time_ns ? time_ns : x->min_time_ns;
		x->max_time_ns = time_ns > x->max_time_ns ? time_ns : x->max_time_ns;
	}
	return 0;
}

static int decode(struct slice raw, struct extent *x, struct err *err)
{
	struct column_reader r;
	int rc = column_reader_begin(raw, &r, err);

	if (rc)
		return rc;
	if (r.events > LIMIT_EXTENT_EVENTS || r.objects > r.events)
		return unpack_damaged("counts are out of bounds", err);
	x->event_count = r.events;
	x->object_count = r.objects;
	x->no_chains = r.by_object;
	if (extent_index_memory(x) > LIMIT_EXTENT_MEMORY)
		return unpack_damaged("events and objects exceed the maximum", err);
	extent_reserve(x, r.events, r.objects);
	x->layout = xcalloc(r.events, sizeof(*x->layout));
	if (r.events)
		memset(x->events, 0, r.events * sizeof(*x->events));
	if ((rc = get_objects(&r, x, err)) || (rc = get_layout(&r, x, err)) ||
		(rc = get_places(&r, x, err)) || (rc = get_events(&r, x, err)))
		return rc;
	x->sorted = true;
	return column_reader_done(&r)
		       ? 0
		       : unpack_damaged("columns are longer or shorter than the counts say", err);
}

int unpack_index_bytes(struct slice index, uint64_t index_raw_bytes, struct buf *to, struct err *err)
{
	if (index_raw_bytes > LIMIT_INDEX_BYTES || index.len > codec_bound(LIMIT_INDEX_BYTES))
		return err_set(err, ERR_CORRUPT, "index of %zu bytes claims %llu bytes, the maximum is %u",
			index.len, (unsigned long long)index_raw_bytes, LIMIT_INDEX_BYTES);
	return codec_unpack(index, index_raw_bytes, to, err);
}

int unpack_extent(struct slice raw, struct extent **ret, struct err *err)
{
	struct extent *x = extent_new();
	int rc = decode(raw, x, err);

	if (rc) {
		extent_unref(x);
		return rc;
	}
	*ret = x;
	return 0;
}

int unpack_index(struct slice index, uint64_t index_raw_bytes, struct extent **ret, struct err *err)
{
	struct buf raw;
	int rc;

	buf_init(&raw, LIMIT_INDEX_BYTES);
	rc = unpack_index_bytes(index, index_raw_bytes, &raw, err);
	if (!rc)
		rc = unpack_extent(buf_slice(&raw), ret, err);
	buf_release(&raw);
	return rc;
}

static int open_chain(struct block *b, struct slice data, struct err *err)
{
	struct varint_reader r;
	size_t raw = 0;

	if (data.len == 0)
		return err_set(err, ERR_CORRUPT, "chain is empty");
	if (b->events > CHAIN_LENGTH || buf_append(&b->data, data.ptr, data.len, err))
		return err_set(err, ERR_CORRUPT, "chain of %u versions exceeds %d", b->events, CHAIN_LENGTH);
	b->frame_end = xcalloc(b->events, sizeof(*b->frame_end));
	b->raw_end = xcalloc(b->events, sizeof(*b->raw_end));
	r = (struct varint_reader){
		(const uint8_t *)b->data.ptr, (const uint8_t *)b->data.ptr + b->data.len, false};
	for (uint32_t i = 0; i < b->events; i++) {
		uint64_t raw_len = varint_get(&r), frame_len = varint_get(&r);

		if (r.failed || frame_len > (uint64_t)(r.end - r.at) || raw_len > b->bytes.max - raw)
			return err_set(
				err, ERR_CORRUPT, "chain is cut short at version %u of %u", i, b->events);
		r.at += frame_len;
		raw += raw_len;
		b->frame_end[i] = (size_t)(r.at - (const uint8_t *)b->data.ptr);
		b->raw_end[i] = raw;
	}
	if (r.at != r.end || raw != b->bytes.max)
		return err_set(err, ERR_CORRUPT, "chain has %zu bytes, expected %zu", raw, b->bytes.max);
	return buf_reserve(&b->bytes, b->bytes.max) || raw == 0
		       ? 0
		       : err_set(err, ERR_TOO_LARGE, "no memory for a chain");
}

static int open_named(struct block *b, struct slice data, struct slice names, struct err *err)
{
	char *at = buf_reserve(&b->bytes, b->bytes.max);

	if (!at)
		return err_set(err, ERR_TOO_LARGE, "no memory for a pack");
	if (codec_unpack_delta(names, data, at, b->bytes.max, err))
		return ERR_CORRUPT;
	b->bytes.len = b->bytes.max;
	return 0;
}

int block_open(enum block_kind kind, struct slice data, uint32_t events, uint64_t raw_bytes,
	struct slice names, struct block **ret, struct err *err)
{
	struct block *b;
	int rc;

	if (raw_bytes > LIMIT_BLOCK_BYTES || events == 0 || raw_bytes < (uint64_t)events * MIN_OBJECT_BYTES)
		return err_set(err, ERR_CORRUPT, "block claims %u objects in %llu bytes, the maximum is %u",
			events, (unsigned long long)raw_bytes, LIMIT_BLOCK_BYTES);
	if (data.len > codec_bound(raw_bytes) + CHAIN_LENGTH * FRAME_HEAD_BYTES)
		return err_set(err, ERR_CORRUPT, "block of %zu bytes claims to be %llu bytes packed",
			data.len, (unsigned long long)raw_bytes);
	b = xcalloc(1, sizeof(*b));
	b->kind = kind;
	b->events = events;
	buf_init(&b->bytes, raw_bytes);
	buf_init(&b->data, LIMIT_CHUNK_BYTES);
	rc = kind == BLOCK_CHAIN   ? open_chain(b, data, err)
	     : kind == BLOCK_NAMED ? open_named(b, data, names, err)
				   : codec_unpack(data, raw_bytes, &b->bytes, err);
	if (rc) {
		block_free(b);
		return rc;
	}
	*ret = b;
	return 0;
}

/* Puts the versions back. */
static int dress(struct pack_walk walk, struct block *b, uint64_t raw_bytes, struct err *err)
{
	struct slice left = buf_slice(&b->bytes);
	const struct extent_event *e;
	struct buf whole;

	buf_init(&whole, raw_bytes);
	while ((e = pack_walk_next(&walk))) {
		struct slice bare = {left.ptr, bare_length(walk.x, e)};

		if (!bare.len || bare.len > left.len || !bare_get(walk.x, e, bare, &whole))
			break;
		left = (struct slice){left.ptr + bare.len, left.len - bare.len};
	}
	buf_release(&b->bytes);
	b->bytes = whole;
	return !e && !left.len && whole.len == raw_bytes
		       ? 0
		       : err_set(err, ERR_CORRUPT, "bare pack does not fit the index");
}

static int open_bare(struct pack_walk walk, struct slice data, uint32_t events, uint64_t raw_bytes,
	struct slice names, struct block **ret, struct err *err)
{
	struct pack_walk to_count = walk;
	const struct extent_event *e;
	struct block *b;
	uint64_t bytes = 0;
	int rc;

	if (raw_bytes > LIMIT_BLOCK_BYTES)
		return err_set(err, ERR_CORRUPT, "block claims %llu bytes, the maximum is %u",
			(unsigned long long)raw_bytes, LIMIT_BLOCK_BYTES);
	while ((e = pack_walk_next(&to_count)))
		bytes += bare_length(walk.x, e);
	rc = block_open(BLOCK_NAMED, data, events, bytes, names, &b, err);
	if (rc)
		return rc;
	rc = dress(walk, b, raw_bytes, err);
	if (rc)
		block_free(b);
	else
		*ret = b;
	return rc;
}

int block_open_of(const struct extent *x, uint32_t index, enum block_kind kind, struct slice data,
	uint32_t events, uint64_t raw_bytes, struct block **ret, struct err *err)
{
	struct buf names;
	int rc = 0;

	buf_init(&names, LIMIT_PREFIX_BYTES);
	if (kind == BLOCK_NAMED || kind == BLOCK_BARE)
		rc = pack_names(x, index, &names, err);
	if (!rc && kind == BLOCK_BARE)
		rc = open_bare(
			pack_walk_begin(x, index), data, events, raw_bytes, buf_slice(&names), ret, err);
	else if (!rc)
		rc = block_open(kind, data, events, raw_bytes, buf_slice(&names), ret, err);
	buf_release(&names);
	return rc;
}

void block_free(struct block *b)
{
	if (!b)
		return;
	buf_release(&b->bytes);
	buf_release(&b->data);
	free(b->frame_end);
	free(b->raw_end);
	free(b);
}

static int decode_next_version(struct block *b, struct err *err)
{
	uint32_t i = b->decoded;
	size_t raw_begin = i ? b->raw_end[i - 1] : 0, previous_begin = i > 1 ? b->raw_end[i - 2] : 0;
	struct slice previous = {b->bytes.ptr + previous_begin, raw_begin - previous_begin};
	struct varint_reader r = {(const uint8_t *)b->data.ptr + (i ? b->frame_end[i - 1] : 0),
		(const uint8_t *)b->data.ptr + b->frame_end[i], false};

	varint_get(&r);
	varint_get(&r);
	if (codec_unpack_delta(previous, (struct slice){(const char *)r.at, (size_t)(r.end - r.at)},
		    b->bytes.ptr + raw_begin, b->raw_end[i] - raw_begin, err))
		return ERR_CORRUPT;
	b->bytes.len = b->raw_end[i];
	b->decoded++;
	return 0;
}

int block_get(struct block *b, uint64_t offset, uint64_t length, struct slice *ret, struct err *err)
{
	if (length == 0 || offset > b->bytes.max || length > b->bytes.max - offset)
		return err_set(err, ERR_CORRUPT, "block of %zu bytes has no object of %llu bytes at %llu",
			b->bytes.max, (unsigned long long)length, (unsigned long long)offset);
	while (b->bytes.len < offset + length) {
		if (b->kind != BLOCK_CHAIN || b->decoded == b->events)
			return err_set(err, ERR_CORRUPT, "block ends at %zu bytes", b->bytes.len);
		if (decode_next_version(b, err))
			return ERR_CORRUPT;
	}
	*ret = (struct slice){b->bytes.ptr + offset, length};
	return 0;
}

/* Each entry ends with a byte below 0x80. */
static size_t count_entries(struct slice filter)
{
	size_t count = 0;

	for (size_t i = 0; i < filter.len; i++)
		count += !(filter.ptr[i] & 0x80);
	return count;
}

int filter_decode(struct slice filter, uint32_t **ret_hashes, size_t *ret_count, struct err *err)
{
	struct varint_reader r = {
		(const uint8_t *)filter.ptr, (const uint8_t *)filter.ptr + filter.len, false};
	size_t count = count_entries(filter), n = 0;
	uint32_t *hashes;
	uint64_t hash = 0;

	if (count > 2 * LIMIT_EXTENT_EVENTS)
		return err_set(err, ERR_CORRUPT, "filter of an extent has %zu entries, the maximum is %u",
			count, 2 * LIMIT_EXTENT_EVENTS);
	hashes = xmalloc((count + 1) * sizeof(*hashes));
	while (r.at < r.end) {
		hash += varint_get(&r);
		if (r.failed || hash > UINT32_MAX) {
			free(hashes);
			return err_set(err, ERR_CORRUPT, "filter of an extent is damaged at entry %zu", n);
		}
		hashes[n++] = (uint32_t)hash;
	}
	*ret_hashes = hashes;
	*ret_count = n;
	return 0;
}

/* Hashes are spread evenly: a hash lies near the place that its value suggests, which saves most of the way. */
#define HASH_NEAR 64

static void look_near(const uint32_t *hashes, uint32_t hash, size_t *low, size_t *high)
{
	size_t guess = (size_t)((uint64_t)hash * *high >> 32);
	size_t from = guess > HASH_NEAR ? guess - HASH_NEAR : 0, to = guess + HASH_NEAR;

	if (from > 0 && hashes[from - 1] < hash)
		*low = from;
	if (to < *high && hashes[to] >= hash)
		*high = to;
}

bool filter_has(const uint32_t *hashes, size_t count, uint32_t hash)
{
	size_t low = 0, high = count;

	look_near(hashes, hash, &low, &high);
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (hashes[middle] < hash)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && hashes[low] == hash;
}
