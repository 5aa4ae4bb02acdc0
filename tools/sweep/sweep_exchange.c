/* sweep_exchange.c: see sweep_exchange.h. */
#include "tools/sweep/sweep_exchange.h"

#include "schema/sql/session.h"
#include "tools/sweep/sweep_content.h"

#include <stdlib.h>

#define NEXT_BYTES_MIN 3 /* shorter ones are in any text */

/* A value that one of the two runs left in a field of an object. */
struct given {
	const struct sweep_effect *of; /* in the run with the fault */
	char *field;                   /* of the list or map where the value is an item of it */
	char *value;
	bool with; /* the fault */
};

struct gifts {
	struct given *items;
	size_t count;
	const struct sweep_effect *of; /* whose differences come */
};

static void gifts_add(struct gifts *to, struct slice field, struct slice value, bool with)
{
	if (!value.len)
		return;
	to->items = xrealloc(to->items, (to->count + 1) * sizeof(*to->items));
	to->items[to->count++] = (struct given){to->of, slice_dup(field), slice_dup(value), with};
}

/* An item of a list that has it in its name: "status.ingress[10.0.0.1]". */
static struct slice field_of(const struct json_change *d)
{
	struct slice field = d->field;

	if ((d->old_value.len && d->new_value.len) || !field.len || field.ptr[field.len - 1] != ']')
		return field;
	while (field.len && field.ptr[field.len - 1] != '[')
		field.len--;
	return field;
}

static bool on_difference(void *context, const struct json_change *d)
{
	struct gifts *to = context;

	gifts_add(to, field_of(d), d->old_value, false);
	gifts_add(to, field_of(d), d->new_value, true);
	return false;
}

static void gifts_collect(
	const struct sweep_ground *ground, const struct sweep_answer *answer, struct gifts *ret)
{
	for (size_t i = 0; i < answer->effect_count; i++) {
		const struct sweep_effect *sides[2] = {
			sweep_effect_find(
				ground->answer.effects, ground->answer.effect_count, answer->effects[i].key),
			&answer->effects[i]};

		ret->of = sides[1];
		if (sides[0])
			(void)sweep_content_each(&ground->measure, sides, on_difference, ret);
	}
}

/* How many objects of that resource have that text. */
static size_t count_objects(const struct sweep_answer *a, const char *resource, const char *value)
{
	size_t n = 0;

	for (size_t i = 0; i < a->effect_count; i++)
		n += strcmp(a->effects[i].resource, resource) == 0 && strstr(a->effects[i].content, value);
	return n;
}

static bool is_same_field(const struct given *a, const struct given *b)
{
	return strcmp(a->field, b->field) == 0 && strcmp(a->of->resource, b->of->resource) == 0;
}

/* Whether another object has that value in that field, in the other run; it then is the only one. */
static bool is_given(const struct sweep_ground *ground, const struct sweep_answer *answer,
	const struct gifts *all, const struct given *g)
{
	size_t others = 0;

	for (size_t i = 0; i < all->count; i++) {
		const struct given *o = &all->items[i];

		others += o->with != g->with && o->of != g->of && is_same_field(o, g) &&
			  strcmp(o->value, g->value) == 0;
	}
	return others == 1 && strpbrk(g->value, "0123456789") &&
	       count_objects(&ground->answer, g->of->resource, g->value) == 1 &&
	       count_objects(answer, g->of->resource, g->value) == 1;
}

/* Whether it is the next free value where others were exchanged: nobody has it in the other run, and only this one here. */
static bool is_next(const struct sweep_ground *ground, const struct sweep_answer *answer,
	const struct gifts *all, const struct given *g)
{
	const struct sweep_answer *own = g->with ? answer : &ground->answer;
	const struct sweep_answer *other = g->with ? &ground->answer : answer;
	bool is_beside = false;

	for (size_t i = 0; i < all->count && !is_beside; i++) {
		const struct given *o = &all->items[i];

		is_beside = o->of != g->of && is_same_field(o, g) && is_given(ground, answer, all, o);
	}
	return is_beside && strlen(g->value) >= NEXT_BYTES_MIN && strpbrk(g->value, "0123456789") &&
	       count_objects(own, g->of->resource, g->value) == 1 &&
	       count_objects(other, g->of->resource, g->value) == 0;
}

/* *nexts gets the values of which the tape must know nothing: what is copied from there is given out by nobody. */
static bool are_given(const struct sweep_ground *ground, const struct sweep_answer *answer,
	const struct gifts *all, const struct sweep_effect *of, struct text_list *nexts)
{
	size_t n = 0, known = nexts->count;

	for (size_t i = 0; i < all->count; i++) {
		const struct given *g = &all->items[i];

		if (g->of != of)
			continue;
		n++;
		if (is_given(ground, answer, all, g))
			continue;
		if (!is_next(ground, answer, all, g)) {
			nexts->count = known;
			return false;
		}
		text_list_add(nexts, g->value);
	}
	return n > 0;
}

/* ---- who had them on the way ---- */

