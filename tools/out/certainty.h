/*
 * certainty.h: a command's warnings, on stderr, about what its tape cannot know: a position outside the tape,
 * a resource that was not watched there, or only in part. "Absent" and "not known" are different answers; the
 * second one ends with EXIT_LOSS.
 */
#ifndef TOOLS_CERTAINTY_H
#define TOOLS_CERTAINTY_H

#include "schema/tape/position.h"

struct certainty {
	const char *command; /* that speaks: "get" */
	struct tape *tape;   /* borrowed */
	struct coverage *coverage;
	size_t said_count, more_count; /* lines about streams that were printed, and that were too many */
	bool local;                    /* times are shown in the local zone */
	bool is_guess;                 /* something was said that makes the answer a guess */
};

/* All zero is not open. */
int certainty_open(struct certainty *c, const char *command, struct tape *t, struct err *err) MUST_CHECK;
void certainty_close(struct certainty *c);

/* Prints the remark of tape_position_remark. */
void certainty_of_position(struct certainty *c, const struct tape_position *p, const char *text);

/* Of the streams that follow the resource in that namespace ("" any): why each was not watched at the
 * positions, once where that is the same. Nothing of positions outside the tape. */
void certainty_of_resource(struct certainty *c, const struct tape_resource *r, const char *namespace,
	const struct tape_position *positions, size_t count);

/* Which part of the resource was recorded, if it was not all of it, and whether the namespace ("" any) was.
 */
void certainty_of_parts(struct certainty *c, const struct tape_resource *r, const char *namespace);

/* Whether anything of the namespace ("" any) was recorded; if it warns, the answer is a guess. */
void certainty_of_namespace(struct certainty *c, const char *namespace);

/* Warns if the tape does not say when the stream was watched, or if it was never listed, and it may have
 * objects of the namespace ("" any). */
void certainty_of_stream(struct certainty *c, uint32_t stream, const char *namespace);

/* Warns about further warnings that were left out. Call it once, after the others. */
void certainty_end(struct certainty *c);

#endif
