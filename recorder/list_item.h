/* list_item.h: lists leave out the kind and apiVersion of their items; an item on its own has them. */
#ifndef RECORDER_LIST_ITEM_H
#define RECORDER_LIST_ITEM_H

#include "schema/base/json_scan.h"

/* The list that has the item. */
struct list_type {
	struct slice kind, api_version; /* "PodList", "v1" */
};

/* Puts both in front of the item's members, in `to`, which is cleared first. *item is then that. meta: of the
 * item, which has neither. */
int list_item_type(const struct list_type *list, const struct object_meta *meta, struct slice *item,
	struct buf *to, struct err *err) MUST_CHECK;

#endif
