/* event.c: the words for types, origins and marks; FORMAT.md lists them. */
#include "schema/tape/event.h"

static const char *const types[] = {"ADDED", "MODIFIED", "DELETED"};
static const char *const origins[] = {"list", "watch", "relist", "inferred"};
static const char *const marks[] = {"list", "bookmark", "initial-end", "error"};

const char *event_type_name(enum event_type type)
{
	return (unsigned)type < 3 ? types[type] : "?";
}

bool event_type_parse(struct slice name, enum event_type *ret)
{
	for (unsigned i = 0; i < 3; i++) {
		if (slice_is(name, types[i])) {
			*ret = (enum event_type)i;
			return true;
		}
	}
	return false;
}

const char *event_origin_name(enum event_origin origin)
{
	return (unsigned)origin < 4 ? origins[origin] : "?";
}

const char *mark_kind_name(enum mark_kind kind)
{
	return (unsigned)kind < 4 ? marks[kind] : "?";
}
