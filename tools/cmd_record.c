/* cmd_record.c: `kubetape record`. */
#include "recorder/last_words.h"
#include "recorder/recorder.h"
#include "schema/base/bytes_format.h"
#include "schema/base/log.h"
#include "schema/base/out_file.h"
#include "schema/base/temp_folder.h"
#include "schema/tape/segment.h"
#include "tools/audit/audit_beside.h"
#include "tools/cli/store_options.h"
#include "tools/cli/tape_limits.h"
#include "tools/commands.h"
#include "tools/estimate.h"

#include <inttypes.h>
#include <malloc.h> /* GNU: mallopt */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct record_values {
	const char *output, *selector, *field_selector, *kubeconfig, *context, *server, *token_file, *ca,
		*secrets, *metrics, *pin_hook, *audit_log;
	struct text_list namespaces, excludes, pin_when;
	bool logs, all, insecure, wait, core, verbose, quiet;
	int64_t duration, estimate, flush_interval, retry_delay, coalesce;
	int64_t log_lines;
	int64_t pin_before, pin_after, pin_every, pin_max_size;
	struct tape_limits limits;
	const char *push;
	struct store_values store;
};

#define NO_DURATION    (-1)
#define PUSH_SILENCE_S 10 /* what is sent at the end must not hold a recorder up that is to end */
#define PUSH_RETRY_NS  (60 * NS_PER_S) /* then the push begins anew */

#define AT(field)       offsetof(struct record_values, field)
#define LIMIT_AT(field) AT(limits.field)
#define STORE_AT(field) AT(store.field)

static const struct option_row rows[] = {
	{OPTION_TEXT, 'o', "output", AT(output), "TAPE", "the tape to write or to continue"},
	{OPTION_FLAG, 'A', "all", AT(all), NULL, "everything that can be listed and watched"},
	{OPTION_LIST, 'n', "namespace", AT(namespaces), "NS", "only this namespace"},
	{OPTION_TEXT, 'l', "selector", AT(selector), "SELECTOR", "only objects with such labels"},
	{OPTION_TEXT, 0, "field-selector", AT(field_selector), "SELECTOR", "only objects with such fields"},
	{OPTION_LIST, 0, "exclude", AT(excludes), "RESOURCE",
		"leave out this resource; '*.GROUP' is a whole group"},
	{OPTION_TEXT, 0, "kubeconfig", AT(kubeconfig), "FILE", "instead of KUBECONFIG and ~/.kube/config"},
	{OPTION_TEXT, 0, "context", AT(context), "NAME", "use this context, not the current one"},
	{OPTION_TEXT, 's', "server", AT(server), "URL", "the API server"},
	{OPTION_TEXT, 0, "token-file", AT(token_file), "FILE",
		"a bearer token; the file is read again when it changes"},
	{OPTION_TEXT, 0, "certificate-authority", AT(ca), "FILE",
		"the authority that signs the server's certificate"},
	{OPTION_FLAG, 0, "insecure-skip-tls-verify", AT(insecure), NULL,
		"do not verify the server's certificate"},
	{OPTION_DURATION, 0, "duration", AT(duration), "TIME", "stop after this duration"},
	{OPTION_DURATION, 0, "estimate", AT(estimate), "TIME",
		"keep nothing: print how much disk a day would take, from a sample of this length"},
	{OPTION_CHOICE, 0, "secrets", AT(secrets), "digest|keep", "values of Secrets: digests, or unchanged"},
	{OPTION_DURATION, 0, "flush-interval", AT(flush_interval), "TIME",
		"how long an event may wait to be durable (250ms; 50ms if much comes)"},
	{OPTION_DURATION, 0, "coalesce", AT(coalesce), "TIME",
		"when busy, handle data that arrive within this time at once (10ms)"},
	{OPTION_DURATION, 0, "retry-delay", AT(retry_delay), "TIME", "first delay after a failure (800ms)"},
	TAPE_LIMIT_ROWS(LIMIT_AT, "64M"),
	{OPTION_LIST, 0, "pin-when", AT(pin_when), "SQL",
		"'kubetape pin' the time around an event for which this expression over the columns of events holds"},
	{OPTION_DURATION, 0, "pin-before", AT(pin_before), "TIME",
		"... this much of the time before it (10m)"},
	{OPTION_DURATION, 0, "pin-after", AT(pin_after), "TIME", "... and this much after it (1m)"},
	{OPTION_DURATION, 0, "pin-every", AT(pin_every), "TIME",
		"... of each expression at most once in this time (10m)"},
	{OPTION_BYTES, 0, "pin-max-size", AT(pin_max_size), "SIZE",
		"... and remove the oldest pins while all pins take more than this (1G; 0: never)"},
	{OPTION_TEXT, 0, "pin-hook", AT(pin_hook), "COMMAND|URL",
		"... and run this with sh at that moment, with the facts in KUBETAPE_*; or post them as JSON to this "
		"https:// or http:// address"},
	{OPTION_FLAG, 0, "logs", AT(logs), NULL, "fetch the last lines of containers that die"},
	{OPTION_NUMBER, 0, "log-lines", AT(log_lines), "N", "... this number for each (100), at most 64 KiB"},
	{OPTION_TEXT, 0, "audit-log", AT(audit_log), "FILE",
		"follow this audit log of the API server, and join it to the tape as 'kubetape audit' does"},
	{OPTION_TEXT, 0, "push", AT(push), "URL",
		"'kubetape push' each segment to s3://BUCKET/PREFIX or clickhouse+https://HOST/DATABASE once it is "
		"sealed; --max-size and --max-age do not remove it before"},
	STORE_ROWS(STORE_AT),
	{OPTION_TEXT, 0, "metrics", AT(metrics), "ADDR",
		"serve /metrics and /healthz at PORT or ADDRESS:PORT"},
	{OPTION_FLAG, 0, "wait", AT(wait), NULL, "wait until the server can be reached"},
	{OPTION_FLAG, 0, "core", AT(core), NULL, "a crash may dump memory that holds values of Secrets"},
	{OPTION_FLAG, 'v', "verbose", AT(verbose), NULL, "print more messages"},
	{OPTION_FLAG, 'q', "quiet", AT(quiet), NULL, "print only errors"},
	{.kind = OPTION_END},
};

