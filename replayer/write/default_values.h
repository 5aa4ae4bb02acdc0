/* default_values.h: defaults that a Kubernetes API server fills into objects of built-in kinds. */
#ifndef REPLAYER_DEFAULT_VALUES_H
#define REPLAYER_DEFAULT_VALUES_H

#include <cjson/cJSON.h>
#include <stdbool.h>

/* Whether default_values_fill knows any of that kind. */
bool default_values_known(const char *group, const char *resource);

/* Fills in missing members of workloads, pods and services that controllers and the scheduler rely on (a
 * deployment's replicas and strategy, a job's selector, a pod's scheduler). The object has its UID. Existing
 * members stay, even if they have an unexpected type; null counts as missing. */
void default_values_fill(cJSON *object, const char *group, const char *resource);

/* Changes that an API server makes as soon as it has read an object, so that its writer owns them: stringData
 * of a Secret becomes data, and the Secret gets a type; a namespace is labelled with its name. */
void default_values_settle(cJSON *object, const char *group, const char *resource);

/* A pod's status has its address twice, and programs write one of them (kwok writes podIP, while the
 * controller of endpoint slices reads podIPs). Sets the other as the API server does, for which podIP has
 * precedence. */
void default_values_agree(cJSON *object, const char *group, const char *resource);

#endif
