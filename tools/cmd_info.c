/* cmd_info.c: `kubetape info`: what is on a tape, on a page or as JSON. */
#include "recorder/push/push_note.h"
#include "schema/base/clock.h"
#include "schema/base/count_of.h"
#include "schema/base/out_file.h"
#include "schema/base/visible.h"
#include "schema/tape/coverage.h"
#include "schema/tape/identity.h"
#include "tools/cli/plural.h"
#include "tools/cli/progress.h"
#include "tools/cli/time_shown.h"
#include "tools/commands.h"
#include "tools/out/table_out.h"

#include <stdlib.h>

struct info_options {
	bool json, local;
};

static const struct option_row rows[] = {
	{OPTION_FLAG, 0, "json", offsetof(struct info_options, json), NULL, "print one JSON object"},
	LOCAL_TIME_ROW(info_options),
	{OPTION_END, 0, NULL, 0, NULL, NULL},
};

struct resource_count {
	const struct tape_resource *resource;
	uint64_t events, added, modified, deleted, bytes, live;
};

struct report {
	const char *path, *name; /* the folder; what the user calls it */
	char *tape_id;           /* NULL: none is known */
	bool local;              /* times are shown in the local zone */
	struct tape_info tape;
	size_t stream_count, resource_count;
	size_t states[COVERAGE_STATE_COUNT]; /* of the streams, at the end of the tape */
	struct resource_count *resources;
};

/* ---- counting ---- */

/* The registry's ids count from 1. */
static struct resource_count *info_find(struct report *r, uint32_t id)
{
	return id && id <= r->resource_count ? &r->resources[id - 1] : NULL;
}

static void list_resources(struct report *r, struct tape *t)
{
	const struct tape_resource *resource;

	while (tape_stream_at(t, r->stream_count))
		r->stream_count++;
	for (; (resource = tape_resource_at(t, r->resource_count)); r->resource_count++) {
		r->resources = xrealloc(r->resources, (r->resource_count + 1) * sizeof(*r->resources));
		r->resources[r->resource_count] = (struct resource_count){.resource = resource};
	}
}

static void count_event(struct report *r, const struct event *e)
{
	struct resource_count *count = info_find(r, e->resource);

	if (!count)
		return;
	count->events++;
	count->bytes += e->bytes;
	count->added += e->type == EVENT_ADDED;
	count->modified += e->type == EVENT_MODIFIED;
	count->deleted += e->type == EVENT_DELETED;
}

static int count_events(struct report *r, struct tape *t, struct err *err)
{
	struct tape_filter all = {0};
	struct progress progress;
	struct tape_cursor *c;
	uint64_t bytes = 0;
	struct event e;
	int more;
	int rc = tape_cursor_open(t, &all, TAPE_STORED, &c, err);

	if (rc)
		return rc;
	progress_begin(&progress, "counting");
	progress_catch_signals();
	while ((more = tape_cursor_next(c, &e, err)) > 0) {
		count_event(r, &e);
		bytes += e.bytes;
		if (progress_step(&progress, bytes, r->tape.raw_bytes)) {
			more = err_set(err, ERR_STOPPED, "stopped before all events were counted");
			break;
		}
	}
	progress_clear(&progress);
	tape_cursor_close(c);
	return more;
}

static int count_live(struct report *r, struct tape *t, struct err *err)
{
	struct tape_state *state;
	int rc;

	rc = tape_state_at(t, r->tape.last_seq, 0, &state, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < state->count; i++) {
		struct resource_count *count = info_find(r, state->live[i].resource);

		if (count)
			count->live++;
	}
	tape_state_free(state);
	return 0;
}

/* As a tape that was cut out of a silence: it has no event, but it shows what was there. */
static bool begins_with_state_alone(const struct report *r)
{
	return !r->tape.events && r->tape.first_seq > 1;
}

