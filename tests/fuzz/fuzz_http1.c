/*
 * fuzz_http1.c: what a client may send on an HTTP/1.1 connection. Input: a byte that says in what steps it
 * arrives, then the bytes. However they are cut, the reader must come to the same result.
 */
#include "replayer/wire/http1.h"
#include "schema/base/limits.h"
#include "tests/fuzz/fuzz.h"

struct outcome {
	int head;
	size_t headers;
	struct http1_framing framing;
	int chunks; /* bytes of a chunked body that were used, or the error */
	enum http1_chunk_state state;
	size_t body;
};

static struct outcome read_whole(struct slice in, size_t step)
{
	struct outcome o = {0};
	struct http_request request;
	struct http1_chunks chunks = {0};
	struct buf body;
	size_t scanned = 0, have = 0, used = 0;

	buf_init(&body, LIMIT_REQUEST_BODY_BYTES);
	while (o.head == 0 && have < in.len) {
		have = have + step < in.len ? have + step : in.len;
		o.head = http1_read_head((struct slice){in.ptr, have}, &scanned, &request, &o.framing, NULL);
	}
	if (o.head > 0) {
		o.headers = request.header_count;
		fuzz_demand((size_t)o.head <= in.len && request.target.len > 0);
		in = (struct slice){in.ptr + o.head, in.len - (size_t)o.head};
	}
	for (have = 0; o.head > 0 && o.chunks >= 0 && have < in.len; used += (size_t)o.chunks) {
		have = have + step < in.len ? have + step : in.len;
		o.chunks =
			http1_read_chunks(&chunks, (struct slice){in.ptr + used, have - used}, &body, NULL);
		if (o.chunks < 0)
			break;
	}
	o.chunks = o.chunks < 0 ? o.chunks : (int)used;
	o.state = chunks.state;
	o.body = body.len;
	buf_release(&body);
	return o;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct slice in = {(const char *)bytes + 1, len ? len - 1 : 0};
	struct outcome one, other;

	if (len == 0)
		return 0;
	one = read_whole(in, in.len ? in.len : 1);
	other = read_whole(in, bytes[0] ? bytes[0] : 1);
	fuzz_demand(one.head == other.head);
	if (one.head > 0) {
		fuzz_demand(one.headers == other.headers);
		fuzz_demand(one.framing.keep_alive == other.framing.keep_alive);
		fuzz_demand(one.framing.content_length == other.framing.content_length);
		fuzz_demand((one.chunks < 0) == (other.chunks < 0));
		fuzz_demand(one.chunks < 0 || (one.state == other.state && one.body == other.body));
	}
	return 0;
}
