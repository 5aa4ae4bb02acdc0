/*
 * audit_book.c: see audit_book.h. The file is SQLite in journal mode `delete`: what reads it needs to write
 * nothing, and a crash leaves the last flush.
 */
#include "schema/tape/audit_book_internal.h"

#include "schema/base/count_of.h"
#include "schema/base/limits.h"
#include "schema/base/regular_file.h"
#include "schema/tape/codec.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BOOK_NAME            "audit.sqlite"
#define BOOK_SUFFIX          "-audit"   /* after the name of a tape in one file */
#define BOOK_APPLICATION_ID  0x4b544155 /* "KTAU" */
#define BOOK_VERSION         1
#define BOOK_BUSY_TIMEOUT_MS 5000
#define MAKING_LOOKS         100
#define MAKING_LOOK_NS       20000000

#define ACTOR_TABLE                                                                                          \
	"CREATE TABLE actor(id INTEGER PRIMARY KEY, user TEXT, impersonated_user TEXT, user_agent TEXT, "    \
	"source_ip TEXT, UNIQUE (user, impersonated_user, user_agent, source_ip))"
#define CLAIM_TABLE                                                                                           \
	"CREATE TABLE claim(uid TEXT, rv TEXT, audit_id TEXT, how INTEGER, alone INTEGER, begin_ns INTEGER, " \
	"end_ns INTEGER, verb TEXT, subresource TEXT, actor INTEGER, sum INTEGER, "                           \
	"PRIMARY KEY (uid, rv, audit_id)) WITHOUT ROWID"

static const char *const schema[] = {ACTOR_TABLE, CLAIM_TABLE};

static const char *const statements[BOOK_STATEMENTS] = {
	[FIND_CLAIMS] = CLAIM_ROWS " WHERE uid = ?1 AND rv = ?2",
	[ADD_ACTOR] = "INSERT OR IGNORE INTO actor (user, impersonated_user, user_agent, source_ip) "
		      "VALUES (?1, ?2, ?3, ?4)",
	[FIND_ACTOR] = "SELECT id FROM actor WHERE user = ?1 AND impersonated_user = ?2 AND user_agent = ?3 "
		       "AND source_ip = ?4",
	[ADD_CLAIM] = "INSERT OR IGNORE INTO claim (uid, rv, audit_id, verb, subresource, how, alone, "
		      "begin_ns, end_ns, actor, sum) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11)",
};

char *audit_book_path(const char *tape_path)
{
	size_t len = strlen(tape_path);
	struct stat st;
	bool is_file = stat(tape_path, &st) == 0 ? S_ISREG(st.st_mode) : segment_is_file_name(tape_path);

	if (is_file)
		return xasprintf("%s%s%s", *tape_path == '/' ? "" : "./", tape_path, BOOK_SUFFIX);
	return xasprintf("%s%s%s%s", *tape_path == '/' ? "" : "./", tape_path,
		len && tape_path[len - 1] == '/' ? "" : "/", BOOK_NAME);
}

/* ---- keys ---- */

uint64_t book_key(struct slice uid, struct slice rv)
{
	uint64_t hash = codec_hash_two(uid, rv);

	return hash ? hash : 1;
}

static void key_insert(struct book_keys *s, uint64_t key)
{
	size_t i = key & (s->size - 1);

	while (s->slots[i] && s->slots[i] != key)
		i = (i + 1) & (s->size - 1);
	s->count += !s->slots[i];
	s->slots[i] = key;
}

static void key_add(struct book_keys *s, uint64_t key)
{
	struct book_keys larger = {.size = s->size ? 2 * s->size : 1024};

	if (2 * s->count >= s->size) {
		larger.slots = xcalloc(larger.size, sizeof(*larger.slots));
		for (size_t i = 0; i < s->size; i++) {
			if (s->slots[i])
				key_insert(&larger, s->slots[i]);
		}
		free(s->slots);
		*s = larger;
	}
	key_insert(s, key);
}

bool book_has_key(const struct book_keys *s, uint64_t key)
{
	size_t i = key & (s->size - 1);

	if (!s->size)
		return false;
	while (s->slots[i] && s->slots[i] != key)
		i = (i + 1) & (s->size - 1);
	return s->slots[i] == key;
}

/* ---- rows ---- */

