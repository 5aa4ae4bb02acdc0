/*
 * writer_seal.c: the slow end of the writer: extents, segments, and finding one's feet after a crash.
 *
 *   segment N full:  its extent is sealed -> N is sealed
 *   next flush:      N+1 is created; it names N's digest and begins with the state, or names the segment that
 *                    does (writer_group.c); `state_complete` is written last
 *
 * No event goes into a segment before it is complete, so one that a crash left incomplete is thrown away.
 */
#include "schema/base/count_of.h"
#include "schema/base/limits.h"
#include "schema/tape/documents.h"
#include "schema/tape/extent_store.h"
#include "schema/tape/format.h"
#include "schema/tape/hot.h"
#include "schema/tape/pack.h"
#include "schema/tape/seal.h"
#include "schema/tape/segment.h"
#include "schema/tape/writer_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>

#define DOCUMENTS_LEVEL                                                                                      \
	9            /* 0.1 s for the 12 MB of a whole cluster; the highest level saves another seventh */
#define SEAL_LEVEL 1 /* higher levels cost far more than they save on sorted objects */

const struct pack_options writer_seal_options = {.effort = {SEAL_LEVEL, PACK_BYTES}};

/* At such a rate there is time: the higher level takes 3 ms for each MB, 1 % of a processor at most, for a
 * sixth of the size. Larger packs are a tenth smaller, and take 0.1 ms more to find one object in. */
#define CALM_BYTES_PER_S (4u << 20)
#define CALM_LEVEL       9
#define CALM_PACK_BYTES  (1u << 20)

static const struct pack_options calm_options = {.effort = {CALM_LEVEL, CALM_PACK_BYTES}};

/* So much is packed harder also where nobody wants to wait: it takes a twentieth of a second. */
#define SMALL_EXTENT_BYTES (8u << 20)

const struct pack_options *writer_bulk_options(uint64_t raw_bytes)
{
	return raw_bytes > SMALL_EXTENT_BYTES ? &writer_seal_options : &calm_options;
}

/* How the open extent is to be packed: as an ordinary cluster fills it, or as a storm or an import does. A
 * copy of a damaged tape has the source in memory as well, and the higher level takes 85 MB. */
static const struct pack_options *options_for(const struct tape_writer *w)
{
	int64_t took_ns = clock_mono_ns(w->options.clock) - w->extent_began_ns;
	double seconds = (double)(took_ns > 0 ? took_ns : 0) / (double)NS_PER_S;

	if (w->packs_hard)
		return &calm_options;
	if (w->bulk)
		return writer_bulk_options(w->extent->raw_bytes);
	if (w->copying)
		return &writer_seal_options;
	return (double)w->extent->raw_bytes > seconds * CALM_BYTES_PER_S ? &writer_seal_options
									 : &calm_options;
}

static void begin_extent(struct tape_writer *w)
{
	struct extent *fresh = extent_new();

	extent_take_room(fresh, w->extent);
	extent_unref(w->extent);
	w->extent = fresh;
	w->compressed_bytes = 0;
	buf_clear(&w->chunk);
	w->extent_id++;
	w->extent_began_ns = clock_mono_ns(w->options.clock);
}

int writer_seal_extent(struct tape_writer *w, struct err *err)
{
	int rc;

	if (w->extent->event_count == 0)
		return 0;
	rc = writer_end_frame(w, err);
	if (!rc)
		rc = extent_store(w->db, w->extent_id, "events", w->extent, options_for(w), err);
	if (rc)
		return err_prefix(err, rc, "tape '%s': cannot seal an extent", w->path);
	w->sealed_raw_bytes += w->extent->raw_bytes;
	begin_extent(w);
	return 0;
}

static void make_tape_id(char hex[33])
{
	uint8_t bytes[16] = {0};

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		memset(bytes, 0, sizeof(bytes)); /* an id of zeros is still a tape */
	for (int i = 0; i < 16; i++)
		snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
}

