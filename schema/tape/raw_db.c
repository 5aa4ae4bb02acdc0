/* raw_db.c: see raw_db.h. */
#include "schema/tape/raw_db.h"

#include "schema/base/limits.h"
#include "schema/base/regular_file.h"
#include "schema/tape/event.h"
#include "schema/tape/pack.h"
#include "schema/tape/raw_seal.h"
#include "schema/tape/raw_wal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE               FORMAT_PAGE_BYTES /* the largest */
#define LEAF               0x0d
#define INTERIOR           0x05
#define MAX_DEPTH          20
#define HEADER_BYTES       100 /* of the file, on page 1 */
#define HEADER_PAGE_BYTES  16
#define HEADER_VERSION     60
#define HEADER_APPLICATION 68
#define MIN_CELL_BYTES     6 /* of a leaf, with its pointer */

/* Of a table. */
struct trouble {
	bool broken; /* the way to some of its pages is lost; they may be found all the same */
	bool hidden; /* rows cannot be read, or not be trusted */
};

struct raw_db {
	char *path;
	int fd; /* -1 while at rest */
	uint32_t pages;
	size_t page_bytes;
	struct raw_wal *wal;   /* NULL for a sealed segment */
	struct raw_seal *seal; /* NULL when nobody knows which pages are as they were sealed */
	uint8_t *visited;
	bool has_dark_page; /* no tree led there, and what it is cannot be told */
	/* Each overflow page is one row's: what would be read more often than that is no database. */
	uint64_t overflow_left;
	struct trouble trouble[TABLE_COUNT];
	uint8_t page[PAGE];
	struct buf payload;
	int (*each)(void *context, const struct raw_row *row);
	void *context;
};

static uint32_t u16_at(const uint8_t *at)
{
	return (uint32_t)at[0] << 8 | at[1];
}

static uint32_t u32_at(const uint8_t *at)
{
	return u16_at(at) << 16 | u16_at(at + 2);
}

/* Pages of damaged frames of the log stand after the others, so that what is on them has a place too. */
static bool read_page(const struct raw_db *db, uint32_t number, uint8_t to[PAGE])
{
	if (number > db->pages)
		return db->wal && raw_wal_damaged_page(db->wal, number - db->pages - 1, to);
	if (number < 1)
		return false;
	if (db->wal && raw_wal_page(db->wal, number, to))
		return true;
	if (pread(db->fd, to, db->page_bytes, (off_t)((number - 1) * db->page_bytes)) !=
		(ssize_t)db->page_bytes)
		return false;
	if (db->seal)
		raw_seal_mend(db->seal, number, to);
	return true;
}

static bool is_bad(const struct raw_db *db, uint32_t number)
{
	if (db->wal)
		return number > db->pages || raw_wal_is_stale(db->wal, number);
	return db->seal && raw_seal_is_bad(db->seal, number);
}

/* SQLite's varint: big-endian, at most nine bytes, the ninth whole. 0 bytes when it does not end. */
static size_t get_varint(const uint8_t *at, const uint8_t *end, uint64_t *ret)
{
	uint64_t value = 0;

	for (size_t n = 0; n < 9 && at + n < end; n++) {
		if (n == 8) {
			*ret = value << 8 | at[n];
			return 9;
		}
		value = value << 7 | (at[n] & 0x7f);
		if (!(at[n] & 0x80)) {
			*ret = value;
			return n + 1;
		}
	}
	return 0;
}

/* ---- records ---- */

static size_t bytes_of_type(uint64_t type)
{
	static const uint8_t fixed[] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0};

	return type < 10 ? fixed[type] : type < 12 ? 0 : (size_t)((type - 12) / 2);
}

static struct value value_of(uint64_t type, const uint8_t *at)
{
	size_t len = bytes_of_type(type);
	int64_t number = 0;

	if (type == 0 || type == 7 || type == 10 || type == 11) /* no table of ours has real numbers */
		return value_text(NULL);
	if (type == 8 || type == 9)
		return value_integer((int64_t)type - 8);
	if (type >= 12)
		return type % 2 ? value_slice((struct slice){(const char *)at, len})
				: value_blob((struct slice){(const char *)at, len});
	number = at[0] & 0x80 ? -1 : 0;
	for (size_t i = 0; i < len; i++)
		number = (int64_t)((uint64_t)number << 8 | at[i]);
	return value_integer(number);
}

