/* selection.h: which streams a recording has: resources times namespaces. */
#ifndef RECORDER_SELECTION_H
#define RECORDER_SELECTION_H

#include "recorder/recorder.h"
#include "recorder/stream.h"
#include "schema/base/catalog.h"

/* Fills `choice` as the options say. ERR_NOT_FOUND for a resource the server does not have. */
int selection_resources(const struct recorder_options *o, const struct catalog *catalog,
	struct catalog_choice *choice, struct err *err) MUST_CHECK;

/* Logs a warning for each name to exclude that is not in the catalog. This is not an error: a resource that
 * appears later, such as a CRD, is excluded then. */
void selection_doubt_excludes(const struct recorder_options *o, const struct catalog *catalog);

/* Calls `each` for every stream of one resource: one for all namespaces, or one for each that was named. A
 * resource without namespaces has one stream, and none under --all with namespaces. */
int selection_streams(const struct recorder_options *o, const struct catalog_resource *resource,
	int (*each)(void *context, const struct stream_spec *spec), void *context);

#endif
