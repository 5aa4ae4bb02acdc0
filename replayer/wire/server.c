/* server.c: see server.h. */
#include "replayer/wire/server.h"

#include "replayer/wire/control_address.h"
#include "replayer/wire/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "schema/base/clock.h"

#define DEFAULT_STALL_NS    (10 * NS_PER_S)
#define DEFAULT_CONNECTIONS 20000
#define CONTROL_PLACES      16
#define ACCEPTS_A_TURN      64 /* so that a storm of new connections does not hold up running ones */
#define TICK_MS             1000
#define TURN_NS             (10 * NS_PER_MS) /* then what can wait waits */
#define CONTROL_BACKLOG     64
/* A connection that is kept without a request for this long gives way to a new one when there are too many.
 */
#define GIVES_WAY_NS NS_PER_S

/* Connections that wait, in the order in which they came. */
struct queue {
	struct conn *first, *last;
};

struct server {
	struct server_options options;
	uv_loop_t *loop;
	struct listener port;
	int control_fd; /* -1: none */
	int spare_fd;   /* given up for a control connection when no other descriptor is left; -1: it is */
	uv_poll_t listener, control;
	uv_check_t turn_end;
	uv_timer_t ticker;
	int open_handles;
	bool closing, refusing;
	bool resting, control_resting; /* nothing is accepted until the next tick, or until somebody goes */
	bool somebody_went;
	struct conn *conns;
	size_t conn_count;
	struct conn **awake; /* own array, in the order in which they woke up */
	size_t awake_count, awake_cap, flushed_count;
	struct queue waiting, busy;      /* busy: those that take much time; they come after the others */
	size_t waiting_count;            /* in both */
	uv_idle_t idler;                 /* runs while somebody waits, so that the loop does not sleep */
	int64_t turn_ns;                 /* when this turn began; 0: nobody has asked yet */
	size_t held;                     /* of requests on their way */
	struct exchange_account account; /* of answers */
	uint64_t cut_count;
	char scratch[SERVER_SCRATCH_BYTES], frames[SERVER_SCRATCH_BYTES];
};

uv_loop_t *server_loop(struct server *s)
{
	return s->loop;
}

char *server_scratch(struct server *s)
{
	return s->scratch;
}

char *server_frame_scratch(struct server *s)
{
	return s->frames;
}

int64_t server_stall_ns(const struct server *s)
{
	return s->options.stall_ns;
}

int server_port(const struct server *s)
{
	return s->port.port;
}

uint64_t server_cut_count(const struct server *s)
{
	return s->cut_count;
}

void server_count_cut(struct server *s)
{
	s->cut_count++;
}

/* Clients that do not read their answers leave no memory for further ones. */
static void refuse_for_now(struct exchange *x)
{
	static const char text[] = "429 Too Many Requests\n";
	static const struct http_header headers[] = {
		{{"Content-Type", 12}, {"text/plain; charset=utf-8", 25}}, {{"Retry-After", 11}, {"1", 1}}};
	struct blob *b = blob_of(slice_of(text));

	exchange_answer(x, 429, headers, 2, (int64_t)b->len);
	exchange_push(x, b);
	exchange_finish(x);
	blob_unref(b);
}

void server_dispatch(struct server *s, struct exchange *x, const struct http_request *r)
{
	if (s->account.bytes > LIMIT_HELD_BYTES && !r->peer->beside)
		refuse_for_now(x);
	else
		s->options.handle(s->options.context, x, r);
}

size_t server_hold(struct server *s, size_t before, size_t now)
{
	s->held = s->held - before + now;
	return s->held;
}

struct exchange_account *server_account(struct server *s)
{
	return &s->account;
}

/* ---- waiting ---- */

static void leave_queue(struct server *s, struct conn *c)
{
	struct conn_links *links = conn_links(c);
	struct queue *q = links->waits_as_busy ? &s->busy : &s->waiting;

	if (!links->waits)
		return;
	links->waits = false;
	s->waiting_count--;
	if (links->previous_waiting)
		conn_links(links->previous_waiting)->next_waiting = links->next_waiting;
	else
		q->first = links->next_waiting;
	if (links->next_waiting)
		conn_links(links->next_waiting)->previous_waiting = links->previous_waiting;
	else
		q->last = links->previous_waiting;
}

void server_wait(struct server *s, struct conn *c)
{
	struct conn_links *links = conn_links(c);
	struct queue *q = conn_is_busy(c) ? &s->busy : &s->waiting;

	if (links->waits)
		return;
	links->waits = true;
	s->waiting_count++;
	links->waits_as_busy = q == &s->busy;
	links->next_waiting = NULL;
	links->previous_waiting = q->last;
	if (q->last)
		conn_links(q->last)->next_waiting = c;
	else
		q->first = c;
	q->last = c;
}

bool server_is_pressed(struct server *s)
{
	int64_t now_ns = clock_mono_ns(&clock_system);

	if (!s->turn_ns)
		s->turn_ns = now_ns;
	return now_ns - s->turn_ns > TURN_NS;
}

