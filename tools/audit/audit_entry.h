/* audit_entry.h: a line of an API server's audit log (audit.k8s.io, an Event a line). */
#ifndef TOOLS_AUDIT_ENTRY_H
#define TOOLS_AUDIT_ENTRY_H

#include "schema/base/buf.h"

struct audit_entry {
	/* Unescaped; empty where the line says nothing. */
	struct slice audit_id, stage, verb, user, impersonated_user, user_agent, source_ip;
	struct slice resource, namespace, name, uid, apigroup, rv,
		subresource;        /* objectRef: rv is that on which the request was based */
	struct slice field_manager; /* as the server derives it: asked for, or the front of user_agent */
	bool dry_run;
	int code; /* responseStatus; 0: none */
	int64_t begin_ns, end_ns;
	struct slice object; /* responseObject as JSON; empty below level RequestResponse */
	struct buf texts;    /* what the slices may point into */
};

void audit_entry_init(struct audit_entry *e);
void audit_entry_release(struct audit_entry *e);

/* The slices are valid until the next call, and as long as `line` is. ERR_PROTOCOL if it is not an audit
 * event. */
int audit_entry_parse(struct audit_entry *e, struct slice line, struct err *err) MUST_CHECK;

#endif
