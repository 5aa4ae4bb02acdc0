/*
 * fuzz_block.c: a block as it is stored, and what is asked of it. Input: kind, events, raw bytes (3), then
 * the stored bytes; in a second form (high bit of kind) the bytes are what frames of a chain are to hold, in a
 * third (the next bit) what that of a bare pack is to hold, so that the fuzzer need not guess checksums.
 */
#include "schema/base/count_of.h"
#include "schema/base/limits.h"
#include "schema/base/varint.h"
#include "schema/tape/codec.h"
#include "schema/tape/pack.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>

#define HEAD_BYTES 5

/* Whatever is asked, an answer lies inside the block or is a sentence. */
static void ask(struct block *b, uint64_t raw_bytes)
{
	const uint64_t offsets[] = {0, 1, 2, raw_bytes / 2, raw_bytes - 1, raw_bytes, UINT64_MAX};

	for (size_t i = 0; i < COUNT_OF(offsets); i++) {
		for (size_t k = 0; k < COUNT_OF(offsets); k++) {
			struct err err = {0};
			struct slice got;
			int failed = block_get(b, offsets[i], offsets[k], &got, &err);

			fuzz_demand(failed ? err.code == ERR_CORRUPT : got.len == offsets[k]);
			if (!failed && got.len)
				fuzz_demand(codec_hash(got) == codec_hash(got)); /* every byte can be read */
		}
	}
}

static void run(enum block_kind kind, struct slice data, uint32_t events, uint64_t raw_bytes)
{
	struct err err = {0};
	struct block *b;

	if (block_open(kind, data, events, raw_bytes, slice_of("\"name\":\"web\""), &b, &err)) {
		fuzz_demand(err.code == ERR_CORRUPT && err.text[0]);
		return;
	}
	ask(b, raw_bytes);
	block_free(b);
}

/* A chain whose versions are `step` bytes each, made with the right frames, then given wrong lengths. */
static void run_made(struct slice text, uint32_t events, uint64_t raw_bytes)
{
	uint8_t head[2 * VARINT_MAX_BYTES];
	struct slice previous = {NULL, 0};
	struct buf data;
	size_t step = events ? text.len / events : 0;

	buf_init(&data, LIMIT_CHUNK_BYTES);
	for (uint32_t i = 0; i < events && step; i++) {
		struct slice version = {text.ptr + i * step, step};
		struct buf frame;
		size_t n;

		buf_init(&frame, LIMIT_CHUNK_BYTES);
		fuzz_demand(codec_pack_delta(previous, version, 1, &frame, NULL) == 0);
		n = varint_put(head, i == raw_bytes % 7 ? (uint64_t)text.ptr[0] : step);
		n += varint_put(head + n, frame.len);
		fuzz_demand(buf_append(&data, head, n, NULL) == 0);
		fuzz_demand(buf_append(&data, frame.ptr, frame.len, NULL) == 0);
		previous = version;
		buf_release(&frame);
	}
	run(BLOCK_CHAIN, buf_slice(&data), events, step * events);
	buf_release(&data);
}

/* So many versions of one pod, whose texts fill the bytes evenly. */
static struct extent *made_extent(size_t bytes, uint32_t events)
{
	struct extent *x = extent_new();

	for (uint32_t i = 0; i < events; i++) {
		char rv[16], object[LIMIT_NAME_BYTES] = {0};
		struct event e = {.seq = i + 1, .resource = 1, .stream = 1, .name = slice_of("web")};
		size_t part = bytes * (i + 1) / events - bytes * i / events;

		snprintf(rv, sizeof(rv), "%u", i * i * i * 7);
		e.rv = slice_of(rv);
		e.origin = i % 4 == 3 ? ORIGIN_INFERRED : ORIGIN_WATCH;
		part += e.origin == ORIGIN_INFERRED ? 0 : e.rv.len;
		if (part > sizeof(object))
			break;
		fuzz_demand(extent_add(x, &e, (struct slice){object, part}, NULL) == 0);
	}
	extent_sort(x);
	x->no_chains = true;
	return x;
}

static void run_bare(struct slice text, uint32_t events, uint64_t raw_bytes)
{
	struct extent *x = made_extent(text.len, events);
	struct buf names, frame;
	struct err err = {0};
	struct block *b;

	buf_init(&names, LIMIT_PREFIX_BYTES);
	buf_init(&frame, LIMIT_CHUNK_BYTES);
	if (x->event_count) {
		fuzz_demand(pack_names(x, 0, &names, NULL) == 0);
		fuzz_demand(codec_pack_delta(buf_slice(&names), text, 1, &frame, NULL) == 0);
		raw_bytes = raw_bytes % 4 ? x->raw_bytes : raw_bytes;
		if (block_open_of(x, 0, BLOCK_BARE, buf_slice(&frame), events, raw_bytes, &b, &err) == 0) {
			ask(b, raw_bytes);
			block_free(b);
		} else {
			fuzz_demand(err.code == ERR_CORRUPT && err.text[0]);
		}
	}
	buf_release(&frame);
	buf_release(&names);
	extent_unref(x);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct slice rest;
	uint64_t raw_bytes;

	if (len < HEAD_BYTES)
		return 0;
	raw_bytes = (uint64_t)bytes[2] | (uint64_t)bytes[3] << 8 | (uint64_t)bytes[4] << 16;
	rest = (struct slice){(const char *)bytes + HEAD_BYTES, len - HEAD_BYTES};
	if (bytes[0] & 0x80)
		run_made(rest, bytes[1] % 20, raw_bytes);
	else if (bytes[0] & 0x40)
		run_bare(rest, 1 + bytes[1] % 8, raw_bytes);
	else
		run((enum block_kind)(bytes[0] % 3), rest, bytes[1], raw_bytes);
	return 0;
}
