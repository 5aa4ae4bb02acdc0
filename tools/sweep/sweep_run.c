/* sweep_run.c: see sweep_run.h. */
#include "tools/sweep/sweep_run.h"

#include "schema/base/clock.h"
#include "schema/base/count_of.h"
#include "schema/tape/redact.h"
#include "tools/sweep/sweep_made_up.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define STARTS        4 /* for a program that starts again, as long as the slowest one without faults */
#define RUNS_ENOUGH   3 /* see limit_of_quiet */
#define QUIETS_ENOUGH 2
#define ARGUMENTS_MAX 40 /* but --write, those of finalizers and the command's */
#define FOLDERS_MAX   10000

/* ---- files ---- */

char *sweep_run_file(const struct sweep_runs *s, const struct sweep_slot *slot, const char *suffix)
{
	static const char *const stages[] = {
		[SWEEP_FIRST] = "",
		[SWEEP_AGAIN] = "-again",
		[SWEEP_CONTROL] = "-control",
		[SWEEP_NARROW] = "-narrow",
	};
	const char *kind = slot->paced ? "paced" : slot->laid_over ? "overlay" : "without";

	if (!slot->of)
		return xasprintf("%s/%s-%zu.%s", s->folder, kind, slot->number, suffix);
	if (slot->stage == SWEEP_REPEAT)
		return xasprintf("%s/%03zu-repeat-%zu.%s", s->folder, slot->of->number, slot->number, suffix);
	return xasprintf("%s/%03zu%s.%s", s->folder, slot->of->number, stages[slot->stage], suffix);
}

static const char *const suffixes[] = {"run", "log"};

void sweep_run_remove(const struct sweep_runs *s, const struct sweep_slot *slot)
{
	for (size_t i = 0; i < COUNT_OF(suffixes); i++) {
		char *path = sweep_run_file(s, slot, suffixes[i]);

		unlink(path);
		free(path);
	}
}

void sweep_run_take_place(const struct sweep_runs *s, const struct sweep_slot *slot)
{
	struct sweep_slot first = {.of = slot->of};

	for (size_t i = 0; i < COUNT_OF(suffixes); i++) {
		char *from = sweep_run_file(s, slot, suffixes[i]),
		     *to = sweep_run_file(s, &first, suffixes[i]);

		(void)rename(from, to); /* what is not there is missed by nobody but a reader of the folder */
		free(from);
		free(to);
	}
}

bool sweep_is_file(const char *name)
{
	const char *dot = strchr(name, '.');

	if (strcmp(name, "sweep.json") == 0 || strcmp(name, SWEEP_AWAITED_NAME) == 0)
		return true;
	return dot &&
	       (isdigit((unsigned char)*name) || strncmp(name, "without-", 8) == 0 ||
		       strncmp(name, "overlay-", 8) == 0 || strncmp(name, "paced-", 6) == 0) &&
	       (strcmp(dot, ".run") == 0 || strcmp(dot, ".log") == 0 || strcmp(dot, ".faults.json") == 0);
}

static int has_sweep(const char *folder, bool *ret, struct err *err)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	bool found = false;

	if (!dir)
		return err_set_errno(err, errno, "cannot open '%s'", folder);
	while (!found && (entry = readdir(dir)))
		found = sweep_is_file(entry->d_name);
	closedir(dir);
	*ret = found;
	return 0;
}

/* One that the user has named may be there, but nothing of it is thrown away. */
static int use_folder(struct sweep_runs *s, const char *folder, struct err *err)
{
	bool has = false;
	int rc = 0;

	s->folder = xstrdup(folder);
	if (mkdir(folder, 0700) == 0)
		return 0;
	if (errno != EEXIST)
		return err_set_errno(err, errno, "cannot make '%s'", folder);
	rc = has_sweep(folder, &has, err);
	if (rc == 0 && has)
		return err_set(err, ERR_USAGE,
			"'%s' holds an earlier sweep, which is not thrown away: remove it, or name another folder",
			folder);
	return rc;
}

/* NAME.sweep, or NAME-2.sweep and so on: the first that is not there. */
static int make_folder(struct sweep_runs *s, const char *name, int len, struct err *err)
{
	for (int n = 1; n < FOLDERS_MAX; n++) {
		char number[16] = "";

		if (n > 1)
			snprintf(number, sizeof(number), "-%d", n);
		free(s->folder);
		s->folder = xasprintf("%.*s%s.sweep", len, name, number);
		if (mkdir(s->folder, 0700) == 0) {
			if (n > 1)
				fprintf(stderr, "kubetape sweep: earlier ones are kept: this one is '%s'\n",
					s->folder);
			return 0;
		}
		if (errno != EEXIST)
			return err_set_errno(err, errno, "cannot make '%s'", s->folder);
	}
	return err_set(err, ERR_FAILED, "'%.*s.sweep' and %d more folders are there: name one with --out",
		len, name, FOLDERS_MAX - 2);
}

