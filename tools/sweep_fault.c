/* sweep_fault.c: the fault file of a position. See sweep.h. */
#include "tools/sweep.h"

#include "replayer/fault/fault_file.h"
#include "replayer/fault/gap_spec.h"
#include "schema/base/clock.h"
#include "schema/base/limits.h"
#include "schema/base/out_file.h"

#include <stdlib.h>

#define HOLD_NS (30 * NS_PER_S) /* so long the clock waits for watches to come back */
#define PAUSE   "1s"

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
	if (!rule.hold_ns && rule.what.act != FAULT_STALL) /* which ends no watch */
		rule.hold_ns = HOLD_NS;
	*ret = rule;
	return 0;
}

/* At speed max a gap is over in no time. Behind a stretch the clock stands still, and watches stay away for a
 * while, so that the program acts on what else happened before it hears what it missed. */
static int make_pause(const struct sweep_position *p, struct fault_rule *ret, struct err *err)
{
	char *spec = xasprintf(
		"seq:%llu," PAUSE ",http=429,wall,%s", (unsigned long long)p->until_seq, p->resource);
	int rc = gap_spec_parse(spec, 2, ret, err);

	free(spec);
	if (rc)
		return rc;
	ret->what.act = FAULT_NOTHING;
	ret->optional = true; /* nobody need ask meanwhile */
	free(ret->name);
	ret->name = xstrdup("time to act on the rest");
	return 0;
}

static int add(struct fault_file *file, struct fault_rule *rule, struct err *err)
{
	int rc = fault_file_add(file, rule, err);

	if (rc)
		fault_rule_release(rule);
	return rc;
}

int sweep_fault_write(const struct sweep_position *p, const char *words, const char *path, struct err *err)
{
	struct fault_file file = {.seed = FAULT_SEED_DEFAULT};
	struct fault_rule rule;
	struct buf text;
	int rc = make_gap(p, words, &rule, err);

	buf_init(&text, LIMIT_CONFIG_BYTES);
	if (rc == 0)
		rc = add(&file, &rule, err);
	if (rc == 0 && p->until_seq) {
		rc = make_pause(p, &rule, err);
		if (rc == 0)
			rc = add(&file, &rule, err);
	}
	if (rc == 0)
		rc = fault_file_write(&file, &text, err);
	if (rc == 0)
		rc = out_file_write(path, buf_slice(&text), err);
	buf_release(&text);
	fault_file_release(&file);
	return rc;
}
