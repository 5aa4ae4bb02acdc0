/* certainty.c: see certainty.h. */
#include "tools/out/certainty.h"

#include "schema/base/visible.h"
#include "tools/cli/time_shown.h"

#include <stdio.h>

/* More of them are counted: one outage may be that of a hundred streams. */
#define LINES_MAX 8

#define SCOPES_MAX 4 /* namespaces that are named */

int certainty_open(struct certainty *c, const char *command, struct tape *t, struct err *err)
{
	*c = (struct certainty){.command = command, .tape = t};
	return coverage_load(t, &c->coverage, err);
}

void certainty_close(struct certainty *c)
{
	coverage_free(c->coverage);
	c->coverage = NULL;
}

void certainty_of_position(struct certainty *c, const struct tape_position *p, const char *text)
{
	char remark[POSITION_REMARK_BYTES];

	if (!tape_position_remark(p, text, remark))
		return;
	c->is_guess = true;
	fprintf(stderr, "kubetape %s: ", c->command);
	visible_puts(stderr, remark);
	fputc('\n', stderr);
}

/* ---- names ---- */

static void put_resource(const struct tape_resource *r)
{
	visible_puts(stderr, r->resource);
	fputs(*r->apigroup ? "." : "", stderr);
	visible_puts(stderr, r->apigroup);
}

static void put_selectors(const struct tape_stream *s)
{
	static const char *const words[] = {" with labels ", " with fields "};
	const char *const selectors[] = {s->label_selector, s->field_selector};

	for (size_t i = 0; i < 2; i++) {
		if (!selectors[i] || !*selectors[i])
			continue;
		fputs(words[i], stderr);
		visible_puts(stderr, selectors[i]);
	}
}

/* "pods in namespace shop with labels app=web" */
static void put_stream(const struct tape_resource *r, const struct tape_stream *s)
{
	put_resource(r);
	if (*s->namespace) {
		fputs(" in namespace ", stderr);
		visible_puts(stderr, s->namespace);
	}
	put_selectors(s);
}

/* ---- streams ---- */

/* Why it is not known, after the stream's name. */
static void put_reason(const struct coverage_answer *a, bool local)
{
	char since[TIME_TEXT_BYTES], until[TIME_TEXT_BYTES];
	bool open = a->until_ns == INT64_MAX;

	time_shown(since, a->since_ns, local, TIME_DIGITS_ALL);
	time_shown(until, a->until_ns, local, TIME_DIGITS_ALL);
	switch (a->state) {
	case COVERAGE_WATCHED:
	case COVERAGE_STATE_COUNT: break;
	case COVERAGE_UNLISTED:
		if (open)
			fputs(" were never listed: what there was is not known", stderr);
		else
			fprintf(stderr, " were listed first at %s: what there was before is not known",
				until);
		break;
	case COVERAGE_GAP:
		if (strcmp(a->reason, "left_out") == 0) {
			fprintf(stderr,
				" are on this tape only in part from %s on (gap %llu): it was made of a part of another",
				since, (unsigned long long)a->gap);
			break;
		}
		fprintf(stderr,
			" were not watched from %s %s%s (gap %llu): what happened meanwhile is not known",
			since, open ? "on" : "to ", open ? "" : until, (unsigned long long)a->gap);
		break;
	case COVERAGE_LEFT:
		fprintf(stderr, " were not followed after %s: what happened since is not known", since);
		break;
	case COVERAGE_UNTOLD:
		fputs(" were imported: the tape does not tell when they were watched", stderr);
		break;
	}
	fputc('\n', stderr);
}

static void say_of_stream(struct certainty *c, const struct tape_resource *r, const struct tape_stream *s,
	const struct coverage_answer *a)
{
	c->is_guess = true;
	if (c->said_count == LINES_MAX) {
		c->more_count++;
		return;
	}
	c->said_count++;
	fprintf(stderr, "kubetape %s: ", c->command);
	put_stream(r, s);
	put_reason(a, c->local);
}

void certainty_end(struct certainty *c)
{
	if (c->more_count)
		fprintf(stderr, "kubetape %s: nor is it known of %zu more streams\n", c->command,
			c->more_count);
	c->more_count = 0;
}

/* ---- parts of a resource ---- */

static bool covers_namespace(const struct tape_stream *s, const char *namespace)
{
	return !*namespace || !*s->namespace || strcmp(s->namespace, namespace) == 0;
}

/* " in namespace a, in namespace b and 7 more" */
static void put_parts(const struct certainty *c, const struct tape_resource *r)
{
	const struct tape_stream *s;
	size_t count = 0;

	for (size_t i = 0; (s = tape_stream_at(c->tape, i)); i++) {
		if (s->resource != r->id || count++ >= SCOPES_MAX)
			continue;
		fputs(count > 1 ? ", " : " ", stderr);
		put_stream(r, s);
	}
	if (count > SCOPES_MAX)
		fprintf(stderr, " and %zu more", count - SCOPES_MAX);
}

static void say_of_parts(
	struct certainty *c, const struct tape_resource *r, const char *namespace, bool is_covered)
{
	c->is_guess |= !is_covered;
	fprintf(stderr, "kubetape %s: ", c->command);
	if (!is_covered) {
		put_resource(r);
		fputs(" in namespace ", stderr);
		visible_puts(stderr, namespace);
		fputs(" were not recorded, only", stderr);
	} else {
		fputs("only a part of ", stderr);
		put_resource(r);
		fputs(" was recorded:", stderr);
	}
	put_parts(c, r);
	fputc('\n', stderr);
}

