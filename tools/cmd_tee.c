/* cmd_tee.c: `kubetape tee`. */
#include "schema/base/bytes_format.h"
#include "schema/base/log.h"
#include "schema/base/out_file.h"
#include "schema/tape/segment.h"
#include "tools/cli/tape_limits.h"
#include "tools/commands.h"
#include "tools/sweep/run_beside.h"
#include "tools/tee/tee.h"

#include <malloc.h> /* GNU: mallopt */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An extent is packed while the desk waits, and what passes meanwhile has to wait for it. */
#define EXTENT_BYTES (16u << 20)

struct tee_values {
	const char *output, *run, *kubeconfig, *context, *server, *token_file, *ca, *listen,
		*client_kubeconfig, *ca_folder, *identity, *impersonate, *secrets;
	struct text_list groups;
	struct tape_limits limits;
	bool insecure, fail_open, fail_closed, core, verbose, quiet;
};

#define AT(field)       offsetof(struct tee_values, field)
#define LIMIT_AT(field) AT(limits.field)

static const struct option_row rows[] = {
	{OPTION_TEXT, 'o', "output", AT(output), "TAPE", "the tape to write or to continue"},
	{OPTION_TEXT, 0, "run", AT(run), "FILE",
		"the run to write or to continue; TAPE with the ending .run unless given"},
	{OPTION_TEXT, 0, "kubeconfig", AT(kubeconfig), "FILE", "instead of KUBECONFIG and ~/.kube/config"},
	{OPTION_TEXT, 0, "context", AT(context), "NAME", "use this context, not the current one"},
	{OPTION_TEXT, 's', "server", AT(server), "URL", "the real API server"},
	{OPTION_TEXT, 0, "token-file", AT(token_file), "FILE",
		"a bearer token; the file is read again when it changes"},
	{OPTION_TEXT, 0, "certificate-authority", AT(ca), "FILE",
		"the authority that signs the real server's certificate"},
	{OPTION_FLAG, 0, "insecure-skip-tls-verify", AT(insecure), NULL,
		"do not verify the server's certificate"},
	{OPTION_TEXT, 0, "listen", AT(listen), "ADDR:PORT",
		"where to accept clients; 127.0.0.1:0 unless given, port 0 picks a free one"},
	{OPTION_TEXT, 0, "client-kubeconfig", AT(client_kubeconfig), "FILE",
		"write the clients' kubeconfig there and leave it"},
	{OPTION_TEXT, 0, "ca-dir", AT(ca_folder), "DIR",
		"keep the tee's own certificate authority there (ca.crt, ca.key); a new one each time unless given"},
	{OPTION_CHOICE, 0, "identity", AT(identity), "client|own",
		"whose credentials requests have: the client's, or those of the kubeconfig (default with a client "
		"certificate)"},
	{OPTION_TEXT, 0, "impersonate", AT(impersonate), "USER", "make every request as this user"},
	{OPTION_LIST, 0, "impersonate-group", AT(groups), "GROUP", "... and as a member of this group"},
	{OPTION_FLAG, 0, "fail-open", AT(fail_open), NULL,
		"when the disk is too slow, pass data on without recording them (default)"},
	{OPTION_FLAG, 0, "fail-closed", AT(fail_closed), NULL, "... or let clients wait for the disk"},
	{OPTION_CHOICE, 0, "secrets", AT(secrets), "digest|keep",
		"values of Secrets on the tape: digests, or unchanged"},
	TAPE_LIMIT_ROWS(LIMIT_AT, "16M"),
	{OPTION_FLAG, 0, "core", AT(core), NULL,
		"a crash may dump memory that holds tokens and values of Secrets"},
	{OPTION_FLAG, 'v', "verbose", AT(verbose), NULL, "print more messages"},
	{OPTION_FLAG, 'q', "quiet", AT(quiet), NULL, "print only errors"},
	{.kind = OPTION_END},
};

static void say_serving(
	void *context, const char *server, const char *url, const char *kubeconfig, const char *identity)
{
	(void)context;
	fprintf(stderr, "%s\nexport KUBECONFIG=%s\n", identity, kubeconfig);
	printf("teeing %s at %s\n", server, url);
	fflush(stdout);
}

static void say_summary(const struct tee_summary *s, const char *tape)
{
	char took[TIME_TEXT_BYTES], lost[BYTES_TEXT_BYTES];

	fprintf(stderr, "teed %ju requests on %ju connections in %s: %ju events to '%s', %ju deliveries",
		(uintmax_t)s->desk.requests, (uintmax_t)s->connections, duration_format(took, s->duration_ns),
		(uintmax_t)s->desk.events, tape, (uintmax_t)s->desk.deliveries);
	fprintf(stderr, ", %ju writes", (uintmax_t)s->desk.writes);
	if (s->desk.gaps)
		fprintf(stderr, "; %ju gaps", (uintmax_t)s->desk.gaps);
	if (s->desk.lost_bytes)
		fprintf(stderr, "; %s passed on and not written down",
			bytes_format(lost, s->desk.lost_bytes));
	if (s->desk.unread)
		fprintf(stderr, "; %ju pieces that could not be read", (uintmax_t)s->desk.unread);
	fputc('\n', stderr);
}

