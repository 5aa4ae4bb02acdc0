/* decoder.h: undoes the content encoding of an answer: gzip or deflate; other answers pass unchanged. */
#ifndef TOOLS_TEE_DECODER_H
#define TOOLS_TEE_DECODER_H

#include "schema/base/buf.h"

struct decoder;

/* NULL in *ret: there is nothing to undo. ERR_PROTOCOL for an encoding that is not known. */
int decoder_new(struct slice encoding, struct decoder **ret, struct err *err) MUST_CHECK;
void decoder_free(struct decoder *d); /* accepts NULL */

/* Gives the decoded bytes in pieces. d may be NULL. Returns a failure of `each`. ERR_PROTOCOL if the bytes do
 * not fit the encoding. */
int decoder_feed(struct decoder *d, struct slice bytes, int (*each)(void *context, struct slice piece),
	void *context, struct err *err) MUST_CHECK;

#endif
