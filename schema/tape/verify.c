/* verify.c: see verify.h. Files in their order, each with its sums, its facts and its plain tables. */
#include "schema/base/limits.h"
#include "schema/tape/audit_book.h"
#include "schema/tape/fetched.h"
#include "schema/tape/verify_internal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void report(struct verifier *v, uint64_t offset, uint64_t length, const char *found,
	const char *expected, const char *format, va_list ap)
{
	char what[ERR_TEXT_MAX];
	struct tape_damage damage = {v->name ? v->name : "", offset, length, what, found, expected};

	vsnprintf(what, sizeof(what), format, ap);
	if (v->options->damaged && v->options->damaged(v->options->context, &damage))
		v->stopped = true;
}

/* Counts one; true when it is to be told. */
static bool count_damage(struct verifier *v)
{
	return v->result.damages++ < VERIFY_TOLD_MAX && !v->stopped;
}

void verify_report(struct verifier *v, uint64_t offset, uint64_t length, const char *found,
	const char *expected, const char *format, ...)
{
	va_list ap;

	if (!count_damage(v))
		return;
	va_start(ap, format);
	report(v, offset, length, found, expected, format, ap);
	va_end(ap);
}

void verify_report_file(struct verifier *v, const char *format, ...)
{
	va_list ap;

	if (!count_damage(v))
		return;
	va_start(ap, format);
	report(v, UINT64_MAX, 0, "", "", format, ap);
	va_end(ap);
}

void verify_report_row(struct verifier *v, const char *table, int64_t id, const char *found,
	const char *expected, const char *format, ...)
{
	va_list ap;

	if (!count_damage(v))
		return;
	va_start(ap, format);
	report(v, row_places_find(v->places, v->db, table, id), 0, found, expected, format, ap);
	va_end(ap);
}

void verify_report_sum(struct verifier *v, const char *table, int64_t id, uint64_t found, uint64_t expected,
	const char *what)
{
	char found_text[24], expected_text[24];

	snprintf(found_text, sizeof(found_text), "%016" PRIx64, found);
	snprintf(expected_text, sizeof(expected_text), "%016" PRIx64, expected);
	verify_report_row(v, table, id, found_text, expected_text, "bad checksum of %s", what);
}

void verify_count(struct verifier *v, uint64_t damages)
{
	v->result.damages += damages;
}

bool verify_advance(struct verifier *v, uint64_t bytes)
{
	v->done += bytes;
	if (v->options->progress && v->options->progress(v->options->context, v->done, v->total))
		v->stopped = true;
	return v->stopped;
}

sqlite3_stmt *verify_prepare(struct verifier *v, const char *sql)
{
	struct err err;
	sqlite3_stmt *rows = NULL;

	if (segment_prepare(v->db, sql, &rows, &err))
		verify_report_file(v, "%s", err.text);
	return rows;
}

bool verify_step(struct verifier *v, sqlite3_stmt *rows)
{
	int step = v->stopped ? SQLITE_DONE : sqlite3_step(rows);

	if (step != SQLITE_ROW && step != SQLITE_DONE)
		verify_report_file(v, "cannot be read: %s", sqlite3_errmsg(v->db));
	return step == SQLITE_ROW;
}

/* ---- facts ---- */

static void check_meta(struct verifier *v, const char *key, const char *expected)
{
	char *found = segment_meta(v->db, key);

	if (!found || strcmp(found, expected) != 0)
		verify_report_row(v, "meta", 0, found ? found : "nothing", expected, "bad %s", key);
	free(found);
}

/* The digest that a segment names is written when the segment before is sealed, with `state_complete`. */
static void check_chain(struct verifier *v, bool complete)
{
	if (v->is_first || !v->previous_known || (!v->file->sealed && !complete))
		return;
	check_meta(v, "previous_digest", v->previous);
}

static bool is_complete(struct verifier *v)
{
	int64_t complete = 0;

	return segment_number(v->db, "SELECT value FROM meta WHERE key = 'state_complete'", 0, &complete,
		       NULL) == 0 &&
	       complete;
}

