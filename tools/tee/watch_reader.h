/*
 * watch_reader.h: the events of a watch, out of the body of its answer, whichever way it is framed:
 *
 *     JSON       a document for each event, a line feed after it
 *     protobuf   4 bytes of a length, then metav1.WatchEvent {1: type, 2: RawExtension {1: object}}
 *     CBOR       one item after the other
 *     WebSocket  each of these in a message of its own, without line feed and length
 */
#ifndef TOOLS_TEE_WATCH_READER_H
#define TOOLS_TEE_WATCH_READER_H

#include "schema/base/json_scan.h"

enum watch_encoding { WATCH_JSON, WATCH_PROTOBUF, WATCH_CBOR };

/* One event as it came, and its contents. */
struct watch_event {
	struct slice raw; /* without what frames it */
	enum watch_encoding encoding;
	bool is_read;             /* what follows is known */
	struct watch_frame frame; /* the object as JSON */
};

/* Called for each event; non-zero ends the walk. */
typedef int watch_reader_each(void *context, const struct watch_event *event);

struct watch_reader;

/* By the Content-Type of the answer; anything that is not known is taken for JSON. */
struct watch_reader *watch_reader_new(struct slice content_type, bool is_websocket);
void watch_reader_free(struct watch_reader *r); /* accepts NULL */

/* Returns a failure of `each`. ERR_PROTOCOL, ERR_TOO_LARGE: following bytes cannot be read any more. */
int watch_reader_feed(struct watch_reader *r, struct slice bytes, watch_reader_each *each, void *context,
	struct err *err) MUST_CHECK;

/* This many bytes are missing: reading continues at the next event, if that can be found. */
void watch_reader_lose(struct watch_reader *r);

/* The answer is whole: a last document without line feed counts. */
int watch_reader_end(
	struct watch_reader *r, watch_reader_each *each, void *context, struct err *err) MUST_CHECK;

/* Bytes of an event that is not whole; borrowed. */
struct slice watch_reader_tail(const struct watch_reader *r);

/* WebSocket: the server has said that it closes. */
bool watch_reader_is_closed(const struct watch_reader *r);

#endif
