/* event.c: the words for types, origins and marks; FORMAT.md lists them. */
#include "schema/tape/event.h"

#include "schema/base/count_of.h"

static const char *const types[] = {
	[EVENT_ADDED] = "ADDED",
	[EVENT_MODIFIED] = "MODIFIED",
	[EVENT_DELETED] = "DELETED",
};

static const char *const origins[] = {
	[ORIGIN_LIST] = "list",
	[ORIGIN_WATCH] = "watch",
	[ORIGIN_RELIST] = "relist",
	[ORIGIN_INFERRED] = "inferred",
};

static const char *const marks[] = {
	[MARK_LIST] = "list",
	[MARK_BOOKMARK] = "bookmark",
	[MARK_INITIAL_END] = "initial-end",
	[MARK_ERROR] = "error",
};

/* The place of the word, or count. */
static unsigned find_word(struct slice name, const char *const *words, unsigned count)
{
	unsigned i = 0;

	while (i < count && !slice_is(name, words[i]))
		i++;
	return i;
}

const char *event_type_name(enum event_type type)
{
	return (unsigned)type < COUNT_OF(types) ? types[type] : "?";
}

bool event_type_parse(struct slice name, enum event_type *ret)
{
	unsigned i = find_word(name, types, COUNT_OF(types));

	if (i == COUNT_OF(types))
		return false;
	*ret = (enum event_type)i;
	return true;
}

const char *event_origin_name(enum event_origin origin)
{
	return (unsigned)origin < COUNT_OF(origins) ? origins[origin] : "?";
}

bool event_origin_parse(struct slice name, enum event_origin *ret)
{
	unsigned i = find_word(name, origins, COUNT_OF(origins));

	if (i == COUNT_OF(origins))
		return false;
	*ret = (enum event_origin)i;
	return true;
}

const char *mark_kind_name(enum mark_kind kind)
{
	return (unsigned)kind < COUNT_OF(marks) ? marks[kind] : "?";
}

bool mark_kind_parse(struct slice name, enum mark_kind *ret)
{
	unsigned i = find_word(name, marks, COUNT_OF(marks));

	if (i == COUNT_OF(marks))
		return false;
	*ret = (enum mark_kind)i;
	return true;
}