/* Gaps that no row tells count as well. */
static int count_states(struct report *r, struct tape *t, struct err *err)
{
	struct coverage *c;
	int rc = coverage_load(t, &c, err);

	if (rc)
		return rc;
	coverage_count_states(c, t, r->states);
	r->tape.gaps += coverage_left_count(c);
	if (begins_with_state_alone(r)) {
		r->tape.first_time_ns = coverage_span(c).begin_ns;
		r->tape.last_time_ns = coverage_span(c).end_ns;
	}
	coverage_free(c);
	return 0;
}

static int make_report(struct report *r, struct tape *t, struct err *err)
{
	int rc = tape_info(t, &r->tape, err);

	if (rc)
		return rc;
	list_resources(r, t);
	rc = count_events(r, t, err);
	if (!rc)
		rc = count_live(r, t, err);
	return rc ? rc : count_states(r, t, err);
}

static double per(uint64_t a, uint64_t b)
{
	return b ? (double)a / (double)b : 0;
}

/* ---- JSON ---- */

static void print_json_time(const char *name, const struct report *r, int64_t time_ns)
{
	char text[TIME_TEXT_BYTES];

	if (r->tape.events || begins_with_state_alone(r))
		printf("  \"%s\": \"%s\",\n", name, time_format(text, time_ns));
	else
		printf("  \"%s\": null,\n", name);
}

static void print_json_text(const char *name, const char *text)
{
	printf("\"%s\": ", name);
	table_out_json_string(stdout, slice_of(text));
	fputs(", ", stdout);
}

static void print_json_resource(const struct resource_count *c)
{
	fputs("    {", stdout);
	print_json_text("apigroup", c->resource->apigroup);
	print_json_text("version", c->resource->version);
	print_json_text("resource", c->resource->resource);
	print_json_text("kind", c->resource->kind);
	printf("\"events\": %llu, \"added\": %llu, \"modified\": %llu, \"deleted\": %llu, \"live\": %llu, "
	       "\"bytes\": %llu}",
		(unsigned long long)c->events, (unsigned long long)c->added, (unsigned long long)c->modified,
		(unsigned long long)c->deleted, (unsigned long long)c->live, (unsigned long long)c->bytes);
}

static void print_json_number(const char *name, uint64_t value)
{
	printf("  \"%s\": %llu,\n", name, (unsigned long long)value);
}

static void print_json_states(const struct report *r)
{
	fputs("  \"streams_at_end\": {", stdout);
	for (int i = 0; i < COVERAGE_STATE_COUNT; i++)
		printf("%s\"%s\": %zu", i ? ", " : "", coverage_state_name((enum coverage_state)i),
			r->states[i]);
	fputs("},\n", stdout);
}

static void print_json_push(const struct report *r, const char *member, enum push_note_kind kind)
{
	struct push_note note;
	struct push_lag lag;

	if (!r->tape_id || !push_note_read(r->path, r->tape_id, kind, &note))
		return;
	lag = push_note_lag(r->path, &note);
	printf("  \"%s\": {\"url\": ", member);
	table_out_json_string(stdout, slice_of(note.url));
	printf(", \"waiting_segments\": %ju, \"waiting_bytes\": %ju, \"waiting_ns\": %lld},\n",
		(uintmax_t)lag.segments, (uintmax_t)lag.bytes,
		lag.segments ? (long long)time_sub(clock_wall_ns(&clock_system), lag.since_ns) : 0);
	push_note_release(&note);
}

