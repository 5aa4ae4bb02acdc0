/* pod_logs.c: see pod_logs.h. Messages are those of the API server and of the kubelet. */
#include "replayer/serve/pod_logs.h"

#include "replayer/world/player.h"
#include "schema/base/count_of.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"
#include "schema/base/timestamp.h"
#include "schema/tape/pod_log.h"

#include <stdlib.h>

/* What is asked for. */
struct log_question {
	struct slice container;
	bool previous, timestamps;
	int64_t tail_lines, limit_bytes; /* -1: all */
	int64_t since_ns, until_ns;      /* on the tape */
	int64_t since_shown_ns;          /* as objects show it */
};

/* What the tape has: the log of one life of a container. */
struct log_found {
	struct tape *tape;
	struct slice namespace, pod, container, id;
	bool is_it;
	bool cut_front, missing;
	struct buf body;
};

/* ---- the question ---- */

static int read_number(struct api_call *call, const char *name, int64_t *ret, struct status *st)
{
	struct slice text = query_get(&call->query, name);
	int64_t number = 0;

	if (!text.len)
		return 0;
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] < '0' || text.ptr[i] > '9' || i > 12)
			return status_bad_request(
				st, "%s: invalid value '%.*s'", name, (int)text.len, text.ptr);
		number = number * 10 + text.ptr[i] - '0';
	}
	*ret = number;
	return 0;
}

static int read_since(struct api_call *call, struct log_question *q, struct status *st)
{
	struct slice time = query_get(&call->query, "sinceTime");
	int64_t seconds = -1;
	int rc = read_number(call, "sinceSeconds", &seconds, st);

	if (rc)
		return rc;
	if (seconds >= 0)
		q->since_ns = time_sub(player_tape_ns(call->api->player), seconds * NS_PER_S);
	if (time.len && !timestamp_parse(time, &q->since_shown_ns))
		return status_bad_request(st, "sinceTime: invalid value '%.*s'", (int)time.len, time.ptr);
	return 0;
}

static int read_question(struct api_call *call, struct log_question *q, struct status *st)
{
	int rc;

	*q = (struct log_question){
		.container = query_get(&call->query, "container"),
		.previous = query_true(&call->query, "previous"),
		.timestamps = query_true(&call->query, "timestamps"),
		.tail_lines = -1,
		.limit_bytes = -1,
		.since_ns = INT64_MIN,
		.since_shown_ns = INT64_MIN,
		.until_ns = INT64_MAX,
	};
	if ((rc = read_number(call, "tailLines", &q->tail_lines, st)) ||
		(rc = read_number(call, "limitBytes", &q->limit_bytes, st)))
		return rc;
	return read_since(call, q, st);
}

/* ---- the pod ---- */

/* The item of that name in a list of containers or of their statuses. */
static bool find_named(struct slice pod, const char *path, struct slice name, struct slice *ret)
{
	struct slice list, item;
	struct json_iter it;

	if (json_get(pod, path, &list, NULL) <= 0 || json_iter_begin(list, &it, NULL))
		return false;
	while (json_iter_next(&it, NULL, &item, NULL) > 0) {
		if (!slice_equal(json_get_text(item, "$.name"), name))
			continue;
		*ret = item;
		return true;
	}
	return false;
}

static bool has_container(struct slice pod, struct slice name)
{
	static const char *const lists[] = {
		"$.spec.containers", "$.spec.initContainers", "$.spec.ephemeralContainers"};
	struct slice item;

	for (size_t i = 0; i < COUNT_OF(lists); i++) {
		if (find_named(pod, lists[i], name, &item))
			return true;
	}
	return false;
}

/* The names, with a blank between them, and how many. */
static size_t list_containers(struct slice pod, struct buf *to)
{
	struct slice list, item;
	struct json_iter it;
	size_t count = 0;

	if (json_get(pod, "$.spec.containers", &list, NULL) <= 0 || json_iter_begin(list, &it, NULL))
		return 0;
	while (json_iter_next(&it, NULL, &item, NULL) > 0) {
		struct slice name = json_get_text(item, "$.name");

		(void)!buf_printf(to, NULL, "%s%.*s", count++ ? " " : "", (int)name.len, name.ptr);
	}
	return count;
}

