/* house.c: see house.h. */
#include "recorder/push/house_internal.h"

#include "schema/base/clock.h"
#include "schema/base/count_of.h"
#include "schema/base/limits.h"

#include <stdio.h>
#include <stdlib.h>

#define SAID_BYTES 80 /* of what is told of a strange answer */

int house_open(const struct house_options *options, struct house **ret, struct err *err)
{
	struct house *h = xcalloc(1, sizeof(*h));
	int rc = clickhouse_open(options->url, options->store, &h->server, err);

	if (rc) {
		free(h);
		return rc;
	}
	h->options = *options;
	buf_init(&h->rows, HOUSE_BLOCK_BYTES + 2 * (size_t)LIMIT_OBJECT_BYTES);
	*ret = h;
	return 0;
}

void house_close(struct house *h)
{
	if (!h)
		return;
	clickhouse_close(h->server);
	buf_release(&h->rows);
	free(h);
}

const char *house_url(const struct house *h)
{
	return clickhouse_url(h->server);
}

uint64_t house_attempt(void)
{
	return (uint64_t)clock_wall_ns(&clock_system);
}

/* "cluster = '...' AND tape = '...'" */
static int put_where(const struct house *h, struct buf *sql, struct err *err)
{
	int rc = buf_printf(sql, err, "cluster = ");

	rc = rc ? rc : clickhouse_quote(h->options.cluster, sql, err);
	rc = rc ? rc : buf_printf(sql, err, " AND tape = ");
	return rc ? rc : clickhouse_quote(h->options.tape_id, sql, err);
}

/* The names of the columns: "segment\tbytes\tdigest" of "segment, bytes, digest FROM segments". The caller frees. */
static char *names_of(const char *what)
{
	char *names = slice_dup((struct slice){what, (size_t)(strstr(what, " FROM ") - what)}), *to = names;

	for (const char *from = names; *from; from++) {
		if (*from == ',')
			*to++ = '\t';
		else if (*from != ' ')
			*to++ = *from;
	}
	*to = '\0';
	return names;
}

/* The names of the columns, and lines that begin with a number. An answer that fails late begins like one that succeeds, and a proxy
 * may have answered: neither says that nothing is there. */
static int check_answer(const struct house *h, const char *what, struct slice *answer, struct err *err)
{
	char *names = names_of(what);
	struct slice rest = *answer, line = slice_cut(&rest, '\n');
	bool is_whole = slice_is(line, names) && rest.ptr && (!rest.len || rest.ptr[rest.len - 1] == '\n');

	*answer = rest;
	while (is_whole && rest.len) {
		line = slice_cut(&rest, '\n');
		is_whole = line.len && *line.ptr >= '0' && *line.ptr <= '9';
	}
	free(names);
	return is_whole ? 0
			: err_set(err, ERR_FAILED,
				  "'%s' answered a question with something that is no table of %s: '%.*s'",
				  house_url(h), what, line.len < SAID_BYTES ? (int)line.len : SAID_BYTES,
				  line.ptr ? line.ptr : "");
}

int house_select(struct house *h, const char *what, const char *rest, struct buf *to, struct slice *ret,
	struct err *err)
{
	struct buf sql;
	int rc;

	buf_init(&sql, LIMIT_NAME_BYTES * 4);
	rc = buf_printf(&sql, err, "SELECT %s WHERE ", what);
	rc = rc ? rc : put_where(h, &sql, err);
	rc = rc ? rc : buf_printf(&sql, err, "%s FORMAT TabSeparatedWithNames", rest);
	rc = rc ? rc : buf_append(&sql, "", 1, err);
	rc = rc ? rc : clickhouse_ask(h->server, sql.ptr, to, err);
	buf_release(&sql);
	*ret = rc ? (struct slice){NULL, 0} : buf_slice(to);
	return rc ? rc : check_answer(h, what, ret, err);
}

