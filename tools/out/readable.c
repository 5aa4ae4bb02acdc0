/* readable.c: see readable.h. */
#include "tools/out/readable.h"

#include "schema/tape/reader.h"

/* A block that is damaged costs the events in it, an index those of its extent. */
static void count_objects(struct tape *t, struct readable *r, int (*stop)(void *context), void *context)
{
	const struct tape_filter all = {.seq_min = 0};
	struct tape_cursor *c;
	struct slice object;
	struct event e;
	int more = tape_cursor_open(t, &all, TAPE_STORED, &c, NULL);

	if (more < 0) {
		r->is_cut_short = true;
		return;
	}
	while ((more = tape_cursor_next(c, &e, NULL)) > 0 && !stop(context))
		r->events += tape_cursor_object(c, &object, NULL) == 0;
	r->is_cut_short = more != 0;
	tape_cursor_close(c);
}

struct readable readable_count(const char *tape_path, int (*stop)(void *context), void *context)
{
	struct readable r = {0};
	struct tape_info info;
	struct tape *t;

	if (tape_open(tape_path, &t, NULL))
		return (struct readable){.is_closed = true};
	if (tape_info(t, &info, NULL))
		r.is_closed = true;
	else
		r.total = info.events;
	if (!r.is_closed)
		count_objects(t, &r, stop, context);
	tape_close(t);
	return r;
}
