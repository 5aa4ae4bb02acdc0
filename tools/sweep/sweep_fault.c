/* sweep_fault.c: the fault file of a position. See sweep.h. */
#include "tools/sweep/sweep.h"

#include "replayer/fault/fault_file.h"
#include "replayer/fault/gap_spec.h"
#include "schema/base/clock.h"
#include "schema/base/limits.h"
#include "schema/base/out_file.h"

#include <stdlib.h>

#define HOLD_NS  (30 * NS_PER_S) /* so long the clock waits for watches to come back */
#define PAUSE    "1s"
#define BREATH   "300ms,quiet" /* for a program to act on what it has been sent */
#define ACT_NAME "time to act on what came before"
#define LATE     "1300ms" /* SWEEP_LATE_WORDS, and the same */
#define AWAIT    "10s"    /* for a write to come */

static int make_rule(const char *words, const char *resource, uint64_t hidden, uint64_t seq,
	struct fault_rule *ret, struct err *err)
{
	char *spec = xasprintf("#1,%lluev,%s%s%s,event=seq=%llu", (unsigned long long)hidden, words,
		*words ? "," : "", resource, (unsigned long long)seq);
	int rc = gap_spec_parse(spec, 1, ret, err);

	free(spec);
	return rc;
}

int sweep_words_check(const char *words, struct err *err)
{
	struct fault_rule rule;
	int rc;

	if (strstr(words, "event="))
		return err_set(err, ERR_USAGE, "bad gap '%.200s': 'event=' is for --event to say", words);
	rc = make_rule(words, "pods", 1, 1, &rule, err);
	if (rc == 0)
		fault_rule_release(&rule);
	return rc;
}

/* A watch that is away is no outage: reads by name and writes are answered, so that a program can act on what it does not
 * know to be old. */
static void leave_other_requests(struct fault_rule *rule)
{
	struct fault_texts *to = &rule->where.requests;

	if (to->count || rule->during.act != FAULT_HTTP)
		return;
	fault_texts_add(to, xstrdup("list"));
	fault_texts_add(to, xstrdup("watch"));
}

static void hold_for_watches(struct fault_rule *rule)
{
	if (!rule->hold_ns && fault_ends_streams(rule->what.act) && rule->what.act != FAULT_STALL)
		rule->hold_ns = HOLD_NS;
}

static int make_gap(
	const struct sweep_position *p, const char *words, struct fault_rule *ret, struct err *err)
{
	struct fault_rule rule;
	char *name;
	int rc = make_rule(words, p->resource, p->hidden ? p->hidden : 1, p->seq, &rule, err);

	if (rc)
		return rc;
	name = sweep_position_name(p);
	free(rule.name);
	rule.name = xasprintf(
		"%s, events %llu to %llu", name, (unsigned long long)p->seq, (unsigned long long)p->last_seq);
	free(name);
	if (p->for_ns) {
		rule.for_events = 0;
		rule.for_ns = p->for_ns;
	}
	if (p->pattern == SWEEP_UNOBSERVED && p->kind != SWEEP_DOWNTIME)
		leave_other_requests(&rule);
	hold_for_watches(&rule);
	*ret = rule;
	return 0;
}

/* At speed max a gap is over in no time. After a stretch the clock stands still, and watches stay away for a
 * while, so that the program acts on what else happened before it hears what it missed. */
static int make_pause(const struct sweep_position *p, struct fault_rule *ret, struct err *err)
{
	char *spec = xasprintf(
		"seq:%llu," PAUSE ",http=429,wall,%s", (unsigned long long)p->until_seq, p->resource);
	int rc = gap_spec_parse(spec, 2, ret, err);

	free(spec);
	if (rc)
		return rc;
	leave_other_requests(ret);
	ret->what.act = FAULT_NOTHING;
	ret->optional = true; /* nobody need ask meanwhile */
	free(ret->name);
	ret->name = xstrdup("time to act on the rest");
	return 0;
}

static int sweep_fault_add(struct fault_file *file, struct fault_rule *rule, struct err *err)
{
	int rc = fault_file_add(file, rule, err);

	if (rc)
		fault_rule_release(rule);
	return rc;
}

/* Adds what the short form says, under that name; *ret may change it further, until the next is added. */
static int add_spec(
	struct fault_file *file, const char *spec, char *name, struct fault_rule **ret, struct err *err)
{
	struct fault_rule rule;
	int rc = gap_spec_parse(spec, file->count + 1, &rule, err);

	if (rc) {
		free(name);
		return rc;
	}
	free(rule.name);
	rule.name = name;
	rc = sweep_fault_add(file, &rule, err);
	if (rc == 0)
		*ret = &file->rules[file->count - 1];
	return rc;
}

/* The tape stands still; takes the words over. */
static int add_pause(struct fault_file *file, char *spec, const char *name, struct err *err)
{
	struct fault_rule *rule;
	int rc = add_spec(file, spec, xstrdup(name), &rule, err);

	free(spec);
	if (rc == 0)
		rule->optional = true;
	return rc;
}

