/* patch_json.h: JSON Patch (RFC 6902) and JSON Merge Patch (RFC 7386). */
#ifndef REPLAYER_PATCH_JSON_H
#define REPLAYER_PATCH_JSON_H

#include "replayer/json/json_tree.h"

#define JSON_PATCH_OPERATIONS_MAX 10000     /* as the API server limits them */
#define JSON_PATCH_COPIED_MAX     (3 << 20) /* values that "copy" makes more of: their bytes, altogether */

/* Applies the operations to *document, in order, as the API server's library does, which is kinder than the
 * RFC: a member that is not there can be tested for null, replaced and copied (as null), and negative indices
 * count from the end. ERR_USAGE: no list of operations (400); ERR_FAILED: it does not fit this document, or a
 * test failed (422); ERR_TOO_LARGE (413). *document is then half changed. */
int patch_json(cJSON **document, const cJSON *patch, struct err *err) MUST_CHECK;

/* Merges: members of the patch replace those of the document, null removes them. */
void patch_merge(cJSON *document, const cJSON *patch);

#endif
