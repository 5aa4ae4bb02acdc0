/*
 * replayer_probe.c: a question to the command once it is quiet, before it is asked to end: what it serves,
 * which is not what it writes. See replayer_internal.h. What the probe prints goes through a file without a
 * name, and into the run.
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
	char path[64];
	char *command[6];
};

static void on_probe_late(uv_timer_t *timer)
{
	struct replayer *r = timer->data;

	log_warn("the probe did not end within %d s", PROBE_MS / 1000);
	child_kill(r->probe->child);
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
	uv_timer_stop(&r->grace);
	run_store_probe(r->run, text, exit_code);
	replayer_ask_child(r);
}

void replayer_probe(struct replayer *r)
{
	struct probe *p = xcalloc(1, sizeof(*p));
	struct child_options options = r->command;
	struct err err;

	r->probe = p;
	p->replayer = r;
	if (out_file_temporary(NULL, &p->output, &err)) {
		log_error("no probe: %s", err.text);
		replayer_ask_child(r);
		return;
	}
	snprintf(p->path, sizeof(p->path), "/proc/%d/fd/%d", (int)getpid(), fileno(p->output));
	p->command[0] = (char *)"sh";
	p->command[1] = (char *)"-c";
	p->command[2] = (char *)"exec >\"$1\"; eval \"$0\"";
	p->command[3] = (char *)r->options->probe;
	p->command[4] = p->path;
	options.command = p->command;
	options.exited = on_probe_exit;
	options.context = p;
	if (child_start(&r->loop, &options, &p->child, &err)) {
		log_error("no probe: %s", err.text);
		replayer_ask_child(r);
		return;
	}
	uv_timer_start(&r->grace, on_probe_late, PROBE_MS, 0);
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
