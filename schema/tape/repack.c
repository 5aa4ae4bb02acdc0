/* repack.c: see repack.h. One segment after the other, each readable as soon as it is sealed. */
#include "schema/tape/repack.h"

#include "schema/base/limits.h"
#include "schema/tape/audit_carry.h"
#include "schema/tape/documents.h"
#include "schema/tape/extent_store.h"
#include "schema/tape/new_tape.h"
#include "schema/tape/reader_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define DOCUMENTS_LEVEL 19

/* A block of large objects has about as many of them. What differs between two versions is a small part of them; only from
 * level 16 on does zstd find everything else in the one before. */
const struct tape_repack_options tape_repack_defaults = {
	.pack = {.effort = {.level = 12, .bytes = 8u << 20}, .large = {.level = 16, .bytes = 32u << 20}},
	.extent_bytes = 256u << 20,
};

struct repacker {
	struct tape *tape;
	const char *to;
	struct tape_repack_options o;
	struct tape_info info;
	uint64_t done_bytes;
	char digest[33]; /* of the segment made last */
	sqlite3 *db;     /* the segment being made */
	int64_t extent_id;
};

static int repack_report(struct repacker *r, uint64_t bytes, struct err *err)
{
	/* Every byte is written once and compared once. */
	r->done_bytes += bytes;
	if (r->o.progress && r->o.progress(r->o.context, r->done_bytes, 2 * r->info.raw_bytes))
		return err_set(err, ERR_STOPPED, "stopped before the tape was repacked");
	return 0;
}

static int copy_table(struct repacker *r, sqlite3 *from, enum table table, struct err *err)
{
	struct value values[FORMAT_COLUMNS_MAX];
	char *sql = xasprintf("SELECT * FROM %s", table_formats[table].name);
	sqlite3_stmt *rows;
	int step = SQLITE_DONE, rc = segment_prepare(from, sql, &rows, err);

	free(sql);
	if (rc)
		return rc;
	while (!rc && (step = sqlite3_step(rows)) == SQLITE_ROW) {
		for (int i = 0; i < table_formats[table].column_count; i++)
			values[i] = value_of_column(rows, i);
		rc = row_insert(r->db, table, values, err);
	}
	if (!rc && step != SQLITE_DONE)
		rc = segment_failed(from, err, "cannot read table '%s'", table_formats[table].name);
	sqlite3_finalize(rows);
	return rc;
}

static int copy_rows(struct repacker *r, size_t segment, struct err *err)
{
	sqlite3 *from;
	int rc;

	if ((rc = reader_db(r->tape, segment, &from, err)) || (rc = segment_exec(r->db, "BEGIN", err)))
		return rc;
	for (int table = TABLE_META; table < TABLE_CHUNK && !rc; table++)
		rc = copy_table(r, from, (enum table)table, err);
	if (!rc)
		rc = extent_store_meta(r->db, "previous_digest", value_text(r->digest), err);
	if (!rc)
		rc = segment_exec(r->db, "COMMIT", err);
	if (!rc && r->tape->segments[segment].base != r->tape->segments[segment].file.number)
		rc = segment_build_upon(r->db, r->tape->segments[segment].base, err);
	return rc ? rc : segment_make_compact(r->db, err);
}

static int repack_store(struct repacker *r, const char *kind, struct extent *x, struct err *err)
{
	if (x->event_count == 0)
		return 0;
	return extent_store(r->db, r->extent_id++, kind, x, &r->o.pack, err);
}

/* An extent of state is taken as it is: its portion of the keys is not in the order
 * of seqs of the next one. */
static int copy_state_extent(struct repacker *r, struct tape_extent *row, struct err *err)
{
	struct extent *from, *x = extent_new();
	int rc = reader_extent(r->tape, row, &from, err);

	from = rc ? NULL : extent_ref(from);
	for (size_t k = 0; !rc && k < from->event_count; k++) {
		char rv[RV_TEXT_BYTES];
		struct slice object;
		struct event e;

		extent_event_get(from, k, rv, &e);
		rc = reader_object(r->tape, row, from, k, &object, err);
		if (!rc)
			rc = extent_add(x, &e, object, err);
	}
	if (!rc)
		rc = repack_store(r, "state", x, err);
	extent_unref(from);
	extent_unref(x);
	return rc;
}

