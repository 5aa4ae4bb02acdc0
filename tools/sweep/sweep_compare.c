/* sweep_compare.c: how two runs differ. See sweep.h. */
#include "tools/sweep/sweep_adopted.h"
#include "tools/sweep/sweep_content.h"
#include "tools/sweep/sweep_unseen.h"

#include "schema/base/visible.h"

#include <stdlib.h>

#define SHOWN_BEFORE 20 /* bytes of content before the first that differs */
#define SHOWN_BYTES  90
#define KEYS_SHOWN   10 /* differences told one by one */

/* Appends; what does not fit any more is left out. */
#define say(to, ...) ((void)(to && buf_printf(to, NULL, __VA_ARGS__)))

/* Names and contents are other people's. */
static void say_visibly(struct buf *to, const char *text, size_t len)
{
	if (!to)
		return;
	(void)!visible_append(to, (struct slice){text, strnlen(text, len)}, NULL);
}

static void tell_end(struct buf *to, const struct sweep_answer *a)
{
	switch (a->end) {
	case SWEEP_TIMEOUT: say(to, "does not come to an end"); break;
	case SWEEP_QUIET: say(to, "is quiet at the end, exit code %lld", (long long)a->exit_code); break;
	case SWEEP_BY_ITSELF:
		say(to, SWEEP_ENDS_BY_ITSELF ", exit code %lld", (long long)a->exit_code);
		break;
	}
}

/* What is missing may be an answer to the rest of the tape. */
static void tell_where(struct buf *to, const struct sweep_answer *a)
{
	if (a->end == SWEEP_TIMEOUT && a->at_seq < a->last_seq)
		say(to, "at event %llu of %llu; ", (unsigned long long)a->at_seq,
			(unsigned long long)a->last_seq);
}

static size_t compare_ends(
	const struct sweep_answer *without, const struct sweep_answer *with, const char *than, struct buf *to)
{
	if (without->end == with->end &&
		(with->end == SWEEP_TIMEOUT || without->exit_code == with->exit_code))
		return 0;
	tell_end(to, with);
	say(to, " (");
	tell_where(to, with);
	say(to, "%s: ", than);
	tell_end(to, without);
	say(to, ")\n");
	return 1;
}

/* From where two values begin to differ. */
static void tell_value(struct buf *to, const char *value, size_t same)
{
	if (!value) {
		say(to, "absent");
		return;
	}
	say(to, "%s", same ? "..." : "");
	say_visibly(to, value + same, SHOWN_BYTES);
	say(to, "%s", strlen(value + same) > SHOWN_BYTES ? "..." : "");
}

/* Of an absorbed write the content is what it changes: "[$.status].new.phase" is its status.phase. */
static void tell_field(struct buf *to, const char *field)
{
	const char *end = strstr(field, "].new");

	if (strncmp(field, "[$.", 3) == 0 && end) {
		say_visibly(to, field + 3, (size_t)(end - field - 3));
		field = end + strlen("].new");
	}
	say_visibly(to, field, SIZE_MAX);
}

static void tell_content(
	struct buf *to, const char *key, const struct content_difference *d, const char *than)
{
	size_t same = 0;

	while (d->without && d->with && d->without[same] && d->without[same] == d->with[same])
		same++;
	same = same > SHOWN_BEFORE ? same - SHOWN_BEFORE : 0;
	say_visibly(to, key, SIZE_MAX);
	say(to, SWEEP_OTHER_CONTENT ": ");
	tell_field(to, d->field);
	say(to, "%s", *d->field ? " is " : "");
	tell_value(to, d->with, same);
	say(to, " (%s: ", than);
	tell_value(to, d->without, same);
	say(to, ")");
	if (d->other) {
		say(to, "; ");
		tell_field(to, d->other);
		if (d->count > 2)
			say(to, " and %zu more fields differ as well", d->count - 2);
		else
			say(to, " differs as well");
	}
	say(to, "\n");
}

/* Only one run has written to that object. It may exist in the other as well: objects of the tape do. */
static void tell_one(
	struct buf *to, const struct sweep_effect *without, const struct sweep_effect *with, const char *than)
{
	const char *key = without ? without->key : with->key;
	bool is_deletion = strncmp(key, SWEEP_DELETION_OF, strlen(SWEEP_DELETION_OF)) == 0;

	say_visibly(to, key + (is_deletion ? strlen(SWEEP_DELETION_OF) : 0), SIZE_MAX);
	if (is_deletion && !without)
		say(to, SWEEP_DELETED " (%s: not)\n", than);
	else if (is_deletion)
		say(to, SWEEP_NOT_DELETED " (%s: it is)\n", than);
	else if (!without)
		say(to, " is left (%s: not)\n", than);
	else if (without->tape)
		say(to, SWEEP_NOT_WRITTEN " (%s: it is)\n", than);
	else
		say(to, " is missing\n");
}

struct comparing {
	const struct sweep_measure *m;
	const struct sweep_answer *with; /* what is excused there */
	bool has_run;                  /* the program, when the tape was recorded: its work is on the tape */
	struct sweep_adopted sides[2]; /* without and with the fault */
	const char *than;
	struct buf *to;
	size_t differ;
};

