/* redact_internal.h: what the redact*.c share. */
#ifndef SCHEMA_TAPE_REDACT_INTERNAL_H
#define SCHEMA_TAPE_REDACT_INTERNAL_H

#include "schema/tape/redact.h"

#define REDACT_KEY_BYTES 32
/* "redacted:", 32 hex digits, terminated. */
#define REDACT_TEXT_BYTES 42

struct redactor {
	unsigned char key[REDACT_KEY_BYTES];
	char *made; /* the key file, if this redactor made it */
};

/* ---- redact_key.c ---- */

/* The replacement of the value: "redacted:" and its digest, or the value itself if it is such a text already,
 * so that a redacted value stays the same. */
int redact_text(
	const struct redactor *r, struct slice value, char to[REDACT_TEXT_BYTES], struct err *err) MUST_CHECK;

/* ---- redact_rules.c: what may stay, as data ---- */

/* How to treat a member. REDACT_VALUE if no rule names it. */
enum redact_what {
	REDACT_VALUE,        /* becomes a digest, unless it is null, true or false */
	REDACT_KEEP,         /* stays if it is a string, a number or a word */
	REDACT_KEEP_ALL,     /* stays whatever it is */
	REDACT_BASE64,       /* an object of values in base64 */
	REDACT_TEXTS,        /* an object of values */
	REDACT_BASE64_VALUE, /* one of these values */
	REDACT_INSIDE,       /* an object with rules of its own */
	REDACT_EACH,         /* an array of such objects */
	REDACT_ANNOTATIONS,  /* redact_annotation_rule() for each */
};

struct redact_rule {
	const char *name; /* NULL ends a list */
	enum redact_what what;
	const struct redact_rule *inside;
};

/* Of a Secret, of a list of them, and of what a client sends to change or delete one. */
extern const struct redact_rule redact_secret_rules[];
/* Of a TokenReview and a TokenRequest. */
extern const struct redact_rule redact_token_rules[];
/* Of a Status: all that it may have, and that stays. */
extern const struct redact_rule redact_status_rules[];
/* Like it, without messages, which may repeat a part of the refused object. */
extern const struct redact_rule redact_refusal_rules[];

/* The rule for the member of that name, as it is between its quotes; NULL if no rule names it. */
const struct redact_rule *redact_rule_find(const struct redact_rule *rules, struct slice name);

/* The rules for objects of a resource ("serviceaccounts/token" has a subresource) or of a kind; NULL: they
 * hold no secrets. The texts are as in JSON without quotes. */
const struct redact_rule *redact_rules_of_resource(
	struct slice group, struct slice resource, struct slice subresource);
const struct redact_rule *redact_rules_of_kind(struct slice api_version, struct slice kind);

enum redact_annotation {
	REDACT_ANNOTATION_STAYS,
	REDACT_ANNOTATION_OBJECT, /* holds a whole object as JSON */
	REDACT_ANNOTATION_VALUE,  /* becomes a digest */
};

/* How to treat an annotation of a Secret, by its name and, if no rule names it, by its contents. `name` is as
 * in JSON, `text` without escapes. */
enum redact_annotation redact_annotation_rule(struct slice name, struct slice text);

/* ---- redact.c: the walk ---- */

struct redact_walk {
	struct redactor *redactor;
	const char *at; /* everything before it has been copied or replaced */
	struct buf *to;
	struct err *err;
	unsigned nesting;  /* objects inside annotations of objects inside annotations ... */
	unsigned replaced; /* values so far */
};

/* How a value is written. */
enum redact_form { REDACT_FORM_TEXT, REDACT_FORM_BASE64 };

/* Appends the object by the rules. */
int redact_object(struct redact_walk *w, struct slice object, const struct redact_rule *rules) MUST_CHECK;
/* Replaces one value of the object that is being walked. */
int redact_value(struct redact_walk *w, struct slice value, enum redact_form form) MUST_CHECK;
/* Deals with one value as with a member that has the rule. */
int redact_by_rule(struct redact_walk *w, struct slice value, enum redact_what what,
	const struct redact_rule *inside) MUST_CHECK;
int redact_copy_until(struct redact_walk *w, const char *end) MUST_CHECK;

#endif
