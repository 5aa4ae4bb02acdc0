/*
 * tape_book.h: the tape that a tee writes: made durable at each tick, and continued if it exists. All of it
 * belongs to the desk's thread.
 *
 * If the disk is full or broken, it retries; meanwhile appended data wait, up to a maximum.
 */
#ifndef TOOLS_TEE_TAPE_BOOK_H
#define TOOLS_TEE_TAPE_BOOK_H

#include "schema/base/catalog.h"
#include "schema/tape/redact.h"
#include "schema/tape/writer.h"

struct tape_book_options {
	const char *path;
	bool keep_secrets;
	struct tape_writer_options tape;
};

struct tape_book;

int tape_book_open(
	const struct tape_book_options *options, struct tape_book **ret, struct err *err) MUST_CHECK;

/* Flushes, seals and closes; freed in any case. The first failure that could not be mended. */
int tape_book_close(struct tape_book *b, struct err *err);

/* Nothing ever passed: a tape that was not there before is removed. Frees; accepts NULL. */
void tape_book_discard(struct tape_book *b);

/* NULL if the tape cannot be written any more. */
struct tape_writer *tape_book_writer(struct tape_book *b);
const char *tape_book_path(const struct tape_book *b);
bool tape_book_is_resumed(const struct tape_book *b); /* it was there already */

/* For digests of all sorts; and whether objects of that resource have values to take out. */
struct redactor *tape_book_redactor(struct tape_book *b);
bool tape_book_redacts(const struct tape_book *b, const char *group, const char *resource);

/* Something was written: it becomes durable at the next tick. After each event: seals what is full. */
void tape_book_dirty(struct tape_book *b);

/* A failure of a call of the writer that is not one of the disk: nothing more is written. */
void tape_book_give_up(struct tape_book *b, const struct err *err);

/* When the next tick is due; INT64_MAX: nothing waits. */
int64_t tape_book_due_ns(const struct tape_book *b);
void tape_book_tick(struct tape_book *b, int64_t now_mono_ns);

/* The disk takes nothing, and too much waits already. */
bool tape_book_is_stuck(struct tape_book *b);

/* The resources of every cluster and of this one's discovery, to find a resource's kind. */
struct catalog *tape_book_catalog(struct tape_book *b);

/* Takes note of a document's contents; it is on the tape. */
void tape_book_learn(struct tape_book *b, const struct tape_document *document);

/* Keeps a document about the server, unless it is the same as the last one. */
int tape_book_document(struct tape_book *b, const struct tape_document *document, struct err *err) MUST_CHECK;

#endif