static bool parse_record(struct slice payload, struct raw_row *row)
{
	const uint8_t *begin = (const uint8_t *)payload.ptr, *end = begin + payload.len, *type_at, *at;
	uint64_t header_bytes;
	size_t n = payload.len ? get_varint(begin, end, &header_bytes) : 0;

	if (!n || header_bytes < n || header_bytes > payload.len)
		return false;
	type_at = begin + n;
	at = begin + header_bytes;
	for (row->column_count = 0; type_at < begin + header_bytes; row->column_count++) {
		uint64_t type;

		n = get_varint(type_at, begin + header_bytes, &type);
		if (!n || row->column_count == RAW_COLUMNS_MAX || bytes_of_type(type) > (size_t)(end - at))
			return false;
		row->values[row->column_count] = value_of(type, at);
		type_at += n;
		at += bytes_of_type(type);
	}
	return true;
}

/* Follows a chain of overflow pages. Each holds the number of the next, and bytes. */
static bool read_overflow(struct raw_db *db, uint32_t number, size_t left, bool *intact)
{
	uint8_t page[PAGE];

	while (left > 0) {
		size_t room = db->page_bytes - 4, take = left < room ? left : room;

		if (!db->overflow_left || !read_page(db, number, page) ||
			buf_append(&db->payload, page + 4, take, NULL))
			return false;
		db->overflow_left--;
		*intact = *intact && !is_bad(db, number);
		number = u32_at(page);
		left -= take;
	}
	return true;
}

/* How much of a payload of a table's leaf stays on its page; the numbers are those of SQLite's file format.
 */
static size_t local_bytes(const struct raw_db *db, uint64_t payload)
{
	size_t most = db->page_bytes - 35, least = (db->page_bytes - 12) * 32 / 255 - 23, local;

	if (payload <= most)
		return (size_t)payload;
	local = least + (size_t)((payload - least) % (db->page_bytes - 4));
	return local <= most ? local : least;
}

/* Where the page's own header is: after the file's on page 1. */
static const uint8_t *header_of(const uint8_t page[PAGE], uint32_t number)
{
	return page + (number == 1 ? HEADER_BYTES : 0);
}

static bool read_cell(
	struct raw_db *db, const uint8_t page[PAGE], uint32_t number, uint16_t cell, struct raw_row *row)
{
	const uint8_t *header = header_of(page, number), *end = page + db->page_bytes, *at;
	const uint8_t *pointer = header + 8 + 2 * (size_t)cell;
	uint64_t payload, id;
	size_t n, local;

	if (header[0] != LEAF || cell >= u16_at(header + 3) || pointer + 2 > end)
		return false;
	at = page + u16_at(pointer);
	n = at < end ? get_varint(at, end, &payload) : 0;
	if (!n || payload > LIMIT_STORED_BYTES)
		return false;
	at += n;
	n = get_varint(at, end, &id);
	at += n;
	local = local_bytes(db, payload);
	if (!n || local + (payload > local ? 4 : 0) > (size_t)(end - at))
		return false;
	buf_clear(&db->payload);
	row->id = (int64_t)id;
	row->place = (struct raw_place){number, cell};
	/* What an older form of an open segment's page says was once true, but not where it points to. */
	row->intact = !is_bad(db, number) || (db->wal && number <= db->pages && payload == local);
	if (buf_append(&db->payload, at, local, NULL) ||
		(payload > local && !read_overflow(db, u32_at(at + local), payload - local, &row->intact)))
		return false;
	return parse_record(buf_slice(&db->payload), row);
}

/* ---- which table ---- */

static bool is_text(const struct raw_row *row, int column, const char *const *words)
{
	const struct value *v = &row->values[column];

	for (; v->kind == VALUE_TEXT && *words; words++) {
		if (slice_is(v->bytes, *words))
			return true;
	}
	return false;
}

static bool is_block_kind(const struct value *v)
{
	enum block_kind kind;

	return v->kind == VALUE_TEXT && block_kind_find(v->bytes, &kind);
}

static bool is_mark_kind(const struct value *v)
{
	enum mark_kind kind;

	return v->kind == VALUE_TEXT && mark_kind_parse(v->bytes, &kind);
}

