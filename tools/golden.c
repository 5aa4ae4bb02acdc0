/* golden.c: see golden.h. */
#include "tools/golden.h"

#include "schema/base/log.h"
#include "schema/run/run_reader.h"

#include <errno.h>
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

int golden_open(struct golden_options *g, const char **run, struct err *err)
{
	struct run_reader *reader;
	int rc;

	if (!g->path)
		return 0;
	rc = verdict_check(&g->verdict, err);
	if (rc)
		return rc;
	if (*run && is_same_file(*run, g->path))
		return err_set(err, ERR_USAGE, "--run would overwrite the golden run '%s'", g->path);
	for (size_t i = 0; i <= g->verdict.also.count; i++) {
		if (run_reader_open(i ? g->verdict.also.items[i - 1] : g->path, &reader, err))
			return err_recode(err, ERR_USAGE);
		run_reader_close(reader);
	}
	if (!*run)
		rc = make_own_run(g, err);
	if (rc == 0 && !*run)
		*run = g->own_run;
	return rc;
}

int golden_judge(struct golden_options *g, const char *run, int *exit_code, struct err *err)
{
	int verdict;

	if (!g->path)
		return 0;
	if (g->own_run)
		g->verdict.second = "this replay";
	verdict = verdict_give(&g->verdict, g->path, run, err);
	if (verdict < 0)
		return verdict;
	if (verdict == EXIT_FAILED)
		log_warn("the run differs from '%s'", g->path);
	if (verdict != EXIT_OK && (*exit_code == EXIT_OK || *exit_code == EXIT_LOSS))
		*exit_code = verdict == EXIT_FAILED ? EXIT_FAILED : EXIT_LOSS;
	return 0;
}

void golden_close(struct golden_options *g)
{
	if (g->own_run)
		unlink(g->own_run);
	free(g->own_run);
	g->own_run = NULL;
}
