/* default_values.h: what a Kubernetes API server fills in of objects of built-in kinds. */
#ifndef REPLAYER_DEFAULT_VALUES_H
#define REPLAYER_DEFAULT_VALUES_H

#include <cjson/cJSON.h>

/* Fills in what is missing of workloads, pods and services: what controllers and the scheduler read without
 * asking whether it is there (a deployment's replicas and strategy, a job's selector, a pod's scheduler). The
 * object has its UID. Members that are there, also of another type than expected, stay; null is not there. */
void default_values_fill(cJSON *object, const char *group, const char *resource);

/* What an API server makes of an object as soon as it has read it, so that its writer owns it: the texts of a
 * Secret become data, of which it has a type; a namespace is labelled with its name. */
void default_values_settle(cJSON *object, const char *group, const char *resource);

/* A pod's address stands twice in its status, and programs write one of them (kwok podIP, while the
 * controller of endpoint slices reads podIPs): sets the other as the API server does, for which podIP comes
 * first. */
void default_values_agree(cJSON *object, const char *group, const char *resource);

#endif
