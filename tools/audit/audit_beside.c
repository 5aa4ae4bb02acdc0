/* audit_beside.c: see audit_beside.h. The recording does not depend on it: what fails here is said, and that is all. */
#include "tools/audit/audit_beside.h"

#include "schema/base/log.h"
#include "tools/audit/audit_follow.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

struct audit_beside {
	struct audit_follow_options options;
	pthread_t thread;
	atomic_bool ready, over;
	struct audit_totals totals;
	struct err err;
	int rc;
};

static bool beside_is_ready(void *context)
{
	return atomic_load(&((struct audit_beside *)context)->ready);
}

static bool beside_is_over(void *context)
{
	return atomic_load(&((struct audit_beside *)context)->over);
}

static void *beside_run(void *context)
{
	struct audit_beside *b = context;

	b->rc = audit_follow(&b->options, &b->totals, &b->err);
	return NULL;
}

/* Signals are the recorder's. */
static int start_thread(struct audit_beside *b)
{
	sigset_t all, before;
	int failed;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	failed = pthread_create(&b->thread, NULL, beside_run, b);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return failed;
}

struct audit_beside *audit_beside_start(const char *tape_path, const char *log_path, int64_t tolerance_ns)
{
	struct audit_beside *b = xcalloc(1, sizeof(*b));

	b->options = (struct audit_follow_options){.tape_path = tape_path,
		.log_path = log_path,
		.tolerance_ns = tolerance_ns,
		.at_end = true,
		.is_ready = beside_is_ready,
		.is_over = beside_is_over,
		.context = b};
	if (start_thread(b)) {
		log_error("the audit log is not followed: no thread can be made");
		free(b);
		return NULL;
	}
	return b;
}

void audit_beside_ready(struct audit_beside *b)
{
	if (b)
		atomic_store(&b->ready, true);
}

void audit_beside_end(struct audit_beside *b)
{
	if (!b)
		return;
	atomic_store(&b->over, true);
	pthread_join(b->thread, NULL);
	if (b->rc)
		log_error("the audit log was not followed to its end: %s; 'kubetape audit' reads it again",
			b->err.text);
	else
		fprintf(stderr, "joined '%s': of %" PRIu64 " events it is known which request made them\n",
			b->options.log_path, b->totals.events - b->totals.disputed);
	free(b);
}
