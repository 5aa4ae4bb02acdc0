/*
 * write_policy.h: how a write is handled. A list of rules from the options --write; the last one that fits
 * counts. The defaults come first:
 *
 *     leases, events (both groups)           overlay
 *     resources that are on the tape         absorb
 *     everything else                        overlay
 *
 * A rule is `[RESOURCE[.GROUP]][:VERB[,VERB]...=]POLICY`, as in
 *     overlay     configmaps=overlay     deployments.apps:create,delete=reject     '*:delete=reject'
 * RESOURCE is the plural name, with a subresource where only that is meant (pods/status), or `*`; VERB one of
 * create, update, patch, delete, deletecollection.
 */
#ifndef REPLAYER_WRITE_POLICY_H
#define REPLAYER_WRITE_POLICY_H

#include "replayer/request/verb.h"

enum write_policy {
	WRITE_OVERLAY, /* a version that lists, watches and gets see */
	WRITE_ABSORB,  /* checked and answered as if done, never seen but by later writes */
	WRITE_REJECT,  /* 403 */
};

struct write_rule {
	char *text;                                /* of the rule: slices point into it */
	struct slice resource, subresource, group; /* empty: any */
	bool any_group;                            /* no group was named: any */
	unsigned verbs;                            /* bits by enum verb */
	enum write_policy policy;
};

struct write_rules {
	struct write_rule *items;
	size_t count;
};

/* Appends a rule; copies the text. ERR_USAGE describes an error in it. */
int write_rules_add(struct write_rules *rules, const char *text, struct err *err) MUST_CHECK;
void write_rules_release(struct write_rules *rules);

/* recorded: the resource is on the tape. */
enum write_policy write_rules_find(const struct write_rules *rules, struct slice group, struct slice resource,
	struct slice subresource, enum verb verb, bool recorded);

const char *write_policy_name(enum write_policy policy);

#endif
