/*
 * json_scan.h: reading JSON without building it.
 *
 * The recorder looks at every event that a cluster sends, so the scanner skips everything that is not asked
 * for. It walks the top of a document and jumps over values by counting brackets, 64 bytes at a time (with
 * AVX2 and PCLMULQDQ where the CPU has them, chosen at run time). It always walks to the end, which proves
 * that strings close, brackets balance and nothing follows; inside skipped values it checks neither numbers
 * and words nor that { is closed by } and not by ]. Slices returned are borrowed from the input; string
 * slices are without quotes and still escaped. Errors are ERR_PROTOCOL with the byte offset. Duplicate
 * members: the last one counts, as in Go.
 */
#ifndef SCHEMA_BASE_JSON_SCAN_H
#define SCHEMA_BASE_JSON_SCAN_H

#include "schema/base/buf.h"

/* What identifies an object. A member that is absent, or not a string, is the empty slice. */
struct object_meta {
	struct slice kind, api_version;
	struct slice namespace, name, uid, rv; /* of metadata */
	struct slice creation_timestamp;       /* of metadata */
};

/* One event of a watch stream, without its line feed. */
struct watch_frame {
	struct slice type;       /* ADDED, MODIFIED, DELETED, BOOKMARK, ERROR */
	struct slice object;     /* the bytes of the value of "object" */
	struct object_meta meta; /* of that object */
};

/* One page of a list. */
struct list_page {
	struct slice kind, api_version;
	struct slice rv, continue_token, remaining; /* of metadata; remaining as its digits */
	struct slice items; /* the array, brackets included; empty slice when null or absent */
};

int json_scan_frame(struct slice json, struct watch_frame *ret, struct err *err) MUST_CHECK;
int json_scan_object(struct slice json, struct object_meta *ret, struct err *err) MUST_CHECK;
int json_scan_list(struct slice json, struct list_page *ret, struct err *err) MUST_CHECK;

/* Walks an array or an object: give the whole value first, then the same iterator again and again.
 * Returns 1 with the next value (and key, for objects; ret_key may be NULL), 0 at the end and ever after,
 * negative when it is not JSON. Offsets in errors count from where the last call ended. */
struct json_iter {
	struct slice rest;
	bool is_object, started, ended;
};
int json_iter_begin(struct slice value, struct json_iter *ret, struct err *err) MUST_CHECK;
int json_iter_next(
	struct json_iter *it, struct slice *ret_key, struct slice *ret_value, struct err *err) MUST_CHECK;

/* The value at a path: "$.metadata.labels.app", "metadata.labels['a.b/c']", "spec.containers[0].image", "$"
 * for the whole. Returns 1 with the raw value (strings with their quotes), 0 if there is none, ERR_USAGE for
 * a bad path, ERR_PROTOCOL if the document is not JSON. */
int json_get(struct slice json, const char *path, struct slice *ret_value, struct err *err) MUST_CHECK;

/* The string at that path, without its quotes and with its escapes; empty if there is no string. */
struct slice json_get_text(struct slice json, const char *path);

/* Appends the text of an escaped string (UTF-8; lone surrogates become U+FFFD). `string` is given with or
 * without its quotes. */
int json_unescape(struct slice string, struct buf *to, struct err *err) MUST_CHECK;

/* Whether the string, with or without its quotes, escaped or not, means `text`. */
bool json_text_is(struct slice string, const char *text);

/* Bytewise order of the texts of two strings, both with or both without their quotes; a malformed one is
 * compared by its own bytes. */
int json_text_compare(struct slice a, struct slice b);

/* Appends `text` as a JSON string with quotes, escaped as Kubernetes' own encoder does: also <, > and &. */
int json_escape(struct slice text, struct buf *to, struct err *err) MUST_CHECK;

/* Without the white space that JSON allows around a value. */
struct slice json_trim(struct slice json);

/* For tests and benchmarks: 0 portable, 1 the best this CPU can; returns the engine in force (0 portable, 1
 * AVX2). Negative asks without changing. */
int json_scan_engine(int engine);

#endif
