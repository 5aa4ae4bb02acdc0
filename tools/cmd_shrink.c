/* cmd_shrink.c: `kubetape shrink`. See shrink.h for its parts. */
#include "schema/base/bytes_format.h"
#include "schema/base/clock.h"
#include "schema/base/count_of.h"
#include "schema/base/limits.h"
#include "schema/base/out_file.h"
#include "schema/base/visible.h"
#include "tools/commands.h"
#include "tools/sweep/shrink.h"
#include "tools/sweep/sweep_ignored.h"
#include "tools/sweep/tried_options.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRIES_MAX    1000
#define FIELDS_DEPTH 4

struct shrink_values {
	struct tried_values tried;
	const char *output, *gaps, *match;
	int64_t tries;
	bool json;
};

#define AT(field)       offsetof(struct shrink_values, field)
#define TRIED_AT(field) offsetof(struct shrink_values, tried.field)

static const struct option_row rows[] = {
	{OPTION_TEXT, 'o', "output", AT(output), "TAPE",
		"the tape to make, NAME.tape, or NAME.ktape for one file; it must not exist"},
	{OPTION_TEXT, 0, "gaps", AT(gaps), "recorded|none|FILE",
		"as with 'replay'; the remaining faults of a FILE become TAPE.faults.json"},
	{OPTION_TEXT, 0, "match", AT(match), "TEXT", "the command goes wrong only if its output has TEXT"},
	TRIED_COMPARE_ROW(TRIED_AT,
		"a result is wrong if it differs from that without the faults: for commands that end well, or never"),
	TRIED_IGNORE_ROW(TRIED_AT),
	{OPTION_NUMBER, 0, "tries", AT(tries), "N", "run the command at most N times; 1000 unless given"},
	TRIED_TIME_ROWS(TRIED_AT),
	TRIED_PLAIN_ROW(TRIED_AT),
	IN_CLUSTER_ROW(TRIED_AT),
	TRIED_WRITE_ROW(TRIED_AT),
	{OPTION_FLAG, 0, "json", AT(json), NULL, "print the result as JSON"},
	{.kind = OPTION_END},
};

/* ---- delta debugging ---- */

static void shrink_show(const struct shrink *s, const struct shrink_set *set)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r%zu runs: %zu of %zu %s are left (Ctrl-C stops)\033[K", s->tries,
			shrink_set_left(set), set->count, set->what);
}

/* Takes up to `size` of the kept ones away, from *at on. Returns how many; their indices are in `taken`. */
static size_t take_away(struct shrink_set *set, size_t *at, size_t size, size_t *taken)
{
	size_t count = 0;

	for (; *at < set->count && count < size; (*at)++) {
		if (!set->kept[*at])
			continue;
		set->kept[*at] = false;
		taken[count++] = *at;
	}
	return count;
}

static bool goes_on(struct shrink *s)
{
	s->stopped = s->stopped || (int64_t)s->tries >= s->o.tries_max;
	return !s->stopped;
}

/* One pass over what is kept, `size` of them at a time. Returns how many times they were not needed. */
static int pass(struct shrink *s, struct shrink_set *set, size_t size, size_t *taken, struct err *err)
{
	size_t at = 0;
	int gone = 0;

	while (goes_on(s)) {
		size_t count = take_away(set, &at, size, taken);
		int rc = count ? shrink_try(s, err) : 0;

		for (size_t i = 0; i < count && rc <= 0; i++)
			set->kept[taken[i]] = true;
		if (rc < 0)
			return rc;
		gone += rc;
		shrink_show(s, set);
		if (!count)
			break;
	}
	return gone;
}

static int reduce(struct shrink *s, struct shrink_set *set, struct err *err)
{
	size_t *taken = xcalloc(set->count + 1, sizeof(*taken)), size = shrink_set_left(set);
	int rc = 0;

	while (rc >= 0 && size && goes_on(s)) {
		rc = pass(s, set, size, taken, err);
		if (size == 1 && rc <= 0)
			break;
		size = size > 1 ? size / 2 : 1;
	}
	free(taken);
	return rc < 0 ? rc : 0;
}

/* What takes most away comes first: then each run is a short one. */
static int reduce_all(struct shrink *s, struct err *err)
{
	int rc;

	if ((rc = reduce(s, &s->documents, err)) || (rc = reduce(s, &s->resources, err)) ||
		(rc = reduce(s, &s->rules, err)) || (rc = shrink_find_objects(s, err)) ||
		(rc = reduce(s, &s->objects, err)) || (rc = shrink_find_events(s, err)) ||
		(rc = reduce(s, &s->events, err)))
		return rc;
	for (size_t depth = 1; depth <= FIELDS_DEPTH && !rc; depth++) {
		rc = shrink_find_fields(s, depth, err);
		if (!rc)
			rc = reduce(s, &s->fields, err);
	}
	return rc;
}

