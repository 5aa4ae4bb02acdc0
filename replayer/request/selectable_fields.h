/*
 * selectable_fields.h: which fields of which kinds a fieldSelector may name, and how their values are read
 * from an object. Kinds that are not in the table know metadata.name and metadata.namespace only.
 */
#ifndef REPLAYER_SELECTABLE_FIELDS_H
#define REPLAYER_SELECTABLE_FIELDS_H

#include "schema/base/buf.h"

/* The resource whose objects are selected. */
struct selectable_kind {
	struct slice group, version, resource;
	bool namespaced, custom;
	struct slice
		crd_fields; /* raw JSON of the CRD version's selectableFields; empty when there are none */
};

enum selectable_how {
	SELECT_NAME,
	SELECT_NAMESPACE,
	SELECT_PATH,         /* the value at `path`, as text; `unset` when it is not there */
	SELECT_EVENT_SOURCE, /* source.component, or reportingComponent when that is empty */
	SELECT_NEVER,        /* accepted, but its value is always empty */
};

struct selectable_field {
	enum selectable_how how;
	const char *path;  /* in the object, for json_get */
	const char *unset; /* constant */
};

/* Looks up the field a client named. The path of a field of a custom resource is allocated: *ret_path must be
 * freed (NULL otherwise). ERR_PROTOCOL with the message of the 400 when it is not one. */
int selectable_field_find(const struct selectable_kind *kind, struct slice label,
	struct selectable_field *ret, char **ret_path, struct err *err) MUST_CHECK;

#endif
