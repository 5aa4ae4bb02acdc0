/*
 * field_check.h: members that a type does not have, as far as that is known: from the recorded OpenAPI
 * document or the CRD, or, for a built-in kind without one, from the fields of Kubernetes 1.36.
 */
#ifndef REPLAYER_FIELD_CHECK_H
#define REPLAYER_FIELD_CHECK_H

#include "replayer/write/field_type.h"

#define UNKNOWN_FIELDS_MAX 100 /* more are not reported */

/* "spec.replicas" of "spec" and "replicas", "spec" of "" and "spec". The caller frees. */
char *field_member_place(const char *place, const char *name);

/* Appends the places of unknown members, "spec.containers[0].imgae", to `unknown`, an array. drop: takes out
 * of the object those that a document does not have. */
void field_check(cJSON *object, struct field_type type, cJSON *unknown, bool drop);

#endif
