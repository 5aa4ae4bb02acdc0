/* status_body.h: what an error body of the API server says: a Status in JSON, or plain text. */
#ifndef RECORDER_STATUS_BODY_H
#define RECORDER_STATUS_BODY_H

#include "schema/base/buf.h"

#define STATUS_MESSAGE_BYTES 512
#define STATUS_REASON_BYTES  64

/* The message, else the beginning of the text on one line, else "HTTP status N". */
void status_body_message(struct slice body, int http_status, char to[STATUS_MESSAGE_BYTES]);

/* The reason ("Expired"), "" if there is none. */
void status_body_reason(struct slice body, char to[STATUS_REASON_BYTES]);

/* A number at a path of the Status ("$.code", "$.details.retryAfterSeconds"), -1 if there is none. */
long status_body_number(struct slice body, const char *path);

#endif
