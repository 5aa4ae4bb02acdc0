/*
 * tee.h: a tee in the pipe between a controller and its API server. Everything passes unchanged, and is
 * recorded beside the road: a tape of what the server sent, a run of what each client asked, was sent and
 * wrote.
 *
 *     client ---- door ---- pair ---- road ----------- real API server
 *     client ----/    \---- pair ---- road -----------/
 *                                       |
 *       the loop: sockets, bytes        | feed: copies, in order, with their times, up to a maximum
 *     ..................................|..........................................................
 *       the desk's thread               v
 *                                     desk ---- talks, frames, lists ---- tape
 *                                                               \-------- run (its own thread writes it)
 *
 * Each client connection has one server connection: windows, pings, resets, ends and back-pressure are
 * between the client and the server, and the tee has none of its own. TEE.md describes it for users.
 */
#ifndef TOOLS_TEE_TEE_H
#define TOOLS_TEE_TEE_H

#include "recorder/kubeconfig.h"
#include "tools/tee/desk.h"
#include "tools/tee/identity.h"

struct tee_options {
	struct kubeconfig_wishes cluster;
	const char *tape, *run; /* paths of the output */
	bool keep_secrets;
	struct tape_writer_options writer;
	bool core_dumps;    /* a crash may leave one although it holds tokens and values of Secrets */
	const char *listen; /* ADDR:PORT; NULL: 127.0.0.1:0 */
	const char *client_kubeconfig; /* NULL: a temporary file, removed at the end */
	const char *authority_folder;  /* NULL: an authority for this time only */
	struct identity_options identity;
	bool fail_closed; /* what the desk has no room for is not read, instead of not written down */
	char **child;     /* terminated by NULL; NULL: none */
	/* Called once, when it accepts connections and the kubeconfig is complete. */
	void (*serving)(void *context, const char *server, const char *url, const char *kubeconfig,
		const char *identity);
	void *context;
};

struct tee_summary {
	uint64_t connections, requests, unreached;
	int64_t duration_ns;
	struct desk_summary desk;
	bool was_serving;
};

/* Runs until SIGINT, SIGTERM, SIGHUP, or the end of the child, whose exit code is then *ret_exit_code. */
int tee_run(const struct tee_options *options, struct tee_summary *ret, int *ret_exit_code,
	struct err *err) MUST_CHECK;

#endif
