/*
 * fuzz_road.c: what a client and a server may say to each other through a tee. Input: a byte that says which
 * protocol was agreed on and in what steps the bytes arrive, then pieces, each with a byte before it: its
 * length, and in the highest bit who says it. Whatever is said, everything that was told to begin is told to
 * end, once; and what passes unread passes whole.
 */
#include "schema/base/log.h"
#include "tests/fuzz/fuzz.h"
#include "tools/tee/road.h"

#include <stdlib.h>

#define FEED_BYTES ((size_t)1 << 20)
#define HELD_BYTES ((size_t)64 << 20)

static void no_room(void *context)
{
	(void)context;
}

/* As the desk would: every request that has begun ends. */
static void check_feed(struct feed *f)
{
	uint64_t begun = 0, ended = 0;
	bool closed = false;

	feed_close(f);
	while (!closed) {
		struct feed_block *b = feed_take(f, 0, &closed), *next;

		for (; b; b = next) {
			const struct feed_item *item;
			size_t at = 0;

			next = b->next;
			while ((item = feed_next(b, &at))) {
				begun += item->kind == FEED_REQUEST;
				ended += item->kind == FEED_END;
				fuzz_demand(item->id > 0 && item->id <= begun);
			}
			feed_give_back(f, b);
		}
	}
	fuzz_demand(begun == ended);
}

static bool say(struct road *r, bool by_server, struct slice piece, struct buf *out)
{
	size_t before = out->len, len = piece.len;
	bool was_raw = road_protocol(r) == ROAD_RAW;

	if (by_server)
		return road_answer(r, piece, NULL) == 0;
	if (road_request(r, &piece, out, NULL))
		return false;
	fuzz_demand(piece.len == 0 || road_waits(r));
	fuzz_demand(!was_raw || out->len - before == len);
	buf_clear(out);
	return true;
}

static void converse(struct road *r, const uint8_t *data, size_t size, size_t step)
{
	struct buf out;
	bool goes_on = true;

	buf_init(&out, HELD_BYTES);
	for (size_t at = 0; at < size && goes_on;) {
		bool by_server = data[at] & 0x80;
		size_t len = data[at++] & 0x7f;

		len = len < size - at ? len : size - at;
		for (size_t done = 0; done < len && goes_on; done += step) {
			size_t n = len - done < step ? len - done : step;

			goes_on = say(r, by_server, (struct slice){(const char *)data + at + done, n}, &out);
		}
		at += len;
	}
	buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum road_protocol protocols[] = {ROAD_UNDECIDED, ROAD_HTTP1, ROAD_HTTP2};
	struct rewrite rewrite = {.authority = "real:6443", .secret = "s"};
	struct feed *f = feed_new(FEED_BYTES, no_room, NULL);
	uint64_t last = 0;
	struct road_options o = {f, &rewrite, 1, &last};
	struct road *r;

	log_set_level(LOG_LEVEL_ERROR);
	if (size) {
		rewrite.says_who = data[0] & 0x40;
		r = road_new(&o, protocols[data[0] % 3]);
		converse(r, data + 1, size - 1, data[0] & 0x20 ? 1 : 128);
		road_end(r, data[0] & 0x10 ? PARTY_CLIENT : PARTY_SERVER,
			data[0] & 0x08 ? ROAD_FIN : ROAD_RESET);
		road_end(r, PARTY_SERVER, ROAD_RESET);
		road_free(r);
	}
	check_feed(f);
	feed_free(f);
	return 0;
}
