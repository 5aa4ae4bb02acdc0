/* events.c: see events.h. */
#include "tools/events/events.h"

#include "schema/base/clock.h"
#include "schema/base/limits.h"
#include "schema/base/out_file.h"
#include "tools/cli/follow.h"
#include "tools/events/event_crew.h"

#define GAPS_EVERY_NS NS_PER_S

struct events {
	struct event_reader reader;
	struct event_gaps gaps;
	struct event_gaps_wanted gaps_wanted;
	struct buf gap_text;
	uint64_t done_seq;
	struct events_told told;
	int64_t gaps_read_ns; /* by the monotonic clock */
};

/* ---- printing ---- */

static int print_gaps(struct events *v, uint64_t before_seq, struct err *err)
{
	const struct event_gap *gaps;
	size_t count;
	int rc = 0;

	while (!rc && (count = event_gaps_take(&v->gaps, before_seq, &gaps))) {
		buf_clear(&v->gap_text);
		rc = event_line_put_gaps(v->reader.style, gaps, count, &v->gap_text, err);
		if (!rc)
			fwrite(v->gap_text.ptr, 1, v->gap_text.len, stdout);
	}
	return rc;
}

static int print_stretch(void *context, const struct event_stretch *stretch, struct err *err)
{
	struct events *v = context;
	int rc = 0;

	for (size_t i = 0; i < stretch->count && !rc; i++) {
		const struct line_place *line = &stretch->lines[i];

		rc = print_gaps(v, line->seq, err);
		fwrite(stretch->text.ptr + line->begin, 1, line->len, stdout);
	}
	v->told.shown += stretch->count;
	v->told.left_out += stretch->left_out;
	return rc ? rc : out_stream_check(stdout, err);
}

/* Prints what lies after the event that was printed last, up to that one. */
static int print_up_to(struct events *v, uint64_t last_seq, struct err *err)
{
	int rc;

	if (last_seq > v->done_seq) {
		rc = event_crew_each(&v->reader, v->done_seq, last_seq, print_stretch, v, err);
		if (rc)
			return rc;
		v->done_seq = last_seq;
	}
	return print_gaps(v, UINT64_MAX, err);
}

/* ---- following ---- */

/* What was borrowed from the tape goes with its refresh. */
static int look_again(void *context, bool is_last, struct err *err)
{
	struct events *v = context;
	int64_t now_ns = clock_mono_ns(&clock_system);
	int more = tape_refresh(v->reader.tape, err), rc;
	struct tape_info info;

	if (more < 0 || (more == 0 && !is_last && now_ns - v->gaps_read_ns < GAPS_EVERY_NS))
		return more;
	v->gaps_read_ns = now_ns;
	rc = event_gaps_load(&v->gaps, v->reader.tape, &v->gaps_wanted, err);
	if (!rc)
		rc = tape_info(v->reader.tape, &info, err);
	return rc ? rc : print_up_to(v, info.last_seq, err);
}

int events_print(struct tape *t, const struct events_wanted *wanted, const struct event_line_style *style,
	struct events_told *ret, struct err *err)
{
	struct events v = {.reader = {t, wanted, style, event_changes_new()},
		.gaps_wanted = {wanted->patterns, wanted->namespace,
			wanted->from.seq ? wanted->from.time_ns : INT64_MIN,
			wanted->until.is_end ? INT64_MAX : wanted->until.time_ns},
		.done_seq = wanted->from.seq};
	int rc;

	buf_init(&v.gap_text, LIMIT_LIST_BYTES);
	rc = event_gaps_load(&v.gaps, t, &v.gaps_wanted, err);
	if (!rc)
		rc = print_up_to(&v, wanted->until.seq, err);
	if (!rc && wanted->follow)
		rc = follow_recording(t, "events", look_again, &v, err);
	*ret = v.told;
	event_changes_free(v.reader.changes);
	event_gaps_release(&v.gaps);
	buf_release(&v.gap_text);
	return rc;
}
