/* sweep_lines.c: see sweep_lines.h. */
#include "tools/sweep/sweep_lines.h"

#include <stdlib.h>
#include <unistd.h>

/* Appends an option whose value is a word of a shell; takes the text over. */
static char *add_option(char *text, const char *name, const char *value)
{
	char *word = sweep_word(value), *longer = xasprintf("%s --%s %s", text, name, word);

	free(word);
	free(text);
	return longer;
}

static char *add_options(char *text, const char *name, const struct text_list *values)
{
	for (size_t i = 0; i < values->count; i++)
		text = add_option(text, name, values->items[i]);
	return text;
}

static char *add_flag(char *text, const char *name, bool given)
{
	char *longer = given ? xasprintf("%s --%s", text, name) : xstrdup(text);

	free(text);
	return longer;
}

static char *add_lockstep(char *text, const struct sweep *s)
{
	int64_t lockstep_ns = s->runs.options.lockstep_ns;
	char *value = xasprintf("%lldms", (long long)(lockstep_ns / NS_PER_MS));

	if (lockstep_ns)
		text = add_option(text, "lockstep", value);
	free(value);
	return text;
}

char *sweep_line_paced(const struct sweep *s)
{
	return s->runs.options.lockstep_ns
		       ? xstrdup("")
		       : xasprintf(" --lockstep %lldms", (long long)(s->runs.pace_ns / NS_PER_MS));
}

/* What is the same for `replay` and `sweep`. */
static char *begin_line(const struct sweep *s, const char *command)
{
	const struct sweep_values *v = s->v;
	char *tape = sweep_word(s->runs.options.tape);
	char *text = xasprintf("kubetape %s %s --speed %s", command, tape, v->tried.speed);

	free(tape);
	return text;
}

/* Takes the text over. */
static char *end_line(char *text, const struct sweep *s)
{
	const struct sweep_values *v = s->v;

	text = add_flag(text, "plain", v->tried.plain);
	if (v->tried.in_cluster)
		text = add_option(text, "in-cluster", v->tried.in_cluster);
	text = add_flag(text, "gc", s->runs.options.gc);
	text = add_flag(text, "rebase-time", v->rebase_time);
	text = add_lockstep(text, s);
	if (v->from)
		text = add_option(text, "from", v->from);
	if (v->until)
		text = add_option(text, "until", v->until);
	return add_options(text, "write", &v->tried.writes);
}

char *sweep_line_again(const struct sweep *s)
{
	return end_line(add_option(begin_line(s, "replay"), "wait-watchers", s->runs.watches), s);
}

/* Whether the run has left Secrets, which are compared by digests of their values. */
static bool has_secrets(const struct sweep_answer *a)
{
	for (size_t i = 0; i < a->effect_count; i++) {
		if (strncmp(a->effects[i].key, "secrets ", 8) == 0)
			return true;
	}
	return false;
}

char *sweep_line_verdict(struct sweep *s, bool laid_over)
{
	const struct sweep_slot first = {.number = 1, .laid_over = laid_over};
	char *golden = sweep_run_file(&s->runs, &first, "run");
	const struct sweep_recorded *recorded = &s->runs.options.recorded;
	char *text = xstrdup(laid_over && !s->v->tried.writes.count ? " --write overlay" : "");
	char *await = laid_over && recorded->awaited ? xasprintf("@%s", recorded->awaited) : NULL;

	if (laid_over)
		text = add_options(add_options(text, "hold-finalizer", &recorded->finalizers),
			"release-finalizer", &recorded->released);
	if (await)
		text = add_option(text, "await", await);
	if (has_secrets(&sweep_ground_of(s, laid_over)->answer) && access(s->runs.secrets_key, F_OK) == 0)
		text = add_option(text, "secrets-key", s->runs.secrets_key);
	text = add_option(text, "golden", golden);
	text = add_options(text, "also", &sweep_ground_of(s, laid_over)->measure.taught);
	text = add_option(text, "compare", s->v->tried.compare);
	text = add_options(text, "ignore", &s->v->tried.ignored);
	free(golden);
	free(await);
	return text;
}

char *sweep_line_anew(const struct sweep *s, bool laid_over)
{
	const struct sweep_values *v = s->v;
	char *settle = xasprintf("%lldms", (long long)(s->runs.options.settle_ns / NS_PER_MS));
	char *text = add_option(begin_line(s, "sweep"), "settle", settle);

	free(settle);
	text = add_option(text, "compare", v->tried.compare);
	text = add_options(text, "ignore", &v->tried.ignored);
	if (laid_over && !v->tried.writes.count)
		text = add_option(text, "write", "overlay");
	text = end_line(add_flag(text, "kill", v->kill), s);
	if (v->probe)
		text = add_option(text, "probe", v->probe);
	if (v->hold)
		text = add_option(text, "hold-finalizers", v->hold);
	if (v->await)
		text = add_option(text, "await", v->await);
	return add_options(text, "invariant", &v->invariants);
}