static void say_ready(void *context, size_t streams)
{
	log_clear_status();
	fprintf(stderr, "recording %zu streams\n", streams);
	fflush(stderr);
	if (context)
		audit_beside_ready(*(struct audit_beside *const *)context);
}

/* What it knows goes to the store with the last push. */
static void end_audit(void *context)
{
	struct audit_beside **audit = context;

	audit_beside_end(*audit);
	*audit = NULL;
}

static void say_summary(const struct recorder_summary *s, const char *tape)
{
	char raw[BYTES_TEXT_BYTES], disk[BYTES_TEXT_BYTES], took[TIME_TEXT_BYTES];

	fprintf(stderr, "recorded %ju events (%s) of %zu streams in %s to '%s' (%s)", (uintmax_t)s->events,
		bytes_format(raw, s->bytes), s->streams, duration_format(took, s->duration_ns), tape,
		bytes_format(disk, s->disk_bytes));
	if (s->unlisted)
		fprintf(stderr, "; of %zu streams nothing is known, their first list never came",
			s->unlisted);
	if (s->unwatched)
		fprintf(stderr,
			"; %zu streams could not be watched at the end, and what changed since is not known",
			s->unwatched);
	if (s->gaps)
		fprintf(stderr, "; %ju gaps, in which %ju changes were missed", (uintmax_t)s->gaps,
			(uintmax_t)s->hidden);
	fputc('\n', stderr);
}

/* As the API server takes it: a label of the DNS. */
static bool is_namespace(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
	size_t len = strlen(name);

	return len && len < 64 && strspn(name, letters) == len && *name != '-' && name[len - 1] != '-';
}

