/*
 * fault_keys.h: the words of fault files as data: the parser (fault_file.c), the writer and the JSON Schema
 * (fault_write.c) all read these tables, so that they cannot disagree. FAULTS.md explains every key.
 */
#ifndef REPLAYER_FAULT_KEYS_H
#define REPLAYER_FAULT_KEYS_H

#include "replayer/fault/fault_rule.h"

enum fault_key_kind {
	KEY_TEXT,       /* char * */
	KEY_TEXTS,      /* struct fault_texts: one string, or an array of them */
	KEY_EXPRESSION, /* char *: SQL, compiled to see whether it can be */
	KEY_WRITE,      /* char *: a kind of write, parsed to see whether it is one */
	KEY_INTEGER,    /* int64_t */
	KEY_SHARE,      /* double above 0, at most 1 */
	KEY_BOOL,       /* bool */
	KEY_DURATION,   /* int64_t nanoseconds: a string such as "1m30s" */
	KEY_CHOICE,     /* int: one of words */
	KEY_JSON,       /* char *: any object, kept as it is */
	KEY_LENGTH,     /* for_ns and for_events: a duration, or {"events": N}; offset of for_ns */
	KEY_WHEN,
	KEY_WHERE,
	KEY_WHAT, /* struct fault_what: the act's word alone, or an object */
	KEY_RULES,
	KEY_IGNORED,
};

struct fault_key {
	const char *name;
	enum fault_key_kind kind;
	size_t offset;
	const char *words;   /* of KEY_CHOICE and KEY_TEXTS, separated by blanks; NULL: any text */
	int64_t least, most; /* of KEY_INTEGER */
	bool required;
	const char *help;
};

/* An object takes these keys. */
struct fault_keys {
	const char *name; /* in messages and in the schema */
	const struct fault_key *keys;
	size_t count;
};

/* The target of an act. */
enum fault_target {
	FAULT_AT_NOTHING,
	FAULT_AT_WATCHES,
	FAULT_AT_REQUESTS,
	FAULT_AT_FRAMES,
	FAULT_AT_WRITES,
	FAULT_AT_COMMAND,
};

/* For an object with several shapes: the key that determines the shape, and the other keys that it takes. */
struct fault_shape {
	const char *word;     /* of "when" a key that is there, of "what" the value of "do" */
	const char *keys;     /* separated by blanks */
	const char *required; /* of those */
	bool during;          /* of "what": may be an answer to requests */
	const char *help;
	enum fault_target target; /* of "what" */
};

extern const struct fault_keys fault_file_keys, fault_rule_keys, fault_when_keys, fault_where_keys,
	fault_what_keys;
extern const struct fault_shape fault_when_shapes[FAULT_TRIGGERS], fault_what_shapes[FAULT_DO_COUNT];

/* Whether a blank-separated list has the word; its place in it or -1. */
int fault_word_index(const char *words, struct slice word);

/* The act's word, as "rst_stream". */
const char *fault_do_word(int act);

/* "list", "watch", ... */
#define FAULT_REQUEST_WORDS "list watch get write other"

/* In the order of enum fault_verb; after them the one for any. */
#define FAULT_VERB_WORDS "create update patch delete deletecollection write"

#endif
