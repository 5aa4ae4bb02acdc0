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

/* ---- what was not watched at the beginning ---- */

static bool is_unknown(const struct coverage_answer *a)
{
	return a->state == COVERAGE_GAP || a->state == COVERAGE_LEFT;
}

static int add_name(struct buf *names, const struct tape *t, const struct tape_stream *s, size_t count)
{
	const struct tape_resource *r = tape_resource_by_id(t, s->resource);

	if (count >= NAMES_MAX || !r)
		return 0;
	return buf_printf(names, NULL, "%s%s%s%s%s%s", count ? ", " : "", r->resource,
		*r->apigroup ? "." : "", r->apigroup, *s->namespace ? " in namespace " : "", s->namespace);
}

/* Clients are served the last state that was seen: it cannot be otherwise, but it is told. */
static void warn_of_gaps(struct tape *t, const struct coverage *c, const struct coverage_point *point)
{
	const struct tape_stream *s;
	struct buf names;
	size_t count = 0;

	buf_init(&names, LIMIT_CONFIG_BYTES);
	for (size_t i = 0; (s = tape_stream_at(t, i)); i++) {
		struct coverage_answer a = coverage_at(c, s->id, point);

		if (is_unknown(&a) && add_name(&names, t, s, count++) < 0)
			break;
	}
	if (count > NAMES_MAX)
		(void)!buf_printf(&names, NULL, " and %zu more", count - NAMES_MAX);
	if (count)
		log_warn(
			"the recorder did not watch %.*s where this replay begins: the last state seen is served",
			(int)names.len, names.ptr);
	buf_release(&names);
}

static int check_beginning(struct tape *t, const struct tape_position *from, struct err *err)
{
	struct coverage_point point;
	struct coverage *c;
	int rc = coverage_load(t, &c, err);

	if (rc)
		return rc;
	point = tape_position_point(from, c);
	warn_of_gaps(t, c, &point);
	coverage_free(c);
	return 0;
}

/* ---- the whole ---- */

static int begin_at(struct tape *t, const char *text, struct replay_bounds *b, struct err *err)
{
	struct tape_position from;
	int rc = find(t, "--from", text, &from, b, err);

	if (rc)
		return rc;
	b->from_seq = from.seq;
	b->from_ns = from.time_ns;
	return from.place == POSITION_ON_TAPE ? check_beginning(t, &from, err) : 0;
}

int replay_bounds_find(struct tape *t, const struct marks *marks, const char *from, const char *until,
	struct replay_bounds *ret, struct err *err)
{
	struct tape_position end;
	struct replay_bounds b;
	struct tape_info info;
	int rc = tape_info(t, &info, err);

	if (rc)
		return rc;
	b = (struct replay_bounds){.from_seq = info.first_seq ? info.first_seq - 1 : 0,
		.until_seq = info.last_seq,
		.from_ns = marks->start_ns ? marks->start_ns : info.first_time_ns};
	if (from)
		rc = begin_at(t, from, &b, err);
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
