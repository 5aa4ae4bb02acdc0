/*
 * cmd_pin.c: `kubetape pin`. A pin is a tape in one file, cut out of the one that is recorded: retention
 * removes whole segments, and what is kept of one has to be whole without its neighbours.
 */
#include "schema/base/bytes_format.h"
#include "schema/base/clock.h"
#include "schema/base/unused_name.h"
#include "schema/base/version.h"
#include "schema/base/visible.h"
#include "schema/tape/beside.h"
#include "schema/tape/new_tape.h"
#include "schema/tape/position.h"
#include "schema/tape/remake.h"
#include "schema/tape/segment.h"
#include "tools/cli/plural.h"
#include "tools/cli/position_help.h"
#include "tools/cli/progress.h"
#include "tools/commands.h"
#include "tools/out/certainty.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIN_ENDING ".ktape"
#define PIN_FROM   "-10m"
#define PINS_BYTES (INT64_C(1) << 30)
#define PINS_MAX   10000 /* in a folder */

struct pin_values {
	const char *from, *until, *name;
	int64_t max_size;
};

#define AT(field) offsetof(struct pin_values, field)

static const struct option_row rows[] = {
	{OPTION_TEXT, 0, "from", AT(from), "POSITION", "begin there (-10m)"},
	{OPTION_TEXT, 0, "until", AT(until), "POSITION", "end there (end)"},
	{OPTION_TEXT, 0, "name", AT(name), "NAME", "the name of the pin (the time at which it begins)"},
	{OPTION_BYTES, 0, "max-size", AT(max_size), "SIZE",
		"remove the oldest pins while all pins take more than this (1G; 0: never)"},
	{.kind = OPTION_END},
};

/* ---- the folder of the pins ---- */

struct pin_file {
	char *path;
	struct timespec made;
	uint64_t bytes;
};

struct pins {
	struct pin_file items[PINS_MAX];
	size_t count;
	uint64_t bytes;
};

static int pins_compare(const void *a, const void *b)
{
	const struct pin_file *x = a, *y = b;

	if (x->made.tv_sec != y->made.tv_sec)
		return x->made.tv_sec < y->made.tv_sec ? -1 : 1;
	return (x->made.tv_nsec > y->made.tv_nsec) - (x->made.tv_nsec < y->made.tv_nsec);
}

static bool is_pin(const char *name)
{
	size_t len = strlen(name), ending = strlen(PIN_ENDING);

	return *name != '.' && len > ending && strcmp(name + len - ending, PIN_ENDING) == 0;
}

static void pins_add(struct pins *p, const char *folder, const char *name)
{
	char *path = xasprintf("%s/%s", folder, name);
	struct stat st;

	if (lstat(path, &st) || !S_ISREG(st.st_mode)) {
		free(path);
		return;
	}
	p->items[p->count++] = (struct pin_file){path, st.st_mtim, (uint64_t)st.st_size};
	p->bytes += (uint64_t)st.st_size;
}

/* Oldest first. */
static int pins_list(const char *folder, struct pins *ret, struct err *err)
{
	DIR *dir = opendir(folder);

	if (!dir)
		return err_set_errno(err, errno, "cannot read '%s'", folder);
	for (struct dirent *e; ret->count < PINS_MAX && (e = readdir(dir));) {
		if (is_pin(e->d_name))
			pins_add(ret, folder, e->d_name);
	}
	closedir(dir);
	qsort(ret->items, ret->count, sizeof(ret->items[0]), pins_compare);
	return 0;
}

static void tell_removed(const struct pin_file *pin, uint64_t max_bytes)
{
	char bytes[BYTES_TEXT_BYTES];

	fputs("removed '", stdout);
	visible_puts(stdout, pin->path);
	printf("', the oldest: pins may take %s in all (--max-size)\n", bytes_format(bytes, max_bytes));
}

/* The newest one stays, however large it is. */
static int pins_remove_oldest(const char *folder, uint64_t max_bytes, struct err *err)
{
	struct pins *p = xcalloc(1, sizeof(*p));
	int rc = pins_list(folder, p, err);

	for (size_t i = 0; i + 1 < p->count && p->bytes > max_bytes && !rc; i++) {
		if (unlink(p->items[i].path) && errno != ENOENT)
			rc = err_set_errno(err, errno, "cannot remove '%s'", p->items[i].path);
		else
			tell_removed(&p->items[i], max_bytes);
		p->bytes -= p->items[i].bytes;
	}
	for (size_t i = 0; i < p->count; i++)
		free(p->items[i].path);
	free(p);
	return rc;
}

/* The beginning of a pin whose maker was killed. */
static bool is_torn(const char *name)
{
	struct slice pin;
	long maker = new_tape_maker(name, &pin);

	return maker && slice_ends(pin, PIN_ENDING) && kill((pid_t)maker, 0) && errno == ESRCH;
}

static void remove_torn(const char *folder)
{
	DIR *dir = opendir(folder);

	for (struct dirent *e; dir && (e = readdir(dir));) {
		char *path = xasprintf("%s/%s", folder, e->d_name);

		if (is_torn(e->d_name))
			segment_remove_all(path);
		free(path);
	}
	if (dir)
		closedir(dir);
}

/* ---- one pin ---- */

static int check_name(const char *name, struct err *err)
{
	if (*name && *name != '.' && !strchr(name, '/') && strlen(name) < 200)
		return 0;
	return err_set(err, ERR_USAGE,
		"bad name of a pin '%s': expected one that could be a file's, without '/'", name);
}