static int print_json(const struct report *r, struct err *err)
{
	fputs("{\n  ", stdout);
	print_json_text("tape", r->name);
	fputs("\n", stdout);
	print_json_number("events", r->tape.events);
	print_json_number("first_seq", r->tape.first_seq);
	print_json_number("last_seq", r->tape.last_seq);
	print_json_number("segments", r->tape.segments);
	print_json_number("streams", r->stream_count);
	print_json_states(r);
	print_json_number("resources", r->resource_count);
	print_json_number("connections", r->tape.connections);
	print_json_number("gaps", r->tape.gaps);
	print_json_time("first_time", r, r->tape.first_time_ns);
	print_json_time("last_time", r, r->tape.last_time_ns);
	printf("  \"duration_ns\": %lld,\n",
		(long long)(time_sub(r->tape.last_time_ns, r->tape.first_time_ns)));
	print_json_number("raw_bytes", r->tape.raw_bytes);
	print_json_number("disk_bytes", r->tape.disk_bytes);
	print_json_push(r, "push", PUSH_NOTE_STORE);
	print_json_push(r, "push_clickhouse", PUSH_NOTE_CLICKHOUSE);
	printf("  \"open\": %s,\n  \"by_resource\": [", r->tape.open ? "true" : "false");
	for (size_t i = 0; i < r->resource_count; i++) {
		fputs(i ? ",\n" : "\n", stdout);
		print_json_resource(&r->resources[i]);
	}
	fputs(r->resource_count ? "\n  ]\n}\n" : "]\n}\n", stdout);
	return out_stream_flush(stdout, err);
}

/* ---- for people ---- */

