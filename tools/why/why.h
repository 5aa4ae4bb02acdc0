/*
 * why.h: why an object is as it is: the chain of causes, as far as a tape shows it.
 *
 * A chain begins with a fact about the object ("was deleted", "waits for an image"). Each step names what
 * made the fact before it, with the event that is the evidence, until a fact is explained by a request from
 * outside, or nothing on the tape explains it. A table of rules (why_rules.c) finds the steps: a rule is SQL.
 */
#ifndef TOOLS_WHY_H
#define TOOLS_WHY_H

#include "schema/sql/session.h"

/* How sure a step is. */
enum why_certainty {
	WHY_CERTAIN, /* the data say so themselves: the object, an Event, the audit log */
	WHY_LIKELY,  /* concluded from owner references and the order of events */
};

struct why_rule {
	const char *fact; /* that it explains */
	const char *name;
	const char *resource; /* of the object that the fact is of; NULL: any */
	enum why_certainty certainty;
	/* Gives at most one row: the event's seq, a text, the field that the event changed or NULL. Parameters are in
	 * why_chain.c. */
	const char *sql;
	/* The fact that the text states, of the event's object; after a '^', of the object that was explained, of which an
	 * Event speaks. NULL: no cause lies beyond it. */
	const char *next;
};

/* One event by its number, or the object that the tape begins with as that event left it: the beginning of a part, and of
 * a tape whose oldest segments are gone, has no events for what did not change since. */
#define EVENT_OR_STATE(columns, number)                                                                      \
	"(SELECT " columns " FROM events WHERE seq = " number " UNION ALL SELECT " columns                   \
	" FROM objects(:begin) WHERE seq = " number " AND CAST(" number                                      \
	" AS INTEGER) <= CAST(:begin AS INTEGER))"

/* Gives one row for the container that ended, of the pod of :seq: its last lines, and why there are none. NULLs if the
 * tape tells nothing of it. */
extern const char why_log_sql[];

/* In the order in which they are tried; ended by a row of NULLs. */
extern const struct why_rule why_rules[];

/* Texts are the chain's. */
struct why_step {
	const struct why_rule *rule;
	int64_t seq, time_ns;
	char *time, *resource, *namespace, *name, *uid, *origin;
	char *text, *field;
	char *user, *user_agent, *verb; /* by the audit log; "" not known */
	char *manager;                  /* by managedFields; "" not known */
	char *gap;                      /* in which the event hides, as a sentence; "" none */
	char *log; /* of a container that died: its last lines, at most WHY_LOG_LINES; "" none are on the tape */
	char *no_log; /* why not, as the tape says it; "" it does not */
};

#define WHY_LOG_LINES      5
#define WHY_LOG_CHARACTERS 300 /* of a line; a longer one ends in "..." */

struct why_chain {
	struct why_step *steps;
	size_t count;
	char *resource, *namespace; /* of the object that was asked about */
	char *end;                  /* why it ends there */
	bool is_known;              /* the last step needs no cause on the tape */
};

/* The object is that of the parameters that object_name_choose() set; :namespace is set; `until` is the last event that
 * counts, `begin` the last one before the tape's own. ERR_NOT_FOUND if the tape has no event of it by then, ERR_USAGE if several namespaces have one of that name. */
int why_find(struct sql_session *s, bool by_uid, const char *namespace, uint64_t begin, uint64_t until,
	struct why_chain *ret, struct err *err) MUST_CHECK;
void why_release(struct why_chain *c);

const char *why_certainty_name(enum why_certainty certainty);
void why_print(const struct why_chain *c, bool color);
void why_print_json(const struct why_chain *c);

#endif
