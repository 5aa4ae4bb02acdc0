/*
 * sweep_positions.c: where a gap is interesting. See sweep.h.
 *
 * No gap is made to hide an object's whole life (but between the two lives of a recreated one): of such an
 * object no program can know, so it would find the good ones guilty, too.
 */
#include "tools/sweep.h"

#include "schema/base/clock.h"
#include "schema/sql/predicate.h"

#include <errno.h>
#include <stdlib.h>

const char *const sweep_kind_names[SWEEP_KINDS] = {
	[SWEEP_DELETION] = "deletion",
	[SWEEP_RECREATION] = "recreation",
	[SWEEP_TERMINATION] = "termination",
	[SWEEP_STRETCH] = "stretch",
	[SWEEP_EVENT] = "event",
};

#define SQL_MAX   (1u << 20)
#define EVERY_MIN 2

/* One event of the tape. */
struct row {
	uint64_t seq;
	int64_t time_ns;
	char type; /* of ADDED, MODIFIED, DELETED the first letter */
	bool reached, terminating, wanted;
	char *resource, *object, *uid;
	size_t previous, next; /* event of that object, by name; NONE: there is none */
};
#define NONE SIZE_MAX

struct rows {
	struct row *items;
	size_t count, cap;
};

/* Names of resources. */
struct names {
	char **items;
	size_t count;
};

struct finding {
	const struct sweep_search *what;
	const struct rows *all;
	const struct names *watched;
	struct sweep_positions *to;
};

/* ---- what to look for ---- */

static bool read_every(const char *word, int64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoll(word, &end, 10);
	return errno == 0 && *end == '\0' && *word >= '0' && *word <= '9' && *ret > 0;
}

static int read_word(char *word, struct sweep_search *s, struct err *err)
{
	if (strcmp(word, "deletions") == 0)
		s->kinds[SWEEP_DELETION] = true;
	else if (strcmp(word, "recreations") == 0)
		s->kinds[SWEEP_RECREATION] = true;
	else if (strcmp(word, "terminations") == 0)
		s->kinds[SWEEP_TERMINATION] = true;
	else if (strcmp(word, "every") == 0)
		s->kinds[SWEEP_STRETCH] = true;
	else if (strncmp(word, "every:", 6) == 0 && read_every(word + 6, &s->every))
		s->kinds[SWEEP_STRETCH] = true;
	else if (strcmp(word, "none") != 0)
		return err_set(err, ERR_USAGE,
			"bad place '%.100s': expected deletions, recreations, terminations, every, every:N or none",
			word);
	return 0;
}

int sweep_search_parse(const char *text, struct sweep_search *ret, struct err *err)
{
	char *copy = xstrdup(text), *rest = copy;
	int rc = 0;

	for (char *word; rc == 0 && (word = strsep(&rest, ","));)
		rc = read_word(word, ret, err);
	for (size_t i = 0; rc == 0 && i < ret->wanted->count; i++) {
		struct predicate *p = NULL;

		rc = predicate_compile(slice_of(ret->wanted->items[i]), NULL, &p, err);
		predicate_free(p);
	}
	ret->kinds[SWEEP_EVENT] = ret->wanted->count > 0;
	free(copy);
	return rc;
}

/* ---- reading the tape ---- */

static char *text_of(const struct sql_value *v)
{
	return v->type == SQL_TEXT ? slice_dup(v->bytes) : xstrdup("");
}

static int add_row(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	struct rows *rows = context;
	int64_t before_ns = rows->count ? rows->items[rows->count - 1].time_ns : INT64_MIN;
	struct row *r;

	(void)count;
	(void)err;
	if (rows->count == rows->cap) {
		rows->cap = rows->cap ? 2 * rows->cap : 1024;
		rows->items = xrealloc(rows->items, rows->cap * sizeof(*rows->items));
	}
	r = &rows->items[rows->count++];
	*r = (struct row){.seq = (uint64_t)v[0].integer,
		.time_ns = v[1].integer > before_ns ? v[1].integer : before_ns,
		.type = v[2].bytes.len ? v[2].bytes.ptr[0] : '?',
		.resource = text_of(&v[3]),
		.object = text_of(&v[4]),
		.uid = text_of(&v[5]),
		.reached = v[6].integer != 0,
		.terminating = v[7].integer != 0,
		.wanted = v[8].integer != 0};
	return 0;
}

