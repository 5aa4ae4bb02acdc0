/* sweep_unseen_field.c: whether what differs in fields could be seen. See sweep_unseen_internal.h. */
#include "tools/sweep/sweep_unseen_internal.h"

#include "tools/sweep/sweep_content.h"
#include "tools/sweep/sweep_gathered.h"

#include "schema/base/json_scan.h"

#include <stdlib.h>

#define LONE_TEXT_BYTES 4 /* with its quotes: what is shorter may stand anywhere */

/* The event that was answered by the write which gave a field of that object the value of its end: no later write changed
 * it, nor what it is a part of, nor a part of it. 0: the state at the start was. */
static const char given_sql[] = STEPS
	", field AS (SELECT %Q AS name),"
	" given AS (SELECT max(write), seq FROM steps, field WHERE before IS NULL OR EXISTS (SELECT 1 FROM"
	"  (SELECT json_extract(d.value, '$.field') AS of FROM json_each(jdiff(before, object)) AS d)"
	"  WHERE (substr(name, 1, length(of)) = of AND substr(name, length(of) + 1, 1) IN ('', '.', '['))"
	"   OR (substr(of, 1, length(name)) = name AND substr(of, length(name) + 1, 1) IN ('', '.', '['))))"
	" SELECT coalesce(seq, 0) * (coalesce(seq, 0) > (SELECT CAST(value AS INTEGER) FROM run WHERE name = 'first_seq')) FROM given";

/* The same for an item of a list of plain values: the write that put it in, whatever else was put in later. */
static const char item_sql[] = STEPS
	" SELECT seq FROM steps WHERE instr(object, %Q) AND (before IS NULL OR NOT instr(before, %Q))"
	"  AND seq > (SELECT CAST(value AS INTEGER) FROM run WHERE name = 'first_seq') ORDER BY write DESC LIMIT 1";

/* All events that were answered by writes which gave that field a value, or another one, in the same way: a sum is made of all of
 * them. How many of those that follow lead back to what all other fields were before it, as of a leader that goes and comes again:
 * a program that has not seen the first of these events has nothing to do at the others. Both values. And the next of these events
 * of the same object: from then on, the first one can no longer be told from it. */
static const char summed_sql[] = STEPS
	", field AS (SELECT %Q AS name, %Q AS path, %Q AS resource, %Q AS unsteady),"
	" raised AS MATERIALIZED (SELECT min(write) AS write, seq, before, object FROM steps, field"
	"  WHERE iif(before IS NULL, jget(object, path) IS NOT NULL,"
	"   EXISTS (SELECT 1 FROM json_each(jdiff(before, object)) AS d WHERE json_extract(d.value, '$.field') = name))"
	"  AND seq > (SELECT CAST(value AS INTEGER) FROM run WHERE name = 'first_seq') GROUP BY seq),"
	" beside AS MATERIALIZED (SELECT seq, c.path FROM changes AS c WHERE seq > (SELECT min(seq) FROM raised)"
	"  AND seq <= (SELECT max(seq) FROM raised) AND seq NOT IN (SELECT seq FROM raised)),"
	" undone AS (SELECT a.write AS first, max(b.write) AS last FROM raised AS a JOIN raised AS b ON b.write > a.write, field"
	"  WHERE a.before IS NOT NULL AND NOT EXISTS (SELECT 1 FROM json_each(jdiff(a.before, b.object)) AS d"
	"   WHERE json_extract(d.value, '$.field') <> name AND json_extract(d.value, '$.field') NOT GLOB 'metadata.[rmg]*'"
	"    AND json_extract(d.value, '$.field') NOT GLOB '*observedGeneration'"
	"    AND NOT instr(unsteady, char(10) || resource || json_extract(d.value, '$.field') || char(10))"
	"    AND json_extract(d.value, '$.path') NOT IN"
	"    (SELECT beside.path FROM beside WHERE beside.seq > a.seq AND beside.seq <= b.seq))"
	"  GROUP BY a.write),"
	" causes AS MATERIALIZED (SELECT r.*, apigroup, resource, namespace, name FROM raised AS r JOIN events AS e ON e.seq = r.seq)"
	" SELECT seq, (SELECT count(*) FROM raised AS b JOIN undone ON b.write > first AND b.write <= last WHERE first = a.write),"
	"  jget(before, path), jget(a.object, path), (SELECT coalesce(min(n.seq), %lld) FROM causes AS n WHERE n.seq > a.seq"
	"   AND n.name = a.name AND n.namespace IS a.namespace AND n.resource = a.resource AND n.apigroup = a.apigroup)"
	"  FROM causes AS a, field ORDER BY write";

/* The event that was answered by the write which gave another field of that object the value that the field then took over from it, as
 * a last state does from the present one; and the event that was answered by that. */