/* The seqs of a segment end before the next one's first. */
static struct tape_filter filter_of(const struct tape *t, size_t segment)
{
	struct tape_filter filter = {.seq_min = t->segments[segment].first_seq};

	if (segment + 1 < t->segment_count)
		filter.seq_max = t->segments[segment + 1].first_seq - 1;
	return filter;
}

static int next_event(struct tape_cursor *c, struct event *e, struct slice *object, struct err *err)
{
	int more = tape_cursor_next(c, e, err), rc;

	if (more <= 0)
		return more;
	rc = tape_cursor_object(c, object, err);
	return rc ? rc : 1;
}

static bool is_full(const struct repacker *r, const struct extent *x)
{
	return x->raw_bytes >= r->o.extent_bytes || x->event_count >= LIMIT_EXTENT_EVENTS / 2 ||
	       extent_index_memory(x) >= LIMIT_EXTENT_MEMORY / 2;
}

/* Adds the event; a full extent is stored and *x becomes the next one. */
static int copy_event(
	struct repacker *r, struct extent **x, const struct event *e, struct slice object, struct err *err)
{
	int rc;

	if ((rc = extent_add(*x, e, object, err)) || (rc = repack_report(r, e->bytes, err)))
		return rc;
	if (!is_full(r, *x))
		return 0;
	rc = repack_store(r, "events", *x, err);
	if (rc)
		return rc;
	extent_unref(*x);
	*x = extent_new();
	return 0;
}

static int copy_events(struct repacker *r, size_t segment, struct err *err)
{
	struct tape_filter filter = filter_of(r->tape, segment);
	struct tape_cursor *c;
	struct extent *x;
	struct slice object;
	struct event e;
	int more, rc = 0;

	if (filter.seq_max && filter.seq_max < filter.seq_min)
		return 0; /* a segment without events */
	rc = tape_cursor_open(r->tape, &filter, TAPE_FORWARD, &c, err);
	if (rc)
		return rc;
	x = extent_new();
	while (!rc && (more = next_event(c, &e, &object, err)) > 0)
		rc = copy_event(r, &x, &e, object, err);
	if (!rc)
		rc = more < 0 ? more : repack_store(r, "events", x, err);
	extent_unref(x);
	tape_cursor_close(c);
	return rc;
}

static int copy_segment(struct repacker *r, size_t segment, struct err *err)
{
	uint32_t number = r->tape->segments[segment].file.number;
	int rc = segment_create(r->to, number, SEGMENT_UNTIL_SEALED, &r->db, err);

	if (rc)
		return rc;
	r->extent_id = 1;
	rc = copy_rows(r, segment, err);
	for (size_t i = 0; i < r->tape->states.count && !rc; i++) {
		if (r->tape->states.items[i].segment == segment)
			rc = copy_state_extent(r, &r->tape->states.items[i], err);
	}
	if (!rc)
		rc = copy_events(r, segment, err);
	if (!rc)
		rc = documents_pack(r->db, DOCUMENTS_LEVEL, false, err);
	if (!rc)
		rc = segment_seal(r->to, number, r->db, r->digest, err);
	if (rc)
		sqlite3_close(r->db);
	return rc;
}

static bool same_event(const struct event *a, const struct event *b)
{
	return a->seq == b->seq && a->time_ns == b->time_ns && a->type == b->type && a->origin == b->origin &&
	       a->flags == b->flags && a->stream == b->stream && slice_equal(a->uid, b->uid) &&
	       slice_equal(a->rv, b->rv) && slice_equal(a->name, b->name) &&
	       slice_equal(a->namespace, b->namespace);
}

static int compare_cursors(
	struct repacker *r, struct tape_cursor *old, struct tape_cursor *new, struct err *err)
{
	int rc;