/* An object of the tape to which only the run without the fault has written, and which that run left as the tape has it: in the
 * other run it is the same. If only the run with the fault has written to it, it may be there because the program did not delete
 * it, and the two are not the same. */
static bool is_as_before(const struct sweep_measure *m, const struct sweep_effect *written)
{
	struct sweep_effect before = *written;
	struct content_difference d;

	if (!written->tape)
		return false;
	before.content = before.tape;
	if (sweep_content_differs(m, &before, written, &d)) {
		content_difference_release(&d);
		return false;
	}
	return true;
}

/* Either may be NULL. */
static bool is_different(const struct comparing *c, const struct sweep_effect *a,
	const struct sweep_effect *b, struct content_difference *ret)
{
	if (a && b)
		return sweep_content_differs(c->m, a, b, ret);
	return b || c->has_run || !is_as_before(c->m, a);
}

/* As is_different. */
static void compare_pair(struct comparing *c, const struct sweep_effect *a, const struct sweep_effect *b)
{
	const char *key = a ? a->key : b->key;
	bool excused = text_list_has(&c->with->unseen, key) || text_list_has(&c->sides[0].ends, key) ||
		       text_list_has(&c->sides[1].ends, key) ||
		       (a && b && text_list_has(&c->with->exchanged, b->key));
	struct content_difference d = {0};
	bool differs = !excused && is_different(c, a, b, &d);

	c->differ += differs;
	if (differs && c->differ <= KEYS_SHOWN && a && b)
		tell_content(c->to, b->own_key ? b->own_key : key, &d, c->than);
	else if (differs && c->differ <= KEYS_SHOWN)
		tell_one(c->to, a, b, c->than);
	content_difference_release(&d);
}

/* Those of one key, as that of all objects with generated names, from there on. */
static size_t count_alike(const struct sweep_effect *effects, size_t count, size_t from)
{
	size_t end = from;

	while (end < count && strcmp(effects[end].key, effects[from].key) == 0)
		end++;
	return end - from;
}

/* Moves the first of the others with that content to the front; false if there is none. */
static bool put_equal_first(const struct sweep_effect **others, size_t count, const struct sweep_effect *like)
{
	for (size_t i = 0; i < count; i++) {
		const struct sweep_effect *found = others[i];

		if (strcmp(found->content, like->content) != 0)
			continue;
		memmove(others + 1, others, i * sizeof(*others));
		others[0] = found;
		return true;
	}
	return false;
}

/* Of several with one key those of one content belong together. */
static void compare_alike(struct comparing *c, const struct sweep_effect *a, size_t a_count,
	const struct sweep_effect *b, size_t b_count)
{
	const struct sweep_effect **rest = xcalloc(a_count + 1, sizeof(const struct sweep_effect *)),
				  **others = xcalloc(b_count + 1, sizeof(const struct sweep_effect *));
	size_t rest_count = 0, from = 0;

	for (size_t i = 0; i < b_count; i++)
		others[i] = &b[i];
	for (size_t i = 0; i < a_count; i++) {
		if (put_equal_first(others + from, b_count - from, &a[i]))
			from++;
		else
			rest[rest_count++] = &a[i];
	}
	for (size_t i = 0; i < rest_count || from + i < b_count; i++)
		compare_pair(
			c, i < rest_count ? rest[i] : NULL, from + i < b_count ? others[from + i] : NULL);
	free(rest);
	free(others);
}

/* Walks both lists, which are sorted. */
static void compare_sides(struct comparing *c)
{
	const struct sweep_adopted *without = &c->sides[0], *with = &c->sides[1];
	size_t i = 0, k = 0;

	while (i < without->count || k < with->count) {
		const struct sweep_effect *a = i < without->count ? &without->effects[i] : NULL;
		const struct sweep_effect *b = k < with->count ? &with->effects[k] : NULL;
		int order = !a ? 1 : !b ? -1 : strcmp(a->key, b->key);
		size_t a_count = order <= 0 ? count_alike(without->effects, without->count, i) : 0;
		size_t b_count = order >= 0 ? count_alike(with->effects, with->count, k) : 0;

		compare_alike(c, a, a_count, b, b_count);
		i += a_count;
		k += b_count;
	}
}

static size_t compare_effects(const struct sweep_measure *m, const struct sweep_answer *without,
	const struct sweep_answer *with, const char *than, struct buf *to)
{
	struct comparing c = {.m = m,
		.with = with,
		.has_run = sweep_recorded_program_ran(&without->recorded),
		.than = than,
		.to = to};

	sweep_adopted_find(without, with, &c.sides[0]);
	sweep_adopted_find(with, without, &c.sides[1]);
	compare_sides(&c);
	sweep_adopted_release(&c.sides[0]);
	sweep_adopted_release(&c.sides[1]);
	if (c.differ > KEYS_SHOWN)
		say(to, "and %zu more\n", c.differ - KEYS_SHOWN);
	return c.differ;
}