/* Without an event a tape has no state either: its pin would say nothing. */
static int check_stretch(const struct pin_values *v, const struct tape_position *from,
	const struct tape_position *until, struct err *err)
{
	char remark[POSITION_REMARK_BYTES];

	if (from->place == POSITION_AFTER && tape_position_remark(from, v->from, remark))
		return err_set(err, ERR_USAGE, "nothing to pin: %s", remark);
	if (until->place == POSITION_BEFORE && tape_position_remark(until, v->until, remark))
		return err_set(err, ERR_USAGE, "nothing to pin: %s", remark);
	if (until->seq > from->seq)
		return 0;
	return err_set(err, ERR_USAGE, "nothing to pin: the tape has no event after '%s' until '%s'", v->from,
		v->until);
}

/* Returns EXIT_LOSS, or EXIT_OK. It is no loss if the tape is younger than the default of --from, or ends before --until. */
static int tell_what_lacks(
	struct tape *t, const struct pin_values *v, const struct tape_position *from, struct err *err)
{
	struct certainty certainty;
	int rc = certainty_open(&certainty, "pin", t, err);

	if (!rc && strcmp(v->from, PIN_FROM) != 0)
		certainty_of_position(&certainty, from, v->from);
	certainty_end(&certainty);
	certainty_close(&certainty);
	return rc ? rc : certainty.is_guess ? EXIT_LOSS : EXIT_OK;
}

static int pin_step(void *context, uint64_t done, uint64_t total)
{
	return progress_step(context, done, total);
}

static int pin_stretch(struct tape *t, const struct pin_values *v, const char *folder, struct err *err)
{
	struct tape_position from, until;
	struct remake_point from_point, until_point;
	struct progress progress;
	struct remake_options options = {.program = "kubetape " KUBETAPE_VERSION,
		.one_segment = true,
		.hooks = {.progress = pin_step, .context = &progress}};
	struct remake_result result;
	char at[TIME_TEXT_BYTES], *name, *path;
	int rc = tape_position_find(t, v->from, &from, err);

	if (!rc)
		rc = tape_position_find(t, v->until, &until, err);
	if (!rc)
		rc = check_stretch(v, &from, &until, err);
	if (!rc && mkdir(folder, 0700) && errno != EEXIST)
		rc = err_set_errno(err, errno, "cannot make '%s'", folder);
	remove_torn(folder);
	if (rc)
		return rc;
	from_point = (struct remake_point){from.seq, from.time_ns, from.by_time};
	until_point = (struct remake_point){until.seq, until.time_ns, until.by_time};
	options.from = from.seq ? &from_point : NULL;
	options.until = until.is_end ? NULL : &until_point;
	time_format_name(at, from.place == POSITION_BEFORE ? from.span.begin_ns : from.time_ns);
	name = unused_name(folder, v->name ? v->name : at, PIN_ENDING);
	path = xasprintf("%s/%s" PIN_ENDING, folder, name);
	free(name);
	progress_catch_signals();
	progress_begin(&progress, "pinning");
	rc = tape_remake(t, path, &options, &result, err);
	progress_clear(&progress);
	if (!rc) {
		fputs("pinned '", stdout);
		visible_puts(stdout, path);
		printf("', which begins with %ju object%s and has %ju event%s after them\n",
			(uintmax_t)result.state_objects, plural(result.state_objects),
			(uintmax_t)result.events, plural(result.events));
	}
	free(path);
	return rc ? rc : tell_what_lacks(t, v, &from, err);
}

static int pin(void *values, const struct operands *operands, struct err *err)
{
	const struct pin_values *v = values;
	char *folder = tape_beside(operands->items[0], "pins");
	struct tape *t = NULL;
	int rc = v->name ? check_name(v->name, err) : 0, removed;

	if (!rc)
		rc = tape_open(operands->items[0], &t, err);
	if (!rc)
		rc = pin_stretch(t, v, folder, err);
	removed = rc >= 0 && v->max_size ? pins_remove_oldest(folder, (uint64_t)v->max_size, err) : 0;
	if (t)
		tape_close(t);
	free(folder);
	return removed ? removed : rc;
}

static int pin_run(const struct command *self, int argc, char **argv)
{
	struct pin_values v = {.from = PIN_FROM, .until = "end", .max_size = PINS_BYTES};

	return command_run(self, argc, argv, &v, pin);
}

const struct command cmd_pin = {
	.name = "pin",
	.operands = "TAPE",
	.expects = {"a tape", 1, 1},
	.writes_beside = true,
	.summary = "keep a part of a tape that retention would remove",
	.description =
		"Copies a part of a tape, which may be one that is being recorded, to a tape in one file in the\n"
		"folder TAPE.pins beside it. A pin is a complete tape: it begins with the objects that were live,\n"
		"and every command reads it. The recorder's --max-size, --max-age and --keep-free do not remove\n"
		"pins; this command removes the oldest pins while all pins take more than its --max-size. 'record\n"
		"--pin-when' pins by itself.\n"
		"\n" POSITION_HELP "\n"
		"  kubetape pin /var/lib/kubetape/cluster.tape --from -10m\n"
		"  kubetape replay /var/lib/kubetape/cluster.tape.pins/2026-11-22T20-05-00Z.ktape",
	.options = rows,
	.exits =
		{
			[EXIT_USAGE] = "a usage error, or the tape has no event between the two positions",
			[EXIT_LOSS] = "pinned, but the tape begins later than --from",
		},
	.run = pin_run,
};
