/*
 * export_picture.h: the picture of a tape to hand over: as one page that opens from disk without a server, or
 * as a drawing for a document.
 */
#ifndef TOOLS_EXPORT_PICTURE_H
#define TOOLS_EXPORT_PICTURE_H

#include "schema/view/picture.h"

#include <stdio.h>

struct export_picture {
	const char *tape;
	const char *namespace;    /* NULL: all */
	const char *from, *until; /* positions; NULL: where the tape begins and ends */
	const char *where;        /* an SQL expression over the columns of events; NULL: all */
};

#define EXPORT_PAGE_BYTES (256u << 20) /* of the page's data before it is compressed; browsers hold that */

/* The page of `kubetape view` with its data in it: everything but SQL. ERR_TOO_LARGE says what to narrow. */
int export_html(const struct export_picture *o, FILE *to, struct err *err) MUST_CHECK;

/* The timeline as SVG. */
int export_svg(const struct export_picture *o, FILE *to, struct err *err) MUST_CHECK;

/* For those two: the picture, read to its end, and the window that was asked for. The caller closes it. */
int export_picture_open(const struct export_picture *o, struct picture **ret,
	struct picture_window *ret_window, struct err *err) MUST_CHECK;

#endif