int sweep_folder_prepare(struct sweep_runs *s, const char *folder, struct err *err)
{
	const char *slash = strrchr(s->options.tape, '/');
	const char *name = slash && slash[1] ? slash + 1 : s->options.tape;
	size_t len = strlen(name);

	if (len > 5 && strcmp(name + len - 5, ".tape") == 0)
		len -= 5;
	return folder ? use_folder(s, folder, err) : make_folder(s, name, (int)len, err);
}

int sweep_key_prepare(struct sweep_runs *s, struct err *err)
{
	struct redactor *made;
	int rc;

	s->secrets_key = xasprintf("%s/" SWEEP_KEY_NAME, s->folder);
	rc = redactor_of_tape(s->options.tape, s->secrets_key, &made, err);
	if (rc == 0)
		redactor_close(made);
	return rc;
}

/* ---- one run ---- */

char *sweep_slot_faults(const struct sweep_runs *s, const struct sweep_slot *slot)
{
	struct sweep_slot first = *slot;

	if (slot->of->position->kind == SWEEP_GIVEN)
		return xstrdup(slot->of->faults);
	if (slot->stage == SWEEP_AGAIN)
		first.stage = SWEEP_FIRST;
	first.paced = false;
	return sweep_run_file(s, &first, "faults.json");
}

static char *milliseconds(int64_t ns)
{
	return xasprintf("%lldms", (long long)(ns / NS_PER_MS));
}

/* An option that has a value; NULL: it is not given. */
static size_t add_value(char **to, const char *option, const char *value)
{
	if (!value)
		return 0;
	to[0] = (char *)option;
	to[1] = (char *)value;
	return 2;
}

static size_t add_flag(char **to, const char *option, bool given)
{
	to[0] = (char *)option;
	return given;
}

/* What not every run has. Returns how many words it added. */
static size_t add_choices(const struct sweep_options *v, const struct sweep_slot *slot, const char *lockstep,
	const char *await, char **to)
{
	size_t n = add_value(to, "--from", v->from);

	n += add_value(to + n, "--until", v->until);
	n += add_value(to + n, "--write", slot->laid_over && !v->writes.count ? "overlay" : NULL);
	n += add_value(to + n, "--probe", v->probe);
	n += add_value(to + n, "--in-cluster", v->in_cluster);
	n += add_flag(to + n, "--kill", v->kill);
	n += add_flag(to + n, "--gc", v->gc);
	n += add_flag(to + n, "--rebase-time", v->rebase_time);
	n += add_value(to + n, "--lockstep", lockstep);
	for (size_t i = 0; i < v->writes.count; i++)
		n += add_value(to + n, "--write", v->writes.items[i]);
	n += add_value(to + n, "--await", await);
	for (size_t i = 0; slot->laid_over && i < v->recorded.finalizers.count; i++)
		n += add_value(to + n, "--hold-finalizer", v->recorded.finalizers.items[i]);
	for (size_t i = 0; slot->laid_over && i < v->recorded.released.count; i++)
		n += add_value(to + n, "--release-finalizer", v->recorded.released.items[i]);
	return n;
}

int64_t sweep_try_settle(const struct sweep_runs *s, const struct sweep_try *try)
{
	return try && try->settle_ns ? try->settle_ns : s->options.settle_ns;
}

int64_t sweep_slot_settle(const struct sweep_runs *s, const struct sweep_slot *slot)
{
	return slot->quick ? s->quick_ns : slot->settle_ns ? slot->settle_ns : sweep_try_settle(s, slot->of);
}

int64_t sweep_slot_lockstep(const struct sweep_runs *s, const struct sweep_slot *slot)
{
	return s->options.lockstep_ns ? s->options.lockstep_ns : slot->paced ? s->pace_ns : 0;
}

/* A program that is killed starts twice, which may take long where others run beside it. */
static bool starts_again(const struct sweep_slot *slot)
{
	enum sweep_pattern pattern = slot->of ? slot->of->position->pattern : SWEEP_PATTERNS;

	return pattern == SWEEP_RESTART || pattern == SWEEP_STALE;
}

/* Lock-step waits for each write that comes late, and a program that is to be quiet for longer ends later: neither is a
 * sign of one that hangs. */
static int64_t limit_of(const struct sweep_runs *s, const struct sweep_slot *slot, int64_t lockstep_ns)
{
	uint64_t late = lockstep_ns && slot->of ? slot->of->position->late_writes : 0;

	int64_t settle_ns = slot->quick ? s->options.settle_ns : sweep_slot_settle(s, slot);
	int64_t start_ns = starts_again(slot) ? STARTS * s->start_ns : 0;

	return s->options.timeout_ns + (int64_t)late * SWEEP_ECHO_NS + start_ns + settle_ns -
	       s->options.settle_ns;
}

