/* sweep_numbered.c: see sweep_numbered.h. */
#include "tools/sweep/sweep_numbered.h"

#include "tools/sweep/sweep_content.h"
#include "tools/sweep/sweep_unseen.h"

#include <stdlib.h>

#define DIGITS      "0123456789"
#define DIGITS_MAX  9
#define MEMBERS_MAX 60 /* of a family: each is compared with each */

struct member {
	struct sweep_effect *of;
	uint64_t number;
	const struct member *same; /* of the other run; NULL: none */
};

/* Of one run, by number. */
struct members {
	struct member items[MEMBERS_MAX];
	size_t count;
};

/* All objects whose keys begin in that way and end in a number. */
struct family {
	const struct sweep_measure *measure;
	struct slice stem;
	struct members without, with;
};

/* ---- who belongs to it ---- */

/* "configmaps shop/web-" of "configmaps shop/web-12"; empty: there is no number. */
static struct slice stem_of(const char *key)
{
	size_t len = strlen(key), digits = 0;

	while (digits < len && strchr(DIGITS, key[len - digits - 1]))
		digits++;
	return digits && digits <= DIGITS_MAX && !strchr(" /", key[len - digits - 1])
		       ? (struct slice){key, len - digits}
		       : (struct slice){0};
}

static bool is_of(const struct family *f, const struct sweep_effect *e)
{
	struct slice stem = stem_of(e->key);

	return !e->tape && slice_equal(stem, f->stem);
}

static int by_number(const void *left, const void *right)
{
	const struct member *a = left, *b = right;

	return a->number < b->number ? -1 : a->number > b->number;
}

/* False: there are too many. */
static bool gather(const struct family *f, struct sweep_effect *effects, size_t count, struct members *to)
{
	to->count = 0;
	for (size_t i = 0; i < count; i++) {
		if (!is_of(f, &effects[i]))
			continue;
		if (to->count == MEMBERS_MAX)
			return false;
		to->items[to->count++] = (struct member){
			.of = &effects[i], .number = strtoull(effects[i].key + f->stem.len, NULL, 10)};
	}
	qsort(to->items, to->count, sizeof(*to->items), by_number);
	return true;
}

/* ---- what is the same but for its number ---- */

/* "web-12" of "configmaps shop/web-12". */
static const char *name_of(const struct member *m)
{
	const char *slash = strrchr(m->of->key, '/'), *space = strrchr(m->of->key, ' ');

	return (slash ? slash : space ? space : m->of->key - 1) + 1;
}

/* The text with one word in place of the other, where no further digit follows; the caller frees. */
static char *put_in_place(struct slice text, const char *old, const char *new)
{
	struct slice word = slice_of(old);
	struct buf out;
	char *result;

	buf_init(&out, SIZE_MAX);
	while (text.len) {
		bool is_word = slice_begins(text, old) &&
			       (text.len == word.len || !strchr(DIGITS, text.ptr[word.len]));
		size_t len = is_word ? word.len : 1;

		(void)!buf_append(&out, is_word ? new : text.ptr, is_word ? strlen(new) : 1, NULL);
		text = (struct slice){text.ptr + len, text.len - len};
	}
	result = slice_dup(buf_slice(&out));
	buf_release(&out);
	return result;
}

static bool is_number(struct slice value, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	if (value.len > 2 && *value.ptr == '"')
		value = (struct slice){value.ptr + 1, value.len - 2};
	return slice_is(value, text);
}

struct comparison {
	const struct member *without, *with;
};

static bool is_otherwise(void *context, const struct json_change *d)
{
	const struct comparison *c = context;
	char *renamed;
	bool is_same =
		is_number(d->old_value, c->without->number) && is_number(d->new_value, c->with->number);

	if (is_same)
		return false;
	renamed = put_in_place(d->new_value, name_of(c->with), name_of(c->without));
	is_same = slice_is(d->old_value, renamed);
	free(renamed);
	return !is_same;
}

static bool are_alike(const struct family *f, const struct member *without, const struct member *with)
{
	const struct sweep_effect *const sides[2] = {without->of, with->of};
	struct comparison c = {without, with};

	return !sweep_content_each(f->measure, sides, is_otherwise, &c);
}