static int read_rows(
	struct sql_session *s, const struct sweep_search *what, struct rows *rows, struct err *err)
{
	const struct sql_sink sink = {.row = add_row, .context = rows};
	struct buf sql;
	int rc;

	buf_init(&sql, SQL_MAX);
	rc = buf_printf(&sql, err,
		"SELECT seq, time_ns, type, resource || iif(apigroup = '', '', '.' || apigroup),"
		" iif(coalesce(namespace, '') = '', '', namespace || '/') || name, uid,"
		" seq IN (SELECT seq FROM deliveries), %s, 0",
		what->kinds[SWEEP_TERMINATION] ? "jget(object, '$.metadata.deletionTimestamp') IS NOT NULL"
					       : "0");
	for (size_t i = 0; rc == 0 && i < what->wanted->count; i++)
		rc = buf_printf(&sql, err, " OR coalesce((%s), 0)", what->wanted->items[i]);
	if (rc == 0)
		rc = buf_printf(&sql, err,
			" FROM events WHERE origin <> 'list'"
			" AND seq > (SELECT CAST(value AS INTEGER) FROM run WHERE name = 'first_seq')"
			" AND seq <= (SELECT CAST(value AS INTEGER) FROM run WHERE name = 'last_seq')"
			" ORDER BY seq");
	if (rc == 0)
		rc = sql_session_run(s, buf_slice(&sql), &sink, err);
	buf_release(&sql);
	return rc;
}

static int add_name(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	struct names *names = context;

	(void)count;
	(void)err;
	names->items = xrealloc(names->items, (names->count + 1) * sizeof(*names->items));
	names->items[names->count++] = text_of(&v[0]);
	return 0;
}

/* What the program watched, on the tape or not. */
static int read_watched(struct sql_session *s, struct names *names, struct err *err)
{
	static const char sql[] = "SELECT DISTINCT resource || iif(apigroup = '', '', '.' || apigroup)"
				  " FROM requests WHERE verb = 'watch' AND status = 200 ORDER BY 1";
	const struct sql_sink sink = {.row = add_name, .context = names};

	return sql_session_run(s, slice_of(sql), &sink, err);
}

static void release_names(struct names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->items[i]);
	free(names->items);
}

static void release_rows(struct rows *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		free(rows->items[i].resource);
		free(rows->items[i].object);
		free(rows->items[i].uid);
	}
	free(rows->items);
}

/* ---- what belongs together ---- */

static int by_object(const void *left, const void *right)
{
	const struct row *a = *(const struct row *const *)left, *b = *(const struct row *const *)right;
	int order = strcmp(a->resource, b->resource);

	if (order == 0)
		order = strcmp(a->object, b->object);
	return order ? order : (a > b) - (a < b);
}

static bool same_object(const struct row *a, const struct row *b)
{
	return strcmp(a->resource, b->resource) == 0 && strcmp(a->object, b->object) == 0;
}

static void link_rows(struct rows *rows)
{
	struct row **sorted = xcalloc(rows->count + 1, sizeof(struct row *));

	for (size_t i = 0; i < rows->count; i++) {
		rows->items[i].previous = rows->items[i].next = NONE;
		sorted[i] = &rows->items[i];
	}
	qsort(sorted, rows->count, sizeof(struct row *), by_object);
	for (size_t i = 1; i < rows->count; i++) {
		if (!same_object(sorted[i - 1], sorted[i]))
			continue;
		sorted[i - 1]->next = (size_t)(sorted[i] - rows->items);
		sorted[i]->previous = (size_t)(sorted[i - 1] - rows->items);
	}
	free(sorted);
}

static bool of_one_resource(const struct rows *rows, size_t a, size_t b)
{
	return strcmp(rows->items[a].resource, rows->items[b].resource) == 0;
}