static void check_first_seq(struct verifier *v)
{
	int64_t first_seq = 0;
	char number[24];

	if (v->is_first || !v->next_seq) {
		if (segment_number(v->db, "SELECT value FROM meta WHERE key = 'first_seq'", 0, &first_seq,
			    NULL) == 0)
			v->next_seq = (uint64_t)first_seq;
		return;
	}
	snprintf(number, sizeof(number), "%" PRIu64, v->next_seq);
	check_meta(v, "first_seq", number);
}

/* A segment has the live objects, or builds upon the last one that has them; its version says which. */
static void check_base(struct verifier *v)
{
	uint32_t number = v->file->number, base = number;
	int64_t version = 0, states = 0;
	struct err err = {0};
	char expected[24];
	int failed;

	failed = segment_number(v->db, "PRAGMA user_version", 0, &version, NULL);
	v->is_compact = !failed && version > FORMAT_COMPACT;
	if (segment_base(v->db, number, &base, &err)) {
		verify_report_row(v, "meta", 0, "", "", "%s", err.text);
		return;
	}
	if (!failed && format_builds_upon(version) != (base != number))
		verify_report_file(
			v, "format version %lld, but its state is in segment %u", (long long)version, base);
	if (base == number) {
		v->base = number;
		return;
	}
	if (v->is_first)
		verify_report_file(v, "builds upon segment %u, which is missing", base);
	snprintf(expected, sizeof(expected), "%u", v->base);
	if (v->base && base != v->base)
		check_meta(v, "state_segment", expected);
	if (segment_number(v->db, "SELECT count(*) FROM extent WHERE kind = 'state'", 0, &states, NULL) ==
			0 &&
		states)
		verify_report_file(v, "a state, though it builds upon segment %u", base);
}

static void check_facts(struct verifier *v, bool complete)
{
	char number[24];

	snprintf(number, sizeof(number), "%u", v->file->number);
	check_meta(v, "segment", number);
	if (v->tape_id)
		check_meta(v, "tape_id", v->tape_id);
	else
		v->tape_id = segment_meta(v->db, "tape_id");
	if (v->file->sealed && !complete)
		check_meta(v, "state_complete", "1");
	check_chain(v, complete);
	check_first_seq(v);
	if (complete)
		check_base(v);
}

/* SQLite's own opinion of a file that has no sums of its own yet. */
static void check_structure(struct verifier *v)
{
	sqlite3_stmt *rows = v->file->sealed ? NULL : verify_prepare(v, "PRAGMA quick_check(20)");

	while (rows && verify_step(v, rows)) {
		const char *text = (const char *)sqlite3_column_text(rows, 0);

		if (text && strcmp(text, "ok") != 0)
			verify_report_file(v, "%s", text);
	}
	sqlite3_finalize(rows);
}

/* ---- segments ---- */

static void check_content(struct verifier *v, bool complete)
{
	verify_registry(v);
	check_structure(v);
	verify_documents(v);
	verify_rows(v);
	if (complete && v->base == v->file->number)
		verify_extents(v, "state");
	verify_extents(v, "events");
	verify_chunks(v);
}

/* Where the next segment begins, taken on trust. */
static void skip_content(struct verifier *v)
{
	int64_t last = 0;

	if (segment_number(v->db,
		    "SELECT max(last) FROM (SELECT max(last_seq) AS last FROM extent WHERE kind = 'events' "
		    "UNION ALL SELECT max(first_seq + events - 1) FROM chunk)",
		    0, &last, NULL) == 0 &&
		last > 0)
		v->next_seq = (uint64_t)last + 1;
}

/* A segment that is being made, or whose writer was killed while it made it: no event is in it yet. */
static bool is_being_made(struct verifier *v, bool complete)
{
	int64_t events = 1;

	return !complete && !v->file->sealed &&
	       segment_number(v->db,
		       "SELECT (SELECT count(*) FROM chunk) + (SELECT count(*) FROM extent WHERE kind = 'events')",
		       1, &events, NULL) == 0 &&
	       events == 0;
}