/* A state that comes again gets a number of its own; one that stays does not. */
static bool is_each_other_than_the_last(const struct family *f)
{
	const struct members *all = &f->without;

	for (size_t i = 1; i < all->count; i++) {
		if (are_alike(f, &all->items[i - 1], &all->items[i]))
			return false;
	}
	return true;
}

/* From the last one back: each has the content of one with the same or a higher number, before that of the next. */
static void match(struct family *f)
{
	size_t left = f->without.count;

	for (size_t i = f->with.count; i-- > 0;) {
		struct member *m = &f->with.items[i];

		for (size_t k = left; k-- > 0 && f->without.items[k].number >= m->number && !m->same;) {
			if (!are_alike(f, &f->without.items[k], m))
				continue;
			m->same = &f->without.items[k];
			f->without.items[k].same = m;
			left = k;
		}
	}
}

/* Those that only the run with the fault has left. */
static size_t count_kept_longer(const struct family *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->with.count; i++)
		n += !f->with.items[i].same;
	return n;
}

/* How much lower a number is, at most. */
static uint64_t furthest(const struct family *f)
{
	uint64_t most = 0;

	for (size_t i = 0; i < f->with.count; i++) {
		const struct member *m = &f->with.items[i];
		uint64_t by = m->same ? m->same->number - m->number : 0;

		most = by > most ? by : most;
	}
	return most;
}

/* Whether the runs differ as said above: the last are the same, and those that stay for longer are the first. */
static bool is_history(struct family *f)
{
	size_t longer;

	if (!f->without.count || !f->with.count || f->with.count > f->without.count ||
		!is_each_other_than_the_last(f))
		return false;
	match(f);
	if (f->with.items[f->with.count - 1].same != &f->without.items[f->without.count - 1])
		return false;
	longer = count_kept_longer(f);
	for (size_t i = 0; i < longer; i++) {
		if (f->with.items[i].same)
			return false;
	}
	return furthest(f) > 0;
}

/* ---- what could not be seen ---- */

/* The first creations of objects of that family, the event that each answers to (0: it answers to the state at the start), and that
 * with which the next state of the same object came; %Q: the stem. */
static const char made_sql[] =
	"WITH first AS (SELECT min(write) AS write, seq, object, resource || iif(apigroup = '', '', '.' || apigroup) || ' '"
	"   || iif(coalesce(namespace, '') = '', '', namespace || '/') || name AS key FROM writes WHERE status = 201"
	"   AND coalesce(dry_run, 0) = 0 AND coalesce(subresource, '') = '' AND json_valid(object) GROUP BY key),"
	" made AS (SELECT *, lead(seq) OVER (ORDER BY write) AS next FROM first, (SELECT %Q AS stem)"
	"  WHERE substr(key, 1, length(stem)) = stem AND length(key) > length(stem)"
	"  AND substr(key, length(stem) + 1) NOT GLOB '*[^0-9]*')"
	" SELECT seq * (seq > (SELECT CAST(value AS INTEGER) FROM run WHERE name = 'first_seq')), key, json_remove(object,"
	"  '$.metadata.resourceVersion', '$.metadata.managedFields', '$.metadata.uid', '$.metadata.creationTimestamp',"
	"  '$.metadata.generation'), iif((SELECT uid FROM events AS e WHERE e.seq = made.seq) ="
	"  (SELECT uid FROM events AS e WHERE e.seq = made.next), next, NULL) FROM made ORDER BY write";

/* Those of them that a program cannot make. */
struct unmade {
	const struct family *of;
	struct sql_session *run;
	int64_t pace_ns;
	struct text_list keys;    /* owned */
	struct sweep_effect last; /* that it can make; owned */
};

static void keep_as_last(struct unmade *u, struct sweep_effect *e)
{
	free(u->last.key);
	free(u->last.content);
	u->last = *e;
	u->last.resource = u->last.key;
	*e = (struct sweep_effect){0};
}

/* The state that is there already, if the one between them was not to be seen, is not made anew. */
static bool is_like_last(const struct unmade *u, struct sweep_effect *e)
{
	const size_t len = u->of->stem.len;
	struct member last = {
		.of = &(struct sweep_effect){
			.key = u->last.key, .resource = u->last.key, .content = u->last.content}};
	struct member next = {.of = e};

	if (!u->last.key)
		return false;
	last.number = strtoull(u->last.key + len, NULL, 10);
	next.number = strtoull(e->key + len, NULL, 10);
	return are_alike(u->of, &next, &last);
}

