/* child.h: the command that a replay runs with KUBECONFIG pointing at it, or as in a pod. */
#ifndef REPLAYER_CHILD_H
#define REPLAYER_CHILD_H

#include "schema/base/err.h"

#include <stdbool.h>
#include <sys/resource.h>
#include <uv.h>

struct child;
struct pod;

struct child_options {
	char **command;                  /* with its arguments, NULL after the last */
	const char *kubeconfig;          /* what KUBECONFIG says to it */
	const struct pod *pod;           /* how it finds the replay instead (pod.h); NULL: by KUBECONFIG */
	const char *control_url;         /* what KUBETAPE_CONTROL says to it (control.h); NULL: nothing */
	const struct rlimit *open_files; /* its limit; NULL: ours */
	/* Gets the exit code; 128 + the signal's number if a signal ended it. */
	void (*exited)(void *context, int exit_code);
	void *context;
	/* The command's output on that descriptor (1 or 2) goes through here, and it has no input. NULL: it
	 * has our terminal for itself. */
	void (*output)(void *context, int fd, const char *bytes, size_t len);
};

/* ERR_NOT_FOUND if there is no such command. After a failure `exited` is never called. */
int child_start(
	uv_loop_t *loop, const struct child_options *options, struct child **ret, struct err *err) MUST_CHECK;

/* Passes a signal on; nothing when it has ended. */
void child_signal(struct child *c, int signal_number);

/* 0 if it has ended. */
pid_t child_pid(const struct child *c);

/* Kills it, and all that it has started. False: it has ended. */
bool child_kill(struct child *c);

/* Forgets the child, which keeps running. Freed when libuv has released the handles. Accepts NULL. */
void child_close(struct child *c);

#endif
