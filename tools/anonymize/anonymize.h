/*
 * anonymize.h: pseudonyms for whatever a tape names. Each word (a run of letters and digits) that is not a
 * word of Kubernetes becomes another one of the same form, the same one everywhere: so references, selectors
 * and DNS names still match. Addresses stay addresses, UUIDs UUIDs; times, numbers of up to five digits and
 * quantities stay.
 *
 * It first collects all words that will be rewritten: no pseudonym is a word of the old tape.
 */
#ifndef TOOLS_ANONYMIZE_H
#define TOOLS_ANONYMIZE_H

#include "schema/base/buf.h"

struct anonymizer;
struct redactor;

/* The redactor has the key: the same key and words make the same pseudonyms. It is the anonymizer's from then
 * on. */
struct anonymizer *anonymizer_new(struct redactor *redactor);
void anonymizer_free(struct anonymizer *a); /* accepts NULL */

/* Words, separated by spaces or commas, that stay beside those of Kubernetes. */
void anonymizer_keep(struct anonymizer *a, const char *words);

/* Collects. JSON is taken as it is, even if it is malformed. ERR_TOO_LARGE if there are too many words. */
int anonymizer_note_json(struct anonymizer *a, struct slice json, struct err *err) MUST_CHECK;
int anonymizer_note_text(struct anonymizer *a, struct slice text, struct err *err) MUST_CHECK;

/* Chooses the pseudonyms: after everything was collected. */
int anonymizer_choose(struct anonymizer *a, struct err *err) MUST_CHECK;

/* Appends the same with pseudonyms. */
int anonymizer_put_json(struct anonymizer *a, struct slice json, struct buf *to, struct err *err) MUST_CHECK;
int anonymizer_put_text(struct anonymizer *a, struct slice text, struct buf *to, struct err *err) MUST_CHECK;

/* ERR_FAILED if there is a word of four characters or more that should have been replaced: reads it as it was
 * collected, and once more without regard to what JSON it is. */
int anonymizer_prove_json(struct anonymizer *a, struct slice json, struct err *err) MUST_CHECK;
int anonymizer_prove_text(struct anonymizer *a, struct slice text, struct err *err) MUST_CHECK;

/* Each of the words that were replaced, in the order in which they were met; `count`: how often. */
struct anonymized {
	const char *text, *pseudonym;
	uint64_t count;
};
size_t anonymizer_count(const struct anonymizer *a); /* of all words */
/* False if that one stays. */
bool anonymizer_at(const struct anonymizer *a, size_t index, struct anonymized *ret);

#endif