static int tee_check(const struct tee_values *v, const struct operands *operands, struct err *err)
{
	if (!v->output)
		return err_set(err, ERR_USAGE, "no tape to write; name one with '-o TAPE'");
	if (out_file_refuse_stream(v->output, "a tape is a folder", err) ||
		segment_refuse_file_name(v->output, err))
		return ERR_USAGE;
	if (operands->child && !operands->child[0])
		return err_set(err, ERR_USAGE, "no command after '--'");
	if (v->fail_open && v->fail_closed)
		return err_set(err, ERR_USAGE, "'--fail-open' and '--fail-closed' contradict each other");
	if (v->groups.count && !v->impersonate)
		return err_set(err, ERR_USAGE, "'--impersonate-group' wants a user, too: '--impersonate'");
	return 0;
}

static enum identity_choice choice_of(const char *word)
{
	if (!word)
		return IDENTITY_FITTING;
	return strcmp(word, "own") == 0 ? IDENTITY_OWN : IDENTITY_CLIENT;
}

static struct tape_writer_options writer_options(const struct tee_values *v)
{
	struct tape_writer_options options = tape_limits_options(&v->limits);

	options.extent_bytes = options.extent_bytes ? options.extent_bytes : EXTENT_BYTES;
	return options;
}

static int tee_serve(
	struct tee_values *v, const struct operands *operands, int *ret_exit_code, struct err *err)
{
	const char **groups = xcalloc(v->groups.count + 1, sizeof(*groups));
	char *run_path = v->run ? xstrdup(v->run) : run_beside(v->output);
	const struct tee_options o = {
		.cluster = {v->kubeconfig, v->context, v->server, v->token_file, v->ca, v->insecure},
		.tape = v->output,
		.run = run_path,
		.keep_secrets = v->secrets && strcmp(v->secrets, "keep") == 0,
		.writer = writer_options(v),
		.core_dumps = v->core,
		.listen = v->listen,
		.client_kubeconfig = v->client_kubeconfig,
		.authority_folder = v->ca_folder,
		.identity = {choice_of(v->identity), v->impersonate, groups},
		.fail_closed = v->fail_closed,
		.child = operands->child,
		.serving = say_serving,
	};
	struct tee_summary summary;
	int rc;

	for (size_t i = 0; i < v->groups.count; i++)
		groups[i] = v->groups.items[i];
	rc = tee_run(&o, &summary, ret_exit_code, err);
	if (summary.was_serving)
		say_summary(&summary, v->output);
	if (rc == 0 && summary.desk.lost_bytes && !operands->child)
		*ret_exit_code = EXIT_LOSS;
	free(groups);
	free(run_path);
	return rc;
}

static int run(const struct command *self, int argc, char **argv)
{
	struct tee_values v = {.kubeconfig = NULL};
	struct operands operands;
	struct err err = {0};
	int exit_code = EXIT_OK;
	int rc = options_parse(self, argc, argv, &v, &operands, &err);

	if (rc == 0)
		rc = tee_check(&v, &operands, &err);
	if (rc == 0) {
		mallopt(M_ARENA_MAX, 2); /* each thread's own would keep some 2 MB */
		log_set_level(v.verbose ? LOG_LEVEL_DEBUG : v.quiet ? LOG_LEVEL_ERROR : LOG_LEVEL_INFO);
		tape_limits_doubt(&v.limits, v.output);
		rc = tee_serve(&v, &operands, &exit_code, &err);
	}
	free(v.groups.items);
	if (rc > 0)
		return EXIT_OK;
	return rc ? command_fail(self, &err) : exit_code;
}

const struct command cmd_tee = {
	.name = "tee",
	.operands = "[-- COMMAND...]",
	.expects = {"no operands", 0, 0},
	.runs_child = true,
	.summary = "stand between a controller and its API server, and record what passes",
	.description =
		"Passes on everything between clients and the API server, byte for byte. Records what the\n"
		"server sent as a tape, and what each client asked, was sent and wrote as a run beside it.\n"
		"The cluster is found as kubectl finds it. With a COMMAND, runs it with KUBECONFIG set and\n"
		"ends with its exit code. An existing tape and run are continued.\n"
		"\n"
		"'teeing SERVER at URL' on stdout says that it passes connections on. SIGINT, SIGTERM or\n"
		"SIGHUP ends it, after the COMMAND if there is one.\n"
		"\n"
		"Tokens are passed on and never recorded. The values of Secrets are replaced by keyed\n"
		"digests; the key is kept beside the tape, in TAPE.key.",
	.options = rows,
	.exits =
		{
			[EXIT_OK] = "done; with a COMMAND the exit code is the command's",
			[EXIT_LOSS] = "ended by a signal, and something passed that was not recorded",
		},
	.run = run,
};
