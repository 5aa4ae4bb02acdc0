/*
 * replayer_internal.h: shared by replayer.c (opening, playing, closing), replayer_end.c (how it ends),
 * replayer_restart.c (restarts its command) and replayer_probe.c (probes that when it is quiet).
 */
#ifndef REPLAYER_INTERNAL_H
#define REPLAYER_INTERNAL_H

#include "replayer/api.h"
#include "replayer/child.h"
#include "replayer/deck.h"
#include "replayer/delivery.h"
#include "replayer/keys.h"
#include "replayer/replay_bounds.h"
#include "replayer/replay_faults.h"
#include "replayer/replayer.h"
#include "replayer/request/access.h"
#include "replayer/serve/watch.h"
#include "replayer/settle.h"
#include "replayer/view/viewer.h"
#include "replayer/view_desk.h"
#include "replayer/world/player.h"

#include <sys/resource.h>

struct probe;

struct replayer {
	const struct replay_options *options;
	uv_loop_t loop;
	uv_signal_t interrupt, terminate, hangup;
	uv_timer_t drain, grace, reminder, rest;
	uv_timer_t patience;   /* with a probe */
	struct settle *settle; /* NULL: nobody waits for quiet */
	int graces;            /* times that the child was waited for after it was asked to end */
	const char *ended_by;  /* as the run file says */
	int64_t drain_until_ns;
	struct tape *tape;
	struct marks marks;
	struct replay_bounds bounds;
	uint64_t ended_seq;
	struct world *world;
	struct player *player;
	struct watches *watches;
	struct deck deck;
	struct replay_faults faults;
	struct awaited *awaited;
	struct upkeep *upkeep;
	struct seen *seen; /* NULL: no view */
	struct run *run;
	struct delivery delivery;
	struct tls *tls;
	struct server *server;
	struct child *child;          /* NULL: none, or none now */
	struct pod *pod;              /* NULL: the command has a KUBECONFIG */
	struct child_options command; /* as it is started, and started again */
	struct probe *probe;          /* NULL: none is asked */
	enum {
		COMMAND_RUNS,
		COMMAND_DIES,       /* was killed, and has not ended yet */
		COMMAND_DIED,       /* has ended, and is to be started later */
		COMMAND_IS_AWAITED, /* as COMMAND_DIES, and is to be started as soon as it has ended */
	} restart;                  /* diagram in replayer_restart.c */
	struct keys *keys;          /* NULL: no terminal */
	struct api api;
	struct view_desk view_desk;
	struct viewer *viewer; /* NULL: nobody asked for it */
	struct access_options access;
	struct rlimit open_files; /* as we found the limit, and as the child shall */
	char *host, *url, *control_url, *kubeconfig;
	bool over, too_late;
	bool asked;    /* the child was asked to end */
	bool restless; /* the clients were never quiet at the end */
	size_t missed; /* faults that struck nobody and should have, watches that nobody asked for again */
	int port, exit_code;
	struct err failure; /* of reading the tape while playing; code 0: none */
};

/* ---- replayer_end.c ---- */

/* On SIGINT, SIGTERM and SIGHUP; when the child has ended; for the key q; when clients are quiet, or never
 * were; at the end of the tape, or when it cannot be read. */
void replayer_on_signal(uv_signal_t *handle, int signal_number);
void replayer_on_child_exit(void *replayer, int exit_code);
void replayer_on_quit(void *replayer);
void replayer_on_quiet(void *replayer, bool in_time);
void replayer_on_ended(void *replayer, const struct err *err);

/* Asks the command to end. */
void replayer_ask_child(struct replayer *r);

/* ---- replayer_probe.c ---- */

/* Runs the probe; at the end, the command is asked to end when it is over. One at a time. */
void replayer_probe(struct replayer *r, bool at_end);
/* For settle.h: the context is the replayer. */
void replayer_on_moment(void *replayer);
bool replayer_is_probing(void *replayer);
void replayer_probe_close(struct replayer *r);

/* ---- replayer_restart.c ---- */

/* For fault_act_command: the context is the replayer. */
bool replayer_kill_command(void *replayer);
void replayer_start_command(void *replayer);
/* The command has ended. True if a restart wanted that: then it is started, or will be. */
bool replayer_restart_on_exit(struct replayer *r);

/* Reports what happened: the report, and failures to meet the options. */
int replayer_report(struct replayer *r, struct err *err) MUST_CHECK;
/* The replay's exit code, after the report: that of the child, or for failures to meet the options. */
int replayer_exit_code(const struct replayer *r);

#endif
