/*
 * sweep_look.c: invariants of a run that goes on; see sweep_course.h. The run file is read while the replay writes it. A
 * look costs a stat(2); only a run that has moved and become quiet is asked.
 */
#include "schema/base/limits.h"
#include "tools/sweep/sweep_course.h"
#include "tools/sweep/sweep_oracle.h"

#include <stdlib.h>
#include <sys/stat.h>

/* When the run in that slot last had rows added; 0: it is not there yet. */
static int64_t changed_at(const char *run)
{
	char *log = xasprintf("%s-wal", run);
	struct stat st;
	bool is_there = stat(log, &st) == 0;

	free(log);
	return is_there ? st.st_mtim.tv_sec * NS_PER_S + st.st_mtim.tv_nsec : 0;
}

static bool holds_without_faults(const struct sweep_ground *g, const char *invariant)
{
	char *line = sweep_oracle_line(invariant);
	bool holds = !g->answer.alarms || !strstr(g->answer.alarms, line);

	free(line);
	return holds;
}

static int on_position(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	(void)count;
	(void)err;
	*(int64_t *)context = v[0].integer;
	return 0;
}

static int find_place(struct sql_session *session, uint64_t *ret, struct err *err)
{
	static const char sql[] = "SELECT coalesce(max(seq), 0) FROM requests";
	int64_t seq = 0;
	const struct sql_sink sink = {.row = on_position, .context = &seq};
	int rc = sql_session_run(session, slice_of(sql), &sink, err);

	if (rc == 0)
		*ret = (uint64_t)seq;
	return rc;
}

/* The first that is broken, as a line; nothing when all hold. */
static int ask_all(struct sweep *s, const struct sweep_slot *slot, struct sql_session *session,
	struct buf *line, struct err *err)
{
	const struct text_list *invariants = &s->v->invariants;
	const struct sweep_ground *ground = sweep_ground_of(s, slot->laid_over);
	int rc = 0;

	for (size_t i = 0; i < invariants->count && rc == 0 && !line->len; i++) {
		if (!(s->eventual >> i & 1) && holds_without_faults(ground, invariants->items[i]))
			rc = sweep_oracle_ask(session, invariants->items[i], line, err);
	}
	return rc;
}

/* Without faults: what is broken on the way there is a question for the end. */
static int learn_eventual(struct sweep *s, struct sql_session *session, struct buf *line, struct err *err)
{
	const struct text_list *invariants = &s->v->invariants;
	int rc = 0;

	for (size_t i = 0; i < invariants->count && rc == 0; i++) {
		rc = sweep_oracle_ask(session, invariants->items[i], line, err);
		s->eventual |= line->len ? UINT64_C(1) << i : 0;
		buf_clear(line);
	}
	return rc;
}

static int ask(struct sweep *s, struct sweep_slot *slot, const char *run, struct err *err)
{
	struct sweep_alarm *broken = &slot->broken;
	struct sql_session *session = NULL;
	struct buf line;
	int rc = sql_session_open_run(s->runs.options.tape, run, &session, err);

	buf_init(&line, LIMIT_DOCUMENT_BYTES);
	if (rc == 0)
		rc = slot->of ? ask_all(s, slot, session, &line, err)
			      : learn_eventual(s, session, &line, err);
	if (rc == 0 && line.len && !broken->line) {
		broken->line = slice_dup(buf_slice(&line));
		broken->since_ns = clock_mono_ns(&clock_system);
		rc = find_place(session, &broken->seq, err);
	} else if (rc == 0 && !line.len) {
		s->healed += broken->line != NULL;
		sweep_alarm_release(broken);
	} else if (rc == 0 &&
		   clock_mono_ns(&clock_system) - broken->since_ns >= sweep_try_settle(&s->runs, slot->of)) {
		broken->is_told = true;
	}
	buf_release(&line);
	sql_session_close(session);
	return rc;
}

/* Questions that fail now are asked again at the end, and fail there. */
bool sweep_look(void *context, size_t at)
{
	struct sweep *s = context;
	struct sweep_slot *slot = &s->runs.slot[at];
	char *run = sweep_run_file(&s->runs, slot, "run");
	int64_t changed_ns = changed_at(run);
	bool is_quiet = changed_ns && changed_ns == slot->changed_ns;
	struct err err;

	slot->changed_ns = changed_ns;
	if (is_quiet && (changed_ns != slot->looked_ns || slot->broken.line)) {
		slot->looked_ns = changed_ns;
		(void)!ask(s, slot, run, &err);
	}
	free(run);
	return slot->broken.is_told;
}

void sweep_alarm_release(struct sweep_alarm *a)
{
	free(a->line);
	*a = (struct sweep_alarm){0};
}