/* An object in the course of the run, by its UID, and the last of the values that it was given. */
struct holder {
	char *uid;
	const struct given *has; /* NULL: none so far */
};

struct course {
	const struct gifts *all;
	struct holder *holders;
	size_t count;
	bool changes; /* one had another one before */
};

static const char writes_sql[] =
	"SELECT resource || iif(apigroup = '', '', '.' || apigroup), coalesce(nullif(uid, ''),"
	"  iif(json_valid(object), json_extract(object, '$.metadata.uid'), NULL), namespace || '/' || name, ''),"
	" coalesce(object, body, '') FROM writes WHERE status BETWEEN 200 AND 299 AND verb <> 'delete'"
	" AND coalesce(dry_run, 0) = 0 ORDER BY write";

static struct holder *holder_of(struct course *c, struct slice uid)
{
	for (size_t i = 0; i < c->count; i++) {
		if (slice_is(uid, c->holders[i].uid))
			return &c->holders[i];
	}
	c->holders = xrealloc(c->holders, (c->count + 1) * sizeof(*c->holders));
	c->holders[c->count] = (struct holder){.uid = slice_dup(uid)};
	return &c->holders[c->count++];
}

static int on_write(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	struct course *c = context;
	struct holder *h = NULL;

	(void)count;
	(void)err;
	for (size_t i = 0; i < c->all->count; i++) {
		const struct given *g = &c->all->items[i];

		if (!g->with || !slice_is(v[0].bytes, g->of->resource) ||
			!memmem(v[2].bytes.ptr, v[2].bytes.len, g->value, strlen(g->value)))
			continue;
		h = h ? h : holder_of(c, v[1].bytes);
		c->changes |= h->has && strcmp(h->has->value, g->value) != 0;
		h->has = g;
	}
	return 0;
}

static int look_at_writes(
	struct sql_session *run, const struct gifts *all, bool *ret_changes, struct err *err)
{
	struct course c = {.all = all};
	const struct sql_sink sink = {.row = on_write, .context = &c};
	int rc = sql_session_run(run, slice_of(writes_sql), &sink, err);

	for (size_t i = 0; i < c.count; i++)
		free(c.holders[i].uid);
	free(c.holders);
	*ret_changes |= c.changes;
	return rc;
}

static int on_flag(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	(void)count;
	(void)err;
	*(bool *)context |= v[0].integer != 0;
	return 0;
}

/* Whether an object got a value in that field while another one had it: this was neither deleted, also with its owner, nor
 * given another one in between. */
static const char shared_sql[] =
	"WITH w AS MATERIALIZED (SELECT write, seq, verb = 'delete' AS is_delete, coalesce(namespace, '') || '/' || name AS place,"
	"  iif(json_valid(object), json_extract(object, '$.metadata.uid'), NULL) AS uid,"
	"  iif(json_valid(object), json_extract(object, '$.metadata.ownerReferences[0].uid'), NULL) AS owner,"
	"  iif(json_valid(object), jget(object, '$.%w'), NULL) AS value FROM writes"
	"  WHERE resource || iif(apigroup = '', '', '.' || apigroup) = %Q AND status BETWEEN 200 AND 299"
	"  AND coalesce(dry_run, 0) = 0)"
	" SELECT EXISTS (SELECT 1 FROM w AS b JOIN w AS a ON a.write < b.write AND a.value = b.value AND a.place <> b.place"
	"  WHERE NOT b.is_delete AND NOT EXISTS (SELECT 1 FROM w AS c WHERE c.place = a.place AND c.write > a.write"
	"   AND c.write < b.write AND (c.is_delete OR c.value IS NOT a.value))"
	"  AND NOT EXISTS (SELECT 1 FROM events AS e WHERE e.type = 'DELETED' AND e.seq <= b.seq AND e.uid IN (a.uid, a.owner)))";

/* Whether an earlier one is of the same field of that resource. */
static bool is_field_known(const struct gifts *all, size_t at)
{
	size_t i = 0;

	while (i < at && !is_same_field(&all->items[i], &all->items[at]))
		i++;
	return i < at;
}

/* Of an item of a list that has the value in its name, the list. NULL: it lies in an item that has another name; else the caller frees. */
static char *path_of(const char *field)
{
	size_t len = strlen(field);

	if (len && field[len - 1] == '[')
		len--;
	return len && strcspn(field, "[]'\"") >= len ? slice_dup((struct slice){field, len}) : NULL;
}

static int look_at_shared(struct sql_session *run, const struct gifts *all, bool *ret, struct err *err)
{
	const struct sql_sink sink = {.row = on_flag, .context = ret};
	int rc = 0;

	for (size_t i = 0; i < all->count && rc == 0 && !*ret; i++) {
		const struct given *g = &all->items[i];
		char *path = path_of(g->field);

		if (path && !is_field_known(all, i))
			rc = sql_session_run_format(run, &sink, err, shared_sql, path, g->of->resource);
		free(path);
	}
	return rc;
}

