/* container_death.c: see container_death.h. */
#include "recorder/container_death.h"

#include "schema/base/count_of.h"
#include "schema/base/json_scan.h"
#include "schema/base/timestamp.h"

#include <stdlib.h>

struct death_walk {
	bool restarts, is_deleted; /* what the pod does with its containers; that it is being deleted */
	bool is_main;              /* neither an init container nor an ephemeral one */
	void (*each)(void *context, const struct container_death *death);
	void *context;
};

static bool find(struct slice json, const char *path, struct slice *ret)
{
	return json_get(json, path, ret, NULL) > 0;
}

/* Without its quotes; names and ids have no escapes. */
static struct slice text_at(struct slice json, const char *path)
{
	struct slice text;

	if (!find(json, path, &text) || text.len < 2 || *text.ptr != '"')
		return (struct slice){0};
	return (struct slice){text.ptr + 1, text.len - 2};
}

/* 0 for a number that is absent or negative. */
static uint32_t number_at(struct slice json, const char *path)
{
	struct slice digits;
	uint32_t number = 0;

	if (!find(json, path, &digits) || digits.len > 9)
		return 0;
	for (size_t i = 0; i < digits.len && digits.ptr[i] >= '0' && digits.ptr[i] <= '9'; i++)
		number = number * 10 + (uint32_t)(digits.ptr[i] - '0');
	return number;
}

static bool is_good_end(const struct death_walk *w, struct slice terminated)
{
	struct slice code;
	bool is_zero = find(terminated, "$.exitCode", &code) && slice_is(code, "0");

	return is_zero && (!w->is_main || !w->restarts || w->is_deleted);
}

static void tell_death(
	const struct death_walk *w, struct slice status, struct slice terminated, bool previous)
{
	struct slice running;
	uint32_t restarts = number_at(status, "$.restartCount");
	bool has_begun_again = previous && !(find(status, "$.state.waiting", &running) && running.len);
	struct container_death death = {
		.container = text_at(status, "$.name"),
		.container_id = text_at(terminated, "$.containerID"),
		.restart = restarts - (has_begun_again && restarts),
		.previous = previous,
	};

	if (!timestamp_parse(text_at(terminated, "$.finishedAt"), &death.finished_ns))
		death.finished_ns = 0;
	if (death.container.len && !is_good_end(w, terminated))
		w->each(w->context, &death);
}

static void look_at_status(const struct death_walk *w, struct slice status)
{
	struct slice terminated;

	if (find(status, "$.lastState.terminated", &terminated) && *terminated.ptr == '{')
		tell_death(w, status, terminated, true);
	if (find(status, "$.state.terminated", &terminated) && *terminated.ptr == '{')
		tell_death(w, status, terminated, false);
}

static void look_at_list(struct death_walk *w, struct slice pod, const char *path)
{
	struct slice list, status;
	struct json_iter it;

	if (!find(pod, path, &list) || json_iter_begin(list, &it, NULL))
		return;
	while (json_iter_next(&it, NULL, &status, NULL) > 0)
		look_at_status(w, status);
}

void container_deaths(
	struct slice pod, void (*each)(void *context, const struct container_death *death), void *context)
{
	static const char word[] = "\"terminated\"";
	static const char *const others[] = {
		"$.status.initContainerStatuses", "$.status.ephemeralContainerStatuses"};
	struct death_walk w = {.each = each, .context = context};

	if (!memmem(pod.ptr, pod.len, word, sizeof(word) - 1))
		return;
	w.restarts = slice_is(text_at(pod, "$.spec.restartPolicy"), "Always");
	w.is_deleted = text_at(pod, "$.metadata.deletionTimestamp").len > 0;
	w.is_main = true;
	look_at_list(&w, pod, "$.status.containerStatuses");
	w.is_main = false;
	for (size_t i = 0; i < COUNT_OF(others); i++)
		look_at_list(&w, pod, others[i]);
}
