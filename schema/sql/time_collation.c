/* time_collation.c: see time_collation.h. */
#include "schema/sql/time_collation.h"

#include "schema/sql/sqlite_api.h"

/* The form that our own columns have: 2026-11-21T08:44:17.123456789Z. Such texts sort bytewise. */
#define CANONICAL_LENGTH 30

static bool is_canonical(struct slice text)
{
	static const char form[] = "0000-00-00T00:00:00.000000000Z";

	if (text.len != CANONICAL_LENGTH)
		return false;
	for (size_t i = 0; i < CANONICAL_LENGTH; i++) {
		bool is_digit = text.ptr[i] >= '0' && text.ptr[i] <= '9';

		if (form[i] == '0' ? !is_digit : text.ptr[i] != form[i])
			return false;
	}
	return true;
}

/* ---- reading ---- */

static bool is_one_day(const struct moment_frame *f)
{
	const struct moment midnight = {MOMENT_TIME_OF_DAY, 0};
	struct moment_frame first = {0, f->first_ns, f->first_ns}, last = {0, f->last_ns, f->last_ns};

	return moment_resolve(&midnight, &first, NULL) == moment_resolve(&midnight, &last, NULL);
}

int time_reader_read(const struct time_reader *r, struct slice text, int64_t *ret_ns, struct err *err)
{
	struct moment m;
	uint64_t days;
	int64_t ns;
	int rc = moment_parse(text, &m, err);

	if (rc)
		return rc;
	ns = moment_resolve(&m, &r->frame, &days);
	if (m.form != MOMENT_ABSOLUTE && m.form != MOMENT_NOW && r->tape_count != 1)
		return err_set(err, ERR_USAGE, "bad time '%.*s': it needs a date where %s", (int)text.len,
			text.ptr, r->tape_count ? "several tapes are open" : "no tape is open");
	if (days > 1 || (days == 0 && !is_one_day(&r->frame)))
		return err_set(err, ERR_USAGE, "bad time '%.*s': it needs a date: the tape has several days",
			(int)text.len, text.ptr);
	*ret_ns = ns;
	return 0;
}

int time_reader_failure(struct time_reader *r, struct err *err)
{
	struct err wrong = r->wrong;

	r->wrong.code = 0;
	return wrong.code ? err_copy(err, &wrong) : 0;
}

/* ---- comparing ---- */

/* Where nobody asks for the error in the end, because no table is read any more, SQLite is told to stop. */
static void time_collation_complain(struct time_reader *r, const struct err *wrong)
{
	if (r->wrong.code)
		sqlite3_interrupt(r->db);
	else
		r->wrong = *wrong;
}

static bool read_time(struct time_reader *r, struct slice text, int64_t *ret_ns)
{
	struct err wrong;

	if (time_reader_read(r, text, ret_ns, &wrong) == 0)
		return true;
	time_collation_complain(r, &wrong);
	return false;
}

/* What is no time comes after the times, bytewise. */
static int time_collation_compare(
	void *context, int a_len, const void *a_bytes, int b_len, const void *b_bytes)
{
	struct slice a = {a_bytes, (size_t)a_len}, b = {b_bytes, (size_t)b_len};
	int64_t a_ns = 0, b_ns = 0;
	bool a_is_time, b_is_time;

	if (is_canonical(a) && is_canonical(b))
		return memcmp(a.ptr, b.ptr, CANONICAL_LENGTH);
	a_is_time = read_time(context, a, &a_ns);
	b_is_time = read_time(context, b, &b_ns);
	if (a_is_time && b_is_time)
		return (a_ns > b_ns) - (a_ns < b_ns);
	if (a_is_time != b_is_time)
		return a_is_time ? -1 : 1;
	return slice_compare(a, b);
}

int time_collation_register(sqlite3 *db, const char *name, struct time_reader *r)
{
	r->db = db;
	return sqlite3_create_collation_v2(db, name, SQLITE_UTF8, r, time_collation_compare, NULL);
}