static int on_made(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	struct unmade *u = context;
	struct sweep_effect e = {.key = slice_dup(v[1].bytes), .content = slice_dup(v[2].bytes)};
	char *text = xasprintf("%s %s", e.key, e.content);
	uint64_t end_seq = v[3].type == SQL_INTEGER ? (uint64_t)v[3].integer : SWEEP_NO_END;
	bool seen = true;
	int rc = v[0].integer ? sweep_was_seen(u->run, (uint64_t)v[0].integer, end_seq, text, false,
					u->pace_ns, &seen, err)
			      : 0;

	(void)count;
	e.resource = e.key;
	if (rc == 0 && (!seen || is_like_last(u, &e)))
		text_list_add(&u->keys, xstrdup(e.key));
	else if (rc == 0)
		keep_as_last(u, &e);
	free(text);
	free(e.key);
	free(e.content);
	return rc;
}

static int find_unmade(const struct family *f, struct sql_session *exact, struct unmade *u, struct err *err)
{
	const struct sql_sink sink = {.row = on_made, .context = u};
	char *stem = slice_dup(f->stem);
	int rc = sql_session_run_format(exact, &sink, err, made_sql, stem);

	free(stem);
	free(u->last.key);
	free(u->last.content);
	return rc;
}

/* ---- applying ---- */

/* All at once: one's new name may be another's old one. Names that are given new numbers only become higher, and are put in from
 * the highest down. */
static void rename_in(const struct family *f, struct sweep_effect *e)
{
	for (size_t i = f->with.count; i-- > 0;) {
		const struct member *m = &f->with.items[i];
		char *content;

		if (!m->same || m->same->number == m->number)
			continue;
		content = put_in_place(slice_of(e->content), name_of(m), name_of(m->same));
		free(e->content);
		e->content = content;
	}
}

/* Those that only one of the runs has left. */
static void excuse(const struct family *f, const struct text_list *unmade, struct sweep_answer *answer)
{
	for (size_t i = 0; i < f->with.count; i++) {
		if (!f->with.items[i].same)
			text_list_add(&answer->unseen, f->with.items[i].of->key);
	}
	for (size_t i = 0; i < f->without.count; i++) {
		const struct member *m = &f->without.items[i];

		if (!m->same && text_list_has(unmade, m->of->key))
			text_list_add(&answer->unseen, m->of->key);
	}
}

static void apply(const struct family *f, const struct text_list *unmade, struct sweep_answer *answer)
{
	size_t others = answer->effect_count;

	excuse(f, unmade, answer);
	for (size_t i = 0; i < others; i++) {
		if (!is_of(f, &answer->effects[i]))
			rename_in(f, &answer->effects[i]);
	}
	for (size_t i = f->with.count; i-- > 0;) {
		const struct member *m = &f->with.items[i];

		if (!m->same)
			continue;
		free(m->of->key);
		free(m->of->content);
		m->of->key = xstrdup(m->same->of->key);
		m->of->content = xstrdup(m->same->of->content);
	}
	sweep_answer_sort(answer);
}

static bool is_first_of_family(const struct sweep_ground *g, const struct family *f, size_t at)
{
	for (size_t i = 0; i < at; i++) {
		if (is_of(f, &g->answer.effects[i]))
			return false;
	}
	return is_of(f, &g->answer.effects[at]);
}

int sweep_numbered_find(struct sql_session *run, struct sql_session *exact, const struct sweep_ground *ground,
	int64_t pace_ns, struct sweep_answer *answer, struct err *err)
{
	const struct sweep_answer *without = &ground->answer;
	struct family f = {.measure = &ground->measure};
	int rc = 0;

	for (size_t i = 0; i < without->effect_count && rc == 0; i++) {
		struct unmade u = {.of = &f, .run = run, .pace_ns = pace_ns};

		f.stem = stem_of(without->effects[i].key);
		if (!f.stem.len || !is_first_of_family(ground, &f, i) ||
			!gather(&f, without->effects, without->effect_count, &f.without) ||
			!gather(&f, answer->effects, answer->effect_count, &f.with) || !is_history(&f))
			continue;
		rc = find_unmade(&f, exact, &u, err);
		if (rc == 0 && u.keys.count >= furthest(&f) && u.keys.count >= count_kept_longer(&f))
			apply(&f, &u.keys, answer);
		text_list_release(&u.keys);
	}
	return rc;
}
