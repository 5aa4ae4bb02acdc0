/*
 * run_words.h: a request in the words of a run: what it asks for, of what, and its body without secrets.
 */
#ifndef REPLAYER_RUN_WORDS_H
#define REPLAYER_RUN_WORDS_H

#include "replayer/api/api_path.h"
#include "replayer/api/query.h"
#include "schema/run/run_file.h"

#define RUN_VERB_BYTES 16
#define RUN_BODY_BYTES (16u << 20) /* protobuf grows when it becomes JSON */

struct redactor;

/* get list watch create update patch delete deletecollection, or the method in lower case for paths that name
 * no resource. The result is a constant or lives in `to`. */
const char *run_verb(
	struct slice method, const struct api_path *what, const struct query *query, char to[RUN_VERB_BYTES]);

/* All empty when the path names none; borrowed. */
struct run_resource run_resource_of(const struct api_path *p);

/* Appends a body as it may be stored: as JSON if it came as protobuf, and without secrets. Nothing is
 * appended when it cannot be read. */
void run_clean_body(struct redactor *r, const struct api_path *what, struct slice body, struct buf *to);

/* The version that a body in JSON bears, without its quotes; empty: none. */
struct slice run_version_in(struct slice body);

#endif
