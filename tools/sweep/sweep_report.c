/* sweep_report.c: what a sweep found, for people. See sweep.h. */
#include "tools/sweep/sweep_report.h"

#include "schema/base/count_of.h"
#include "schema/base/visible.h"
#include "tools/cli/plural.h"
#include "tools/out/table_out.h"

#include <stdlib.h>

static const char *const verdict_names[] = {
	[SWEEP_UNTRIED] = "untried",
	[SWEEP_FINE] = "fine",
	[SWEEP_WRONG] = "wrong",
	[SWEEP_UNSURE] = "unsure",
	[SWEEP_CUT] = "wrong when cut",
	[SWEEP_UNSEEN] = "unseen",
	[SWEEP_MADE_AGAIN] = "made again",
	[SWEEP_EXCHANGED] = "exchanged",
	[SWEEP_NOT_REACHED] = "not reached",
};

const char *sweep_verdict_name(enum sweep_verdict verdict)
{
	return verdict_names[verdict];
}

int sweep_verdict_find(const char *word)
{
	for (int i = SWEEP_UNTRIED; word && i <= SWEEP_NOT_REACHED; i++) {
		if (strcmp(word, verdict_names[i]) == 0)
			return i;
	}
	return -1;
}

bool sweep_verdict_is_harmless(enum sweep_verdict verdict)
{
	return verdict == SWEEP_FINE || verdict == SWEEP_UNSEEN || verdict == SWEEP_MADE_AGAIN ||
	       verdict == SWEEP_EXCHANGED || verdict == SWEEP_NOT_REACHED;
}

size_t sweep_report_count(const struct sweep_report *r, enum sweep_verdict verdict)
{
	size_t n = 0;

	for (size_t i = 0; i < r->count; i++)
		n += r->tries[i].verdict == verdict;
	return n;
}

static bool is_plain_word(const char *text)
{
	return *text &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,@%+") ==
		       strlen(text);
}

char *sweep_word(const char *text)
{
	size_t quotes = 0;
	char *word, *at;

	if (is_plain_word(text))
		return xstrdup(text);
	for (const char *c = text; *c; c++)
		quotes += *c == '\'';
	word = at = xmalloc(strlen(text) + 3 * quotes + 3);
	*at++ = '\'';
	for (; *text; text++) {
		if (*text == '\'')
			at = stpcpy(at, "'\\'");
		*at++ = *text;
	}
	stpcpy(at, "'");
	return word;
}

/* Appends the command as words of a shell; takes the line over. */
static char *add_command(char *line, char *const *command)
{
	for (; *command; command++) {
		char *word = sweep_word(*command), *longer = xasprintf("%s %s", line, word);

		free(word);
		free(line);
		line = longer;
	}
	return line;
}

char *sweep_again_of(const struct sweep_report *r, int64_t settle_ns)
{
	int64_t ns = settle_ns ? settle_ns : r->settle_ns;

	return r->settle_ns ? xasprintf("%s --settle %lldms", r->again, (long long)(ns / NS_PER_MS))
			    : xstrdup(r->again);
}

bool sweep_is_late_by_events(const struct sweep_position *p)
{
	return p->pattern == SWEEP_ECHO && p->kind == SWEEP_ALWAYS && !p->late_writes;
}

char *sweep_repeat_of(const struct sweep_report *r, const struct sweep_try *t)
{
	bool laid_over = t->position->laid_over;
	const char *paced = sweep_is_late_by_events(t->position) ? r->paced : "";
	char *faults, *again, *line;

	if (t->repeat)
		return xstrdup(t->repeat);
	faults = sweep_word(t->faults);
	again = sweep_again_of(r, t->settle_ns);
	if (t->only_here)
		line = xasprintf("%s%s --patterns %s --faults %s --", laid_over ? r->anew_laid_over : r->anew,
			paced, sweep_pattern_names[t->position->pattern], faults);
	else
		line = xasprintf("%s%s%s --gaps=%s --", again, paced,
			laid_over ? r->verdict_laid_over : r->verdict, faults);
	free(again);
	free(faults);
	return add_command(line, r->child);
}

/* ---- for people ---- */

bool sweep_report_knows_delivered(const struct sweep_report *r)
{
	return !r->count || r->tries[0].position->kind != SWEEP_GIVEN;
}

static size_t count_lines(const char *text, size_t len)
{
	size_t count = len && text[len - 1] != '\n';

	for (size_t i = 0; i < len; i++)
		count += text[i] == '\n';
	return count;
}

/* A probe that fails without faults would tell nothing of faults. */
static void print_probe(const struct sweep_answer *a, FILE *to)
{
	size_t lines = count_lines(a->probe, (size_t)(strrchr(a->probe, '(') - a->probe));

	fprintf(to, "the probe prints %zu line%s, and ends with exit code %lld\n", lines, plural(lines),
		(long long)a->probe_code);
}