/* Whether the object that is deleted there was created at `first` or later. */
static bool ends_a_life(const struct rows *rows, size_t deleted, size_t first)
{
	const struct row *end = &rows->items[deleted];

	if (end->type != 'D')
		return false;
	for (size_t i = end->previous; i != NONE && i >= first; i = rows->items[i].previous) {
		if (strcmp(rows->items[i].uid, end->uid) != 0)
			return false;
		if (rows->items[i].type == 'A')
			return true;
	}
	return false;
}

/* Where the first object of that resource ends that began at `first` or later; `end` when none does. */
static size_t find_life_end(const struct rows *rows, size_t first, size_t end)
{
	for (size_t i = first + 1; i < end; i++) {
		if (of_one_resource(rows, first, i) && ends_a_life(rows, i, first))
			return i;
	}
	return end;
}

/* The first event of the end of the object that is deleted there. */
static size_t find_termination(const struct rows *rows, size_t deleted)
{
	size_t first = deleted;

	for (size_t i = rows->items[deleted].previous; i != NONE; i = rows->items[i].previous) {
		if (!rows->items[i].terminating || strcmp(rows->items[i].uid, rows->items[deleted].uid) != 0)
			break;
		first = i;
	}
	return first;
}

/* ---- finding ---- */

static struct sweep_position *add(const struct finding *f, enum sweep_kind kind, size_t first, size_t last)
{
	const struct row *r = &f->all->items[first];
	struct sweep_position *p;

	f->to->items = xrealloc(f->to->items, (f->to->count + 1) * sizeof(*f->to->items));
	p = &f->to->items[f->to->count++];
	*p = (struct sweep_position){.kind = kind,
		.seq = r->seq,
		.last_seq = f->all->items[last].seq,
		.resource = xstrdup(r->resource),
		.object = kind == SWEEP_STRETCH ? NULL : xstrdup(r->object),
		.reached = r->reached};
	for (size_t i = first; i <= last; i++)
		p->hidden += of_one_resource(f->all, first, i);
	return p;
}

static void find_around(const struct finding *f, size_t i)
{
	const struct row *r = &f->all->items[i];
	size_t first;

	if (r->wanted)
		add(f, SWEEP_EVENT, i, i);
	if (r->type != 'D')
		return;
	if (f->what->kinds[SWEEP_DELETION])
		add(f, SWEEP_DELETION, i, i);
	if (f->what->kinds[SWEEP_RECREATION] && r->next != NONE &&
		strcmp(f->all->items[r->next].uid, r->uid) != 0)
		add(f, SWEEP_RECREATION, i, r->next);
	first = f->what->kinds[SWEEP_TERMINATION] ? find_termination(f->all, i) : i;
	if (first < i && find_life_end(f->all, first, i + 1) > i)
		add(f, SWEEP_TERMINATION, first, i);
}

/* From the one event to the other, or to what comes behind the last. */
static int64_t time_between(const struct rows *rows, size_t first, size_t end)
{
	int64_t first_ns = rows->items[first].time_ns;

	return end < rows->count ? rows->items[end].time_ns - first_ns
				 : rows->items[end - 1].time_ns - first_ns + NS_PER_S;
}

/* The gap lasts until what the others do in that stretch is over as well, so that they are seen while this
 * resource is not. */
static struct sweep_position *add_stretch(const struct finding *f, size_t first, size_t end)
{
	struct sweep_position *p;
	size_t last = end - 1;

	while (!of_one_resource(f->all, first, last))
		last--;
	p = add(f, SWEEP_STRETCH, first, last);
	p->until_seq = f->all->items[end - 1].seq;
	p->for_ns = time_between(f->all, first, end);
	return p;
}

/* A watch without events of the tape, as of what the program itself writes: it is
 * late, and misses nothing. */
static void add_lateness(const struct finding *f, const char *resource, size_t first, size_t end)
{
	struct sweep_position *p = add_stretch(f, first, end);

	free(p->resource);
	p->resource = xstrdup(resource);
	p->hidden = 0;
	p->last_seq = p->until_seq;
	if (p->for_ns == 0)
		p->for_ns = 1;
}

static size_t find_next_of_resource(const struct rows *rows, size_t of, size_t i, size_t end)
{
	while (i < end && !(rows->items[i].reached && of_one_resource(rows, of, i)))
		i++;
	return i;
}

