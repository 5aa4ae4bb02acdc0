/* pod_log.c: see pod_log.h. */
#include "schema/tape/pod_log.h"

#include "schema/base/timestamp.h"

#include <stdlib.h>

#define TYPE_WHOLE     "text/plain"
#define TYPE_CUT_FRONT "text/plain; cut=front"
#define TYPE_CUT_END   "text/plain; cut=end"
#define TYPE_CUT_BOTH  "text/plain; cut=both"

#define RESTART_DIGITS 9

static bool is_plain(struct slice text, const char *without)
{
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] <= ' ' || text.ptr[i] > '~' || strchr(without, text.ptr[i]))
			return false;
	}
	return text.len > 0;
}

bool pod_log_is_nameable(const struct pod_log *log)
{
	static const char not_in_names[] = "/%?#&+\"\\";

	return is_plain(log->namespace, not_in_names) && is_plain(log->pod, not_in_names) &&
	       is_plain(log->container, not_in_names) && is_plain(log->uid, "") &&
	       is_plain(log->container_id, "");
}

char *pod_log_path(const struct pod_log *log)
{
	return xasprintf("/api/v1/namespaces/%.*s/pods/%.*s/log", (int)log->namespace.len, log->namespace.ptr,
		(int)log->pod.len, log->pod.ptr);
}

char *pod_log_variant(const struct pod_log *log)
{
	return xasprintf("log %.*s %u %.*s %.*s", (int)log->container.len, log->container.ptr, log->restart,
		(int)log->uid.len, log->uid.ptr, (int)log->container_id.len, log->container_id.ptr);
}

const char *pod_log_content_type(const struct pod_log *log)
{
	if (log->cut_front)
		return log->cut_end ? TYPE_CUT_BOTH : TYPE_CUT_FRONT;
	return log->cut_end ? TYPE_CUT_END : TYPE_WHOLE;
}

static bool parse_restart(struct slice digits, uint32_t *ret)
{
	uint32_t number = 0;

	for (size_t i = 0; i < digits.len; i++) {
		if (digits.ptr[i] < '0' || digits.ptr[i] > '9')
			return false;
		number = number * 10 + (uint32_t)(digits.ptr[i] - '0');
	}
	*ret = number;
	return digits.len > 0 && digits.len <= RESTART_DIGITS;
}

static bool parse_path(struct slice path, struct pod_log *to)
{
	if (!slice_skip(&path, "/api/v1/namespaces/"))
		return false;
	to->namespace = slice_cut(&path, '/');
	if (!path.ptr || !slice_skip(&path, "pods/"))
		return false;
	to->pod = slice_cut(&path, '/');
	return path.ptr && slice_is(path, "log");
}

static bool parse_variant(struct slice variant, struct pod_log *to)
{
	struct slice restart;

	if (!slice_skip(&variant, "log "))
		return false;
	to->container = slice_cut(&variant, ' ');
	restart = slice_cut(&variant, ' ');
	to->uid = slice_cut(&variant, ' ');
	to->container_id = variant;
	return variant.ptr && parse_restart(restart, &to->restart);
}

bool pod_log_parse(const struct tape_document *d, struct pod_log *ret)
{
	struct pod_log log = {.missing = d->http_status != 200};

	if (!parse_variant(slice_of(d->variant), &log) || !parse_path(slice_of(d->path), &log))
		return false;
	log.cut_front =
		strcmp(d->content_type, TYPE_CUT_FRONT) == 0 || strcmp(d->content_type, TYPE_CUT_BOTH) == 0;
	log.cut_end =
		strcmp(d->content_type, TYPE_CUT_END) == 0 || strcmp(d->content_type, TYPE_CUT_BOTH) == 0;
	*ret = log;
	return true;
}

bool pod_log_line(struct slice *log, struct slice *ret_time, struct slice *ret_text)
{
	struct slice line, text;

	if (!log->ptr || !log->len)
		return false;
	line = slice_cut(log, '\n');
	text = line;
	*ret_time = slice_cut(&text, ' ');
	if (timestamp_parse(*ret_time, NULL)) {
		*ret_text = text.ptr ? text : (struct slice){line.ptr + line.len, 0};
		return true;
	}
	*ret_time = (struct slice){0};
	*ret_text = line;
	return true;
}
