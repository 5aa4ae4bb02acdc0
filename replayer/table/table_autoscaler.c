/* table_autoscaler.c: what a HorizontalPodAutoscaler aims at and where it stands, "cpu: 40%/80%"; see
 * table_writers.h. */
#include "replayer/table/table_writers.h"
#include "schema/base/count_of.h"

#include <stdlib.h>

#define UNKNOWN    "<unknown>"
#define LISTED_MAX 2 /* of metrics; the rest is counted */

/* Each type of metric has its own member in spec and status; some have a name in front of the values. */
static const struct metric_type {
	const char *type, *member, *name;
	bool says_average;
} types[] = {{"External", "external", NULL, true}, {"Pods", "pods", NULL, false},
	{"Object", "object", NULL, true}, {"Resource", "resource", "resource.name", false},
	{"ContainerResource", "containerResource", "containerResource.name", false}};

static const struct metric_type *type_of(const cJSON *metric)
{
	for (size_t i = 0; i < COUNT_OF(types); i++) {
		if (strcmp(cell_string(metric, "type", ""), types[i].type) == 0)
			return &types[i];
	}
	return NULL;
}

static char *percentage(const cJSON *at, const char *path, const char *otherwise)
{
	int64_t value = cell_integer(at, path, -1);

	return value < 0 ? xstrdup(otherwise) : xasprintf("%lld%%", (long long)value);
}

/* "now/target" of two percentages; the caller frees. */
static char *percentages(const cJSON *now, const char *now_path, const cJSON *target, const char *target_path,
	const char *name, const char *when_unset)
{
	char *from = percentage(now, now_path, UNKNOWN), *to = percentage(target, target_path, when_unset);
	char *text = xasprintf("%s: %s/%s", name, from, to);

	free(from);
	free(to);
	return text;
}

/* Of one metric; status may lack it. The caller frees. */
static char *metric_text(const cJSON *spec, const cJSON *status)
{
	const struct metric_type *type = type_of(spec);
	const cJSON *target, *now;
	const char *path, *name;

	if (!type)
		return xstrdup("<unknown type>");
	target = cell_at(cell_at(spec, type->member), "target");
	now = cell_at(cell_at(status, type->member), "current");
	name = type->name ? cell_string(spec, type->name, "") : "";
	path = cell_at(target, "averageValue") ? "averageValue" : "value";
	if (type->name && strcmp(path, "value") == 0)
		return percentages(now, "averageUtilization", target, "averageUtilization", name, "<auto>");
	return xasprintf("%s%s%s/%s%s", name, *name ? ": " : "", cell_string(now, path, UNKNOWN),
		cell_string(target, path, UNKNOWN),
		type->says_average && strcmp(path, "value") != 0 ? " (avg)" : "");
}

int cell_autoscaler_reference(const struct table_cell *c)
{
	const cJSON *target = cell_at(c->object, "spec.scaleTargetRef");

	return cell_put_format(c, "%s/%s", cell_string(target, "kind", ""), cell_string(target, "name", ""));
}

/* Version 1 knows of no other metric than this one. */
static int put_cpu(const struct table_cell *c)
{
	static const char target[] = "spec.targetCPUUtilizationPercentage";
	char *text;
	int rc;

	if (!cell_at(c->object, target))
		return cell_put_text(c, "<none>");
	text = percentages(
		c->object, "status.currentCPUUtilizationPercentage", c->object, target, "cpu", UNKNOWN);
	rc = cell_put_text(c, text);
	free(text);
	return rc;
}

int cell_autoscaler_targets(const struct table_cell *c)
{
	const cJSON *metrics = cell_at(c->object, "spec.metrics");
	const cJSON *now = cell_at(c->object, "status.currentMetrics");
	int count = cJSON_GetArraySize(metrics);
	struct cell_joined shown = {0};
	char *text;

	if (count == 0)
		return put_cpu(c);
	for (int i = 0; i < count && i < LISTED_MAX; i++) {
		text = metric_text(cJSON_GetArrayItem(metrics, i), cJSON_GetArrayItem(now, i));
		cell_join(&shown, ", ", text);
		free(text);
	}
	if (count > LISTED_MAX) {
		text = xasprintf("+ %d more...", count - LISTED_MAX);
		cell_join(&shown, " ", text);
		free(text);
	}
	return cell_put_joined(c, &shown, "<none>");
}