/* Whether the tape knows one of them. */
static int look_at_tape(struct sql_session *tape, const struct text_list *values, bool *ret, struct err *err)
{
	const struct sql_sink sink = {.row = on_flag, .context = ret};
	int rc = 0;

	for (size_t i = 0; i < values->count && rc == 0 && !*ret; i++)
		rc = sql_session_run_format(tape, &sink, err,
			"SELECT EXISTS (SELECT 1 FROM events WHERE instr(object, %Q))", values->items[i]);
	return rc;
}

/* Whether what looks like an exchange is more than that. */
static int look_closer(const char *tape, const char *const runs[2], const struct gifts *all,
	const struct text_list *nexts, bool *ret, struct err *err)
{
	bool shared[2] = {false, false};
	int rc = 0;

	*ret = false;
	for (int i = 0; i < 2 && rc == 0; i++) {
		struct sql_session *s = NULL;

		rc = sql_session_open_run(tape, runs[i], &s, err);
		rc = rc ? rc : look_at_writes(s, all, ret, err);
		rc = rc ? rc : look_at_shared(s, all, &shared[i], err);
		if (rc == 0 && i == 0)
			rc = look_at_tape(s, nexts, ret, err);
		sql_session_close(s);
	}
	*ret |= shared[1] && !shared[0];
	return rc;
}

/* ---- who is assigned to whom ---- */

/* How often that value is in that field, of the objects in which it differs. */
static size_t count_gifts(const struct gifts *all, const struct given *like, bool with)
{
	size_t n = 0;

	for (size_t i = 0; i < all->count; i++) {
		const struct given *o = &all->items[i];

		n += o->with == with && is_same_field(o, like) && strcmp(o->value, like->value) == 0;
	}
	return n;
}

/* Whether the object has changed places with others: each value is there as often as in the other run. *names gets the values. */
static bool is_permuted(const struct gifts *all, const struct sweep_effect *of, struct text_list *names)
{
	size_t n = 0, known = names->count;

	for (size_t i = 0; i < all->count; i++) {
		const struct given *g = &all->items[i];

		if (g->of != of)
			continue;
		if (g->value[0] != '"' || count_gifts(all, g, true) != count_gifts(all, g, false)) {
			names->count = known;
			return false;
		}
		text_list_add(names, g->value);
		n++;
	}
	return n > 0;
}

/* Whether one of them is no name of an object that is there at the end of the tape. */
static int look_for_names(const char *tape, const struct text_list *names, bool *ret_gone, struct err *err)
{
	const struct sql_sink sink = {.row = on_flag, .context = ret_gone};
	struct sql_session *s = NULL;
	int rc = sql_session_open(tape, &s, err);

	*ret_gone = false;
	for (size_t i = 0; i < names->count && rc == 0 && !*ret_gone; i++)
		rc = sql_session_run_format(s, &sink, err,
			"SELECT NOT EXISTS (SELECT 1 FROM events AS e WHERE name = json_extract(%Q, '$') AND type <> 'DELETED'"
			" AND seq = (SELECT max(seq) FROM events AS l WHERE l.apigroup = e.apigroup AND l.resource = e.resource"
			"  AND l.namespace IS e.namespace AND l.name = e.name))",
			names->items[i]);
	sql_session_close(s);
	return rc;
}

/* Which of several an object is assigned to may depend on what came before, as on how much each had: all that counts is how many each
 * has in the end. */
static int find_permuted(
	const char *tape, const struct gifts *all, struct sweep_answer *answer, struct err *err)
{
	struct text_list names = {0}, permuted = {0};
	bool gone = false;
	int rc = 0;

	for (size_t i = 0; i < answer->effect_count && all->count; i++) {
		if (is_permuted(all, &answer->effects[i], &names))
			text_list_add(&permuted, answer->effects[i].key);
	}
	if (permuted.count)
		rc = look_for_names(tape, &names, &gone, err);
	for (size_t i = 0; i < permuted.count && rc == 0 && !gone; i++) {
		if (!text_list_has(&answer->exchanged, permuted.items[i]))
			text_list_add(&answer->exchanged, permuted.items[i]);
	}
	free(names.items);
	free(permuted.items);
	return rc;
}

/* ---- all ---- */

int sweep_exchange_find(const char *tape, const char *without, const char *with,
	const struct sweep_ground *ground, struct sweep_answer *answer, struct err *err)
{
	const char *const runs[2] = {without, with};
	struct gifts all = {0};
	struct text_list nexts = {0};
	bool is_more = false;
	int rc = 0;

	gifts_collect(ground, answer, &all);
	for (size_t i = 0; i < answer->effect_count && all.count; i++) {
		if (are_given(ground, answer, &all, &answer->effects[i], &nexts))
			text_list_add(&answer->exchanged, answer->effects[i].key);
	}
	if (answer->exchanged.count)
		rc = look_closer(tape, runs, &all, &nexts, &is_more, err);
	if (is_more)
		answer->exchanged.count = 0;
	rc = rc ? rc : find_permuted(tape, &all, answer, err);
	free(nexts.items);
	for (size_t i = 0; i < all.count; i++) {
		free(all.items[i].field);
		free(all.items[i].value);
	}
	free(all.items);
	return rc;
}
