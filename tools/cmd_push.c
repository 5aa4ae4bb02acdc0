/* cmd_push.c: `kubetape push`. */
#include "recorder/push/push.h"
#include "schema/base/bytes_format.h"
#include "schema/base/clock.h"
#include "schema/base/visible.h"
#include "tools/cli/plural.h"
#include "tools/cli/progress.h"
#include "tools/cli/store_options.h"
#include "tools/commands.h"
#include "tools/out/table_out.h"

#include <stdio.h>

struct push_values {
	struct store_values store;
	bool json;
};

#define AT(field)       offsetof(struct push_values, field)
#define STORE_AT(field) AT(store.field)

static const struct option_row rows[] = {
	STORE_ROWS(STORE_AT),
	{OPTION_FLAG, 0, "json", AT(json), NULL, "print the result as JSON"},
	{.kind = OPTION_END},
};

struct push_work {
	struct progress progress;
	int64_t said_ns; /* monotonic, when a wait was last told of; 0: never */
};

#define SAY_EVERY_NS (10 * NS_PER_S)

static int on_progress(void *context, uint64_t done, uint64_t total)
{
	struct push_work *w = context;

	return progress_step(&w->progress, done, total);
}

static bool on_stop(void *context)
{
	(void)context;
	return progress_stop_asked();
}

static void say(struct push_work *w, const char *sentence, const char *end)
{
	progress_clear(&w->progress);
	fputs("kubetape push: ", stderr);
	visible_puts(stderr, sentence);
	fputs(end, stderr);
}

static void on_wait(void *context, const struct err *why, int64_t delay_ns)
{
	struct push_work *w = context;
	int64_t now = clock_mono_ns(&clock_system);

	(void)delay_ns;
	if (!why || (w->said_ns && now - w->said_ns < SAY_EVERY_NS))
		return;
	w->said_ns = now;
	say(w, why->text, "; trying again\n");
}

static void on_tell(void *context, const char *sentence)
{
	say(context, sentence, "\n");
}

static void print_text(const struct push *p, const struct push_figures *f)
{
	char bytes[BYTES_TEXT_BYTES], stored[BYTES_TEXT_BYTES];

	printf("pushed %ju segment%s (%s); the store has %ju (%s) in '", (uintmax_t)f->segments,
		plural(f->segments), bytes_format(bytes, f->bytes), (uintmax_t)f->stored_segments,
		bytes_format(stored, f->stored_bytes));
	visible_puts(stdout, push_url(p));
	fputs("'", stdout);
	if (f->open)
		fputs("; the tape is being written, its last segment follows once it is sealed", stdout);
	if (f->lost_segments)
		printf("; %ju segment%s removed here before being pushed", (uintmax_t)f->lost_segments,
			f->lost_segments == 1 ? " was" : "s were");
	if (f->missing_segments)
		printf("; it lacks %ju segment%s not here any more", (uintmax_t)f->missing_segments,
			f->missing_segments == 1 ? " that is" : "s that are");
	fputc('\n', stdout);
}

static void print_json(const struct push *p, const struct push_figures *f)
{
	fputs("{\"url\": ", stdout);
	table_out_json_string(stdout, slice_of(push_url(p)));
	printf(", \"pushed_segments\": %ju, \"pushed_bytes\": %ju, \"stored_segments\": %ju, "
	       "\"stored_bytes\": %ju, \"waiting_segments\": %ju, \"lost_segments\": %ju, "
	       "\"missing_segments\": %ju, \"complete\": %s}\n",
		(uintmax_t)f->segments, (uintmax_t)f->bytes, (uintmax_t)f->stored_segments,
		(uintmax_t)f->stored_bytes, (uintmax_t)f->waiting_segments, (uintmax_t)f->lost_segments,
		(uintmax_t)f->missing_segments, f->open ? "false" : "true");
}

static int push_to_store(void *values, const struct operands *operands, struct err *err)
{
	const struct push_values *v = values;
	struct push_work work = {0};
	struct push_options options = {.tape_path = operands->items[0],
		.url = operands->items[1],
		.cluster = v->store.cluster,
		.store = store_options(&v->store),
		.progress = on_progress,
		.tell = on_tell,
		.context = &work};
	struct push_figures figures;
	struct push *p;
	int rc;

	options.store.waits = on_wait;
	options.store.stop = on_stop;
	options.store.context = &work;
	progress_catch_signals();
	progress_begin(&work.progress, "pushing");
	rc = push_open(&options, &p, err);
	if (rc) {
		progress_clear(&work.progress);
		return rc;
	}
	rc = push_run(p, err);
	progress_clear(&work.progress);
	figures = push_figures(p);
	if (!rc && v->json)
		print_json(p, &figures);
	else if (!rc)
		print_text(p, &figures);
	push_close(p);
	return rc ? rc : figures.lost_segments || figures.missing_segments ? EXIT_LOSS : EXIT_OK;
}

static int push_command_run(const struct command *self, int argc, char **argv)
{
	struct push_values v = {.store = STORE_DEFAULTS};

	return command_run(self, argc, argv, &v, push_to_store);
}

const struct command cmd_push = {
	.name = "push",
	.operands = "TAPE URL",
	.expects = {"a tape and a place in a store", 2, 2},
	.takes_urls = true,
	.writes_beside = true,
	.summary = "put a tape into an object store, or into ClickHouse",
	.description =
		"Writes each sealed segment of a tape, which may be one that is being recorded, once to\n"
		"s3://BUCKET/PREFIX/cluster=NAME/tape=ID/, and after each a manifest that names it with its\n"
		"checksums. If a push is killed at any moment, the next one resumes where it was and sends nothing\n"
		"again that the store has. What the store has lost of it since, or has changed, it gets again, and a\n"
		"torn manifest is made anew. A damaged segment is not pushed. Other commands read such a tape as\n"
		"'s3://BUCKET/PREFIX/cluster=NAME/tape=ID'.\n"
		"\n"
		"Credentials, region and endpoint are found as the AWS tools find them: the environment, a pod's\n"
		"service account, the profile in ~/.aws, the container's and the machine's metadata.\n"
		"\n"
		"clickhouse+https://[USER@]HOST[:PORT]/DATABASE (or clickhouse+http) gets the rows of each segment\n"
		"in the tables 'events', 'gaps', 'missed', 'connections' and 'logs', which are made if missing, and\n"
		"then one row in 'segments'; the table 'audit' has the contents of the audit book. User and password\n"
		"may be in CLICKHOUSE_USER and CLICKHOUSE_PASSWORD. A push that was killed inserts its last segment\n"
		"again: query with FINAL.\n"
		"\n"
		"  kubetape push X.tape s3://tapes/prod --cluster eu-1\n"
		"  kubetape info s3://tapes/prod/cluster=eu-1\n"
		"  kubetape push X.tape clickhouse+https://writer@db.example/tapes --cluster eu-1",
	.options = rows,
	.exits =
		{
			[EXIT_LOSS] =
				"pushed, but the store lacks segments that are not on this machine any more",
		},
	.run = push_command_run,
};