static const char taken_over_sql[] = STEPS
	", field AS (SELECT %Q AS name, %Q AS text),"
	" given AS (SELECT max(write) AS write, seq, before FROM steps, field WHERE EXISTS (SELECT 1 FROM json_each(jdiff(before, object)) AS d"
	"  WHERE json_extract(d.value, '$.field') = name) AND write > (SELECT max(write) FROM steps WHERE before IS NULL))"
	" SELECT s.seq, g.seq FROM steps AS s JOIN given AS g ON s.write < g.write AND instr(g.before, text), field"
	"  WHERE instr(s.object, text) AND (s.before IS NULL OR NOT instr(s.before, text)) ORDER BY s.write DESC LIMIT 1";

/* Whether the field may be computed from that sum: the write that gave it its last value changed the sum as well, and before
 * that it had the value in question. */
static const char computed_sql[] = STEPS
	", field AS (SELECT %Q AS name, %Q AS path, json_extract(%Q, '$') AS value, %Q AS sum),"
	" fields AS (SELECT write, json_extract(d.value, '$.field') AS of FROM steps, json_each(jdiff(before, object)) AS d"
	"  WHERE before IS NOT NULL),"
	" given AS (SELECT max(write) AS write FROM fields, field WHERE of = name)"
	" SELECT EXISTS (SELECT 1 FROM fields JOIN given USING (write), field WHERE of = sum)"
	"  AND EXISTS (SELECT 1 FROM steps, given, field WHERE steps.write < given.write AND jget(object, path) IS value)";

/* The fields of one object that differ. */
struct fields {
	struct sql_session *run, *exact;
	const char *key, *tape; /* tape: its version; NULL: all is the program's */
	const char *unsteady;   /* as struct unseen has it */
	int64_t pace_ns;
	struct text_list sums; /* whose difference was not to be seen */
	bool seen;             /* whether the cause of another one was */
	int rc;
	struct err *err;
};

static int find_given(const struct fields *f, const struct json_change *d, uint64_t *ret)
{
	const struct sql_sink sink = {.row = sweep_unseen_on_seq, .context = ret};
	char *name = slice_dup(d->field), *value = slice_dup(d->old_value);
	bool is_item = *value && *name && name[strlen(name) - 1] == ']';
	int rc =
		is_item ? sql_session_run_format(f->exact, &sink, f->err, item_sql, f->key, value, value) : 0;

	if (rc == 0 && !*ret)
		rc = sql_session_run_format(f->exact, &sink, f->err, given_sql, f->key, name);
	free(value);
	free(name);
	return rc;
}

/* How many of the events that a sum is made of were not to be seen, or had nothing to be answered then. */
struct summed {
	const struct fields *of;
	const char *text;
	int64_t unseen, undone;       /* undone: of the next ones */
	struct sweep_gathered *words; /* NULL: it is a number */
};

static int on_summed(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	struct summed *s = context;
	bool seen = false;
	int rc = s->undone ? 0
			   : sweep_was_seen(s->of->run, (uint64_t)v[0].integer, (uint64_t)v[4].integer,
				     s->text, false, s->of->pace_ns, &seen, err);

	(void)count;
	if (s->words)
		sweep_gathered_write(s->words, v[2].bytes, v[3].bytes, rc == 0 && !seen);
	if (rc || seen)
		return rc;
	s->unseen++;
	s->undone = s->undone ? s->undone - 1 : v[1].integer;
	return 0;
}

/* Also in a text, as annotations and ConfigMaps have it. */
static bool is_whole_number(struct slice s, int64_t *ret)
{
	char text[24], *end;

	if (s.len > 2 && *s.ptr == '"')
		s = (struct slice){s.ptr + 1, s.len - 2};
	if (!s.len || s.len >= sizeof(text))
		return false;
	memcpy(text, s.ptr, s.len);
	text[s.len] = '\0';
	*ret = strtoll(text, &end, 10);
	return !*end;
}

/* NULL where no path leads there, as to a name with a quote in it; the caller frees. */
static char *path_of(const struct json_change *d)
{
	char *path = slice_dup(d->path);
	struct slice value;

	if (json_get(slice_of("{}"), path, &value, NULL) >= 0)
		return path;
	free(path);
	return NULL;
}

static bool look_at_raises(struct fields *f, const struct json_change *d, struct summed *ret)
{
	const struct sql_sink sink = {.row = on_summed, .context = ret};
	char *name, *resource, *path = path_of(d);

	if (!path)
		return false;
	name = slice_dup(d->field);
	resource = slice_dup((struct slice){f->key, strcspn(f->key, " ") + 1});
	f->rc = sql_session_run_format(f->exact, &sink, f->err, summed_sql, f->key, name, path, resource,
		f->unsteady, (long long)SWEEP_NO_END);
	free(resource);
	free(name);
	free(path);
	return f->rc == 0 && ret->unseen;
}

/* A number that differs by no more than the number of those events. */
static bool is_number_unseen(struct fields *f, const struct json_change *d, const char *text)
{
	struct summed s = {.of = f, .text = text};
	int64_t without, with;

	return is_whole_number(d->old_value, &without) && is_whole_number(d->new_value, &with) &&
	       with <= without && look_at_raises(f, d, &s) && s.unseen >= without - with;
}

