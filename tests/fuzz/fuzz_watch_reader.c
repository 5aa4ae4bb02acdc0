/*
 * fuzz_watch_reader.c: the body of a watch in any of its framings. Input: a byte that says which framing and
 * in what steps the bytes arrive, then the bytes. However they are cut, the same events come out, and what is
 * read of them is JSON.
 */
#include "schema/base/hash.h"
#include "schema/base/log.h"
#include "tests/fuzz/fuzz.h"
#include "tools/tee/watch_reader.h"

struct found {
	uint64_t events, hash;
};

static int take(void *context, const struct watch_event *e)
{
	struct found *f = context;
	struct object_meta meta;

	f->events++;
	f->hash = hash_add(hash_add(f->hash, e->raw), e->frame.type);
	if (e->is_read && e->frame.object.len)
		(void)!json_scan_object(e->frame.object, &meta, NULL);
	return 0;
}

/* True when all of it could be read. */
static bool read_all(struct slice bytes, const char *type, bool is_websocket, size_t step, struct found *ret)
{
	struct watch_reader *r = watch_reader_new(slice_of(type), is_websocket);
	bool goes_on = true;

	for (size_t at = 0; at < bytes.len && goes_on; at += step) {
		size_t n = bytes.len - at < step ? bytes.len - at : step;

		goes_on = watch_reader_feed(r, (struct slice){bytes.ptr + at, n}, take, ret, NULL) == 0;
	}
	if (goes_on)
		goes_on = watch_reader_end(r, take, ret, NULL) == 0;
	watch_reader_free(r);
	return goes_on;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const types[] = {"application/json",
		"application/vnd.kubernetes.protobuf;stream=watch", "application/cbor-seq", "text/plain"};
	struct found whole = {0, HASH_EMPTY}, cut = {0, HASH_EMPTY};
	struct slice bytes = {(const char *)data + 1, size - 1};
	bool is_websocket;
	const char *type;

	if (size < 2)
		return 0;
	log_set_level(LOG_LEVEL_ERROR);
	type = types[data[0] & 3];
	is_websocket = data[0] & 4;
	if (read_all(bytes, type, is_websocket, bytes.len, &whole) &&
		read_all(bytes, type, is_websocket, 1 + (data[0] >> 3), &cut))
		fuzz_demand(whole.events == cut.events && whole.hash == cut.hash);
	return 0;
}