struct slice book_text_at(sqlite3_stmt *row, int column)
{
	const char *text = (const char *)sqlite3_column_text(row, column);

	return (struct slice){text ? text : "", text ? (size_t)sqlite3_column_bytes(row, column) : 0};
}

/* The slices point into the statement, until its next step. */
struct audit_claim book_claim(sqlite3_stmt *row)
{
	return (struct audit_claim){.uid = book_text_at(row, 0),
		.rv = book_text_at(row, 1),
		.audit_id = book_text_at(row, 2),
		.verb = book_text_at(row, 3),
		.subresource = book_text_at(row, 4),
		.user = book_text_at(row, 5),
		.impersonated_user = book_text_at(row, 6),
		.user_agent = book_text_at(row, 7),
		.source_ip = book_text_at(row, 8),
		.how = (enum audit_how)sqlite3_column_int(row, 9),
		.alone = sqlite3_column_int(row, 10) != 0,
		.begin_ns = sqlite3_column_int64(row, 11),
		.end_ns = sqlite3_column_int64(row, 12)};
}

/* Of everything that a claim says, each text with its length. */
static uint64_t claim_sum(const struct audit_claim *c)
{
	const struct slice texts[] = {c->uid, c->rv, c->audit_id, c->verb, c->subresource, c->user,
		c->impersonated_user, c->user_agent, c->source_ip};
	const int64_t numbers[] = {(int64_t)c->how, c->alone, c->begin_ns, c->end_ns};
	uint64_t sum = 0;

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		uint64_t head[2] = {sum, texts[i].len};

		sum = codec_hash_two((struct slice){(const char *)head, sizeof(head)}, texts[i]);
	}
	return codec_hash_two((struct slice){(const char *)&sum, sizeof(sum)},
		(struct slice){(const char *)numbers, sizeof(numbers)});
}

bool book_is_intact(sqlite3_stmt *row, const struct audit_claim *c)
{
	return c->how >= AUDIT_BY_VERSION && c->how <= AUDIT_BY_MOMENT &&
	       (uint64_t)sqlite3_column_int64(row, 13) == claim_sum(c);
}

int book_damaged(const struct audit_book *b, const struct audit_claim *c, struct err *err)
{
	return err_set(err, ERR_CORRUPT, "bad checksum of the claim of request '%.*s' in '%s'",
		(int)c->audit_id.len, c->audit_id.ptr, b->path);
}

void book_bind(sqlite3_stmt *stmt, int index, struct slice text)
{
	sqlite3_bind_text(stmt, index, text.ptr ? text.ptr : "", (int)text.len, SQLITE_STATIC);
}

/* ---- opening ---- */

static bool is_ours(sqlite3_stmt *row)
{
	const char *type = (const char *)sqlite3_column_text(row, 0);
	const char *sql = (const char *)sqlite3_column_text(row, 1);

	if (type && strcmp(type, "index") == 0)
		return !sql;
	for (size_t i = 0; i < COUNT_OF(schema) && sql; i++) {
		if (strcmp(sql, schema[i]) == 0)
			return true;
	}
	return false;
}

/* SQLite runs what a schema says: it must be ours, word for word. */
static int book_check_schema(struct audit_book *b, struct err *err)
{
	sqlite3_stmt *rows;
	int step, tables = 0, rc = segment_prepare(b->db, "SELECT type, sql FROM sqlite_schema", &rows, err);

	if (rc)
		return rc;
	while ((step = sqlite3_step(rows)) == SQLITE_ROW && is_ours(rows))
		tables += sqlite3_column_type(rows, 1) != SQLITE_NULL;
	if (step != SQLITE_DONE && step != SQLITE_ROW)
		rc = segment_failed(b->db, err, "cannot read '%s'", b->path);
	else if (step == SQLITE_ROW || tables != COUNT_OF(schema))
		rc = err_set(err, ERR_CORRUPT, "'%s' does not have the tables of an audit book", b->path);
	sqlite3_finalize(rows);
	return rc;
}

