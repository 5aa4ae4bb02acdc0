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

/* Moves the time that stands there (timestamp_parse said so) by this number of nanoseconds, in as many digits as it
 * has; what is finer is cut off. Left as it is when the result would be no such time. */
void timestamp_shift(char *text, size_t len, int64_t by_ns);

#endif
