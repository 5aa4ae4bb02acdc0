/*
 * objects.c: the table `objects`, the live objects at a point of the tape, one row each with the event that
 * gave its version.
 *
 * Hidden columns say which point, the end of the tape by default; they are also the arguments of the table
 * used as a function, `objects('12:03:05')`:
 *   at       a position as position.h describes it: a time, a seq, pods@RV
 *   at_seq   after that event
 *   at_rv    for each resource, after its last event with at most that resourceVersion
 *
 * `certainty` says whether the object's stream was watched at that point: the words of coverage_state_name,
 * or `outside` of a point outside the tape; NULL with at_rv.
 */
#include "schema/sql/coverage_table.h"
#include "schema/sql/event_plan.h"

#include "schema/base/limits.h"

#include <stdlib.h>

enum { COLUMN_CERTAINTY = COLUMN_OF_KIND, COLUMN_AT, COLUMN_AT_SEQ, COLUMN_AT_RV, COLUMN_END };
#define INPUT_COUNT (COLUMN_END - COLUMN_AT)

static const char *const input_names[INPUT_COUNT] = {"at", "at_seq", "at_rv"};

struct objects_scan {
	struct scan scan;
	struct event_query query;
	sqlite3_value *inputs[INPUT_COUNT];
	struct tape_position position; /* but with at_rv */
	struct tape_state **states;    /* one, or one for each resource */
	size_t state_count, state, row;
	struct event event; /* of the current row once something needs it, else seq 0 */
	struct buf event_keep;
};

/* ---- plan ---- */

static bool is_name_column(int column)
{
	return column >= COLUMN_APIGROUP && column <= COLUMN_UID;
}

/* Names narrow the walk; what the time is compared with is only looked at whether it is a time. */
static bool is_condition(sqlite3_index_info *info, int i)
{
	const struct sqlite3_index_constraint *c = &info->aConstraint[i];

	return (is_name_column(c->iColumn) && event_plan_usable_text(info, i)) ||
	       (c->iColumn == COLUMN_TIME && event_plan_usable_time(info, i));
}

static int objects_plan(struct table *t, sqlite3_index_info *info, struct err *err)
{
	char *text = sqlite3_mprintf("");
	int used = 0;

	info->estimatedCost = (double)event_plan_count(t) + 100;
	for (int i = 0; i < info->nConstraint; i++) {
		const struct sqlite3_index_constraint *c = &info->aConstraint[i];
		bool is_input = c->iColumn >= COLUMN_AT;

		if (is_input && c->op != SQLITE_INDEX_CONSTRAINT_EQ) {
			sqlite3_free(text);
			return position_not_equal(err);
		}
		if (is_input && !c->usable) {
			sqlite3_free(text);
			return SQLITE_CONSTRAINT;
		}
		if (!is_input && !is_condition(info, i))
			continue;
		info->aConstraintUsage[i].argvIndex = ++used;
		info->aConstraintUsage[i].omit = is_input;
		info->estimatedCost /= 2;
		text = plan_word_add(text,
			is_input ? input_names[c->iColumn - COLUMN_AT] : event_column_name(c->iColumn),
			c->op);
	}
	info->idxStr = text;
	info->needToFreeIdxStr = 1;
	info->estimatedRows = (sqlite3_int64)(info->estimatedCost / 4 + 1);
	return SQLITE_OK;
}

/* ---- which states ---- */

static void take_inputs(struct objects_scan *o, const char *plan_text, sqlite3_value **args, int arg_count)
{
	struct plan_word word;

	for (int i = 0; i < arg_count && plan_word_next(&plan_text, &word); i++) {
		for (size_t k = 0; k < INPUT_COUNT; k++) {
			if (slice_is(word.column, input_names[k]) && !o->inputs[k])
				o->inputs[k] = sqlite3_value_dup(args[i]);
		}
	}
}

static int find_position(struct objects_scan *o, struct err *err)
{
	sqlite3_value *at = o->inputs[0], *at_seq = o->inputs[COLUMN_AT_SEQ - COLUMN_AT];

	if (at_seq && sqlite3_value_numeric_type(at_seq) != SQLITE_INTEGER)
		return err_set(err, ERR_USAGE, "bad position: expected a seq");
	return position_of_value(&o->scan, at_seq ? at_seq : at, &o->position, err);
}

static int add_state(struct objects_scan *o, uint64_t seq, uint32_t resource, struct err *err)
{
	struct tape_state *state;
	int rc;

	if (seq == 0)
		return 0;
	rc = tape_state_at(scan_tape(&o->scan), seq, resource, &state, err);
	if (rc)
		return rc;
	o->states = xrealloc(o->states, (o->state_count + 1) * sizeof(struct tape_state *));
	o->states[o->state_count++] = state;
	return 0;
}

static bool wants_resource(const struct event_query *q, uint32_t id)
{
	return !q->wanted || (id < q->wanted_end && q->wanted[id]);
}

static int add_states_at_rv(struct objects_scan *o, sqlite3_value *rv, struct err *err)
{
	struct tape *t = scan_tape(&o->scan);
	const char *text = (const char *)sqlite3_value_text(rv);
	const struct tape_resource *r;
	uint64_t seq;
	int rc;

	for (size_t i = 0; (r = tape_resource_at(t, i)); i++) {
		if (!wants_resource(&o->query, r->id))
			continue;
		if ((rc = tape_position_at_rv(t, r->id, slice_of(text), &seq, err)) ||
			(rc = add_state(o, seq, r->id, err)))
			return rc;
	}
	return 0;
}

