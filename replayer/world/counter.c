/* counter.c: see counter.h. */
#include "replayer/world/counter.h"

#include <stdlib.h>

/* The first complete list of a resource. */
struct first_list {
	int64_t begin_ns, end_ns; /* 0: not known */
	uint64_t rv;              /* 0: there was none */
	bool plain;               /* of the core group and no Event: it is in the main etcd for sure */
};

struct finder {
	struct tape *tape;
	struct first_list *lists; /* by resource id */
	size_t count;
};

static int note_begin(void *context, const struct tape_connection *c)
{
	struct finder *f = context;
	const struct tape_stream *s = tape_stream_by_id(f->tape, c->stream);

	if (s && s->resource < f->count && f->lists[s->resource].begin_ns == 0)
		f->lists[s->resource].begin_ns = c->begin_ns;
	return 0;
}

static void note_lists(struct finder *f, const struct marks *marks)
{
	for (size_t i = 0; i < marks->count; i++) {
		const struct mark *m = &marks->items[i];

		if (mark_completes_list(m) && m->resource < f->count && f->lists[m->resource].rv == 0) {
			f->lists[m->resource].end_ns = m->time_ns;
			f->lists[m->resource].rv = m->rv;
		}
	}
}

static bool is_plain(const struct tape_resource *r)
{
	return r && !*r->apigroup && strcmp(r->resource, "events") != 0;
}

/* Whether the later of two lists told less than the earlier. */
static bool contradicts(const struct first_list *a, const struct first_list *b)
{
	return (a->end_ns <= b->begin_ns && a->rv > b->rv) || (b->end_ns <= a->begin_ns && b->rv > a->rv);
}

static bool takes_part(const struct finder *f, size_t resource)
{
	const struct first_list *l = &f->lists[resource];

	if (l->rv == 0 || l->begin_ns == 0)
		return false;
	for (size_t i = 0; i < f->count; i++) {
		const struct first_list *other = &f->lists[i];

		if (other->plain && other->rv && other->begin_ns && contradicts(l, other))
			return false;
	}
	return true;
}

int counter_find(struct tape *tape, const struct marks *marks, bool **ret, struct err *err)
{
	struct finder f = {.tape = tape, .count = marks->resource_count};
	bool *found;
	int rc;

	f.lists = xcalloc(f.count, sizeof(*f.lists));
	for (size_t i = 0; i < f.count; i++)
		f.lists[i].plain = is_plain(tape_resource_by_id(tape, (uint32_t)i));
	rc = tape_each_connection(tape, note_begin, &f, err);
	if (rc == 0) {
		note_lists(&f, marks);
		found = xcalloc(f.count, sizeof(*found));
		for (size_t i = 0; i < f.count; i++)
			found[i] = takes_part(&f, i);
		*ret = found;
	}
	free(f.lists);
	return rc;
}
