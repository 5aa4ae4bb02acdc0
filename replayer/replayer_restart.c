/*
 * replayer_restart.c: the command is killed, and started again; see replayer_internal.h.
 *
 *     RUNS --kill--> DIES --has ended--> DIED --start--> RUNS
 *                       \--start--> IS_AWAITED --has ended--/
 */
#include "replayer/replayer_internal.h"

#include "replayer/run/run.h"
#include "replayer/write/lease_end.h"
#include "schema/base/log.h"

bool replayer_kill_command(void *context)
{
	struct replayer *r = context;

	if (!r->child || r->asked || r->over || r->restart != COMMAND_RUNS || !child_kill(r->child))
		return false;
	r->restart = COMMAND_DIES;
	return true;
}

static void replayer_restart_start(struct replayer *r)
{
	struct err err;

	child_close(r->child);
	r->child = NULL;
	r->restart = COMMAND_RUNS;
	r->run->restarts++;
	r->run->watches_before = r->run->watches;
	lease_end_all(&r->api);
	if (child_start(&r->loop, &r->command, &r->child, &err)) {
		log_error("the command cannot be started again: %s", err.text);
		replayer_on_child_exit(r, 127);
		return;
	}
	fault_act_started(r->faults.act);
}

void replayer_start_command(void *context)
{
	struct replayer *r = context;

	if (r->restart == COMMAND_DIED)
		replayer_restart_start(r);
	else if (r->restart == COMMAND_DIES)
		r->restart = COMMAND_IS_AWAITED;
}

bool replayer_restart_on_exit(struct replayer *r)
{
	if (r->restart == COMMAND_IS_AWAITED && !r->asked)
		replayer_restart_start(r);
	else if (r->restart == COMMAND_DIES && !r->asked)
		r->restart = COMMAND_DIED;
	else
		return false;
	return true;
}
