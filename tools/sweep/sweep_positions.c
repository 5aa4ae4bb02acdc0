/*
 * sweep_positions.c: where a gap is interesting. See sweep.h.
 *
 * No gap is made to hide an object's whole life (but between the two lives of a recreated one): of such an
 * object no program can know, so it would find the good ones guilty, too.
 */
#include "tools/sweep/sweep_rows.h"

#include "schema/base/clock.h"
#include "schema/base/count_of.h"
#include "schema/sql/predicate.h"

#include <errno.h>
#include <stdlib.h>

const char *const sweep_kind_names[SWEEP_KINDS] = {
	[SWEEP_DELETION] = "deletion",
	[SWEEP_RECREATION] = "recreation",
	[SWEEP_REPLACEMENT] = "replacement",
	[SWEEP_TERMINATION] = "termination",
	[SWEEP_STRETCH] = "stretch",
	[SWEEP_CHANGES] = "changes",
	[SWEEP_SELECTION] = "selection",
	[SWEEP_DOWNTIME] = "downtime",
	[SWEEP_EVENT] = "event",
	[SWEEP_WRITE] = "write",
	[SWEEP_OWN] = "own",
	[SWEEP_REFERENCE] = "reference",
	[SWEEP_OVERWRITE] = "overwrite",
	[SWEEP_ENDING] = "ending",
	[SWEEP_ALWAYS] = "always",
	[SWEEP_GIVEN] = "given",
};