/* A row found by itself tells by its columns whose it is. */
static bool guess_table(const struct raw_row *row, enum table *ret)
{
	static const char *const extent_kinds[] = {"events", "state", NULL};

	for (int i = 0; i < TABLE_COUNT; i++) {
		bool fits = row->column_count == table_formats[i].column_count;

		/* An INTEGER PRIMARY KEY stands in the record as NULL; not so in the schema's own rows. */
		fits = fits && row->values[0].kind == (i == TABLE_META ? VALUE_TEXT : VALUE_NULL);
		if (i == TABLE_BLOCK && fits)
			fits = is_block_kind(&row->values[1]) && row->values[5].kind == VALUE_BLOB;
		if (i == TABLE_RESOURCE && fits)
			fits = row->values[2].kind == VALUE_TEXT && row->values[5].kind == VALUE_INTEGER;
		if (i == TABLE_MARK && fits)
			fits = is_mark_kind(&row->values[3]);
		if (i == TABLE_CHUNK && fits)
			fits = row->values[7].kind == VALUE_BLOB;
		if (i == TABLE_EXTENT && fits)
			fits = is_text(row, 1, extent_kinds);
		if (i == TABLE_CLOCK && fits)
			fits = row->values[3].kind == VALUE_INTEGER;
		if (i == TABLE_EPOCH && fits)
			fits = row->values[3].kind != VALUE_INTEGER;
		if (fits) {
			*ret = (enum table)i;
			return true;
		}
	}
	return false;
}

static bool complete_row(struct raw_row *row, enum table table)
{
	if (row->column_count != table_formats[table].column_count)
		return false;
	row->table = table;
	if (table != TABLE_META)
		row->values[0] = value_integer(row->id);
	return true;
}

/* ---- walking ---- */

static int give_leaf(struct raw_db *db, uint32_t number, const enum table *table)
{
	uint8_t page[PAGE];
	uint32_t cells;
	int stop = 0;

	memcpy(page, db->page, PAGE);
	cells = u16_at(header_of(page, number) + 3);
	for (uint32_t cell = 0; cell < cells && !stop && MIN_CELL_BYTES * cell < db->page_bytes; cell++) {
		struct raw_row row = {0};
		enum table own;

		if (!read_cell(db, page, number, (uint16_t)cell, &row)) {
			if (table)
				db->trouble[*table].hidden = true;
			else
				db->has_dark_page = true;
			continue;
		}
		if (table && !row.intact && *table < TABLE_CHUNK)
			db->trouble[*table].hidden = true;
		if (!table && !guess_table(&row, &own))
			continue;
		if (complete_row(&row, table ? *table : own))
			stop = db->each(db->context, &row);
		else if (table)
			db->trouble[*table].hidden = true;
	}
	return stop;
}

static int walk_tree(struct raw_db *db, uint32_t number, enum table table, int depth);

static int walk_children(struct raw_db *db, uint32_t number, enum table table, int depth)
{
	uint8_t page[PAGE];
	const uint8_t *header;
	uint32_t cells;
	int stop = 0;

	memcpy(page, db->page, PAGE);
	header = header_of(page, number);
	cells = u16_at(header + 3);
	for (uint32_t cell = 0; cell < cells && !stop; cell++) {
		const uint8_t *pointer = header + 12 + 2 * (size_t)cell;
		uint32_t at = pointer + 2 <= page + db->page_bytes ? u16_at(pointer) : PAGE;

		if (at + 4 > db->page_bytes) {
			db->trouble[table].broken = true;
			break;
		}
		stop = walk_tree(db, u32_at(page + at), table, depth + 1);
	}
	return stop ? stop : walk_tree(db, u32_at(header + 8), table, depth + 1);
}

/* A page is walked once, so that damaged ones cannot lead in circles. */
static int walk_tree(struct raw_db *db, uint32_t number, enum table table, int depth)
{
	uint8_t kind;

	if (depth > MAX_DEPTH || number > db->pages || !read_page(db, number, db->page) ||
		db->visited[number - 1]) {
		db->trouble[table].broken = true;
		return 0;
	}
	db->visited[number - 1] = 1;
	kind = header_of(db->page, number)[0];
	if (is_bad(db, number) || (kind != LEAF && kind != INTERIOR))
		db->trouble[table].broken = true;
	if (kind != INTERIOR && is_bad(db, number))
		db->trouble[table].hidden = true;
	if (kind != LEAF && kind != INTERIOR)
		db->has_dark_page = true;
	if (kind == LEAF)
		return give_leaf(db, number, &table);
	return kind == INTERIOR ? walk_children(db, number, table, depth) : 0;
}

