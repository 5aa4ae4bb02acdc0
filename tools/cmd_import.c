/* cmd_import.c: `kubetape import`: a tape made of what other programs wrote. */
#include "schema/base/count_of.h"
#include "schema/base/out_file.h"
#include "schema/base/version.h"
#include "schema/base/visible.h"
#include "schema/tape/new_tape.h"
#include "tools/cli/plural.h"
#include "tools/cli/progress.h"
#include "tools/commands.h"
#include "tools/import/bundle.h"
#include "tools/import/bundle_files.h"
#include "tools/import/import.h"
#include "tools/import/kshrk_archive.h"
#include "tools/import/yaml_documents.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* Documents between two flushes while there is no waiting. */
#define FLUSH_DOCUMENTS 2000

struct import_options {
	const char *output, *from, *times, *secrets;
	bool json;
};

static const struct option_row rows[] = {
	{OPTION_TEXT, 'o', "output", offsetof(struct import_options, output), "TAPE",
		"the tape to make or to continue (required)"},
	{OPTION_CHOICE, 0, "from", offsetof(struct import_options, from),
		"auto|documents|must-gather|support-bundle|crust-gather",
		"the kind of input (default: determined from its content): a stream of documents, or a bundle"},
	{OPTION_CHOICE, 0, "times", offsetof(struct import_options, times), "auto|now|objects",
		"missing arrival times: the time of reading, or the objects' own time stamps (default: now for a "
		"pipe, objects for a file, the moment of a bundle)"},
	{OPTION_CHOICE, 0, "secrets", offsetof(struct import_options, secrets), "digest|keep",
		"values of Secrets: digests (default), or unchanged"},
	{OPTION_FLAG, 0, "json", offsetof(struct import_options, json), NULL, "print the counts as JSON"},
	{OPTION_END, 0, NULL, 0, NULL, NULL},
};

/* What is read: JSON documents, or what stands before them. */
struct input {
	struct json_documents json;
	struct yaml_documents yaml;
	struct kshrk_archive *archive;
	bool is_yaml;
	uint64_t count;
	uint64_t bytes; /* of the file; 0: a pipe, of which nobody knows the end */
	struct progress progress;
};

static int next_document(struct input *in, struct slice *ret, struct err *err)
{
	if (in->archive)
		return kshrk_archive_next(in->archive, ret, err);
	return in->is_yaml ? yaml_documents_next(&in->yaml, ret, err)
			   : json_documents_next(&in->json, ret, err);
}

static bool is_stopped(struct input *in)
{
	uint64_t passed = in->archive ? kshrk_archive_passed(in->archive) : json_documents_passed(&in->json);

	return progress_step(&in->progress, passed, in->bytes);
}

/* A pipe is read until a signal comes; of a file, a part would pass for the whole. */
static int stopped(const struct input *in, struct err *err)
{
	if (!in->bytes)
		return 0;
	return err_set(err, ERR_STOPPED, "the import of '%s' was stopped after %llu documents", in->json.name,
		(unsigned long long)in->count);
}

static int copy_documents(struct importer *m, struct input *in, struct tape_writer *w, struct err *err)
{
	struct slice document;
	int more = 0, rc;

	while (!is_stopped(in) && (more = next_document(in, &document, err)) != 0) {
		if (more < 0)
			return more;
		in->count++;
		rc = importer_add(m, document, err);
		if (rc)
			return err_prefix(err, rc, "document %llu of '%s'", (unsigned long long)in->count,
				in->json.name);
		if (((!in->archive && json_documents_waits(&in->json)) || in->count % FLUSH_DOCUMENTS == 0) &&
			(rc = tape_writer_flush(w, err)))
			return rc;
	}
	return progress_stop_asked() ? stopped(in, err) : 0;
}

/* The first bytes tell. What begins with no bracket is taken for YAML when it begins as its keys do. */
static int open_documents(struct input *in, struct importer *m, int fd, const char *name, struct err *err)
{
	struct slice first;
	size_t at = 0;
	int rc;

	json_documents_init(&in->json, fd, name);
	yaml_documents_init(&in->yaml, &in->json, importer_base_ns(m));
	rc = json_documents_peek(&in->json, &first, err);
	if (rc)
		return rc;
	if (slice_begins(first, "age-encryption.org/"))
		return err_set(err, ERR_USAGE, "'%s' is encrypted: decrypt it with age first", name);
	if (slice_begins(first, "\x1f\x8b") || slice_begins(first, "\x28\xb5\x2f\xfd"))
		return err_set(err, ERR_USAGE,
			"'%s' is compressed: unpack it first, as by `zcat`; an archive is read from a file",
			name);
	if (kshrk_archive_is(first))
		return kshrk_archive_open(fd, name, &in->archive, err);
	while (at < first.len && strchr(" \t\r\n", first.ptr[at]))
		at++;
	in->is_yaml =
		at < first.len && (isalpha((unsigned char)first.ptr[at]) || strchr("-#%", first.ptr[at]));
	return 0;
}

