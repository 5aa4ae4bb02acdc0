/*
 * fuzz_index.c: the index of an extent, given as the columns that its frame decodes to. What unpack_index
 * takes is an extent in every respect: ordered, complete, and found again by what it holds.
 */
#include "schema/base/limits.h"
#include "schema/tape/codec.h"
#include "schema/tape/pack.h"
#include "tests/fuzz/fuzz.h"

static void check_objects(const struct extent *x)
{
	size_t events = 0;

	for (size_t o = 0; o < x->object_count; o++) {
		const struct extent_object *object = &x->objects[o];
		size_t end, first;

		first = extent_find_key(x, object->resource, object->namespace, object->name, &end);
		fuzz_demand(first <= o && o < end);
		fuzz_demand(object->first == events && object->count > 0);
		events += object->count;
		for (uint32_t k = 1; k < object->count; k++)
			fuzz_demand(x->layout[object->first + k - 1] < x->layout[object->first + k]);
	}
	fuzz_demand(events == x->event_count);
}

static void check_events(const struct extent *x)
{
	uint64_t raw_bytes = 0;

	for (size_t i = 0; i < x->event_count; i++) {
		char rv[RV_TEXT_BYTES];
		struct event e;

		extent_event_get(x, i, rv, &e);
		fuzz_demand(extent_find_seq(x, e.seq) == i);
		fuzz_demand(e.rv.len <= LIMIT_NAME_BYTES && e.bytes <= LIMIT_OBJECT_BYTES);
		fuzz_demand(e.time_ns >= x->min_time_ns && e.time_ns <= x->max_time_ns);
		fuzz_demand(e.type <= EVENT_DELETED && e.origin <= ORIGIN_INFERRED);
		raw_bytes += e.bytes;
	}
	fuzz_demand(raw_bytes == x->raw_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct slice raw = {(const char *)bytes, len};
	struct extent *x;
	struct buf frame;
	struct err err = {0};

	buf_init(&frame, LIMIT_INDEX_BYTES);
	if (codec_pack(raw, 1, &frame, &err))
		abort();
	if (unpack_index(buf_slice(&frame), len, &x, &err) == 0) {
		check_objects(x);
		check_events(x);
		extent_unref(x);
	} else {
		fuzz_demand(err.code == ERR_CORRUPT && err.text[0]);
	}
	if (unpack_index(raw, 4 * len, &x, &err) == 0) /* the bytes as a frame */
		extent_unref(x);
	buf_release(&frame);
	return 0;
}
