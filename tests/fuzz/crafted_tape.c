/* crafted_tape.c: see crafted_tape.h. */
#include "tests/fuzz/crafted_tape.h"

#include "schema/base/count_of.h"
#include "schema/base/limits.h"
#include "schema/tape/codec.h"
#include "schema/tape/format.h"
#include "schema/tape/writer.h"
#include "tests/unit/segment_sums.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

enum { SEALED, OPEN, KILLED, LOG, FILE_COUNT };

static char tape_path[64];
static const char *const file_names[] = {
	"seg-000001.db", "open-000002.db", "open-000002.db", "open-000002.db-wal"};
static struct buf originals[FILE_COUNT];

static void write_events(struct tape_writer *w, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		struct event e = {
			.time_ns = 1700000000000000000 + i, .origin = ORIGIN_WATCH, .stream = 1 + i % 2};
		char object[20000];
		int n = snprintf(object, sizeof(object),
			"{\"metadata\":{\"name\":\"n%u\",\"namespace\":\"a\",\"uid\":\"u%u\",\"resourceVersion\":\"%u\"},"
			"\"spec\":\"%*u\"}",
			i % 5, i % 5, 10 + i, i % 5 == 3 ? 17000 : 10, i);

		e.type = i % 7 == 6 ? EVENT_DELETED : EVENT_MODIFIED;
		fuzz_demand(tape_writer_append(w, &e, (struct slice){object, (size_t)n}, NULL, NULL) == 0);
	}
	fuzz_demand(tape_writer_flush(w, NULL) == 0);
}

static void write_rows(struct tape_writer *w)
{
	struct tape_connection c = {.stream = 1, .purpose = "watch", .target = "/api", .end_reason = "cut"};
	struct tape_mark mark = {
		.stream = 1, .kind = MARK_BOOKMARK, .rv = slice_of("7"), .object = slice_of("{}")};
	struct tape_gap gap = {.stream = 1, .how_ended = "open", .reason = "cut"};
	struct tape_missed missed = {.gap = 1, .change = "deleted", .resource = 1};
	struct tape_document d = {
		.path = "/api", .variant = "", .body = slice_of("{\"kind\":\"APIVersions\"}")};

	fuzz_demand(tape_writer_begin_connection(w, &c, NULL) == 0 &&
		    tape_writer_end_connection(w, &c, NULL) == 0);
	fuzz_demand(tape_writer_mark(w, &mark, NULL) == 0 && tape_writer_gap(w, &gap, NULL) == 0);
	fuzz_demand(tape_writer_missed(w, &missed, NULL) == 0 && tape_writer_document(w, &d, NULL) == 0);
}

static void register_streams(struct tape_writer *w)
{
	for (unsigned i = 0; i < 2; i++) {
		char empty[] = "", group[] = "", version[] = "v1", name[2] = {(char)('p' + i), 0};
		struct tape_resource r = {
			.apigroup = group, .version = version, .resource = name, .kind = name};
		struct tape_stream s = {.namespace = empty, .label_selector = empty, .field_selector = empty};
		uint32_t id;

		fuzz_demand(tape_writer_resource(w, &r, &s.resource, NULL) == 0);
		fuzz_demand(tape_writer_stream(w, &s, &id, NULL) == 0);
	}
}

void crafted_tape_remove(const char *path)
{
	char command[100];

	snprintf(command, sizeof(command), "rm -rf %s", path);
	if (system(command))
		abort();
}

static void read_file(const char *path, struct buf *to)
{
	int fd = open(path, O_RDONLY);
	ssize_t n;

	buf_init(to, LIMIT_CHUNK_BYTES);
	while ((n = read(fd, buf_reserve(to, 65536), 65536)) > 0)
		to->len += (size_t)n;
	close(fd);
}

static void read_original(int file)
{
	char path[100];

	snprintf(path, sizeof(path), "%s/%s", tape_path, file_names[file]);
	read_file(path, &originals[file]);
	fuzz_demand(originals[file].len >= 4096);
}

static void remove_tape(void)
{
	crafted_tape_remove(tape_path);
}

/* In memory where there is such a place. The log of the open segment goes into its database when the writer
 * lets go of it. */
static void make_originals(void)
{
	struct tape_writer_options options = {.extent_bytes = 30000};
	const char *dir = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
	struct tape_writer *w;

	snprintf(tape_path, sizeof(tape_path), "%s/fuzz-segment-%d.tape", dir, (int)getpid());
	remove_tape();
	fuzz_demand(tape_writer_open(tape_path, &options, &w, NULL) == 0);
	register_streams(w);
	write_rows(w);
	write_events(w, 20);
	tape_writer_rotate(w);
	write_events(w, 20);
	write_rows(w);
	write_events(w, 20);
	write_events(w, 3);
	read_original(KILLED);
	read_original(LOG);
	tape_writer_abandon(w);
	read_original(SEALED);
	read_original(OPEN);
	atexit(remove_tape);
}

static void restore(int which, const struct buf *bytes)
{
	char path[100];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", tape_path, file_names[which]);
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	fuzz_demand(fd >= 0 && write(fd, bytes->ptr, bytes->len) == (ssize_t)bytes->len);
	close(fd);
}

static void remove_beside(void)
{
	char path[100];

	snprintf(path, sizeof(path), "%s/%s", tape_path, file_names[LOG]);
	unlink(path);
	snprintf(path, sizeof(path), "%s/open-000002.db-shm", tape_path);
	unlink(path);
}

