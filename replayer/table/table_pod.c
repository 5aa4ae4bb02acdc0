/*
 * table_pod.c: see table_pod.h. The rules are those by which the API server sums up a pod: the first init
 * container that is not done decides; then the first container that waits or has ended; deletion last.
 */
#include "replayer/table/table_pod.h"

#include "replayer/table/age.h"

#include <stdio.h>

#define WORD_MAX 128

struct pod_summary {
	int ready, total;
	int64_t restarts;
	const char *last_restart;  /* RFC 3339 text of the latest end of a restarted container, "" none */
	char status[WORD_MAX + 8]; /* with "Init:" */
};

static void set_status(struct pod_summary *s, const char *prefix, const char *word)
{
	snprintf(s->status, sizeof(s->status), "%s%s", prefix, word);
}

/* Times of one server have one form, so their texts compare as they do. */
static void count_restarts(struct pod_summary *s, const cJSON *status)
{
	const char *ended = cell_string(status, "lastState.terminated.finishedAt", "");

	s->restarts += cell_integer(status, "restartCount", 0);
	if (strcmp(ended, s->last_restart) > 0)
		s->last_restart = ended;
}

/* Why a container ended: its reason, else its signal or exit code. */
static void set_ended(struct pod_summary *s, const char *prefix, const cJSON *ended)
{
	const char *reason = cell_string(ended, "reason", "");
	int64_t signal = cell_integer(ended, "signal", 0);
	char word[WORD_MAX];

	if (*reason) {
		set_status(s, prefix, reason);
		return;
	}
	snprintf(word, sizeof(word), "%s:%lld", signal ? "Signal" : "ExitCode",
		(long long)(signal ? signal : cell_integer(ended, "exitCode", 0)));
	set_status(s, prefix, word);
}

/* An init container that goes on running beside the others. */
static bool is_sidecar(const cJSON *pod, const char *name)
{
	const cJSON *container = cell_entry(cell_at(pod, "spec.initContainers"), "name", name);

	return container && strcmp(cell_string(container, "restartPolicy", ""), "Always") == 0;
}

/* True when this init container is done, or runs as it should. */
static bool init_is_past(struct pod_summary *s, const cJSON *status, bool sidecar)
{
	const cJSON *ended = cell_at(status, "state.terminated");

	if (ended && cell_integer(ended, "exitCode", 0) == 0)
		return true;
	if (!sidecar || !cJSON_IsTrue(cell_at(status, "started")))
		return false;
	s->ready += cJSON_IsTrue(cell_at(status, "ready"));
	return true;
}

static void describe_init(struct pod_summary *s, const cJSON *pod, const cJSON *status, int index)
{
	const cJSON *ended = cell_at(status, "state.terminated");
	const char *waits_for = cell_string(status, "state.waiting.reason", "");

	if (ended) {
		set_ended(s, "Init:", ended);
	} else if (*waits_for && strcmp(waits_for, "PodInitializing") != 0) {
		set_status(s, "Init:", waits_for);
	} else {
		char progress[WORD_MAX];

		snprintf(progress, sizeof(progress), "%d/%d", index,
			cJSON_GetArraySize(cell_at(pod, "spec.initContainers")));
		set_status(s, "Init:", progress);
	}
}

/* True while init containers decide. Sidecars' restarts are counted apart: they go on counting afterwards. */
static bool sum_up_init(struct pod_summary *s, struct pod_summary *sidecars, const cJSON *pod)
{
	const cJSON *status;
	int index = 0;

	cJSON_ArrayForEach(status, cell_at(pod, "status.initContainerStatuses"))
	{
		bool sidecar = is_sidecar(pod, cell_string(status, "name", ""));

		count_restarts(s, status);
		if (sidecar)
			count_restarts(sidecars, status);
		if (!init_is_past(s, status, sidecar)) {
			describe_init(s, pod, status, index);
			return true;
		}
		index++;
	}
	return false;
}

