/*
 * websocket_watch.h: the WebSocket of one watch, from the answer that upgrades the connection to the message that closes
 * it. See websocket.h.
 */
#ifndef REPLAYER_WEBSOCKET_WATCH_H
#define REPLAYER_WEBSOCKET_WATCH_H

#include "replayer/wire/exchange.h"
#include "replayer/wire/websocket.h"

struct websocket_watch;

/* Answers with 101; the value is that of websocket_accept. The caller frees. */
struct websocket_watch *websocket_watch_open(struct exchange *x, const char *accept);
void websocket_watch_free(struct websocket_watch *w);

/* An event is one text message. */
void websocket_watch_send(struct websocket_watch *w, struct slice event);
void websocket_watch_say_goodbye(struct websocket_watch *w);

/* Takes what the client has sent, and answers its pings. False: it leaves. */
bool websocket_watch_take(struct websocket_watch *w, struct slice bytes);

#endif