static int book_check(struct audit_book *b, struct err *err)
{
	int64_t id, version;
	int rc;

	if ((rc = segment_number(b->db, "PRAGMA application_id", 0, &id, err)) ||
		(rc = segment_number(b->db, "PRAGMA user_version", 0, &version, err)))
		return rc;
	if (id != BOOK_APPLICATION_ID)
		return err_set(err, ERR_CORRUPT,
			"'%s' is no audit book: application id 0x%llx, expected 0x%x", b->path,
			(unsigned long long)id, BOOK_APPLICATION_ID);
	if (version < 1 || version > BOOK_VERSION)
		return err_set(err, ERR_CORRUPT, "'%s' has version %lld, this program reads 1 to %d", b->path,
			(long long)version, BOOK_VERSION);
	return book_check_schema(b, err);
}

static int book_make(struct audit_book *b, struct err *err)
{
	int rc = segment_exec(b->db, "PRAGMA journal_mode = DELETE; BEGIN IMMEDIATE;", err);
	int64_t tables = 0;

	if (!rc)
		rc = segment_number(b->db, "SELECT count(*) FROM sqlite_schema", 0, &tables, err);
	if (!rc && !tables)
		rc = segment_exec(b->db,
			ACTOR_TABLE ";" CLAIM_TABLE
				    ";PRAGMA application_id = 0x4b544155; PRAGMA user_version = 1;",
			err);
	return rc ? rc : segment_exec(b->db, "COMMIT", err);
}

static int book_read_keys(struct audit_book *b, struct err *err)
{
	sqlite3_stmt *rows;
	int step, rc = segment_number(b->db, "PRAGMA data_version", 0, &b->data_version, err);

	if (!rc)
		rc = segment_prepare(b->db, "SELECT uid, rv FROM claim", &rows, err);
	if (rc)
		return rc;
	while ((step = sqlite3_step(rows)) == SQLITE_ROW)
		key_add(&b->keys, book_key(book_text_at(rows, 0), book_text_at(rows, 1)));
	if (step != SQLITE_DONE)
		rc = segment_failed(b->db, err, "cannot read '%s'", b->path);
	sqlite3_finalize(rows);
	return rc;
}

static int book_prepare(struct audit_book *b, bool for_writing, struct err *err)
{
	int rc = for_writing ? book_make(b, err) : 0;

	if (!rc)
		rc = book_check(b, err);
	for (int i = 0; i < BOOK_STATEMENTS && !rc; i++)
		rc = segment_prepare(b->db, statements[i], &b->statements[i], err);
	return rc ? rc : book_read_keys(b, err);
}

