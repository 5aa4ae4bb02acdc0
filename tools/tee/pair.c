/* pair.c: see pair.h. How a pair comes about, and ends. */
#include "tools/tee/pair_internal.h"

#include "schema/base/clock.h"
#include "schema/base/limits.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#define SETUP_NS (60 * NS_PER_S) /* until a pair is open */
#define DRAIN_MS 2               /* how often to look whether a peer has what it was sent ... */
#define DRAINS   100             /* ... before it is reset all the same */

/* Held at most: a piece, and the heads of requests that were in it, which may have become longer. */
#define HELD_MAX_BYTES (4 * (size_t)LIMIT_REQUEST_HEAD_BYTES)

struct pair_links *pair_links(struct pair *p)
{
	return &p->links;
}

static void on_event(uv_poll_t *handle, int status, int events);

void pair_poll(struct side *s, int events)
{
	if (s->is_broken || !s->has_poll || events == s->events)
		return;
	s->events = events;
	if (events)
		uv_poll_start(&s->poll, events, on_event);
	else
		uv_poll_stop(&s->poll);
}

/* ---- the end ---- */

static void on_handle_closed(uv_handle_t *handle)
{
	struct pair *p = handle->data;

	if (--p->open_handles)
		return;
	road_free(p->road);
	buf_release(&p->up.held);
	buf_release(&p->down.held);
	buf_release(&p->unread);
	free(p);
}

static void stamp(struct pair *p)
{
	feed_set_time(p->x->feed, clock_wall_ns(&clock_system), clock_mono_ns(&clock_system));
}

static void tell_closed(struct pair *p)
{
	const struct feed_entry e = {.kind = FEED_DISCONNECTED,
		.id = p->id,
		.number = p->has_ended ? p->end : ROAD_COMPLETE,
		.other = p->has_ended ? p->ended_by : PARTY_TEE};

	if (!p->road)
		return;
	if (!p->has_road_ended)
		road_end(p->road, p->has_ended ? p->ended_by : PARTY_TEE, ROAD_RESET);
	(void)feed_put(p->x->feed, &e);
}

static void close_side(struct side *s, bool by_reset)
{
	if (s->has_poll)
		uv_close((uv_handle_t *)&s->poll, on_handle_closed);
	channel_close(&s->channel, by_reset);
}

static void finish(struct pair *p, bool by_reset)
{
	if (p->state == PAIR_CLOSED)
		return;
	stamp(p);
	tell_closed(p);
	p->state = PAIR_CLOSED;
	dial_drop(p->dial);
	p->dial = NULL;
	close_side(&p->client, by_reset);
	close_side(&p->server, by_reset);
	uv_close((uv_handle_t *)&p->patience, on_handle_closed);
	p->x->closed(p->x->owner, p);
}

void pair_note_end(struct pair *p, enum road_party by, enum road_end how)
{
	if (!p->has_ended) {
		p->has_ended = true;
		p->ended_by = by;
		p->end = how;
	}
	if (p->has_road_ended)
		return;
	stamp(p);
	road_end(p->road, by, how);
	p->has_road_ended = by != PARTY_CLIENT || how == ROAD_RESET;
}

static void on_patience(uv_timer_t *timer)
{
	struct pair *p = timer->data;
	struct lane *l = p->reset_by == PARTY_SERVER ? &p->down : &p->up;

	if (p->state != PAIR_OPEN)
		return;
	if ((lane_flush(p, l) && channel_is_drained(&l->to->channel)) || ++p->drains > DRAINS)
		finish(p, true);
}

/* What was read before the reset is still passed on, if the peer takes it. */
void pair_reset(struct pair *p, enum road_party by)
{
	if (p->state != PAIR_OPEN || p->is_resetting)
		return;
	pair_note_end(p, by, ROAD_RESET);
	p->is_resetting = true;
	p->reset_by = by;
	pair_poll(&p->client, 0);
	pair_poll(&p->server, 0);
	uv_timer_start(&p->patience, on_patience, 0, DRAIN_MS);
}

void pair_refuse(struct pair *p, const struct err *err)
{
	p->x->tell(p->x->owner, "a connection was closed", err->text);
	pair_reset(p, PARTY_TEE);
}

