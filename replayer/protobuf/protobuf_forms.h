/*
 * protobuf_forms.h: the types of Kubernetes whose forms in protobuf and JSON differ. Each takes the bytes of
 * its message (empty: absent) and appends what Go prints for it. Errors say what is wrong; the caller adds
 * the place. ERR_PROTOCOL unless `to` is full.
 */
#ifndef REPLAYER_PROTOBUF_FORMS_H
#define REPLAYER_PROTOBUF_FORMS_H

#include "schema/base/buf.h"

int form_time(struct slice bytes, struct buf *to, struct err *err) MUST_CHECK;
int form_micro_time(struct slice bytes, struct buf *to, struct err *err) MUST_CHECK;
/* Whether form_time or form_micro_time prints null; malformed bytes are no null. */
bool form_time_is_null(struct slice bytes);

int form_duration(struct slice bytes, struct buf *to, struct err *err) MUST_CHECK;

/* Checked, and printed unchanged: Go's encoder has already brought it into its canonical form. */
int form_quantity(struct slice bytes, struct buf *to, struct err *err) MUST_CHECK;

int form_int_or_string(struct slice bytes, struct buf *to, struct err *err) MUST_CHECK;

/* A message of one field of bytes that are JSON. CBOR, which these fields may hold where the cluster allows
 * it, is refused. empty_is_null: bytes that are there but empty count as absent. */
int form_raw_json(struct slice bytes, bool empty_is_null, struct buf *to, struct err *err) MUST_CHECK;

/* A message of one repeated string. */
int form_strings(struct slice bytes, struct buf *to, struct err *err) MUST_CHECK;

/* The number that these bits are, as Go's encoding/json prints it. */
int form_double(uint64_t bits, struct buf *to, struct err *err) MUST_CHECK;

int form_base64(struct slice bytes, struct buf *to, struct err *err) MUST_CHECK;

#endif
