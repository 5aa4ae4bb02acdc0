/* replay_bounds.c: see replay_bounds.h. */
#include "replayer/replay_bounds.h"

#include "schema/base/limits.h"
#include "schema/base/log.h"
#include "schema/tape/position.h"

#define NAMES_MAX 4 /* of resources, in a warning */

/* ---- positions that are not on the tape ---- */

static int find(struct tape *t, const char *option, const char *text, struct tape_position *ret,
	struct replay_bounds *bounds, struct err *err)
{
	char remark[POSITION_REMARK_BYTES];
	int rc = tape_position_find(t, text, ret, err);

	if (rc)
		return rc;
	if (tape_position_remark(ret, text, remark)) {
		bounds->is_guess = true;
		log_warn("%s: %s", option, remark);
	}
	return 0;
}

/* ---- what was not watched at the beginning, or never ---- */

static bool is_unknown(const struct coverage_answer *a)
{
	return a->state == COVERAGE_GAP || a->state == COVERAGE_LEFT;
}

static bool is_unlisted(const struct coverage_answer *a)
{
	return a->state == COVERAGE_UNLISTED && a->until_ns == INT64_MAX;
}

static int add_name(struct buf *names, const struct tape *t, const struct tape_stream *s, size_t count)
{
	const struct tape_resource *r = tape_resource_by_id(t, s->resource);

	if (count >= NAMES_MAX || !r)
		return 0;
	return buf_printf(names, NULL, "%s%s%s%s%s%s", count ? ", " : "", r->resource,
		*r->apigroup ? "." : "", r->apigroup, *s->namespace ? " in namespace " : "", s->namespace);
}

/* Says it with the names of those streams, and of how many more. */
static void warn_of(struct tape *t, const struct coverage *c, const struct coverage_point *point,
	bool (*is_one)(const struct coverage_answer *a), const char *before, const char *after)
{
	const struct tape_stream *s;
	struct buf names;
	size_t count = 0;

	buf_init(&names, LIMIT_CONFIG_BYTES);
	for (size_t i = 0; (s = tape_stream_at(t, i)); i++) {
		struct coverage_answer a = coverage_at(c, s->id, point);

		if (is_one(&a) && add_name(&names, t, s, count++) < 0)
			break;
	}
	if (count > NAMES_MAX)
		(void)!buf_printf(&names, NULL, " and %zu more", count - NAMES_MAX);
	if (count)
		log_warn("%s%.*s%s", before, (int)names.len, names.ptr, after);
	buf_release(&names);
}

/* Clients are served the last state that was seen, or nothing: it cannot be otherwise, but it is told. */
static int check_coverage(struct tape *t, const struct tape_position *from, struct err *err)
{
	struct coverage_point point;
	struct coverage *c;
	int rc = coverage_load(t, &c, err);

	if (rc)
		return rc;
	if (from->place == POSITION_ON_TAPE) {
		point = tape_position_point(from, c);
		warn_of(t, c, &point, is_unknown, "the recorder did not watch ",
			" where this replay begins: the last state seen is served");
	}
	point = (struct coverage_point){.time_ns = coverage_span(c).end_ns, .by_time = true};
	warn_of(t, c, &point, is_unlisted, "",
		": never listed by the recorder; that clients find none does not mean that there were none");
	coverage_free(c);
	return 0;
}

/* ---- the whole ---- */

static int begin_at(struct tape *t, const char *text, struct tape_position *from, struct replay_bounds *b,
	struct err *err)
{
	int rc = find(t, "--from", text, from, b, err);

	if (rc)
		return rc;
	b->from_seq = from->seq;
	b->from_ns = from->time_ns;
	return 0;
}

int replay_bounds_find(struct tape *t, const struct marks *marks, const char *from, const char *until,
	struct replay_bounds *ret, struct err *err)
{
	struct tape_position begin = {.place = POSITION_BEFORE}, end;
	struct replay_bounds b;
	struct tape_info info;
	int rc = tape_info(t, &info, err);

	if (rc)
		return rc;
	b = (struct replay_bounds){.from_seq = info.first_seq ? info.first_seq - 1 : 0,
		.until_seq = info.last_seq,
		.from_ns = marks->start_ns ? marks->start_ns : info.first_time_ns};
	if (from)
		rc = begin_at(t, from, &begin, &b, err);
	if (rc == 0)
		rc = check_coverage(t, &begin, err);
	if (rc == 0 && until && (rc = find(t, "--until", until, &end, &b, err)) == 0)
		b.until_seq = end.seq;
	if (b.from_seq < marks->start_seq)
		b.from_seq = marks->start_seq;
	if (b.from_ns < marks->start_ns)
		b.from_ns = marks->start_ns;
	if (rc == 0 && b.until_seq < b.from_seq)
		rc = err_set(err, ERR_USAGE, "nothing to replay: the end '%s' lies before the beginning",
			until ? until : "end");
	if (rc == 0)
		*ret = b;
	return rc;
}
