/* write_metadata.c: names, labels and owners that no object may have; see write_internal.h. */
#include "replayer/request/label_syntax.h"
#include "replayer/write/write_internal.h"
#include "schema/base/count_of.h"
#include "schema/base/limits.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#define SUBDOMAIN_MAX         253
#define LABEL_MAX             63
#define CRON_JOB_MAX          52 /* its jobs are called after it */
#define ANNOTATIONS_MAX_BYTES (256 << 10)

#define LABEL_PROBLEM                                                                                           \
	"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start " \
	"and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "  \
	"'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
#define SUBDOMAIN_PROBLEM                                                                                          \
	"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must " \
	"start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "          \
	"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"

/* ---- names ---- */

/* What the name of an object must be: a DNS subdomain or label, one segment of a path, or nothing. Of
 * addresses and the like the API server asks more, which is not looked at. */
enum name_rule { NAME_SUBDOMAIN, NAME_LABEL, NAME_SEGMENT, NAME_ANY };

static enum name_rule name_rule_of(const struct tape_resource *r)
{
	static const struct {
		const char *group, *resource;
		enum name_rule rule;
	} rules[] = {
		{"", "events", NAME_ANY},
		{"", "namespaces", NAME_LABEL},
		{"", "services", NAME_LABEL},
		{"apiextensions.k8s.io", "customresourcedefinitions", NAME_SEGMENT},
		{"apiregistration.k8s.io", "apiservices", NAME_SEGMENT},
		{"apps", "statefulsets", NAME_LABEL},
		{"certificates.k8s.io", "certificatesigningrequests", NAME_SEGMENT},
		{"certificates.k8s.io", "clustertrustbundles", NAME_SEGMENT},
		{"networking.k8s.io", "ipaddresses", NAME_SEGMENT},
		{"policy", "poddisruptionbudgets", NAME_ANY},
	};

	for (size_t i = 0; i < COUNT_OF(rules); i++) {
		if (strcmp(r->apigroup, rules[i].group) == 0 && strcmp(r->resource, rules[i].resource) == 0)
			return rules[i].rule;
	}
	return strcmp(r->apigroup, "rbac.authorization.k8s.io") == 0 ? NAME_SEGMENT : NAME_SUBDOMAIN;
}

/* A part of a subdomain, between its dots. */
static bool is_label(struct slice part)
{
	if (!part.len || part.ptr[0] == '-' || part.ptr[part.len - 1] == '-')
		return false;
	for (size_t i = 0; i < part.len; i++) {
		if (!islower((unsigned char)part.ptr[i]) && !isdigit((unsigned char)part.ptr[i]) &&
			part.ptr[i] != '-')
			return false;
	}
	return true;
}

static bool is_subdomain(const char *name)
{
	size_t length;

	for (;; name += length + 1) {
		length = strcspn(name, ".");
		if (!is_label((struct slice){name, length}))
			return false;
		if (!name[length])
			return true;
	}
}

static void write_metadata_tell(struct write *w, const char *field, const char *value, const char *problem)
{
	status_add_cause(
		&w->st, "FieldValueInvalid", xasprintf("Invalid value: \"%s\": %s", value, problem), field);
}

static void check_length(struct write *w, const char *name, size_t max)
{
	char problem[64];

	if (strlen(name) <= max)
		return;
	snprintf(problem, sizeof(problem), "must be no more than %zu characters", max);
	write_metadata_tell(w, "metadata.name", name, problem);
}

static void check_label(struct write *w, const char *name)
{
	check_length(w, name, LABEL_MAX);
	if (strchr(name, '.') && is_subdomain(name))
		write_metadata_tell(w, "metadata.name", name, "must not contain dots");
	else if (!is_subdomain(name))
		write_metadata_tell(w, "metadata.name", name, LABEL_PROBLEM);
}

static void check_subdomain(struct write *w, const char *name)
{
	check_length(w, name, SUBDOMAIN_MAX);
	if (!is_subdomain(name))
		write_metadata_tell(w, "metadata.name", name, SUBDOMAIN_PROBLEM);
}

static void check_segment(struct write *w, const char *name)
{
	if (strcmp(name, ".") == 0)
		write_metadata_tell(w, "metadata.name", name, "may not be '.'");
	if (strcmp(name, "..") == 0)
		write_metadata_tell(w, "metadata.name", name, "may not be '..'");
	if (strchr(name, '/'))
		write_metadata_tell(w, "metadata.name", name, "may not contain '/'");
	if (strchr(name, '%'))
		write_metadata_tell(w, "metadata.name", name, "may not contain '%'");
}