void certainty_of_parts(struct certainty *c, const struct tape_resource *r, const char *namespace)
{
	bool is_whole = false, is_covered = false;
	const struct tape_stream *s;

	namespace = r->namespaced ? namespace : "";
	for (size_t i = 0; (s = tape_stream_at(c->tape, i)); i++) {
		if (s->resource != r->id || !covers_namespace(s, namespace))
			continue;
		is_covered = true;
		is_whole |= !*s->label_selector && !*s->field_selector && (*namespace || !*s->namespace);
	}
	if (!is_whole)
		say_of_parts(c, r, namespace, is_covered);
}

/* Whether one of the streams that are limited to a namespace, before that one, has the same. */
static bool is_named_before(const struct certainty *c, size_t index, const char *namespace)
{
	for (size_t i = 0; i < index; i++) {
		if (strcmp(tape_stream_at(c->tape, i)->namespace, namespace) == 0)
			return true;
	}
	return false;
}

/* " 'a', 'b' and 7 more", of the streams, none of which is of all namespaces. */
static void put_namespaces(const struct certainty *c)
{
	const struct tape_stream *s;
	size_t count = 0;

	for (size_t i = 0; (s = tape_stream_at(c->tape, i)); i++) {
		if (!*s->namespace || is_named_before(c, i, s->namespace) || count++ >= SCOPES_MAX)
			continue;
		fputs(count > 1 ? ", '" : " '", stderr);
		visible_puts(stderr, s->namespace);
		fputc('\'', stderr);
	}
	if (count > SCOPES_MAX)
		fprintf(stderr, " and %zu more", count - SCOPES_MAX);
}

void certainty_of_namespace(struct certainty *c, const char *namespace)
{
	const struct tape_resource *r;
	const struct tape_stream *s;
	bool is_limited = false;

	for (size_t i = 0; *namespace && (s = tape_stream_at(c->tape, i)); i++) {
		r = tape_resource_by_id(c->tape, s->resource);
		if (!r || !r->namespaced)
			continue;
		if (covers_namespace(s, namespace))
			return;
		is_limited = true;
	}
	if (!is_limited)
		return;
	c->is_guess = true;
	fprintf(stderr, "kubetape %s: nothing of namespace '", c->command);
	visible_puts(stderr, namespace);
	fputs("' was recorded, only of", stderr);
	put_namespaces(c);
	fputc('\n', stderr);
}

/* ---- positions of a stream ---- */

static bool is_same(const struct coverage_answer *a, const struct coverage_answer *b)
{
	return a->state == b->state && a->since_ns == b->since_ns && a->until_ns == b->until_ns &&
	       a->gap == b->gap;
}

/* Of how many more streams of a resource the tape tells nothing: a bundle has one for each namespace. */
struct alike {
	bool is_said;
	size_t count;
};

static void check_stream(struct certainty *c, const struct tape_resource *r, const struct tape_stream *s,
	const struct tape_position *positions, size_t count, struct alike *alike)
{
	struct coverage_answer before = {.state = COVERAGE_WATCHED};

	for (size_t i = 0; i < count; i++) {
		struct coverage_point point = tape_position_point(&positions[i], c->coverage);
		struct coverage_answer a = coverage_at(c->coverage, s->id, &point);

		if (a.state == COVERAGE_WATCHED || positions[i].place != POSITION_ON_TAPE ||
			is_same(&a, &before))
			continue;
		before = a;
		if (a.state == COVERAGE_UNTOLD && alike->is_said) {
			alike->count++;
			continue;
		}
		alike->is_said |= a.state == COVERAGE_UNTOLD;
		say_of_stream(c, r, s, &a);
	}
}

void certainty_of_resource(struct certainty *c, const struct tape_resource *r, const char *namespace,
	const struct tape_position *positions, size_t count)
{
	struct alike alike = {0};
	const struct tape_stream *s;

	namespace = r->namespaced ? namespace : "";
	for (size_t i = 0; (s = tape_stream_at(c->tape, i)); i++) {
		if (s->resource == r->id && covers_namespace(s, namespace))
			check_stream(c, r, s, positions, count, &alike);
	}
	if (alike.count) {
		fprintf(stderr, "kubetape %s: the same is true of ", c->command);
		put_resource(r);
		fprintf(stderr, " in %zu more namespaces\n", alike.count);
	}
}

static bool is_unknown_throughout(const struct coverage_answer *a)
{
	return a->state == COVERAGE_UNTOLD || (a->state == COVERAGE_UNLISTED && a->until_ns == INT64_MAX);
}

void certainty_of_stream(struct certainty *c, uint32_t stream, const char *namespace)
{
	const struct coverage_point end = {.time_ns = coverage_span(c->coverage).end_ns, .by_time = true};
	const struct tape_stream *s = tape_stream_by_id(c->tape, stream);
	const struct tape_resource *r = s ? tape_resource_by_id(c->tape, s->resource) : NULL;
	struct coverage_answer a = coverage_at(c->coverage, stream, &end);

	if (!r || !is_unknown_throughout(&a) ||
		(*namespace && (!r->namespaced || !covers_namespace(s, namespace))))
		return;
	say_of_stream(c, r, s, &a);
}