/* Does nothing: while it runs, the loop does not wait for events. */
static void on_idle(uv_idle_t *handle)
{
	(void)handle;
}

static struct conn *first_waiting(const struct server *s)
{
	return s->waiting.first ? s->waiting.first : s->busy.first;
}

/* As long as there is time, and one in any case. Who waits again does so until the next turn. */
static void continue_waiting(struct server *s)
{
	struct conn *c;

	for (size_t n = s->waiting_count; n > 0 && (c = first_waiting(s)); n--) {
		leave_queue(s, c);
		conn_continue(c);
		if (server_is_pressed(s))
			break;
	}
	if (first_waiting(s))
		uv_idle_start(&s->idler, on_idle);
	else
		uv_idle_stop(&s->idler);
}

/* ---- connections ---- */

void server_add(struct server *s, struct conn *c)
{
	struct conn_links *links = conn_links(c);

	links->next = s->conns;
	if (s->conns)
		conn_links(s->conns)->previous = c;
	s->conns = c;
	s->conn_count++;
	s->open_handles++;
}

void server_remove(struct server *s, struct conn *c)
{
	struct conn_links *links = conn_links(c);

	if (links->previous)
		conn_links(links->previous)->next = links->next;
	else
		s->conns = links->next;
	if (links->next)
		conn_links(links->next)->previous = links->previous;
	leave_queue(s, c);
	s->conn_count--;
	s->somebody_went = true;
}

void server_wake(struct server *s, struct conn *c)
{
	struct conn_links *links = conn_links(c);

	if (links->awake)
		return;
	if (s->awake_count == s->awake_cap) {
		s->awake_cap = s->awake_cap ? 2 * s->awake_cap : 64;
		s->awake = xrealloc(s->awake, s->awake_cap * sizeof(*s->awake));
	}
	links->awake = true;
	s->awake[s->awake_count++] = c;
}

/* With a thousand connections none is in the cache when its turn comes, and each is behind pointers of the
 * one before. So they are fetched while others are written, one pointer at a time. */
static void fetch_ahead(const struct server *s)
{
	for (size_t ahead = 0; ahead < 3 && s->flushed_count + ahead < s->awake_count; ahead++)
		conn_prefetch(s->awake[s->flushed_count + ahead], 2 - (int)ahead);
}

/* Flushing may wake further connections, may come back here, and closes some; a closed one stays valid until
 * libuv's closing phase, which is not now. */
void server_flush(struct server *s)
{
	while (s->flushed_count < s->awake_count) {
		struct conn *c = s->awake[s->flushed_count++];

		fetch_ahead(s);
		conn_links(c)->awake = false;
		if (!conn_links(c)->waits) /* else it is flushed when others had their turn */
			conn_flush(c);
	}
	s->flushed_count = s->awake_count = 0;
}

static void listen_again(struct server *s);

static void on_turn_end(uv_check_t *handle)
{
	struct server *s = handle->data;

	server_flush(s);
	continue_waiting(s);
	server_flush(s);
	if (s->somebody_went)
		listen_again(s);
	s->somebody_went = false;
	s->turn_ns = 0;
}

static void on_tick(uv_timer_t *handle)
{
	struct server *s = handle->data;
	int64_t now_ns = clock_mono_ns(&clock_system);

	for (struct conn *c = s->conns, *next; c; c = next) {
		next = conn_links(c)->next;
		conn_tick(c, now_ns);
	}
	server_flush(s);
	listen_again(s);
}

/* ---- listening ---- */