const char *tape_writer_id(struct tape_writer *w)
{
	char id[33];

	if (!w->tape_id) {
		make_tape_id(id);
		w->tape_id = xstrdup(id);
	}
	return w->tape_id;
}

/* Tables whose ids go on from segment to segment. The meta data have the highest id that earlier segments gave, as LAST_ID and the
 * table's name, because retention may have removed its row. */
#define LAST_ID "last_id_"

static const enum table numbered[] = {
	TABLE_CONNECTION, TABLE_MARK, TABLE_GAP, TABLE_MISSED, TABLE_CLOCK, TABLE_EPOCH, TABLE_DOCUMENT};

static int put_last_ids(struct tape_writer *w, sqlite3 *db, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < COUNT_OF(numbered) && !rc; i++) {
		char *key = xasprintf(LAST_ID "%s", table_formats[numbered[i]].name);

		rc = w->ids[numbered[i]] ? extent_store_meta(db, key, value_integer(w->ids[numbered[i]]), err)
					 : 0;
		free(key);
	}
	return rc;
}

static int put_identity(struct tape_writer *w, sqlite3 *db, struct err *err)
{
	int rc;

	if ((rc = extent_store_meta(db, "tape_id", value_text(tape_writer_id(w)), err)) ||
		(rc = extent_store_meta(db, "segment", value_integer(w->segment), err)) ||
		(rc = extent_store_meta(
			 db, "first_seq", value_integer((int64_t)w->segment_first_seq), err)) ||
		(rc = extent_store_meta(
			 db, "created_ns", value_integer(clock_wall_ns(w->options.clock)), err)) ||
		(rc = extent_store_meta(db, "program",
			 value_text(w->options.program ? w->options.program : "kubetape"), err)))
		return rc;
	return extent_store_meta(db, "previous_digest", value_text(w->previous_digest), err);
}

static int put_registry(const struct tape_writer *w, sqlite3 *db, struct err *err)
{
	int rc;

	for (size_t i = 0; i < w->registry.resource_count; i++) {
		const struct tape_resource *r = &w->registry.resources[i];
		struct value values[] = {value_integer(r->id), value_text(r->apigroup),
			value_text(r->version), value_text(r->resource), value_text(r->kind),
			value_integer(r->namespaced)};

		rc = row_insert(db, TABLE_RESOURCE, values, err);
		if (rc)
			return rc;
	}
	for (size_t i = 0; i < w->registry.stream_count; i++) {
		const struct tape_stream *s = &w->registry.streams[i];
		struct value values[] = {value_integer(s->id), value_integer(s->resource),
			value_text(s->namespace), value_text(s->label_selector),
			value_text(s->field_selector), value_integer((int64_t)w->segment_first_seq - 1),
			value_integer(clock_wall_ns(w->options.clock))};

		rc = row_insert(db, TABLE_STREAM, values, err);
		if (rc)
			return rc;
	}
	return 0;
}

/* What a stream's resourceVersion was at the segment's start, as a list would say it. */
static int put_positions(const char *previous_path, sqlite3 *db, struct err *err)
{
	sqlite3_stmt *copy;
	int rc = segment_prepare(db, "ATTACH ? AS previous", &copy, err);

	if (rc)
		return rc;
	sqlite3_bind_text(copy, 1, previous_path, -1, SQLITE_STATIC);
	rc = sqlite3_step(copy) == SQLITE_DONE ? 0
					       : segment_failed(db, err, "cannot read '%s'", previous_path);
	sqlite3_finalize(copy);
	if (rc)
		return rc;
	rc = segment_exec(db, "INSERT INTO document SELECT * FROM previous.document", err);
	if (!rc)
		rc = segment_exec(db,
			"INSERT INTO mark SELECT * FROM previous.mark WHERE id IN "
			"(SELECT max(id) FROM previous.mark WHERE kind <> 'error' GROUP BY stream)",
			err);
	sqlite3_exec(db, "DETACH previous", NULL, NULL, NULL);
	if (!rc && documents_want_packing(db, true))
		rc = documents_pack(db, DOCUMENTS_LEVEL, true, err);
	return rc;
}

