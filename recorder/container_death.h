/*
 * container_death.h: which containers a pod says have died, and so have last words. What ended as it was meant to is
 * left out: an init container or a container of a Job that exits with 0, and a container that exits with 0 while its
 * pod is being deleted.
 */
#ifndef RECORDER_CONTAINER_DEATH_H
#define RECORDER_CONTAINER_DEATH_H

#include "schema/base/buf.h"

struct container_death {
	struct slice container, container_id; /* the id is empty if the cluster gave none */
	uint32_t restart;                     /* which life of the container, counted from 0 */
	bool previous;                        /* another life has begun, or is waited for */
	int64_t finished_ns;                  /* to the second; 0: not known */
};

/* Calls `each` for every death that the pod's status reports; slices are borrowed from the pod. */
void container_deaths(
	struct slice pod, void (*each)(void *context, const struct container_death *death), void *context);

#endif
