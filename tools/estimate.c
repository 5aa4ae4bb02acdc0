/* estimate.c: see estimate.h. */
#include "tools/estimate.h"

#include "schema/base/bytes_format.h"
#include "schema/base/clock.h"
#include "schema/base/version.h"
#include "schema/sql/session.h"
#include "schema/tape/pack.h"
#include "schema/tape/position.h"
#include "schema/tape/remake.h"
#include "schema/tape/segment.h"
#include "schema/tape/writer.h"

#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DAY_S         86400.0
#define SEGMENT_BYTES (256u << 20)
#define SHOWN         20
#define FEW_EVENTS    30 /* fewer tell nothing by themselves, of how well they pack, or of whether others come */
/* Of what the first change of an object in an extent takes, each later one does; in a chain it takes as much. */
#define AGAIN 0.55
/* Servers send a bookmark a minute to each watch; the recorder asks for watches of 5 to 10 minutes. */
#define BOOKMARK_S     60.0
#define BOOKMARK_BYTES 84 /* the object and its version */
#define BOOKMARK_ROW   32 /* the rest of its row, and its share of the page */
#define WATCH_S        450.0

/* What a part of the sample has of one resource. disk_bytes: beside the first lists. */
struct amount {
	double events, added, objects, json_bytes, disk_bytes;
};

struct estimate_row {
	char *name;
	uint32_t resource;
	struct amount listed, half, whole;
	double day_events, day_json, day_disk, doubt; /* doubt: of day_disk, as a share of it */
	bool is_pooled;
};

enum sample_part { SAMPLE_LISTED, SAMPLE_HALF, SAMPLE_WHOLE };

struct estimate {
	const struct estimate_options *o;
	struct tape *tape;
	struct estimate_row *rows;
	size_t row_count;
	struct estimate_row pool;        /* the sum of those with few events, which are measured together */
	enum sample_part part;           /* that is being counted */
	struct remake_point first, half; /* where the sample begins; the middle of its time */
	double state_bytes,
		rest_bytes; /* on disk: the live objects at first; rows of no resource that has events */
	double streams;
	double bookmarks, bookmark_bytes;     /* that came after the first lists; what is in them */
	double connections, connection_bytes; /* in all measures of the whole sample */
	double seconds;
};

/* ---- counting ---- */

static struct estimate_row *find_row(const struct estimate *e, uint32_t resource)
{
	for (size_t i = 0; i < e->row_count; i++) {
		if (e->rows[i].resource == resource)
			return &e->rows[i];
	}
	return NULL;
}

static struct estimate_row *row_of(struct estimate *e, uint32_t resource)
{
	struct estimate_row *row = find_row(e, resource);

	if (row)
		return row;
	e->rows = xgrow(e->rows, e->row_count, sizeof(*e->rows));
	e->rows[e->row_count] = (struct estimate_row){.resource = resource};
	return &e->rows[e->row_count++];
}

static const struct tape_resource *find_resource(
	const struct tape *t, const struct sql_value *group, const struct sql_value *name)
{
	const struct tape_resource *r;

	for (size_t i = 0; (r = tape_resource_at(t, i)); i++) {
		if (slice_is(name->bytes, r->resource) && slice_is(group->bytes, r->apigroup))
			return r;
	}
	return NULL;
}

static int take_row(void *context, const struct sql_value *values, size_t count, struct err *err)
{
	struct estimate *e = context;
	const struct tape_resource *r = find_resource(e->tape, &values[0], &values[1]);
	struct estimate_row *row = r ? row_of(e, r->id) : NULL;
	struct amount *to;

	(void)count;
	(void)err;
	if (!row)
		return 0;
	to = e->part == SAMPLE_LISTED ? &row->listed : e->part == SAMPLE_HALF ? &row->half : &row->whole;
	if (!row->name)
		row->name = xasprintf("%s%s%s", r->resource, *r->apigroup ? "." : "", r->apigroup);
	to->events = (double)values[2].integer;
	to->objects = (double)values[3].integer;
	to->json_bytes = (double)values[4].integer;
	to->added = (double)values[5].integer;
	return 0;
}

static int count_events(
	struct estimate *e, struct sql_session *session, enum sample_part part, struct err *err)
{
	const struct sql_sink sink = {.row = take_row, .context = e};
	uint64_t after = part == SAMPLE_LISTED ? 0 : e->o->first_seq;
	uint64_t until = part == SAMPLE_LISTED ? e->o->first_seq
			 : part == SAMPLE_HALF ? e->half.seq
					       : INT64_MAX;
	char *sql = xasprintf(
		"SELECT apigroup, resource, count(*), count(DISTINCT CASE WHEN type <> 'DELETED' THEN namespace || '/' || name || '/' || uid END), "
		"sum(length(object)), sum(type = 'ADDED') FROM events WHERE seq > %llu AND seq <= %llu GROUP BY 1, 2",
		(unsigned long long)after, (unsigned long long)until);
	int rc;