/* That event comes so much later. */
static int add_delay(
	struct fault_file *file, uint64_t seq, const char *length, const char *name, struct err *err)
{
	return add_pause(file, xasprintf("#1,%s,pause,wall,event=seq>=%llu", length, (unsigned long long)seq),
		name, err);
}

/* The program has acted on all before that event when it comes. */
static int add_breath(struct fault_file *file, uint64_t seq, struct err *err)
{
	return add_delay(file, seq, BREATH, ACT_NAME, err);
}

/* The program has acted on that event and all before when the next one comes. */
static int add_breath_after(struct fault_file *file, uint64_t seq, struct err *err)
{
	return add_pause(
		file, xasprintf("seq:%llu," BREATH ",pause,wall", (unsigned long long)seq), ACT_NAME, err);
}

/* When it strikes. A write is the program's answer to what it had seen by then: the tape stands still there until it
 * comes. */
static char *moment_of(const struct sweep_position *p)
{
	if (!p->write)
		return xasprintf("event=seq>=%llu", (unsigned long long)p->seq);
	if (!p->seq)
		return xasprintf("write=%s", p->write);
	return xasprintf("since=seq:%llu,await=" AWAIT ",write=%s", (unsigned long long)p->seq, p->write);
}

static int add_rule_then(const struct sweep_position *p, const char *words, const char *length,
	struct fault_file *file, struct err *err)
{
	struct fault_rule *rule;
	char *moment = moment_of(p);
	char *spec =
		xasprintf("#%llu,%s,%s,%s", p->nth ? (unsigned long long)p->nth : 1, length, words, moment);
	int rc = add_spec(file, spec, sweep_position_name(p), &rule, err);

	free(moment);
	free(spec);
	return rc;
}

static int add_view(const struct sweep_position *p, uint64_t as_of_seq, const char *resources,
	struct fault_file *file, struct err *err)
{
	char *words = xasprintf("as_of=seq:%llu,after,wall,%s", (unsigned long long)as_of_seq, resources);
	char *length = xasprintf("%lldms", (long long)(p->for_ns / NS_PER_MS));
	int rc = add_rule_then(p, words, length, file, err);

	if (rc == 0 && p->before_answer && as_of_seq == p->as_of_seq)
		file->rules[file->count - 1].what.before_write = 1;
	free(length);
	free(words);
	return rc;
}

/* The watches are gone before it is done, and stay away for that long. */
static int add_absence(const struct sweep_position *p, const char *words, const char *length,
	struct fault_file *file, struct err *err)
{
	char *own = xasprintf("%s%s%s", words, *words ? "," : "", p->resource);
	int rc = add_rule_then(p, own, length, file, err);

	free(own);
	if (rc)
		return rc;
	leave_other_requests(&file->rules[0]);
	hold_for_watches(&file->rules[0]);
	return 0;
}

/* Until the object is deleted. */
static int fill_unechoed(
	const struct sweep_position *p, const char *words, struct fault_file *file, struct err *err)
{
	char *length = xasprintf("%lluev", (unsigned long long)p->hidden);
	int rc = add_absence(p, words, length, file, err);

	free(length);
	rc = rc ? rc : add_breath(file, p->seq, err);
	return rc ? rc : add_breath(file, p->until_seq, err);
}

/* Until the program has done what follows. */
static int fill_own(
	const struct sweep_position *p, const char *words, struct fault_file *file, struct err *err)
{
	int rc = add_absence(p, words, PAUSE, file, err);

	if (rc)
		return rc;
	file->rules[0].clock = FAULT_WALL;
	rc = add_rule_then(p, "pause,wall", PAUSE, file, err);
	if (rc == 0 && p->seq)
		rc = add_breath(file, p->seq, err);
	return rc;
}

static int fill_then(
	const struct sweep_position *p, const char *words, struct fault_file *file, struct err *err)
{
	int rc = p->pattern == SWEEP_STALE ? add_view(p, p->as_of_seq, p->resource, file, err) : 0;

	if (rc == 0 && p->others)
		rc = add_view(p, p->others_as_of_seq, p->others, file, err);
	if (rc == 0)
		rc = add_rule_then(p, words, "0s", file, err);
	if (rc == 0 && p->seq)
		rc = add_breath(file, p->seq, err);
	if (rc == 0 && p->seq && !p->write)
		rc = add_breath_after(file, p->seq - 1, err);
	if (rc == 0 && sweep_is_late_answer(p))
		rc = add_delay(file, p->until_seq, LATE, "time for the answer, and to act on it", err);
	return rc;
}

static int fill_always(
	const struct sweep_position *p, const char *words, struct fault_file *file, struct err *err)
{
	struct fault_rule *rule;
	char *spec = xasprintf("seq:0,1h,%s,wall,%s", words, p->resource);
	int rc = add_spec(file, spec, sweep_position_name(p), &rule, err);

	free(spec);
	if (rc == 0)
		rule->for_ns = FAULT_FOREVER;
	return rc;
}

/* Of what comes to the program from two resources. */
static bool is_about_order(const struct sweep_position *p)
{
	return p->kind == SWEEP_OVERWRITE || p->kind == SWEEP_REFERENCE;
}