static void close_documents(struct input *in)
{
	kshrk_archive_close(in->archive);
	yaml_documents_release(&in->yaml);
	json_documents_release(&in->json);
}

static bool wants_now(const struct import_options *o, int fd)
{
	struct stat st;

	if (strcmp(o->times, "auto") != 0)
		return strcmp(o->times, "now") == 0;
	return fstat(fd, &st) == 0 && !S_ISREG(st.st_mode);
}

/* What the command tells in the end. */
struct import_result {
	struct import_counts counts;
	struct bundle_counts bundle;
	bool is_bundle;
};

struct outcome {
	struct import_counts counts;
	uint64_t documents;
	bool is_file; /* that can be read again, unlike a pipe */
};

static int read_input(struct input *in, struct importer *m, struct tape_writer *w, int fd, const char *name,
	struct err *err)
{
	struct stat st;
	int rc = open_documents(in, m, fd, name, err);

	in->bytes = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
	progress_begin(&in->progress, "importing");
	if (!rc)
		rc = copy_documents(m, in, w, err);
	progress_clear(&in->progress);
	return rc;
}

static int copy_to(struct tape_writer *w, const struct import_options *o, int fd, const char *name,
	struct outcome *ret, struct err *err)
{
	struct importer *m = importer_new(w, name, wants_now(o, fd) ? &clock_system : NULL);
	struct input in = {0};
	struct err late;
	int rc;

	if (strcmp(o->secrets, "keep") != 0)
		importer_redact(m, o->output);
	rc = read_input(&in, m, w, fd, name, err);
	if (importer_end(m, &late) && !rc)
		rc = err_copy(err, &late);
	*ret = (struct outcome){importer_counts(m), in.count, in.bytes != 0};
	close_documents(&in);
	importer_free(m);
	if (tape_writer_flush(w, &late) && !rc)
		rc = err_copy(err, &late);
	return rc;
}

/* ---- what is left of it ---- */

static bool holds_something(const struct outcome *o)
{
	return o->documents > o->counts.left_out;
}

static int check_outcome(const struct outcome *o, const char *name, struct err *err)
{
	if (holds_something(o))
		return 0;
	if (!o->documents)
		return err_set(
			err, ERR_FAILED, "there is nothing to import in '%s': it has no document", name);
	return err_set(err, ERR_FAILED,
		"there is nothing to import in '%s': none of its %llu documents is anything that a tape could hold",
		name, (unsigned long long)o->documents);
}

/* Whether what came of a failed import would pass for more than it is: nothing at all, or a part of a file
 * that is there to be read again. What stands before a document that is malformed is worth keeping. */
static bool is_worthless(const struct outcome *o, int code)
{
	return !holds_something(o) ||
	       (o->is_file && (code == ERR_STOPPED || code == ERR_NO_SPACE || code == ERR_IO));
}

/* What came before a failure stays, unless it is worthless. */
static int close_tape(struct tape_writer *w, const struct outcome *o, int code, struct err *err)
{
	struct err late;

	if (code && is_worthless(o, code)) {
		tape_writer_discard(w);
		return code;
	}
	if (tape_writer_close(w, &late) && !code)
		return err_copy(err, &late);
	return code;
}

static int open_input(const char *name, struct err *err)
{
	int fd = strcmp(name, "-") == 0 ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? err_set_errno(err, errno, "cannot open '%s'", name) : fd;
}

static int import_to(const struct import_options *o, const char *tape, int fd, const char *name,
	struct import_counts *ret, struct err *err)
{
	struct tape_writer_options options = {.program = "kubetape " KUBETAPE_VERSION};
	struct outcome outcome = {0};
	struct tape_writer *w;
	int rc = tape_writer_open(tape, &options, &w, err);

	if (rc)
		return rc;
	rc = copy_to(w, o, fd, name, &outcome, err);
	if (!rc)
		rc = check_outcome(&outcome, name, err);
	rc = close_tape(w, &outcome, rc, err);
	*ret = outcome.counts;
	if (!rc || is_worthless(&outcome, rc) || strcmp(tape, o->output) != 0)
		return rc;
	return err_suffix(err, rc, "what came before it is in '%s': %llu event%s", tape,
		(unsigned long long)outcome.counts.events, plural(outcome.counts.events));
}