struct roots {
	uint32_t page[TABLE_COUNT];
};

/* Rows of the schema: type, name, tbl_name, rootpage, sql. */
static void note_root(struct roots *roots, const struct raw_row *row)
{
	static const char *const type[] = {"table", NULL};

	if (row->column_count != 5 || !is_text(row, 0, type) || row->values[1].kind != VALUE_TEXT ||
		row->values[3].kind != VALUE_INTEGER)
		return;
	for (int i = 0; i < TABLE_COUNT; i++) {
		if (slice_is(row->values[1].bytes, table_formats[i].name))
			roots->page[i] = (uint32_t)row->values[3].integer;
	}
}

/* A segment's schema is too large for page 1, so that its rows are on leaves below it. */
static void read_roots(struct raw_db *db, uint32_t number, struct roots *roots, int depth)
{
	uint8_t page[PAGE];
	const uint8_t *header;

	if (depth > 2 || number < 1 || number > db->pages || db->visited[number - 1] ||
		!read_page(db, number, page))
		return;
	header = header_of(page, number);
	db->visited[number - 1] = 1;
	for (uint32_t cell = 0; cell < u16_at(header + 3) && MIN_CELL_BYTES * cell < db->page_bytes; cell++) {
		const uint8_t *pointer = header + 12 + 2 * (size_t)cell;
		struct raw_row row = {0};

		if (header[0] == LEAF && read_cell(db, page, number, (uint16_t)cell, &row))
			note_root(roots, &row);
		if (header[0] == INTERIOR && pointer + 2 <= page + db->page_bytes &&
			u16_at(pointer) + 4 <= db->page_bytes)
			read_roots(db, u32_at(page + u16_at(pointer)), roots, depth + 1);
	}
	if (header[0] == INTERIOR)
		read_roots(db, u32_at(header + 8), roots, depth + 1);
}

/* The next page that is not in a hole of the file. */
static uint32_t next_page(const struct raw_db *db, uint32_t number)
{
	uint64_t data = regular_file_next_data(db->fd, (uint64_t)number * db->page_bytes);
	uint64_t page = data / db->page_bytes + 1;

	if (db->wal || page <= number + 1)
		return number + 1;
	return page > db->pages ? db->pages + 1 : (uint32_t)page;
}

/* Leaves that no tree led to. A page that is as it was sealed and no leaf holds no rows. */
static int walk_strays(struct raw_db *db)
{
	uint32_t damaged = db->wal ? raw_wal_damaged_count(db->wal) : 0;
	int stop = 0;

	if (!db->pages)
		db->has_dark_page = true;
	for (uint32_t number = 1, next; number <= db->pages + damaged && !stop; number = next) {
		bool visited = number <= db->pages && db->visited[number - 1];

		next = next_page(db, number);
		if (next > number + 1)
			db->has_dark_page = true;
		if (visited)
			continue;
		if (!read_page(db, number, db->page) || is_bad(db, number) || (!db->wal && !db->seal))
			db->has_dark_page = true;
		if (read_page(db, number, db->page) && header_of(db->page, number)[0] == LEAF)
			stop = give_leaf(db, number, NULL);
	}
	return stop;
}

int raw_each_row(struct raw_db *db, int (*each)(void *context, const struct raw_row *row), void *context)
{
	struct roots roots = {{0}};
	bool troubled = db->wal && raw_wal_damaged_count(db->wal);
	int stop = 0;

	db->each = each;
	db->context = context;
	memset(db->visited, 0, db->pages);
	db->overflow_left = 4 * (uint64_t)db->pages + 1000;
	read_roots(db, 1, &roots, 0);
	for (int i = 0; i < TABLE_COUNT && !stop; i++) {
		db->trouble[i] = (struct trouble){.broken = !roots.page[i]};
		if (roots.page[i])
			stop = walk_tree(db, roots.page[i], (enum table)i, 0);
		troubled = troubled || db->trouble[i].broken || db->trouble[i].hidden;
	}
	return stop || !troubled ? stop : walk_strays(db);
}

