/*
 * replayer_probe.c: a question to the command at quiet moments, and at the end before it is asked to end: what it
 * serves, which is not what it writes. See replayer_internal.h. What the probe prints goes through a file without a
 * name, and into the run; on the way only if the position is still the one at which it was asked.
 */
#include "replayer/replayer_internal.h"

#include "replayer/run/run.h"
#include "schema/base/log.h"
#include "schema/base/out_file.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PROBE_MS    30000
#define PROBE_BYTES (64u << 10) /* of what it prints */

struct probe {
	struct replayer *replayer;
	struct child *child;
	FILE *output;
	bool at_end;
	uint64_t seq; /* the position when it began */
	char path[64];
	char *command[6];
};

static void on_probe_late(uv_timer_t *timer)
{
	struct replayer *r = timer->data;

	log_warn("the probe did not end within %d s", PROBE_MS / 1000);
	child_kill(r->probe->child);
}

/* What comes after it: it is over, or could not be asked. */
static void probe_end(struct replayer *r)
{
	bool at_end = r->probe->at_end;

	uv_timer_stop(&r->patience);
	replayer_probe_close(r);
	if (at_end)
		replayer_ask_child(r);
}

static void on_probe_exit(void *context, int exit_code)
{
	struct probe *p = context;
	struct replayer *r = p->replayer;
	char text[PROBE_BYTES + 1];
	size_t n;

	rewind(p->output);
	n = fread(text, 1, PROBE_BYTES, p->output);
	text[n] = '\0';
	if (p->at_end)
		run_store_probe(r->run, text, exit_code);
	else if (p->seq == r->world->seq)
		run_store_probe_on_the_way(r->run, text, exit_code);
	probe_end(r);
}

static int probe_start(struct replayer *r, struct err *err)
{
	struct probe *p = r->probe;
	struct child_options options = r->command;
	int rc = out_file_temporary(NULL, &p->output, err);

	if (rc)
		return rc;
	snprintf(p->path, sizeof(p->path), "/proc/%d/fd/%d", (int)getpid(), fileno(p->output));
	p->command[0] = (char *)"sh";
	p->command[1] = (char *)"-c";
	p->command[2] = (char *)"exec >\"$1\"; eval \"$0\"";
	p->command[3] = (char *)r->options->probe;
	p->command[4] = p->path;
	options.command = p->command;
	options.pod = NULL;
	options.exited = on_probe_exit;
	options.context = p;
	rc = child_start(&r->loop, &options, &p->child, err);
	if (rc == 0)
		uv_timer_start(&r->patience, on_probe_late, PROBE_MS, 0);
	return rc;
}

void replayer_probe(struct replayer *r, bool at_end)
{
	struct err err;

	if (r->probe) { /* what it will say is as good */
		r->probe->at_end |= at_end;
		return;
	}
	r->probe = xcalloc(1, sizeof(*r->probe));
	*r->probe = (struct probe){.replayer = r, .at_end = at_end, .seq = r->world->seq};
	if (probe_start(r, &err) == 0)
		return;
	log_error("no probe: %s", err.text);
	probe_end(r);
}

void replayer_on_moment(void *context)
{
	struct replayer *r = context;

	if (r->child && r->restart == COMMAND_RUNS && !r->ended_by)
		replayer_probe(r, false);
}

bool replayer_is_probing(void *context)
{
	return ((struct replayer *)context)->probe != NULL;
}

void replayer_probe_close(struct replayer *r)
{
	if (!r->probe)
		return;
	if (r->probe->child)
		child_kill(r->probe->child);
	child_close(r->probe->child);
	if (r->probe->output)
		fclose(r->probe->output);
	free(r->probe);
	r->probe = NULL;
}
