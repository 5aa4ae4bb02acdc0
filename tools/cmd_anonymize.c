/* cmd_anonymize.c: `kubetape anonymize`. */
#include "schema/base/limits.h"
#include "schema/base/out_file.h"
#include "schema/base/version.h"
#include "schema/base/visible.h"
#include "schema/tape/redact.h"
#include "tools/anonymize/anonymize_tape.h"
#include "tools/cli/progress.h"
#include "tools/cli/read_file.h"
#include "tools/commands.h"

#include <stdio.h>
#include <stdlib.h>

#define KEY_BYTES_MIN 16

struct anonymize_values {
	const char *output, *key, *report;
	struct text_list keep;
	bool json;
};

#define AT(field) offsetof(struct anonymize_values, field)

static const struct option_row rows[] = {
	{OPTION_TEXT, 'o', "output", AT(output), "TAPE",
		"the tape to make, NAME.tape, or NAME.ktape for one file; it must not exist"},
	{OPTION_LIST, 0, "keep", AT(keep), "WORD,...", "words that stay, in addition to those of Kubernetes"},
	{OPTION_TEXT, 0, "key", AT(key), "FILE",
		"a secret key: the same key makes the same pseudonyms; a new one each time unless given"},
	{OPTION_TEXT, 0, "report", AT(report), "FILE",
		"write each word with its pseudonym and how often it occurs, a line each; this undoes the "
		"anonymization"},
	{OPTION_FLAG, 0, "json", AT(json), NULL, "print the result as JSON"},
	{.kind = OPTION_END},
};

struct work {
	struct progress progress;
	const char *doing;
};

static int anonymize_step(void *context, const char *doing, uint64_t done, uint64_t total)
{
	struct work *w = context;

	if (w->doing != doing) {
		if (w->doing)
			progress_clear(&w->progress);
		w->doing = doing;
		progress_begin(&w->progress, doing);
	}
	return progress_step(&w->progress, done, total);
}

/* ---- the key ---- */

static int key_of_file(const char *path, struct redactor **ret, struct err *err)
{
	static const unsigned char zero[32];
	struct redactor *hash = redactor_with_key(zero);
	unsigned char key[32];
	struct buf secret;
	int rc;

	buf_init(&secret, LIMIT_CONFIG_BYTES);
	rc = read_file(path, &secret, err);
	if (!rc && secret.len < KEY_BYTES_MIN)
		rc = err_set(err, ERR_USAGE, "key file '%s' has %zu bytes, expected at least %d", path,
			secret.len, KEY_BYTES_MIN);
	if (!rc)
		rc = redactor_digest(hash, buf_slice(&secret), key, err);
	if (!rc)
		*ret = redactor_with_key(key);
	buf_release(&secret);
	redactor_close(hash);
	return rc;
}

static int make_anonymizer(const struct anonymize_values *v, struct anonymizer **ret, struct err *err)
{
	struct redactor *redactor;
	int rc = v->key ? key_of_file(v->key, &redactor, err) : redactor_random(&redactor, err);

	if (rc)
		return rc;
	*ret = anonymizer_new(redactor);
	for (size_t i = 0; i < v->keep.count; i++)
		anonymizer_keep(*ret, v->keep.items[i]);
	return 0;
}

/* ---- the report ---- */

static void print_words(const struct anonymizer *a, FILE *to)
{
	struct anonymized w;

	for (size_t i = 0; i < anonymizer_count(a); i++) {
		if (anonymizer_at(a, i, &w))
			fprintf(to, "%s\t%s\t%llu\n", w.text, w.pseudonym, (unsigned long long)w.count);
	}
}

static int write_report(const char *path, const struct anonymizer *a, struct err *err)
{
	struct out_file *out;
	int rc = out_file_open(path, &out, err);

	if (rc)
		return rc;
	print_words(a, out_file_stream(out));
	return out_file_close(out, err);
}

static void print_result(
	const struct anonymize_values *v, const struct anonymizer *a, const struct remake_result *r)
{
	unsigned long long words = 0, places = 0;
	struct anonymized w;

	for (size_t i = 0; i < anonymizer_count(a); i++) {
		if (!anonymizer_at(a, i, &w))
			continue;
		words++;
		places += w.count;
	}
	if (v->json) {
		printf("{\"events\": %llu, \"words\": %llu, \"places\": %llu}\n",
			(unsigned long long)r->events, words, places);
		return;
	}
	printf("%llu words were replaced in %llu places of %llu events; none of them is left in '", words,
		places, (unsigned long long)r->events);
	visible_puts(stdout, v->output);
	puts("'");
}

/* ---- the command ---- */

static int anonymize_make(
	const struct anonymize_values *v, struct tape *tape, struct anonymizer *a, struct err *err)
{
	struct work work = {0};
	const struct anonymize_options options = {anonymize_step, &work, "kubetape " KUBETAPE_VERSION};
	struct remake_result result;
	int rc;

	progress_catch_signals();
	rc = anonymize_tape(tape, v->output, a, &options, &result, err);
	if (work.doing)
		progress_clear(&work.progress);
	if (!rc && v->report)
		rc = write_report(v->report, a, err);
	if (!rc)
		print_result(v, a, &result);
	return rc;
}

static int anonymize(void *values, const struct operands *operands, struct err *err)
{
	const struct anonymize_values *v = values;
	struct anonymizer *a = NULL;
	struct tape *tape;
	int rc = v->output ? out_file_refuse_stream(v->output, "a tape is a folder", err)
			   : err_set(err, ERR_USAGE, "no tape to make; name one with '-o TAPE'");

	if (!rc && v->report)
		rc = out_file_check(v->report, err);
	if (rc || (rc = tape_open(operands->items[0], &tape, err)))
		return rc;
	rc = make_anonymizer(v, &a, err);
	if (!rc)
		rc = anonymize_make(v, tape, a, err);
	anonymizer_free(a);
	tape_close(tape);
	return rc;
}

static int anonymize_run(const struct command *self, int argc, char **argv)
{
	struct anonymize_values v = {0};
	int rc = command_run(self, argc, argv, &v, anonymize);

	free(v.keep.items);
	return rc;
}

const struct command cmd_anonymize = {
	.name = "anonymize",
	.operands = "TAPE",
	.expects = {"one tape", 1, 1},
	.summary = "make a tape without your names: pseudonyms of the same form everywhere",
	.description =
		"Each word that is not one of Kubernetes' own becomes another one of the same form and length,\n"
		"wherever it is: in names, namespaces, labels, annotations, images, addresses, values of the\n"
		"environment, messages, paths, the names of custom resources. So references, selectors, owners and\n"
		"DNS names still match. Addresses and UUIDs are replaced as such. Times, resourceVersions, numbers\n"
		"of JSON, numbers of up to five digits and quantities stay. In messages words of English stay,\n"
		"unless they are part of a name. Documents that are not JSON are left out.\n"
		"\n"
		"Then the new tape is read again; it is made only if no word is left that had to be replaced. The\n"
		"numbers of objects and events, and their times, stay: they may reveal something, too.\n"
		"\n"
		"  kubetape anonymize X.tape -o Y.ktape",
	.options = rows,
	.run = anonymize_run,
};