static void sum_up_containers(struct pod_summary *s, const cJSON *pod)
{
	const cJSON *statuses = cell_at(pod, "status.containerStatuses");
	char failed[sizeof(s->status)] = "";
	bool running = false;

	for (int i = cJSON_GetArraySize(statuses) - 1; i >= 0; i--) {
		const cJSON *status = cJSON_GetArrayItem(statuses, i);
		const cJSON *ended = cell_at(status, "state.terminated");
		const char *waits_for = cell_string(status, "state.waiting.reason", "");

		count_restarts(s, status);
		if (*waits_for) {
			set_status(s, "", waits_for);
		} else if (ended) {
			set_ended(s, "", ended);
			if (cell_integer(ended, "exitCode", 0) != 0)
				snprintf(failed, sizeof(failed), "%s", s->status);
		} else if (cJSON_IsTrue(cell_at(status, "ready")) && cell_at(status, "state.running")) {
			running = true;
			s->ready++;
		}
	}
	if (strcmp(s->status, "Completed") != 0)
		return;
	if (running && cell_has_condition(pod, "Ready"))
		set_status(s, "", "Running");
	else if (*failed)
		set_status(s, "", failed);
	else if (running)
		set_status(s, "", "NotReady");
}

static void table_pod_begin(struct pod_summary *s, const cJSON *pod)
{
	const cJSON *scheduled = cell_entry(cell_at(pod, "status.conditions"), "type", "PodScheduled");
	const cJSON *container;
	const char *reason = cell_string(pod, "status.reason", "");

	*s = (struct pod_summary){.last_restart = ""};
	set_status(s, "", *reason ? reason : cell_string(pod, "status.phase", ""));
	if (scheduled && strcmp(cell_string(scheduled, "reason", ""), "SchedulingGated") == 0)
		set_status(s, "", "SchedulingGated");
	s->total = cJSON_GetArraySize(cell_at(pod, "spec.containers"));
	cJSON_ArrayForEach(container, cell_at(pod, "spec.initContainers"))
	{
		s->total += strcmp(cell_string(container, "restartPolicy", ""), "Always") == 0;
	}
}

static void sum_up(const cJSON *pod, struct pod_summary *ret)
{
	struct pod_summary *s = ret, sidecars = {.last_restart = ""};
	const char *phase = cell_string(pod, "status.phase", "");
	bool over = strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;

	table_pod_begin(s, pod);
	if (!sum_up_init(s, &sidecars, pod) || cell_has_condition(pod, "Initialized")) {
		s->restarts = sidecars.restarts;
		s->last_restart = sidecars.last_restart;
		sum_up_containers(s, pod);
	}
	if (!cell_at(pod, "metadata.deletionTimestamp"))
		return;
	if (strcmp(cell_string(pod, "status.reason", ""), "NodeLost") == 0)
		set_status(s, "", "Unknown");
	else if (!over)
		set_status(s, "", "Terminating");
}

int pod_cell_ready(const struct table_cell *c)
{
	struct pod_summary s;

	sum_up(c->object, &s);
	return cell_put_format(c, "%d/%d", s.ready, s.total);
}

int pod_cell_status(const struct table_cell *c)
{
	struct pod_summary s;

	sum_up(c->object, &s);
	return cell_put_text(c, s.status);
}

int pod_cell_restarts(const struct table_cell *c)
{
	struct pod_summary s;
	char age[AGE_TEXT_MAX];

	sum_up(c->object, &s);
	if (s.restarts == 0 || !*s.last_restart)
		return cell_put_format(c, "%lld", (long long)s.restarts);
	return cell_put_format(c, "%lld (%s ago)", (long long)s.restarts,
		age_format(age, slice_of(s.last_restart), c->now_ns));
}

int pod_cell_ip(const struct table_cell *c)
{
	const cJSON *first = cJSON_GetArrayItem(cell_at(c->object, "status.podIPs"), 0);
	const char *ip = cell_string(first, "ip", "");

	return cell_put_text(c, *ip ? ip : "<none>");
}

int pod_cell_gates(const struct table_cell *c)
{
	const cJSON *gates = cell_at(c->object, "spec.readinessGates"), *gate;
	int open = 0, count = cJSON_GetArraySize(gates);

	if (count == 0)
		return cell_put_text(c, "<none>");
	cJSON_ArrayForEach(gate, gates)
	{
		open += cell_has_condition(c->object, cell_string(gate, "conditionType", ""));
	}
	return cell_put_format(c, "%d/%d", open, count);
}
