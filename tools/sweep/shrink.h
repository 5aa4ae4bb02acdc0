/*
 * shrink.h: the parts of `kubetape shrink`, which removes from a tape, and from a fault file, whatever a
 * command does not need to go wrong in the same way.
 *
 *     cmd_shrink.c     options, and what is taken away in which order
 *     shrink_units.c   what there is to take away: resources, objects, events, fields
 *     shrink_try.c     a tape and a fault file without it, and a run of the command (sweep_run.h)
 *
 * It is delta debugging: of each sort it removes half of what is left, then a quarter, down to one by one.
 */
#ifndef TOOLS_SHRINK_H
#define TOOLS_SHRINK_H

#include "replayer/fault/fault_file.h"
#include "schema/base/text_map.h"
#include "schema/tape/remake.h"
#include "tools/cli/progress.h"
#include "tools/sweep/sweep_run.h"

/* One sort of things that are kept or not. */
struct shrink_set {
	const char *what; /* "objects" */
	bool *kept;
	char **names;   /* of objects and fields: owned */
	uint64_t *seqs; /* of events: in order */
	size_t count;
	struct text_map places; /* of names */
};

struct shrink_options {
	const char *gaps;  /* "recorded", "none" or a file */
	const char *match; /* what the output must have; NULL: anything */
	bool compares;     /* a result is wrong if it differs from that without faults; by `measure` */
	int64_t tries_max;
};

struct shrink {
	struct shrink_options o;
	struct sweep_runs runs; /* its tape is the one that is tried */
	struct tape *tape;
	struct fault_file faults;
	bool has_faults;
	struct shrink_set rules, documents, resources, objects, events, fields;
	/* How it goes wrong. */
	enum sweep_end end;
	int64_t exit_code;
	struct sweep_measure measure;
	char *differences; /* from a run without faults, a sentence a line; owned */
	size_t tries;
	bool stopped; /* by the user, or at the maximum of tries */
	struct buf scratch;
};

/* ---- shrink_units.c ---- */

/* Lists the units of the tape among those kept so far; releases earlier ones. */
void shrink_find_resources(struct shrink *s);
int shrink_find_objects(struct shrink *s, struct err *err) MUST_CHECK;
int shrink_find_events(struct shrink *s, struct err *err) MUST_CHECK;
/* Members of objects at that depth: 1 is "spec", 2 "spec.replicas"; arrays count like objects. Removed
 * members of a lesser depth stay removed. */
int shrink_find_fields(struct shrink *s, size_t depth, struct err *err) MUST_CHECK;
void shrink_set_release(struct shrink_set *set);
void shrink_set_add(struct shrink_set *set, const char *name); /* name may be NULL */
size_t shrink_set_left(const struct shrink_set *set);

/* As hooks of tape_remake, whose context is the struct shrink. */
int shrink_wants(void *context, const struct event *e, struct err *err) MUST_CHECK;
int shrink_rewrite(
	void *context, const struct tape_resource *r, struct slice *object, struct err *err) MUST_CHECK;
int shrink_rewrite_document(void *context, struct tape_document *d, struct err *err) MUST_CHECK;

/* ---- shrink_try.c ---- */

/* Makes the tape at that path, and the fault file beside it if there is one, from the kept units. */
int shrink_write(struct shrink *s, const char *tape, const char *faults, struct remake_result *ret,
	struct err *err) MUST_CHECK;
/* Runs the command. 1: it goes wrong in the same way; 0: it does not, or the user has stopped it. */
int shrink_try(struct shrink *s, struct err *err) MUST_CHECK;
/* The first run, of the tape as it is: how it goes wrong. ERR_FAILED: it does not. */
int shrink_learn(struct shrink *s, struct err *err) MUST_CHECK;
/* Removes what the tries have left. */
void shrink_clean(struct shrink *s);

#endif
