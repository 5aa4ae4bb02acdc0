/* assets.h: the page, its script and its style, as they were built into the program. */
#ifndef REPLAYER_VIEW_ASSETS_H
#define REPLAYER_VIEW_ASSETS_H

#include "schema/base/buf.h"

struct asset {
	const char *name; /* "index.html"; the path below /_kubetape/ */
	const char *type;
	struct slice gzip;
};

/* NULL if there is none of that name; "" is the page. */
const struct asset *asset_find(struct slice name);

/* Appends it as it was before it was compressed. */
int asset_inflate(const struct asset *a, struct buf *to, struct err *err) MUST_CHECK;

#endif
