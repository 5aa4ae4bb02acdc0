/* redact_rules.c: see redact_internal.h. What may stay of a Secret; whatever is not here is taken for a
 * value. */
#include "schema/base/count_of.h"
#include "schema/base/json_scan.h"
#include "schema/tape/redact_internal.h"

#define END                                                                                                  \
	{                                                                                                    \
		NULL, REDACT_VALUE, NULL                                                                     \
	}

static const struct redact_rule metadata[] = {
	{"name", REDACT_KEEP, NULL},
	{"generateName", REDACT_KEEP, NULL},
	{"namespace", REDACT_KEEP, NULL},
	{"selfLink", REDACT_KEEP, NULL},
	{"uid", REDACT_KEEP, NULL},
	{"resourceVersion", REDACT_KEEP, NULL},
	{"generation", REDACT_KEEP, NULL},
	{"creationTimestamp", REDACT_KEEP, NULL},
	{"deletionTimestamp", REDACT_KEEP, NULL},
	{"deletionGracePeriodSeconds", REDACT_KEEP, NULL},
	{"labels", REDACT_KEEP_ALL, NULL},
	{"annotations", REDACT_ANNOTATIONS, NULL},
	{"ownerReferences", REDACT_KEEP_ALL, NULL},
	{"finalizers", REDACT_KEEP_ALL, NULL},
	{"managedFields", REDACT_KEEP_ALL, NULL}, /* names of fields, never their values */
	/* of a list */
	{"continue", REDACT_KEEP, NULL},
	{"remainingItemCount", REDACT_KEEP, NULL},
	END,
};

const struct redact_rule redact_secret_rules[] = {
	{"kind", REDACT_KEEP, NULL},
	{"apiVersion", REDACT_KEEP, NULL},
	{"metadata", REDACT_INSIDE, metadata},
	{"type", REDACT_KEEP, NULL},
	{"immutable", REDACT_KEEP, NULL},
	{"data", REDACT_BASE64, NULL},
	{"stringData", REDACT_TEXTS, NULL},
	{"items", REDACT_EACH, redact_secret_rules},
	/* of a strategic merge patch */
	{"$patch", REDACT_KEEP, NULL},
	/* of DeleteOptions */
	{"gracePeriodSeconds", REDACT_KEEP, NULL},
	{"propagationPolicy", REDACT_KEEP, NULL},
	{"orphanDependents", REDACT_KEEP, NULL},
	{"preconditions", REDACT_KEEP_ALL, NULL},
	{"dryRun", REDACT_KEEP_ALL, NULL},
	END,
};

static const struct redact_rule token_part[] = {
	{"audiences", REDACT_KEEP_ALL, NULL},
	{"expirationSeconds", REDACT_KEEP, NULL},
	{"expirationTimestamp", REDACT_KEEP, NULL},
	{"boundObjectRef", REDACT_KEEP_ALL, NULL},
	{"authenticated", REDACT_KEEP, NULL},
	{"user", REDACT_KEEP_ALL, NULL},
	{"error", REDACT_KEEP, NULL},
	END,
};

const struct redact_rule redact_token_rules[] = {
	{"kind", REDACT_KEEP, NULL},
	{"apiVersion", REDACT_KEEP, NULL},
	{"metadata", REDACT_INSIDE, metadata},
	{"spec", REDACT_INSIDE, token_part},
	{"status", REDACT_INSIDE, token_part},
	END,
};

static const struct redact_rule status_cause[] = {
	{"reason", REDACT_KEEP, NULL},
	{"message", REDACT_KEEP, NULL},
	{"field", REDACT_KEEP, NULL},
	END,
};

static const struct redact_rule status_details[] = {
	{"name", REDACT_KEEP, NULL},
	{"group", REDACT_KEEP, NULL},
	{"kind", REDACT_KEEP, NULL},
	{"uid", REDACT_KEEP, NULL},
	{"causes", REDACT_EACH, status_cause},
	{"retryAfterSeconds", REDACT_KEEP, NULL},
	END,
};

