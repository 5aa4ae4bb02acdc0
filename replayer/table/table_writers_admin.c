/* table_writers_admin.c: cells of kinds that only administrators meet: quotas, policies, certificates,
 * storage, devices; see table_writers.h. */
#include "replayer/table/age.h"
#include "replayer/table/table_writers.h"
#include "schema/base/clock.h"

#include <stdlib.h>

int cell_component(const struct table_cell *c)
{
	const cJSON *healthy = cell_entry(cell_at(c->object, "conditions"), "type", "Healthy");

	if (c->column->a)
		return cell_put_text(c, cell_string(healthy, c->column->a, ""));
	if (!healthy)
		return cell_put_text(c, "Unknown");
	return cell_put_text(
		c, strcmp(cell_string(healthy, "status", ""), "True") == 0 ? "Healthy" : "Unhealthy");
}

/* ---- quotas ---- */

int cell_quota(const struct table_cell *c)
{
	const cJSON *used = cell_at(c->object, "status.used");
	bool limits = strcmp(c->column->a, "limits") == 0;
	struct cell_joined j = {0};
	size_t n;
	const cJSON **hard = cell_sorted(cell_at(c->object, "status.hard"), &n);

	for (size_t i = 0; i < n; i++) {
		const char *name = hard[i]->string, *most = cJSON_GetStringValue(hard[i]);
		const char *now = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(used, name));
		char *text = xasprintf("%s: %s/%s", name, now ? now : "0", most ? most : "0");

		if (limits == (strncmp(name, "limits.", strlen("limits.")) == 0))
			cell_join(&j, ", ", text);
		free(text);
	}
	free(hard);
	return cell_put_joined(c, &j, "");
}

/* ---- references ---- */

/* "Kind.group" in lower case, as the API server writes a kind or resource of a group. */
static char *lower_name(const char *name, const char *group, size_t group_len)
{
	char *text = xasprintf("%s%s%.*s", name, group_len ? "." : "", (int)group_len, group);

	for (char *at = text; *at; at++) {
		if (*at >= 'A' && *at <= 'Z')
			*at = (char)(*at - 'A' + 'a');
	}
	return text;
}

static const cJSON *controller_of(const cJSON *object)
{
	const cJSON *owner;

	cJSON_ArrayForEach(owner, cell_at(object, "metadata.ownerReferences"))
	{
		if (cJSON_IsTrue(cell_at(owner, "controller")))
			return owner;
	}
	return NULL;
}

int cell_controller(const struct table_cell *c)
{
	const cJSON *owner = controller_of(c->object);
	const char *version = cell_string(owner, "apiVersion", ""), *slash = strchr(version, '/');
	char *kind;
	int rc;

	if (!owner)
		return cell_put_text(c, "<none>");
	kind = lower_name(cell_string(owner, "kind", ""), version, slash ? (size_t)(slash - version) : 0);
	rc = cell_put_format(c, "%s/%s", kind, cell_string(owner, "name", ""));
	free(kind);
	return rc;
}

int cell_parent(const struct table_cell *c)
{
	const cJSON *parent = cell_at(c->object, "spec.parentRef");
	const char *group = cell_string(parent, "group", ""),
		   *namespace = cell_string(parent, "namespace", "");
	char *resource;
	int rc;

	if (!parent)
		return cell_put_text(c, "<none>");
	resource = lower_name(cell_string(parent, "resource", ""), group, strlen(group));
	rc = cell_put_format(
		c, "%s%s%s/%s", resource, *namespace ? "/" : "", namespace, cell_string(parent, "name", ""));
	free(resource);
	return rc;
}

int cell_strings(const struct table_cell *c)
{
	const cJSON *list = cell_at(c->object, c->column->a), *entry;
	struct cell_joined j = {0};

	cJSON_ArrayForEach(entry, list)
	{
		cell_join(&j, ",", cJSON_IsString(entry) ? entry->valuestring : "");
	}
	return cell_put_joined(c, &j, c->column->b);
}

/* ---- admission policies ---- */

int cell_param_kind(const struct table_cell *c)
{
	const cJSON *kind = cell_at(c->object, "spec.paramKind");

	if (!kind)
		return cell_put_text(c, "<unset>");
	return cell_put_format(
		c, "%s/%s", cell_string(kind, "apiVersion", ""), cell_string(kind, "kind", ""));
}