/* An open file may be sealed, and gone, by the time we have read it. */
static uint64_t stored_bytes(struct verifier *v)
{
	int64_t pages = 0;
	struct stat st;

	if (v->file->sealed)
		return stat(v->file->path, &st) == 0 ? (uint64_t)st.st_size : 0;
	if (v->db && segment_number(v->db, "PRAGMA page_count", 0, &pages, NULL))
		pages = 0;
	return (uint64_t)pages * FORMAT_PAGE_BYTES;
}

/* One snapshot of the segment: its writer may go on. */
static void check_database(struct verifier *v)
{
	bool complete;

	if (!v->file->sealed)
		verify_log(v);
	sqlite3_exec(v->db, "BEGIN", NULL, NULL, NULL);
	complete = is_complete(v);
	if (!is_being_made(v, complete)) {
		check_facts(v, complete);
		if (v->options->quick)
			skip_content(v);
		else
			check_content(v, complete);
	}
	sqlite3_exec(v->db, "COMMIT", NULL, NULL, NULL);
}

struct page_check {
	struct verifier *v;
	uint64_t done;
};

static int page_damaged(void *context, const struct seal_damage *d)
{
	struct page_check *c = context;

	verify_report(c->v, d->offset, d->length, d->found, d->expected, "bad checksum of %s", d->what);
	return c->v->stopped;
}

static int page_progress(void *context, uint64_t bytes)
{
	struct page_check *c = context;
	uint64_t more = bytes - c->done;

	c->done = bytes;
	return verify_advance(c->v, more);
}

static void give_up(struct verifier *v, const struct err *why)
{
	v->unfetched = *why;
	v->stopped = true;
}

/* A store that is away, or refuses us, says nothing of what it has. */
static bool is_unfetched(const struct verifier *v, int rc)
{
	return (rc == ERR_NETWORK || rc == ERR_DENIED || rc == ERR_NO_SPACE) && fetched_is(v->file->path);
}

/* The sums behind the pages. True when every page is as it was sealed. */
static bool check_pages(struct verifier *v)
{
	struct page_check c = {.v = v};
	char digest[SEAL_DIGEST_BYTES];
	struct err err = {0};
	int found = seal_check(v->file->path, page_damaged, page_progress, &c, digest, &err);

	v->own_known = found >= 0;
	if (found >= 0)
		memcpy(v->own, digest, sizeof(digest));
	else if (is_unfetched(v, found))
		give_up(v, &err);
	else if (!v->stopped && !segment_is_gone(v->path, v->file))
		verify_report_file(v, "%s", err.text);
	return found == 0;
}

/* What comes after a segment that could not be followed is judged by itself. */
static void forget_history(struct verifier *v)
{
	v->next_seq = 0;
	v->live_known = false;
}

/* Opens the current file, or the sealed form that it has got since the directory was read. */
static int open_current(struct verifier *v, struct segment_file *sealed, struct err *err)
{
	int rc = segment_open(v->file, false, &v->db, err);

	if (v->file->sealed)
		return rc;
	*sealed = (struct segment_file){
		v->file->number, true, xasprintf("%s/" FORMAT_SEALED_NAME, v->path, v->file->number)};
	if (access(sealed->path, F_OK))
		return rc;
	if (!rc)
		sqlite3_close(v->db);
	v->db = NULL;
	v->file = sealed;
	v->name = strrchr(sealed->path, '/') + 1;
	return 0;
}

/* The current segment's database, its pages checked; NULL, and reported, when it is not to be trusted. */
static sqlite3 *open_checked(struct verifier *v, struct segment_file *sealed)
{
	struct err err = {0};
	int rc = v->file->sealed ? 0 : open_current(v, sealed, &err);

	if (!rc && v->file->sealed) {
		if (!check_pages(v))
			return NULL;
		rc = segment_open(v->file, false, &v->db, &err);
	}
	if (rc && !segment_is_gone(v->path, v->file))
		verify_report_file(v, "%s", err.text);
	return rc ? NULL : v->db;
}