static const char *bytes_text(char to[32], uint64_t bytes)
{
	static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
	double value = (double)bytes;
	size_t unit = 0;

	for (; value >= 1000 && unit < 4; unit++)
		value /= 1000;
	snprintf(to, 32, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
	return to;
}

static void print_times(const struct report *r)
{
	char first[TIME_TEXT_BYTES], last[TIME_TEXT_BYTES], span[TIME_TEXT_BYTES];

	if (!r->tape.events && !begins_with_state_alone(r)) {
		printf("time         no events\n");
		return;
	}
	printf("time         %s to %s (%s)\n",
		time_shown(first, r->tape.first_time_ns, r->local, TIME_DIGITS_ALL),
		time_shown(last, r->tape.last_time_ns, r->local, TIME_DIGITS_ALL),
		duration_format(span, time_sub(r->tape.last_time_ns, r->tape.first_time_ns)));
}

/* Only where there is something to say: of a whole recording every stream was watched to its end. */
static void print_states(const struct report *r)
{
	static const char *const words[] = {[COVERAGE_UNLISTED] = "never listed",
		[COVERAGE_GAP] = "in a gap",
		[COVERAGE_LEFT] = "not followed any more",
		[COVERAGE_UNTOLD] = "imported, which does not tell when they were watched"};
	const char *before = "unknown      ";

	for (int i = COVERAGE_UNLISTED; i < COVERAGE_STATE_COUNT; i++) {
		if (!r->states[i])
			continue;
		printf("%s%zu streams %s", before, r->states[i], words[i]);
		before = ", ";
	}
	fputs(*before == ',' ? "\n" : "", stdout);
}

static void print_sizes(const struct report *r)
{
	char raw[32], disk[32];

	printf("size         %s of JSON in %s on disk", bytes_text(raw, r->tape.raw_bytes),
		bytes_text(disk, r->tape.disk_bytes));
	if (r->tape.events)
		printf(": ratio %.1f, %.0f bytes an event", per(r->tape.raw_bytes, r->tape.disk_bytes),
			per(r->tape.disk_bytes, r->tape.events));
	fputs("\n", stdout);
}

static struct sql_value text_value(const char *text)
{
	return (struct sql_value){.type = SQL_TEXT, .bytes = slice_of(text)};
}

static struct sql_value count_value(uint64_t count)
{
	return (struct sql_value){.type = SQL_INTEGER, .integer = (int64_t)count};
}

static int print_resource(const struct sql_sink *sink, const struct resource_count *c, struct err *err)
{
	char *name = xasprintf(
		"%s%s%s", c->resource->resource, *c->resource->apigroup ? "." : "", c->resource->apigroup);
	char raw[32];
	struct sql_value cells[] = {text_value(name), count_value(c->events), count_value(c->added),
		count_value(c->modified), count_value(c->deleted), count_value(c->live),
		text_value(bytes_text(raw, c->bytes))};
	int rc = sink->row(sink->context, cells, COUNT_OF(cells), err);

	free(name);
	return rc;
}

static int print_resources(const struct report *r, struct err *err)
{
	static const char *const names[] = {
		"RESOURCE", "EVENTS", "ADDED", "MODIFIED", "DELETED", "LIVE", "JSON"};
	struct table_out *out = table_out_new(stdout, TABLE_TEXT, 0);
	struct sql_sink sink = table_out_sink(out);
	size_t quiet = 0;
	int rc = sink.begin(sink.context, names, COUNT_OF(names), err);

	for (size_t i = 0; i < r->resource_count && !rc; i++) {
		const struct resource_count *c = &r->resources[i];
		bool is_quiet = !c->events && !c->live;

		quiet += is_quiet;
		if (!is_quiet)
			rc = print_resource(&sink, c, err);
	}
	if (!rc)
		rc = sink.end(sink.context, err);
	table_out_free(out);
	if (quiet)
		printf("and %zu resource%s without events\n", quiet, plural(quiet));
	return rc;
}

/* As of the last push; the store itself is not asked. */
static void print_push(const struct report *r, enum push_note_kind kind)
{
	char bytes[32], span[TIME_TEXT_BYTES];
	struct push_note note;
	struct push_lag lag;

	if (!r->tape_id || !push_note_read(r->path, r->tape_id, kind, &note))
		return;
	lag = push_note_lag(r->path, &note);
	fputs("pushed       to ", stdout);
	visible_puts(stdout, note.url);
	if (lag.segments)
		printf(", which lacks %ju sealed segments (%s), for %s\n", (uintmax_t)lag.segments,
			bytes_text(bytes, lag.bytes),
			duration_format(span, time_sub(clock_wall_ns(&clock_system), lag.since_ns)));
	else
		puts(", which has every sealed segment");
	push_note_release(&note);
}

static int print_page(const struct report *r, struct err *err)
{
	fputs("tape         ", stdout);
	visible_puts(stdout, r->name);
	puts(r->tape.open ? " (not sealed: being recorded, or cut off)" : "");
	print_times(r);
	printf("events       %llu", (unsigned long long)r->tape.events);
	if (begins_with_state_alone(r))
		printf(" (the state after seq %llu)", (unsigned long long)r->tape.last_seq);
	else if (r->tape.first_seq > 1)
		printf(" (seq %llu to %llu)", (unsigned long long)r->tape.first_seq,
			(unsigned long long)r->tape.last_seq);
	printf(" of %zu resources in %zu streams\n", r->resource_count, r->stream_count);
	print_states(r);
	print_sizes(r);
	printf("segments     %llu\n", (unsigned long long)r->tape.segments);
	print_push(r, PUSH_NOTE_STORE);
	print_push(r, PUSH_NOTE_CLICKHOUSE);
	printf("connections  %llu\n", (unsigned long long)r->tape.connections);
	printf("gaps         %llu\n", (unsigned long long)r->tape.gaps);
	if (!r->resource_count)
		return 0;
	fputs("\n", stdout);
	return print_resources(r, err);
}

static int info_show(void *values, const struct operands *operands, struct err *err)
{
	const struct info_options *o = values;
	struct report r = {.path = operands->items[0], .name = operands->given[0], .local = o->local};
	struct tape *t;
	int rc = tape_open(r.path, &t, err);

	if (rc)
		return rc;
	rc = make_report(&r, t, err);
	if (!rc && tape_identity_of(t, &r.tape_id, NULL))
		r.tape_id = NULL;
	if (!rc)
		rc = (o->json ? print_json : print_page)(&r, err);
	free(r.resources);
	free(r.tape_id);
	tape_close(t);
	return rc;
}

static int info_run(const struct command *self, int argc, char **argv)
{
	struct info_options o = {0};

	return command_run(self, argc, argv, &o, info_show);
}

const struct command cmd_info = {
	.name = "info",
	.operands = "TAPE",
	.expects = {"one tape", 1, 1},
	.summary = "show what is on a tape",
	.description =
		"Prints times, sizes, counts and the resources of a tape, which may be one that is being\n"
		"recorded. 'live' counts the objects that exist at the end of the tape.",
	.options = rows,
	.run = info_run,
};
