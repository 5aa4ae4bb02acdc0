/*
 * json_diff.h: where two JSON documents differ.
 *
 * Subtrees with equal bytes are skipped without being read, so that the cost follows the size of the change.
 * Items of arrays are matched by their naming member (name, type, key, ... if all items have it and no two
 * share a value), plain values of arrays that grew or shrank by themselves, everything else by position. An
 * array that only changed its order is one change of the whole array; so is an object with a duplicate name
 * if its names have changed. White space and the escapes of strings make no difference; numbers are compared
 * as they are written.
 */
#ifndef SCHEMA_SQL_JSON_DIFF_H
#define SCHEMA_SQL_JSON_DIFF_H

#include "schema/base/buf.h"

/* Values are raw JSON and borrow from the documents; the empty slice is "absent". Names borrow from the
 * diff. */
struct json_change {
	/* Both without the escapes of JSON. */
	struct slice
		path; /* "$.spec.containers[0].image": in the new document, of a removal in the old one */
	struct slice field; /* "spec.containers[web].image": items by what names them */
	struct slice old_value, new_value;
};

struct json_diff;

struct json_diff *json_diff_new(void);
void json_diff_free(struct json_diff *d);

/* Replaces what d held. `with_noise`: also metadata.managedFields and metadata.resourceVersion, which every
 * write changes. ERR_PROTOCOL if one is not JSON. */
int json_diff_make(
	struct json_diff *d, struct slice old, struct slice new, bool with_noise, struct err *err) MUST_CHECK;

size_t json_diff_count(const struct json_diff *d);
/* Valid until the next json_diff_make. */
struct json_change json_diff_at(const struct json_diff *d, size_t index);

/* The values of metadata.managedFields that the comparison has passed, absent ones empty. False if it did not
 * get there, because nothing or all of metadata differs, or noise was compared as well. */
bool json_diff_managers(const struct json_diff *d, struct slice *ret_old, struct slice *ret_new);

#endif
