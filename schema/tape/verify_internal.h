/*
 * verify_internal.h: what verify.c (files and their chain), verify_rows.c (plain tables), verify_extent.c
 * (extents and chunks), verify_blocks.c (objects), verify_log.c and verify_place.c share.
 */
#ifndef SCHEMA_TAPE_VERIFY_INTERNAL_H
#define SCHEMA_TAPE_VERIFY_INTERNAL_H

#include "schema/tape/live_map.h"
#include "schema/tape/registry.h"
#include "schema/tape/seal.h"
#include "schema/tape/segment.h"
#include "schema/tape/verify.h"

struct block_crew;
struct row_places;

struct verifier {
	const struct tape_verify_options *options;
	struct tape_verify_result result;
	const char *path;
	uint64_t done, total; /* for progress */
	bool stopped;
	struct err unfetched; /* why a segment could not be had; then stopped, too */
	struct block_crew *crew;
	struct row_places *places;

	/* The tape so far. */
	struct registry registry;
	char *tape_id;
	uint64_t next_seq;                /* 0: not known */
	char previous[SEAL_DIGEST_BYTES]; /* digest of the segment before */
	bool previous_known, is_first;    /* is_first: no segment before, or none that could be read */
	uint32_t base;        /* the last segment that begins with the whole state; 0: not known */
	struct live_map live; /* after next_seq - 1 */
	bool live_known;
	size_t live_max_bytes;

	/* The segment being looked at. */
	char own[SEAL_DIGEST_BYTES]; /* its digest */
	bool own_known;
	const struct segment_file *file;
	const char *name; /* its name in the directory */
	sqlite3 *db;
	bool is_compact; /* its extents have no filter */
};

/* Reports a damage at a place in the current file. */
void verify_report(struct verifier *v, uint64_t offset, uint64_t length, const char *found,
	const char *expected, const char *format, ...) __attribute__((format(printf, 6, 7)));

/* Reports what is wrong with the current file, or with the tape, at no place in particular. */
void verify_report_file(struct verifier *v, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Reports a damaged row: its page is looked up. */
void verify_report_row(struct verifier *v, const char *table, int64_t id, const char *found,
	const char *expected, const char *format, ...) __attribute__((format(printf, 6, 7)));

/* As verify_report_row, with a checksum. */
void verify_report_sum(struct verifier *v, const char *table, int64_t id, uint64_t found, uint64_t expected,
	const char *what);

/* Counts damages that are not reported. */
void verify_count(struct verifier *v, uint64_t damages);

/* Adds to the progress; true if it has to stop. */
bool verify_advance(struct verifier *v, uint64_t bytes);

/* A statement on the current segment; NULL, and reported, when that fails. */
sqlite3_stmt *verify_prepare(struct verifier *v, const char *sql);
/* The next row: true; false at the end, and when it fails, which is reported. */
bool verify_step(struct verifier *v, sqlite3_stmt *rows);

/* An extent while it is checked. */
struct checked {
	struct verifier *v;
	int64_t id;
	bool is_state, sound; /* sound: nothing found so far */
	struct extent *x;
	uint64_t *hashes;    /* of the objects that matter, by event; of the others 0 */
	uint32_t *by_block;  /* events, block after block, each in layout order */
	uint32_t *block_end; /* of each block in by_block */
	uint32_t block_count;
	uint64_t blocks_found; /* in the table, in order */
};

/* verify_blocks.c: the threads, as many as there are processors; none where there is one. */
struct block_crew *block_crew_new(void);
void block_crew_free(struct block_crew *crew);
/* Decodes every object of c->x and checks it against the index; fills hashes, by_block, block_end. The
 * caller's thread reports the findings, in the order of the blocks. */
void verify_blocks(struct checked *c);

/* verify_extent.c: extents of that kind with their blocks; the hot ones. */
void verify_extents(struct verifier *v, const char *kind);
void verify_chunks(struct verifier *v);

/* verify_rows.c: the other tables. */
void verify_registry(struct verifier *v);
void verify_documents(struct verifier *v);
void verify_rows(struct verifier *v);

/* verify_place.c: the offset of the page on which a row of the current segment begins; UINT64_MAX if it
 * cannot be found, and for all but the first ones that are asked for. */
struct row_places *row_places_new(void);
void row_places_free(struct row_places *p);  /* accepts NULL */
void row_places_reset(struct row_places *p); /* another segment is the current one */
uint64_t row_places_find(struct row_places *p, sqlite3 *db, const char *table, int64_t id);

/* The open segment's log. */
void verify_log(struct verifier *v);

#endif
