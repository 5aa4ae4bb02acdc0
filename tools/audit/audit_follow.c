/*
 * audit_follow.c: see audit_follow.h. A line is looked at some time after its request was answered, when the watch
 * has brought its events: until then it waits in memory.
 */
#include "tools/audit/audit_follow.h"

#include "schema/base/clock.h"
#include "tools/audit/audit_lines.h"

#include <stdlib.h>
#include <time.h>

#define POLL_NS           (200 * NS_PER_MS)
#define SETTLE_NS         (2 * NS_PER_S) /* beyond the tolerance: until an event is durable */
#define WAITING_BYTES_MAX (64u << 20)

struct waiting_line {
	struct waiting_line *next;
	int64_t ready_ns;
	size_t len;
	char bytes[];
};

struct follower {
	const struct audit_follow_options *o;
	struct audit_joiner *joiner;
	struct audit_tail *tail;
	struct waiting_line *first, **last;
	size_t bytes;
};

static int take_first(struct follower *f, struct err *err)
{
	struct waiting_line *line = f->first;
	int rc = audit_joiner_take(f->joiner, (struct slice){line->bytes, line->len}, err);

	f->first = line->next;
	if (!f->first)
		f->last = &f->first;
	f->bytes -= line->len;
	free(line);
	return rc;
}

static int on_line(void *context, struct slice text, struct err *err)
{
	struct follower *f = context;
	int64_t ready_ns = audit_joiner_ready_ns(f->joiner, text);
	struct waiting_line *line;
	int rc = 0;

	if (!ready_ns)
		return audit_joiner_take(f->joiner, text, err);
	line = xmalloc(sizeof(*line) + text.len);
	*line = (struct waiting_line){.ready_ns = time_add(ready_ns, SETTLE_NS), .len = text.len};
	memcpy(line->bytes, text.ptr, text.len);
	*f->last = line;
	f->last = &line->next;
	f->bytes += line->len;
	while (f->bytes > WAITING_BYTES_MAX && !rc)
		rc = take_first(f, err);
	return rc;
}

/* One look at log and tape; the last one takes every line that waits. */
static int follow_step(struct follower *f, bool is_last, struct err *err)
{
	int64_t now = clock_wall_ns(&clock_system);
	int rc = audit_joiner_refresh(f->joiner, err);

	if (!rc)
		rc = audit_tail_read(f->tail, on_line, f, err);
	while (!rc && f->first && (is_last || f->first->ready_ns <= now))
		rc = take_first(f, err);
	return rc ? rc : audit_joiner_flush(f->joiner, err);
}

static void follow_rest(void)
{
	(void)nanosleep(&(struct timespec){0, POLL_NS}, NULL);
}

static int open_tape(struct follower *f, struct err *err)
{
	const struct audit_follow_options *o = f->o;
	bool is_over = false;

	while (o->is_ready && !o->is_ready(o->context)) {
		if (is_over)
			return 0;
		is_over = o->is_over(o->context);
		if (!is_over)
			follow_rest();
	}
	return audit_joiner_open(o->tape_path, o->tolerance_ns, &f->joiner, err);
}

static int follow_all(struct follower *f, struct err *err)
{
	const struct audit_follow_options *o = f->o;
	bool is_over;
	int rc;

	f->tail = audit_tail_new(o->log_path, o->at_end);
	rc = open_tape(f, err);
	if (rc || !f->joiner)
		return rc;
	do {
		is_over = o->is_over(o->context);
		rc = follow_step(f, is_over, err);
		if (!is_over && !rc)
			follow_rest();
	} while (!is_over && !rc);
	return rc;
}

int audit_follow(const struct audit_follow_options *o, struct audit_totals *ret, struct err *err)
{
	struct follower f = {.o = o};
	struct waiting_line *next;
	int rc;

	f.last = &f.first;
	*ret = (struct audit_totals){0};
	rc = follow_all(&f, err);
	if (!rc && f.joiner)
		rc = audit_joiner_totals(f.joiner, ret, err);
	for (; f.first; f.first = next) {
		next = f.first->next;
		free(f.first);
	}
	audit_tail_free(f.tail);
	audit_joiner_close(f.joiner);
	return rc;
}
