/* reader_segments.c: what the tape's files are, for people who look after them. */
#include "schema/tape/reader_internal.h"

#include <stdlib.h>

static void add_events(struct tape_segment_info *s, uint64_t first_seq, uint64_t last_seq, uint64_t raw_bytes,
	int64_t min_time_ns, int64_t max_time_ns)
{
	if (!s->events || min_time_ns < s->first_time_ns)
		s->first_time_ns = min_time_ns;
	if (!s->events || max_time_ns > s->last_time_ns)
		s->last_time_ns = max_time_ns;
	s->first_seq = s->first_seq ? s->first_seq : first_seq;
	s->last_seq = last_seq;
	s->events += last_seq - first_seq + 1;
	s->raw_bytes += raw_bytes;
	s->extents++;
}

static void add_extents(const struct tape *t, size_t segment, struct tape_segment_info *s)
{
	for (size_t i = 0; i < t->states.count; i++) {
		if (t->states.items[i].segment == segment)
			s->state_objects += t->states.items[i].events;
	}
	for (size_t i = 0; i < t->events.count; i++) {
		const struct tape_extent *x = &t->events.items[i];

		if (x->segment == segment)
			add_events(
				s, x->first_seq, x->last_seq, x->raw_bytes, x->min_time_ns, x->max_time_ns);
	}
}

int tape_each_segment(struct tape *t, int (*each)(void *context, const struct tape_segment_info *s),
	void *context, struct err *err)
{
	int stop = 0;

	for (size_t i = 0; i < t->segment_count && !stop; i++) {
		const struct segment_file *file = &t->segments[i].file;
		const char *name = strrchr(file->path, '/');
		struct tape_segment_info s = {.number = file->number,
			.sealed = file->sealed,
			.file = name ? name + 1 : file->path,
			.disk_bytes = segment_file_bytes(file),
			.state_segment = t->segments[i].base ? t->segments[i].base : file->number};
		char *program, *digest, *id;
		sqlite3 *db;

		stop = reader_db(t, i, &db, err);
		if (stop)
			return stop;
		add_extents(t, i, &s);
		s.program = program = segment_meta(db, "program");
		s.tape_id = id = segment_meta(db, "tape_id");
		digest = segment_meta(db, "previous_digest");
		s.previous_digest = digest && *digest ? digest : NULL;
		stop = each(context, &s);
		free(program);
		free(digest);
		free(id);
	}
	return stop;
}
