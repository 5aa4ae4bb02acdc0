/*
 * rv.h: resourceVersions. A resourceVersion is decimal digits without leading zeros, kept as text everywhere
 * and compared by length and then bytewise; it need not fit 64 bits. Comparable only within one resource of
 * one cluster. "" and anything else that is not all digits is malformed: kept, never ordered.
 */
#ifndef SCHEMA_BASE_RV_H
#define SCHEMA_BASE_RV_H

#include "schema/base/buf.h"

/* True for 1 to 40 digits; leading zeros are allowed, as the API server allows them in requests. */
bool rv_valid(struct slice rv);

/* <0, 0, >0. Both must be valid; leading zeros do not count. */
int rv_compare(struct slice a, struct slice b);

/* The number when it is canonical (no leading zero but "0" itself) and fits 64 bits, else false. */
bool rv_to_u64(struct slice rv, uint64_t *ret_number);

#endif
