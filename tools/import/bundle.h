/*
 * bundle.h: makes a tape of a bundle: files that a program collected about a cluster for its support, in a
 * folder or an archive.
 *
 *   must-gather     `oc adm must-gather` and `oc adm inspect`: lists and objects as YAML
 *   support-bundle  Troubleshoot: lists as JSON, and what the server said of itself
 *   crust-gather    objects as YAML; with the .patch files of its `record` beside them, what happened to them
 *
 * A bundle shows one moment. The tape has its objects as the items of lists, and an open gap of each stream
 * from that moment on. If a list is complete in its file the tape says so; a folder of objects may be
 * incomplete, and then its stream is untold (see coverage.h). A namespace that is not in the bundle is not
 * recorded.
 */
#ifndef TOOLS_BUNDLE_H
#define TOOLS_BUNDLE_H

#include "tools/import/import.h"

enum bundle_form { BUNDLE_ANY, BUNDLE_MUST_GATHER, BUNDLE_SUPPORT_BUNDLE, BUNDLE_CRUST_GATHER };

struct bundle_options {
	enum bundle_form form; /* BUNDLE_ANY: the names of the files decide */
	bool times_of_objects; /* the newest time stamp in each object, instead of the bundle's moment */
	void *context;
	bool (*step)(void *context, uint64_t bytes);            /* of the archive; true: stop */
	void (*complain)(void *context, const struct err *why); /* of a file that is left out */
};

/* Files that no tape can hold, and entries of a damaged tar. */
struct bundle_counts {
	uint64_t logs, audit_logs, other_files, lost;
};

/* Reads the whole folder or archive before it writes anything. Files that cannot be read are reported by
 * `complain` and counted by the importer as left out. ERR_USAGE if it is not a bundle, or not of that form,
 * ERR_CORRUPT if the archive is damaged, ERR_STOPPED. */
int bundle_import(struct importer *m, int fd, const char *name, const struct bundle_options *o,
	struct bundle_counts *ret, struct err *err) MUST_CHECK;

#endif
