/*
 * own_part.h: the part of a recorded object that programs wrote: the fields, and the ways in which they were
 * written (manager and subresource). It is kept as a text beside each version (overlay.h) that lies over the
 * tape; follow_tape.h reads it at later events of the tape.
 */
#ifndef REPLAYER_OWN_PART_H
#define REPLAYER_OWN_PART_H

#include "replayer/write/field_walk.h"

#define OWN_PART_NONE "{}" /* of an object as the tape has it */

/* Updates the part in `text` after a program has replaced `old` by `new`, as that manager, through that
 * subresource ("": the object itself). The caller frees the result. */
char *own_part_add(const char *text, const cJSON *old, const cJSON *new, struct field_type type,
	const char *manager, const char *subresource);

/* From now on fields count as written by programs if the tape's program of that manager's name writes them through that
 * subresource. The caller frees. */
char *own_part_await(const char *text, const char *manager, const char *subresource);

/* From now on that finalizer counts as written by programs, even if it is the tape's. The caller frees. */
char *own_part_hold(const char *text, const char *finalizer);

/* The tape has asked for the object's end, whatever still holds it here: once it is gone, another one of that name
 * may come from the tape. The caller frees. */
char *own_part_end(const char *text);
bool own_part_is_ending(const char *text); /* NULL: no */

/* A part as it is laid over what the tape says. */
struct own_part {
	cJSON *fields;   /* a set of fields (field_set.h) */
	cJSON *managers; /* the object's metadata.managedFields from then on, NULL for none */
};

/* `object`: the present one; `said`: as the tape has it now. Fields count as written also if the tape's own
 * program of a manager's name has written them in the same way: that is the program under test, as it was
 * then. */
void own_part_read(const char *text, const cJSON *object, const cJSON *said, struct own_part *ret);
void own_part_release(struct own_part *p);

/* Whether programs wrote that finalizer. */
bool own_part_has_finalizer(const struct own_part *p, const char *finalizer);

/* Makes of `said` the object that results. */
void own_part_lay_over(const struct own_part *p, const cJSON *object, cJSON *said, struct field_type type);

#endif