/* Positions, documents and state of the segment before. */
static int take_over(
	struct tape_writer *w, sqlite3 *db, const char *previous_path, bool whole, struct err *err)
{
	int rc = put_positions(previous_path, db, err);

	if (rc)
		return rc;
	return whole ? writer_put_state(w, db, err) : segment_build_upon(db, w->group.base, err);
}

/* Everything but events that a segment needs: identity, registry, documents, positions, and the state unless it
 * builds upon that of an earlier one. */
static int fill_segment(
	struct tape_writer *w, sqlite3 *db, const char *previous_path, bool whole, struct err *err)
{
	int rc;

	if ((rc = segment_exec(db, "BEGIN", err)) || (rc = put_identity(w, db, err)) ||
		(rc = put_last_ids(w, db, err)) || (rc = put_registry(w, db, err)) ||
		(rc = segment_exec(db, "COMMIT", err)))
		return rc;
	if (previous_path)
		rc = take_over(w, db, previous_path, whole, err);
	else if (w->seed)
		rc = w->seed(w->seed_context, db, &w->extent_id, err);
	return rc ? rc : extent_store_meta(db, "state_complete", value_integer(1), err);
}

static uint64_t born_bytes(sqlite3 *db)
{
	int64_t pages = 0, page_bytes = 0;
	struct err ignored;

	if (segment_number(db, "PRAGMA page_count", 0, &pages, &ignored) ||
		segment_number(db, "PRAGMA page_size", 0, &page_bytes, &ignored))
		return 0;
	return (uint64_t)(pages * page_bytes);
}

static int note_wal(void *context, sqlite3 *db, const char *name, int pages)
{
	struct tape_writer *w = context;

	(void)db;
	(void)name;
	w->wal_pages = pages;
	return SQLITE_OK;
}

/* The hook stands for SQLite's own, which would run checkpoints within commits. */
static void go_on_in(struct tape_writer *w, sqlite3 *db)
{
	w->db = db;
	w->statements.db = db;
	w->segment_began_ns = clock_mono_ns(w->options.clock);
	w->wal_pages = 0;
	sqlite3_wal_hook(db, note_wal, w);
}

static int create_next(struct tape_writer *w, const char *previous_path, struct err *err)
{
	sqlite3 *db;
	bool whole = writer_group_is_over(w);
	int rc = segment_create(
		w->path, w->segment + 1, w->copying ? SEGMENT_UNTIL_SEALED : SEGMENT_DURABLE, &db, err);

	if (rc)
		return rc;
	w->segment++;
	w->segment_first_seq = w->durable_seq + 1;
	w->extent_id = 1;
	rc = fill_segment(w, db, previous_path, whole, err);
	if (rc) {
		segment_discard(w->path, w->segment--, db);
		return rc;
	}
	if (whole)
		writer_group_begin(w, clock_wall_ns(w->options.clock));
	go_on_in(w, db);
	w->segment_born_bytes = born_bytes(db);
	w->clock_known = false;
	return 0;
}

/* The path of the last sealed segment, NULL when there is none. */
static char *newest_path(const struct tape_writer *w)
{
	return w->segment ? xasprintf("%s/" FORMAT_SEALED_NAME, w->path, w->segment) : NULL;
}

static int stop_at_damage(void *context, const struct seal_damage *d)
{
	(void)context;
	(void)d;
	return ERR_CORRUPT;
}

static bool is_intact(const char *sealed_path)
{
	char digest[SEAL_DIGEST_BYTES];
	int damages = seal_check(sealed_path, stop_at_damage, NULL, NULL, digest, NULL);

	return damages == 0 || damages == ERR_IO;
}