/* What is to be quiet for longer, and is not by then, is never quiet for that long. */
static int64_t limit_of_quiet(const struct sweep_runs *s, const struct sweep_slot *slot, int64_t lockstep_ns)
{
	int64_t limit_ns = limit_of(s, slot, lockstep_ns), settle_ns = sweep_slot_settle(s, slot);
	int64_t enough_ns = RUNS_ENOUGH * s->longest_ns + QUIETS_ENOUGH * settle_ns;

	return settle_ns > s->options.settle_ns && enough_ns < limit_ns ? enough_ns : limit_ns;
}

static void note_length(struct sweep_runs *s, size_t at)
{
	bool is_usual = sweep_slot_settle(s, &s->slot[at]) <= s->options.settle_ns;

	if (is_usual && s->job[at].lasted_ns > s->longest_ns)
		s->longest_ns = s->job[at].lasted_ns;
}

int sweep_run_start(struct sweep_runs *s, size_t at, struct err *err)
{
	const struct sweep_options *v = &s->options;
	const struct sweep_slot *slot = &s->slot[at];
	int64_t lockstep_ns = sweep_slot_lockstep(s, slot);
	char *settle = milliseconds(sweep_slot_settle(s, slot));
	char *lockstep = milliseconds(lockstep_ns);
	char *run = sweep_run_file(s, slot, "run"), *log = sweep_run_file(s, slot, "log");
	char *await = slot->laid_over && v->recorded.awaited ? xasprintf("@%s", v->recorded.awaited) : NULL;
	char *faults = slot->faults ? xstrdup(slot->faults) : slot->of ? sweep_slot_faults(s, slot) : NULL;
	char *fixed[] = {(char *)"replay", (char *)s->options.tape, (char *)"--gaps",
		faults ? faults : (char *)"none", (char *)"--run", run, (char *)"--secrets-key",
		s->secrets_key, (char *)"--settle", settle, (char *)"--settle-limit", (char *)"0",
		(char *)"--wait-watchers", s->watches, (char *)"--speed", (char *)v->speed,
		v->plain ? (char *)"--plain" : NULL};
	size_t count = 0, child_count = 0;
	char **arguments;
	int rc;

	while (v->child[child_count])
		child_count++;
	arguments = xcalloc(
		ARGUMENTS_MAX +
			2 * (v->writes.count + v->recorded.finalizers.count + v->recorded.released.count) +
			child_count,
		sizeof(*arguments));
	for (size_t i = 0; i < COUNT_OF(fixed) && fixed[i]; i++)
		arguments[count++] = fixed[i];
	count += add_choices(v, slot, lockstep_ns ? lockstep : NULL, await, arguments + count);
	arguments[count++] = (char *)"--";
	memcpy(arguments + count, v->child, child_count * sizeof(*arguments));
	rc = sweep_job_start(
		&s->job[at], v->replay, arguments, log, limit_of_quiet(s, slot, lockstep_ns), err);
	free(arguments);
	free(await);
	free(lockstep);
	free(settle);
	free(faults);
	free(run);
	free(log);
	return rc;
}

/* The last line of the log says why. */
static int tell_failure(const char *log, struct err *err)
{
	char line[256], last[256] = "";
	FILE *file = fopen(log, "re");

	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		if (*line)
			memcpy(last, line, sizeof(last));
	}
	if (file)
		fclose(file);
	return err_set(err, ERR_FAILED, "a replay failed, see '%s': %.150s", log, last);
}

int sweep_run_read(struct sweep_runs *s, size_t at, struct sweep_answer *ret, struct err *err)
{
	char *run = sweep_run_file(s, &s->slot[at], "run"), *log = sweep_run_file(s, &s->slot[at], "log");
	const struct sweep_asked asked = {.invariants = &s->options.invariants,
		.log = log,
		.settle_ns = sweep_slot_settle(s, &s->slot[at]),
		.timed_out = s->job[at].timed_out,
		.without = !s->slot[at].of,
		.ignored = s->options.ignored};
	int rc = sweep_answer_read(s->options.tape, run, &asked, ret, err);

	note_length(s, at);
	if (rc == 0)
		sweep_made_up_apply(&s->options.made_up, ret);
	if (rc == ERR_NOT_FOUND)
		rc = tell_failure(log, err);
	else if (rc && rc != ERR_USAGE)
		err_suffix(err, rc, "the log of that replay is '%s'", log);
	free(run);
	free(log);
	return rc;
}

int sweep_run_session(
	const struct sweep_runs *s, const struct sweep_slot *slot, struct sql_session **ret, struct err *err)
{
	char *run = sweep_run_file(s, slot, "run");
	int rc = sql_session_open_run(s->options.tape, run, ret, err);

	free(run);
	return rc;
}
