/*
 * finalizer_hold.h: finalizers that the program under test takes away (--hold-finalizer). If the tape was recorded
 * while that program ran, the tape takes them away as well, also while the replayed program is dead or blind. As a
 * cluster would, the replay keeps them, and an object that is to be deleted, until the replayed program has let it go.
 *
 *     before the tape's event --finalizer_hold_before--> the object lies over the tape, as it is
 *     follow_tape             --finalizer_hold_keep----> the finalizer counts as written by programs
 */
#ifndef REPLAYER_FINALIZER_HOLD_H
#define REPLAYER_FINALIZER_HOLD_H

#include "replayer/serve/call.h"

struct write;

/* Whether the finalizer is one of those that an option names. */
bool finalizer_is_named(const char *finalizer, const char *const *names, size_t count);

/* Whether the object, as JSON, has it. */
bool finalizer_is_in(struct slice object, const char *name);

/* Before that event is applied. Nothing happens where the program's update would not be kept (write_policy.h). */
void finalizer_hold_before(struct api *api, const struct collection *in, const struct change *c);

/* The tape says something of the object in `w`. */
void finalizer_hold_keep(struct write *w);

#endif
