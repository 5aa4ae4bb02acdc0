/*
 * segment.h: the SQLite files of a tape: made, opened, listed, sealed.
 *
 *   create --> open-000007.db (WAL, one writer) --seal--> seg-000007.db (one file, read-only, sums after it)
 *
 * Sealing writes a compact copy under a temporary name, puts the sums of its pages after it (seal.h), makes
 * it durable, renames it, and only then removes the open files. A crash in between leaves either the open
 * segment or both; when both are there the sealed one counts.
 */
#ifndef SCHEMA_TAPE_SEGMENT_H
#define SCHEMA_TAPE_SEGMENT_H

#include "schema/base/buf.h"
#include "schema/tape/format.h"

#include <sqlite3.h>

struct segment_file {
	uint32_t number;
	bool sealed;
	char *path;
};

/* The segments in a tape's directory by number, or the single one of a tape in one file; none if a writer was
 * killed before it made the first. ERR_NOT_FOUND if nothing has that name, ERR_CORRUPT if it is not a tape.
 * The caller frees with segment_list_free. */
int segment_list(
	const char *tape_path, struct segment_file **ret, size_t *ret_count, struct err *err) MUST_CHECK;
void segment_list_free(struct segment_file *list, size_t count);

/* Whether a file of that name in a tape's directory is a sealed segment, and which. */
bool segment_is_sealed_name(const char *name, uint32_t *ret_number);

/* Removes every file of a tape but its lock file: for its writer, which made it. */
void segment_remove_files(const char *tape_path);
/* Removes a tape that nobody else can know: its directory and every file in it. */
void segment_remove_all(const char *tape_path);

/* Whether a tape of that name is one file, by the ending of the name. */
bool segment_is_file_name(const char *path);

/* ERR_USAGE if it is: what is written as it comes has to be a folder, of which a crash leaves a tape. */
int segment_refuse_file_name(const char *path, struct err *err) MUST_CHECK;

/* A tape's path in a form that SQLite takes for a path. The caller frees. */
char *segment_tape_path(const char *path);

/* For the tape's writer: removes what a crash left over, temporary files and open
 * forms of sealed segments. */
void segment_sweep(const char *tape_path);

/* A new open segment with all its tables, durable in the directory; or, for a tape that counts only when all
 * of it is sealed, one that never waits for the disk. */
enum segment_durability { SEGMENT_DURABLE, SEGMENT_UNTIL_SEALED };
int segment_create(const char *tape_path, uint32_t number, enum segment_durability durability, sqlite3 **ret,
	struct err *err) MUST_CHECK;

/* Checks that it is a segment of a version we know. Sealed ones open read-only and without locks. */
int segment_open(
	const struct segment_file *file, bool for_writing, sqlite3 **ret, struct err *err) MUST_CHECK;

/* True when retention has taken the segment since the directory was read. */
bool segment_is_gone(const char *tape_path, const struct segment_file *file);

/* The size of a segment's files: its database, and its log while it is open, which may be larger. The second
 * one leaves holes out. */
uint64_t segment_file_bytes(const struct segment_file *file);
uint64_t segment_allocated_bytes(const struct segment_file *file);

/* Lets a new segment build upon an earlier one that has the live objects, instead of having them itself. */
int segment_build_upon(sqlite3 *db, uint32_t base, struct err *err) MUST_CHECK;

/* All extents of the segment are to be compact, with bare packs (FORMAT.md, section 5); after segment_build_upon, if at all. */
int segment_make_compact(sqlite3 *db, struct err *err) MUST_CHECK;
/* The number of the segment that has the live objects for the one of that number: itself, or an earlier one. */
int segment_base(sqlite3 *db, uint32_t number, uint32_t *ret, struct err *err) MUST_CHECK;

/* How many segments at the front of a list build upon one that is missing: a removal that was cut short left
 * them, and they are of no meaning. 0 if all of them do. */
size_t segment_count_orphans(const struct segment_file *list, size_t count);
/* How many segments at the front stand or fall together: one with the live objects, and those that build upon
 * it; or those that build upon a missing one. */
size_t segment_count_group(const struct segment_file *list, size_t count);

/* Closes db and removes an open segment that nothing was put into. */
void segment_discard(const char *tape_path, uint32_t number, sqlite3 *db);

/* Seals and closes db; on failure db stays open and usable. digest_hex gets the digest that the next one
 * names. */
int segment_seal(
	const char *tape_path, uint32_t number, sqlite3 *db, char digest_hex[33], struct err *err) MUST_CHECK;

/* Makes the error of the last call on db, with its place in our code range; returns the code. */
int segment_failed(sqlite3 *db, struct err *err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

int segment_exec(sqlite3 *db, const char *sql, struct err *err) MUST_CHECK;
/* A prepared statement, which the caller finalizes. */
int segment_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret, struct err *err) MUST_CHECK;
/* The first column of the first row as a number, fallback if there is no row or it is NULL. */
int segment_number(sqlite3 *db, const char *sql, int64_t fallback, int64_t *ret, struct err *err) MUST_CHECK;
/* The value of a key in meta as text; NULL if there is none. The caller frees. */
char *segment_meta(sqlite3 *db, const char *key);

/* Makes a directory's entries durable. */
int segment_sync_directory(const char *path, struct err *err) MUST_CHECK;

#endif
