/*
 * json_compact.h: JSON that a client put inside of something else: checked by the letter and printed without
 * white space, as Go prints an embedded raw value.
 */
#ifndef REPLAYER_JSON_COMPACT_H
#define REPLAYER_JSON_COMPACT_H

#include "schema/base/buf.h"

/* Appends the one JSON value in `json`. Strings keep their bytes, except that <, > and & and the line
 * separators U+2028 and U+2029 become escapes. ERR_PROTOCOL with the byte at which it is not JSON,
 * ERR_TOO_LARGE if it does not fit or nests deeper than LIMIT_JSON_DEPTH; the part appended until then
 * stays. */
int json_compact(struct slice json, struct buf *to, struct err *err) MUST_CHECK;

/* Whether `json` is one JSON value: 0, or the errors of json_compact with the byte of the error and what was
 * expected there (a constant). */
int json_check(struct slice json, size_t *ret_at, const char **ret_expected) MUST_CHECK;

#endif
