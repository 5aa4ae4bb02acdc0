/*
 * awaited_fields.h: what a program wrote to objects of others when the tape was recorded (--await update=...). The tape does
 * not change fields in the way in which it did, by manager and subresource: a program of this replay is to write them.
 *
 *     before the tape's event has such a field --awaited_fields_before--> the object lies over the tape, as it is
 *     follow_tape --own_part_read--> fields that were written in that way are the program's
 *
 * So it does with finalizers that the program adds (--await finalizer=...), which need no managedFields.
 */
#ifndef REPLAYER_AWAITED_FIELDS_H
#define REPLAYER_AWAITED_FIELDS_H

#include "replayer/serve/call.h"

struct awaited_way {
	uint32_t resource;
	char *manager, *subresource; /* own; subresource "": the object itself */
};

/* All zero is none. */
struct awaited_fields {
	struct awaited_way *ways;
	size_t count;
	char **finalizers;
	size_t finalizer_count;
};

void awaited_fields_add(
	struct awaited_fields *f, uint32_t resource, struct slice manager, struct slice subresource);
void awaited_fields_add_finalizer(struct awaited_fields *f, struct slice name);
void awaited_fields_release(struct awaited_fields *f);

/* A part of an object (own_part.h) with the ways that are awaited of its resource; the caller frees. */
char *awaited_fields_part(const struct awaited_fields *f, uint32_t resource, const char *part);

/* An event is about to be applied. */
void awaited_fields_before(
	const struct awaited_fields *f, struct api *api, const struct collection *in, const struct change *c);

#endif
