/*
 * run_book.h: the run that a tee writes: clients, requests and their results. All of it belongs to the desk's
 * thread; the run file's own thread writes the rows.
 */
#ifndef TOOLS_TEE_RUN_BOOK_H
#define TOOLS_TEE_RUN_BOOK_H

#include "schema/run/run_file.h"
#include "schema/tape/redact.h"

struct run_book;

struct run_book_options {
	const char *path;
	const char *tape, *tape_id;
	const char *server;        /* the real one's URL */
	struct redactor *redactor; /* for digests of credentials */
};

/* Makes the run, or continues one of the same tape. */
int run_book_open(const struct run_book_options *options, struct run_book **ret, struct err *err) MUST_CHECK;

/* Says how it ended; freed in any case. NULL is accepted. */
struct run_book_end {
	uint64_t last_seq;
	const char *ended_by; /* command signal failure */
	int exit_code;        /* of the command; -1: there was none */
};
int run_book_close(struct run_book *b, const struct run_book_end *end, struct err *err) MUST_CHECK;

/* Nothing ever passed: a run that was not there before is removed. Frees; accepts NULL. */
void run_book_discard(struct run_book *b);

struct run_file *run_book_file(struct run_book *b);

/* Numbers of this life of the tee, as the run has them. */
uint64_t run_book_request(const struct run_book *b, uint64_t id);
uint64_t run_book_socket(const struct run_book *b, uint64_t id);

/* A program, by its User-Agent and its credentials. */
struct tee_client {
	uint64_t id;
	char *name;
	/* The last event of the tape that it was sent; 0 none. */
	uint64_t seen_seq, seen_rv;
	int64_t seen_mono_ns;
};
struct tee_client *run_book_client(
	struct run_book *b, struct slice agent, struct slice authorization, int64_t wall_ns);

/* Call now and then: logs once if the run cannot be written any more. */
void run_book_tick(struct run_book *b);

#endif
