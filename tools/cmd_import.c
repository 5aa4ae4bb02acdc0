/* cmd_import.c: `kubetape import`: a tape made of what other programs wrote. */
#include "schema/base/version.h"
#include "tools/commands.h"
#include "tools/import.h"
#include "tools/json_documents.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* Documents between two flushes while there is no waiting. */
#define FLUSH_DOCUMENTS 2000

struct import_options {
	const char *output, *times;
	bool json;
};

static const struct option_row rows[] = {
	{OPTION_TEXT, 'o', "output", offsetof(struct import_options, output), "TAPE",
		"the tape to make, or to go on with (required)"},
	{OPTION_CHOICE, 0, "times", offsetof(struct import_options, times), "auto|now|objects",
		"where arrival times come from that the input lacks: of reading, or the objects' own "
		"time stamps (default: now for a pipe, objects for a file)"},
	{OPTION_FLAG, 0, "json", offsetof(struct import_options, json), NULL, "print the counts as JSON"},
	{OPTION_END, 0, NULL, 0, NULL, NULL},
};

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
	(void)number;
	interrupted = 1;
}

static int copy_documents(
	struct importer *m, struct json_documents *documents, struct tape_writer *w, struct err *err)
{
	struct slice document;
	int more;

	while (!interrupted && (more = json_documents_next(documents, &document, err)) != 0) {
		if (more < 0)
			return more;
		if (importer_add(m, document, err))
			return err_prefix(err, "document %llu of '%s'", (unsigned long long)documents->count,
				documents->name);
		if ((json_documents_waits(documents) || documents->count % FLUSH_DOCUMENTS == 0) &&
			tape_writer_flush(w, err))
			return err->code;
	}
	return 0;
}

static bool wants_now(const struct import_options *o, int fd)
{
	struct stat st;

	if (strcmp(o->times, "auto") != 0)
		return strcmp(o->times, "now") == 0;
	return fstat(fd, &st) == 0 && !S_ISREG(st.st_mode);
}

/* Closes the tape whatever happens: what came before a failure stays. */
static int copy_to(struct tape_writer *w, const struct import_options *o, int fd, const char *name,
	struct import_counts *ret, struct err *err)
{
	struct importer *m = importer_new(w, name, wants_now(o, fd) ? &clock_system : NULL);
	struct json_documents documents;
	struct err late;
	int code;

	json_documents_init(&documents, fd, name);
	code = copy_documents(m, &documents, w, err);
	if (importer_end(m, &late) && !code) {
		*err = late;
		code = late.code;
	}
	*ret = importer_counts(m);
	json_documents_release(&documents);
	importer_free(m);
	if (tape_writer_close(w, &late) && !code) {
		*err = late;
		code = late.code;
	}
	return code;
}

static int open_input(const char *name, struct err *err)
{
	int fd = strcmp(name, "-") == 0 ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? err_set_errno(err, errno, "cannot open '%s'", name) : fd;
}

static int import(
	const struct import_options *o, const char *name, struct import_counts *ret, struct err *err)
{
	struct tape_writer_options options = {.program = "kubetape " KUBETAPE_VERSION};
	struct sigaction action = {.sa_handler = on_signal}; /* without SA_RESTART: read returns */
	struct tape_writer *w;
	int fd = open_input(name, err), code;

	if (fd < 0)
		return err->code;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	code = tape_writer_open(o->output, &options, &w, err);
	if (!code)
		code = copy_to(w, o, fd, name, ret, err);
	if (fd != STDIN_FILENO)
		close(fd);
	return code;
}

static void print_counts(const struct import_options *o, const struct import_counts *c)
{
	if (o->json)
		printf("{\"events\": %llu, \"marks\": %llu, \"rows\": %llu, \"left_out\": %llu}\n",
			(unsigned long long)c->events, (unsigned long long)c->marks,
			(unsigned long long)c->rows, (unsigned long long)c->left_out);
	else
		printf("%llu events and %llu other rows in '%s'", (unsigned long long)c->events,
			(unsigned long long)(c->marks + c->rows), o->output);
	if (!o->json && c->left_out)
		printf(", %llu documents left out: they are nothing that a tape could hold",
			(unsigned long long)c->left_out);
	if (!o->json)
		putchar('\n');
}

static int run(const struct command *self, int argc, char **argv)
{
	struct import_options o = {.times = "auto"};
	struct import_counts counts = {0};
	struct operands operands;
	struct err err = {0};
	int code = options_parse(self, argc, argv, &o, &operands, &err);

	if (code > 0)
		return EXIT_OK;
	if (code == 0 && (operands.count != 1 || operands.child))
		code = err_set(
			&err, ERR_USAGE, "expected one file or '-', found %zu operands", operands.count);
	if (code == 0 && !o.output)
		code = err_set(&err, ERR_USAGE, "option '--output' is missing");
	if (code == 0)
		code = import(&o, operands.items[0], &counts, &err);
	if (code < 0)
		return command_fail(self, &err);
	print_counts(&o, &counts);
	return counts.left_out ? EXIT_LOSS : EXIT_OK;
}

const struct command cmd_import = {
	.name = "import",
	.operands = "FILE|-",
	.summary = "make a tape of watch events, objects or exported rows",
	.description =
		"Reads JSON documents, one a line or spread over many: watch events as an API server writes\n"
		"them, objects as `kubectl get -w -o json` prints them, lists, and what `kubetape export`\n"
		"wrote. What they lack is told by the tape: see connections, purpose 'import'.\n\n"
		"  kubectl get pods -w --output-watch-events -o json | kubetape import - -o X.tape\n"
		"  kubetape export X.tape --table all | kubetape import - -o Y.tape",
	.options = rows,
	.run = run,
};