/* All files, the chosen one changed. */
static void put_files(int which, const struct buf *changed)
{
	bool killed = which >= KILLED;

	remove_beside();
	restore(SEALED, which == SEALED ? changed : &originals[SEALED]);
	if (!killed)
		restore(OPEN, which == OPEN ? changed : &originals[OPEN]);
	if (killed)
		restore(KILLED, which == KILLED ? changed : &originals[KILLED]);
	if (killed)
		restore(LOG, which == LOG ? changed : &originals[LOG]);
}

static void change_bytes(struct buf *file, const uint8_t *at, size_t len)
{
	for (; len >= 4; at += 4, len -= 4) {
		size_t offset = (size_t)at[0] | (size_t)at[1] << 8 | (size_t)at[2] << 16;

		file->ptr[offset % file->len] = (char)(file->ptr[offset % file->len] ^ at[3]);
	}
}

/* "c1" to "cN" are not the columns' names: they are taken from the table. */
static char *column_name(sqlite3 *db, enum table table, unsigned column)
{
	char *sql = sqlite3_mprintf("SELECT name FROM pragma_table_info('%q') WHERE cid = %u",
		table_formats[table].name, column % (unsigned)table_formats[table].column_count);
	sqlite3_stmt *row = NULL;
	char *name = NULL;

	if (sqlite3_prepare_v2(db, sql, -1, &row, NULL) == SQLITE_OK && sqlite3_step(row) == SQLITE_ROW)
		name = sqlite3_mprintf("%s", sqlite3_column_text(row, 0));
	sqlite3_finalize(row);
	sqlite3_free(sql);
	return name;
}

static void bind_value(sqlite3_stmt *update, unsigned kind, int32_t value)
{
	static const int64_t odd[] = {0, 1, -1, INT64_MAX, INT64_MIN, INT64_C(1) << 32, 1 << 24};

	switch (kind % 6) {
	case 0: sqlite3_bind_null(update, 1); break;
	case 1: sqlite3_bind_int64(update, 1, value); break;
	case 2: sqlite3_bind_int64(update, 1, odd[(uint32_t)value % (COUNT_OF(odd))]); break;
	case 3: sqlite3_bind_zeroblob(update, 1, value & 0xffff); break;
	case 4: sqlite3_bind_text(update, 1, (char *)&value, 4, SQLITE_TRANSIENT); break;
	default: sqlite3_bind_double(update, 1, value * 1e10);
	}
}

static void change_column(sqlite3 *db, const uint8_t change[8])
{
	enum table table = (enum table)(change[0] % TABLE_COUNT);
	char *column = column_name(db, table, change[1]), *sql;
	sqlite3_stmt *update = NULL;
	int32_t value;

	memcpy(&value, change + 4, sizeof(value));
	if (!column)
		return;
	sql = sqlite3_mprintf(
		"UPDATE \"%w\" SET \"%w\" = ?1 WHERE rowid = (SELECT rowid FROM \"%w\" LIMIT 1 OFFSET %u)",
		table_formats[table].name, column, table_formats[table].name, change[2] % 8u);
	if (sqlite3_prepare_v2(db, sql, -1, &update, NULL) == SQLITE_OK) {
		bind_value(update, change[3], value);
		sqlite3_step(update);
	}
	sqlite3_finalize(update);
	sqlite3_free(sql);
	sqlite3_free(column);
}

static void change_columns(int which, const uint8_t *at, size_t len)
{
	char path[100];
	sqlite3 *db;

	snprintf(path, sizeof(path), "%s/%s", tape_path, file_names[which]);
	fuzz_demand(sqlite3_open(path, &db) == SQLITE_OK);
	segment_sums_register(db);
	sqlite3_exec(db, "PRAGMA synchronous = OFF; PRAGMA secure_delete = OFF", NULL, NULL, NULL);
	for (; len >= 8; at += 8, len -= 8)
		change_column(db, at);
	sqlite3_exec(db,
		"UPDATE chunk SET xxh64 = chunk_sum(id, extent, first_seq, events, first_time_ns, raw_bytes, data);"
		"UPDATE block SET xxh64 = xxh64(data);"
		"UPDATE document SET xxh64 = xxh64(body);"
		"UPDATE extent SET index_xxh64 = xxh64(\"index\"), filter_xxh64 = xxh64(filter)",
		NULL, NULL, NULL);
	sqlite3_close(db);
}

static int chosen_file(uint8_t byte)
{
	return byte & 2 ? (byte & 4 ? LOG : KILLED) : byte & 1 ? OPEN : SEALED;
}

const char *crafted_tape(const uint8_t *bytes, size_t len)
{
	struct buf changed;
	int which;

	if (!originals[0].len)
		make_originals();
	fuzz_demand(len >= 2);
	which = chosen_file(bytes[0]);
	buf_init(&changed, LIMIT_CHUNK_BYTES);
	fuzz_demand(buf_append(&changed, originals[which].ptr, originals[which].len, NULL) == 0);
	if (!(bytes[1] & 1))
		change_bytes(&changed, bytes + 2, len - 2);
	if (bytes[1] & 4 && len >= 5)
		changed.len =
			((size_t)bytes[2] | (size_t)bytes[3] << 8 | (size_t)bytes[4] << 16) % changed.len;
	put_files(which, &changed);
	if (bytes[1] & 1 && which != LOG)
		change_columns(which, bytes + 2, len - 2);
	buf_release(&changed);
	return tape_path;
}

uint64_t crafted_tape_hash(void)
{
	uint64_t hash = 0;

	for (int i = 0; i < FILE_COUNT; i++) {
		char path[100];
		struct buf bytes;

		snprintf(path, sizeof(path), "%s/%s", tape_path, file_names[i]);
		if (access(path, F_OK))
			continue;
		read_file(path, &bytes);
		if (bytes.len)
			hash = hash * 31 + codec_hash(buf_slice(&bytes));
		buf_release(&bytes);
	}
	return hash;
}
