/*
 * run_compare.h: what a program wrote in two replays, compared. How it was answered does not count, nor, by
 * default, in which order it was asked and how often: a write is the same as another when its verb, its
 * object and its body are, as far as the rules (compare_rules.h) let them be compared.
 */
#ifndef SCHEMA_RUN_RUN_COMPARE_H
#define SCHEMA_RUN_RUN_COMPARE_H

#include "schema/run/compare_rules.h"

enum compare_order {
	COMPARE_SET,     /* every different write once; objects with generated names that were kept, each */
	COMPARE_ORDERED, /* as a sequence, repetitions included */
	COMPARE_LAST,    /* the last write to each object and subresource */
};

struct compare_options {
	enum compare_order order;
	const char *client;                /* only of programs whose User-Agent holds this; NULL: all */
	const struct compare_rules *rules; /* borrowed while the comparison lives */
	/* Told of each run how many bytes of its bodies were read, of how many; other than 0 stops with
	 * ERR_STOPPED. May be NULL. */
	int (*progress)(void *context, uint64_t done_bytes, uint64_t total_bytes);
	void *context;
};

/* A write in the form in which it is compared; it owns all texts, absent ones are "". */
struct run_action {
	uint64_t write, seq; /* in its run; the position */
	int64_t tape_time_ns;
	int status;
	char *verb, *apigroup, *resource, *subresource, *namespace, *name;
	char *key;     /* all of these */
	char *body;    /* JSON */
	uint64_t hash; /* of key and body */
	bool counts, dry_run;
	uint64_t times; /* it was repeated */
};

enum difference_kind { ONLY_IN_FIRST, ONLY_IN_SECOND, OTHER_BODY, OTHER_TIMES };

struct run_difference {
	enum difference_kind kind;
	const struct run_action *first, *second; /* NULL where it is not */
};

/* The number of writes that both made. */
struct run_match {
	const struct run_action *first, *second;
};

/* The facts about one of the runs. */
struct run_side {
	const char *path, *tape;                 /* tape: as it was named when it was replayed; "" unknown */
	bool is_live;                            /* of a tee: it is of no part of the tape */
	uint64_t first_seq, last_seq, ended_seq; /* ended_seq: where the replay stood at the end */
	bool ended;                              /* false: the replay was killed, or is still running */
	size_t writes, compared;                 /* all; those that count */
};

struct run_comparison;

/* Compares two run files, by their paths. Fails when one cannot be read. The comparison and all that is taken
 * from it live until it is freed. */
int run_compare(const char *first, const char *second, const struct compare_options *options,
	struct run_comparison **ret, struct err *err) MUST_CHECK;
void run_comparison_free(struct run_comparison *c); /* accepts NULL */

/* The differences; index below the count. */
size_t run_comparison_count(const struct run_comparison *c);
struct run_difference run_comparison_at(const struct run_comparison *c, size_t index);

/* A write that is not a difference; index below the count. */
size_t run_comparison_match_count(const struct run_comparison *c);
struct run_match run_comparison_match_at(const struct run_comparison *c, size_t index);
const struct run_side *run_comparison_side(const struct run_comparison *c, int side); /* 0, 1 */

#endif
