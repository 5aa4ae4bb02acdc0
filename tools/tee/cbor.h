/*
 * cbor.h: CBOR as Kubernetes sends it, as JSON: maps with texts for names, which may come as strings of
 * bytes; bytes under tag 21 to 23 as text in base64; no lengths left open, no NaN.
 */
#ifndef TOOLS_TEE_CBOR_H
#define TOOLS_TEE_CBOR_H

#include "schema/base/buf.h"

/* The length of the item at the front of `in`: positive; 0 if it is not whole yet; ERR_PROTOCOL. */
int64_t cbor_length(struct slice in, struct err *err) MUST_CHECK;

/* Appends one whole item as JSON. ERR_PROTOCOL, ERR_TOO_LARGE. */
int cbor_to_json(struct slice item, struct buf *to, struct err *err) MUST_CHECK;

#endif
