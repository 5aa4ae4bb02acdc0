/*
 * awaited.h: objects of the tape that a program of this replay is to make, or to delete (--await), because the program itself
 * did so when the tape was recorded. The tape shows none that it is to make until it has created an object of that name. That
 * one gets the UID that the tape's has, and follows the tape (follow_tape.h): what others did to it happens to it again.
 *
 *                     tape: ADDED               created
 *     to come -----------------------> hidden -----------> shown <--+ the tape's changes, under what programs wrote
 *        |               created                             | |____|
 *        +---------------------------------------------------+
 *     shown --tape: DELETED--> gone, and the next one of that name is to come
 *
 * One that it is to delete:
 *
 *     shown --tape: deletionTimestamp, or DELETED--> kept, and the next one of that name waits (held_names.h)
 *       |                                             |
 *       +--deleted--> gone, or asked to end <--deleted+    asked to end: the tape's changes, as above
 *
 * What is there when the replay begins, or where it is moved to, the tape has made.
 */
#ifndef REPLAYER_AWAITED_H
#define REPLAYER_AWAITED_H

#include "replayer/json/json_tree.h"
#include "replayer/serve/call.h"
#include "replayer/write/write_policy.h"

/* Either [create,delete=|delete=]RESOURCE[.GROUP][/[NAMESPACE/]NAME], objects that the program makes, or deletes, or
 * update=RESOURCE[.GROUP][/SUBRESOURCE]:MANAGER, what it writes to objects of others (awaited_fields.h), or
 * update=pods/binding:SCHEDULER (awaited_binding.h), or finalizer=NAME, which it adds to objects of others. */
struct await_rule {
	char *text;                                    /* of the rule: slices point into it */
	struct slice resource, group, namespace, name; /* empty: any; name: all of the resource */
	struct slice manager, subresource;             /* of updates */
	struct slice finalizer;                        /* if given, it is all of the rule */
	bool any_group, creates, deletes, updates, binds;
};

struct await_rules {
	struct await_rule *items;
	size_t count;
};

/* Appends a rule; copies the text. ERR_USAGE describes an error in it. */
int await_rules_add(struct await_rules *rules, const char *text, struct err *err) MUST_CHECK;
void await_rules_release(struct await_rules *rules);

struct awaited;

/* Finds the objects that the tape makes, or changes, after the world's position. *ret is NULL if there are no rules. ERR_USAGE for
 * objects whose writes nobody would see (write_policy.h). Borrows the world. */
int awaited_open(struct world *world, const struct await_rules *rules, const struct write_rules *writes,
	struct awaited **ret, struct err *err) MUST_CHECK;
void awaited_free(struct awaited *a); /* accepts NULL, as all below do */

/* An event is about to be applied: it is hidden if its object is to be made first. */
void awaited_before(struct awaited *a, struct api *api, const struct collection *in, const struct change *c);

/* Whether an event of a written name does not concern the object that was last shown under it: another one is meant, or
 * its end is left to the program, or it waits for a binding. */
bool awaited_is_aside(
	struct awaited *a, const struct collection *in, const struct change *c, struct slice shown);

/* Whether that object, whose name the event gives to another one, is the programs' to delete. */
bool awaited_keeps(
	const struct awaited *a, const struct collection *in, const struct change *c, struct slice shown);

/* The part of an object that the tape leaves to programs (own_part.h), with what is awaited of its resource; the caller
 * frees. */
char *awaited_part(const struct awaited *a, const struct collection *in, const char *part);

/* The UID for an object that a program creates, which has these ownerReferences (NULL: none); NULL: nobody awaits it, or it
 * belongs to another one of its owner's name than the one that is awaited. Borrowed. */
const char *awaited_uid(const struct awaited *a, const struct collection *in, struct slice namespace,
	struct slice name, const cJSON *owners);

/* Whether that is the object that a program creates next under the name. */
bool awaited_is_to_come(const struct awaited *a, const struct collection *in, struct slice namespace,
	struct slice name, const char *uid);

/* A write was stored as this change. */
void awaited_wrote(struct awaited *a, const struct collection *in, const struct change *c);

/* Whether objects that the tape had made before the program did are still to be brought to where the tape has them; and
 * does that. */
bool awaited_is_busy(const struct awaited *a);
void awaited_work(struct awaited *a, struct api *api);

#endif