static int book_open(char *path, bool for_writing, struct audit_book **ret, struct err *err)
{
	struct audit_book *b = xcalloc(1, sizeof(*b));
	int rc = regular_file_check(path, err);

	b->path = path;
	buf_init(&b->texts, CLAIMS_MAX * 10 * LIMIT_NAME_BYTES);
	if (!rc && sqlite3_open_v2(path, &b->db,
			   for_writing ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY,
			   NULL) != SQLITE_OK)
		rc = segment_failed(b->db, err, "cannot open '%s'", path);
	if (!rc) {
		sqlite3_busy_timeout(b->db, BOOK_BUSY_TIMEOUT_MS);
		sqlite3_limit(b->db, SQLITE_LIMIT_LENGTH, 1 << 20);
		sqlite3_db_config(b->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
		sqlite3_exec(b->db, "PRAGMA cell_size_check = ON", NULL, NULL, NULL);
		rc = book_prepare(b, for_writing, err);
	}
	if (rc)
		audit_book_close(b);
	else
		*ret = b;
	return rc;
}

/* One that is just being made is empty for a moment. One that stays so is not a book. */
static void await_content(const char *path)
{
	const struct timespec pause = {.tv_nsec = MAKING_LOOK_NS};
	struct stat st;

	for (int i = 0; i < MAKING_LOOKS && stat(path, &st) == 0 && st.st_size == 0; i++)
		nanosleep(&pause, NULL);
}

int audit_book_open(const char *tape_path, struct audit_book **ret, struct err *err)
{
	char *path = audit_book_path(tape_path);

	*ret = NULL;
	if (access(path, F_OK)) {
		free(path);
		return 0;
	}
	await_content(path);
	return book_open(path, false, ret, err);
}

int audit_book_create(const char *tape_path, struct audit_book **ret, struct err *err)
{
	char *path = audit_book_path(tape_path);
	int fd = regular_file_open(path, 0100 | 2, err); /* O_CREAT | O_RDWR: for its owner alone */

	if (fd < 0) {
		free(path);
		return fd;
	}
	close(fd);
	return book_open(path, true, ret, err);
}

void audit_book_close(struct audit_book *b)
{
	if (!b)
		return;
	for (int i = 0; i < BOOK_STATEMENTS; i++)
		sqlite3_finalize(b->statements[i]);
	sqlite3_close(b->db);
	free(b->keys.slots);
	buf_release(&b->texts);
	free(b->path);
	free(b);
}

int audit_book_refresh(struct audit_book *b, struct err *err)
{
	int64_t version;
	int rc = segment_number(b->db, "PRAGMA data_version", 0, &version, err);

	return rc || version == b->data_version ? rc : book_read_keys(b, err);
}

/* ---- writing ---- */

static int book_step(struct audit_book *b, enum book_statement which, struct err *err)
{
	int step = sqlite3_step(b->statements[which]);

	if (step == SQLITE_ROW || step == SQLITE_DONE)
		return 0;
	return segment_failed(b->db, err, "cannot write '%s'", b->path);
}

static int book_begin(struct audit_book *b, struct err *err)
{
	int rc = b->in_transaction ? 0 : segment_exec(b->db, "BEGIN IMMEDIATE", err);

	b->in_transaction = b->in_transaction || !rc;
	return rc;
}

/* What names are cut to. */
static struct slice book_text(struct slice text)
{
	return (struct slice){text.ptr, text.len < LIMIT_NAME_BYTES ? text.len : LIMIT_NAME_BYTES};
}

static int find_actor(struct audit_book *b, const struct audit_claim *c, int64_t *ret, struct err *err)
{
	static const enum book_statement both[] = {ADD_ACTOR, FIND_ACTOR};
	int rc = 0;

	for (size_t i = 0; i < COUNT_OF(both) && !rc; i++) {
		sqlite3_stmt *stmt = b->statements[both[i]];

		book_bind(stmt, 1, c->user);
		book_bind(stmt, 2, c->impersonated_user);
		book_bind(stmt, 3, c->user_agent);
		book_bind(stmt, 4, c->source_ip);
		rc = book_step(b, both[i], err);
		*ret = both[i] == FIND_ACTOR && !rc ? sqlite3_column_int64(stmt, 0) : 0;
		sqlite3_reset(stmt);
	}
	return rc;
}

static int add_claim(struct audit_book *b, const struct audit_claim *c, int64_t actor, struct err *err)
{
	sqlite3_stmt *stmt = b->statements[ADD_CLAIM];
	const struct slice texts[] = {c->uid, c->rv, c->audit_id, c->verb, c->subresource};
	const int64_t numbers[] = {
		(int64_t)c->how, c->alone, c->begin_ns, c->end_ns, actor, (int64_t)claim_sum(c)};
	int rc;

	for (size_t i = 0; i < COUNT_OF(texts); i++)
		book_bind(stmt, (int)i + 1, texts[i]);
	for (size_t i = 0; i < COUNT_OF(numbers); i++)
		sqlite3_bind_int64(stmt, (int)(i + COUNT_OF(texts)) + 1, numbers[i]);
	rc = book_step(b, ADD_CLAIM, err);
	sqlite3_reset(stmt);
	return rc ? rc : sqlite3_changes(b->db) > 0;
}

int audit_book_put(struct audit_book *b, const struct audit_claim *claim, struct err *err)
{
	struct audit_claim c = *claim;
	int64_t actor;
	int rc = book_begin(b, err);

	c.verb = book_text(c.verb);
	c.subresource = book_text(c.subresource);
	c.user = book_text(c.user);
	c.impersonated_user = book_text(c.impersonated_user);
	c.user_agent = book_text(c.user_agent);
	c.source_ip = book_text(c.source_ip);
	if (!rc)
		rc = find_actor(b, &c, &actor, err);
	if (!rc)
		rc = add_claim(b, &c, actor, err);
	if (rc > 0)
		key_add(&b->keys, book_key(c.uid, c.rv));
	return rc;
}

int audit_book_flush(struct audit_book *b, struct err *err)
{
	int rc = b->in_transaction ? segment_exec(b->db, "COMMIT", err) : 0;

	b->in_transaction = b->in_transaction && rc;
	return rc;
}
