/* door.c: see door.h. */
#include "tools/tee/door.h"

#include "recorder/notices.h"
#include "replayer/wire/listener.h"
#include "schema/base/clock.h"
#include "schema/base/log.h"
#include "tools/tee/channel.h"
#include "tools/tee/dial.h"
#include "tools/tee/identity.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECTIONS_MAX 10000
#define ACCEPTS_A_TURN  64
#define TICK_MS         1000
#define LOOK_MS         100 /* a client is not kept waiting for longer */
#define KNOCK_LEAST_MS  20  /* how soon the server is tried again ... */
#define KNOCK_MOST_MS   500 /* ... at last */

struct door {
	struct pair_context pairs;
	struct listener port;
	uv_poll_t listener;
	uv_timer_t ticker, patience, knocker;
	uv_async_t room;
	int open_handles;
	bool is_shut, is_closing;
	struct pair *first;
	size_t count;
	struct dial *look, *knock; /* NULL: none is under way */
	unsigned knock_ms;
	uint64_t unreached;
	struct notices notices;
	char scratch[CHANNEL_PIECE_BYTES];
};

int door_port(const struct door *d)
{
	return d->port.port;
}

struct door_figures door_figures(const struct door *d)
{
	return (struct door_figures){d->pairs.last_connection, d->pairs.last_request, d->unreached, d->count};
}

/* ---- pairs ---- */

static void link_pair(struct door *d, struct pair *p)
{
	struct pair_links *links = pair_links(p);

	links->next = d->first;
	if (d->first)
		pair_links(d->first)->previous = p;
	d->first = p;
	d->count++;
}

static void on_pair_closed(void *owner, struct pair *p)
{
	struct door *d = owner;
	struct pair_links *links = pair_links(p);

	if (links->previous)
		pair_links(links->previous)->next = links->next;
	else
		d->first = links->next;
	if (links->next)
		pair_links(links->next)->previous = links->previous;
	d->count--;
}

static void door_tell(void *owner, const char *what, const char *detail)
{
	struct door *d = owner;

	notices_say(&d->notices, clock_mono_ns(&clock_system), LOG_LEVEL_WARN, "tee", what, detail);
}

/* What is called may close any pair but the one after it. */
static void each_pair(struct door *d, void (*call)(struct pair *p))
{
	for (struct pair *p = d->first, *next; p; p = next) {
		next = pair_links(p)->next;
		call(p);
	}
}

/* ---- shut and open ---- */

static void on_connection(uv_poll_t *handle, int status, int events);
static void on_knock_time(uv_timer_t *timer);

static void open_again(struct door *d)
{
	struct err err;

	if (!d->is_shut)
		return;
	if (listener_accept_again(&d->port, &err)) {
		door_tell(d, "nobody can connect", err.text);
		uv_timer_start(&d->knocker, on_knock_time, KNOCK_MOST_MS, 0);
		return;
	}
	d->is_shut = false;
	uv_poll_start(&d->listener, UV_READABLE, on_connection);
	log_info("'%s' takes connections again", d->pairs.target->authority);
}

static void on_knocked(void *context, int fd, bool is_refused, const struct err *err)
{
	struct door *d = context;

	(void)err;
	d->knock = NULL;
	if (fd >= 0)
		close(fd);
	if (!is_refused) { /* whatever else is the matter is told to each client as it comes */
		open_again(d);
		return;
	}
	d->knock_ms = d->knock_ms * 2 < KNOCK_MOST_MS ? d->knock_ms * 2 : KNOCK_MOST_MS;
	uv_timer_start(&d->knocker, on_knock_time, d->knock_ms, 0);
}

static void on_knock_time(uv_timer_t *timer)
{
	struct door *d = timer->data;

	d->knock = dial_start(d->pairs.target, on_knocked, d);
}

static void shut(struct door *d)
{
	if (d->is_shut || d->is_closing)
		return;
	d->is_shut = true;
	uv_poll_stop(&d->listener);
	listener_refuse(&d->port);
	d->knock_ms = KNOCK_LEAST_MS;
	uv_timer_start(&d->knocker, on_knock_time, d->knock_ms, 0);
	log_warn("'%s' refuses connections: so does the tee, until it takes them again",
		d->pairs.target->authority);
}

static void on_unreached(void *owner, bool is_refused, const struct err *err)
{
	struct door *d = owner;

	d->unreached++;
	if (is_refused)
		shut(d);
	else
		door_tell(d, "a client could not be served", err->text);
}

/* ---- looking ---- */

static void end_look(struct door *d)
{
	uv_timer_stop(&d->patience);
	each_pair(d, pair_looked);
}

