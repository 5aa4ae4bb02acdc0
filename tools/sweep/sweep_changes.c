/*
 * sweep_changes.c: two and three successive changes of one object, of which a program that was away sees the
 * result only; and single ones, which a program that was down cannot tell from what had been so before. See
 * sweep_rows.h.
 *
 * A tape has thousands of them, but few sorts: what the changes say (which fields, and to which words), not
 * whose they are. Of each sort the one is tried that hides the least of anything else.
 */
#include "tools/sweep/sweep_rows.h"

#include <ctype.h>
#include <stdlib.h>

#define CHANGE_BYTES 400  /* of what one event changes; the rest does not tell sorts apart */
#define WORD_BYTES   24   /* a longer value is no word of an enumeration */
#define WINDOW_ROWS  2000 /* changes that lie further apart are not one gap */
#define CHANGES_MAX  3    /* in one gap */

/* ---- what events change ---- */

struct reading {
	struct sweep_rows *rows;
	size_t at; /* the row whose changes come */
	struct text_list said;
};

/* What changes without anybody acting on it: counters of the server, heartbeats, who leads. */
static bool is_noise(struct slice path)
{
	static const char *const ends[] = {
		"Time", "time", "Timestamp", "observedGeneration", "kubernetes.io/leader\"]", NULL};

	if (slice_is(path, "$.metadata.deletionTimestamp"))
		return false;
	if (slice_begins(path, "$.metadata.generation") || slice_begins(path, "$.metadata.managedFields"))
		return true;
	for (size_t i = 0; ends[i]; i++) {
		if (slice_ends(path, ends[i]))
			return true;
	}
	return false;
}

/* A word of an enumeration, as Running or True: names, numbers and times tell no sorts apart. */
static bool is_word(const struct sql_value *v)
{
	if (v->type != SQL_TEXT || v->bytes.len == 0 || v->bytes.len > WORD_BYTES)
		return false;
	for (size_t i = 0; i < v->bytes.len; i++) {
		if (!isalpha((unsigned char)v->bytes.ptr[i]))
			return false;
	}
	return true;
}

/* The path without numbers of items, and the word; the caller frees. */
static char *tell_change(struct slice path, const struct sql_value *value)
{
	struct buf told;
	char *result;

	buf_init(&told, CHANGE_BYTES / 2);
	for (size_t i = slice_begins(path, "$.") ? 2 : 0; i < path.len; i++) {
		if (!i || path.ptr[i - 1] != '[' || !isdigit((unsigned char)path.ptr[i]))
			(void)!buf_append(&told, &path.ptr[i], 1, NULL);
		else
			while (i + 1 < path.len && isdigit((unsigned char)path.ptr[i + 1]))
				i++;
	}
	if (is_word(value))
		(void)!buf_printf(&told, NULL, " %.*s", (int)value->bytes.len, value->bytes.ptr);
	result = slice_dup(buf_slice(&told));
	buf_release(&told);
	return result;
}

/* A part, without a word, of what is said to change as well. */
static bool is_part(const struct text_list *said, const char *text)
{
	bool is = false;

	for (size_t i = 0; i < said->count && !is; i++) {
		size_t len = strlen(said->items[i]);

		is = strncmp(text, said->items[i], len) == 0 && (text[len] == '.' || text[len] == '[');
	}
	return is && !strchr(text, ' ');
}

static void end_row(struct reading *r)
{
	struct buf text;

	buf_init(&text, CHANGE_BYTES);
	for (size_t i = 0; i < r->said.count; i++) {
		if (!is_part(&r->said, r->said.items[i]))
			(void)!buf_printf(&text, NULL, "%s%s", text.len ? ", " : "", r->said.items[i]);
	}
	if (r->at < r->rows->count && text.len)
		r->rows->items[r->at].change = slice_dup(buf_slice(&text));
	buf_release(&text);
	text_list_release(&r->said);
}

static int on_change(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	struct reading *r = context;
	uint64_t seq = (uint64_t)v[0].integer;

	(void)count;
	(void)err;
	if (r->at < r->rows->count && r->rows->items[r->at].seq < seq)
		end_row(r);
	while (r->at < r->rows->count && r->rows->items[r->at].seq < seq)
		r->at++;
	if (r->at < r->rows->count && r->rows->items[r->at].seq == seq && !is_noise(v[1].bytes)) {
		char *told = tell_change(v[1].bytes, &v[2]);

		(void)text_list_keep(&r->said, told);
		free(told);
	}
	return 0;
}

