/* write_scale.c: the subresource scale, which is made of an object and changes its replicas; see
 * write_internal.h. */
#include "replayer/world/crd.h"
#include "replayer/write/write_internal.h"
#include "schema/base/count_of.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"

#include <stdlib.h>

/* Where an object keeps what a Scale shows: paths as in a CRD, ".spec.replicas". */
struct scale_paths {
	char *replicas, *status_replicas, *selector;
};

static char *path_at(struct slice subresource, const char *member)
{
	struct slice found;

	if (json_get(subresource, member, &found, NULL) <= 0 || found.len < 2)
		return NULL;
	return slice_dup((struct slice){found.ptr + 1, found.len - 2});
}

static void release_paths(struct scale_paths *p)
{
	free(p->replicas);
	free(p->status_replicas);
	free(p->selector);
}

struct paths_question {
	const struct write *w;
	struct scale_paths *ret;
};

static int read_crd(void *context)
{
	struct paths_question *q = context;
	const struct collection *c = q->w->c;
	struct slice crd, scale;

	if (!crd_find(q->w->call->api->world, c, &crd) ||
		!crd_says(crd, c->resource.version, "subresources.scale", &scale))
		return ERR_NOT_FOUND;
	*q->ret = (struct scale_paths){path_at(scale, "specReplicasPath"),
		path_at(scale, "statusReplicasPath"), path_at(scale, "labelSelectorPath")};
	if (q->ret->replicas)
		return 0;
	release_paths(q->ret);
	return ERR_NOT_FOUND;
}

static bool find_paths(struct write *w, struct scale_paths *ret)
{
	struct paths_question q = {w, ret};

	if (w->c->custom)
		return write_in_world(w, read_crd, &q) == 0;
	*ret = (struct scale_paths){xstrdup(".spec.replicas"), xstrdup(".status.replicas"), NULL};
	return true;
}

/* The parent of the path's last member, and that member's name (in `path`). */
static cJSON *write_scale_walk(cJSON *object, char *path, bool make, const char **ret_last)
{
	char *rest = path + (*path == '.'), *dot;

	while (object && (dot = strchr(rest, '.'))) {
		*dot = 0;
		object = make ? json_tree_object(object, rest) : json_tree_at(object, rest, NULL);
		rest = dot + 1;
	}
	*ret_last = rest;
	return object;
}

static cJSON *value_at(const cJSON *object, const char *path)
{
	char *copy = path ? xstrdup(path) : NULL;
	const char *last;
	cJSON *found = NULL;

	if (copy)
		found = write_scale_walk((cJSON *)(uintptr_t)object, copy, false, &last);
	if (found)
		found = json_tree_at(found, last, NULL);
	free(copy);
	return found;
}

/* ---- the selector as text ---- */

static int append_requirement(const cJSON *r, struct buf *to)
{
	const char *operator= json_tree_text(r, "operator"), *key = json_tree_text(r, "key");
	const cJSON *value;
	int rc;

	if (strcmp(operator, "Exists") == 0)
		return buf_printf(to, NULL, "%s", key);
	if (strcmp(operator, "DoesNotExist") == 0)
		return buf_printf(to, NULL, "!%s", key);
	rc = buf_printf(to, NULL, "%s %s (", key, strcmp(operator, "In") == 0 ? "in" : "notin");
	cJSON_ArrayForEach(value, json_tree_at(r, "values", NULL))
	{
		if (rc == 0 && cJSON_IsString(value))
			rc = buf_printf(to, NULL, "%s%s", value->prev->next ? "," : "", value->valuestring);
	}
	return rc ? rc : buf_append(to, ")", 1, NULL);
}

/* spec.selector of a workload: matchLabels and matchExpressions, or a plain map. */
static char *selector_text(const cJSON *object)
{
	const cJSON *selector = json_tree_at(object, "spec", "selector", NULL), *item;
	const cJSON *labels = json_tree_at(selector, "matchLabels", NULL);
	const cJSON *expressions = json_tree_at(selector, "matchExpressions", NULL);
	const cJSON *pairs = labels || expressions ? labels : selector;
	struct buf text;
	char *made;
	int rc = 0;

	buf_init(&text, LIMIT_OBJECT_BYTES);
	cJSON_ArrayForEach(item, pairs)
	{
		if (rc == 0 && cJSON_IsString(item))
			rc = buf_printf(
				&text, NULL, "%s%s=%s", text.len ? "," : "", item->string, item->valuestring);
	}
	cJSON_ArrayForEach(item, expressions)
	{
		if (rc == 0 && text.len)
			rc = buf_append(&text, ",", 1, NULL);
		if (rc == 0)
			rc = append_requirement(item, &text);
	}
	made = slice_dup(buf_slice(&text));
	buf_release(&text);
	return made;
}

/* ---- Scale ---- */

static void add_metadata(const cJSON *object, cJSON *scale)
{
	static const char *const names[] = {
		"name", "namespace", "uid", "resourceVersion", "creationTimestamp"};
	cJSON *to = cJSON_AddObjectToObject(scale, "metadata");

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		const cJSON *value = json_tree_at(object, "metadata", names[i], NULL);

		if (value)
			cJSON_AddItemToObject(to, names[i], cJSON_Duplicate(value, true));
	}
}