	e->part = part;
	rc = sql_session_run(session, slice_of(sql), &sink, err);
	free(sql);
	return rc;
}

/* Those that were only listed have nothing to tell of a day. */
static void forget_quiet(struct estimate *e)
{
	size_t kept = 0;

	for (size_t i = 0; i < e->row_count; i++) {
		if (e->rows[i].whole.events > 0)
			e->rows[kept++] = e->rows[i];
		else
			free(e->rows[i].name);
	}
	e->row_count = kept;
}

static int count_all(struct estimate *e, struct err *err)
{
	struct sql_session *session;
	int rc = sql_session_open(e->o->tape_path, &session, err);

	if (rc)
		return rc;
	for (enum sample_part part = SAMPLE_LISTED; part <= SAMPLE_WHOLE && !rc; part++)
		rc = count_events(e, session, part, err);
	sql_session_close(session);
	forget_quiet(e);
	return rc;
}

/* ---- measuring ---- */

/* What their pages take. */
static void add_connections(struct estimate *e, sqlite3 *db)
{
	int64_t bytes = 0, rows = 0;

	if (segment_number(db, "SELECT sum(pgsize) FROM dbstat WHERE name = 'connection'", 0, &bytes, NULL) ||
		segment_number(db, "SELECT count(*) FROM connection", 0, &rows, NULL))
		return;
	e->connection_bytes += (double)bytes;
	e->connections += (double)rows;
}

/*
 * Bytes of all rows, as far as SQLite can tell them: whole pages are too coarse for what a short sample has.
 * Documents come once, with the first lists or soon after them, and with them most connections of a sample: a
 * watch lasts for many minutes. Bookmarks come once a minute, all in one half of a short sample. Those two are
 * counted, see rest_of_day.
 */
static int stored_bytes(struct estimate *e, const char *path, bool whole, double *ret, struct err *err)
{
	const struct segment_file file = {.number = 1, .sealed = true, .path = (char *)path};
	struct stat st;
	sqlite3 *db;
	int64_t bytes = 0;
	int rc = segment_open(&file, false, &db, err);

	if (rc)
		return rc;
	if (segment_number(db,
		    "SELECT sum(payload) FROM dbstat WHERE name NOT IN ('document', 'connection', 'mark')", 0,
		    &bytes, NULL) &&
		stat(path, &st) == 0)
		bytes = st.st_size;
	if (whole)
		add_connections(e, db);
	sqlite3_close(db);
	*ret = (double)bytes;
	return 0;
}

/* Some of the resources. */
struct selection {
	uint32_t *ids;
	size_t count;
};

/* What a tape of them takes that begins with the first lists and ends at until (NULL: at the end). By
 * resource and never by time alone: that would copy extents as they stand, and one measure would not compare
 * with the other. */
static int estimate_measure(struct estimate *e, const struct remake_point *until, const struct selection *of,
	double *ret, struct err *err)
{
	const struct remake_options options = {.until = until,
		.resources = of->ids,
		.resource_count = of->count,
		.program = "kubetape " KUBETAPE_VERSION,
		.one_segment = true,
		.packs_hard = true};
	char *path = xasprintf("%s/part.ktape", e->o->scratch);
	struct remake_result result;
	int rc = tape_remake(e->tape, path, &options, &result, err);

	if (!rc)
		rc = stored_bytes(e, path, !until, ret, err);
	(void)unlink(path);
	free(path);
	return rc;
}

static double above(double bytes, double floor)
{
	return bytes > floor ? bytes - floor : 0;
}

/* The first lists alone, and what half of the sample and the whole add to them. */
static int measure_each(struct estimate *e, const struct selection *of, double *ret_listed, double *ret_half,
	double *ret_whole, struct err *err)
{
	double listed = 0, half = 0, whole = 0;
	int rc = estimate_measure(e, &e->first, of, &listed, err);

	if (!rc)
		rc = estimate_measure(e, &e->half, of, &half, err);
	if (!rc)
		rc = estimate_measure(e, NULL, of, &whole, err);
	*ret_listed = listed;
	*ret_half = above(half, listed);
	*ret_whole = above(whole, listed);
	e->state_bytes += listed;
	return rc;
}

