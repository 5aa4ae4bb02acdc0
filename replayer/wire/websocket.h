/*
 * websocket.h: the WebSocket form of a watch (RFC 6455): one text message for each event. Some clients open
 * every watch this way.
 */
#ifndef REPLAYER_WEBSOCKET_H
#define REPLAYER_WEBSOCKET_H

#include "replayer/wire/blob.h"
#include "replayer/wire/http.h"

/* The request wants to be upgraded. */
bool websocket_is_wanted(const struct http_request *r);

/* The value of Sec-WebSocket-Accept, "" when the request lacks what belongs to an upgrade. Returns to. */
#define WEBSOCKET_ACCEPT_MAX 32
const char *websocket_accept(const struct http_request *r, char to[WEBSOCKET_ACCEPT_MAX]);

enum websocket_opcode { WEBSOCKET_TEXT = 1, WEBSOCKET_CLOSE = 8, WEBSOCKET_PING = 9, WEBSOCKET_PONG = 10 };

/* One whole message from us. The caller owns the reference. */
struct blob *websocket_frame(enum websocket_opcode opcode, struct slice payload);

/* Frames from a client: only control frames matter, all others are skipped. All zero is the start. */
struct websocket_reader {
	unsigned char head[14]; /* of the frame being read: 2 to 10 bytes and the mask */
	size_t head_len;
	uint64_t left; /* bytes of payload to come */
	unsigned char payload[125];
	size_t payload_len;
};

/* Reads from *in and removes what it used. 1: a control frame is complete (opcode and payload, unmasked,
 * borrowed until the next call), 0: more must arrive, ERR_PROTOCOL. */
int websocket_read(struct websocket_reader *w, struct slice *in, enum websocket_opcode *ret_opcode,
	struct slice *ret_payload, struct err *err) MUST_CHECK;

#endif