static void check_name(struct write *w, const cJSON *metadata)
{
	const char *name = json_tree_text(metadata, "name");
	const struct tape_resource *r = &w->c->resource;

	if (!*name) {
		status_add_cause(&w->st, "FieldValueRequired",
			xstrdup("Required value: name or generateName is required"), "metadata.name");
		return;
	}
	switch (name_rule_of(r)) {
	case NAME_SUBDOMAIN: check_subdomain(w, name); break;
	case NAME_LABEL: check_label(w, name); break;
	case NAME_SEGMENT: check_segment(w, name); break;
	case NAME_ANY: break;
	}
	if (strcmp(r->apigroup, "batch") == 0 && strcmp(r->resource, "cronjobs") == 0)
		check_length(w, name, CRON_JOB_MAX);
}

/* ---- labels and annotations ---- */

/* One cause for each problem of a text that should be a qualified name. */
static void tell_key_problems(struct write *w, const char *field, const char *key, struct slice checked)
{
	char problems[LABEL_PROBLEM_MAX], *at = problems, *next;

	if (!label_key_problem(checked, problems))
		return;
	for (; at; at = next) {
		next = strstr(at, "; ");
		if (next) {
			*next = '\0';
			next += 2;
		}
		write_metadata_tell(w, field, key, at);
	}
}

static void check_labels(struct write *w, const cJSON *labels)
{
	const cJSON *label;

	cJSON_ArrayForEach(label, labels)
	{
		const char *value = cJSON_IsString(label) ? label->valuestring : "";
		const char *problem = label_value_problem(slice_of(value));

		tell_key_problems(w, "metadata.labels", label->string, slice_of(label->string));
		if (problem)
			write_metadata_tell(w, "metadata.labels", value, problem);
	}
}

/* Their keys may have capital letters anywhere. */
static void check_annotations(struct write *w, const cJSON *annotations)
{
	const cJSON *annotation;
	size_t bytes = 0;

	cJSON_ArrayForEach(annotation, annotations)
	{
		char *key = xstrdup(annotation->string);

		for (char *c = key; *c; c++)
			*c = (char)tolower((unsigned char)*c);
		tell_key_problems(w, "metadata.annotations", annotation->string, slice_of(key));
		bytes += strlen(key) + (cJSON_IsString(annotation) ? strlen(annotation->valuestring) : 0);
		free(key);
	}
	if (bytes > ANNOTATIONS_MAX_BYTES)
		status_add_cause(&w->st, "FieldValueTooLong",
			xasprintf("Too long: may not be more than %d bytes", ANNOTATIONS_MAX_BYTES),
			"metadata.annotations");
}

/* ---- owners and finalizers ---- */

static void tell_list(struct write *w, const char *field, const cJSON *list, const char *problem)
{
	char *text = cJSON_PrintUnformatted(list);

	status_add_cause(
		&w->st, "FieldValueInvalid", xasprintf("Invalid value: %s: %s", text, problem), field);
	cJSON_free(text);
}

static void check_owner(struct write *w, const cJSON *owner)
{
	static const struct {
		const char *name, *field, *problem;
	} members[] = {{"apiVersion", "metadata.ownerReferences.apiVersion", "version must not be empty"},
		{"kind", "metadata.ownerReferences.kind", "must not be empty"},
		{"name", "metadata.ownerReferences.name", "must not be empty"},
		{"uid", "metadata.ownerReferences.uid", "must not be empty"}};

	for (size_t i = 0; i < COUNT_OF(members); i++) {
		if (!*json_tree_text(owner, members[i].name))
			write_metadata_tell(w, members[i].field, "", members[i].problem);
	}
}

static void check_owners(struct write *w, const cJSON *owners)
{
	const cJSON *owner, *controller = NULL;

	cJSON_ArrayForEach(owner, owners)
	{
		char *problem;

		check_owner(w, owner);
		if (!cJSON_IsTrue(json_tree_at(owner, "controller", NULL)))
			continue;
		if (!controller) {
			controller = owner;
			continue;
		}
		problem = xasprintf(
			"Only one reference can have Controller set to true. Found \"true\" in references "
			"for %s/%s and %s/%s",
			json_tree_text(controller, "kind"), json_tree_text(controller, "name"),
			json_tree_text(owner, "kind"), json_tree_text(owner, "name"));
		tell_list(w, "metadata.ownerReferences", owners, problem);
		free(problem);
	}
}

static bool has_text(const cJSON *list, const char *text)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, list)
	{
		if (cJSON_IsString(item) && strcmp(item->valuestring, text) == 0)
			return true;
	}
	return false;
}

