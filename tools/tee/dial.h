/*
 * dial.h: connects to the real API server: finds its addresses and tries one after the other.
 */
#ifndef TOOLS_TEE_DIAL_H
#define TOOLS_TEE_DIAL_H

#include "tools/tee/target.h"

struct dial;

/* The result: a connected, non-blocking socket, which the caller then owns; or -1 and the reason. is_refused:
 * every address refused the connection. */
typedef void dial_done(void *context, int fd, bool is_refused, const struct err *err);

/* `done` is called once, perhaps before dial_start returns (which is then NULL), and the dial is gone. */
struct dial *dial_start(struct target *t, dial_done *done, void *context);

/* `done` will not be called. Accepts NULL. */
void dial_drop(struct dial *d);

#endif