/* Resources without events have rows too. What begins with the sample, such as the connections of all
 * watches, is in both measures, and so in neither half. */
static int measure_rest(struct estimate *e, struct err *err)
{
	struct selection rest = {0};
	const struct tape_resource *r;
	double listed, half = 0, whole = 0;
	int rc = 0;

	for (size_t i = 0; (r = tape_resource_at(e->tape, i)); i++) {
		if (find_row(e, r->id))
			continue;
		rest.ids = xgrow(rest.ids, rest.count, sizeof(*rest.ids));
		rest.ids[rest.count++] = r->id;
	}
	if (rest.count)
		rc = measure_each(e, &rest, &listed, &half, &whole, err);
	e->rest_bytes = above(whole, half);
	free(rest.ids);
	return rc;
}

static int measure_row(
	struct estimate *e, struct estimate_row *row, const struct selection *of, struct err *err)
{
	return measure_each(
		e, of, &row->listed.disk_bytes, &row->half.disk_bytes, &row->whole.disk_bytes, err);
}

static void add_amount(struct amount *to, const struct amount *of)
{
	to->events += of->events;
	to->added += of->added;
	to->objects += of->objects;
	to->json_bytes += of->json_bytes;
}

/* A tape packs events of all resources side by side. */
static int measure_pool(struct estimate *e, struct err *err)
{
	struct selection few = {.ids = xcalloc(e->row_count + 1, sizeof(*few.ids))};
	int rc = 0;

	for (size_t i = 0; i < e->row_count; i++) {
		struct estimate_row *row = &e->rows[i];

		row->is_pooled = row->whole.events < FEW_EVENTS;
		if (!row->is_pooled)
			continue;
		few.ids[few.count++] = row->resource;
		add_amount(&e->pool.listed, &row->listed);
		add_amount(&e->pool.half, &row->half);
		add_amount(&e->pool.whole, &row->whole);
	}
	if (few.count)
		rc = measure_row(e, &e->pool, &few, err);
	free(few.ids);
	return rc;
}

static int measure_all(struct estimate *e, struct err *err)
{
	int rc = measure_rest(e, err);

	if (!rc)
		rc = measure_pool(e, err);
	for (size_t i = 0; i < e->row_count && !rc; i++) {
		const struct selection of = {&e->rows[i].resource, 1};

		if (!e->rows[i].is_pooled)
			rc = measure_row(e, &e->rows[i], &of, err);
	}
	return rc;
}

static int count_mark(void *context, const struct tape_mark *mark)
{
	struct estimate *e = context;

	e->streams += mark->kind == MARK_LIST || mark->kind == MARK_INITIAL_END;
	if (mark->kind != MARK_BOOKMARK || mark->time_ns < e->o->begin_ns)
		return 0;
	e->bookmarks++;
	e->bookmark_bytes += (double)(mark->object.len + mark->rv.len);
	return 0;
}

/* ---- a day ---- */

/* Objects of the first list that a part of the sample changes. Deletions do not count: an object has just one. */
static double changed(const struct amount *of)
{
	return above(of->objects, of->added);
}

/*
 * How many objects that are there already change in the time of an extent. Two ways to tell more than the sample has, of
 * which the lower one counts: as many more as the whole sample has than its half, as a power of time; and as if each object
 * were as likely to change as every other, of which there are only so many.
 */
static double changed_in(const struct estimate *e, const struct estimate_row *row, double seconds)
{
	double half = changed(&row->half), whole = changed(&row->whole),
	       live = fmax(row->listed.objects, whole);
	bool tells = half > 0 && row->half.events >= FEW_EVENTS;
	double growth = tells ? fmin(fmax(log2(whole / half), 0), 1) : 1, times = seconds / e->seconds;

	if (whole <= 0)
		return 0;
	return fmin(whole * pow(times, growth), live * (1 - pow(1 - whole / live, times)));
}

static bool is_chained(const struct estimate_row *row)
{
	return row->whole.json_bytes >= row->whole.events * CHAIN_MIN_BYTES;
}

/* How many of that many versions of an object in an extent are stored whole: the first one of each chain. */
static double wholes(const struct estimate_row *row, double versions)
{
	return is_chained(row) ? fmax(ceil(versions / CHAIN_LENGTH), 1) : 1;
}

/* What an object costs whose first version in an extent this is. */
static double first_cost(const struct estimate_row *row)
{
	if (row->listed.objects > 0)
		return row->listed.disk_bytes / row->listed.objects;
	return row->whole.disk_bytes / row->whole.events;
}

