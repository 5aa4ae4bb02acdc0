/*
 * compare_body.h: a program's body in the form in which runs are compared: members sorted, without white
 * space, without what the rules ignore. Values that a replay makes up (UIDs, the ends of generated names) are
 * replaced by what they refer to.
 */
#ifndef SCHEMA_RUN_COMPARE_BODY_H
#define SCHEMA_RUN_COMPARE_BODY_H

#include "schema/run/compare_rules.h"

/* Words and their replacements: "web-x7k2q" becomes "web-*". */
struct word_table;

struct word_table *word_table_new(void);
void word_table_free(struct word_table *t); /* accepts NULL */

/* Both are copied; a word that is there already keeps its meaning. */
void word_table_add(struct word_table *t, struct slice word, const char *meaning);

bool word_table_has(const struct word_table *t, struct slice word);

/* Appends the text with its words replaced. A word is a run of letters, digits, -, .
 * and _ that stands alone. */
int word_table_replace(
	const struct word_table *t, struct slice text, struct buf *to, struct err *err) MUST_CHECK;

struct compare_body {
	const struct compare_rules *rules;
	const struct run_write_row *write;
	const struct word_table *words; /* the run's */
	bool has_status;                /* the resource has a subresource status */
};

/* Appends the write's body. One that is not JSON becomes a JSON text; a missing one appends nothing. */
int compare_body_append(const struct compare_body *b, struct buf *to, struct err *err) MUST_CHECK;

#endif