#define EVERY_MIN   2
#define STEPS_MAX   8   /* of an object in another's place */
#define MADE_MAX    6   /* of one resource, while the program is down */
#define REPLACE_MAX 500 /* events; what takes longer is no gap */

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
	static const struct {
		const char *word;
		enum sweep_kind kind;
	} places[] = {{"deletions", SWEEP_DELETION}, {"recreations", SWEEP_RECREATION},
		{"replacements", SWEEP_REPLACEMENT}, {"terminations", SWEEP_TERMINATION},
		{"changes", SWEEP_CHANGES}, {"selections", SWEEP_SELECTION}, {"references", SWEEP_REFERENCE},
		{"own", SWEEP_OWN}, {"overwrites", SWEEP_OVERWRITE}, {"downtimes", SWEEP_DOWNTIME},
		{"every", SWEEP_STRETCH}};
	bool is_every = strncmp(word, "every:", 6) == 0 && read_every(word + 6, &s->every);

	for (size_t i = 0; i < COUNT_OF(places); i++) {
		if (strcmp(word, places[i].word) == 0) {
			s->kinds[places[i].kind] = true;
			return 0;
		}
	}
	if (is_every)
		s->kinds[SWEEP_STRETCH] = true;
	else if (strcmp(word, "none") != 0)
		return err_set(err, ERR_USAGE,
			"bad place '%.100s': expected deletions, recreations, replacements, terminations, changes, "
			"selections, references, own, overwrites, downtimes, every, every:N or none",
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

/* The first event of the end of the object that is deleted there. */
static size_t find_termination(const struct sweep_rows *rows, size_t deleted)
{
	size_t first = deleted;

	for (size_t i = rows->items[deleted].previous; i != SWEEP_NO_ROW; i = rows->items[i].previous) {
		if (!rows->items[i].terminating || strcmp(rows->items[i].uid, rows->items[deleted].uid) != 0)
			break;
		first = i;
	}
	return first;
}

/* ---- finding ---- */

struct sweep_position *sweep_positions_add(
	const struct sweep_finding *f, enum sweep_kind kind, size_t first, size_t last)
{
	const struct sweep_row *r = &f->all->items[first];
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
		p->hidden += sweep_rows_of_one_resource(f->all, first, i);
	return p;
}

/* An object that leaves the selection of a watch, and all until it is back. */
static void find_selection(const struct sweep_finding *f, size_t left)
{
	const struct sweep_row *rows = f->all->items;
	size_t i = rows[left].next;

	sweep_positions_add(f, SWEEP_SELECTION, left, left);
	while (i != SWEEP_NO_ROW && !rows[i].entered)
		i = rows[i].next;
	if (i != SWEEP_NO_ROW && strcmp(rows[i].uid, rows[left].uid) == 0 &&
		sweep_rows_life_end(f->all, left, i + 1) > i)
		sweep_positions_add(f, SWEEP_SELECTION, left, i);
}

/* An object that ends, and another in its place: its creation, and its first steps, as long as that does not end and no
 * life of a third one is hidden. All that shows is that it is another one. */
static void find_replacement(const struct sweep_finding *f, size_t deleted, size_t first)
{
	const struct sweep_row *rows = f->all->items;
	size_t created = rows[deleted].next, last = deleted, steps = 0;

	for (size_t i = created; i != SWEEP_NO_ROW && i - first < REPLACE_MAX; i = rows[i].next) {
		bool is_over = rows[i].type == 'D' || rows[i].terminating || steps++ == STEPS_MAX;

		if (is_over || strcmp(rows[i].uid, rows[created].uid) != 0 ||
			sweep_rows_life_end(f->all, first, i + 1) <= i)
			break;
		last = i;
	}
	if (last >= created && first < deleted)
		sweep_positions_add(f, SWEEP_REPLACEMENT, first, created);
	if (last > created)
		sweep_positions_add(f, SWEEP_REPLACEMENT, first, last);
}

static bool is_recreated(const struct sweep_rows *rows, size_t deleted)
{
	const struct sweep_row *r = &rows->items[deleted];

	return r->next != SWEEP_NO_ROW && strcmp(rows->items[r->next].uid, r->uid) != 0;
}

static void find_around(const struct sweep_finding *f, size_t i)
{
	const struct sweep_row *r = &f->all->items[i];
	size_t first;

	if (r->wanted)
		sweep_positions_add(f, SWEEP_EVENT, i, i);
	if (r->left && f->what->kinds[SWEEP_SELECTION])
		find_selection(f, i);
	if (r->type != 'D')
		return;
	if (f->what->kinds[SWEEP_DELETION])
		sweep_positions_add(f, SWEEP_DELETION, i, i)->is_healed =
			f->all->items[i].next != SWEEP_NO_ROW;
	if (f->what->kinds[SWEEP_DOWNTIME])
		sweep_positions_add(f, SWEEP_DOWNTIME, i, i);
	first = find_termination(f->all, i);
	if (f->what->kinds[SWEEP_DOWNTIME] && first < i && sweep_rows_life_end(f->all, first, i + 1) > i)
		sweep_positions_add(f, SWEEP_DOWNTIME, first, i)->what = xstrdup("termination");
	if (f->what->kinds[SWEEP_RECREATION] && is_recreated(f->all, i))
		sweep_positions_add(f, SWEEP_RECREATION, i, r->next);
	if (f->what->kinds[SWEEP_REPLACEMENT] && is_recreated(f->all, i))
		find_replacement(f, i, first);
	if (f->what->kinds[SWEEP_TERMINATION] && first < i && sweep_rows_life_end(f->all, first, i + 1) > i)
		sweep_positions_add(f, SWEEP_TERMINATION, first, i);
}

/* Objects of one resource that the program was sent as new. */
struct creations {
	const char *resource; /* borrowed */
	size_t count, last;
};

static struct creations *creations_of(struct creations *all, size_t *count, const char *resource)
{
	size_t i = 0;

	while (i < *count && strcmp(all[i].resource, resource) != 0)
		i++;
	if (i == *count)
		all[(*count)++] = (struct creations){.resource = resource};
	return &all[i];
}

static void add_creation(const struct sweep_finding *f, size_t at)
{
	sweep_positions_add(f, SWEEP_DOWNTIME, at, at)->pattern = SWEEP_RESTART;
}

/* A program that starts gets new objects in one list with all that it knew. The places are the first new objects of each
 * resource, and the last. */
static void find_creations(const struct sweep_finding *f)
{
	const struct sweep_rows *rows = f->all;
	struct creations *all = xcalloc(rows->count + 1, sizeof(*all)), *c;
	size_t count = 0;

	for (size_t i = 0; i < rows->count; i++) {
		if (rows->items[i].type != 'A' || !rows->items[i].reached)
			continue;
		c = creations_of(all, &count, rows->items[i].resource);
		c->last = i;
		if (++c->count < MADE_MAX)
			add_creation(f, i);
	}
	for (c = all; c < all + count; c++) {
		if (c->count >= MADE_MAX)
			add_creation(f, c->last);
	}
	free(all);
}

/* From the one event to the other, or to what comes behind the last. */
static int64_t time_between(const struct sweep_rows *rows, size_t first, size_t end)
{
	int64_t first_ns = rows->items[first].time_ns;

	return end < rows->count ? rows->items[end].time_ns - first_ns
				 : rows->items[end - 1].time_ns - first_ns + NS_PER_S;
}

size_t sweep_positions_alike(
	const struct sweep_positions *p, enum sweep_kind kind, const char *resource, const char *what)
{
	size_t n = 0;

	for (size_t i = 0; i < p->count; i++) {
		const struct sweep_position *has = &p->items[i];

		n += has->kind == kind && strcmp(has->resource, resource) == 0 &&
		     strcmp(has->what, what) == 0;
	}
	return n;
}

struct sweep_position *sweep_positions_add_stretch(
	const struct sweep_finding *f, enum sweep_kind kind, size_t first, size_t end)
{
	struct sweep_position *p;
	size_t last;

	/* The gap is over as soon as the tape's time has come to its end: what comes at one time is in it or not. */
	while (end < f->all->count && f->all->items[end].time_ns == f->all->items[end - 1].time_ns)
		end++;
	last = end - 1;
	while (!sweep_rows_of_one_resource(f->all, first, last))
		last--;
	p = sweep_positions_add(f, kind, first, last);
	p->until_seq = f->all->items[end - 1].seq;
	p->for_ns = time_between(f->all, first, end);
	return p;
}

/* A watch without events of the tape, as of what the program itself writes: it is
 * late, and misses nothing. */
static void add_lateness(const struct sweep_finding *f, const char *resource, size_t first, size_t end)
{
	struct sweep_position *p = sweep_positions_add_stretch(f, SWEEP_STRETCH, first, end);

	free(p->resource);
	p->resource = xstrdup(resource);
	p->hidden = 0;
	p->last_seq = p->until_seq;
}

static size_t find_next_of_resource(const struct sweep_rows *rows, size_t of, size_t i, size_t end)
{
	while (i < end && !(rows->items[i].reached && sweep_rows_of_one_resource(rows, of, i)))
		i++;
	return i;
}

static bool is_in_stretch(const struct sweep_rows *rows, const char *resource, size_t begin, size_t end)
{
	for (size_t i = begin; i < end; i++) {
		if (rows->items[i].reached && strcmp(rows->items[i].resource, resource) == 0)
			return true;
	}
	return false;
}

/* One resource after the other, each from its first event in the stretch. */
static void find_stretch(const struct sweep_finding *f, size_t begin, size_t end)
{
	const struct sweep_rows *rows = f->all;

	for (size_t i = begin; i < end; i++) {
		if (!rows->items[i].reached || find_next_of_resource(rows, i, begin, end) < i)
			continue;
		for (size_t first = i; first < end;) {
			size_t stop = sweep_rows_life_end(rows, first, end);

			sweep_positions_add_stretch(f, SWEEP_STRETCH, first, stop);
			first = find_next_of_resource(rows, i, stop, end);
		}
	}
	for (size_t i = 0; i < f->watched->count; i++) {
		if (!is_in_stretch(rows, f->watched->items[i], begin, end))
			add_lateness(f, f->watched->items[i], begin, end);
	}
}

/* Stretches of this many events that the program was sent. */
static void find_stretches(const struct sweep_finding *f, int64_t every)
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

int sweep_positions_find(
	struct sql_session *s, const struct sweep_search *what, struct sweep_positions *ret, struct err *err)
{
	struct sweep_positions found = {.every = what->every};
	struct sweep_rows rows = {0};
	struct sweep_names watched = {0};
	const struct sweep_finding f = {what, &rows, &watched, &found};
	int rc = sweep_rows_read(s, what, &rows, err);

	if (rc == 0)
		rc = sweep_names_read(s, &watched, err);
	for (size_t i = 0; i < rows.count; i++)
		found.delivered += rows.items[i].reached;
	if (found.every == 0)
		found.every = (int64_t)(found.delivered + SWEEP_STRETCHES - 1) / SWEEP_STRETCHES;
	if (found.every < EVERY_MIN && what->every == 0)
		found.every = EVERY_MIN;
	for (size_t i = 0; rc == 0 && i < rows.count; i++)
		find_around(&f, i);
	if (rc == 0 && what->kinds[SWEEP_CHANGES])
		sweep_changes_find(&f);
	if (rc == 0 && what->kinds[SWEEP_DOWNTIME])
		sweep_changes_find_while_down(&f);
	if (rc == 0 && what->creations_while_down)
		find_creations(&f);
	if (rc == 0 && what->kinds[SWEEP_REFERENCE])
		rc = sweep_references_find(s, &f, err);
	if (rc == 0 && what->kinds[SWEEP_STRETCH])
		find_stretches(&f, found.every);
	sweep_positions_order(&found);
	sweep_rows_release(&rows);
	sweep_names_release(&watched);
	*ret = found;
	return rc;
}

/* ---- keeping ---- */

static void release(struct sweep_position *p)
{
	free(p->resource);
	free(p->others);
	free(p->object);
	free(p->what);
	free(p->write);
}

size_t sweep_positions_thin(struct sweep_positions *p, size_t max)
{
	size_t found = p->count, reached = 0, kept = 0;

	for (size_t i = 0; i < found; i++) {
		if (p->items[i].reached && max && reached == max) {
			release(&p->items[i]);
			continue;
		}
		reached += p->items[i].reached;
		p->items[kept++] = p->items[i];
	}
	p->count = kept;
	return found;
}

void sweep_positions_leave_out(struct sweep_positions *p, enum sweep_pattern pattern)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->count; i++) {
		if (p->items[i].pattern == pattern)
			release(&p->items[i]);
		else
			p->items[kept++] = p->items[i];
	}
	p->count = kept;
}

