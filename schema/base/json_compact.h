/*
 * json_compact.h: JSON that a client put inside of something else: checked by the letter and printed without
 * white space, as Go prints an embedded raw value.
 */
#ifndef REPLAYER_JSON_COMPACT_H
#define REPLAYER_JSON_COMPACT_H

#include "schema/base/buf.h"

/* Appends the one JSON value that `json` is. Strings keep their bytes, but that <, > and & and the line
 * separators U+2028 and U+2029 become escapes. ERR_PROTOCOL with the byte where it is no JSON, ERR_TOO_LARGE
 * when it does not fit or nests deeper than LIMIT_JSON_DEPTH; what was appended until then stays. */
int json_compact(struct slice json, struct buf *to, struct err *err) MUST_CHECK;

/* Whether `json` is one JSON value: 0, or as json_compact with the byte where it is not and what was expected
 * there (a constant). */
int json_check(struct slice json, size_t *ret_at, const char **ret_expected) MUST_CHECK;

#endif
