/* events.c: see events.h. */
#include "tools/events/events.h"

#include "schema/base/clock.h"
#include "schema/base/limits.h"
#include "schema/base/out_file.h"
#include "tools/cli/follow.h"
#include "tools/cli/progress.h"

#include <stdlib.h>

#define GAPS_EVERY_NS NS_PER_S
/* The blocks of two parts: the version before an object's first one in a part is mostly in the part before. */
#define CACHE_BYTES ((size_t)160 << 20)

/* Where a line lies in the text of its part. */
struct line_place {
	uint64_t seq;
	size_t begin, len;
};

struct events {
	struct tape *tape;
	const struct events_wanted *wanted;
	const struct event_line_style *style;
	struct event_changes *changes;
	struct event_gaps gaps;
	struct event_gaps_wanted gaps_wanted;
	struct line_place *lines; /* of this part */
	size_t count;
	struct buf text, gap_text;
	uint64_t done_seq, left_out;
	int64_t gaps_read_ns; /* by the monotonic clock */
};

/* ---- printing ---- */

static int by_seq(const void *left, const void *right)
{
	const struct line_place *a = left, *b = right;

	return (a->seq > b->seq) - (a->seq < b->seq);
}

static int print_gaps(struct events *v, uint64_t before_seq, struct err *err)
{
	const struct event_gap *gaps;
	size_t count;
	int rc = 0;

	while (!rc && (count = event_gaps_take(&v->gaps, before_seq, &gaps))) {
		buf_clear(&v->gap_text);
		rc = event_line_put_gaps(v->style, gaps, count, &v->gap_text, err);
		if (!rc)
			fwrite(v->gap_text.ptr, 1, v->gap_text.len, stdout);
	}
	return rc;
}

static int print_part(struct events *v, struct err *err)
{
	int rc = 0;

	if (v->count)
		qsort(v->lines, v->count, sizeof(*v->lines), by_seq);
	for (size_t i = 0; i < v->count && !rc; i++) {
		rc = print_gaps(v, v->lines[i].seq, err);
		fwrite(v->text.ptr + v->lines[i].begin, 1, v->lines[i].len, stdout);
	}
	v->count = 0;
	buf_clear(&v->text);
	return rc ? rc : out_stream_check(stdout, err);
}

/* ---- one walk ---- */

static int add_line(struct events *v, struct tape_cursor *cursor, const struct tape_resource *r,
	const struct event *e, struct err *err)
{
	size_t begin = v->text.len;
	int rc = event_changes_make(v->changes, v->tape, cursor, e, false, err);

	if (rc >= 0)
		rc = event_line_put(v->style, r, e, v->changes, &v->text, err);
	if (rc)
		return rc;
	v->lines = xgrow(v->lines, v->count, sizeof(*v->lines));
	v->lines[v->count++] = (struct line_place){e->seq, begin, v->text.len - begin};
	return 0;
}

static int take_event(struct events *v, struct tape_cursor *cursor, const struct event *e, struct err *err)
{
	const struct tape_resource *r = tape_resource_by_id(v->tape, e->resource);
	enum object_wanted wanted = r ? object_patterns_resource(v->wanted->patterns, r) : OBJECT_UNWANTED;

	if (wanted == OBJECT_BOOKKEEPING)
		v->left_out++;
	if (wanted != OBJECT_WANTED || !object_patterns_name(v->wanted->patterns, r, e->name))
		return 0;
	return add_line(v, cursor, r, e, err);
}

static int walk(struct events *v, struct tape_cursor *cursor, struct err *err)
{
	uint64_t part_end = 0;
	struct event e;
	int more = 0, rc = 0;

	while (!rc && !progress_stop_asked() && (more = tape_cursor_next(cursor, &e, err)) > 0) {
		if (e.seq > part_end) {
			rc = print_part(v, err);
			part_end = tape_cursor_part_end(cursor);
		}
		if (!rc)
			rc = take_event(v, cursor, &e, err);
	}
	return rc ? rc : more < 0 ? more : print_part(v, err);
}

/* Prints what lies after the event that was printed last, up to that one. */
static int print_up_to(struct events *v, uint64_t last_seq, struct err *err)
{
	struct tape_filter filter = {.seq_min = v->done_seq + 1,
		.seq_max = last_seq,
		.namespace = *v->wanted->namespace ? v->wanted->namespace : NULL};
	struct tape_cursor *cursor = NULL;
	int rc;

	if (last_seq > v->done_seq) {
		rc = tape_cursor_open(v->tape, &filter, TAPE_STORED, &cursor, err);
		if (!rc)
			rc = walk(v, cursor, err);
		tape_cursor_close(cursor);
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
	int more = tape_refresh(v->tape, err), rc;
	struct tape_info info;

	if (more < 0 || (more == 0 && !is_last && now_ns - v->gaps_read_ns < GAPS_EVERY_NS))
		return more;
	v->gaps_read_ns = now_ns;
	rc = event_gaps_load(&v->gaps, v->tape, &v->gaps_wanted, err);
	if (!rc)
		rc = tape_info(v->tape, &info, err);
	return rc ? rc : print_up_to(v, info.last_seq, err);
}

int events_print(struct tape *t, const struct events_wanted *wanted, const struct event_line_style *style,
	uint64_t *ret_left_out, struct err *err)
{
	struct events v = {.tape = t,
		.wanted = wanted,
		.style = style,
		.changes = event_changes_new(),
		.gaps_wanted = {wanted->patterns, wanted->namespace,
			wanted->from.seq ? wanted->from.time_ns : INT64_MIN,
			wanted->until.is_end ? INT64_MAX : wanted->until.time_ns},
		.done_seq = wanted->from.seq};
	int rc;

	tape_set_cache(t, CACHE_BYTES);
	buf_init(&v.text, LIMIT_LIST_BYTES);
	buf_init(&v.gap_text, LIMIT_LIST_BYTES);
	rc = event_gaps_load(&v.gaps, t, &v.gaps_wanted, err);
	if (!rc)
		rc = print_up_to(&v, wanted->until.seq, err);
	if (!rc && wanted->follow)
		rc = follow_recording(t, "events", look_again, &v, err);
	*ret_left_out = v.left_out;
	event_changes_free(v.changes);
	event_gaps_release(&v.gaps);
	free(v.lines);
	buf_release(&v.text);
	buf_release(&v.gap_text);
	return rc;
}
