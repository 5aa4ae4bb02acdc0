/*
 * patch_strategic.h: strategic merge patch, for kinds whose lists have known merge rules.
 *
 * In objects of the patch:
 *     $patch: replace | delete         this object as it is, or nothing in its place
 *     $retainKeys: [NAME...]           members not named go
 *     $deleteFromPrimitiveList/NAME    values that go from a list of plain values
 *     $setElementOrder/NAME            how the list is to be ordered, for items that both sides know
 * In an item of a list: $patch: delete with the item's key, or $patch: replace for the whole list.
 */
#ifndef REPLAYER_PATCH_STRATEGIC_H
#define REPLAYER_PATCH_STRATEGIC_H

#include "replayer/write/field_type.h"

#define STRATEGIC_LIST_MAX 5000 /* items of one list that is merged: they are looked up one by one */

/* Merges the patch, an object, into the document; parts of the patch move there, so it is of no more use.
 * ERR_USAGE: the patch makes no sense (400); ERR_FAILED: it does not fit the type (500, as the API server
 * has it); ERR_TOO_LARGE: a list is too long (413). The document is then half changed. */
int patch_strategic(cJSON *document, cJSON *patch, struct field_type type, struct err *err) MUST_CHECK;

#endif
