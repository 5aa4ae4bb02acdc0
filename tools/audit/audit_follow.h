/* audit_follow.h: joins an audit log to a tape while both are being written. */
#ifndef TOOLS_AUDIT_FOLLOW_H
#define TOOLS_AUDIT_FOLLOW_H

#include "tools/audit/audit_join.h"

struct audit_follow_options {
	const char *tape_path, *log_path;
	int64_t tolerance_ns;
	bool at_end; /* begin with what the log gets from now on */
	/* Whether the tape is there by now; NULL: it is. Asked as is_over() is. */
	bool (*is_ready)(void *context);
	bool (*is_over)(
		void *context); /* called several times a second; if true, joins what has come, and ends */
	void *context;
};

/* Returns when is_over() says so. *ret is all zero if the tape never was there. */
int audit_follow(const struct audit_follow_options *o, struct audit_totals *ret, struct err *err) MUST_CHECK;

#endif
