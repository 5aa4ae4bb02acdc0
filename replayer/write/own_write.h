/*
 * own_write.h: writes that the replay does by itself, as a cluster's kubelets and controllers would: no
 * client has asked for them, no fault strikes them, and the run has no rows for them. Watches show them.
 */
#ifndef REPLAYER_OWN_WRITE_H
#define REPLAYER_OWN_WRITE_H

#include "replayer/write/write_internal.h"

struct own_write {
	struct http_request request; /* that nobody has sent */
	struct api_call call;
	struct write w;
};

/* Begins a write of the object of that name, overlaid, and loads it: `w.old` is NULL if there is none. The slices must last
 * until own_write_end. */
void own_write_begin(struct own_write *o, struct api *api, struct collection *c, enum verb verb,
	struct slice namespace, struct slice name);
void own_write_end(struct own_write *o);

/* The uid of the loaded object; "" if there is none. Borrowed until it is written. */
const char *own_write_uid(const struct own_write *o);

/* Deletes the object at hand as a client does with these options, which are taken over. */
void own_write_remove(struct own_write *o, cJSON *options);

/* Puts this in the place of the object at hand; taken over. Without its last finalizer an object that is ending is gone. */
void own_write_replace(struct own_write *o, cJSON *object);

/* Shows an object of the tape that was hidden, as that event has it; unless a program has been faster with its name, or the
 * replay has gone back to before it. */
void own_write_show(
	struct api *api, uint32_t resource, struct slice namespace, struct slice name, uint64_t seq);

/* The object at hand without that finalizer. */
void own_write_drop_finalizer(struct own_write *o, const char *name);

/* Whether a client's write of this kind would be overlaid: the replay writes nothing that is absorbed or
 * rejected. */
bool own_write_is_allowed(const struct own_write *o);

/* Before that event of the tape: lays the object of its name over the tape as it is, with that part of it written by
 * programs (own_part.h). Nothing happens where a program's update would not be overlaid. */
void own_write_adopt(struct api *api, const struct collection *in, const struct change *c, const char *part);

#endif