int house_count(struct house *h, const char *table, const char *more, uint64_t *ret, struct err *err)
{
	char *what = xasprintf("count() FROM %s", table), *number;
	struct slice line;
	struct buf answer;
	int rc;

	buf_init(&answer, LIMIT_NAME_BYTES);
	rc = house_select(h, what, more, &answer, &line, err);
	number = slice_dup(line);
	if (rc == 0 && !line.len)
		rc = err_set(err, ERR_FAILED, "'%s' did not answer how many rows it has", house_url(h));
	*ret = rc ? 0 : strtoull(number, NULL, 10);
	buf_release(&answer);
	free(number);
	free(what);
	return rc;
}

/* ---- the account ---- */

/* A line: number, bytes, digest. */
static void take_line(struct slice line, struct manifest *to)
{
	struct slice number = slice_cut(&line, '\t'), bytes = slice_cut(&line, '\t');
	struct manifest_segment s = {0};
	char text[64];

	if (!line.ptr || number.len >= sizeof(text) || bytes.len >= sizeof(text))
		return;
	snprintf(text, sizeof(text), "%.*s", (int)number.len, number.ptr);
	s.number = (uint32_t)strtoul(text, NULL, 10);
	snprintf(text, sizeof(text), "%.*s", (int)bytes.len, bytes.ptr);
	s.bytes = strtoull(text, NULL, 10);
	snprintf(s.digest, sizeof(s.digest), "%.*s", (int)line.len, line.ptr);
	if (s.number)
		manifest_add(to, &s);
}

/* A table that is gone took rows of all segments with it: they come once more. */
static int check_tables(struct house *h, struct manifest *to, struct err *err)
{
	bool lacks;
	int rc = house_lacks_table(h, &lacks, err);

	if (rc || !lacks)
		return rc;
	for (size_t i = 0; i < to->segment_count; i++)
		to->segments[i].is_off = true;
	return house_make_tables(h, err);
}

int house_read(struct house *h, struct manifest *to, struct err *err)
{
	struct slice rest;
	struct buf answer;
	struct err why;
	int rc;

	buf_init(&answer, LIMIT_DOCUMENT_BYTES);
	rc = house_select(
		h, "segment, bytes, digest FROM segments FINAL", " ORDER BY segment", &answer, &rest, &why);
	if (rc == ERR_NOT_FOUND) {
		buf_release(&answer);
		return house_make_tables(h, err);
	}
	while (!rc && rest.len)
		take_line(slice_cut(&rest, '\n'), to);
	buf_release(&answer);
	if (rc)
		return err_copy(err, &why);
	return to->segment_count ? check_tables(h, to, err) : 0;
}

/* ---- a segment ---- */

/* A server remembers the tokens of rows that somebody removed, and drops those that come again: they come once more, with others. */
static int put_all_rows(struct house *h, const struct manifest_segment *s, bool with_state)
{
	char *of_segment = xasprintf(" AND segment = %u", s->number);
	uint64_t there = 0;
	int rc;

	h->attempt = 0;
	rc = house_put_rows(h, s, with_state);
	rc = rc ? rc : house_count(h, "events", of_segment, &there, h->err);
	free(of_segment);
	if (rc || there >= h->events)
		return rc;
	h->attempt = house_attempt();
	return house_put_rows(h, s, with_state);
}

int house_put(
	struct house *h, const char *path, const struct manifest_segment *s, bool with_state, struct err *err)
{
	int rc = reader_open_sealed(path, s->number, &h->tape, err);

	if (rc)
		return rc;
	h->part = s->number;
	h->err = err;
	rc = put_all_rows(h, s, with_state);
	tape_close(h->tape);
	h->tape = NULL;
	return rc;
}

int house_note(struct house *h, const struct manifest_segment *s, struct err *err)
{
	const uint64_t numbers[] = {s->bytes, s->events, s->first_seq, s->last_seq,
		(uint64_t)s->first_time_ns, (uint64_t)s->last_time_ns, (uint64_t)s->pushed_ns};
	int rc;

	h->part = s->number;
	h->err = err;
	h->attempt = house_attempt();
	rc = house_begin(h, HOUSE_SEGMENTS);
	rc = rc ? rc : house_place(h);
	rc = rc ? rc : house_word(h, s->digest);
	for (size_t i = 0; i < COUNT_OF(numbers) && !rc; i++)
		rc = house_number(h, numbers[i]);
	return rc ? rc : house_send(h);
}