/* Takes over what was joined; the caller frees. */
static char *joined_text(struct cell_joined *j)
{
	char *text = slice_dup(j->count ? buf_slice(&j->text) : slice_of(""));

	buf_release(&j->text);
	*j = (struct cell_joined){0};
	return text;
}

static void join_requirement(struct cell_joined *j, const cJSON *requirement)
{
	struct cell_joined values = {0};
	const cJSON *value;
	char *listed, *text;

	cJSON_ArrayForEach(value, cell_at(requirement, "values"))
	{
		cell_join(&values, " ", cJSON_IsString(value) ? value->valuestring : "");
	}
	listed = joined_text(&values);
	text = xasprintf("LabelSelectorRequirement{Key:%s,Operator:%s,Values:[%s],},",
		cell_string(requirement, "key", ""), cell_string(requirement, "operator", ""), listed);
	cell_join(j, "", text);
	free(listed);
	free(text);
}

/* A selector as Go prints its own types. */
static int put_selector(const struct table_cell *c, const cJSON *selector)
{
	struct cell_joined j = {0};
	size_t n;
	const cJSON **labels = cell_sorted(cell_at(selector, "matchLabels"), &n), *requirement;

	cell_join(&j, "", "&LabelSelector{MatchLabels:map[string]string{");
	for (size_t i = 0; i < n; i++) {
		char *text = xasprintf("%s: %s,", labels[i]->string,
			cJSON_IsString(labels[i]) ? labels[i]->valuestring : "");

		cell_join(&j, "", text);
		free(text);
	}
	cell_join(&j, "", "},MatchExpressions:[]LabelSelectorRequirement{");
	cJSON_ArrayForEach(requirement, cell_at(selector, "matchExpressions"))
	{
		join_requirement(&j, requirement);
	}
	cell_join(&j, "", "},}");
	free(labels);
	return cell_put_joined(c, &j, "");
}

int cell_param_ref(const struct table_cell *c)
{
	const cJSON *ref = cell_at(c->object, "spec.paramRef"), *selector = cell_at(ref, "selector");
	const char *name = cell_string(ref, "name", ""), *namespace = cell_string(ref, "namespace", "");

	if (*name)
		return cell_put_format(c, "%s/%s", *namespace ? namespace : "*", name);
	return selector ? put_selector(c, selector) : cell_put_text(c, "<unset>");
}

/* ---- certificates ---- */

int cell_seconds(const struct table_cell *c)
{
	int64_t seconds = cell_integer(c->object, c->column->a, -1);
	char text[AGE_TEXT_MAX];

	if (seconds < 0)
		return cell_put_text(c, "<none>");
	return cell_put_text(c, age_of_ns(text, seconds * NS_PER_S));
}

int cell_request_state(const struct table_cell *c)
{
	const cJSON *conditions = cell_at(c->object, "status.conditions");
	const char *decided = cell_entry(conditions, "type", "Denied")     ? "Denied"
			      : cell_entry(conditions, "type", "Approved") ? "Approved"
									   : "Pending";

	return cell_put_format(c, "%s%s%s", decided,
		cell_entry(conditions, "type", "Failed") ? ",Failed" : "",
		*cell_string(c->object, "status.certificate", "") ? ",Issued" : "");
}

/* ---- storage and devices ---- */

int cell_true_unless_false(const struct table_cell *c)
{
	return buf_printf(c->to, c->err, cJSON_IsFalse(cell_at(c->object, c->column->a)) ? "false" : "true");
}

int cell_token_requests(const struct table_cell *c)
{
	const cJSON *requests = cell_at(c->object, "spec.tokenRequests"), *entry;
	struct cell_joined j = {0};

	cJSON_ArrayForEach(entry, requests)
	{
		cell_join(&j, ",", cell_string(entry, "audience", ""));
	}
	return cell_put_joined(c, &j, requests ? "" : "<unset>");
}

int cell_claim_state(const struct table_cell *c)
{
	bool deleted = cell_at(c->object, "metadata.deletionTimestamp");
	bool reserved = cJSON_GetArraySize(cell_at(c->object, "status.reservedFor")) > 0;

	if (cell_at(c->object, "status.allocation"))
		return cell_put_format(
			c, "%sallocated%s", deleted ? "deleted," : "", reserved ? ",reserved" : "");
	return cell_put_text(c, deleted ? "deleted" : "pending");
}

int cell_age_or_nothing(const struct table_cell *c)
{
	const char *time = cell_string(c->object, c->column->a, "");

	return *time ? cell_put_age(c, time) : cell_put_text(c, "");
}
