/* get_views.h: the columns that `kubetape get` shows of each resource, as SQL over the table objects. */
#ifndef TOOLS_GET_VIEWS_H
#define TOOLS_GET_VIEWS_H

#include "schema/tape/event.h"

struct get_view {
	const char *apigroup, *resource;
	const char *columns; /* "expression AS \"NAME\", " each, for everybody */
	const char *wide;    /* the same, for -o wide */
};

/* Never NULL: what nobody knows has no columns of its own. */
const struct get_view *get_view_of(const struct tape_resource *resource);

#endif