/* ---- the result ---- */

static uint64_t bytes_of(const char *path)
{
	struct tape_info info = {0};
	struct tape *t;

	if (tape_open(path, &t, NULL))
		return 0;
	if (tape_info(t, &info, NULL))
		info.disk_bytes = 0;
	tape_close(t);
	return info.disk_bytes;
}

static void print_json(const struct shrink *s, const char *output, const struct remake_result *made)
{
	printf("{\"runs\": %zu, \"events\": %llu, \"state_objects\": %llu, \"rules\": %zu, \"bytes\": %llu, "
	       "\"smallest\": %s}\n",
		s->tries + 1, (unsigned long long)made->events, (unsigned long long)made->state_objects,
		shrink_set_left(&s->rules), (unsigned long long)bytes_of(output),
		s->stopped ? "false" : "true");
}

static void print_word(const char *word)
{
	char *own = sweep_word(word);

	printf(" %s", own);
	free(own);
}

static void print_again(const struct shrink *s, const struct shrink_values *v, const char *faults)
{
	fputs("again: kubetape replay", stdout);
	print_word(v->output);
	fputs(" --gaps", stdout);
	print_word(faults);
	printf(" --speed %s --settle %lldms --wait-watchers %s%s", v->tried.speed,
		(long long)(v->tried.settle_ns / NS_PER_MS), s->runs.watches,
		v->tried.plain ? " --plain" : "");
	if (v->tried.in_cluster) {
		fputs(" --in-cluster", stdout);
		print_word(v->tried.in_cluster);
	}
	for (size_t i = 0; i < v->tried.writes.count; i++) {
		fputs(" --write", stdout);
		print_word(v->tried.writes.items[i]);
	}
	fputs(" --", stdout);
	for (char *const *word = s->runs.options.child; *word; word++)
		print_word(*word);
	putchar('\n');
}

static void print_text(const struct shrink *s, const struct shrink_values *v, const char *faults,
	const struct remake_result *made)
{
	char size[BYTES_TEXT_BYTES];

	printf("%llu events are left", (unsigned long long)made->events);
	if (s->has_faults)
		printf(", and %zu of %zu faults", shrink_set_left(&s->rules), s->rules.count);
	printf(": %s, after %zu runs%s\n", bytes_format(size, bytes_of(v->output)), s->tries + 1,
		s->stopped ? "; it may become smaller" : "");
	print_again(s, v, faults);
}

static int shrink_finish(struct shrink *s, const struct shrink_values *v, struct err *err)
{
	char *faults = s->has_faults ? xasprintf("%s.faults.json", v->output) : xstrdup(v->gaps);
	struct remake_result made;
	int rc = shrink_write(s, v->output, faults, &made, err);

	if (!rc && v->json)
		print_json(s, v->output, &made);
	else if (!rc)
		print_text(s, v, faults, &made);
	free(faults);
	return rc ? rc : s->stopped ? EXIT_LOSS : EXIT_OK;
}

/* ---- the command ---- */

static int shrink_check(const struct shrink_values *v, const struct operands *operands, struct err *err)
{
	struct stat st;
	int rc = tried_check(&v->tried, err);

	if (!v->output)
		return err_set(err, ERR_USAGE, "no tape to make; name one with '-o TAPE'");
	if (!operands->child || !operands->child[0])
		return err_set(err, ERR_USAGE, "no command after '--'");
	if (v->tried.ignored.count && !v->tried.compare)
		return err_set(err, ERR_USAGE, "'--ignore' is of '--compare'");
	if (v->tried.compare && strcmp(v->gaps, "none") == 0)
		return err_set(err, ERR_USAGE,
			"'--compare' tells a run with faults from one without: it needs '--gaps'");
	if (rc)
		return rc;
	if (lstat(v->output, &st) == 0)
		return err_set(err, ERR_USAGE, "'%s' exists already", v->output);
	return out_file_refuse_stream(v->output, "a tape is a folder", err);
}