size_t sweep_compare(const struct sweep_measure *m, const struct sweep_answer *without,
	const struct sweep_answer *with, const char *than, struct buf *to)
{
	size_t n = m->exit_code || with->end == SWEEP_TIMEOUT ? compare_ends(without, with, than, to) : 0;

	return n + sweep_compare_left(m, without, with, than, to);
}

size_t sweep_compare_left(const struct sweep_measure *m, const struct sweep_answer *without,
	const struct sweep_answer *with, const char *than, struct buf *to)
{
	return m->writes ? compare_effects(m, without, with, than, to) : 0;
}

bool sweep_has_same_effects(const struct sweep_answer *one, const struct sweep_answer *other)
{
	size_t i = 0;

	while (i < one->effect_count && i < other->effect_count &&
		strcmp(one->effects[i].key, other->effects[i].key) == 0)
		i++;
	return i == one->effect_count && i == other->effect_count;
}

/* From there on. */
static void say_printed(struct buf *to, const char *text, size_t from)
{
	say(to, from ? "..." : "");
	if (text[from])
		say_visibly(to, text + from, SHOWN_BYTES);
	else
		say(to, from ? " and nothing more" : "nothing");
}

size_t sweep_compare_probes(
	const struct sweep_answer *without, const struct sweep_answer *with, struct buf *to)
{
	const char *a = without->probe ? without->probe : "", *b = with->probe ? with->probe : "";
	size_t same = 0;

	if (strcmp(a, b) == 0)
		return 0;
	while (a[same] && a[same] == b[same])
		same++;
	same = same > SHOWN_BEFORE ? same - SHOWN_BEFORE : 0;
	say(to, "the probe prints ");
	say_printed(to, b, same);
	say(to, " (without the fault: ");
	say_printed(to, a, same);
	say(to, ")\n");
	return 1;
}

/* Up to what names the object, or the end. */
static size_t alarm_len(const char *line)
{
	size_t len = strcspn(line, "\n");
	const char *is_broken = strstr(line, " is broken: ");

	return is_broken && is_broken < line + len ? (size_t)(is_broken - line) : len;
}

/* Among those up to `end`; NULL: among all. */
static bool has_alarm(const char *alarms, const char *end, const char *line, size_t len)
{
	for (const char *at = alarms; at && *at && at != end; at += strcspn(at, "\n") + 1) {
		if (alarm_len(at) == len && strncmp(at, line, len) == 0)
			return true;
	}
	return false;
}

size_t sweep_compare_alarms(
	const struct sweep_answer *without, const struct sweep_answer *with, struct buf *to)
{
	size_t n = 0;

	for (const char *at = with->alarms; at && *at; at += strcspn(at, "\n") + 1) {
		if (has_alarm(without->alarms, NULL, at, alarm_len(at)) ||
			has_alarm(with->alarms, at, at, alarm_len(at)))
			continue;
		n++;
		say_visibly(to, at, strcspn(at, "\n"));
		say(to, "\n");
	}
	return n;
}

size_t sweep_compare_counts(const struct sweep_ground *g, const struct sweep_answer *with, const char *than,
	bool earlier, struct buf *to)
{
	return g->measure.counts_vary ? 0
				      : sweep_counts_compare(&g->answer.counts, &with->counts,
						&with->made_again, than, earlier, to);
}

size_t sweep_compare_changes(const struct sweep_answer *one, const struct sweep_answer *paced, struct buf *to)
{
	bool more = paced->changed > one->changed, at_end = !one->early && paced->changes >= 2 * one->changes;

	if (!one->changed || !(more || at_end))
		return 0;
	if (to && more)
		(void)!buf_printf(to, NULL, "%lld objects are changed (the first: %lld)\n",
			(long long)paced->changed, (long long)one->changed);
	else if (to)
		(void)!buf_printf(to, NULL,
			"objects are changed %lld times (the first: %lld, all when no event comes any more)\n",
			(long long)paced->changes, (long long)one->changes);
	return 1;
}

void sweep_measure_learn(
	struct sweep_measure *m, const struct sweep_answer *one, const struct sweep_answer *other)
{
	for (size_t i = 0; i < one->effect_count && i < other->effect_count; i++) {
		const struct sweep_effect *a = &one->effects[i], *b = &other->effects[i];

		if (strcmp(a->key, b->key) == 0)
			sweep_content_learn(m, a, b);
	}
}

void sweep_measure_learn_counts(
	struct sweep_measure *m, const struct sweep_answer *one, const struct sweep_answer *other)
{
	m->counts_vary |= sweep_counts_compare_pace(&one->counts, &other->counts, "", NULL) > 0;
}

void sweep_measure_add(struct sweep_measure *m, const struct sweep_measure *other)
{
	for (size_t i = 0; i < other->unsteady.count; i++)
		(void)text_list_keep(&m->unsteady, other->unsteady.items[i]);
}

void sweep_measure_release(struct sweep_measure *m)
{
	text_list_release(&m->unsteady);
	text_list_release(&m->taught);
	*m = (struct sweep_measure){0};
}
