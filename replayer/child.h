/* child.h: the command that a replay runs with KUBECONFIG pointing at it. */
#ifndef REPLAYER_CHILD_H
#define REPLAYER_CHILD_H

#include "schema/base/err.h"

#include <uv.h>

struct child;

/* `exited` gets the exit code, 128 + the signal's number if a signal ended it. ERR_NOT_FOUND when there is no
 * such command. */
int child_start(uv_loop_t *loop, char **command, const char *kubeconfig,
	void (*exited)(void *context, int exit_code), void *context, struct child **ret,
	struct err *err) MUST_CHECK;

/* Passes a signal on; nothing when it has ended. */
void child_signal(struct child *c, int signal_number);

/* Forgets it; it goes on running. Freed when libuv has let go of the handle. Accepts NULL. */
void child_close(struct child *c);

#endif