int sweep_changes_read(struct sql_session *s, struct sweep_rows *rows, struct err *err)
{
	static const char sql[] =
		"SELECT seq, path, new FROM changes WHERE type = 'MODIFIED'"
		" AND seq > (SELECT CAST(value AS INTEGER) FROM run WHERE name = 'first_seq')"
		" AND seq <= (SELECT CAST(value AS INTEGER) FROM run WHERE name = 'last_seq') ORDER BY seq";
	struct reading r = {.rows = rows};
	const struct sql_sink sink = {.row = on_change, .context = &r};
	int rc = sql_session_run(s, slice_of(sql), &sink, err);

	end_row(&r);
	for (size_t i = 0; i < rows->count; i++) {
		if (rows->items[i].type != 'M')
			rows->items[i].change = xstrdup(rows->items[i].type == 'A' ? "created" : "deleted");
	}
	return rc;
}

/* ---- two and three of them ---- */

/* Changes of one object, not yet chosen. */
struct window {
	size_t first, last;
	bool is_healed; /* the object changes once more after it */
	char *sort;     /* the resource, and what changes */
};

struct windows {
	struct window *items;
	size_t count, cap;
};

static void add_window(struct windows *to, size_t first, size_t last, bool is_healed, const char *sort)
{
	if (to->count == to->cap) {
		to->cap = to->cap ? 2 * to->cap : 256;
		to->items = xrealloc(to->items, to->cap * sizeof(*to->items));
	}
	to->items[to->count++] = (struct window){first, last, is_healed, xstrdup(sort)};
}

/* The next event of that object that changes something; SWEEP_NO_ROW after its end. */
static size_t next_change(const struct sweep_rows *rows, size_t at)
{
	const struct sweep_row *r = &rows->items[at];

	for (size_t i = r->type == 'D' ? SWEEP_NO_ROW : r->next; i != SWEEP_NO_ROW; i = rows->items[i].next) {
		if (strcmp(rows->items[i].uid, r->uid) != 0)
			return SWEEP_NO_ROW;
		if (rows->items[i].change && rows->items[i].reached)
			return i;
	}
	return SWEEP_NO_ROW;
}

/* A gap over a whole life, of this object or of another, would hide what nobody can know of. */
static bool may_be_hidden(const struct sweep_rows *rows, size_t first, size_t last)
{
	return last - first < WINDOW_ROWS && sweep_rows_life_end(rows, first, last + 1) > last;
}

static void gather(const struct sweep_rows *rows, size_t first, struct windows *to)
{
	const struct sweep_row *r = &rows->items[first];
	char *sort;

	if (!r->reached || !r->change)
		return;
	sort = xasprintf("%s\n%s", r->resource, r->change);
	for (size_t n = 1, at = first; n < CHANGES_MAX; n++) {
		char *longer;

		at = next_change(rows, at);
		if (at == SWEEP_NO_ROW || !may_be_hidden(rows, first, at))
			break;
		longer = xasprintf("%s, then %s", sort, rows->items[at].change);
		free(sort);
		sort = longer;
		add_window(to, first, at, next_change(rows, at) != SWEEP_NO_ROW, sort);
	}
	free(sort);
}

static int by_sort(const void *left, const void *right)
{
	const struct window *a = left, *b = right;
	int order = strcmp(a->sort, b->sort);

	if (order)
		return order;
	if (a->is_healed != b->is_healed)
		return a->is_healed ? 1 : -1;
	if (a->last - a->first != b->last - b->first)
		return a->last - a->first < b->last - b->first ? -1 : 1;
	return (a->first > b->first) - (a->first < b->first);
}

/* One of each sort is a place: one that nothing makes up for later, the smallest, and the first of these; while it is down the last, after which none of the sort
 * makes up for it. Releases them. */
static void choose(const struct sweep_finding *f, enum sweep_kind kind, struct windows *all)
{
	size_t end;

	if (all->count)
		qsort(all->items, all->count, sizeof(*all->items), by_sort);
	for (size_t i = 0; i < all->count; i = end) {
		const struct window *w = &all->items[i];
		struct sweep_position *p;

		for (end = i + 1; end < all->count && strcmp(all->items[end].sort, w->sort) == 0;)
			end++;
		if (kind == SWEEP_DOWNTIME)
			w = &all->items[end - 1];
		p = sweep_positions_add(f, kind, w->first, w->last);
		p->what = xstrdup(strchr(w->sort, '\n') + 1);
		p->is_healed = w->is_healed;
		p->alike = end - i;
	}
	for (size_t i = 0; i < all->count; i++)
		free(all->items[i].sort);
	free(all->items);
}

void sweep_changes_find(const struct sweep_finding *f)
{
	struct windows all = {0};

	for (size_t i = 0; i < f->all->count; i++)
		gather(f->all, i, &all);
	choose(f, SWEEP_CHANGES, &all);
}

void sweep_changes_find_while_down(const struct sweep_finding *f)
{
	struct windows all = {0};

	for (size_t i = 0; i < f->all->count; i++) {
		const struct sweep_row *r = &f->all->items[i];
		char *sort = xasprintf("%s\n%s", r->resource, r->change ? r->change : "");

		if (r->type == 'M' && r->reached && r->change)
			add_window(&all, i, i, false, sort);
		free(sort);
	}
	choose(f, SWEEP_DOWNTIME, &all);
}
