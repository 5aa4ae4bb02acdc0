/*
 * run_words.h: a request in the words of a run: its verb, its object, and its body without secrets.
 */
#ifndef REPLAYER_RUN_WORDS_H
#define REPLAYER_RUN_WORDS_H

#include "replayer/request/api_path.h"
#include "replayer/request/body.h"
#include "replayer/request/verb.h"
#include "schema/run/run_file.h"

#define RUN_VERB_BYTES 16
#define RUN_BODY_BYTES (16u << 20) /* protobuf grows when it becomes JSON */

struct redactor;

/* The verb of a request, or the method in lower case where it has none; of HEAD that, too. The result is a
 * constant or lives in `to`. */
const char *run_verb(struct slice method, enum verb verb, char to[RUN_VERB_BYTES]);

/* All empty when the path names none; borrowed. */
struct run_resource run_resource_of(const struct api_path *p);

/* Appends a body as it may be stored: as JSON if it came as protobuf, and without secrets. Nothing is
 * appended when it cannot be read. Returns whether it held secrets. */
bool run_clean_body(struct redactor *r, const struct api_path *what, struct body *body, struct buf *to);

/* Like it, for an answer. secret: the request held secrets, which a Status may repeat. */
void run_clean_answer(
	struct redactor *r, const struct api_path *what, bool secret, struct slice answer, struct buf *to);

/* The version that a body in JSON bears, without its quotes; empty: none. */
struct slice run_version_in(struct slice body);

#endif
