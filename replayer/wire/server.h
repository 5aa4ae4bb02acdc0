/*
 * server.h: the listening socket, the connections, and the end of a turn of the loop.
 *
 * One libuv loop, one thread. Sockets are ours and are watched by uv_poll_t; nothing here knows Kubernetes.
 */
#ifndef REPLAYER_SERVER_H
#define REPLAYER_SERVER_H

#include "replayer/wire/conn.h"
#include "replayer/wire/exchange.h"

#define SERVER_SCRATCH_BYTES (64u << 10)

/* A request has arrived completely. The request is borrowed for the call; the exchange lives until `closed`
 * of its owner was called. */
typedef void server_handler(void *context, struct exchange *x, const struct http_request *r);

struct server_options {
	const char *host;   /* numeric address */
	int port;           /* 0: a free one */
	struct tls *tls;    /* NULL: plain; borrowed */
	int64_t stall_ns;   /* a peer that takes nothing for this long is cut; 0: 10 s */
	size_t connections; /* at most this many at once; 0: 20,000. The one that was longest without a request
			     * gives way to a new one */
	bool has_control;   /* also listens at control_address.h, whatever happens to the port */
	server_handler *handle;
	void *context;
};

/* Binds and listens. ERR_USAGE for a bad address, ERR_NETWORK if it is not available. */
int server_open(uv_loop_t *loop, const struct server_options *options, struct server **ret,
	struct err *err) MUST_CHECK;

/* Closes the listener and every connection; the server is freed when libuv has released its handles. */
void server_close(struct server *s);

/* The port it listens on. */
int server_port(const struct server *s);

/* How many connections or streams were cut because the peer took nothing. */
uint64_t server_cut_count(const struct server *s);

/* Writes out everything that woke up since the last turn. Called by itself at the end of each turn; call it
 * earlier if data that were just queued should not wait. */
void server_flush(struct server *s);

/* Stops listening: the kernel refuses connections. Existing ones take no further request, and are reset if
 * none is running. Or listens again, on the same port: ERR_NETWORK if another program has it by then. */
void server_refuse(struct server *s);
int server_accept(struct server *s, struct err *err) MUST_CHECK;

/* Lets go of all connections that nobody but these holds; see conn_freeze. */
void server_thaw(struct server *s, uint64_t by);

/* ---- for connections ---- */

uv_loop_t *server_loop(struct server *s);
/* SERVER_SCRATCH_BYTES each, free to use inside one call: for data that are read or joined for a write, and
 * frames that are assembled before they are written. */
char *server_scratch(struct server *s);
char *server_frame_scratch(struct server *s);
int64_t server_stall_ns(const struct server *s);
void server_dispatch(struct server *s, struct exchange *x, const struct http_request *r);
void server_add(struct server *s, struct conn *c);
void server_remove(struct server *s, struct conn *c);
/* libuv has released a connection's handle: the server may be freed. */
void server_forget(struct server *s);
void server_count_cut(struct server *s);
void server_wake(struct server *s, struct conn *c);

/* Has conn_continue called when the connections that did not take their time were served. */
void server_wait(struct server *s, struct conn *c);

/* Whether this turn of the loop has taken so long that deferrable work should wait. */
bool server_is_pressed(struct server *s);

/* Counts the bytes of requests that connections keep: one that kept `before` keeps `now`. Returns the sum of
 * all. */
size_t server_hold(struct server *s, size_t before, size_t now);

/* Memory of the answers on all connections; parent of those of each. */
struct exchange_account *server_account(struct server *s);

#endif