static void take_spare(struct server *s)
{
	if (s->spare_fd < 0)
		s->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* Closes the connection that has been kept without a request for the longest. False when none has for long.
 */
static bool make_room(struct server *s)
{
	int64_t now_ns = clock_mono_ns(&clock_system), oldest_ns = now_ns - GIVES_WAY_NS;
	struct conn *oldest = NULL;

	for (struct conn *c = s->conns; c; c = conn_links(c)->next) {
		if (conn_is_spare(c) && conn_progress_ns(c) < oldest_ns) {
			oldest = c;
			oldest_ns = conn_progress_ns(c);
		}
	}
	if (oldest)
		conn_close(oldest);
	return oldest != NULL;
}

/* Who comes waits in the kernel's queue meanwhile. */
static void server_rest(struct server *s, bool is_control)
{
	if (is_control)
		s->control_resting = true;
	else
		s->resting = true;
	uv_poll_stop(is_control ? &s->control : &s->listener);
}

/* The next connection's socket, negative when there is none. When descriptors have run out there is one left
 * for control, and the others wait. */
static int accept_next(struct server *s, bool is_control)
{
	int from = is_control ? s->control_fd : s->port.fd, fd;

	fd = accept4(from, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd >= 0 || errno == EAGAIN || errno == ECONNABORTED || errno == EINTR)
		return fd;
	if (is_control && s->spare_fd >= 0) {
		close(s->spare_fd);
		s->spare_fd = -1;
		fd = accept4(from, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	}
	if (fd < 0)
		server_rest(s, is_control);
	return fd;
}

/* Control has some places of its own. */
static bool is_full(struct server *s, bool is_control)
{
	size_t places = s->options.connections + (is_control ? CONTROL_PLACES : 0);

	if (s->conn_count < places || (!is_control && make_room(s)))
		return false;
	server_rest(s, is_control);
	return true;
}

static void on_connection(uv_poll_t *handle, int status, int events)
{
	static const int on = 1;
	struct server *s = handle->data;
	bool is_control = handle == &s->control;

	(void)events;
	for (int i = 0; status == 0 && i < ACCEPTS_A_TURN && !is_full(s, is_control); i++) {
		int fd = accept_next(s, is_control);

		if (fd < 0)
			return;
		if (!is_control)
			setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		conn_open(s, fd, is_control ? NULL : s->options.tls, is_control);
	}
}

static void listen_again(struct server *s)
{
	take_spare(s);
	if (s->resting && !s->refusing)
		uv_poll_start(&s->listener, UV_READABLE, on_connection);
	if (s->control_resting)
		uv_poll_start(&s->control, UV_READABLE, on_connection);
	s->resting = s->control_resting = false;
}

/* Without it control goes through the port alone: no reason to fail, as when another replay has that port of
 * another address. */
static void listen_for_control(struct server *s)
{
	struct sockaddr_un address;
	socklen_t len = control_address(&address, s->port.port);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return;
	if (bind(fd, (const struct sockaddr *)&address, len) || listen(fd, CONTROL_BACKLOG)) {
		close(fd);
		return;
	}
	s->control_fd = fd;
	uv_poll_init(s->loop, &s->control, fd);
	s->control.data = s;
	s->open_handles++;
	uv_poll_start(&s->control, UV_READABLE, on_connection);
}

static void start_handles(struct server *s)
{
	uv_poll_init(s->loop, &s->listener, s->port.fd);
	uv_check_init(s->loop, &s->turn_end);
	uv_timer_init(s->loop, &s->ticker);
	uv_idle_init(s->loop, &s->idler);
	s->listener.data = s->turn_end.data = s->ticker.data = s->idler.data = s;
	s->open_handles = 4;
	uv_poll_start(&s->listener, UV_READABLE, on_connection);
	uv_check_start(&s->turn_end, on_turn_end);
	uv_timer_start(&s->ticker, on_tick, TICK_MS, TICK_MS);
}

int server_open(uv_loop_t *loop, const struct server_options *options, struct server **ret, struct err *err)
{
	struct server *s = xcalloc(1, sizeof(*s));
	int rc;

	s->options = *options;
	s->loop = loop;
	s->control_fd = s->spare_fd = -1;
	if (!s->options.stall_ns)
		s->options.stall_ns = DEFAULT_STALL_NS;
	if (!s->options.connections)
		s->options.connections = DEFAULT_CONNECTIONS;
	rc = listener_open(&s->port, options->host, options->port, err);
	if (rc) {
		free(s);
		return rc;
	}
	start_handles(s);
	take_spare(s);
	if (s->options.has_control)
		listen_for_control(s);
	*ret = s;
	return 0;
}

static void retire_all(struct server *s)
{
	for (struct conn *c = s->conns, *next; c; c = next) {
		next = conn_links(c)->next;
		conn_retire(c);
	}
}

void server_thaw(struct server *s, uint64_t by)
{
	for (struct conn *c = s->conns; c; c = conn_links(c)->next)
		conn_thaw(c, by);
}

void server_refuse(struct server *s)
{
	if (s->refusing)
		return;
	s->refusing = true;
	uv_poll_stop(&s->listener);
	listener_refuse(&s->port);
	retire_all(s);
}

int server_accept(struct server *s, struct err *err)
{
	int rc;

	if (!s->refusing)
		return 0;
	rc = listener_accept_again(&s->port, err);
	if (rc)
		return rc;
	s->refusing = s->resting = false;
	uv_poll_start(&s->listener, UV_READABLE, on_connection);
	return 0;
}

void server_forget(struct server *s)
{
	if (--s->open_handles)
		return;
	free(s->awake);
	free(s);
}

static void on_handle_closed(uv_handle_t *handle)
{
	server_forget(handle->data);
}

void server_close(struct server *s)
{
	if (!s || s->closing)
		return;
	s->closing = true;
	for (struct conn *c = s->conns, *next; c; c = next) {
		next = conn_links(c)->next;
		conn_close(c);
	}
	uv_close((uv_handle_t *)&s->listener, on_handle_closed);
	listener_close(&s->port);
	if (s->control_fd >= 0) {
		uv_close((uv_handle_t *)&s->control, on_handle_closed);
		close(s->control_fd);
	}
	if (s->spare_fd >= 0)
		close(s->spare_fd);
	uv_close((uv_handle_t *)&s->turn_end, on_handle_closed);
	uv_close((uv_handle_t *)&s->ticker, on_handle_closed);
	uv_close((uv_handle_t *)&s->idler, on_handle_closed);
}