/* They are no findings, as they come without faults as well. */
static void print_alarms(const struct sweep_answer *a, FILE *to)
{
	for (const char *line = a->alarms; line && *line;) {
		int len = (int)strcspn(line, "\n");

		fprintf(to, "without gaps, too: %.*s\n", len, line);
		line += len + (line[len] == '\n');
	}
}

bool sweep_report_compares_nothing(const struct sweep_report *r)
{
	return r->without->end == SWEEP_QUIET && r->measure->writes && !r->without->probe &&
	       !r->without->effect_count && !r->without->counts.count && !sweep_report_count(r, SWEEP_WRONG);
}

static void print_without(const struct sweep_report *r, FILE *to)
{
	fprintf(to, "without gaps the command %s with exit code %lld",
		r->without->end == SWEEP_QUIET ? "is quiet at the end and leaves" : "ends by itself",
		(long long)r->without->exit_code);
	if (sweep_report_knows_delivered(r))
		fprintf(to, "; it was sent %llu events, and", (unsigned long long)r->positions->delivered);
	else
		fputc(';', to);
	fprintf(to, " %zu %s left\n", r->without->effect_count,
		r->without->effect_count == 1 ? "thing that it wrote is" : "things that it wrote are");
	if (r->without->probe)
		print_probe(r->without, to);
	else if (sweep_report_compares_nothing(r))
		fprintf(to,
			"nothing that it wrote is left to compare: give it a --probe, or see in '%s/without-1.log' whether "
			"it works at all\n",
			r->folder);
	print_alarms(r->without, to);
	if (r->gc)
		fputs("what it writes is collected with its owners, as in a cluster (--gc)\n", to);
	for (size_t i = 0; i < r->measure->unsteady.count; i++)
		fprintf(to, "what it writes into %s differs from run to run, and is not compared\n",
			r->measure->unsteady.items[i]);
	for (size_t i = 0; i < r->ignored->count; i++)
		fprintf(to, "--ignore: %s is not compared\n", r->ignored->items[i]);
	if (r->alone)
		fputs("side by side with itself the command comes to something else: one ran after the other\n",
			to);
}

static void print_place(const struct sweep_position *p, FILE *to)
{
	unsigned long long seq = p->seq, last_seq = p->last_seq;
	const char *how = p->pattern == SWEEP_COALESCED ? "at once" : "missed";

	if (sweep_is_of_run(p) || p->kind == SWEEP_ALWAYS || p->kind == SWEEP_GIVEN)
		return;
	if (sweep_is_resumption(p)) {
		fprintf(to,
			p->pattern == SWEEP_RESTART ? ", opened after event %llu"
						    : ", which ended before event %llu",
			seq);
		return;
	}
	if (p->hidden == 0)
		fprintf(to, ", its watches away from event %llu to %llu", seq, last_seq);
	else if (seq == last_seq)
		fprintf(to, ", event %llu %s", seq, how);
	else
		fprintf(to, ", %llu events of %llu to %llu %s", (unsigned long long)p->hidden, seq, last_seq,
			how);
}

static const char *const headings[] = {
	[SWEEP_WRONG] = "WRONG",
	[SWEEP_UNSURE] = "wrong once, and not again",
	[SWEEP_CUT] = "wrong with a harmless cut there as well",
};

static void print_try(const struct sweep_report *r, const struct sweep_try *t, FILE *to)
{
	char *name = sweep_position_name(t->position), *repeat = sweep_repeat_of(r, t);
	const char *line = t->differences;

	fprintf(to, "\n%s: ",
		t->verdict == SWEEP_UNSURE && t->further_runs ? "wrong twice, and not again"
							      : headings[t->verdict]);
	visible_puts(to, name);
	print_place(t->position, to);
	if (t->narrowed_from)
		fprintf(to, ", narrowed from %llu", (unsigned long long)t->narrowed_from->hidden);
	fprintf(to, " (%s)\n", t->words);
	while (line && *line) {
		int len = (int)strcspn(line, "\n");

		fprintf(to, "    %.*s\n", len, line);
		line += len + (line[len] == '\n');
	}
	if (t->further_runs)
		fprintf(to, "    in %u of %u further runs as well\n", t->further_wrong, t->further_runs);
	else if (t->verdict == SWEEP_WRONG)
		fputs("    in a second run as well; no further ones were made\n", to);
	fprintf(to, "    %s\n", repeat);
	free(repeat);
	free(name);
}

/* Why a fault struck nobody. */
static const char *const reasons[] = {
	"no watch was open there, or the event told nothing that the program had not done by itself",
	"it did not list there",
	"no watch was to show what it wrote there",
	"it did not write so, or did not list in time what may be old",
};

