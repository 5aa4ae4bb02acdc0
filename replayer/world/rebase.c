/* rebase.c: see rebase.h. */
#include "replayer/world/rebase.h"

#include "schema/base/timestamp.h"

#include <stdlib.h>

/* Further than this from where the map says it is, the replay has not run at speed 1. More than the second
 * that whole seconds cost. */
#define TOLERANCE_NS (2 * NS_PER_S)
#define STALE_NS     (10 * NS_PER_S)

/* At these times of the tape it was so late. Neither ever falls. */
struct anchor {
	int64_t tape_ns, wall_ns;
};

struct rebase {
	const struct clock *clock;
	struct anchor *anchors; /* at least one; between two the map is straight, outside it has slope 1 */
	size_t count, cap;
	int64_t reached_ns; /* tape time */
	int64_t asked_ns;   /* wall time of the latest question before the beginning */
};

static void rebase_add(struct rebase *r, int64_t tape_ns, int64_t wall_ns)
{
	const struct anchor *last = r->count ? &r->anchors[r->count - 1] : NULL;

	if (last && wall_ns < last->wall_ns)
		wall_ns = last->wall_ns;
	if (r->count == r->cap) {
		r->cap = r->cap ? 2 * r->cap : 16;
		r->anchors = xrealloc(r->anchors, r->cap * sizeof(*r->anchors));
	}
	r->anchors[r->count++] = (struct anchor){tape_ns, wall_ns};
}

/* So that seconds stay whole, and nothing lies ahead that did not. */
static int64_t whole_seconds_behind(int64_t tape_ns, int64_t wall_ns)
{
	int64_t by_ns = time_sub(wall_ns, tape_ns), rest_ns = by_ns % NS_PER_S;

	return wall_ns - (rest_ns < 0 ? rest_ns + NS_PER_S : rest_ns);
}

void rebase_restart(struct rebase *r, int64_t tape_ns)
{
	int64_t wall_ns = clock_wall_ns(r->clock);

	r->count = 0;
	r->reached_ns = tape_ns;
	r->asked_ns = wall_ns;
	rebase_add(r, tape_ns, whole_seconds_behind(tape_ns, wall_ns));
}

struct rebase *rebase_new(const struct clock *clock, int64_t tape_ns)
{
	struct rebase *r = xcalloc(1, sizeof(*r));

	r->clock = clock;
	rebase_restart(r, tape_ns);
	return r;
}

void rebase_free(struct rebase *r)
{
	if (!r)
		return;
	free(r->anchors);
	free(r);
}

int64_t rebase_time(const struct rebase *r, int64_t tape_ns)
{
	size_t low = 0, high = r->count;
	const struct anchor *a, *b;
	double share;

	/* The last anchor at or before that time; none, and the first one counts. */
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (r->anchors[middle].tape_ns <= tape_ns)
			low = middle;
		else
			high = middle;
	}
	a = &r->anchors[low];
	b = a + 1;
	if (low + 1 == r->count || tape_ns <= a->tape_ns || b->tape_ns == a->tape_ns)
		return time_add(a->wall_ns, time_sub(tape_ns, a->tape_ns));
	share = (double)time_sub(tape_ns, a->tape_ns) / (double)time_sub(b->tape_ns, a->tape_ns);
	return time_add(a->wall_ns, (int64_t)(share * (double)time_sub(b->wall_ns, a->wall_ns)));
}

int64_t rebase_now(const struct rebase *r)
{
	return clock_wall_ns(r->clock);
}

void rebase_reach(struct rebase *r, int64_t tape_ns)
{
	int64_t wall_ns = clock_wall_ns(r->clock), late_ns;

	if (tape_ns <= r->reached_ns)
		return;
	late_ns = time_sub(wall_ns, rebase_time(r, tape_ns));
	if (late_ns > TOLERANCE_NS || late_ns < -TOLERANCE_NS) {
		rebase_add(r, r->reached_ns, rebase_time(r, r->reached_ns));
		rebase_add(r, tape_ns, whole_seconds_behind(tape_ns, wall_ns));
	}
	r->reached_ns = tape_ns;
}

bool rebase_note_request(struct rebase *r)
{
	int64_t wall_ns = clock_wall_ns(r->clock), silent_ns = wall_ns - r->asked_ns;

	r->asked_ns = wall_ns;
	return silent_ns > STALE_NS;
}

/* ---- objects ---- */

/* A walk over JSON that looks at strings alone. */
struct walk {
	const struct rebase *rebase;
	struct slice key;     /* the latest */
	unsigned depth;       /* of braces */
	unsigned quiet_depth; /* in an object of that depth nothing is a time; 0: in none */
};

static bool is_users_text(const struct walk *w)
{
	if (slice_is(w->key, "annotations"))
		return true;
	return w->depth == 1 && (slice_is(w->key, "data") || slice_is(w->key, "stringData"));
}

/* The quote that ends a string; NULL when it does not end. */
static char *string_end(char *at, char *end)
{
	char *quote = at;

	while ((quote = memchr(quote, '"', (size_t)(end - quote)))) {
		const char *before = quote;

		while (before > at && before[-1] == '\\')
			before--;
		if ((quote - before) % 2 == 0)
			return quote;
		quote++;
	}
	return NULL;
}

static bool is_key(const char *behind, const char *end)
{
	while (behind < end && (*behind == ' ' || *behind == '\t' || *behind == '\n' || *behind == '\r'))
		behind++;
	return behind < end && *behind == ':';
}

static void see_string(struct walk *w, char *text, size_t len, bool key)
{
	int64_t ns;

	if (key)
		w->key = (struct slice){text, len};
	else if (!w->quiet_depth && timestamp_parse((struct slice){text, len}, &ns))
		timestamp_shift(text, len, rebase_time(w->rebase, ns) - ns);
}

void rebase_object(const struct rebase *r, char *object, size_t len)
{
	struct walk w = {.rebase = r};
	char *end = object + len;

	for (char *at = object; at < end; at++) {
		char *quote;

		switch (*at) {
		case '{':
			if (!w.quiet_depth && is_users_text(&w))
				w.quiet_depth = w.depth + 1;
			w.depth++;
			w.key = (struct slice){NULL, 0};
			break;
		case '}':
			w.depth -= w.depth > 0;
			if (w.depth < w.quiet_depth)
				w.quiet_depth = 0;
			w.key = (struct slice){NULL, 0};
			break;
		case '"':
			quote = string_end(at + 1, end);
			if (!quote)
				return;
			see_string(&w, at + 1, (size_t)(quote - at - 1), is_key(quote + 1, end));
			at = quote;
			break;
		default: break;
		}
	}
}
