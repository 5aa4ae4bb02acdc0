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

#define ASSIGNED_MAX 200 /* values that differ: each is looked for on the tape */

struct assignments {
	const struct sweep_ground *ground;
	const struct sweep_answer *answer;
	const struct gifts *all;
	char **families; /* of each gift */
	struct sql_session *tape;
	struct err *err;
};

/* The last version of an object of the tape, if it is there at the end. */
#define LIVE                                                                                                 \
	"type <> 'DELETED' AND seq = (SELECT max(seq) FROM events AS l WHERE l.apigroup = e.apigroup"        \
	" AND l.resource = e.resource AND l.namespace IS e.namespace AND l.name = e.name)"

/* As JSON, as values of fields are. */
static int look_for_live(const struct assignments *a, const char *name, bool *ret)
{
	const struct sql_sink sink = {.row = on_flag, .context = ret};

	*ret = false;
	return sql_session_run_format(a->tape, &sink, a->err,
		"SELECT EXISTS (SELECT 1 FROM events AS e WHERE name = json_extract(%Q, '$') AND " LIVE ")",
		name);
}

/* Whether the tape tells of that value: an object that the effect names has it as well. It was copied from there, and assigned by
 * nobody. */
static int look_for_source(
	const struct assignments *a, const struct sweep_effect *of, const char *value, bool *ret)
{
	const struct sql_sink sink = {.row = on_flag, .context = ret};

	*ret = false;
	return sql_session_run_format(a->tape, &sink, a->err,
		"SELECT EXISTS (SELECT 1 FROM events AS e, (SELECT %Q || ' ' || %Q AS text) WHERE instr(object, %Q)"
		" AND name <> json_extract(%Q, '$') AND " SWEEP_NAMES("text", "e") " AND " LIVE ")",
		of->key, of->content, value, value);
}

/* Of items of a list the list, whichever item it is: "endpoints.nodeName". The caller frees. */
static char *without_indexes(const char *field)
{
	char *out = xcalloc(strlen(field) + 1, 1);
	size_t n = 0;

	while (*field) {
		size_t digits = *field == '[' ? strspn(field + 1, "0123456789") : 0;

		if (digits && field[digits + 1] == ']')
			field += digits + 2;
		else
			out[n++] = *field++;
	}
	return out;
}

/* The name of the last member as JSON, and where it begins in the field; the caller frees. */
static char *last_member(const char *field, size_t *ret_at)
{
	size_t len = strlen(field), end = len && field[len - 1] == ']' ? len - 1 : len, at = end;

	while (at > 0 && !strchr(end < len ? "[" : ".", field[at - 1]))
		at--;
	*ret_at = at;
	return xasprintf("\"%.*s\"", (int)(end - at), field + at);
}

/* What members of a map that have the names of objects are members of: such a map assigns something to each of these. */
static int find_family(const struct assignments *a, const char *field, char **ret)
{
	char *family = without_indexes(field);
	size_t at;
	char *member = last_member(family, &at);
	bool is_object = false, may_be = at && !strpbrk(family + at, "\"\\"); /* no name has these */
	int rc = may_be ? look_for_live(a, member, &is_object) : 0;

	if (is_object)
		family[at - 1] = '\0';
	free(member);
	*ret = family;
	return rc;
}

static size_t count_text(const char *in, const char *text)
{
	size_t n = 0;

	for (const char *at = strstr(in, text); at; at = strstr(at + strlen(text), text))
		n++;
	return n;
}

/* How often the objects of that resource have the value. */
static size_t load_of(const struct sweep_answer *in, const char *resource, const char *value)
{
	size_t n = 0;

	for (size_t i = 0; i < in->effect_count; i++) {
		if (strcmp(in->effects[i].resource, resource) == 0)
			n += count_text(in->effects[i].content, value);
	}
	return n;
}

/* Whether no value is assigned more often than some value is without the fault, nor any that is not assigned there. */
static bool is_as_even(const struct assignments *a, size_t like)
{
	size_t most = 0, most_without = 0;

	for (size_t i = 0; i < a->all->count; i++) {
		const struct given *g = &a->all->items[i];
		const char *resource = g->of->resource;
		size_t with, without;

		if (strcmp(a->families[i], a->families[like]) != 0 ||
			strcmp(resource, a->all->items[like].of->resource) != 0)
			continue;
		with = load_of(a->answer, resource, g->value);
		without = load_of(&a->ground->answer, resource, g->value);
		if (with && !without)
			return false;
		most = with > most ? with : most;
		most_without = without > most_without ? without : most_without;
	}
	return most <= most_without;
}

/* Whether all that differs in the object is to which of several live objects something is assigned. */
static int look_at_assigned(const struct assignments *a, const struct sweep_effect *of, bool *ret)
{
	size_t with = 0, without = 0;
	int rc = 0;

	*ret = true;
	for (size_t i = 0; i < a->all->count && rc == 0 && *ret; i++) {
		const struct given *g = &a->all->items[i];
		bool is_copied = false;

		if (g->of != of)
			continue;
		*(g->with ? &with : &without) += 1;
		*ret = g->value[0] == '"' && is_as_even(a, i);
		if (*ret)
			rc = look_for_live(a, g->value, ret);
		if (*ret && rc == 0 && !g->with)
			rc = look_for_source(a, of, g->value, &is_copied);
		*ret &= !is_copied;
	}
	*ret &= with > 0 && with == without;
	return rc;
}

static int find_families(struct assignments *a)
{
	int rc = 0;

	a->families = xcalloc(a->all->count, sizeof(*a->families));
	for (size_t i = 0; i < a->all->count && rc == 0; i++)
		rc = find_family(a, a->all->items[i].field, &a->families[i]);
	return rc;
}

/* Which of several an object is assigned to may depend on what came before, as on how much each had, and stays so: all that counts is
 * that each is there, and that none has more than one may have. */
static int find_assigned(const char *tape, const struct sweep_ground *ground, const struct gifts *all,
	struct sweep_answer *answer, struct err *err)
{
	struct assignments a = {.ground = ground, .answer = answer, .all = all, .err = err};
	int rc;

	if (!all->count || all->count > ASSIGNED_MAX)
		return 0;
	rc = sql_session_open(tape, &a.tape, err);
	rc = rc ? rc : find_families(&a);
	for (size_t i = 0; i < answer->effect_count && rc == 0; i++) {
		const struct sweep_effect *e = &answer->effects[i];
		bool assigned = false;

		rc = look_at_assigned(&a, e, &assigned);
		if (rc == 0 && assigned && !text_list_has(&answer->exchanged, e->key))
			text_list_add(&answer->exchanged, e->key);
	}
	for (size_t i = 0; a.families && i < all->count; i++)
		free(a.families[i]);
	free(a.families);
	sql_session_close(a.tape);
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
	rc = rc ? rc : find_assigned(tape, ground, &all, answer, err);
	free(nexts.items);
	for (size_t i = 0; i < all.count; i++) {
		free(all.items[i].field);
		free(all.items[i].value);
	}
	free(all.items);
	return rc;
}
