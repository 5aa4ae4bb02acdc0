/*
 * crd.h: the CustomResourceDefinition of a custom resource at the position, and custom resources that a
 * program has defined: in one version, the stored one.
 */
#ifndef REPLAYER_CRD_H
#define REPLAYER_CRD_H

#include "replayer/world/world.h"

/* The CRD of a collection. Returns the seq of its version, 0 if there is none; *ret is borrowed until the
 * next object is read. */
uint64_t crd_find(struct world *w, const struct collection *c, struct slice *ret);

/* The CRD of that name, also one that was absorbed; otherwise the same. */
uint64_t crd_find_named(struct world *w, struct slice name, struct slice *ret);

/* Adds the collection that a CRD written by a program defines; NULL if none does, or the resource is there in another version. */
struct collection *crd_define(
	struct world *w, struct slice group, struct slice version, struct slice resource);

/* Stops or resumes serving a collection, after a program deleted or recreated its CRD. */
void crd_refresh(struct world *w, struct collection *c);

/* Tells each CRD that defines a resource which is not on the tape; the bytes are borrowed during the call, which reads no object. */
void crd_each_defining(struct world *w, void (*each)(void *context, struct slice crd), void *context);

/* The name of the version that is stored and served; empty if there is none. */
struct slice crd_stored_version(struct slice crd);

/* The entry of spec.versions with that name; the empty slice if there is none. */
struct slice crd_version(struct slice crd, const char *version);

/* What it says of a version: "subresources.status", "schema.openAPIV3Schema". A CRD of apiextensions.k8s.io/v1beta1 may say so
 * of all versions at once, in spec, where the schema is called "validation". Returns whether it says so. */
bool crd_says(struct slice crd, const char *version, const char *what, struct slice *ret);

#endif