static int choose_container(
	const struct api_call *call, struct slice pod, struct log_question *q, struct status *st)
{
	struct slice name = call->path.name;
	struct buf names;
	int rc = 0;

	if (q->container.len && !has_container(pod, q->container))
		return status_bad_request(st, "container %.*s is not valid for pod %.*s",
			(int)q->container.len, q->container.ptr, (int)name.len, name.ptr);
	if (q->container.len)
		return 0;
	buf_init(&names, LIMIT_OBJECT_BYTES);
	if (list_containers(pod, &names) == 1)
		q->container = json_get_text(pod, "$.spec.containers[0].name");
	else
		rc = status_bad_request(st,
			"a container name must be specified for pod %.*s, choose one of: [%.*s]",
			(int)name.len, name.ptr, (int)names.len, names.ptr);
	buf_release(&names);
	return rc;
}

static struct slice container_status(struct slice pod, struct slice container)
{
	static const char *const lists[] = {"$.status.containerStatuses", "$.status.initContainerStatuses",
		"$.status.ephemeralContainerStatuses"};
	struct slice status = {0};

	for (size_t i = 0; i < COUNT_OF(lists); i++) {
		if (find_named(pod, lists[i], container, &status))
			break;
	}
	return status;
}

/* Which life of the container is meant, as the kubelet decides; one that runs has written what it had by now. */
static int choose_life(const struct api_call *call, struct slice pod, struct log_question *q,
	struct slice *ret_id, struct status *st)
{
	struct slice status = container_status(pod, q->container), name = call->path.name, running;
	struct slice last = json_get_text(status, "$.lastState.terminated.containerID");
	struct slice ended = json_get_text(status, "$.state.terminated.containerID");

	if (q->previous && !last.len)
		return status_bad_request(st,
			"previous terminated container \"%.*s\" in pod \"%.*s\" not found",
			(int)q->container.len, q->container.ptr, (int)name.len, name.ptr);
	if (q->previous)
		*ret_id = last;
	else if (json_get(status, "$.state.running", &running, NULL) > 0) {
		*ret_id = json_get_text(status, "$.containerID");
		q->until_ns = player_tape_ns(call->api->player);
	} else
		*ret_id = ended.len ? ended : last;
	if (ret_id->len)
		return 0;
	return status_bad_request(st, "container \"%.*s\" in pod \"%.*s\" is waiting to start",
		(int)q->container.len, q->container.ptr, (int)name.len, name.ptr);
}

/* ---- the tape ---- */

static int is_log(void *context, const struct tape_document *d)
{
	struct pod_log log;

	(void)context;
	return pod_log_parse(d, &log);
}

/* The last one counts; one that has lines rather than one that says why it has none. */
static int look_at_document(void *context, const struct tape_document *d)
{
	struct log_found *f = context;
	struct pod_log log;

	if (!pod_log_parse(d, &log) || !slice_equal(log.container_id, f->id) ||
		!slice_equal(log.container, f->container) || !slice_equal(log.pod, f->pod) ||
		!slice_equal(log.namespace, f->namespace) || (f->is_it && !f->missing && log.missing))
		return 0;
	f->is_it = true;
	f->cut_front = log.cut_front;
	f->missing = log.missing;
	buf_clear(&f->body);
	return tape_document_body(f->tape, d->segment, d->id, &f->body, NULL);
}

static int refuse_missing(const struct log_found *f, const struct log_question *q, struct status *st)
{
	if (!f->is_it && q->until_ns != INT64_MAX)
		return status_bad_request(st,
			"the recording has the logs of containers that died; container \"%.*s\" was still running",
			(int)q->container.len, q->container.ptr);
	if (!f->is_it)
		return status_bad_request(st, "the recording does not have the log of container \"%.*s\"",
			(int)q->container.len, q->container.ptr);
	if (f->missing)
		return status_bad_request(st,
			"the recording does not have the log of container \"%.*s\": %.*s",
			(int)q->container.len, q->container.ptr, (int)f->body.len, f->body.ptr);
	return 0;
}