	for (;;) {
		struct slice old_object, new_object;
		struct event a, b;
		int old_more = next_event(old, &a, &old_object, err);
		int new_more = old_more < 0 ? 0 : next_event(new, &b, &new_object, err);

		if (old_more < 0 || new_more < 0)
			return old_more < 0 ? old_more : new_more;
		if (!old_more && !new_more)
			return 0;
		if (old_more != new_more || !same_event(&a, &b) || !slice_equal(old_object, new_object))
			return err_set(err, ERR_FAILED, "repacked tape differs at event %llu",
				(unsigned long long)(old_more ? a.seq : b.seq));
		rc = repack_report(r, a.bytes, err);
		if (rc)
			return rc;
	}
}

static int repack_compare(struct repacker *r, struct tape_repack_result *ret, struct err *err)
{
	struct tape_cursor *old = NULL, *new = NULL;
	struct tape_filter filter = {.seq_max = r->info.last_seq};
	struct tape_info info;
	struct tape *made;
	int rc = tape_open(r->to, &made, err);

	if (rc)
		return rc;
	/* Walking in the order of seqs touches every block of an extent again and again. */
	tape_set_cache(made, r->o.extent_bytes + r->o.extent_bytes / 4);
	if (!(rc = tape_cursor_open(r->tape, &filter, TAPE_FORWARD, &old, err)) &&
		!(rc = tape_cursor_open(made, NULL, TAPE_FORWARD, &new, err)) &&
		!(rc = compare_cursors(r, old, new, err)))
		rc = tape_info(made, &info, err);
	tape_cursor_close(old);
	tape_cursor_close(new);
	tape_close(made);
	if (rc)
		return rc;
	*ret = (struct tape_repack_result){.events = r->info.events,
		.raw_bytes = r->info.raw_bytes,
		.old_disk_bytes = r->info.disk_bytes,
		.new_disk_bytes = info.disk_bytes};
	return 0;
}

static int repack(struct repacker *r, struct tape_repack_result *ret, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < r->tape->segment_count && !rc; i++)
		rc = copy_segment(r, i, err);
	return rc ? rc : repack_compare(r, ret, err);
}

/* What is asked for, else the default. */
static struct pack_effort effort_of(const struct pack_effort *asked, const struct pack_effort *standard)
{
	size_t bytes = asked->bytes ? asked->bytes : standard->bytes;

	return (struct pack_effort){.level = asked->level ? asked->level : standard->level,
		.bytes = bytes < LIMIT_BLOCK_BYTES / 2 ? bytes : LIMIT_BLOCK_BYTES / 2};
}

static void set_options(struct repacker *r, const struct tape_repack_options *o)
{
	const struct tape_repack_options *d = &tape_repack_defaults;

	r->o = *o;
	r->o.pack.effort = effort_of(&o->pack.effort, &d->pack.effort);
	r->o.pack.large = effort_of(&o->pack.effort, &d->pack.large);
	r->o.pack.compact = true;
	r->o.extent_bytes = o->extent_bytes ? o->extent_bytes : d->extent_bytes;
	if (r->o.extent_bytes > LIMIT_CHUNK_BYTES / 2)
		r->o.extent_bytes = LIMIT_CHUNK_BYTES / 2;
}

static int repack_make(struct repacker *r, const char *to, struct tape_repack_result *ret, struct err *err)
{
	struct new_tape made;
	int rc = new_tape_begin(to, &made, err);

	if (rc)
		return rc;
	r->to = made.temporary;
	rc = repack(r, ret, err);
	if (!rc)
		rc = audit_carry_all(r->tape->path, made.temporary, NULL, err);
	return new_tape_end(&made, rc, err);
}

/* Segments that became one file may take less than they did. */
static void count_file(const char *path, struct tape_repack_result *ret)
{
	struct stat st;

	if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
		ret->new_disk_bytes = (uint64_t)st.st_size;
}

int tape_repack(const char *from, const char *to, const struct tape_repack_options *options,
	struct tape_repack_result *ret, struct err *err)
{
	struct repacker r = {0};
	int rc;

	set_options(&r, options);
	rc = tape_open(from, &r.tape, err);
	if (rc)
		return rc;
	rc = tape_info(r.tape, &r.info, err);
	if (!rc)
		rc = repack_make(&r, to, ret, err);
	if (!rc)
		count_file(to, ret);
	tape_close(r.tape);
	return rc;
}
