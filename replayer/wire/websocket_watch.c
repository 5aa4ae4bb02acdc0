/* websocket_watch.c: see websocket_watch.h. */
#include "replayer/wire/websocket_watch.h"

#include "schema/base/buf.h"
#include "schema/base/count_of.h"

#include <stdlib.h>

struct websocket_watch {
	struct exchange *x;
	struct websocket_reader reader;
};

static void send_message(struct websocket_watch *w, enum websocket_opcode opcode, struct slice payload)
{
	struct blob *message = websocket_frame(opcode, payload);

	exchange_push_raw(w->x, message);
	blob_unref(message);
}

struct websocket_watch *websocket_watch_open(struct exchange *x, const char *accept)
{
	struct websocket_watch *w = xcalloc(1, sizeof(*w));
	const struct http_header headers[] = {
		{slice_of("Upgrade"), slice_of("websocket")},
		{slice_of("Connection"), slice_of("Upgrade")},
		{slice_of("Sec-WebSocket-Accept"), slice_of(accept)},
	};

	w->x = x;
	x->more_header_count = 0;
	exchange_answer(x, 101, headers, COUNT_OF(headers), -1);
	return w;
}

void websocket_watch_free(struct websocket_watch *w)
{
	free(w);
}

void websocket_watch_send(struct websocket_watch *w, struct slice event)
{
	send_message(w, WEBSOCKET_TEXT, event);
}

void websocket_watch_say_goodbye(struct websocket_watch *w)
{
	static const char normal[] = {0x03, (char)0xe8}; /* 1000 */

	send_message(w, WEBSOCKET_CLOSE, (struct slice){normal, sizeof(normal)});
}

bool websocket_watch_take(struct websocket_watch *w, struct slice bytes)
{
	enum websocket_opcode opcode;
	struct slice payload;
	int rc;

	while ((rc = websocket_read(&w->reader, &bytes, &opcode, &payload, NULL)) > 0) {
		if (opcode == WEBSOCKET_CLOSE)
			return false;
		if (opcode == WEBSOCKET_PING)
			send_message(w, WEBSOCKET_PONG, payload);
	}
	return rc == 0;
}