/* What the sample adds to the first lists, which have a version of every object, beside versions that are whole. Lists that fill
 * extents of their own are of no help to it: then first versions are among what it adds. */
static double further_bytes(const struct estimate_row *row, const struct amount *of, double extent)
{
	bool is_apart = row->listed.json_bytes + row->whole.json_bytes >= extent;
	double objects = fmax(of->objects, 1), versions = of->events / objects + (is_apart ? 0 : 1);
	double whole = changed(of) * (wholes(row, versions) - (is_apart ? 0 : 1));

	return fmax(of->disk_bytes - first_cost(row) * whole, of->disk_bytes / 10);
}

/* By how much the halves differ, and what chance does to a few events. */
static double doubt_of(const struct estimate_row *row)
{
	double first = row->half.disk_bytes, second = above(row->whole.disk_bytes, first);
	double differ = first + second > 0 ? fabs(first - second) / (first + second) : 1;

	return fmax(differ, 1 / sqrt(row->whole.events));
}

/* Events that each take as much as the first change of an object does: `first` of them are that, or the first of a new object. */
static double weigh(const struct estimate_row *row, double events, double first)
{
	return first + (is_chained(row) ? 1 : AGAIN) * above(events, first);
}

/* Of a resource beside its first versions. A short sample has little but first changes, which is not how a day goes on. */
static double further_of_day(
	const struct estimate_row *row, double further, double changed_a_day, double days)
{
	const struct amount *sample = &row->whole;
	double first = fmin(sample->added + changed(sample), sample->events);
	double first_a_day = fmin(sample->added / days + changed_a_day, row->day_events);

	return further * weigh(row, row->day_events, first_a_day) / weigh(row, sample->events, first);
}

static void extrapolate_row(const struct estimate *e, struct estimate_row *row, double extent, double extents)
{
	double days = e->seconds / DAY_S, changing = changed_in(e, row, DAY_S / extents), versions,
	       changed_a_day;

	row->day_events = row->whole.events / days;
	row->day_json = row->whole.json_bytes / days;
	if (row->is_pooled) {
		row->day_disk = e->pool.day_disk * row->whole.json_bytes / e->pool.whole.json_bytes;
		return;
	}
	versions = row->day_events / extents / fmax(changing, 1);
	changed_a_day =
		fmin(changing * wholes(row, versions) * extents, row->day_events - row->whole.added / days);
	row->day_disk = further_of_day(row, further_bytes(row, &row->whole, extent), changed_a_day, days) +
			first_cost(row) * changed_a_day;
	row->doubt = doubt_of(row);
}

static void extrapolate(struct estimate *e)
{
	double extent = e->o->extent_bytes ? (double)e->o->extent_bytes : (double)TAPE_EXTENT_BYTES, json = 0;
	double days = e->seconds / DAY_S, extents;

	for (size_t i = 0; i < e->row_count; i++)
		json += e->rows[i].whole.json_bytes / days;
	extents = fmax(json / extent, 1);
	if (e->pool.whole.events > 0)
		extrapolate_row(e, &e->pool, extent, extents);
	for (size_t i = 0; i < e->row_count; i++)
		extrapolate_row(e, &e->rows[i], extent, extents);
}

/* A short sample cannot tell how many bookmarks come, nor how long watches last. */
static double rest_of_day(const struct estimate *e)
{
	double rate = e->seconds < 2 * BOOKMARK_S ? e->streams / BOOKMARK_S : e->bookmarks / e->seconds;
	double bookmark =
		BOOKMARK_ROW + (e->bookmarks > 0 ? e->bookmark_bytes / e->bookmarks : BOOKMARK_BYTES);
	double connection = e->connections > 0 ? e->connection_bytes / e->connections : 0;

	return DAY_S * (2 * e->rest_bytes / e->seconds + bookmark * rate + connection * e->streams / WATCH_S);
}

/* ---- telling ---- */

static int compare_rows(const void *a, const void *b)
{
	const struct estimate_row *x = a, *y = b;

	return (x->day_disk < y->day_disk) - (x->day_disk > y->day_disk);
}

static void print_row(const char *name, double events, double json, double disk, FILE *to)
{
	char json_text[BYTES_TEXT_BYTES], disk_text[BYTES_TEXT_BYTES];

	fprintf(to, "%-44s %12.0f %10s %10s\n", name, events, bytes_format(json_text, (uint64_t)json),
		bytes_format(disk_text, (uint64_t)disk));
}