static size_t reason_of(const struct sweep_try *t)
{
	if (sweep_is_of_run(t->position))
		return 3;
	if (t->position->kind != SWEEP_ALWAYS)
		return 0;
	return t->position->pattern == SWEEP_SLOW ? 1 : 2;
}

static bool is_missed(const struct sweep_try *t, size_t reason)
{
	return t->verdict == SWEEP_NOT_REACHED && reason_of(t) == reason;
}

/* In which resources. */
static void print_missed(const struct sweep_report *r, size_t reason, FILE *to)
{
	size_t n = 0, told = 0;

	for (size_t i = 0; i < r->count; i++)
		n += is_missed(&r->tries[i], reason);
	if (n == 0)
		return;
	fprintf(to, "%zu not reached: %s (", n, reasons[reason]);
	for (size_t i = 0; i < r->count; i++) {
		const char *resource = r->tries[i].position->resource;
		bool seen = !is_missed(&r->tries[i], reason);

		for (size_t k = 0; k < i && !seen; k++)
			seen = is_missed(&r->tries[k], reason) &&
			       strcmp(r->tries[k].position->resource, resource) == 0;
		if (seen)
			continue;
		fputs(told++ ? ", " : "", to);
		visible_puts(to, resource);
	}
	fputs(")\n", to);
}

/* "12 places: 10 unobserved, 2 coalesced" */
static void print_places(const struct sweep_cause *c, FILE *to)
{
	const char *sign = ":";

	if (c->places == 1)
		return;
	fprintf(to, "    %zu places", c->places);
	for (int i = 0; i < SWEEP_PATTERNS; i++) {
		if (!c->by_pattern[i])
			continue;
		fprintf(to, "%s %zu %s", sign, c->by_pattern[i], sweep_pattern_names[i]);
		sign = ",";
	}
	fputc('\n', to);
}

/* Returns of how many causes. */
static size_t print_causes(const struct sweep_report *r, enum sweep_verdict verdict, FILE *to)
{
	struct sweep_causes causes;
	size_t count;

	sweep_causes_find(r, verdict, &causes);
	count = causes.count;
	for (size_t i = 0; i < count; i++) {
		print_try(r, causes.items[i].example, to);
		print_places(&causes.items[i], to);
	}
	sweep_causes_release(&causes);
	return count;
}

static void print_findings(const struct sweep_report *r, FILE *to)
{
	size_t count = print_causes(r, SWEEP_WRONG, to);

	print_causes(r, SWEEP_UNSURE, to);
	print_causes(r, SWEEP_CUT, to);
	if (count)
		fprintf(to, "\n%zu %s\n", count, count == 1 ? "cause" : "causes, one example each");
}

/* What was tried of each pattern, and what of it nobody met. */
static void print_coverage(const struct sweep_report *r, FILE *to)
{
	if (r->count && r->tries[0].position->kind == SWEEP_GIVEN)
		return; /* a file may have any patterns */
	for (int pattern = 0; pattern < SWEEP_PATTERNS; pattern++) {
		size_t tried = 0, wrong = 0, missed = 0;

		for (size_t i = 0; i < r->count; i++) {
			const struct sweep_try *t = &r->tries[i];

			if ((int)t->position->pattern != pattern)
				continue;
			missed += t->verdict == SWEEP_NOT_REACHED;
			wrong += t->verdict == SWEEP_WRONG;
			tried += t->verdict != SWEEP_NOT_REACHED && t->verdict != SWEEP_UNTRIED;
		}
		if (tried + missed)
			fprintf(to, "    %-10s %zu tried, %zu wrong, %zu not reached\n",
				sweep_pattern_names[pattern], tried, wrong, missed);
	}
}

static void print_left_out(const struct sweep_report *r, FILE *to)
{
	const char *sign = "";

	for (int i = 0; i < SWEEP_PATTERNS; i++) {
		if (!(r->left_out >> i & 1))
			continue;
		fprintf(to, "%s%s", sign, sweep_pattern_names[i]);
		sign = ", ";
	}
	if (r->left_out)
		fprintf(to, " could not be tried: %s\n", r->why_left_out);
}

/* A kubelet would start it again. */
static void print_ended(const struct sweep_report *r, FILE *to)
{
	size_t n = 0;

	for (size_t i = 0; i < r->count; i++)
		n += r->tries[i].verdict == SWEEP_WRONG && r->without->end == SWEEP_QUIET &&
		     strncmp(r->tries[i].differences, SWEEP_ENDS_BY_ITSELF,
			     sizeof(SWEEP_ENDS_BY_ITSELF) - 1) == 0;
	if (n)
		fprintf(to,
			"%zu made it end by itself: if it counts on being started again, sweep it in a loop (sh -c 'while :; "
			"do COMMAND; sleep 1; done')\n",
			n);
}

