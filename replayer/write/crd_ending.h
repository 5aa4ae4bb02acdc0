/*
 * crd_ending.h: a CRD that is being deleted takes its custom resources with it: they are deleted, and once none is left the CRD goes
 * and watches of them end.
 */
#ifndef REPLAYER_CRD_ENDING_H
#define REPLAYER_CRD_ENDING_H

#include "replayer/serve/call.h"

struct crd_ending;

/* Borrows the api, which need not be filled yet. */
struct crd_ending *crd_ending_new(struct api *api);
void crd_ending_free(struct crd_ending *e); /* accepts NULL */

/* A write was stored as this change. */
void crd_ending_wrote(struct crd_ending *e, const struct collection *in, const struct change *c);

/* Does the pending work. */
void crd_ending_work(struct crd_ending *e);

/* Whether there is pending work. */
bool crd_ending_is_busy(const struct crd_ending *e);

#endif
