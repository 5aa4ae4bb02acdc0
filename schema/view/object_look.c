/* object_look.c: see object_look.h. */
#include "schema/view/object_look.h"

#include "schema/base/count_of.h"
#include "schema/base/json_scan.h"

#include <stdlib.h>

const char *look_state_name(enum look_state state)
{
	static const char *const names[] = {"Gone", "Present", "Ready", "Succeeded", "Running", "Pending",
		"Terminating", "Degraded", "CrashLoop", "Failed"};

	return names[state];
}

/* ---- reading ---- */

static struct slice value_at(struct slice json, const char *path)
{
	struct slice value;

	return json.len && json_get(json, path, &value, NULL) > 0 ? value : (struct slice){NULL, 0};
}

/* A string without its quotes; empty when it is something else. */
static struct slice text_at(struct slice json, const char *path)
{
	struct slice value = value_at(json, path);

	if (value.len < 2 || value.ptr[0] != '"')
		return (struct slice){NULL, 0};
	return (struct slice){value.ptr + 1, value.len - 2};
}

static int64_t number_at(struct slice json, const char *path, int64_t otherwise)
{
	struct slice value = value_at(json, path);
	char text[24];

	if (value.len == 0 || value.len >= sizeof(text) || (value.ptr[0] != '-' && value.ptr[0] < '0') ||
		value.ptr[0] > '9')
		return otherwise;
	memcpy(text, value.ptr, value.len);
	text[value.len] = 0;
	return strtoll(text, NULL, 10);
}

/* ---- conditions ---- */

/* Of the condition of that type: "True", "False", "Unknown", or empty. */
static struct slice condition(struct slice status, const char *type)
{
	struct slice all = value_at(status, "conditions"), item;
	struct json_iter it;

	if (!all.len || json_iter_begin(all, &it, NULL))
		return (struct slice){NULL, 0};
	while (json_iter_next(&it, NULL, &item, NULL) > 0) {
		if (slice_is(text_at(item, "type"), type))
			return text_at(item, "status");
	}
	return (struct slice){NULL, 0};
}

/* ---- pods ---- */

static void look_at_container(struct slice container, struct object_look *ret)
{
	struct slice waiting = text_at(container, "state.waiting.reason");

	ret->restarts += number_at(container, "restartCount", 0);
	ret->oom_killed |= slice_is(text_at(container, "lastState.terminated.reason"), "OOMKilled") ||
			   slice_is(text_at(container, "state.terminated.reason"), "OOMKilled");
	if (slice_is(waiting, "CrashLoopBackOff") || slice_is(waiting, "ImagePullBackOff") ||
		slice_is(waiting, "ErrImagePull") || slice_begins(waiting, "CreateContainer"))
		ret->state = LOOK_CRASHING;
}

static void look_at_containers(struct slice status, const char *member, struct object_look *ret)
{
	struct slice all = value_at(status, member), item;
	struct json_iter it;

	if (!all.len || json_iter_begin(all, &it, NULL))
		return;
	while (json_iter_next(&it, NULL, &item, NULL) > 0)
		look_at_container(item, ret);
}

static void look_at_pod(struct slice status, struct object_look *ret)
{
	struct slice phase = text_at(status, "phase");

	if (slice_is(phase, "Pending"))
		ret->state = LOOK_PENDING;
	else if (slice_is(phase, "Running"))
		ret->state = slice_is(condition(status, "Ready"), "True") ? LOOK_READY : LOOK_RUNNING;
	else if (slice_is(phase, "Succeeded"))
		ret->state = LOOK_SUCCEEDED;
	look_at_containers(status, "containerStatuses", ret);
	look_at_containers(status, "initContainerStatuses", ret);
	if (slice_is(phase, "Failed"))
		ret->state = LOOK_FAILED;
}

/* ---- everything else ---- */

