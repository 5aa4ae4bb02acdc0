/* audit_evidence.h: evidence in an event itself about who may have made it. */
#ifndef TOOLS_AUDIT_EVIDENCE_H
#define TOOLS_AUDIT_EVIDENCE_H

#include "schema/tape/reader.h"
#include "tools/audit/audit_entry.h"

/* An event, and the version before it of the same object. */
struct evidence {
	uint64_t seq;
	int64_t time_ns;
	enum event_type type;
	enum event_origin origin;
	char *uid, *rv, *old_rv; /* old_rv is NULL if the tape has no version before it */
	struct buf object, old;  /* empty until evidence_load() */
};

void evidence_set(struct evidence *v, const struct event *e);
void evidence_release(struct evidence *v);

/* Reads both versions. */
int evidence_load(struct evidence *v, struct tape *t, struct err *err) MUST_CHECK;

/* The evidence of managedFields about a request: the entries that the event changed are its manager's or
 * another's, or there are none. */
enum evidence_managed { MANAGED_SILENT, MANAGED_AGREES, MANAGED_CONTRADICTS };
enum evidence_managed evidence_managed(const struct evidence *v, const struct audit_entry *e);

/* Whether an entry of the request's manager, new or old, has a time while the request was handled. */
bool evidence_is_dated(const struct evidence *v, const struct audit_entry *e);

/* Whether the event is what set deletionTimestamp. */
bool evidence_begins_deletion(const struct evidence *v);

/* Whether the event is what gave a pod its node. */
bool evidence_binds(const struct evidence *v);

#endif