static void on_looked(void *context, int fd, bool is_refused, const struct err *err)
{
	struct door *d = context;

	(void)err;
	d->look = NULL;
	if (fd >= 0)
		close(fd);
	if (is_refused)
		shut(d);
	end_look(d);
}

static void on_impatience(uv_timer_t *timer)
{
	struct door *d = timer->data;

	dial_drop(d->look);
	d->look = NULL;
	end_look(d);
}

/* One look for all that ask meanwhile. */
static void on_look_wanted(void *owner, struct pair *p)
{
	struct door *d = owner;

	if (d->is_shut || d->is_closing) {
		pair_looked(p);
		return;
	}
	if (d->look)
		return;
	uv_timer_start(&d->patience, on_impatience, LOOK_MS, 0);
	d->look = dial_start(d->pairs.target, on_looked, d);
}

/* ---- clients ---- */

static void accept_one(struct door *d, int fd)
{
	struct pair *p;

	if (d->count >= CONNECTIONS_MAX) {
		door_tell(d, "a connection was refused", "there are too many");
		close(fd);
		return;
	}
	p = pair_open(&d->pairs, fd);
	if (!p)
		return;
	link_pair(d, p);
	pair_begin(p);
}

static void on_connection(uv_poll_t *handle, int status, int events)
{
	struct door *d = handle->data;

	(void)status;
	(void)events;
	for (int i = 0; i < ACCEPTS_A_TURN && !d->is_shut; i++) {
		int fd = accept4(d->port.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0 && (errno == EMFILE || errno == ENFILE))
			door_tell(d, "cannot take a connection", strerror(errno));
		if (fd < 0)
			return;
		accept_one(d, fd);
	}
}

static void on_tick(uv_timer_t *timer)
{
	struct door *d = timer->data;
	int64_t now = clock_mono_ns(&clock_system);

	notices_tick(&d->notices, now);
	for (struct pair *p = d->first, *next; p; p = next) {
		next = pair_links(p)->next;
		pair_tick(p, now);
	}
}

void door_identify(struct door *d, struct identity *i)
{
	identity_fill(i, &d->pairs.rewrite);
	d->pairs.certificate = identity_certificate(i);
	d->pairs.key = identity_key(i);
}

static void on_room(uv_async_t *async)
{
	each_pair(async->data, pair_go_on);
}

void door_tell_room(void *door)
{
	uv_async_send(&((struct door *)door)->room);
}

/* ---- opening and closing ---- */

static void start_handles(struct door *d)
{
	uv_loop_t *loop = d->pairs.loop;

	uv_poll_init(loop, &d->listener, d->port.fd);
	uv_timer_init(loop, &d->ticker);
	uv_timer_init(loop, &d->patience);
	uv_timer_init(loop, &d->knocker);
	uv_async_init(loop, &d->room, on_room);
	d->listener.data = d->ticker.data = d->patience.data = d->knocker.data = d->room.data = d;
	d->open_handles = 5;
	uv_poll_start(&d->listener, UV_READABLE, on_connection);
	uv_timer_start(&d->ticker, on_tick, TICK_MS, TICK_MS);
}

int door_open(const struct door_options *options, struct door **ret, struct err *err)
{
	struct door *d = xcalloc(1, sizeof(*d));
	int rc = listener_open(&d->port, options->host, options->port, err);

	if (rc) {
		free(d);
		return rc;
	}
	d->pairs = options->pairs;
	d->pairs.closed = on_pair_closed;
	d->pairs.unreached = on_unreached;
	d->pairs.look = on_look_wanted;
	d->pairs.tell = door_tell;
	d->pairs.owner = d;
	d->pairs.scratch = d->scratch;
	start_handles(d);
	*ret = d;
	return 0;
}

static void on_handle_closed(uv_handle_t *handle)
{
	struct door *d = handle->data;

	if (--d->open_handles == 0)
		free(d);
}

void door_close(struct door *d)
{
	if (!d || d->is_closing)
		return;
	d->is_closing = true;
	notices_tick(&d->notices, INT64_MAX);
	dial_drop(d->look);
	dial_drop(d->knock);
	each_pair(d, pair_close);
	uv_close((uv_handle_t *)&d->listener, on_handle_closed);
	listener_close(&d->port);
	uv_close((uv_handle_t *)&d->ticker, on_handle_closed);
	uv_close((uv_handle_t *)&d->patience, on_handle_closed);
	uv_close((uv_handle_t *)&d->knocker, on_handle_closed);
	uv_close((uv_handle_t *)&d->room, on_handle_closed);
}
