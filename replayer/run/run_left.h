/* run_left.h: which objects lie over the tape when a run is over: those that programs wrote, or hold, and that are there; and
 * which of its events were shown with another resourceVersion for that. */
#ifndef REPLAYER_RUN_LEFT_H
#define REPLAYER_RUN_LEFT_H

#include "replayer/world/world.h"

struct redactor;

/* A JSON array of [RESOURCE[.GROUP], NAMESPACE, NAME, UID, OBJECT], namespaces and UIDs empty where there are none, Secrets
 * without their values. The caller frees. */
char *run_left(const struct world *w, struct redactor *redactor);
/* A JSON array of [SEQ, RESOURCEVERSION]; NULL: none were. The caller frees. */
char *run_shown(const struct world *w);

#endif
