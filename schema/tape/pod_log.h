/*
 * pod_log.h: the last lines of a container that died, which a tape keeps as a document (FORMAT.md, section 3).
 *
 * The id that the runtime gave a container distinguishes its lives, so that one document is about one life.
 */
#ifndef SCHEMA_TAPE_POD_LOG_H
#define SCHEMA_TAPE_POD_LOG_H

#include "schema/base/buf.h"
#include "schema/tape/event.h"

/* Whether a row of table `document` is one, in SQL. */
#define POD_LOG_SQL "ifnull(variant, '') GLOB 'log *'"

#define POD_LOG_NO_ID "-" /* in the place of an id that the cluster did not give */

struct pod_log {
	struct slice namespace, pod, container, uid, container_id;
	uint32_t restart;        /* which life it was, counted from 0 */
	bool cut_front, cut_end; /* there was more before, after */
	bool missing;            /* nothing was fetched, and the body says why */
};

/* Whether all names and ids can be parts of a path and a variant, as those of a cluster always can. */
bool pod_log_is_nameable(const struct pod_log *log);

/* The document's path, variant and content type; the caller frees the first two. */
char *pod_log_path(const struct pod_log *log);
char *pod_log_variant(const struct pod_log *log);
const char *pod_log_content_type(const struct pod_log *log);

/* False if the document is something else. Slices are borrowed from it. */
bool pod_log_parse(const struct tape_document *d, struct pod_log *ret);

/* Takes the next line off the front of a log: when it was written, as the server says it (empty: it does not),
 * and the text without its line feed. False at the end. */
bool pod_log_line(struct slice *log, struct slice *ret_time, struct slice *ret_text);

#endif
