/* base64.h: RFC 4648 base64 with padding, as kubeconfigs and Secrets hold it. */
#ifndef SCHEMA_BASE_BASE64_H
#define SCHEMA_BASE_BASE64_H

#include "schema/base/buf.h"

/* Decodes `text` and appends the bytes; skips line breaks and blanks. ERR_PROTOCOL otherwise. */
int base64_decode(struct slice text, struct buf *to, struct err *err) MUST_CHECK;

int base64_encode(struct slice bytes, struct buf *to, struct err *err) MUST_CHECK;

#endif