static bool is_in_stretch(const struct rows *rows, const char *resource, size_t begin, size_t end)
{
	for (size_t i = begin; i < end; i++) {
		if (rows->items[i].reached && strcmp(rows->items[i].resource, resource) == 0)
			return true;
	}
	return false;
}

/* One resource after the other, each from its first event in the stretch. */
static void find_stretch(const struct finding *f, size_t begin, size_t end)
{
	const struct rows *rows = f->all;

	for (size_t i = begin; i < end; i++) {
		if (!rows->items[i].reached || find_next_of_resource(rows, i, begin, end) < i)
			continue;
		for (size_t first = i; first < end;) {
			size_t stop = find_life_end(rows, first, end);

			add_stretch(f, first, stop);
			first = find_next_of_resource(rows, i, stop, end);
		}
	}
	for (size_t i = 0; i < f->watched->count; i++) {
		if (!is_in_stretch(rows, f->watched->items[i], begin, end))
			add_lateness(f, f->watched->items[i], begin, end);
	}
}

/* Stretches of so many events that the program was sent. */
static void find_stretches(const struct finding *f, int64_t every)
{
	int64_t seen = 0;
	size_t begin = 0;

	for (size_t i = 0; i < f->all->count; i++) {
		if (!f->all->items[i].reached)
			continue;
		if (seen && seen % every == 0)
			find_stretch(f, begin, i);
		if (seen++ % every == 0)
			begin = i;
	}
	if (seen)
		find_stretch(f, begin, f->all->count);
}

static int by_seq(const void *left, const void *right)
{
	const struct sweep_position *a = left, *b = right;

	if (a->seq != b->seq)
		return a->seq < b->seq ? -1 : 1;
	return (int)a->kind - (int)b->kind;
}

int sweep_positions_find(
	struct sql_session *s, const struct sweep_search *what, struct sweep_positions *ret, struct err *err)
{
	struct sweep_positions found = {.every = what->every};
	struct rows rows = {0};
	struct names watched = {0};
	const struct finding f = {what, &rows, &watched, &found};
	int rc = read_rows(s, what, &rows, err);

	if (rc == 0)
		rc = read_watched(s, &watched, err);
	link_rows(&rows);
	for (size_t i = 0; i < rows.count; i++)
		found.delivered += rows.items[i].reached;
	if (found.every == 0)
		found.every = (int64_t)(found.delivered + SWEEP_STRETCHES - 1) / SWEEP_STRETCHES;
	if (found.every < EVERY_MIN && what->every == 0)
		found.every = EVERY_MIN;
	for (size_t i = 0; rc == 0 && i < rows.count; i++)
		find_around(&f, i);
	if (rc == 0 && what->kinds[SWEEP_STRETCH])
		find_stretches(&f, found.every);
	if (found.count)
		qsort(found.items, found.count, sizeof(*found.items), by_seq);
	release_rows(&rows);
	release_names(&watched);
	*ret = found;
	return rc;
}

/* ---- keeping ---- */

static void release(struct sweep_position *p)
{
	free(p->resource);
	free(p->object);
}

size_t sweep_positions_thin(struct sweep_positions *p, size_t max)
{
	size_t reached = 0, seen = 0, kept = 0;

	for (size_t i = 0; i < p->count; i++)
		reached += p->items[i].reached;
	if (max == 0 || reached <= max)
		return p->count;
	for (size_t i = 0; i < p->count; i++) {
		bool keep = !p->items[i].reached || (seen + 1) * max / reached > seen * max / reached;

		seen += p->items[i].reached;
		if (keep)
			p->items[kept++] = p->items[i];
		else
			release(&p->items[i]);
	}
	seen = p->count;
	p->count = kept;
	return seen;
}

void sweep_positions_release(struct sweep_positions *p)
{
	for (size_t i = 0; i < p->count; i++)
		release(&p->items[i]);
	free(p->items);
	*p = (struct sweep_positions){0};
}

char *sweep_position_name(const struct sweep_position *p)
{
	if (p->kind == SWEEP_STRETCH)
		return xasprintf("stretch of %s", p->resource);
	return xasprintf("%s of %s %s", sweep_kind_names[p->kind], p->resource, p->object);
}