void pair_finish(struct pair *p)
{
	finish(p, false);
}

void pair_close(struct pair *p)
{
	if (p->state == PAIR_OPEN) {
		(void)channel_say_goodbye(&p->client.channel);
		(void)channel_say_goodbye(&p->server.channel);
	}
	finish(p, false);
}

static void unreachable(struct pair *p, bool is_refused, const struct err *err)
{
	const struct feed_entry e = {
		.kind = FEED_UNREACHED, .id = p->id, .texts = {slice_of(err->text)}, .text_count = 1};

	stamp(p);
	(void)feed_put(p->x->feed, &e);
	p->x->unreached(p->x->owner, is_refused, err);
	finish(p, true);
}

/* ---- coming about ---- */

static void describe_peer(int fd, char *to, size_t size)
{
	struct sockaddr_storage a = {0};
	socklen_t len = sizeof(a);
	char host[INET6_ADDRSTRLEN] = "", port[8] = "";

	*to = 0;
	if (getpeername(fd, (struct sockaddr *)&a, &len) == 0 &&
		getnameinfo((struct sockaddr *)&a, len, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV) == 0)
		snprintf(to, size, a.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
}

static void tell_opened(struct pair *p, enum road_protocol protocol)
{
	char client[64], server[64];
	struct feed_entry e = {.kind = FEED_CONNECTED, .id = p->id, .text_count = CONNECTED_TEXTS};

	describe_peer(p->client.channel.fd, client, sizeof(client));
	describe_peer(p->server.channel.fd, server, sizeof(server));
	e.texts[CONNECTED_PEER] = slice_of(client);
	e.texts[CONNECTED_SERVER] = slice_of(server);
	e.texts[CONNECTED_PROTOCOL] = slice_of(protocol == ROAD_HTTP2   ? "2"
					       : protocol == ROAD_HTTP1 ? "1.1"
									: "");
	e.texts[CONNECTED_TLS] = slice_of(p->x->tls ? "tls" : "");
	stamp(p);
	(void)feed_put(p->x->feed, &e);
}

static void open_road(struct pair *p)
{
	const struct road_options o = {p->x->feed, &p->x->rewrite, p->id, &p->x->last_request};
	enum road_protocol protocol = !p->x->tls                     ? ROAD_UNDECIDED
				      : hello_chose(&p->hello, "h2") ? ROAD_HTTP2
								     : ROAD_HTTP1;

	tell_opened(p, protocol);
	p->road = road_new(&o, protocol);
	p->state = PAIR_OPEN;
	pair_pump(p);
}

/* Says what TLS waits for; false when it waits for nothing. */
static bool wait_for_tls(struct side *s, enum handshake result)
{
	if (result != HANDSHAKE_READS && result != HANDSHAKE_WRITES)
		return false;
	pair_poll(s, result == HANDSHAKE_READS ? UV_READABLE : UV_WRITABLE);
	return !s->is_broken;
}

static void shake_client(struct pair *p)
{
	struct err err = {0};
	enum handshake result = tee_tls_shake(p->client.channel.ssl, &err);

	if (wait_for_tls(&p->client, result))
		return;
	if (result == HANDSHAKE_DONE) {
		open_road(p);
		return;
	}
	p->x->tell(p->x->owner, "a client does not come to terms with the tee",
		*err.text ? err.text : "it has gone");
	finish(p, true);
}

static void shake_server(struct pair *p)
{
	struct err err = {0};
	enum handshake result = tee_tls_shake(p->server.channel.ssl, &err);

	if (wait_for_tls(&p->server, result))
		return;
	if (result == HANDSHAKE_DONE) {
		pair_poll(&p->server, 0);
		tee_tls_take_choice(p->server.channel.ssl, &p->hello);
		p->state = PAIR_CLIENT;
		shake_client(p);
		return;
	}
	if (!*err.text)
		err_set(&err, ERR_NETWORK, "the connection was closed");
	(void)err_prefix(&err, ERR_NETWORK, "cannot come to terms with '%s'", p->x->target->authority);
	unreachable(p, false, &err);
}

static bool add_poll(struct pair *p, struct side *s)
{
	if (uv_poll_init(p->x->loop, &s->poll, s->channel.fd))
		return false;
	s->poll.data = p;
	s->has_poll = true;
	p->open_handles++;
	return true;
}

static void on_connected(void *context, int fd, bool is_refused, const struct err *why)
{
	struct pair *p = context;
	struct pair_context *x = p->x;
	struct err err = {0};
	int rc = 0;

	p->dial = NULL;
	if (fd < 0) {
		unreachable(p, is_refused, why);
		return;
	}
	channel_set_options(fd);
	p->server.channel.fd = fd;
	if (!add_poll(p, &p->server))
		rc = err_set(&err, ERR_FAILED, "the system has no room for another connection");
	if (rc == 0 && !x->tls) {
		open_road(p);
		return;
	}
	p->state = PAIR_SERVER;
	if (rc == 0)
		rc = tee_tls_connect(
			x->tls, fd, &p->hello, x->certificate, x->key, &p->server.channel.ssl, &err);
	if (rc)
		unreachable(p, false, &err);
	else
		shake_server(p);
}

static void connect_to_server(struct pair *p)
{
	p->state = PAIR_CONNECTING;
	p->dial = dial_start(p->x->target, on_connected, p);
}

static void hear_client(struct pair *p)
{
	struct err err = {0};
	enum handshake result = tee_tls_shake(p->client.channel.ssl, &err);

	if (wait_for_tls(&p->client, result))
		return;
	if (result != HANDSHAKE_HEARD) { /* a probe of the port, or somebody who speaks no TLS */
		finish(p, false);
		return;
	}
	pair_poll(&p->client, 0);
	connect_to_server(p);
}

static void go_on(struct pair *p)
{
	switch (p->state) {
	case PAIR_HELLO: hear_client(p); break;
	case PAIR_SERVER: shake_server(p); break;
	case PAIR_CLIENT: shake_client(p); break;
	case PAIR_OPEN: pair_pump(p); break;
	default: break;
	}
}

/* libuv stops telling of a socket that has an error: what it still holds is read without being told. */
static void on_event(uv_poll_t *handle, int status, int events)
{
	struct pair *p = handle->data;
	struct side *s = handle == &p->client.poll ? &p->client : &p->server;

	(void)events;
	if (status < 0) {
		s->is_broken = true;
		s->events = 0;
	}
	go_on(p);
}

static void init(struct pair *p, struct pair_context *x, int fd)
{
	p->x = x;
	p->id = ++x->last_connection;
	p->client.channel.fd = fd;
	p->server.channel.fd = -1;
	p->up = (struct lane){.from = &p->client, .to = &p->server, .party = PARTY_CLIENT};
	p->down = (struct lane){.from = &p->server, .to = &p->client, .party = PARTY_SERVER};
	buf_init(&p->up.held, HELD_MAX_BYTES);
	buf_init(&p->down.held, HELD_MAX_BYTES);
	buf_init(&p->unread, HELD_MAX_BYTES);
	p->begun_mono_ns = clock_mono_ns(&clock_system);
	uv_timer_init(x->loop, &p->patience);
	p->patience.data = p;
	p->open_handles = 1;
}

struct pair *pair_open(struct pair_context *x, int client_fd)
{
	struct pair *p = xcalloc(1, sizeof(*p));

	init(p, x, client_fd);
	channel_set_options(client_fd);
	if (x->tls)
		p->client.channel.ssl = tee_tls_accept(x->tls, client_fd, &p->hello);
	if ((x->tls && !p->client.channel.ssl) || !add_poll(p, &p->client)) {
		p->state = PAIR_CLOSED;
		channel_close(&p->client.channel, true);
		uv_close((uv_handle_t *)&p->patience, on_handle_closed);
		return NULL;
	}
	return p;
}

void pair_begin(struct pair *p)
{
	if (p->x->tls)
		hear_client(p);
	else
		connect_to_server(p);
}

void pair_go_on(struct pair *p)
{
	if (p->state == PAIR_OPEN && (p->up.is_stalled || p->down.is_stalled))
		pair_pump(p);
}

void pair_tick(struct pair *p, int64_t now_mono_ns)
{
	if (p->state != PAIR_OPEN && now_mono_ns - p->begun_mono_ns > SETUP_NS)
		finish(p, true);
}
