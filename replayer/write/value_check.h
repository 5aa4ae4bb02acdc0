/*
 * value_check.h: values that a type does not allow: of the built-in kinds those that Go could not decode, by
 * the fields of Kubernetes 1.36; of custom resources those that the schema of their CRD refuses. Not looked
 * at: patterns, formats, rules in CEL, and what the API server's own code knows of the built-in kinds.
 */
#ifndef REPLAYER_VALUE_CHECK_H
#define REPLAYER_VALUE_CHECK_H

#include "replayer/json/json_tree.h"

#define VALUE_FAULTS_MAX 100 /* more are not reported */

/* The first value of a wrong type. */
struct value_fault {
	char *place;                  /* "spec.containers.ports.containerPort" */
	const char *within;           /* the type that has the field: "ContainerPort"; a constant */
	const char *expected, *found; /* "int32", "string": constants, as Go says */
	char *go_type;      /* of the value, as Go says it in full: "map[string]string", "v1.PodSpec" */
	const cJSON *value; /* the value there; borrowed */
};
void value_fault_release(struct value_fault *f);

/* False if everything can be decoded, or the kind is not a built-in one. */
bool value_check_builtin(
	const char *api_version, const char *kind, const cJSON *object, struct value_fault *ret);

/* Like it, for the metadata of any object; places begin after "metadata". */
bool value_check_metadata(const cJSON *metadata, struct value_fault *ret);

enum value_reason {
	VALUE_INVALID,
	VALUE_OF_OTHER_TYPE,
	VALUE_REQUIRED,
	VALUE_NOT_SUPPORTED,
	VALUE_TOO_LONG,
	VALUE_TOO_MANY
};
extern const char *const value_reasons[]; /* as causes of a Status name them */

/* Appends {reason, field, message} to `faults`, an array; reason is a number, the others are those of a
 * cause. `place` is that of the value. */
void value_check_schema(const cJSON *value, const cJSON *schema, const char *place, cJSON *faults);

/* Changes that the API server makes to a custom resource before it checks it: fills in defaults, drops fields
 * that the schema does not have, and nulls that it does not allow. */
void value_complete(cJSON *object, const cJSON *schema);

#endif