static int check_namespaces(const struct record_values *v, struct err *err)
{
	for (size_t i = 0; i < v->namespaces.count; i++) {
		if (!is_namespace(v->namespaces.items[i]))
			return err_set(err, ERR_USAGE,
				"option '--namespace' wants the name of one namespace, found '%s'",
				v->namespaces.items[i]);
	}
	return 0;
}

static int record_check(const struct record_values *v, const struct operands *operands, struct err *err)
{
	if (v->estimate != NO_DURATION && (v->output || v->duration != NO_DURATION || v->estimate == 0))
		return err_set(err, ERR_USAGE,
			"'--estimate' wants a time, and neither '--output' nor '--duration' beside it: it keeps nothing");
	if (!v->output && v->estimate == NO_DURATION)
		return err_set(err, ERR_USAGE, "no tape to write; name one with '-o TAPE'");
	if (v->output && (out_file_refuse_stream(v->output, "a tape is a folder", err) ||
				 segment_refuse_file_name(v->output, err)))
		return ERR_USAGE;
	if (!v->all && !operands->count)
		return err_set(err, ERR_USAGE, "nothing to record; name resources, or say '--all'");
	if (v->all && operands->count)
		return err_set(err, ERR_USAGE,
			"'--all' is every resource, but '%s' is named; all namespaces are recorded as long as "
			"no '--namespace' is given",
			operands->items[0]);
	if (v->flush_interval < NS_PER_MS)
		return err_set(err, ERR_USAGE, "option '--flush-interval' wants at least 1ms");
	if (v->duration == 0)
		return err_set(err, ERR_USAGE, "option '--duration' wants more than nothing");
	if (v->push && v->estimate != NO_DURATION)
		return err_set(err, ERR_USAGE, "'--estimate' keeps nothing that '--push' could send");
	if (!v->push && (v->store.cluster || v->store.endpoint || v->store.profile))
		return err_set(err, ERR_USAGE, "'--cluster', '--endpoint' and '--profile' want '--push URL'");
	if (v->pin_hook && !v->pin_when.count)
		return err_set(err, ERR_USAGE,
			"'--pin-hook' says what to do, and nothing says when; add '--pin-when SQL'");
	if (v->pin_when.count && !v->pin_before && !v->pin_after)
		return err_set(err, ERR_USAGE,
			"'--pin-before 0s --pin-after 0s' leave nothing to pin; one of them wants more than nothing");
	if (v->log_lines < 1 || v->log_lines > LAST_WORDS_LINES_MAX)
		return err_set(err, ERR_USAGE, "option '--log-lines' wants a number from 1 to %d, found %lld",
			LAST_WORDS_LINES_MAX, (long long)v->log_lines);
	return check_namespaces(v, err);
}

/* Memory of that size is the system's again when it is freed. */
#define LARGE_BYTES (1 << 20)

static struct pinner_options pin_options(const struct record_values *v)
{
	return (struct pinner_options){
		.whens = v->pin_when.items,
		.when_count = v->pin_when.count,
		.before_ns = v->pin_before,
		.after_ns = v->pin_after,
		.every_ns = v->pin_every,
		.max_bytes = (uint64_t)v->pin_max_size,
		.hook = v->pin_hook,
	};
}

/* While recording a store is asked again for as long as it takes. */
static struct s3_options push_store(const struct record_values *v)
{
	struct s3_options options = store_options(&v->store);

	options.retry_ns = PUSH_RETRY_NS;
	options.silence_s = PUSH_SILENCE_S;
	return options;
}

static void record_release(struct record_values *v)
{
	free(v->pin_when.items);
	free(v->namespaces.items);
	free(v->excludes.items);
}