static void init(struct shrink *s, const struct shrink_values *v, const struct operands *operands,
	const struct compare_rules *ignored)
{
	*s = (struct shrink){
		.o = {v->gaps, v->match, v->tried.compare != NULL, v->tries},
		.measure = {.exit_code = v->tried.compare && strstr(v->tried.compare, "exit"),
			.writes = v->tried.compare && strstr(v->tried.compare, "writes"),
			.ignored = ignored},
		.runs = {.options = {.replay = &cmd_replay,
				 .tape = operands->items[0],
				 .child = operands->child,
				 .speed = v->tried.speed,
				 .in_cluster = v->tried.in_cluster,
				 .writes = v->tried.writes,
				 .ignored = ignored,
				 .settle_ns = v->tried.settle_ns,
				 .timeout_ns = v->tried.timeout_ns,
				 .plain = v->tried.plain},
			.watches = xstrdup(ALL_WATCHES)},
		.has_faults = strcmp(v->gaps, "recorded") != 0 && strcmp(v->gaps, "none") != 0,
		.rules = {.what = "faults"},
		.documents = {.what = "sets of documents"},
		.resources = {.what = "resources"},
		.objects = {.what = "objects"},
		.events = {.what = "events"},
		.fields = {.what = "fields"},
	};
	buf_init(&s->scratch, LIMIT_OBJECT_BYTES);
	shrink_set_add(&s->documents, NULL);
}

static void shrink_release(struct shrink *s)
{
	struct shrink_set *sets[] = {
		&s->rules, &s->documents, &s->resources, &s->objects, &s->events, &s->fields};

	for (size_t i = 0; i < COUNT_OF(sets); i++)
		shrink_set_release(sets[i]);
	sweep_measure_release(&s->measure);
	free(s->differences);
	free(s->runs.folder);
	free(s->runs.secrets_key);
	free(s->runs.watches);
	buf_release(&s->scratch);
	tape_close(s->tape);
}

static int make_folder(struct shrink *s, const char *output, struct err *err)
{
	s->runs.folder = xasprintf("%s.tried-%ld", output, (long)getpid());
	return mkdir(s->runs.folder, 0700) ? err_set(err, ERR_IO, "cannot make '%s'", s->runs.folder) : 0;
}

static int shrink_tape(struct shrink *s, const struct shrink_values *v, struct err *err)
{
	int rc = make_folder(s, v->output, err);

	if (rc)
		return rc;
	sweep_jobs_prepare();
	shrink_find_resources(s);
	rc = sweep_key_prepare(&s->runs, err);
	if (!rc)
		rc = shrink_learn(s, err);
	if (!rc && !s->stopped)
		rc = reduce_all(s, err);
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
	shrink_clean(s);
	return rc ? rc : shrink_finish(s, v, err);
}

static int shrink(void *values, const struct operands *operands, struct err *err)
{
	const struct shrink_values *v = values;
	struct compare_rules *ignored;
	struct shrink s;
	int rc = shrink_check(v, operands, err);

	if (rc == 0)
		rc = sweep_ignored_of_tape(&v->tried.ignored, operands->items[0], &ignored, err);
	if (rc)
		return rc;
	init(&s, v, operands, ignored);
	rc = tape_open(operands->items[0], &s.tape, err);
	if (!rc)
		rc = shrink_tape(&s, v, err);
	shrink_release(&s);
	compare_rules_free(ignored);
	return rc;
}

static int shrink_run(const struct command *self, int argc, char **argv)
{
	struct shrink_values v = {.gaps = "recorded", .tries = TRIES_MAX, .tried = TRIED_DEFAULTS};
	int rc = command_run(self, argc, argv, &v, shrink);

	free(v.tried.writes.items);
	free(v.tried.ignored.items);
	return rc;
}

const struct command cmd_shrink = {
	.name = "shrink",
	.operands = "TAPE -- COMMAND...",
	.expects = {"one tape", 1, 1},
	.runs_child = true,
	.summary = "find the smallest tape with which a program still goes wrong",
	.description =
		"Runs COMMAND against a replay of the tape (KUBECONFIG is set), then repeatedly against less of\n"
		"it, to find the smallest tape with which it goes wrong in the same way. It goes wrong if it ends\n"
		"with the same exit code, not 0, or does not end in time; with --match, if it prints that text;\n"
		"with --compare, if its result differs from that without the faults. Documents, resources, faults\n"
		"of the file, objects, events and fields are removed, half of what is left, then a quarter, down\n"
		"to one by one. The command must do the same each time: see 'sweep'.\n"
		"\n"
		"  kubetape shrink X.tape --gaps X.sweep/003.faults.json -o bug.ktape -- ./test.sh",
	.options = rows,
	.exits = {[EXIT_LOSS] = "it may become smaller: --tries was reached, or Ctrl-C ended it"},
	.run = shrink_run,
};
