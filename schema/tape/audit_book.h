/*
 * audit_book.h: who made the changes on a tape, according to the API server's audit log: a file beside the
 * segments (FORMAT.md, section 10). Any program may add to it while a recorder writes the tape.
 *
 * The book names an event by uid and resourceVersion (a deletion by the uid alone), never by its number, so
 * that it is valid for every part and copy of the tape. It keeps *claims*: this request may have made that
 * event. A query decides which claim counts, from all claims of the event. So it does not matter in which
 * order logs are read, and how often.
 */
#ifndef SCHEMA_TAPE_AUDIT_BOOK_H
#define SCHEMA_TAPE_AUDIT_BOOK_H

#include "schema/tape/event.h"

struct audit_book;

/* How a request was found to belong to an event, the surest first. */
enum audit_how {
	AUDIT_BY_VERSION, /* it answered that uid and resourceVersion */
	AUDIT_BY_UID,     /* it answered the object that it deleted, and the event deleted that or began to */
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

/* For reading; NULL in *ret when the tape has none. ERR_CORRUPT if it is something else. */
int audit_book_open(const char *tape_path, struct audit_book **ret, struct err *err) MUST_CHECK;
/* For writing; made when the tape has none. */
int audit_book_create(const char *tape_path, struct audit_book **ret, struct err *err) MUST_CHECK;
/* Drops what was put since the last flush. Accepts NULL. */
void audit_book_close(struct audit_book *b);

/* Adds a claim: 1, or 0 if it is there already. Durable after the next flush. */
int audit_book_put(struct audit_book *b, const struct audit_claim *claim, struct err *err) MUST_CHECK;
int audit_book_flush(struct audit_book *b, struct err *err) MUST_CHECK;

/* Sees what others have put since: for readers, before a series of questions. */
int audit_book_refresh(struct audit_book *b, struct err *err) MUST_CHECK;

/*
 * The one request that made the event: 1 and its claim (borrowed until the next call), 0 if the book does not
 * say, or if several requests may have made it. b may be NULL. ERR_CORRUPT for a damaged claim.
 *
 * If several requests answered the same version, their times decide: the one that was answered before the
 * others were received made it. The others found it there, and changed nothing. A deletecollection answers also
 * what others deleted meanwhile: it counts for a deletion that nobody else made.
 */
int audit_book_find(
	struct audit_book *b, const struct event *e, struct audit_claim *ret, struct err *err) MUST_CHECK;

/* The book's answer about an event that it has claims of; borrowed for the call. */
struct audit_answer {
	struct slice uid, rv;
	int64_t first_ns; /* when the first of the requests was received that may have made it */
	const struct audit_claim *claim; /* NULL: it is not known which of them did */
};
/* All of them in the order of first_ns; a non-zero return stops and is returned. */
int audit_book_answers(struct audit_book *b, int (*each)(void *context, const struct audit_answer *answer),
	void *context, struct err *err) MUST_CHECK;

/* The number of events with claims, and of those whose request is not known. */
struct audit_book_counts {
	uint64_t events, disputed;
};
int audit_book_count(struct audit_book *b, struct audit_book_counts *ret, struct err *err) MUST_CHECK;

/* Every claim, whether or not it is the answer; a non-zero return stops and is returned. */
int audit_book_each(struct audit_book *b, int (*each)(void *context, const struct audit_claim *claim),
	void *context, struct err *err) MUST_CHECK;

/* Calls for each damaged row, with a sentence. */
void audit_book_verify(struct audit_book *b, void (*damaged)(void *context, const char *what), void *context);

#endif
