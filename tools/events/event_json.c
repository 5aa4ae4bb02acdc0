/* event_json.c: events and gaps for programs, see event_line.h. */
#include "schema/base/clock.h"
#include "schema/base/limits.h"
#include "schema/base/visible.h"
#include "schema/view/answer_out.h"
#include "tools/events/event_line.h"

static void put_raw(struct answer_out *o, struct slice json)
{
	if (!json.len)
		answer_put(o, "null");
	else if (!o->code)
		o->code = buf_append(o->to, json.ptr, json.len, o->err);
}

/* Names of managedFields are still escaped. */
static void put_manager(struct answer_out *o, struct slice manager)
{
	answer_put(o, manager.ptr ? "\"" : "null");
	if (!manager.ptr)
		return;
	if (!o->code)
		o->code = buf_append(o->to, manager.ptr, manager.len, o->err);
	answer_put(o, "\"");
}

static void put_change(struct answer_out *o, struct event_changes *c, size_t index)
{
	struct event_change change = event_changes_at(c, index);
	struct change_who who = {{NULL, 0}};

	if (!o->code)
		o->code = event_changes_who(c, index, &who, o->err);
	answer_put(o, "{\"op\":\"%s\"", change_op_name(change.op));
	answer_member(o, "field", change.change.field);
	answer_member(o, "path", change.change.path);
	answer_put(o, ",\"old\":");
	put_raw(o, change.change.old_value);
	answer_put(o, ",\"new\":");
	put_raw(o, change.change.new_value);
	answer_put(o, ",\"manager\":");
	put_manager(o, who.manager);
	answer_put(o, "}");
}

static void put_known(struct answer_out *o, const char *name, struct slice text)
{
	if (text.len)
		answer_member(o, name, text);
	else
		answer_put(o, ",\"%s\":null", name);
}

/* By the audit log. */
static void put_request(struct answer_out *o, struct event_changes *c)
{
	struct audit_claim request = {.how = AUDIT_BY_VERSION};
	int found = o->code ? 0 : event_changes_request(c, &request, o->err);

	if (found < 0)
		o->code = found;
	put_known(o, "user", request.user);
	put_known(o, "user_agent", request.user_agent);
	put_known(o, "source_ip", request.source_ip);
	put_known(o, "verb", request.verb);
}

/* Of an object that appears, who made it; else who wrote is told by each change. */
static void put_changes(struct answer_out *o, const struct event *e, struct event_changes *c)
{
	size_t count = event_changes_count(c), shown = 0;
	bool whole = count && event_changes_at(c, count - 1).is_whole;
	struct change_who who = {{NULL, 0}};

	if (whole && e->type == EVENT_ADDED && e->origin == ORIGIN_WATCH && !o->code)
		o->code = event_changes_who(c, count - 1, &who, o->err);
	answer_put(o, ",\"compared\":%s", whole && e->type == EVENT_MODIFIED ? "false" : "true");
	answer_put(o, ",\"made_by\":");
	put_manager(o, who.manager);
	put_request(o, c);
	answer_put(o, ",\"changes\":[");
	for (size_t i = 0; i < count - whole; i++) {
		answer_put(o, shown++ ? "," : "");
		put_change(o, c, i);
	}
	answer_put(o, "]}");
}

/* Takes the line to where it belongs: one line whatever the objects have between their values, and nothing that steers
 * a terminal. */
static int end_line(const struct answer_out *o, struct buf *to, struct err *err)
{
	size_t begin = to->len;
	int rc = o->code ? o->code : visible_append_json(to, buf_slice(o->to), err);

	for (char *c = to->ptr + begin; !rc && c < to->ptr + to->len; c++) {
		if (*c == '\n' || *c == '\t' || *c == '\r')
			*c = ' ';
	}
	return rc ? rc : buf_append(to, "\n", 1, err);
}

static void put_resource(struct answer_out *o, const struct tape_resource *r)
{
	answer_member(o, "apigroup", slice_of(r->apigroup));
	answer_member(o, "version", slice_of(r->version));
	answer_member(o, "resource", slice_of(r->resource));
}

int event_json_put(const struct tape_resource *r, const struct event *e, struct event_changes *c,
	struct buf *to, struct err *err)
{
	char time[TIME_TEXT_BYTES];
	struct buf line;
	struct answer_out o = {&line, err, 0};
	int rc;

	buf_init(&line, LIMIT_LIST_BYTES);
	answer_put(&o, "{\"seq\":%llu,\"time\":\"%s\",\"type\":\"%s\",\"origin\":\"%s\"",
		(unsigned long long)e->seq, time_format(time, e->time_ns), event_type_name(e->type),
		event_origin_name(e->origin));
	put_resource(&o, r);
	answer_member(&o, "namespace", e->namespace);
	answer_member(&o, "name", e->name);
	answer_member(&o, "uid", e->uid);
	answer_member(&o, "rv", e->rv);
	put_changes(&o, e, c);
	rc = end_line(&o, to, err);
	buf_release(&line);
	return rc;
}

int event_json_put_gap(const struct event_gap *g, struct buf *to, struct err *err)
{
	char time[TIME_TEXT_BYTES];
	struct buf line;
	struct answer_out o = {&line, err, 0};
	int rc;

	buf_init(&line, LIMIT_LIST_BYTES);
	answer_put(&o, "{\"gap\":%llu,\"after_seq\":%llu,\"begin\":\"%s\"", (unsigned long long)g->id,
		(unsigned long long)g->place, time_format(time, g->begin_ns));
	if (g->open)
		answer_put(&o, ",\"end\":null");
	else
		answer_put(&o, ",\"end\":\"%s\"", time_format(time, g->end_ns));
	put_resource(&o, g->resource);
	answer_member(&o, "namespace", slice_of(g->namespace));
	answer_member(&o, "reason", slice_of(g->reason));
	answer_member(&o, "how_ended", slice_of(g->how_ended));
	answer_put(&o, ",\"modified\":%llu,\"added\":%llu,\"deleted\":%llu,\"recreated\":%llu}",
		(unsigned long long)g->modified, (unsigned long long)g->added, (unsigned long long)g->deleted,
		(unsigned long long)g->recreated);
	rc = end_line(&o, to, err);
	buf_release(&line);
	return rc;
}