/* Those of built-in kinds have a domain, or are among the few that the API server knows. */
static void check_finalizer(struct write *w, const char *name, int at)
{
	bool standard = strcmp(name, "orphan") == 0 || strcmp(name, "foregroundDeletion") == 0 ||
			strcmp(name, "kubernetes") == 0;
	char *field;

	tell_key_problems(w, "metadata.finalizers", name, slice_of(name));
	if (standard || strchr(name, '/') || w->c->custom)
		return;
	field = xasprintf("metadata.finalizers[%d]", at);
	write_metadata_tell(
		w, field, name, "name is neither a standard finalizer name nor is it fully qualified");
	free(field);
}

static void check_finalizers(struct write *w, const cJSON *finalizers)
{
	const cJSON *item;
	int at = 0;

	cJSON_ArrayForEach(item, finalizers)
	{
		check_finalizer(w, cJSON_IsString(item) ? item->valuestring : "", at++);
	}
	if (has_text(finalizers, "orphan") && has_text(finalizers, "foregroundDeletion"))
		tell_list(w, "metadata.finalizers", finalizers,
			"finalizer orphan and foregroundDeletion cannot be both set");
}

/* ---- what an update may not change ---- */

/* The API server looks twice, and tells two causes. */
static void tell_late_finalizer(struct write *w, const char *name)
{
	for (int i = 0; i < 2; i++)
		status_add_cause(&w->st, "FieldValueForbidden",
			xasprintf("Forbidden: no new finalizers can be added if the object is being deleted, "
				  "found new finalizers []string{\"%s\"}",
				name),
			"metadata.finalizers");
}

static void check_change(struct write *w, const cJSON *metadata)
{
	const cJSON *old = json_tree_at(w->old, "metadata", NULL), *item;
	const char *uid = json_tree_text(metadata, "uid");

	if (*uid && strcmp(uid, json_tree_text(old, "uid")) != 0)
		write_metadata_tell(w, "metadata.uid", uid, "field is immutable");
	if (!json_tree_at(old, "deletionTimestamp", NULL))
		return;
	cJSON_ArrayForEach(item, json_tree_at(metadata, "finalizers", NULL))
	{
		if (cJSON_IsString(item) &&
			!has_text(json_tree_at(old, "finalizers", NULL), item->valuestring))
			tell_late_finalizer(w, item->valuestring);
	}
}

/* What a Secret is does not change. */
static void check_secret_type(struct write *w, const cJSON *object)
{
	const struct tape_resource *r = &w->c->resource;
	const char *type = json_tree_text(object, "type"), *before = json_tree_text(w->old, "type");

	if (!*r->apigroup && strcmp(r->resource, "secrets") == 0 && *before && *type &&
		strcmp(type, before) != 0)
		write_metadata_tell(w, "type", type, "field is immutable");
}

static void check_all(struct write *w, const cJSON *metadata, bool updated)
{
	if (updated)
		check_change(w, metadata);
	else
		check_name(w, metadata);
	check_labels(w, json_tree_at(metadata, "labels", NULL));
	check_annotations(w, json_tree_at(metadata, "annotations", NULL));
	check_owners(w, json_tree_at(metadata, "ownerReferences", NULL));
	check_finalizers(w, json_tree_at(metadata, "finalizers", NULL));
}

/* Whether an earlier cause says the same. */
static bool is_told(const struct status *st, size_t at)
{
	for (size_t i = 0; i < at; i++) {
		if (strcmp(st->causes[i].message, st->causes[at].message) == 0 &&
			strcmp(st->causes[i].field, st->causes[at].field) == 0)
			return true;
	}
	return false;
}

static int write_metadata_refuse(struct write *w)
{
	size_t count = 0;
	const struct tape_resource *r = &w->c->resource;
	struct buf text;

	buf_init(&text, LIMIT_REQUEST_BODY_BYTES);
	for (size_t i = 0; i < w->st.cause_count; i++) {
		if (!is_told(&w->st, i))
			(void)!buf_printf(&text, NULL, "%s%s: %s", count++ ? ", " : "", w->st.causes[i].field,
				w->st.causes[i].message);
	}
	write_set_details(w, r->kind);
	status_set(&w->st, 422, "Invalid", "%s%s%s \"%s\" is invalid: %s%.*s%s", r->kind,
		*r->apigroup ? "." : "", r->apigroup, w->name, count > 1 ? "[" : "", (int)text.len, text.ptr,
		count > 1 ? "]" : "");
	buf_release(&text);
	return ERR_FAILED;
}

int write_check_metadata(struct write *w, const cJSON *object, bool updated)
{
	check_all(w, json_tree_at(object, "metadata", NULL), updated);
	if (updated)
		check_secret_type(w, object);
	return w->st.cause_count ? write_metadata_refuse(w) : 0;
}