/* All that the next segment may be made of. */
static bool is_group_intact(const struct tape_writer *w)
{
	bool intact = true;

	for (uint32_t i = w->group.base; i && i <= w->segment && intact; i++) {
		char *path = xasprintf("%s/" FORMAT_SEALED_NAME, w->path, i);

		intact = is_intact(path);
		free(path);
	}
	return intact;
}

int writer_ensure_segment(struct tape_writer *w, struct err *err)
{
	char *previous;
	int rc;

	if (w->db)
		return 0;
	previous = newest_path(w);
	rc = create_next(w, previous, err);
	/* SQLite may call "malformed" what it could not read. What we have just made is not, and is made anew
	 * at the next try; of the others the sums tell. */
	if (rc == ERR_CORRUPT && is_group_intact(w))
		rc = ERR_IO;
	free(previous);
	if (rc)
		return err_prefix(err, rc, "tape '%s': cannot begin a segment", w->path);
	return 0;
}

int writer_seal_segment(struct tape_writer *w, struct err *err)
{
	struct stat st;
	char *path;
	int rc;

	row_statements_release(&w->statements);
	w->statements.db = w->db;
	if ((rc = writer_group_note(w, err)))
		return err_prefix(err, rc, "tape '%s': cannot seal segment %u", w->path, w->segment);
	if (documents_want_packing(w->db, false) && (rc = documents_pack(w->db, DOCUMENTS_LEVEL, false, err)))
		return err_prefix(
			err, rc, "tape '%s': cannot pack the documents of segment %u", w->path, w->segment);
	writer_make_room_to_seal(w);
	rc = segment_seal(w->path, w->segment, w->db, w->previous_digest, err);
	if (rc)
		return err_prefix(err, rc, "tape '%s': cannot seal segment %u", w->path, w->segment);
	w->db = NULL;
	w->rotate_wanted = false;
	w->retained_ns = 0;
	w->sealed_segments++;
	path = newest_path(w);
	if (path && stat(path, &st) == 0) {
		w->sealed_disk_bytes += (uint64_t)st.st_size;
		w->group.disk_bytes += (uint64_t)st.st_size;
	}
	free(path);
	return 0;
}

/* Also those of segments that are not there any more, which the meta data tell. */
static int highest(sqlite3 *db, const char *table, int64_t *id, struct err *err)
{
	char *sql = xasprintf("SELECT max(id) FROM (SELECT max(id) AS id FROM %s"
			      " UNION ALL SELECT value FROM meta WHERE key = '" LAST_ID "%s')",
		table, table);
	int64_t found;
	int rc = segment_number(db, sql, 0, &found, err);

	free(sql);
	if (!rc && found > FORMAT_ID_MAX)
		return err_set(err, ERR_CORRUPT, "'%s': table '%s' has a row %lld, after which there is none",
			sqlite3_db_filename(db, "main"), table, (long long)found);
	if (!rc && found > *id)
		*id = found;
	return rc;
}

static int recover_ids(struct tape_writer *w, sqlite3 *db, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < COUNT_OF(numbered) && !rc; i++)
		rc = highest(db, table_formats[numbered[i]].name, &w->ids[numbered[i]], err);
	return rc ? rc : registry_load(&w->registry, db, err);
}

static int recover_totals(
	struct tape_writer *w, const struct segment_file *file, sqlite3 *db, struct err *err)
{
	int64_t raw_bytes, last_seq, first_seq;
	struct stat st;
	int rc;

	if ((rc = segment_number(db, "SELECT value FROM meta WHERE key = 'first_seq'", 1, &first_seq, err)) ||
		(rc = segment_number(db, "SELECT sum(raw_bytes) FROM extent WHERE kind = 'events'", 0,
			 &raw_bytes, err)) ||
		(rc = segment_number(db, "SELECT max(last_seq) FROM extent WHERE kind = 'events'",
			 first_seq - 1, &last_seq, err)))
		return rc;
	w->sealed_raw_bytes += (uint64_t)raw_bytes;
	w->last_seq = (uint64_t)last_seq > w->last_seq ? (uint64_t)last_seq : w->last_seq;
	w->sealed_segments += file->sealed;
	if (file->sealed && stat(file->path, &st) == 0)
		w->sealed_disk_bytes += (uint64_t)st.st_size;
	if (!w->tape_id)
		w->tape_id = segment_meta(db, "tape_id");
	return 0;
}

