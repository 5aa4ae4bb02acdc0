/* tape_book.c: see tape_book.h. */
#include "tools/tee/tape_book.h"

#include "replayer/kinds/resource_names.h"
#include "schema/base/hash.h"
#include "schema/base/log.h"

#include <stdlib.h>

#define FLUSH_NS          (50 * NS_PER_MS)
#define RETRY_NS          (500 * NS_PER_MS)
#define COMPLAIN_NS       (30 * NS_PER_S)
#define PENDING_MAX_BYTES (32u << 20)

#define DOCUMENTS_MAX 4096

/* What was written of a document last. */
struct kept_document {
	char *path, *variant;
	uint64_t hash;
};

struct tape_book {
	struct tape_book_options o;
	char *path;
	bool is_resumed;
	struct tape_writer *writer;
	struct redactor *redactor;
	struct catalog catalog;
	struct kept_document *documents;
	size_t document_count;
	int64_t due_ns, complained_ns;
	bool is_failing;
	struct err failure; /* that ended it; code 0: none */
};

static void tape_book_release(struct tape_book *b)
{
	for (size_t i = 0; i < b->document_count; i++) {
		free(b->documents[i].path);
		free(b->documents[i].variant);
	}
	free(b->documents);
	catalog_release(&b->catalog);
	redactor_close(b->redactor);
	free(b->path);
	free(b);
}

void tape_book_discard(struct tape_book *b)
{
	if (!b)
		return;
	if (b->writer && !b->is_resumed)
		redactor_discard(b->redactor);
	tape_writer_discard(b->writer);
	tape_book_release(b);
}

int tape_book_open(const struct tape_book_options *options, struct tape_book **ret, struct err *err)
{
	struct tape_book *b = xcalloc(1, sizeof(*b));
	int rc;

	b->o = *options;
	b->path = xstrdup(options->path);
	b->due_ns = INT64_MAX;
	rc = tape_writer_open(b->path, &options->tape, &b->writer, err);
	if (rc == 0) {
		b->is_resumed = !tape_writer_is_new(b->writer);
		rc = redactor_open(b->path, &b->redactor, err);
	}
	/* A disk that takes nothing at all is told now, while a person is looking. */
	if (rc == 0)
		rc = tape_writer_commit(b->writer, err);
	if (rc) {
		tape_book_discard(b);
		return rc;
	}
	resource_names_of(NULL, &b->catalog);
	*ret = b;
	return 0;
}

int tape_book_close(struct tape_book *b, struct err *err)
{
	int rc = 0;

	if (!b)
		return 0;
	if (b->writer)
		rc = tape_writer_close(b->writer, err);
	else if (b->failure.code)
		rc = err_copy(err, &b->failure);
	tape_book_release(b);
	return rc;
}

struct tape_writer *tape_book_writer(struct tape_book *b)
{
	return b->writer;
}

const char *tape_book_path(const struct tape_book *b)
{
	return b->path;
}

bool tape_book_is_resumed(const struct tape_book *b)
{
	return b->is_resumed;
}

struct redactor *tape_book_redactor(struct tape_book *b)
{
	return b->redactor;
}

bool tape_book_redacts(const struct tape_book *b, const char *group, const char *resource)
{
	return !b->o.keep_secrets && redactor_concerns(group, resource);
}

struct catalog *tape_book_catalog(struct tape_book *b)
{
	return &b->catalog;
}

/* ---- making it durable ---- */

void tape_book_give_up(struct tape_book *b, const struct err *err)
{
	if (!b->writer)
		return;
	log_error("%s; clients are served on, and nothing more is on the tape", err->text);
	b->failure = *err;
	(void)tape_writer_close(b->writer, NULL);
	b->writer = NULL;
	b->due_ns = INT64_MAX;
}

void tape_book_dirty(struct tape_book *b)
{
	int64_t now = clock_mono_ns(&clock_system);

	if (!b->writer)
		return;
	if (tape_writer_is_full(b->writer) && !b->is_failing)
		b->due_ns = now;
	else if (b->due_ns == INT64_MAX)
		b->due_ns = now + FLUSH_NS;
}

int64_t tape_book_due_ns(const struct tape_book *b)
{
	return b->due_ns;
}

static void tape_book_complain(struct tape_book *b, const struct err *err, int64_t now_ns)
{
	if (!b->is_failing || now_ns - b->complained_ns > COMPLAIN_NS) {
		log_error("%s; nothing is lost yet, trying again", err->text);
		b->complained_ns = now_ns;
	}
	b->is_failing = true;
	b->due_ns = now_ns + RETRY_NS;
}

void tape_book_tick(struct tape_book *b, int64_t now_ns)
{
	struct tape_writer_work work;
	struct err err;
	int rc;

	if (!b->writer || now_ns < b->due_ns)
		return;
	b->due_ns = INT64_MAX;
	rc = tape_writer_flush(b->writer, &err);
	if (rc == ERR_NO_SPACE || rc == ERR_IO) {
		tape_book_complain(b, &err, now_ns);
		return;
	}
	if (rc) {
		tape_book_give_up(b, &err);
		return;
	}
	if (b->is_failing)
		log_info("the tape is being written again");
	b->is_failing = false;
	tape_writer_work(b->writer, &work);
	if (work.takes_long)
		b->due_ns = now_ns;
}

bool tape_book_is_stuck(struct tape_book *b)
{
	struct tape_writer_work work;

	if (!b->writer || !b->is_failing)
		return false;
	tape_writer_work(b->writer, &work);
	return work.pending_bytes > PENDING_MAX_BYTES;
}

/* ---- documents ---- */

/* NULL: there are too many. */
static struct kept_document *kept_of(struct tape_book *b, const char *path, const char *variant)
{
	struct kept_document *k;

	for (size_t i = 0; i < b->document_count; i++) {
		k = &b->documents[i];
		if (strcmp(k->path, path) == 0 && strcmp(k->variant, variant) == 0)
			return k;
	}
	if (b->document_count == DOCUMENTS_MAX)
		return NULL;
	b->documents = xrealloc(b->documents, (b->document_count + 1) * sizeof(*b->documents));
	k = &b->documents[b->document_count++];
	*k = (struct kept_document){xstrdup(path), xstrdup(variant), 0};
	return k;
}

static uint64_t hash_of(const struct tape_document *document)
{
	return hash_add(HASH_EMPTY, document->body);
}

/* Which resources there are, and of what kind. */
static void learn_resources(struct catalog *c, const struct tape_document *d)
{
	if (strcmp(d->variant, "aggregated") == 0)
		(void)!catalog_add_aggregated(c, d->body, NULL);
	else if (strcmp(d->path, "/api/v1") == 0 || strncmp(d->path, "/apis/", 6) == 0)
		(void)!catalog_add_classic(c, d->body, NULL);
}

void tape_book_learn(struct tape_book *b, const struct tape_document *document)
{
	struct kept_document *k = kept_of(b, document->path, document->variant);

	if (k)
		k->hash = hash_of(document);
	learn_resources(&b->catalog, document);
}

int tape_book_document(struct tape_book *b, const struct tape_document *document, struct err *err)
{
	struct kept_document *k = kept_of(b, document->path, document->variant);
	int rc;

	if (!b->writer || !k || k->hash == hash_of(document))
		return 0;
	rc = tape_writer_document(b->writer, document, err);
	tape_book_dirty(b);
	if (rc)
		return rc;
	k->hash = hash_of(document);
	learn_resources(&b->catalog, document);
	return 0;
}
