/*
 * strategic_merge.h: Kubernetes' strategic merge patches, as far as they explain themselves: lists are merged
 * by the key that $setElementOrder or $patch beside an item names, and replaced where nothing names one. That
 * is all that patches need which were made from two versions of an object.
 */
#ifndef TOOLS_STRATEGIC_MERGE_H
#define TOOLS_STRATEGIC_MERGE_H

#include <cjson/cJSON.h>

/* Changes the object; the patch stays as it is. */
void strategic_merge(cJSON *object, const cJSON *patch);

#endif