void sweep_positions_release(struct sweep_positions *p)
{
	for (size_t i = 0; i < p->count; i++)
		release(&p->items[i]);
	free(p->items);
	*p = (struct sweep_positions){0};
}

static char *stale_name(const struct sweep_position *p)
{
	char *others = p->others ? xasprintf(", %s as of event %llu", p->others,
					   (unsigned long long)p->others_as_of_seq)
				 : xstrdup("");
	char *at = p->write ? xasprintf("within %s %s", strchr("aeiou", *p->write) ? "an" : "a", p->write)
			    : xstrdup("at the end");
	char *name = xasprintf("restart %s, %s shown as of event %llu%s%s", at, p->resource,
		(unsigned long long)p->as_of_seq, p->before_answer ? ", before what was written then" : "",
		others);

	free(at);
	free(others);
	return name;
}

bool sweep_is_of_run(const struct sweep_position *p)
{
	return p->kind == SWEEP_WRITE || p->kind == SWEEP_OWN || p->kind == SWEEP_ENDING;
}

bool sweep_is_late_answer(const struct sweep_position *p)
{
	return p->pattern == SWEEP_WRITES && p->what;
}

bool sweep_is_resumption(const struct sweep_position *p)
{
	return p->pattern != SWEEP_UNOBSERVED && p->kind == SWEEP_STRETCH;
}

