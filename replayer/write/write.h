/*
 * write.h: writes of programs under test; WRITES.md describes them for users.
 *
 *     api.c --write_serve--> create, update, patch, delete, subresources --write_store--> overlay or nothing
 *
 * A write is checked as the API server checks it (names, versions, preconditions, conflicts), whatever the
 * policy. With the policy overlay its result becomes a version that lies over the tape (world_write); with
 * absorb there is only the answer.
 */
#ifndef REPLAYER_WRITE_H
#define REPLAYER_WRITE_H

#include "replayer/serve/call.h"
#include "replayer/write/write_policy.h"

/* Answers a POST, PUT, PATCH or DELETE on a resource. */
void write_serve(struct api_call *call, struct collection *c);

/* Answers a GET of a subresource that is made from the object (scale); false for any other. */
bool write_serve_scale(struct api_call *call, struct collection *c);

/* Whether a recorded object is kept from this client: a lease that no program has written yet. To find the
 * recorded holder's lease renewed for ever, nobody would ever become leader. People with kubectl or curl see
 * it. */
bool write_hides(const struct api_call *call, const struct collection *c, struct slice name);

#endif