static const struct redact_rule status_metadata[] = {
	{"selfLink", REDACT_KEEP, NULL},
	{"resourceVersion", REDACT_KEEP, NULL},
	{"continue", REDACT_KEEP, NULL},
	{"remainingItemCount", REDACT_KEEP, NULL},
	END,
};

const struct redact_rule redact_status_rules[] = {
	{"kind", REDACT_KEEP, NULL},
	{"apiVersion", REDACT_KEEP, NULL},
	{"metadata", REDACT_INSIDE, status_metadata},
	{"status", REDACT_KEEP, NULL},
	{"message", REDACT_KEEP, NULL},
	{"reason", REDACT_KEEP, NULL},
	{"details", REDACT_INSIDE, status_details},
	{"code", REDACT_KEEP, NULL},
	END,
};

static const struct redact_rule refusal_cause[] = {
	{"reason", REDACT_KEEP, NULL},
	{"field", REDACT_KEEP, NULL},
	END,
};

static const struct redact_rule refusal_details[] = {
	{"name", REDACT_KEEP, NULL},
	{"group", REDACT_KEEP, NULL},
	{"kind", REDACT_KEEP, NULL},
	{"uid", REDACT_KEEP, NULL},
	{"causes", REDACT_EACH, refusal_cause},
	{"retryAfterSeconds", REDACT_KEEP, NULL},
	END,
};

const struct redact_rule redact_refusal_rules[] = {
	{"kind", REDACT_KEEP, NULL},
	{"apiVersion", REDACT_KEEP, NULL},
	{"metadata", REDACT_INSIDE, status_metadata},
	{"status", REDACT_KEEP, NULL},
	{"reason", REDACT_KEEP, NULL},
	{"details", REDACT_INSIDE, refusal_details},
	{"code", REDACT_KEEP, NULL},
	END,
};

const struct redact_rule *redact_rule_find(const struct redact_rule *rules, struct slice name)
{
	for (; rules->name; rules++) {
		if (json_text_is(name, rules->name))
			return rules;
	}
	return NULL;
}

/* ---- whose objects they are for ---- */

static const struct {
	const char *group, *resource, *subresource, *kind_group, *kind;
	const struct redact_rule *rules;
} targets[] = {
	{"", "secrets", "", "", "Secret", redact_secret_rules},
	{"", "secrets", "", "", "SecretList", redact_secret_rules},
	{"", "serviceaccounts", "token", "authentication.k8s.io", "TokenRequest", redact_token_rules},
	{"authentication.k8s.io", "tokenreviews", "", "authentication.k8s.io", "TokenReview",
		redact_token_rules},
};

#define TARGETS (COUNT_OF(targets))

const struct redact_rule *redact_rules_of_resource(
	struct slice group, struct slice resource, struct slice subresource)
{
	for (size_t i = 0; i < TARGETS; i++) {
		bool any = !*targets[i].subresource; /* whatever is written through a Secret is of it */

		if (slice_is(group, targets[i].group) && slice_is(resource, targets[i].resource) &&
			(any || slice_is(subresource, targets[i].subresource)))
			return targets[i].rules;
	}
	return NULL;
}

/* "v1" is of the group "", "authentication.k8s.io/v1" of another. */
static bool is_of_group(struct slice api_version, const char *group)
{
	struct slice rest = api_version;
	size_t len = strlen(group);

	if (!len)
		return !memchr(rest.ptr ? rest.ptr : "", '/', rest.len);
	return slice_skip(&rest, group) && rest.len && rest.ptr[0] == '/';
}

static struct slice unescaped(struct slice text, struct buf *to)
{
	buf_clear(to);
	return json_unescape(text, to, NULL) ? text : buf_slice(to);
}

const struct redact_rule *redact_rules_of_kind(struct slice api_version, struct slice kind)
{
	const struct redact_rule *found = NULL;
	struct buf plain;

	buf_init(&plain, api_version.len + 1);
	for (size_t i = 0; i < TARGETS && !found; i++) {
		if (json_text_is(kind, targets[i].kind) &&
			is_of_group(unescaped(api_version, &plain), targets[i].kind_group))
			found = targets[i].rules;
	}
	buf_release(&plain);
	return found;
}