char *sweep_position_name(const struct sweep_position *p)
{
	if (p->kind == SWEEP_GIVEN)
		return xasprintf("the faults of %s", p->object);
	if (p->pattern == SWEEP_STALE)
		return stale_name(p);
	if (p->kind == SWEEP_OWN && p->until_seq)
		return xasprintf("%s after event %llu, its watches away until %s is %s", p->write,
			(unsigned long long)p->seq, p->object, p->what);
	if (p->nth)
		return xasprintf("%s, number %llu after event %llu", p->write, (unsigned long long)p->nth,
			(unsigned long long)p->seq);
	if (p->write)
		return xasprintf("%s after event %llu%s%s%s", p->write, (unsigned long long)p->seq,
			sweep_is_late_answer(p) ? ", " : "", sweep_is_late_answer(p) ? p->what : "",
			p->kind == SWEEP_OWN ? ", its watches away" : "");
	if (p->kind == SWEEP_ALWAYS)
		return xasprintf("%s of %s", sweep_pattern_names[p->pattern], p->resource);
	if (p->kind == SWEEP_DOWNTIME)
		return xasprintf("%s of %s %s while the command is down",
			p->what                       ? p->what
			: p->pattern == SWEEP_RESTART ? "creation"
						      : "deletion",
			p->resource, p->object);
	if (p->kind == SWEEP_STRETCH)
		return xasprintf("%s of %s",
			p->pattern == SWEEP_RESTART     ? "restart with a late watch"
			: p->pattern == SWEEP_COALESCED ? "resumed watch"
							: "stretch",
			p->resource);
	if (p->what)
		return xasprintf("changes of %s %s: %s", p->resource, p->object, p->what);
	return xasprintf("%s of %s %s", sweep_kind_names[p->kind], p->resource, p->object);
}