static void write_scale_fill(const struct scale_paths *p, const cJSON *object, cJSON *scale, bool custom)
{
	const cJSON *replicas = value_at(object, p->replicas),
		    *running = value_at(object, p->status_replicas);
	const cJSON *custom_selector = value_at(object, p->selector);
	char *selector = custom ? xstrdup(cJSON_IsString(custom_selector) ? custom_selector->valuestring : "")
				: selector_text(object);
	cJSON *spec, *status;

	cJSON_AddStringToObject(scale, "kind", "Scale");
	cJSON_AddStringToObject(scale, "apiVersion", "autoscaling/v1");
	add_metadata(object, scale);
	spec = cJSON_AddObjectToObject(scale, "spec");
	if (cJSON_IsNumber(replicas) && replicas->valuedouble != 0)
		cJSON_AddNumberToObject(spec, "replicas", replicas->valuedouble);
	status = cJSON_AddObjectToObject(scale, "status");
	cJSON_AddNumberToObject(status, "replicas", cJSON_IsNumber(running) ? running->valuedouble : 0);
	if (*selector)
		cJSON_AddStringToObject(status, "selector", selector);
	free(selector);
}

/* A Scale is shown as a kind of its own. */
static void write_scale_show(struct write *w)
{
	w->shown = (struct collection){.resource = {.apigroup = "autoscaling",
					       .version = "v1",
					       .resource = w->c->custom ? "scales/custom" : "scales",
					       .kind = "Scale",
					       .namespaced = true}};
	w->view.collection = &w->shown;
}

int write_scale_of(struct write *w, const cJSON *object, cJSON **ret)
{
	struct scale_paths p;
	int rc = 0;

	if (!write_has_subresource(w, "scale") || !find_paths(w, &p))
		return status_no_resource(&w->st);
	if (w->c->custom && !value_at(object, p.replicas))
		rc = status_set(&w->st, 500, "InternalError",
			"Internal error occurred: the spec replicas field \"%s\" does not exist", p.replicas);
	if (rc == 0) {
		*ret = cJSON_CreateObject();
		write_scale_fill(&p, object, *ret, w->c->custom);
		write_scale_show(w);
	}
	release_paths(&p);
	return rc;
}

/* A Scale is of its own group, whatever is scaled. */
static int refuse_replicas(struct write *w, double replicas)
{
	int rc = write_invalid(w, "Scale", "FieldValueInvalid", "spec.replicas",
		"Invalid value: %.0f: must be greater than or equal to 0", replicas);

	free(w->st.group);
	free(w->st.message);
	w->st.group = xstrdup("autoscaling");
	w->st.message = xasprintf(
		"Scale.autoscaling \"%s\" is invalid: spec.replicas: %s", w->name, w->st.causes[0].message);
	return rc;
}

static int check_scale(struct write *w, const cJSON *scale, double *ret)
{
	const cJSON *replicas = json_tree_at(scale, "spec", "replicas", NULL);
	const char *rv = json_tree_text(json_tree_at(scale, "metadata", NULL), "resourceVersion");
	const char *uid = json_tree_text(json_tree_at(scale, "metadata", NULL), "uid");
	const char *has = json_tree_text(json_tree_at(w->old, "metadata", NULL), "resourceVersion");
	double n = cJSON_IsNumber(replicas) ? replicas->valuedouble : 0;

	if (n < 0)
		return refuse_replicas(w, n);
	if (*rv && strcmp(rv, has) != 0)
		return write_conflict(w,
			"the object has been modified; please apply your changes to the latest version and try again");
	*ret = n;
	return write_check_uid(w, uid);
}

int write_scale_set(struct write *w, cJSON *scale)
{
	struct scale_paths p;
	const char *last;
	cJSON *object, *parent, *answer = NULL;
	double replicas = 0;
	int rc = check_scale(w, scale, &replicas);

	cJSON_Delete(scale);
	if (rc)
		return rc;
	if (!find_paths(w, &p))
		return status_no_resource(&w->st);
	object = cJSON_Duplicate(w->old, true);
	parent = write_scale_walk(object, p.replicas, true, &last);
	json_tree_set(parent, last, cJSON_CreateNumber(replicas));
	release_paths(&p);
	rc = write_replace(w, object, false);
	if (rc == 0)
		rc = write_scale_of(w, w->answer, &answer);
	if (rc)
		return rc;
	cJSON_Delete(w->answer);
	w->answer = answer;
	return 0;
}

/* The Scale of the body, with values that a Scale can have. */
static int read_scale(struct write *w, cJSON **ret)
{
	static const struct write_kind want = {"Scale", "autoscaling/v1", "autoscaling"};
	cJSON *scale;
	int rc = write_read_other(w, &want, &scale);

	if (rc)
		return rc;
	rc = write_check_place(w, scale);
	if (rc)
		cJSON_Delete(scale);
	else
		*ret = scale;
	return rc;
}

int write_scale(struct write *w)
{
	cJSON *scale;
	int rc = read_scale(w, &scale);

	if (rc)
		return rc;
	rc = write_load_existing(w);
	if (rc == 0)
		return write_scale_set(w, scale);
	cJSON_Delete(scale);
	return rc;
}
