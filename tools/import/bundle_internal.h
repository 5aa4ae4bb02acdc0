/* bundle_internal.h: a bundle between its files and the tape, shared by bundle.c, bundle_*.c. */
#ifndef TOOLS_BUNDLE_INTERNAL_H
#define TOOLS_BUNDLE_INTERNAL_H

#include "schema/base/catalog.h"
#include "schema/base/text_map.h"
#include "tools/import/bundle.h"
#include "tools/import/import_internal.h"

enum bundle_part_kind {
	PART_OTHER,
	PART_OBJECTS,   /* an object, a list or an array of objects */
	PART_PATCHES,   /* what happened to the object of the same name */
	PART_MOMENT,    /* when the bundle was made */
	PART_VERSION,   /* what the server says of its version */
	PART_GROUPS,    /* an array of APIGroup */
	PART_RESOURCES, /* an array of APIResourceList */
	PART_CORE,      /* aggregated discovery of /api */
	PART_APIS,      /* ... and of /apis */
	PART_LOG,
	PART_AUDIT_LOG,
};

/* The kind of a file, according to its path. Slices point into the path. */
struct bundle_part {
	enum bundle_part_kind kind;
	struct slice namespace;     /* of the folder; empty: of the cluster, or not in the path */
	struct slice group, plural; /* an empty plural: not in the path */
	struct slice folder;        /* of a support bundle: "pvcs" */
	bool is_yaml;
};

struct bundle_resource {
	char *api_version, *kind;
	char *plural; /* NULL: not known yet */
	bool namespaced;
	char *key; /* "apps/v1 Deployment" */
};

/* A resource in a namespace ("": of the cluster), which becomes a stream. */
struct bundle_scope {
	size_t resource;
	char *namespace, *rv, *key;
	bool is_listed; /* a list of it was whole */
	uint32_t stream;
};

/* An object at a time. */
struct bundle_version {
	size_t scope, order;
	int64_t time_ns; /* 0: that of the bundle */
	enum event_type type;
	bool is_watched; /* a program got it by a watch, not by a list */
	char *name, *uid, *rv, *json;
	char *key; /* NULL: one of several */
};

/* Lists without items that do not say of what. */
struct bundle_empty {
	char *group, *plural, *namespace;
};

/* A file of patches; its object may be in a file that is still to come. */
struct bundle_patches {
	char *path;
	struct buf lines;
};

struct bundle_document {
	char *path;
	const char *variant;
	char *body;
};

struct bundle {
	const char *name;
	enum bundle_form form;
	const struct bundle_options *options;
	struct importer *importer;
	struct bundle_resource *resources;
	struct bundle_scope *scopes;
	struct bundle_version *versions;
	struct bundle_empty *empties;
	struct bundle_patches *patches;
	struct bundle_document *documents;
	size_t resource_count, scope_count, version_count, empty_count, patches_count, document_count;
	struct text_map resources_by_key, scopes_by_key, versions_by_key, versions_by_path;
	char **paths; /* keys of the last */
	size_t path_count;
	struct catalog catalog; /* of the discovery, if there is one */
	uint64_t bytes;         /* that are kept */
	bool is_full;           /* there were too many */
	int64_t moment_ns, newest_file_ns;
	struct buf file, json; /* of the file at hand */
	struct bundle_counts counts;
};

/* ---- bundle_layout.c ---- */

/* BUNDLE_ANY: the path does not show it. */
enum bundle_form bundle_form_of(const char *path);
const char *bundle_form_name(enum bundle_form form);
struct bundle_part bundle_part_of(enum bundle_form form, const char *path);

/* The time in texts such as "2026-08-07 15:21:01.1 +0000 UTC m=+0.1"; false if there is none. */
bool bundle_time(struct slice text, int64_t *ret_ns);

/* ---- bundle_store.c ---- */

void bundle_release(struct bundle *b);
size_t bundle_resource(struct bundle *b, struct slice api_version, struct slice kind);
size_t bundle_scope(struct bundle *b, size_t resource, struct slice namespace);

/* Call before this many more bytes are kept: ERR_TOO_LARGE if they are too many for a bundle. */
int bundle_take_room(struct bundle *b, size_t bytes, struct err *err) MUST_CHECK;

/* Adds an object of the bundle's moment; of two the one with the higher resourceVersion counts. The object is
 * checked JSON. 1 and its resource; 0 if a tape cannot hold it. */
int bundle_add_object(struct bundle *b, const struct bundle_part *part, struct slice object,
	size_t *ret_resource, struct err *err) MUST_CHECK;

/* Adds what an object became; everything is copied. */
int bundle_add_version(struct bundle *b, const struct bundle_version *like, struct slice object,
	const struct object_meta *meta, struct err *err) MUST_CHECK;
void bundle_add_document(struct bundle *b, const char *path, const char *variant, struct slice body);

/* ---- bundle_read.c, bundle_history.c, bundle_discovery.c, bundle_write.c ---- */

/* Reads the bytes of a file. 0 also if the file is left out, which was reported. */
int bundle_read_file(struct bundle *b, const struct bundle_part *part, const char *path, int64_t time_ns,
	struct err *err) MUST_CHECK;

/* Tells of a file that is left out, with the line unless that is 0, and counts it. */
void bundle_leave_out(struct bundle *b, const char *path, size_t line, const struct err *why);

/* Plays the patches, once all objects are there. */
int bundle_play_patches(struct bundle *b, struct err *err) MUST_CHECK;

/* The time at which the recorder got the object, from an annotation; false if it has none. */
bool bundle_annotated(struct slice object, enum event_type *ret_type, int64_t *ret_ns);

int bundle_take_discovery(
	struct bundle *b, const struct bundle_part *part, struct slice json, struct err *err) MUST_CHECK;

/* The built-in resource in a folder of a support bundle: as "v1" and "PersistentVolumeClaimList", which the
 * caller frees; false if none has that name. */
bool bundle_list_of_folder(struct slice folder, char **ret_api_version, char **ret_kind);

/* Plural and scope of every resource: of discovery, CRDs, Kubernetes' own kinds, or else made of the kind. */
void bundle_name_resources(struct bundle *b);

int bundle_write(struct bundle *b, struct err *err) MUST_CHECK;

#endif
