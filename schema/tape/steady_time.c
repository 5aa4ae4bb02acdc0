/* steady_time.c: see steady_time.h. */
#include "schema/tape/steady_time.h"

#include "schema/base/clock.h"

#include <stdlib.h>

/* Less is the kernel's steady correction. */
#define STEP_NS (100 * NS_PER_MS)

#define SET_BACK_MIN_NS NS_PER_S

/* Of a clock that steps more often, further steps are not seen. */
#define ERAS_MAX 256

/* The time between two steps. */
struct era {
	int64_t begin_ns; /* on the steady axis */
	int64_t shift_ns; /* steady minus wall */
};

struct steady_time {
	struct era eras[ERAS_MAX];
	size_t count;
	/* The last row. */
	char *boot_id;
	int64_t wall_ns, mono_ns, steady_ns;
};

static void add_era(struct steady_time *s, int64_t steady_ns, int64_t wall_ns)
{
	if (s->count < ERAS_MAX)
		s->eras[s->count++] = (struct era){steady_ns, time_sub(steady_ns, wall_ns)};
}

static bool is_step(const struct steady_time *s, int64_t steady_ns, int64_t wall_ns)
{
	int64_t moved = time_sub(time_sub(steady_ns, wall_ns), s->eras[s->count - 1].shift_ns);

	return moved < -STEP_NS || moved > STEP_NS;
}

static int take_clock(void *context, const struct tape_clock *row)
{
	struct steady_time *s = context;
	bool same_boot = s->boot_id && row->boot_id && strcmp(s->boot_id, row->boot_id) == 0;
	int64_t passed_ns =
			same_boot ? time_sub(row->mono_ns, s->mono_ns) : time_sub(row->time_ns, s->wall_ns),
		steady_ns = s->count ? time_add(s->steady_ns, passed_ns > 0 ? passed_ns : 0) : row->time_ns;

	if (!s->count || is_step(s, steady_ns, row->time_ns))
		add_era(s, steady_ns, row->time_ns);
	free(s->boot_id);
	s->boot_id = row->boot_id ? xstrdup(row->boot_id) : NULL;
	s->wall_ns = row->time_ns;
	s->mono_ns = row->mono_ns;
	s->steady_ns = steady_ns;
	return 0;
}

int steady_time_load(struct tape *t, struct steady_time **ret, struct err *err)
{
	struct steady_time *s = xcalloc(1, sizeof(*s));
	int rc = tape_each_clock(t, take_clock, s, err);

	if (rc) {
		steady_time_free(s);
		return rc;
	}
	*ret = s;
	return 0;
}

void steady_time_free(struct steady_time *s)
{
	if (!s)
		return;
	free(s->boot_id);
	free(s);
}

/* By how much the time lies outside of the era, whose end is seen a little late, and before what it follows. */
static int64_t misfit(const struct steady_time *s, size_t era, int64_t ns, int64_t not_before_ns)
{
	int64_t begin_ns = era ? s->eras[era].begin_ns : INT64_MIN,
		end_ns = era + 1 < s->count ? s->eras[era + 1].begin_ns : INT64_MAX, sum_ns = 0;

	if (ns < begin_ns)
		sum_ns = time_sub(begin_ns, ns);
	if (ns > end_ns)
		sum_ns = time_sub(ns, end_ns);
	return ns < not_before_ns ? time_add(sum_ns, time_sub(not_before_ns, ns)) : sum_ns;
}

int64_t steady_time_of(const struct steady_time *s, int64_t wall_ns, int64_t not_before_ns)
{
	int64_t best_ns = wall_ns, best_misfit_ns = INT64_MAX;

	for (size_t i = 0; i < s->count; i++) {
		int64_t ns = time_add(wall_ns, s->eras[i].shift_ns),
			misfit_ns = misfit(s, i, ns, not_before_ns);

		if (misfit_ns < best_misfit_ns) {
			best_ns = ns;
			best_misfit_ns = misfit_ns;
		}
	}
	return best_ns;
}

int64_t steady_time_set_back(const struct steady_time *s, int64_t wall_ns)
{
	int64_t found_ns = 0;

	for (size_t i = 1; i < s->count; i++) {
		const struct era *e = &s->eras[i];
		int64_t back_ns = time_sub(e->shift_ns, e[-1].shift_ns),
			since_ns = time_sub(wall_ns, time_sub(e->begin_ns, e->shift_ns));

		if (back_ns >= SET_BACK_MIN_NS && since_ns >= 0 && since_ns <= back_ns)
			found_ns = back_ns;
	}
	return found_ns;
}
