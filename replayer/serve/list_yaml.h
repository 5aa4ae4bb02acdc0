/*
 * list_yaml.h: a list as YAML, made item by item. The text before and after the items is made from the list
 * with one item that is a mark, so that this file need not know the members and their order.
 */
#ifndef REPLAYER_LIST_YAML_H
#define REPLAYER_LIST_YAML_H

#include "schema/base/buf.h"

/* The mark as an item of the list, in JSON. */
#define LIST_YAML_MARK "\"the items stand here\""

struct list_yaml {
	struct buf json;       /* of the head */
	struct buf head, tail; /* the YAML around the items */
	bool has_items;
};

void list_yaml_init(struct list_yaml *y);
void list_yaml_release(struct list_yaml *y);

/* Call first: the part before the items, and the whole list with the mark in place of the items, both in
 * JSON. */
int list_yaml_begin(struct list_yaml *y, struct slice head, struct slice marked, struct err *err) MUST_CHECK;

/* Appends the YAML of one more item, with the comma or the bracket before it. */
int list_yaml_item(struct list_yaml *y, struct slice json, struct buf *to, struct err *err) MUST_CHECK;

/* Call last: appends the text after the items; uses the JSON if there are none. */
int list_yaml_end(struct list_yaml *y, struct slice json, struct buf *to, struct err *err) MUST_CHECK;

#endif
