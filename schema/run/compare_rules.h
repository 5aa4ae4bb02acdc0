/*
 * compare_rules.h: what two runs may differ in without being different. A rule is `[RESOURCE[.GROUP][/SUB]]
 * [:VERB[,VERB]...]=FIELD`, or FIELD alone for all writes, with `*` for any resource; FIELD is one of
 *
 *     *                                the write itself
 *     metadata.labels[app]             a member of the body, with all below it; items of arrays have no name
 *                                      in it, * is any one name, and `**.` in front is any depth
 *     @times                           a value that is as a whole an RFC 3339 time
 *     @uids, @names                    a UID, or the end of a generated name, that the replay made up
 *     @secrets                         the digests that stand for values of Secrets
 *     @status                          the status in a write that does not go to it
 *     @conflicts                       writes that were answered with 409
 *
 * compare_rules_default lists those that hold unless a rule to keep says otherwise: a rule to keep wins over
 * any rule to ignore.
 */
#ifndef SCHEMA_RUN_COMPARE_RULES_H
#define SCHEMA_RUN_COMPARE_RULES_H

#include "schema/run/run_file.h"

#define RULE_DEPTH_MAX 16 /* names in a FIELD */

enum compare_class {
	CLASS_NONE,
	CLASS_TIMES,
	CLASS_UIDS,
	CLASS_NAMES,
	CLASS_SECRETS,
	CLASS_STATUS,
	CLASS_CONFLICTS,
};

struct compare_rules;

/* With the default rules in it, or with none. */
struct compare_rules *compare_rules_new(void);
struct compare_rules *compare_rules_new_bare(void);
void compare_rules_free(struct compare_rules *r); /* accepts NULL */

/* The text is copied. ERR_USAGE says what is wrong with it. */
int compare_rules_ignore(struct compare_rules *r, const char *text, struct err *err) MUST_CHECK;
int compare_rules_keep(struct compare_rules *r, const char *text, struct err *err) MUST_CHECK;

/* The default rules, ended by NULL. */
extern const char *const compare_rules_default[];

/* Whether this write is not compared at all; one kind of value in it; the member of its body that is reached
 * through these names. */
bool compare_rules_skip_write(const struct compare_rules *r, const struct run_write_row *w);
bool compare_rules_skip_class(
	const struct compare_rules *r, const struct run_write_row *w, enum compare_class c);
bool compare_rules_skip_field(const struct compare_rules *r, const struct run_write_row *w,
	const struct slice *names, size_t count);

/* The same rules where objects are compared, and not writes: they have neither SUB, VERB nor a kind of values. ERR_USAGE
 * if one has. */
int compare_rules_check_objects(const struct compare_rules *r, struct err *err) MUST_CHECK;

/* Whether objects of that resource ("deployments.apps") are not compared at all; a field of one, as json_diff.h writes it:
 * "spec.containers[web].image" is in "spec.containers[web]", and in "spec.containers.image" as well. */
bool compare_rules_skip_object(const struct compare_rules *r, const char *resource);
bool compare_rules_skip_path(const struct compare_rules *r, const char *resource, struct slice field);

#endif
