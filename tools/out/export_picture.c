/* export_picture.c: see export_picture.h: reading the part of the tape that is asked for. */
#include "tools/out/export_picture.h"

#include "schema/base/clock.h"
#include "schema/tape/position.h"
#include "tools/cli/progress.h"

#define STEP_NS (50 * NS_PER_MS)

static int read_whole(struct picture *p, struct err *err)
{
	struct progress progress;
	int more;

	progress_begin(&progress, "drawing");
	progress_catch_signals();
	while ((more = picture_advance(p, STEP_NS, err)) > 0) {
		if (progress_step(&progress, (uint64_t)(picture_share(p) * 1000), 1000)) {
			more = err_set(err, ERR_STOPPED, "stopped before all events were read");
			break;
		}
	}
	progress_clear(&progress);
	return more;
}

/* A picture that begins after the tape, or ends before it, would be an empty one. */
static int find_time(
	struct picture *p, const char *text, enum position_place outside, int64_t *ret, struct err *err)
{
	char remark[POSITION_REMARK_BYTES];
	struct tape_position position;
	int rc = text ? tape_position_find(picture_tape(p), text, &position, err) : 0;

	if (!text || rc)
		return rc;
	if (position.place == outside && tape_position_remark(&position, text, remark))
		return err_set(err, ERR_USAGE, "nothing to draw: %s", remark);
	*ret = position.time_ns;
	return 0;
}

int export_picture_open(const struct export_picture *o, struct picture **ret,
	struct picture_window *ret_window, struct err *err)
{
	int64_t from_ns = 0, until_ns = 0;
	struct picture *p;
	int rc = picture_open(o->tape, &p, err);

	if (rc)
		return rc;
	rc = find_time(p, o->from, POSITION_AFTER, &from_ns, err);
	if (!rc)
		rc = find_time(p, o->until, POSITION_BEFORE, &until_ns, err);
	if (!rc && o->from && o->until && from_ns >= until_ns)
		rc = err_set(
			err, ERR_USAGE, "'--from %s' does not lie before '--until %s'", o->from, o->until);
	if (!rc)
		picture_bound(p, o->namespace, from_ns, until_ns);
	if (!rc && o->where)
		rc = picture_where(p, slice_of(o->where), err);
	if (!rc)
		rc = read_whole(p, err);
	if (rc) {
		picture_close(p);
		return rc;
	}
	picture_span(p, &ret_window->from_ns, &ret_window->to_ns);
	*ret = p;
	return 0;
}