/* The first of a sort of which none was tried; NULL: there is one of each. */
static const struct sweep_try *find_lacking(const struct sweep_report *r)
{
	for (size_t i = 0; i < r->count; i++) {
		if (r->tries[i].verdict == SWEEP_UNTRIED && r->tries[i].position->turn == 0)
			return &r->tries[i];
	}
	return NULL;
}

bool sweep_report_lacks_sorts(const struct sweep_report *r)
{
	return find_lacking(r);
}

static void print_lacking(const struct sweep_try *lacking, FILE *to)
{
	char *name = lacking ? sweep_position_name(lacking->position) : NULL;

	if (name) {
		fprintf(to, " before one of each sort was, such as %s: ",
			sweep_pattern_names[lacking->position->pattern]);
		visible_puts(to, name);
	}
	fputc('\n', to);
	free(name);
}

/* Why some were not tried. */
static void print_untried(const struct sweep_report *r, FILE *to)
{
	size_t untried = sweep_report_count(r, SWEEP_UNTRIED);
	const char *were = untried == 1 ? "fault was" : "faults were";

	if (!untried)
		return;
	if (r->shard)
		fprintf(to, "shard %s: %zu fault%s for the others to try%s\n", r->shard, untried,
			untried == 1 ? " is" : "s are",
			r->stopped ? ", or not tried because it was stopped" : "");
	else if (r->merged)
		fprintf(to, "%zu %s not tried by any shard\n", untried, were);
	else if (r->stopped)
		fprintf(to, "stopped: %zu %s not tried\n", untried, were);
	else {
		fprintf(to, "%zu %s not tried: the --budget was spent", untried, were);
		print_lacking(find_lacking(r), to);
	}
}

/* With one example. */
static void print_made_again(const struct sweep_report *r, size_t count, FILE *to)
{
	const struct sweep_try *t = r->tries;

	while (t->verdict != SWEEP_MADE_AGAIN)
		t++;
	fprintf(to, "%zu made it delete, by an older view, what it made again once the view was current (",
		count);
	visible_put(to, (struct slice){t->differences, strcspn(t->differences, "\n")});
	fputs("): wrong only with --patterns stale\n", to);
}

/* With one example. */
static void print_such(
	const struct sweep_report *r, enum sweep_verdict verdict, size_t count, const char *what, FILE *to)
{
	const struct sweep_try *t = r->tries;
	char *name;

	while (t->verdict != verdict)
		t++;
	name = sweep_position_name(t->position);
	fprintf(to, "%zu %s (such as %s: ", count, what, sweep_pattern_names[t->position->pattern]);
	visible_puts(to, name);
	fputs(")\n", to);
	free(name);
}

void sweep_report_text(const struct sweep_report *r, FILE *to)
{
	size_t wrong = sweep_report_count(r, SWEEP_WRONG), fine = sweep_report_count(r, SWEEP_FINE);
	size_t unsure = sweep_report_count(r, SWEEP_UNSURE), cut = sweep_report_count(r, SWEEP_CUT);
	size_t unseen = sweep_report_count(r, SWEEP_UNSEEN);
	size_t made_again = sweep_report_count(r, SWEEP_MADE_AGAIN);
	size_t exchanged = sweep_report_count(r, SWEEP_EXCHANGED);

	print_without(r, to);
	print_findings(r, to);
	fprintf(to, "%s%zu of %zu faults make it go wrong\n", !wrong && (unsure || cut) ? "\n" : "", wrong,
		wrong + fine + unsure + cut + unseen + made_again + exchanged);
	if (r->count == 0)
		fputs("the tape has no place for what was to be tried\n", to);
	print_coverage(r, to);
	for (size_t i = 0; i < COUNT_OF(reasons); i++)
		print_missed(r, i, to);
	print_left_out(r, to);
	print_ended(r, to);
	if (unsure)
		fprintf(to, "%zu wrong, and not again: look at the command, or at a longer --settle\n",
			unsure);
	if (cut)
		fprintf(to,
			"%zu wrong with a harmless cut there as well: not what was hidden makes it go wrong, but perhaps the end of a watch ('coalesced' tries that) or chance\n",
			cut);
	if (unseen)
		print_such(r, SWEEP_UNSEEN, unseen,
			"hid something that nothing showed afterwards: only what answers to that is missing or differs",
			to);
	if (exchanged)
		print_such(r, SWEEP_EXCHANGED, exchanged,
			"made it give out the same values to other objects, as others came first", to);
	if (made_again)
		print_made_again(r, made_again, to);
	if (r->found > r->positions->count)
		fprintf(to, "%zu of %zu positions, the most telling ones; --max 0 tries all of them\n",
			r->positions->count, r->found);
	print_untried(r, to);
}