/* A tape in one file appears when it is whole. */
static int import_to_file(
	const struct import_options *o, int fd, const char *name, struct import_counts *ret, struct err *err)
{
	struct new_tape made;
	int rc = new_tape_begin(o->output, &made, err);

	if (rc)
		return rc;
	return new_tape_end(&made, import_to(o, made.temporary, fd, name, ret, err), err);
}

/* ---- bundles ---- */

/* What a bundle's reader tells while it reads. */
struct bundle_host {
	struct progress progress;
	uint64_t bytes; /* of the archive; 0: a folder */
	uint64_t complaints;
};

/* More are counted. */
#define COMPLAINTS_MAX 8

static bool host_step(void *context, uint64_t bytes)
{
	struct bundle_host *host = context;

	return progress_step(&host->progress, bytes, host->bytes);
}

static void host_complain(void *context, const struct err *why)
{
	struct bundle_host *host = context;

	if (++host->complaints > COMPLAINTS_MAX)
		return;
	progress_clear(&host->progress);
	fputs("kubetape import: left out: ", stderr);
	visible_puts(stderr, why->text);
	fputc('\n', stderr);
}

static enum bundle_form form_of(const char *from)
{
	static const char *const forms[] = {[BUNDLE_MUST_GATHER] = "must-gather",
		[BUNDLE_SUPPORT_BUNDLE] = "support-bundle",
		[BUNDLE_CRUST_GATHER] = "crust-gather"};

	for (size_t i = BUNDLE_MUST_GATHER; i < COUNT_OF(forms); i++) {
		if (strcmp(from, forms[i]) == 0)
			return (enum bundle_form)i;
	}
	return BUNDLE_ANY;
}

/* A folder, or a file that begins as an archive does. */
static bool is_bundle(const struct import_options *o, int fd, uint64_t *ret_bytes)
{
	char bytes[512];
	struct stat st;
	ssize_t got;

	*ret_bytes = 0;
	if (strcmp(o->from, "documents") == 0 || fstat(fd, &st))
		return false;
	if (S_ISDIR(st.st_mode) || form_of(o->from) != BUNDLE_ANY)
		return true;
	got = S_ISREG(st.st_mode) ? pread(fd, bytes, sizeof(bytes), 0) : 0;
	*ret_bytes = (uint64_t)st.st_size;
	return got > 0 && bundle_files_may_be((struct slice){bytes, (size_t)got});
}

static int copy_bundle(struct tape_writer *w, const struct import_options *o, int fd, const char *name,
	struct bundle_host *host, struct import_result *ret, struct err *err)
{
	bool reading = strcmp(o->times, "now") == 0;
	struct importer *m = importer_new(w, name, reading ? &clock_system : NULL);
	const struct bundle_options options = {.form = form_of(o->from),
		.times_of_objects = strcmp(o->times, "objects") == 0,
		.context = host,
		.step = host_step,
		.complain = host_complain};
	int rc;

	if (strcmp(o->secrets, "keep") != 0)
		importer_redact(m, o->output);
	progress_begin(&host->progress, "importing");
	rc = bundle_import(m, fd, name, &options, &ret->bundle, err);
	progress_clear(&host->progress);
	if (!rc)
		rc = importer_end(m, err);
	ret->counts = importer_counts(m);
	importer_free(m);
	if (host->complaints > COMPLAINTS_MAX)
		fprintf(stderr, "kubetape import: and %llu more\n",
			(unsigned long long)(host->complaints - COMPLAINTS_MAX));
	return rc;
}

/* The tape appears when it is whole. */
static int import_bundle(const struct import_options *o, int fd, const char *name, uint64_t bytes,
	struct import_result *ret, struct err *err)
{
	struct tape_writer_options options = {.program = "kubetape " KUBETAPE_VERSION};
	struct bundle_host host = {.bytes = bytes};
	struct tape_writer *w;
	struct new_tape made;
	int rc = new_tape_begin(o->output, &made, err);

	ret->is_bundle = true;
	if (rc)
		return rc;
	rc = tape_writer_open(made.temporary, &options, &w, err);
	if (!rc) {
		rc = copy_bundle(w, o, fd, name, &host, ret, err);
		if (rc)
			tape_writer_abandon(w);
		else
			rc = tape_writer_close(w, err);
	}
	return new_tape_end(&made, rc, err);
}

/* ---- the command ---- */