static int add_states(struct objects_scan *o, struct err *err)
{
	sqlite3_value *rv = o->inputs[COLUMN_AT_RV - COLUMN_AT];
	int rc;

	for (size_t i = 0; i < INPUT_COUNT; i++) {
		if (o->inputs[i] && sqlite3_value_type(o->inputs[i]) == SQLITE_NULL)
			return 0;
	}
	if (o->query.nothing)
		return 0;
	if (rv)
		return add_states_at_rv(o, rv, err);
	rc = find_position(o, err);
	return rc ? rc : add_state(o, o->position.seq, o->query.filter.resource, err);
}

/* ---- walk ---- */

static const struct tape_live *objects_current(const struct objects_scan *o)
{
	return &o->states[o->state]->live[o->row];
}

static bool is_text(struct slice have, const char *want)
{
	return !want || slice_is(have, want);
}

static bool is_wanted(const struct objects_scan *o)
{
	const struct tape_live *live = objects_current(o);
	const struct tape_filter *f = &o->query.filter;

	return wants_resource(&o->query, live->resource) && is_text(live->namespace, f->namespace) &&
	       is_text(live->name, f->name) && is_text(live->uid, f->uid);
}

/* From the current place to the first row that is wanted. */
static void objects_settle(struct objects_scan *o)
{
	o->event.seq = 0;
	while (o->state < o->state_count) {
		if (o->row >= o->states[o->state]->count) {
			o->state++;
			o->row = 0;
		} else if (is_wanted(o)) {
			o->scan.row_id++;
			return;
		} else {
			o->row++;
		}
	}
	o->scan.at_end = true;
}

static int objects_filter(struct scan *s, const char *plan_text, int plan_flags, sqlite3_value **args,
	int arg_count, struct err *err)
{
	struct objects_scan *o = (struct objects_scan *)s;
	int rc;

	(void)plan_flags;
	buf_init(&o->event_keep, LIMIT_OBJECT_BYTES);
	scan_expects(s, false);
	rc = event_query_make(scan_table(s)->handle, plan_text, args, arg_count, &o->query, err);
	if (rc)
		return rc;
	take_inputs(o, plan_text, args, arg_count);
	rc = add_states(o, err);
	if (rc)
		return rc;
	objects_settle(o);
	return 0;
}

static int objects_next(struct scan *s, struct err *err)
{
	struct objects_scan *o = (struct objects_scan *)s;

	(void)err;
	o->row++;
	objects_settle(o);
	return 0;
}

/* What the state itself does not say is in the event. */
static int load_event(struct objects_scan *o, struct err *err)
{
	if (o->event.seq)
		return 0;
	return tape_event(scan_tape(&o->scan), objects_current(o)->seq, &o->event, &o->event_keep, err);
}

static int certainty_result(struct objects_scan *o, sqlite3_context *context, struct err *err)
{
	const struct coverage *c;
	struct coverage_answer a;
	struct coverage_point point;
	int rc;

	if (o->inputs[COLUMN_AT_RV - COLUMN_AT])
		return 0;
	rc = coverage_of_table(scan_table(&o->scan), &c, err);
	if (rc == 0)
		rc = load_event(o, err);
	if (rc)
		return rc;
	point = tape_position_point(&o->position, c);
	a = coverage_at(c, o->event.stream, &point);
	result_string(context, certainty_word(&o->position, &a));
	return 0;
}

static int object_result(struct objects_scan *o, sqlite3_context *context, struct err *err)
{
	struct slice object;
	int rc = tape_object(scan_tape(&o->scan), objects_current(o)->seq, &object, err);

	if (rc)
		return rc;
	result_slice(context, object);
	return 0;
}

static int column(struct scan *s, sqlite3_context *context, int i, struct err *err)
{
	struct objects_scan *o = (struct objects_scan *)s;
	const struct tape_live *live = objects_current(o);
	struct event e = {.seq = live->seq,
		.resource = live->resource,
		.namespace = live->namespace,
		.name = live->name,
		.uid = live->uid,
		.rv = live->rv};
	bool in_state = i == COLUMN_SEQ || (i >= COLUMN_APIGROUP && i <= COLUMN_RV);
	int rc;

	if (i == COLUMN_OBJECT)
		return object_result(o, context, err);
	if (i == COLUMN_CERTAINTY)
		return certainty_result(o, context, err);
	if (i >= COLUMN_AT) {
		if (o->inputs[i - COLUMN_AT])
			sqlite3_result_value(context, o->inputs[i - COLUMN_AT]);
		return 0;
	}
	if (!in_state && (rc = load_event(o, err)))
		return rc;
	event_result(context, scan_tape(s), in_state ? &e : &o->event, i);
	return 0;
}

static void objects_reset(struct scan *s)
{
	struct objects_scan *o = (struct objects_scan *)s;

	for (size_t i = 0; i < o->state_count; i++)
		tape_state_free(o->states[i]);
	free(o->states);
	for (size_t i = 0; i < INPUT_COUNT; i++)
		sqlite3_value_free(o->inputs[i]);
	event_query_release(&o->query);
	buf_release(&o->event_keep);
	*o = (struct objects_scan){.scan = o->scan};
}

const struct table_kind objects_table = {
	.name = "objects",
	.summary = "what existed: at the end, or at a point of the tape as in objects('12:03:05')",
	.columns = EVENT_COLUMNS ", certainty TEXT, at HIDDEN, at_seq HIDDEN, at_rv HIDDEN",
	.scan_bytes = sizeof(struct objects_scan),
	.plan = objects_plan,
	.filter = objects_filter,
	.next = objects_next,
	.column = column,
	.reset = objects_reset,
	.drop_cache = coverage_drop_cache,
};
