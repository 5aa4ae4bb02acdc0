/* write_sub.c: writes to subresources that are no part of the object; see write_internal.h. */
#include "replayer/request/access.h"
#include "replayer/write/write_internal.h"
#include "schema/base/uuid.h"

#include <stdlib.h>

#define TOKEN_SECONDS 3600

/* ---- binding ---- */

static void set_scheduled(cJSON *object)
{
	cJSON *status = json_tree_object(object, "status"), *list = json_tree_at(status, "conditions", NULL),
	      *c;
	char now[TIMESTAMP_BYTES];

	if (!cJSON_IsArray(list)) {
		list = cJSON_CreateArray();
		json_tree_set(status, "conditions", list);
	}
	cJSON_ArrayForEach(c, list)
	{
		if (strcmp(json_tree_text(c, "type"), "PodScheduled") == 0) {
			cJSON_Delete(cJSON_DetachItemViaPointer(list, c));
			break;
		}
	}
	write_timestamp(now, 0);
	c = cJSON_CreateObject();
	cJSON_AddStringToObject(c, "type", "PodScheduled");
	cJSON_AddStringToObject(c, "status", "True");
	cJSON_AddNullToObject(c, "lastProbeTime");
	cJSON_AddStringToObject(c, "lastTransitionTime", now);
	cJSON_AddItemToArray(list, c);
}

static int bind_pod(struct write *w, const cJSON *binding)
{
	const cJSON *metadata = json_tree_at(binding, "metadata", NULL);
	const char *node = json_tree_text(json_tree_at(binding, "target", NULL), "name");
	const char *has = json_tree_text(json_tree_at(w->old, "spec", NULL), "nodeName");
	cJSON *pod;
	int rc = write_check_uid(w, json_tree_text(metadata, "uid"));

	if (rc)
		return rc;
	if (!*node)
		return write_invalid(
			w, "Binding", "FieldValueRequired", "target.name", "Required value: a node's name");
	if (write_is_asked_to_end(w->old))
		return write_conflict(w, "pod %s is being deleted, cannot be assigned to a host", w->name);
	if (*has)
		return write_conflict(w, "pod %s is already assigned to node \"%s\"", w->name, has);
	pod = cJSON_Duplicate(w->old, true);
	json_tree_set_text(json_tree_object(pod, "spec"), "nodeName", node);
	set_scheduled(pod);
	rc = write_store(w, EVENT_MODIFIED, pod);
	cJSON_Delete(pod);
	if (rc == 0)
		write_answer_success(w, 201, NULL);
	return rc;
}

static int evict_pod(struct write *w, const cJSON *eviction)
{
	int rc = write_remove(w, json_tree_at(eviction, "deleteOptions", NULL));

	if (rc)
		return rc;
	cJSON_Delete(w->answer);
	write_answer_success(w, 201, NULL);
	return 0;
}

/* ---- tokens ---- */

/* It opens the replay as the kubeconfig's does. */
static int make_token(struct write *w, cJSON *request)
{
	const cJSON *asked = json_tree_at(request, "spec", "expirationSeconds", NULL);
	char until[TIMESTAMP_BYTES], now[TIMESTAMP_BYTES], id[UUID_TEXT_BYTES], *token;
	cJSON *status = cJSON_CreateObject();

	write_timestamp(now, 0);
	write_timestamp(until, cJSON_IsNumber(asked) ? (int64_t)asked->valuedouble : TOKEN_SECONDS);
	uuid_new(id);
	token = access_make_token(w->call->api->access, id);
	cJSON_AddStringToObject(status, "token", token);
	free(token);
	cJSON_AddStringToObject(status, "expirationTimestamp", until);
	json_tree_set(request, "status", status);
	json_tree_set_text(request, "kind", "TokenRequest");
	json_tree_set_text(request, "apiVersion", "authentication.k8s.io/v1");
	json_tree_set_text(json_tree_object(request, "metadata"), "name", w->name);
	json_tree_set_text(json_tree_object(request, "metadata"), "creationTimestamp", now);
	w->answer = request;
	w->is_status = true;
	w->code = 201;
	return 0;
}

/* ---- which ---- */

static bool is_core(const struct write *w, const char *resource)
{
	return !*w->c->resource.apigroup && strcmp(w->c->resource.resource, resource) == 0;
}

/* The name in a binding or an eviction is that of the pod. */
static int check_name(struct write *w, const cJSON *body, const char *kind)
{
	if (strcmp(json_tree_text(json_tree_at(body, "metadata", NULL), "name"), w->name) == 0)
		return 0;
	return status_bad_request(&w->st, "name in URL does not match name in %s object", kind);
}

static int post(
	struct write *w, const struct write_kind *want, int (*what)(struct write *w, const cJSON *body))
{
	cJSON *body;
	int rc = write_read_other(w, want, &body);

	if (rc)
		return rc;
	rc = check_name(w, body, want->kind);
	if (rc == 0)
		rc = write_load_existing(w);
	if (rc == 0)
		rc = what(w, body);
	cJSON_Delete(body);
	return rc;
}

static int post_token(struct write *w)
{
	static const struct write_kind want = {
		"TokenRequest", "authentication.k8s.io/v1", "authentication.k8s.io"};
	cJSON *request;
	int rc = write_read_other(w, &want, &request);

	if (rc)
		return rc;
	rc = write_load_existing(w);
	if (rc == 0)
		return make_token(w, request);
	cJSON_Delete(request);
	return rc;
}

/* The name in the body; "" if it cannot be read. The caller frees. */
static char *name_in_body(struct write *w)
{
	cJSON *duplicates = cJSON_CreateArray(), *body = NULL;
	struct status st = {0};
	int rc = write_body_object(w->call, BODY_TYPED, "Binding", &body, duplicates, &st);
	char *name = xstrdup(rc ? "" : json_tree_text(json_tree_at(body, "metadata", NULL), "name"));

	status_release(&st);
	cJSON_Delete(duplicates);
	cJSON_Delete(body);
	return name;
}

void write_find_bound(struct write *w)
{
	struct api_path *path = &w->call->path;
	struct collection *pods;
	char *name;

	if (w->verb != VERB_CREATE || !is_core(w, "bindings") || *w->name)
		return;
	pods = world_find(w->call->api->world, slice_of(""), slice_of("v1"), slice_of("pods"));
	name = name_in_body(w);
	if (!pods || !*name) {
		free(name);
		return;
	}
	free(w->name);
	w->name = name;
	w->c = pods;
	w->sub = slice_of("binding");
	path->resource = slice_of("pods");
	path->subresource = w->sub;
}

int write_subresource(struct write *w, bool *ret_done)
{
	static const struct write_kind binding = {"Binding", "v1", ""},
				       eviction = {"Eviction", "policy/v1", "policy"};
	bool is_post = w->verb == VERB_CREATE;

	*ret_done = true;
	if (is_post && slice_is(w->sub, "binding") && is_core(w, "pods"))
		return post(w, &binding, bind_pod);
	if (is_post && slice_is(w->sub, "eviction") && is_core(w, "pods"))
		return post(w, &eviction, evict_pod);
	if (is_post && slice_is(w->sub, "token") && is_core(w, "serviceaccounts"))
		return post_token(w);
	if (slice_is(w->sub, "scale") && w->verb == VERB_UPDATE)
		return write_scale(w);
	*ret_done = false;
	return 0;
}