static struct recorder_options recorder_options(
	const struct record_values *v, const struct operands *operands)
{
	return (struct recorder_options){
		.cluster = {v->kubeconfig, v->context, v->server, v->token_file, v->ca, v->insecure},
		.tape_path = v->output,
		.resources = (const char **)operands->items,
		.resource_count = operands->count,
		.all = v->all,
		.namespaces = v->namespaces.items,
		.namespace_count = v->namespaces.count,
		.excludes = v->excludes.items,
		.exclude_count = v->excludes.count,
		.label_selector = v->selector,
		.field_selector = v->field_selector,
		.duration_ns = v->duration == NO_DURATION ? 0 : v->duration,
		.flush_interval_ns = v->flush_interval,
		.rest_ns = v->coalesce,
		.retry_delay_ns = v->retry_delay,
		.wait = v->wait,
		.metrics = v->metrics,
		.core_dumps = v->core,
		.keep_secrets = strcmp(v->secrets, "keep") == 0,
		.pins = pin_options(v),
		.log_lines = v->logs ? (unsigned)v->log_lines : 0,
		.push = {.tape_path = v->output,
			.url = v->push,
			.cluster = v->store.cluster,
			.store = push_store(v)},
		.push_limit_ns = v->store.retry_for,
		.tape = tape_limits_options(&v->limits),
		.ready = say_ready,
	};
}

static bool lacks_something(const struct recorder_summary *s)
{
	return s->hidden || s->unlisted || s->unwatched || !s->streams;
}

/* Returns an exit code, or an error. */
static int record(const struct record_values *v, const struct operands *operands, struct err *err)
{
	struct recorder_options o = recorder_options(v, operands);
	struct audit_beside *audit =
		v->audit_log ? audit_beside_start(v->output, v->audit_log, NS_PER_S) : NULL;
	struct recorder_summary summary;
	int rc;

	o.context = &audit;
	o.closed = end_audit;
	rc = recorder_run(&o, &summary, err);
	end_audit(&audit);
	if (!summary.misplaced && (summary.was_ready || (rc == 0 && summary.streams)))
		say_summary(&summary, v->output);
	if (rc)
		return rc;
	if (!summary.streams)
		fputs("kubetape record: nothing was recorded: the server did not say what it has\n", stderr);
	if (summary.unpushed)
		return EXIT_LOSS;
	return lacks_something(&summary) && !summary.stopped_by_signal ? EXIT_LOSS : EXIT_OK;
}

/* ---- what a day would cost ---- */

static int estimate_from(const struct record_values *v, const struct recorder_summary *summary,
	const char *folder, struct err *err)
{
	const struct estimate_options options = {.tape_path = v->output,
		.scratch = folder,
		.first_seq = summary->ready_seq,
		.begin_ns = summary->ready_ns,
		.window_ns = summary->ready_for_ns,
		.extent_bytes = (uint64_t)v->limits.extent_size,
		.segment_bytes = (uint64_t)v->limits.segment_size,
		.max_bytes = (uint64_t)v->limits.max_size};

	if (!summary->was_ready)
		return err_set(
			err, ERR_FAILED, "nothing can be told: not every first list was there at the end");
	return estimate_print(&options, stdout, err);
}

/* What is not known is no part of it. */
static int tell_lacks(const struct recorder_summary *s)
{
	if (!lacks_something(s))
		return EXIT_OK;
	fprintf(stderr,
		"kubetape record: a day will take more: of %zu streams %zu could not be listed, %zu could not be watched "
		"at the end, and gaps hid %" PRIu64 " changes\n",
		s->streams, s->unlisted, s->unwatched, s->hidden);
	return EXIT_LOSS;
}

/* The sample is an ordinary tape in a folder of its own, which goes with it. */
static int estimate(struct record_values *v, const struct operands *operands, struct err *err)
{
	char *folder, *tape, *key;
	struct recorder_options o;
	struct recorder_summary summary;
	int rc = temp_folder_make("estimate", &folder, err);

	if (rc)
		return rc;
	tape = xasprintf("%s/sample.tape", folder);
	key = xasprintf("%s.key", tape);
	v->output = tape;
	v->duration = v->estimate;
	o = recorder_options(v, operands);
	o.lasts_from_ready = true;
	rc = recorder_run(&o, &summary, err);
	if (rc == 0)
		rc = estimate_from(v, &summary, folder, err);
	if (rc == 0)
		rc = tell_lacks(&summary);
	segment_remove_all(tape);
	(void)unlink(key);
	(void)rmdir(folder);
	free(key);
	free(tape);
	free(folder);
	return rc;
}

