/*
 * audit_book.h: who wrote what a tape shows, as the API server's audit log says it: a file beside the segments
 * (FORMAT.md, section 10), which any program may add to while a recorder writes the tape.
 *
 * The book names an event by what it is (uid and resourceVersion; of a deletion the uid alone), never by its
 * number, so that it holds for every part and copy of the tape. It keeps *claims*: this request may have
 * made that event. Which claim is the answer is decided when it is asked for, by all that are there; so the order in
 * which logs are read, and how often, makes no difference.
 */
#ifndef SCHEMA_TAPE_AUDIT_BOOK_H
#define SCHEMA_TAPE_AUDIT_BOOK_H

#include "schema/tape/event.h"

struct audit_book;

/* How a request was found to belong to an event, the surest first. */
enum audit_how {
	AUDIT_BY_VERSION, /* it answered that uid and resourceVersion */
	AUDIT_BY_UID,     /* it answered what it deleted, and the event took that away or began to */
	AUDIT_BY_MOMENT,  /* it named that object, and the event came while it was handled */
};

const char *audit_how_name(enum audit_how how); /* "version", "uid", "moment" */

struct audit_claim {
	struct slice uid, rv; /* of the event; rv is empty for its deletion */
	enum audit_how how;
	bool alone; /* no other event of the tape can be this request's */
	struct slice audit_id, verb, subresource, user, impersonated_user, user_agent, source_ip;
	int64_t begin_ns, end_ns; /* when the request was received, and answered, by the server's clock */
};

/* The book of a tape: a file in its folder, or, of a tape in one file, one beside it. The caller frees. */
char *audit_book_path(const char *tape_path);

/* For reading; NULL in *ret when the tape has none. ERR_CORRUPT when it is something else. */
int audit_book_open(const char *tape_path, struct audit_book **ret, struct err *err) MUST_CHECK;
/* For writing; made when the tape has none. */
int audit_book_create(const char *tape_path, struct audit_book **ret, struct err *err) MUST_CHECK;
/* What was put since the last flush is forgotten. Accepts NULL. */
void audit_book_close(struct audit_book *b);

/* Adds a claim: 1, or 0 if it is there already. Durable after the next flush. */
int audit_book_put(struct audit_book *b, const struct audit_claim *claim, struct err *err) MUST_CHECK;
int audit_book_flush(struct audit_book *b, struct err *err) MUST_CHECK;

/* Sees what others have put since: for readers, before a series of questions. */
int audit_book_refresh(struct audit_book *b, struct err *err) MUST_CHECK;

/*
 * The one request that made the event: 1 and its claim (borrowed until the next call), 0 when the book does not
 * say, or when several requests may have made it. b may be NULL. ERR_CORRUPT for a damaged claim.
 *
 * Requests that answered the same version are told apart by their times: all but the one that was answered
 * before the others were received found it there, and changed nothing.
 */
int audit_book_find(
	struct audit_book *b, const struct event *e, struct audit_claim *ret, struct err *err) MUST_CHECK;

/* What the book says of an event that it has claims of; borrowed for the call. */
struct audit_answer {
	struct slice uid, rv;
	int64_t first_ns; /* when the first of the requests was received that may have made it */
	const struct audit_claim *claim; /* NULL: it cannot be told which of them did */
};
/* All of them in the order of first_ns; a non-zero return stops and is returned. */
int audit_book_answers(struct audit_book *b, int (*each)(void *context, const struct audit_answer *answer),
	void *context, struct err *err) MUST_CHECK;

/* Events that the book has claims of, and those of them whose request it cannot tell. */
struct audit_book_counts {
	uint64_t events, disputed;
};
int audit_book_count(struct audit_book *b, struct audit_book_counts *ret, struct err *err) MUST_CHECK;

/* Every claim, whether or not it is the answer; a non-zero return stops and is returned. */
int audit_book_each(struct audit_book *b, int (*each)(void *context, const struct audit_claim *claim),
	void *context, struct err *err) MUST_CHECK;

/* Calls for each row that is not what was written, with a sentence. */
void audit_book_verify(struct audit_book *b, void (*damaged)(void *context, const char *what), void *context);

#endif