static void print_table(const struct estimate *e, FILE *to)
{
	double events = 0, json = 0, disk = 0;

	fprintf(to, "%-44s %12s %10s %10s\n", "RESOURCE", "EVENTS/DAY", "JSON/DAY", "DISK/DAY");
	for (size_t i = 0; i < e->row_count; i++) {
		const struct estimate_row *row = &e->rows[i];

		if (i < SHOWN) {
			print_row(row->name, row->day_events, row->day_json, row->day_disk, to);
			continue;
		}
		events += row->day_events;
		json += row->day_json;
		disk += row->day_disk;
	}
	if (e->row_count > SHOWN)
		print_row("other resources", events, json, disk, to);
	print_row("bookmarks, connections and other rows", 0, 0, rest_of_day(e), to);
}

static double sum_of_day(const struct estimate *e)
{
	double sum = rest_of_day(e);

	for (size_t i = 0; i < e->row_count; i++)
		sum += e->rows[i].day_disk;
	return sum;
}

/* How often the live objects are stored: once in a group of segments, as schema/tape/writer_group.c makes them. */
static double bytes_of_group(const struct estimate *e)
{
	double segment = e->o->segment_bytes ? (double)e->o->segment_bytes
			 : e->o->max_bytes   ? fmin((double)e->o->max_bytes / 8, SEGMENT_BYTES)
					     : SEGMENT_BYTES;
	double group = TAPE_GROUP_STATES * e->state_bytes;

	if (e->o->max_bytes)
		group = fmin(group, (double)e->o->max_bytes / TAPE_RETAINED_GROUPS);
	return fmax(segment, group);
}

/* Of what a day takes, as a share of it: twice what the parts differ by; 1 is that or more. A sample in which nothing came tells nothing. */
static double doubt_of_day(const struct estimate *e)
{
	double squares = pow(e->pool.doubt * e->pool.day_disk, 2), sum = sum_of_day(e);

	for (size_t i = 0; i < e->row_count; i++)
		squares += pow(e->rows[i].doubt * e->rows[i].day_disk, 2);
	return e->row_count && sum > 0 ? fmin(2 * sqrt(squares) / sum, 1) : 1;
}

static void print_sum(const struct estimate *e, FILE *to)
{
	char day[BYTES_TEXT_BYTES], state[BYTES_TEXT_BYTES], max[BYTES_TEXT_BYTES];
	double sum = sum_of_day(e), group = bytes_of_group(e), doubt = doubt_of_day(e);

	if (group > e->state_bytes)
		sum *= group / (group - e->state_bytes);
	fprintf(to, "a day takes about %s on disk, and the objects that are there now %s once",
		bytes_format(day, (uint64_t)sum), bytes_format(state, (uint64_t)e->state_bytes));
	if (e->o->max_bytes && sum > 0)
		fprintf(to, "; --max-size %s keeps the last %.1f days", bytes_format(max, e->o->max_bytes),
			(double)e->o->max_bytes / sum);
	fprintf(to,
		"\ngive or take %.0f %%%s, as far as the halves of the sample tell; what comes less often is not in it\n",
		100 * doubt, doubt < 1 ? "" : " or more");
}

static int find_half(struct estimate *e, struct err *err)
{
	e->first = (struct remake_point){.seq = e->o->first_seq, .time_ns = e->o->begin_ns};
	e->half = (struct remake_point){
		.seq = e->o->first_seq, .time_ns = e->o->begin_ns + e->o->window_ns / 2};
	return tape_position_at_time(e->tape, e->half.time_ns, &e->half.seq, err);
}

int estimate_print(const struct estimate_options *options, FILE *to, struct err *err)
{
	struct estimate e = {.o = options, .seconds = (double)options->window_ns / NS_PER_S};
	int rc = tape_open(options->tape_path, &e.tape, err);

	if (rc)
		return rc;
	rc = find_half(&e, err);
	if (!rc && e.half.seq < e.first.seq)
		e.half = e.first;
	if (!rc)
		rc = count_all(&e, err);
	if (!rc)
		rc = measure_all(&e, err);
	if (!rc)
		rc = tape_each_mark(e.tape, count_mark, &e, err);
	if (!rc) {
		extrapolate(&e);
		if (e.row_count)
			qsort(e.rows, e.row_count, sizeof(*e.rows), compare_rows);
		print_table(&e, to);
		print_sum(&e, to);
	}
	for (size_t i = 0; i < e.row_count; i++)
		free(e.rows[i].name);
	free(e.rows);
	tape_close(e.tape);
	return rc;
}