static int import(
	const struct import_options *o, const char *name, struct import_result *ret, struct err *err)
{
	int fd = open_input(name, err), rc;
	uint64_t bytes;

	if (fd < 0)
		return fd;
	progress_catch_signals();
	if (is_bundle(o, fd, &bytes))
		rc = import_bundle(o, fd, name, bytes, ret, err);
	else
		rc = new_tape_is_file(o->output) ? import_to_file(o, fd, name, &ret->counts, err)
						 : import_to(o, o->output, fd, name, &ret->counts, err);
	if (fd != STDIN_FILENO)
		close(fd);
	return rc;
}

static void print_json(const struct import_result *r)
{
	printf("{\"events\": %llu, \"marks\": %llu, \"rows\": %llu, \"left_out\": %llu",
		(unsigned long long)r->counts.events, (unsigned long long)r->counts.marks,
		(unsigned long long)r->counts.rows, (unsigned long long)r->counts.left_out);
	if (r->is_bundle)
		printf(", \"logs\": %llu, \"audit_logs\": %llu, \"other_files\": %llu, \"lost\": %llu",
			(unsigned long long)r->bundle.logs, (unsigned long long)r->bundle.audit_logs,
			(unsigned long long)r->bundle.other_files, (unsigned long long)r->bundle.lost);
	puts("}");
}

static void print_count(const char *before, uint64_t count, const char *what)
{
	printf("%s%llu %s%s", before, (unsigned long long)count, what, plural(count));
}

static void print_bundle(const struct bundle_counts *c)
{
	if (c->lost)
		printf(", at least %llu file%s lost in a damaged archive", (unsigned long long)c->lost,
			plural(c->lost));
	if (c->logs + c->audit_logs + c->other_files) {
		print_count("; not taken in: ", c->logs, "log");
		print_count(", ", c->audit_logs, "audit log");
		print_count(", ", c->other_files, "other file");
	}
}

static void print_text(const struct import_options *o, const struct import_result *r)
{
	print_count("", r->counts.events, "event");
	print_count(" and ", r->counts.marks + r->counts.rows, "other row");
	printf(" in '%s'", o->output);
	if (r->counts.left_out)
		printf(", %llu document%s left out: nothing that a tape could hold",
			(unsigned long long)r->counts.left_out, plural(r->counts.left_out));
	if (r->is_bundle)
		print_bundle(&r->bundle);
	putchar('\n');
}

static int import_run(const struct command *self, int argc, char **argv)
{
	struct import_options o = {.from = "auto", .times = "auto", .secrets = "digest"};
	struct import_result result = {0};
	struct operands operands;
	struct err err = {0};
	int rc = options_parse(self, argc, argv, &o, &operands, &err);

	if (rc > 0)
		return EXIT_OK;
	if (rc == 0 && !o.output)
		rc = err_set(&err, ERR_USAGE, "option '--output' is missing");
	if (rc == 0)
		rc = out_file_refuse_stream(o.output, "a tape is a folder", &err);
	if (rc == 0)
		rc = import(&o, operands.items[0], &result, &err);
	if (rc < 0)
		return command_fail(self, &err);
	if (o.json)
		print_json(&result);
	else
		print_text(&o, &result);
	return result.counts.left_out || result.bundle.lost ? EXIT_LOSS : EXIT_OK;
}

const struct command cmd_import = {
	.name = "import",
	.operands = "FILE|FOLDER|-",
	.expects = {"one file or '-'", 1, 1},
	.summary = "make a tape of watch events, objects, exported rows or a support bundle",
	.description =
		"Reads JSON documents, one a line or spread over many: watch events as an API server writes\n"
		"them, objects as `kubectl get -w -o json` prints them, lists, and what `kubetape export`\n"
		"wrote; k8shark's archives (.kshrk) and records; and YAML, as kwok records it. The tape records\n"
		"what these lack: see connections, purpose 'import', and gaps between lists. Values of Secrets\n"
		"are replaced as in `kubetape record`; values that were already replaced stay.\n"
		"\n"
		"It also reads bundles, as folder, tar (.gz, .xz, .zst, .bz2) or zip: OpenShift's must-gather\n"
		"and `oc adm inspect`, Troubleshoot's support bundles, crust-gather with the patches of its\n"
		"`record`. They show a moment, or what their recorder saw; logs are not imported.\n"
		"\n"
		"  kubectl get pods -w --output-watch-events --show-managed-fields -o json |\n"
		"    kubetape import - -o X.tape\n"
		"  kubetape export X.tape --table all | kubetape import - -o Y.tape\n"
		"  kubetape import must-gather.tar.gz -o case.ktape",
	.options = rows,
	.exits =
		{
			[EXIT_LOSS] = "done, but documents were left out",
		},
	.run = import_run,
};
