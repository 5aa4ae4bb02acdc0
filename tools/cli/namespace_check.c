/* namespace_check.c: see namespace_check.h. */
#include "tools/cli/namespace_check.h"

#include <string.h>

/* 1 or 0: whether the tape has such an event. */
static int has_event(struct tape *t, const struct tape_filter *filter, struct err *err)
{
	struct tape_cursor *cursor;
	struct event e;
	int found = tape_cursor_open(t, filter, TAPE_BACKWARD, &cursor, err);

	if (found < 0)
		return found;
	found = tape_cursor_next(cursor, &e, err);
	tape_cursor_close(cursor);
	return found;
}

/* 1 or 0: whether something of the namespace was there when the tape begins. */
static int begins_with_namespace(struct tape *t, const char *name, struct err *err)
{
	struct tape_state *state;
	struct tape_info info;
	int found = tape_info(t, &info, err);

	if (found || info.first_seq <= 1)
		return found;
	found = tape_state_at(t, info.first_seq - 1, 0, &state, err);
	if (found)
		return found;
	for (size_t i = 0; i < state->count && !found; i++)
		found = slice_is(state->live[i].namespace, name) ||
			(!state->live[i].namespace.len && slice_is(state->live[i].name, name));
	tape_state_free(state);
	return found;
}

static bool has_stream(const struct tape *t, const char *name)
{
	const struct tape_stream *s;

	for (size_t i = 0; (s = tape_stream_at(t, i)); i++) {
		if (strcmp(s->namespace, name) == 0)
			return true;
	}
	return false;
}

int namespace_check(struct tape *t, const char *name, struct err *err)
{
	int found = has_stream(t, name);

	if (!found)
		found = has_event(t, &(struct tape_filter){.namespace = name}, err);
	if (!found)
		found = has_event(t, &(struct tape_filter){.namespace = "", .name = name}, err);
	if (!found)
		found = begins_with_namespace(t, name, err);
	if (found)
		return found < 0 ? found : 0;
	return err_set(err, ERR_NOT_FOUND, "the tape has no namespace '%s', nor an object in it", name);
}
