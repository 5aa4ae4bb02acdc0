/*
 * meta_order.h: metadata of custom resources in the order that the API server gives them where it shows
 * metadata alone. The objects have them sorted by name, as everything in them.
 */
#ifndef REPLAYER_META_ORDER_H
#define REPLAYER_META_ORDER_H

#include "schema/base/buf.h"

/* Appends metadata (a JSON object), its owners and managers too, with the members in the server's order,
 * followed by unknown ones. */
int meta_order_append(struct slice metadata, struct buf *to, struct err *err) MUST_CHECK;

#endif
