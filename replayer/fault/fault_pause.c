/* fault_pause.c: pauses of the tape's clock; see fault.h. */
#include "replayer/fault/fault_internal.h"
#include "schema/base/clock.h"

#define PROLONGED_MAX (10 * NS_PER_S)

static bool is_pause(const struct faults *f, const struct episode *e)
{
	return e->state == EPISODE_ACTIVE && f->file.rules[e->rule].what.act == FAULT_PAUSE;
}

bool fault_is_paused(const struct faults *f)
{
	for (size_t i = 0; i < f->episode_count; i++) {
		if (is_pause(f, &f->episodes[i]))
			return true;
	}
	return false;
}

int64_t faults_quiet_ns(const struct faults *f)
{
	int64_t least = 0;

	for (size_t i = 0; i < f->rule_count; i++) {
		const struct fault_rule *r = &f->file.rules[i];

		if (r->what.until_quiet && (!least || r->for_ns < least))
			least = r->for_ns;
	}
	return least;
}

void faults_prolong(struct faults *f, int64_t mono_ns)
{
	for (size_t i = 0; i < f->episode_count; i++) {
		struct episode *e = &f->episodes[i];
		const struct fault_rule *r = &f->file.rules[e->rule];
		int64_t last_ns = fault_later(e->begin.mono_ns, PROLONGED_MAX);

		if (!is_pause(f, e) || !r->what.until_quiet || last_ns < e->end_mono_ns)
			continue;
		e->end_mono_ns = fault_later(mono_ns, r->for_ns);
		if (last_ns < e->end_mono_ns)
			e->end_mono_ns = last_ns;
	}
}
