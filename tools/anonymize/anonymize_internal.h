/*
 * anonymize_internal.h: shared by anonymize.c (the walk over JSON and text), anonymize_words.c (which word
 * becomes what), anonymize_forms.c (other forms: addresses, UUIDs, times) and anonymize_rules.c.
 */
#ifndef TOOLS_ANONYMIZE_INTERNAL_H
#define TOOLS_ANONYMIZE_INTERNAL_H

#include "schema/base/text_map.h"
#include "schema/tape/redact.h"
#include "tools/anonymize/anonymize.h"

/* ---- anonymize_rules.c ---- */

extern const char *const anonymize_kept_members[], *const anonymize_text_members[]; /* NULL ends them */
/* Lists of words that are separated by spaces. */
extern const char *const anonymize_words[], *const anonymize_english[];

/* ---- anonymize_forms.c ---- */

/* The parts of a text. */
enum form {
	FORM_PLAIN, /* stays: punctuation, escapes, short numbers, quantities, times */
	FORM_WORD,  /* letters, digits, whatever is not ASCII */
	FORM_UUID,
	FORM_IPV4, /* with dots, or with hyphens as in the names of machines */
	FORM_IPV6, /* or a hardware address */
};

#define ANONYMIZE_WORD_MAX 64 /* of longer runs (base64) each such part is a word */

/* The first part of a text. */
struct item {
	enum form form;
	size_t length; /* in the text */
	/* A word in which characters are written as \uXXXX, with these characters themselves, so that one word has one
	 * pseudonym; 0: there are none. */
	size_t decoded_length;
	char decoded[ANONYMIZE_WORD_MAX];
};

/* The text is not empty. */
struct item anonymize_item(struct slice text);

/* ---- anonymize_words.c ---- */

enum word_place { PLACE_NAME, PLACE_SENTENCE };

/* Something of the old tape. */
struct word {
	char *text;      /* small letters */
	char *pseudonym; /* NULL: it stays, or nobody has decided yet */
	enum form form;
	bool stays, in_name; /* in_name: it also occurs outside of sentences */
	uint64_t replaced;
};

struct anonymizer {
	struct redactor *redactor;      /* has the key */
	struct text_map words;          /* struct word by its text */
	struct word **list;             /* in the order in which they were met */
	struct text_map taken;          /* pseudonyms */
	struct text_map stays, english; /* of the rules; the values mean nothing */
	unsigned char octets[256];      /* of addresses: the replacement of each first byte; 0: it stays */
	char **owned;                   /* keys of these maps */
	size_t count, owned_count;
};

int words_note(struct anonymizer *a, struct slice text, enum form form, enum word_place place,
	struct err *err) MUST_CHECK;
/* Appends what the new tape has in its place. */
int words_put(
	struct anonymizer *a, struct slice text, enum form form, struct buf *to, struct err *err) MUST_CHECK;
/* NULL: the old tape does not have it. */
struct word *words_find(const struct anonymizer *a, struct slice text);

#endif