static int fill_at_events(
	const struct sweep_position *p, const char *words, struct fault_file *file, struct err *err)
{
	struct fault_rule rule;
	int rc = make_gap(p, words, &rule, err);

	if (rc == 0)
		rc = sweep_fault_add(file, &rule, err);
	if (rc == 0 && (p->kind == SWEEP_DOWNTIME || p->pattern == SWEEP_COALESCED))
		return add_breath_after(file, p->seq - 1, err);
	/* The write is to answer that event alone; and what was written before is seen before the watch is away. */
	if (rc == 0 && is_about_order(p) && (rc = add_breath_after(file, p->seq - 1, err)) == 0)
		rc = add_breath(file, p->until_seq, err);
	if (rc == 0 && p->until_seq) {
		rc = make_pause(p, &rule, err);
		if (rc == 0)
			rc = sweep_fault_add(file, &rule, err);
	}
	return rc;
}

/* Nobody is refused: what comes next passes while the program opens its watch again. */
static int fill_resumption(
	const struct sweep_position *p, const char *words, struct fault_file *file, struct err *err)
{
	struct fault_rule *rule;
	char *spec = xasprintf("#1,0s,%s,%s,event=seq=%llu", words, p->resource, (unsigned long long)p->seq);
	int rc = add_spec(file, spec, sweep_position_name(p), &rule, err);

	free(spec);
	return rc ? rc : add_breath_after(file, p->seq - 1, err);
}

/* The program starts and lists; the event passes before its watch is open. */
static int fill_late_watch(
	const struct sweep_position *p, const char *words, struct fault_file *file, struct err *err)
{
	unsigned long long seq = p->seq;
	char *late = xasprintf("#1,1ev,%s,%s,event=seq=%llu", words, p->resource, seq);
	char *restart = xasprintf("#1,0s,restart,hold=1s,event=seq=%llu", seq);
	char *time = xasprintf("%lldms,quiet", (long long)(p->for_ns / NS_PER_MS));
	struct fault_rule *rule;
	int rc = add_spec(file, late, sweep_position_name(p), &rule, err);

	if (rc == 0)
		rc = add_spec(file, restart, xstrdup("a restart"), &rule, err);
	if (rc == 0)
		rc = add_delay(file, p->seq, time, ACT_NAME, err);
	if (rc == 0)
		rc = add_breath_after(file, seq - 1, err);
	free(time);
	free(restart);
	free(late);
	return rc;
}

bool sweep_has_control(const struct sweep_position *p)
{
	return p->kind != SWEEP_ALWAYS && p->kind != SWEEP_GIVEN && !sweep_is_resumption(p);
}

static int fill_control(const struct sweep_position *p, struct fault_file *file, struct err *err)
{
	struct fault_rule *rule;
	char *spec;
	int rc;

	if (p->write)
		return fill_then(
			&(struct sweep_position){
				.seq = p->seq, .nth = p->nth, .write = p->write, .resource = p->resource},
			"end,after,optional", file, err);
	spec = xasprintf("#1,0s,end,optional%s,%s,event=seq=%llu", is_about_order(p) ? ",hold=10s" : "",
		p->resource, (unsigned long long)p->seq);
	rc = add_spec(file, spec, xstrdup("a harmless cut"), &rule, err);
	free(spec);
	/* What comes next must not overtake the event on its way to the watch that was cut. */
	return rc == 0 && is_about_order(p) ? add_breath(file, p->seq + 1, err) : rc;
}

static int write_file(struct fault_file *file, const char *path, struct err *err)
{
	struct buf text;
	int rc;

	buf_init(&text, LIMIT_CONFIG_BYTES);
	rc = fault_file_write(file, &text, err);
	if (rc == 0)
		rc = out_file_write(path, buf_slice(&text), err);
	buf_release(&text);
	return rc;
}

int sweep_control_write(const struct sweep_position *p, const char *path, struct err *err)
{
	struct fault_file file = {.seed = FAULT_SEED_DEFAULT};
	int rc = fill_control(p, &file, err);

	if (rc == 0)
		rc = write_file(&file, path, err);
	fault_file_release(&file);
	return rc;
}

int sweep_fault_write(const struct sweep_position *p, const char *words, const char *path, struct err *err)
{
	struct fault_file file = {.seed = FAULT_SEED_DEFAULT};
	int rc;

	if (p->kind == SWEEP_OWN && p->until_seq)
		rc = fill_unechoed(p, words, &file, err);
	else if (p->kind == SWEEP_OWN)
		rc = fill_own(p, words, &file, err);
	else if (sweep_is_of_run(p))
		rc = fill_then(p, words, &file, err);
	else if (sweep_is_resumption(p) && p->pattern == SWEEP_RESTART)
		rc = fill_late_watch(p, words, &file, err);
	else if (sweep_is_resumption(p))
		rc = fill_resumption(p, words, &file, err);
	else if (p->kind == SWEEP_ALWAYS)
		rc = fill_always(p, words, &file, err);
	else
		rc = fill_at_events(p, words, &file, err);
	if (rc == 0)
		rc = write_file(&file, path, err);
	fault_file_release(&file);
	return rc;
}
