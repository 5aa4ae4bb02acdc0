/* audit_beside.h: joining an audit log beside a recording, on a thread of its own. */
#ifndef TOOLS_AUDIT_BESIDE_H
#define TOOLS_AUDIT_BESIDE_H

#include <stdint.h>

struct audit_beside;

/* Follows the log from where it ends now. Paths are borrowed. NULL, and said, if that cannot be. */
struct audit_beside *audit_beside_start(const char *tape_path, const char *log_path, int64_t tolerance_ns);

/* The tape is there: from here on the thread reads it. Accepts NULL. */
void audit_beside_ready(struct audit_beside *b);

/* Joins new lines, and reports the result on stderr, or why it failed. Accepts NULL. */
void audit_beside_end(struct audit_beside *b);

#endif
