/*
 * api_path.h: what a URL path means.
 *
 *     /api/v1[/watch][/namespaces/{ns}]/{resource}[/{name}[/{subresource}]]       the core group
 *     /apis/{group}/{version}...                                                 the other groups
 *
 * /api/v1/namespaces/{x} is the Namespace object itself, /api/v1/namespaces/{x}/status and /finalize are its
 * subresources; any other third segment is a resource inside the namespace. A trailing slash does not count.
 */
#ifndef REPLAYER_API_PATH_H
#define REPLAYER_API_PATH_H

#include "schema/base/buf.h"

enum api_path_kind {
	API_PATH_OTHER,    /* not below /api or /apis: health, version, openapi, ... */
	API_PATH_ROOT,     /* /api or /apis */
	API_PATH_GROUP,    /* /apis/{group} */
	API_PATH_VERSION,  /* /api/v1 or /apis/{group}/{version} */
	API_PATH_RESOURCE, /* everything below a version */
	API_PATH_BAD,      /* has an empty segment inside */
};

/* All slices are borrowed from the path. */
struct api_path {
	enum api_path_kind kind;
	struct slice group, version, resource, namespace, name, subresource;
	struct slice rest; /* what follows the subresource, as of a proxy */
	bool in_namespace; /* the path names a namespace */
	bool forced_watch; /* the old form with /watch/ after the version */
};

/* The path without its query, decoded (query.h). */
void api_path_parse(struct slice path, struct api_path *ret);

/* Subresources that are no objects: what running containers and servers do while somebody talks to them (exec, attach,
 * portforward, proxy); and those with log, whose answer is bytes as well. */
bool subresource_is_talk(struct slice subresource);
bool subresource_is_bytes(struct slice subresource);

#endif
