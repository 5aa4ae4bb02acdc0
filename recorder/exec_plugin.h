/*
 * exec_plugin.h: one run of a credential plugin: the program a kubeconfig names, which prints an
 * ExecCredential. It shares our standard error, so that a person sees its questions, and on a terminal our
 * standard input, which is empty elsewhere.
 */
#ifndef RECORDER_EXEC_PLUGIN_H
#define RECORDER_EXEC_PLUGIN_H

#include "recorder/kubeconfig.h"

#include <uv.h>

struct exec_plugin;

/* Its output. */
struct exec_answer {
	char *token;                 /* NULL: certificates only */
	struct buf certificate, key; /* PEM */
	int64_t expires_ns;          /* wall clock, 0: never */
};

void exec_answer_release(struct exec_answer *a);

/*
 * Starts the program. `done` is called once, from the loop; with err->code 0 it takes over the answer. The
 * run is over when `done` was called. A program that takes longer than a minute is killed.
 */
struct exec_plugin *exec_plugin_run(uv_loop_t *loop, const struct cluster_config *config,
	void (*done)(void *context, struct exec_answer *answer, const struct err *err), void *context);

/* Kills the program; `done` will not be called. NULL is fine. */
void exec_plugin_stop(struct exec_plugin *p);

#endif