static void spare_memory(void)
{
	mallopt(M_ARENA_MAX, 2); /* each thread's own would keep some 2 MB */
	/* What is large comes and goes by itself: it would leave holes in the heap. */
	mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
	mallopt(M_TRIM_THRESHOLD, 2 * LARGE_BYTES);
}

static int record_work(void *values, const struct operands *operands, struct err *err)
{
	struct record_values *v = values;
	int rc = record_check(v, operands, err);

	if (rc)
		return rc;
	signal(SIGUSR1, SIG_IGN); /* until the recorder hears it there is nothing to seal */
	spare_memory();
	log_set_level(v->verbose ? LOG_LEVEL_DEBUG : v->quiet ? LOG_LEVEL_ERROR : LOG_LEVEL_INFO);
	if (v->output)
		tape_limits_doubt(&v->limits, v->output);
	return v->estimate == NO_DURATION ? record(v, operands, err) : estimate(v, operands, err);
}

static int record_run(const struct command *self, int argc, char **argv)
{
	struct record_values v = {.selector = "",
		.field_selector = "",
		.secrets = "digest",
		.duration = NO_DURATION,
		.estimate = NO_DURATION,
		.flush_interval = 250 * NS_PER_MS,
		.coalesce = 10 * NS_PER_MS,
		.log_lines = 100,
		.pin_before = 600 * NS_PER_S,
		.pin_after = 60 * NS_PER_S,
		.pin_every = 600 * NS_PER_S,
		.pin_max_size = INT64_C(1) << 30,
		.store = STORE_DEFAULTS};
	int rc = command_run(self, argc, argv, &v, record_work);

	record_release(&v);
	return rc;
}

const struct command cmd_record = {
	.name = "record",
	.operands = "[RESOURCE]...",
	.expects = {"names of resources", 0, SIZE_MAX},
	.summary = "record what happens to a cluster's objects into a tape",
	.description =
		"Lists and watches resources of a cluster and keeps every event, and the life of every\n"
		"connection, in a tape. Name resources as for kubectl: pods, deploy, deployments.apps,\n"
		"crontabs.v1.stable.example.com, several separated by commas. The cluster is\n"
		"found as kubectl finds it. An existing tape is continued.\n"
		"\n"
		"'recording N streams' on stderr says that every first list is on the tape. SIGINT or\n"
		"SIGTERM ends the recording, as SIGHUP does at a terminal. SIGUSR1, or SIGHUP without a\n"
		"terminal, begins a new segment of the tape if an event has come since the current one began.\n"
		"--max-size, --max-age and --keep-free remove segments, the\n"
		"oldest first; the rest is still a complete tape.\n"
		"\n"
		"--exclude takes the same names. It may name a resource that appears later, as a CRD; if the\n"
		"server does not know a name, a warning at the start says so. Without a group, 'events' means\n"
		"those of both groups, 'events.' only those of the core group.\n"
		"\n"
		"--estimate 5m records for five minutes into a temporary folder and prints how much disk a\n"
		"day would take, by resource. A longer sample knows better what happens rarely.\n"
		"\n"
		"The values of Secrets are replaced by keyed digests; the key is kept beside the tape, in\n"
		"TAPE.key, and a crash leaves no core dump. If a signal ends the recording, the exit code is\n"
		"0 and the last line says what is missing. If --duration ends it, the exit code is 3 if the\n"
		"server could not tell everything that happened while a watch was away, or did not let something\n"
		"be listed or watched.",
	.options = rows,
	.exits =
		{
			[EXIT_OK] = "done, or ended by a signal: the last line says what is missing",
			[EXIT_LOSS] =
				"ended by --duration, and gaps hid changes, or something was not listed or watched; "
				"or the store of --push lacks segments; or --estimate lacks something of these",
		},
	.run = record_run,
};
