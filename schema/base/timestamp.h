/*
 * timestamp.h: times as objects of Kubernetes hold them: a text that is a whole RFC 3339 time, with seconds
 * ("2026-11-21T08:44:17Z"), a fraction of one to nine digits, and Z or an offset. Only years from 2000 to
 * 2199 count: the others (the zero time of Go, "9999-12-31") are words for never and for always.
 */
#ifndef SCHEMA_BASE_TIMESTAMP_H
#define SCHEMA_BASE_TIMESTAMP_H

#include "schema/base/buf.h"

/* Whether the text, without quotes, is one; *ret_ns is Unix time and may be NULL. */
bool timestamp_parse(struct slice text, int64_t *ret_ns);

/* Moves the time in the text (timestamp_parse accepted it) by this number of nanoseconds, in as many digits
 * as it has; finer digits are cut off. Leaves it unchanged if the result would not be such a time. */
void timestamp_shift(char *text, size_t len, int64_t by_ns);

#endif
