/*
 * fuzz_protobuf.c: protobuf bodies. What is accepted is JSON by the letter, printed as Go prints it (compact,
 * < and > and & escaped); what is refused leaves the buffer as it was and a sentence. An input that is no
 * envelope is taken as the object of a kind that its first two bytes pick.
 */
#include "replayer/protobuf/protobuf.h"
#include "replayer/protobuf/protobuf_table.h"
#include "schema/base/json_compact.h"
#include "schema/base/json_scan.h"
#include "tests/fuzz/fuzz.h"

#define JSON_MAX (16u << 20)

static void put(struct buf *to, const void *bytes, size_t len)
{
	fuzz_demand(buf_append(to, bytes, len, NULL) == 0);
}

/* Texts here are shorter than 128 bytes, so that a length is one byte. */
static void put_text(struct buf *to, char number, const char *text)
{
	char head[2] = {(char)(number << 3 | 2), (char)strlen(text)};

	put(to, head, sizeof(head));
	put(to, text, strlen(text));
}

static void put_envelope(struct buf *to, unsigned pick, struct slice object)
{
	const struct protobuf_kind *kind = &protobuf_kinds[pick % protobuf_kind_count];
	const char *api_version = protobuf_names[kind->api_version];
	struct buf type;
	char head[2], tag = 2 << 3 | 2;

	buf_init(&type, JSON_MAX);
	put_text(&type, 1, *api_version ? api_version : "v1");
	put_text(&type, 2, protobuf_names[kind->kind]);
	head[0] = 1 << 3 | 2;
	head[1] = (char)type.len;
	put(to, "k8s", 4);
	put(to, head, sizeof(head));
	put(to, type.ptr, type.len);
	put(to, &tag, 1);
	for (size_t len = object.len;; len >>= 7) {
		char byte = (char)(len > 0x7f ? (len & 0x7f) | 0x80 : len);

		put(to, &byte, 1);
		if (len <= 0x7f)
			break;
	}
	put(to, object.ptr, object.len);
	buf_release(&type);
}

static void decode(struct slice body)
{
	struct buf json, again;
	struct object_meta meta;
	struct err err = {0};

	buf_init(&json, JSON_MAX);
	buf_init(&again, JSON_MAX);
	put(&json, "-", 1);
	if (protobuf_to_json(body, &json, &err) < 0) {
		fuzz_demand(json.len == 1 && err.code < 0 && err.text[0]);
	} else {
		struct slice text = {json.ptr + 1, json.len - 1};

		fuzz_demand(json_compact(text, &again, &err) == 0);
		fuzz_demand(slice_equal(buf_slice(&again), text));
		fuzz_demand(json_scan_object(text, &meta, &err) == 0);
	}
	buf_release(&json);
	buf_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct slice input = {(const char *)bytes, len};
	struct buf body;

	if (protobuf_is_envelope(input) || len < 2) {
		decode(input);
		return 0;
	}
	buf_init(&body, JSON_MAX);
	put_envelope(&body, (unsigned)(bytes[0] << 8 | bytes[1]), (struct slice){input.ptr + 2, len - 2});
	decode(buf_slice(&body));
	buf_release(&body);
	return 0;
}