bool raw_read_row(struct raw_db *db, struct raw_place place, enum table table, struct raw_row *ret)
{
	uint8_t page[PAGE];

	if (db->fd < 0)
		db->fd = regular_file_open(db->path, O_RDONLY, NULL);
	db->overflow_left = db->pages;
	return db->fd >= 0 && read_page(db, place.page, page) &&
	       read_cell(db, page, place.page, place.cell, ret) && complete_row(ret, table);
}

/* ---- opening ---- */

/* One flipped bit away from a version of ours; but the next one is more likely to be what it says. */
static bool is_near_ours(uint32_t version)
{
	for (uint32_t known = 1; known <= FORMAT_VERSION; known++) {
		if (version != FORMAT_VERSION + 1 && __builtin_popcount(version ^ known) <= 1)
			return true;
	}
	return false;
}

/* A later format must not be read as this one. */
static int check_version(const struct raw_db *db, const char *path, struct err *err)
{
	uint8_t page[PAGE];
	uint32_t version;

	if (!read_page(db, 1, page) || u32_at(page + HEADER_APPLICATION) != FORMAT_APPLICATION_ID)
		return 0;
	version = u32_at(page + HEADER_VERSION);
	if (version <= FORMAT_VERSION || (!db->seal && is_near_ours(version)) || is_bad(db, 1))
		return 0;
	return err_set(err, ERR_CORRUPT, "'%s' has format version %u, this program reads 1 to %d", path,
		version, FORMAT_VERSION);
}

/* Without sums to tell, SQLite's header is believed where what it says can be. */
static size_t find_page_bytes(const struct raw_db *db)
{
	uint8_t bytes[2];

	if (db->seal)
		return raw_seal_page_bytes(db->seal);
	if (!db->wal && pread(db->fd, bytes, 2, HEADER_PAGE_BYTES) == 2 &&
		u16_at(bytes) == FORMAT_SMALL_PAGE_BYTES)
		return FORMAT_SMALL_PAGE_BYTES;
	return FORMAT_PAGE_BYTES;
}

int raw_open(const char *path, bool sealed, struct raw_db **ret, struct err *err)
{
	struct raw_db *db = xcalloc(1, sizeof(*db));
	uint64_t bytes; /* what is beyond the maximum is not looked at */
	struct stat st;
	int rc;

	db->path = xstrdup(path);
	db->fd = regular_file_open(path, O_RDONLY, err);
	rc = db->fd < 0           ? db->fd
	     : fstat(db->fd, &st) ? err_set_errno(err, errno, "cannot stat '%s'", path)
				  : 0;
	if (rc) {
		raw_close(db);
		return rc;
	}
	bytes = (uint64_t)st.st_size < LIMIT_SEGMENT_BYTES ? (uint64_t)st.st_size : LIMIT_SEGMENT_BYTES;
	buf_init(&db->payload, LIMIT_STORED_BYTES);
	if (!sealed)
		db->wal = raw_wal_open(path);
	if (sealed && bytes == (uint64_t)st.st_size)
		db->seal = raw_seal_open(db->fd, bytes);
	db->page_bytes = find_page_bytes(db);
	db->pages = (uint32_t)(bytes / db->page_bytes);
	if (db->wal && raw_wal_pages(db->wal) > db->pages)
		db->pages = raw_wal_pages(db->wal);
	if (db->seal)
		db->pages = raw_seal_pages(db->seal);
	db->visited = xcalloc(db->pages, 1);
	if (check_version(db, path, err)) {
		raw_close(db);
		return ERR_CORRUPT;
	}
	*ret = db;
	return 0;
}

void raw_close(struct raw_db *db)
{
	if (!db)
		return;
	if (db->fd >= 0)
		close(db->fd);
	raw_wal_close(db->wal);
	buf_release(&db->payload);
	raw_seal_close(db->seal);
	free(db->visited);
	free(db->path);
	free(db);
}

void raw_rest(struct raw_db *db)
{
	if (db->fd >= 0)
		close(db->fd);
	db->fd = -1;
	free(db->visited);
	db->visited = NULL;
	buf_release(&db->payload);
}

bool raw_hides_rows(const struct raw_db *db, enum table table)
{
	return db->trouble[table].hidden || (db->trouble[table].broken && db->has_dark_page);
}

bool raw_end_is_damaged(const struct raw_db *db)
{
	return db->wal && raw_wal_end_is_damaged(db->wal);
}

uint32_t raw_mended_count(const struct raw_db *db)
{
	return db->seal ? raw_seal_mended_count(db->seal) : 0;
}
