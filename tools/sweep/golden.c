/* golden.c: see golden.h. */
#include "tools/sweep/golden.h"

#include "schema/base/limits.h"
#include "schema/base/log.h"
#include "schema/base/visible.h"
#include "schema/run/run_reader.h"
#include "tools/sweep/sweep.h"
#include "tools/sweep/sweep_ignored.h"
#include "tools/sweep/sweep_made_up.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_same_file(const char *a, const char *b)
{
	struct stat one, other;

	return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev &&
	       one.st_ino == other.st_ino;
}

static int make_own_run(struct golden_options *g, struct err *err)
{
	const char *folder = getenv("TMPDIR");
	int fd;

	g->own_run = xasprintf("%s/kubetape-XXXXXX", folder && *folder ? folder : "/tmp");
	fd = mkstemp(g->own_run);
	if (fd < 0)
		return err_set_errno(err, errno, "cannot make the run '%s'", g->own_run);
	close(fd);
	return 0;
}

static int check_options(const struct golden_options *g, struct err *err)
{
	const struct verdict_options *v = &g->verdict;
	bool of_writes = v->ignore.count || v->keep.count || v->order != COMPARE_SET;

	if (!g->path && (of_writes || v->also.count || g->compare))
		return err_set(err, ERR_USAGE, "'--%s' is of '--golden'",
			g->compare                    ? "compare"
			: v->also.count               ? "also"
			: v->ignore.count             ? "ignore"
			: v->keep.count               ? "keep"
			: v->order == COMPARE_ORDERED ? "ordered"
						      : "last");
	if (g->compare && (v->keep.count || v->order != COMPARE_SET))
		return err_set(err, ERR_USAGE,
			"'--compare' looks at what is left at the end: it goes without --ordered, --last and --keep");
	return g->path && !g->compare ? verdict_check(v, err) : 0;
}

static int check_run(const char *path, const char *run, struct err *err)
{
	struct run_reader *reader;

	if (run && is_same_file(run, path))
		return err_set(err, ERR_USAGE, "--run would overwrite the golden run '%s'", path);
	if (run_reader_open(path, &reader, err))
		return err_recode(err, ERR_USAGE);
	run_reader_close(reader);
	return 0;
}

int golden_open(struct golden_options *g, const char **run, struct err *err)
{
	int rc = check_options(g, err);

	if (rc || !g->path)
		return rc;
	if (g->compare)
		rc = sweep_ignored_make(&g->verdict.ignore, g->verdict.names, &g->ignored, err);
	for (size_t i = 0; i <= g->verdict.also.count && rc == 0; i++)
		rc = check_run(i ? g->verdict.also.items[i - 1] : g->path, *run, err);
	if (rc)
		return rc;
	if (!*run)
		rc = make_own_run(g, err);
	if (rc == 0 && !*run)
		*run = g->own_run;
	return rc;
}

/* ---- as a sweep compares ---- */

static int read_answer(const struct golden_options *g, const char *tape, const char *run, bool is_golden,
	struct sweep_answer *ret, struct err *err)
{
	return sweep_answer_read(
		tape, run, &(struct sweep_asked){.without = is_golden, .ignored = g->ignored}, ret, err);
}

static int learn(const struct golden_options *g, const char *tape, struct sweep_answer *golden,
	struct sweep_measure *m, struct text_list *made_up, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < g->verdict.also.count && rc == 0; i++) {
		struct sweep_answer other;

		rc = read_answer(g, tape, g->verdict.also.items[i], false, &other, err);
		if (rc)
			break;
		sweep_made_up_apply(made_up, &other);
		if (sweep_made_up_learn(made_up, golden, &other)) {
			sweep_made_up_apply(made_up, golden);
			sweep_made_up_apply(made_up, &other);
		}
		sweep_measure_learn(m, golden, &other);
		sweep_answer_release(&other);
	}
	return rc;
}

static void print_lines(struct slice text)
{
	while (text.len) {
		visible_put(stdout, slice_cut(&text, '\n'));
		putchar('\n');
	}
}

static int tell_left(const struct sweep_measure *m, const struct sweep_answer *golden,
	const struct sweep_answer *now, struct err *err)
{
	struct buf text;
	size_t count;

	buf_init(&text, LIMIT_DOCUMENT_BYTES);
	count = sweep_compare(m, golden, now, "golden", &text);
	if (count)
		print_lines(buf_slice(&text));
	else
		printf("no difference: %zu things that it wrote are left, golden %zu\n", now->effect_count,
			golden->effect_count);
	buf_release(&text);
	if (fflush(stdout))
		return err_set_errno(err, errno, "cannot write the output");
	return count ? EXIT_FAILED : EXIT_OK;
}

static int compare_left(const struct golden_options *g, const char *tape, const char *run, struct err *err)
{
	struct sweep_answer golden = {0}, now = {0};
	struct text_list made_up = {0};
	struct sweep_measure m = {.exit_code = strstr(g->compare, "exit") != NULL,
		.writes = strstr(g->compare, "writes") != NULL,
		.ignored = g->ignored};
	int rc = read_answer(g, tape, g->path, true, &golden, err);

	if (rc == 0)
		rc = learn(g, tape, &golden, &m, &made_up, err);
	if (rc == 0)
		rc = read_answer(g, tape, run, false, &now, err);
	sweep_made_up_apply(&made_up, &now);
	if (rc == 0)
		rc = tell_left(&m, &golden, &now, err);
	text_list_release(&made_up);
	sweep_measure_release(&m);
	sweep_answer_release(&golden);
	sweep_answer_release(&now);
	return rc;
}

/* How the command ended comes first, unless that is what was compared. */
static int join_codes(const struct golden_options *g, int verdict, int exit_code)
{
	bool is_compared = g->compare && strstr(g->compare, "exit");

	if (is_compared && verdict != EXIT_LOSS)
		return verdict == EXIT_OK && exit_code == EXIT_LOSS ? EXIT_LOSS : verdict;
	if (verdict == EXIT_OK || (exit_code != EXIT_OK && exit_code != EXIT_LOSS))
		return exit_code;
	return verdict;
}

int golden_judge(struct golden_options *g, const char *tape, const char *run, int *exit_code, struct err *err)
{
	int verdict;

	if (!g->path)
		return 0;
	if (g->own_run)
		g->verdict.second = "this replay";
	verdict = g->compare ? compare_left(g, tape, run, err) : verdict_give(&g->verdict, g->path, run, err);
	if (verdict < 0)
		return verdict;
	if (verdict == EXIT_FAILED)
		log_warn("the run differs from '%s'", g->path);
	*exit_code = join_codes(g, verdict, *exit_code);
	return 0;
}

void golden_close(struct golden_options *g)
{
	if (g->own_run)
		unlink(g->own_run);
	free(g->own_run);
	compare_rules_free(g->ignored);
	g->own_run = NULL;
	g->ignored = NULL;
}