static void check_segment(struct verifier *v, const struct segment_file *file)
{
	struct segment_file sealed = {0};
	bool opened;

	v->file = file;
	v->name = strrchr(file->path, '/') + 1;
	v->own_known = false;
	row_places_reset(v->places);
	opened = open_checked(v, &sealed) != NULL;
	v->base = opened ? v->base : 0;
	v->result.stored_bytes += stored_bytes(v);
	if (opened)
		check_database(v);
	else
		forget_history(v);
	memcpy(v->previous, v->own, sizeof(v->own));
	v->previous_known = v->own_known;
	v->is_first = false;
	sqlite3_close(v->db);
	v->db = NULL;
	free(sealed.path);
}

static uint64_t bytes_to_read(const struct segment_file *list, size_t count, bool quick)
{
	uint64_t bytes = 0;
	struct stat st;

	for (size_t i = 0; i < count; i++) {
		if (stat(list[i].path, &st) == 0)
			bytes += (uint64_t)st.st_size * (quick || !list[i].sealed ? 1 : 2);
	}
	return bytes;
}

/* As reader_state_bytes(): what lives may take so much more in memory than on disk. */
static size_t live_bytes(const struct segment_file *list, size_t count)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += segment_allocated_bytes(&list[i]);
	return bytes > LIMIT_STATE_BYTES / 4 ? 4 * bytes : LIMIT_STATE_BYTES;
}

/* Segments missing before file. Retention takes the first ones, so only a hole is a damage. */
static void check_number(
	struct verifier *v, const struct segment_file *before, const struct segment_file *file)
{
	v->name = NULL;
	if (before->number + 1 == file->number)
		return;
	if (before->number + 2 == file->number)
		verify_report_file(v, "segment %u is missing", before->number + 1);
	else
		verify_report_file(v, "segments %u to %u are missing", before->number + 1, file->number - 1);
	v->previous_known = false;
	forget_history(v);
}

static void check_all(struct verifier *v, const struct segment_file *list, size_t count)
{
	for (size_t i = 0; i < count && !v->stopped; i++) {
		if (segment_is_gone(v->path, &list[i]))
			continue;
		if (i && !v->is_first)
			check_number(v, &list[i - 1], &list[i]);
		check_segment(v, &list[i]);
		v->result.segments++;
	}
}

/* ---- what the audit log says ---- */

static void claim_damaged(void *context, const char *what)
{
	verify_report_file(context, "%s", what);
}

static void check_audit_book(struct verifier *v)
{
	char *path = audit_book_path(v->path);
	struct audit_book *book;
	struct err err = {0};

	v->name = strrchr(path, '/') + 1;
	if (audit_book_open(v->path, &book, &err))
		claim_damaged(v, err.text);
	else if (book && !v->stopped)
		audit_book_verify(book, claim_damaged, v);
	audit_book_close(book);
	free(path);
}

int tape_verify(const char *path, const struct tape_verify_options *options, struct tape_verify_result *ret,
	struct err *err)
{
	struct verifier v = {.options = options, .is_first = true};
	char *tape_path = segment_tape_path(path);
	struct segment_file *list;
	size_t count, orphans;
	int rc = segment_list(tape_path, &list, &count, err);

	if (!rc) {
		v.path = tape_path;
		v.total = bytes_to_read(list, count, options->quick);
		v.places = row_places_new();
		v.crew = options->quick ? NULL : block_crew_new();
		v.live_max_bytes = live_bytes(list, count);
		live_map_init(&v.live, v.live_max_bytes);
		orphans = segment_count_orphans(list, count);
		check_all(&v, list + orphans, count - orphans);
		check_audit_book(&v);
		live_map_release(&v.live);
		block_crew_free(v.crew);
		row_places_free(v.places);
		registry_release(&v.registry);
		free(v.tape_id);
		segment_list_free(list, count);
		if (v.unfetched.code)
			rc = err_copy(err, &v.unfetched);
		else if (v.stopped)
			rc = err_set(err, ERR_STOPPED, "check of '%s' was stopped", path);
	}
	free(tape_path);
	if (!rc)
		*ret = v.result;
	return rc;
}