static int seal_hot_extent(struct tape_writer *w, sqlite3 *db, int64_t id, struct err *err)
{
	struct hot_reader hot;
	int found;

	hot_reader_init(&hot);
	found = hot_reader_load(&hot, db, id, &w->registry, err);
	if (found > 0) {
		w->last_seq = extent_last_seq(hot.extent);
		w->sealed_raw_bytes += hot.extent->raw_bytes;
		found = extent_store(db, id, "events", hot.extent, &writer_seal_options, err);
	}
	hot_reader_release(&hot);
	return found < 0 ? found : 0;
}

/* Turns what a crash left hot into extents. */
static int seal_hot(struct tape_writer *w, sqlite3 *db, struct err *err)
{
	int64_t id;
	int rc;

	do {
		rc = segment_number(db, "SELECT min(extent) FROM chunk", 0, &id, err);
		if (!rc && id)
			rc = seal_hot_extent(w, db, id, err);
	} while (!rc && id);
	return rc;
}

/* Goes on in the open segment that a crash left. */
static int adopt(struct tape_writer *w, sqlite3 *db, struct err *err)
{
	int64_t first_seq, complete, last_extent = 0;
	int rc;

	if ((rc = segment_number(db, "SELECT value FROM meta WHERE key = 'first_seq'", 1, &first_seq, err)) ||
		(rc = segment_number(
			 db, "SELECT value FROM meta WHERE key = 'state_complete'", 0, &complete, err)) ||
		(rc = highest(db, "extent", &last_extent, err)))
		return rc;
	if (!complete) {
		segment_discard(w->path, w->segment--, db);
		return 0;
	}
	go_on_in(w, db);
	w->segment_first_seq = (uint64_t)first_seq;
	w->extent_id = last_extent + 1;
	return 0;
}

/* A whole segment, or what a crash left of it. */
static int recover_segment(struct tape_writer *w, const struct segment_file *file, bool last, struct err *err)
{
	sqlite3 *db;
	int rc = segment_open(file, !file->sealed, &db, err);

	if (rc)
		return rc;
	w->segment = file->number;
	rc = recover_ids(w, db, err);
	if (!rc)
		rc = recover_totals(w, file, db, err);
	if (!rc)
		rc = writer_group_recover(w, file, db, err);
	if (file->sealed) {
		sqlite3_close(db);
		return rc ? rc : seal_digest(file->path, w->previous_digest, err);
	}
	if (!rc)
		rc = seal_hot(w, db, err);
	if (!rc && last)
		rc = adopt(w, db, err);
	else if (!rc)
		rc = segment_seal(w->path, file->number, db, w->previous_digest, err);
	if (rc && w->db != db)
		sqlite3_close(db);
	return rc;
}

int writer_recover(struct tape_writer *w, struct err *err)
{
	struct segment_file *list;
	size_t count;
	int rc = segment_list(w->path, &list, &count, NULL);

	w->next_chunk_id = 1;
	w->extent_id = 1;
	w->is_new = rc || !count;
	if (rc)
		return 0; /* an empty directory: tape_writer_open has looked that nothing else is there */
	segment_sweep(w->path);
	for (size_t i = 0; i < count && !rc; i++)
		rc = recover_segment(w, &list[i], i + 1 == count, err);
	if (!rc && w->segment && !w->group.base)
		rc = err_set(err, ERR_CORRUPT,
			"tape '%s' cannot be gone on with: segment %u builds upon one that is missing",
			w->path, w->segment);
	if (!rc && count)
		writer_group_measure(w, &list[count - 1]);
	segment_list_free(list, count);
	return rc;
}