/* ---- the answer ---- */

/* One line, as it is shown. */
struct shown_line {
	char time[TIME_TEXT_BYTES]; /* "" if it is not known */
	struct slice text;
};

/* The next line that was asked for. */
static bool next_line(
	const struct api_call *call, const struct log_question *q, struct slice *rest, struct shown_line *ret)
{
	const struct rebase *rebase = call->api->world->rebase;
	struct slice time;
	int64_t time_ns, shown_ns;

	while (pod_log_line(rest, &time, &ret->text)) {
		*ret->time = 0;
		if (!timestamp_parse(time, &time_ns))
			return true;
		shown_ns = rebase ? rebase_time(rebase, time_ns) : time_ns;
		if (time_ns < q->since_ns || time_ns > q->until_ns || shown_ns < q->since_shown_ns)
			continue;
		time_format(ret->time, shown_ns);
		return true;
	}
	return false;
}

static int64_t count_lines(const struct api_call *call, const struct log_question *q, struct slice log)
{
	struct shown_line line;
	int64_t count = 0;

	while (next_line(call, q, &log, &line))
		count++;
	return count;
}

static void write_lines(const struct api_call *call, const struct log_question *q, struct slice log,
	int64_t skipped, struct buf *to)
{
	struct shown_line line;

	for (int64_t i = 0; next_line(call, q, &log, &line); i++) {
		if (i >= skipped)
			(void)!buf_printf(to, NULL, "%s%s%.*s\n", q->timestamps ? line.time : "",
				q->timestamps && *line.time ? " " : "", (int)line.text.len, line.text.ptr);
	}
	if (q->limit_bytes >= 0 && (uint64_t)q->limit_bytes < to->len)
		to->len = (size_t)q->limit_bytes;
}

static void answer_log(struct api_call *call, const struct log_question *q, const struct log_found *f)
{
	static const char warning[] = "299 - \"the recording has only the last lines of this log\"";
	int64_t count = count_lines(call, q, buf_slice(&f->body));
	bool is_tail = q->tail_lines >= 0 && q->tail_lines <= count;
	struct answer_headers h;
	struct buf text;

	buf_init(&text, LIMIT_DOCUMENT_BYTES);
	write_lines(call, q, buf_slice(&f->body), is_tail ? count - q->tail_lines : 0, &text);
	answer_headers_init(&h, call->request, "text/plain");
	if (f->cut_front && !is_tail)
		answer_headers_add(&h, "Warning", slice_of(warning));
	respond_bytes(call->x, &h, 200, text.len ? buf_slice(&text) : slice_of(""));
	buf_release(&text);
}

static int find_log(struct api_call *call, struct collection *pods, struct log_question *q,
	struct log_found *f, struct status *st)
{
	const struct live *l = live_set_find(&pods->live, call->path.namespace, call->path.name);
	struct slice pod;
	struct err err;
	int rc = read_question(call, q, st);

	if (rc)
		return rc;
	if (world_object(call->api->world, l->seq, &pod, &err))
		return status_set(st, 500, "InternalError", "Internal error occurred: %s", err.text);
	if (tape_each_document(f->tape, is_log, NULL, &err) == 0)
		return status_bad_request(st, "logs are not part of a recording");
	if ((rc = choose_container(call, pod, q, st)) || (rc = choose_life(call, pod, q, &f->id, st)))
		return rc;
	f->container = q->container;
	if (tape_each_document(f->tape, look_at_document, f, &err) < 0)
		return status_set(st, 500, "InternalError", "Internal error occurred: %s", err.text);
	return refuse_missing(f, q, st);
}

void pod_logs_serve(struct api_call *call, struct collection *pods)
{
	struct log_found f = {
		.tape = call->api->tape, .namespace = call->path.namespace, .pod = call->path.name};
	struct log_question q;
	struct status st = {0};

	buf_init(&f.body, LIMIT_DOCUMENT_BYTES);
	if (find_log(call, pods, &q, &f, &st))
		api_fail(call, &st);
	else
		answer_log(call, &q, &f);
	buf_release(&f.body);
}