/* A text that lacks what the answers to those events would have put there. */
static bool is_text_unseen(struct fields *f, const struct json_change *d, const char *text)
{
	struct summed s = {.of = f, .text = text};
	bool unseen;

	if (!slice_begins(d->old_value, "\"") || !slice_begins(d->new_value, "\""))
		return false;
	s.words = sweep_gathered_new(d->old_value, d->new_value);
	unseen = look_at_raises(f, d, &s) && sweep_gathered_is_unseen(s.words);
	sweep_gathered_free(s.words);
	return unseen;
}

/* An item that others put in, and the program only took out: no event was to be answered by it. */
static bool is_item_of_tape(const struct fields *f, const struct json_change *d)
{
	bool is_item = d->old_value.len && d->field.len && d->field.ptr[d->field.len - 1] == ']';
	char *value = is_item && f->tape ? slice_dup(d->old_value) : NULL;
	bool is = value && strstr(f->tape, value);

	free(value);
	return is;
}

/* Whether what the field answers to could be seen. */
static bool is_cause_seen(struct fields *f, const struct json_change *d, const char *text)
{
	uint64_t seq = 0;
	bool seen = true;

	if (is_item_of_tape(f, d))
		return true;
	f->rc = find_given(f, d, &seq);
	if (f->rc == 0 && seq)
		f->rc = sweep_was_seen(
			f->run, seq, SWEEP_NO_END, text, !d->old_value.len, f->pace_ns, &seen, f->err);
	return seen;
}

struct source {
	uint64_t seq, end_seq;
};

static int on_source(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	(void)count;
	(void)err;
	*(struct source *)context = (struct source){(uint64_t)v[0].integer, (uint64_t)v[1].integer};
	return 0;
}

/* Whether it could be seen in time what gave the field's value without the fault to that of which the field has it. */
static bool is_source_seen(struct fields *f, const struct json_change *d, const char *text)
{
	struct source from = {0};
	bool seen = true;
	const struct sql_sink sink = {.row = on_source, .context = &from};
	char *name = slice_dup(d->field), *value = slice_dup(d->old_value);

	if (d->old_value.len > LONE_TEXT_BYTES && *value == '"')
		f->rc = sql_session_run_format(f->exact, &sink, f->err, taken_over_sql, f->key, name, value);
	if (f->rc == 0 && from.seq)
		f->rc = sweep_was_seen(
			f->run, from.seq, from.end_seq, text, false, f->pace_ns, &seen, f->err);
	free(value);
	free(name);
	return seen;
}

/* The object and what the field had without the fault; the caller frees. */
static char *text_of(const struct fields *f, const struct json_change *d)
{
	return xasprintf("%s %.*s", f->key, (int)d->old_value.len, d->old_value.ptr ? d->old_value.ptr : "");
}

static bool look_for_sums(void *context, const struct json_change *d)
{
	struct fields *f = context;
	char *name = slice_dup(d->field), *text = text_of(f, d);

	if (is_number_unseen(f, d, text) || is_text_unseen(f, d, text))
		(void)text_list_keep(&f->sums, name);
	free(text);
	free(name);
	return f->rc;
}

/* From one of the sums. */
static bool is_computed(struct fields *f, const char *name, const struct json_change *d)
{
	bool computed = false;
	const struct sql_sink sink = {.row = sweep_unseen_on_truth, .context = &computed};
	char *value = d->new_value.len ? slice_dup(d->new_value) : NULL, *path = path_of(d);

	for (size_t i = 0; i < f->sums.count && path && !computed && f->rc == 0; i++)
		f->rc = sql_session_run_format(
			f->exact, &sink, f->err, computed_sql, f->key, name, path, value, f->sums.items[i]);
	free(path);
	free(value);
	return computed;
}

/* Stops at the first whose cause was to be seen. */
static bool look_at_field(void *context, const struct json_change *d)
{
	struct fields *f = context;
	char *name = slice_dup(d->field), *text = text_of(f, d);

	f->seen = !text_list_has(&f->sums, name) && is_cause_seen(f, d, text) && !is_computed(f, name, d) &&
		  is_source_seen(f, d, text);
	free(text);
	free(name);
	return f->rc || f->seen;
}

/* All that differs in one that both have. */
int sweep_unseen_fields(const struct unseen *u, const struct sweep_effect *without,
	const struct sweep_effect *with, bool *ret, struct err *err)
{
	const struct sweep_effect *const sides[2] = {without, with};
	struct fields f = {.run = u->run,
		.exact = u->exact,
		.key = without->key,
		.tape = without->tape,
		.unsteady = u->unsteady,
		.pace_ns = u->pace_ns,
		.seen = true,
		.err = err};

	if (u->exact && !sweep_content_each(&u->ground->measure, sides, look_for_sums, &f))
		(void)sweep_content_each(&u->ground->measure, sides, look_at_field, &f);
	text_list_release(&f.sums);
	*ret = f.rc == 0 && !f.seen;
	return f.rc;
}