static enum look_state state_of_phase(struct slice phase)
{
	static const struct {
		const char *phase;
		enum look_state state;
	} rows[] = {{"Active", LOOK_READY}, {"Bound", LOOK_READY}, {"Available", LOOK_READY},
		{"Ready", LOOK_READY}, {"Running", LOOK_READY}, {"Pending", LOOK_PENDING},
		{"Succeeded", LOOK_SUCCEEDED}, {"Failed", LOOK_FAILED}, {"Lost", LOOK_FAILED},
		{"Terminating", LOOK_TERMINATING}, {"Unknown", LOOK_DEGRADED}};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		if (slice_is(phase, rows[i].phase))
			return rows[i].state;
	}
	return LOOK_PRESENT;
}

static bool is_false(struct slice condition_status)
{
	return slice_is(condition_status, "False") || slice_is(condition_status, "Unknown");
}

static enum look_state state_of_conditions(struct slice status)
{
	static const char *const good[] = {"Ready", "Available", "Established"};

	if (slice_is(condition(status, "Failed"), "True") || is_false(condition(status, "Progressing")))
		return LOOK_FAILED;
	if (slice_is(condition(status, "Complete"), "True"))
		return LOOK_SUCCEEDED;
	for (size_t i = 0; i < COUNT_OF(good); i++) {
		struct slice found = condition(status, good[i]);

		if (is_false(found))
			return LOOK_DEGRADED;
		if (slice_is(found, "True"))
			return LOOK_READY;
	}
	return state_of_phase(text_at(status, "phase"));
}

static void look_at_replicas(struct slice spec, struct slice status, struct object_look *ret)
{
	int64_t wanted = number_at(spec, "replicas", -1);

	if (wanted < 0)
		wanted = number_at(status, "desiredNumberScheduled", -1);
	if (wanted < 0)
		return;
	ret->wanted = wanted;
	ret->ready = number_at(status, "readyReplicas", number_at(status, "numberReady", 0));
	if (ret->state > LOOK_READY)
		return;
	if (ret->ready < wanted)
		ret->state = LOOK_RUNNING;
	else if (wanted > 0)
		ret->state = LOOK_READY;
}

static void look_at_other(struct slice object, struct object_look *ret)
{
	struct slice status = value_at(object, "status");

	if (status.len)
		ret->state = state_of_conditions(status);
	look_at_replicas(value_at(object, "spec"), status, ret);
}

/* ---- the whole ---- */

static void look_at_owner(struct slice metadata, struct object_look *ret)
{
	struct slice all = value_at(metadata, "ownerReferences"), item;
	struct json_iter it;

	if (!all.len || json_iter_begin(all, &it, NULL))
		return;
	while (json_iter_next(&it, NULL, &item, NULL) > 0) {
		bool controls = slice_is(value_at(item, "controller"), "true");

		if (ret->owner.len && !controls)
			continue;
		ret->owner_kind = text_at(item, "kind");
		ret->owner_api = text_at(item, "apiVersion");
		ret->owner = text_at(item, "name");
		if (controls)
			return;
	}
}

static void look_at_event(struct slice object, struct object_look *ret)
{
	struct slice about = value_at(object, "involvedObject");

	if (!about.len)
		about = value_at(object, "regarding");
	ret->is_warning = slice_is(text_at(object, "type"), "Warning");
	ret->about_kind = text_at(about, "kind");
	ret->about_api = text_at(about, "apiVersion");
	ret->about_namespace = text_at(about, "namespace");
	ret->about_name = text_at(about, "name");
}

void object_look(struct slice resource, struct slice object, struct object_look *ret)
{
	struct slice metadata = value_at(object, "metadata");

	*ret = (struct object_look){.state = LOOK_PRESENT, .wanted = -1};
	if (slice_is(resource, "events")) {
		look_at_event(object, ret);
		return;
	}
	ret->generation = number_at(metadata, "generation", 0);
	look_at_owner(metadata, ret);
	if (slice_is(resource, "pods"))
		look_at_pod(value_at(object, "status"), ret);
	else
		look_at_other(object, ret);
	if (text_at(metadata, "deletionTimestamp").len)
		ret->state = LOOK_TERMINATING;
}
