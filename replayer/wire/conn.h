/*
 * conn.h: one accepted connection: the socket, TLS if the server has it, and the protocol on top.
 *
 *     HANDSHAKE --TLS done, protocol chosen--> RUNNING --conn_close--> CLOSED (freed when libuv lets go)
 *
 * Without TLS a connection starts RUNNING with HTTP/1.1; the preface of HTTP/2 changes that. A protocol is
 * called when bytes have arrived and when it may write; it writes through conn_write and never blocks. A
 * connection with something to send is put on the server's list of awake connections and written once at the
 * end of the loop's turn, so that many small events leave in one system call.
 */
#ifndef REPLAYER_CONN_H
#define REPLAYER_CONN_H

#include "replayer/wire/http.h"
#include "replayer/wire/peer.h"
#include "replayer/wire/tls.h"
#include "schema/base/limits.h"

#include <sys/types.h>
#include <sys/uio.h>
#include <uv.h>

/* Of bytes that have arrived and were not taken: head and body of a request, and a little of what follows it.
 */
#define CONN_INPUT_MAX_BYTES (LIMIT_REQUEST_HEAD_BYTES + LIMIT_REQUEST_BODY_BYTES + (64u << 10))

struct conn;
struct server;

/* The protocol of a connection. */
struct conn_protocol {
	/* Bytes were added to conn_input(c). May close the connection. */
	void (*readable)(void *self);
	/* Write what there is. May close the connection. */
	void (*flush)(void *self);
	/* Once a second or so. `now_ns` is monotonic. */
	void (*tick)(void *self, int64_t now_ns);
	/* The connection is closed; frees self. */
	void (*closed)(void *self);
	/* No request is running. */
	bool (*idle)(const void *self);
	/* Accept no further request; running ones continue. */
	void (*retire)(void *self);
	/* How many bytes are kept of requests that are not whole or wait, besides conn_input. */
	size_t (*kept)(const void *self);
	/* That is too much: gives such requests up. May close the connection. */
	void (*relieve)(void *self);
	/* Has the cache fetch what flush needs; NULL: nothing. */
	void (*prefetch)(const void *self);
};

/* Takes over the socket. Closes it when that fails. beside: it came for control and not through the port. */
void conn_open(struct server *server, int fd, struct tls *tls, bool beside);

/* Closes; a FIN follows what the kernel still holds. Safe to call twice. */
void conn_close(struct conn *c);

/* Closes so that the peer sees a reset. */
void conn_reset(struct conn *c);

bool conn_is_closed(const struct conn *c);

/* After the data queued now are sent, nothing is read from it and nothing written to it, until all that froze
 * it, each a bit of `by`, have thawed it. */
void conn_freeze(struct conn *c, uint64_t by);
void conn_thaw(struct conn *c, uint64_t by);
bool conn_is_frozen(const struct conn *c);

/* It came through the port, and no request is running: it may be closed if others need its place. */
bool conn_is_spare(const struct conn *c);

/* Takes no further request; is reset if none is running. A connection of the control socket continues. */
void conn_retire(struct conn *c);

/* Bytes that have arrived and were not consumed; the protocol consumes from the front. Reading pauses while
 * more than `max` of them wait. */
struct buf *conn_input(struct conn *c);
void conn_set_input_max(struct conn *c, size_t max);

/* Returns how many bytes were taken: fewer than given when the socket is full (flush is called again when it
 * is not), negative when the connection is broken (the caller closes). */
ssize_t conn_write(struct conn *c, const struct slice *pieces, size_t count);

/* Has the protocol's flush called at the end of this turn. */
void conn_wake(struct conn *c);

/* Lets others have their turn: readable (if there is input) and flush are called later. */
void conn_yield(struct conn *c);

/* Whether this connection has used up its time in this turn and has to yield. */
bool conn_has_had_its_time(const struct conn *c);

/* Whether a flush in its n-th round has taken long enough to yield; the first two cost nothing. */
bool conn_flushes_long(struct conn *c, size_t rounds);

/* For a protocol that keeps more while it reads: how much it is now, besides conn_input. False if that is
 * too much, on this connection or on all together. */
bool conn_hold(struct conn *c, size_t bytes) MUST_CHECK;

struct server *conn_server(struct conn *c);

/* Who is at the other end. */
struct peer *conn_peer(struct conn *c);

/* Monotonic time when the socket last took or gave a byte. */
int64_t conn_progress_ns(const struct conn *c);

/* ---- for the server ---- */

void conn_flush(struct conn *c);

/* Goes on after conn_yield. */
void conn_continue(struct conn *c);

/* Whether it has taken more than a little of the loop's time lately: then it waits until others were served.
 */
bool conn_is_busy(const struct conn *c);

/* Prefetches what conn_flush will touch: 0 the connection itself, then 1 its pointers' targets, then 2 the
 * targets of these. Each should have time to arrive before the next one. */
void conn_prefetch(const struct conn *c, int depth);

void conn_tick(struct conn *c, int64_t now_ns);

/* Links for the server's lists. */
struct conn_links {
	struct conn *next, *previous; /* all connections */
	bool awake;
	bool waits;                                   /* in a queue of the server, with those ... */
	struct conn *next_waiting, *previous_waiting; /* ... that yielded, too */
	bool waits_as_busy;
};
struct conn_links *conn_links(struct conn *c);

#endif
