/* metrics_server.c: see metrics_server.h. */
#include "recorder/metrics_server.h"

#include "schema/base/log.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_CLIENTS    32
#define MAX_HEAD_BYTES 8192
#define MAX_BODY_BYTES (16u << 20)
#define MAX_HELD_BYTES (16u << 20) /* of all answers; then nobody is given another */
#define PATIENCE_MS    10000
#define MAX_AT_ONCE    8    /* clients that are taken in at one turn of the loop */
#define PAUSE_MS       1000 /* without a descriptor for the next client */
#define KEPT_FREE      16   /* descriptors that are left to the recording */

struct client {
	uv_tcp_t tcp;
	uv_timer_t limit;
	uv_write_t write;
	struct metrics_server *server;
	struct client *next, **link; /* in the server's list, while it is open */
	unsigned open_handles;
	struct buf out;
	size_t len;
	char head[MAX_HEAD_BYTES];
};

/* It listens by itself and not through libuv, which goes on trying to accept while there is no descriptor. */
struct metrics_server {
	uv_loop_t *loop;
	int fd;
	uv_poll_t poll;
	uv_timer_t pause;
	unsigned open_handles;
	metrics_answer *answer;
	void *context;
	struct client *clients;
	size_t client_count, held_bytes; /* of answers that were not taken yet */
	char address[64];
	bool told; /* that clients are turned away */
};

/* ---- one client ---- */

static void on_handle_closed(uv_handle_t *handle)
{
	struct client *c = handle->data;

	if (--c->open_handles)
		return;
	buf_release(&c->out);
	free(c);
}

static void leave(struct client *c)
{
	if (uv_is_closing((uv_handle_t *)&c->tcp))
		return;
	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	c->server->client_count--;
	c->server->held_bytes -= c->out.len;
	uv_close((uv_handle_t *)&c->tcp, on_handle_closed);
	uv_close((uv_handle_t *)&c->limit, on_handle_closed);
}

static void on_limit(uv_timer_t *timer)
{
	leave(timer->data);
}

/* Both sides have said what they had to say; what a client still sends is not waited for. */
static void on_written(uv_write_t *write, int status)
{
	(void)status;
	leave(write->data);
}

static const char *words_of(int status)
{
	switch (status) {
	case 200: return "OK";
	case 400: return "Bad Request";
	case 404: return "Not Found";
	case 405: return "Method Not Allowed";
	default: return "Service Unavailable";
	}
}

static void send_answer(struct client *c, int status, const struct buf *body, bool with_body)
{
	uv_buf_t block;

	uv_read_stop((uv_stream_t *)&c->tcp);
	buf_init(&c->out, MAX_BODY_BYTES + 1024);
	if (buf_printf(&c->out, NULL,
		    "HTTP/1.1 %d %s\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
		    "Content-Length: %zu\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n",
		    status, words_of(status), body->len) ||
		(with_body && buf_append(&c->out, body->ptr, body->len, NULL))) {
		buf_clear(&c->out);
		leave(c);
		return;
	}
	c->server->held_bytes += c->out.len;
	block = uv_buf_init(c->out.ptr, (unsigned)c->out.len);
	c->write.data = c;
	if (uv_write(&c->write, (uv_stream_t *)&c->tcp, &block, 1, on_written))
		leave(c);
}

/* "GET /metrics?x HTTP/1.1" */
static void metrics_server_answer(struct client *c)
{
	const char *end = memchr(c->head, '\r', c->len), *method_end, *path_end;
	bool is_get, is_head;
	struct buf body;
	int status = 400;

	end = end ? end : c->head + c->len;
	method_end = memchr(c->head, ' ', (size_t)(end - c->head));
	is_get = method_end && method_end - c->head == 3 && memcmp(c->head, "GET", 3) == 0;
	is_head = method_end && method_end - c->head == 4 && memcmp(c->head, "HEAD", 4) == 0;
	buf_init(&body, MAX_BODY_BYTES);
	if ((is_get || is_head) && c->server->held_bytes > MAX_HELD_BYTES) {
		status = 503;
	} else if (is_get || is_head) {
		for (path_end = method_end + 1; path_end < end && *path_end != ' ' && *path_end != '?';)
			path_end++;
		status = c->server->answer(c->server->context,
			(struct slice){method_end + 1, (size_t)(path_end - method_end - 1)}, &body);
	} else if (method_end) {
		status = 405;
	}
	if (status != 200 && !body.len && buf_printf(&body, NULL, "%s\n", words_of(status)))
		buf_clear(&body);
	send_answer(c, status, &body, !is_head);
	buf_release(&body);
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *ret)
{
	struct client *c = handle->data;

	(void)suggested;
	*ret = uv_buf_init(c->head + c->len, (unsigned)(sizeof(c->head) - c->len));
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *block)
{
	struct client *c = stream->data;

	(void)block;
	if (n < 0) {
		leave(c);
		return;
	}
	c->len += (size_t)n;
	if (memmem(c->head, c->len, "\r\n\r\n", 4) || memmem(c->head, c->len, "\n\n", 2))
		metrics_server_answer(c);
	else if (c->len == sizeof(c->head))
		leave(c);
}

static struct client *new_client(struct metrics_server *m)
{
	struct client *c = xcalloc(1, sizeof(*c));

	c->server = m;
	c->open_handles = 2;
	uv_tcp_init(m->loop, &c->tcp);
	uv_timer_init(m->loop, &c->limit);
	c->tcp.data = c->limit.data = c;
	c->next = m->clients;
	c->link = &m->clients;
	if (c->next)
		c->next->link = &c->next;
	m->clients = c;
	m->client_count++;
	return c;
}

static void tell_scarcity(struct metrics_server *m)
{
	if (!m->told)
		log_warn("too few files may be open: clients that ask for metrics are turned away");
	m->told = true;
}

/* Numbers are given from the lowest: a high one says that few are left. */
static bool is_scarce(int fd)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
	       (rlim_t)fd + KEPT_FREE >= limit.rlim_cur;
}

static void take_client(struct metrics_server *m, int fd)
{
	struct client *c;

	bool scarce = is_scarce(fd);

	if (scarce)
		tell_scarcity(m);
	if (scarce || m->client_count >= MAX_CLIENTS) {
		close(fd);
		return;
	}
	c = new_client(m);
	uv_timer_start(&c->limit, on_limit, PATIENCE_MS, 0);
	if (uv_tcp_open(&c->tcp, fd)) {
		close(fd);
		leave(c);
	} else if (uv_read_start((uv_stream_t *)&c->tcp, on_room, on_read)) {
		leave(c);
	}
}

static void on_knock(uv_poll_t *poll, int status, int events);

static void on_pause_over(uv_timer_t *timer)
{
	struct metrics_server *m = timer->data;

	uv_poll_start(&m->poll, UV_READABLE, on_knock);
}

/* There is no descriptor: the client goes on knocking, and nobody listens for a while. */
static void pause_listening(struct metrics_server *m)
{
	tell_scarcity(m);
	uv_poll_stop(&m->poll);
	uv_timer_start(&m->pause, on_pause_over, PAUSE_MS, 0);
}

static void on_knock(uv_poll_t *poll, int status, int events)
{
	struct metrics_server *m = poll->data;

	(void)status;
	(void)events;
	for (int i = 0; i < MAX_AT_ONCE; i++) {
		int fd = accept4(m->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0) {
			take_client(m, fd);
		} else if (errno == EAGAIN) {
			return;
		} else if (errno != EINTR && errno != ECONNABORTED) {
			pause_listening(m);
			return;
		}
	}
}

/* ---- the address ---- */

static int parse_port(const char *text, int *ret)
{
	char *end;
	long port = strtol(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || port > 65535)
		return -1;
	*ret = (int)port;
	return 0;
}

static int parse_address(const char *text, struct sockaddr_storage *ret)
{
	const char *colon = strrchr(text, ':'), *begin = text, *end = colon;
	int port;
	char host[64];

	if (parse_port(colon ? colon + 1 : text, &port))
		return -1;
	if (!colon || colon == text)
		return uv_ip4_addr("127.0.0.1", port, (struct sockaddr_in *)ret);
	if (*begin == '[' && end[-1] == ']') {
		begin++;
		end--;
	}
	if (end <= begin || (size_t)(end - begin) >= sizeof(host))
		return -1;
	snprintf(host, sizeof(host), "%.*s", (int)(end - begin), begin);
	if (strcmp(host, "localhost") == 0)
		return uv_ip4_addr("127.0.0.1", port, (struct sockaddr_in *)ret);
	if (begin == text) /* an IPv6 address without brackets has no place for a port */
		return uv_ip4_addr(host, port, (struct sockaddr_in *)ret);
	return uv_ip6_addr(host, port, (struct sockaddr_in6 *)ret);
}

static void note_address(struct metrics_server *m)
{
	struct sockaddr_storage at;
	socklen_t len = sizeof(at);
	char host[INET6_ADDRSTRLEN] = "";

	if (getsockname(m->fd, (struct sockaddr *)&at, &len))
		return;
	if (at.ss_family == AF_INET6) {
		uv_ip6_name((struct sockaddr_in6 *)&at, host, sizeof(host));
		snprintf(m->address, sizeof(m->address), "[%s]:%d", host,
			ntohs(((struct sockaddr_in6 *)&at)->sin6_port));
	} else {
		uv_ip4_name((struct sockaddr_in *)&at, host, sizeof(host));
		snprintf(m->address, sizeof(m->address), "%s:%d", host,
			ntohs(((struct sockaddr_in *)&at)->sin_port));
	}
}

/* ---- the server ---- */

static int open_listener(const struct sockaddr_storage *at, int *ret)
{
	bool is_v6 = at->ss_family == AF_INET6;
	socklen_t len = is_v6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
	int fd = socket(at->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), yes = 1, rc;

	if (fd < 0)
		return errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (bind(fd, (const struct sockaddr *)at, len) || listen(fd, MAX_CLIENTS)) {
		rc = errno;
		close(fd);
		return rc;
	}
	*ret = fd;
	return 0;
}

int metrics_server_open(uv_loop_t *loop, const char *address, metrics_answer *answer_path, void *context,
	struct metrics_server **ret, struct err *err)
{
	struct sockaddr_storage at = {0};
	struct metrics_server *m;
	int rc, fd = -1;

	if (parse_address(address, &at))
		return err_set(err, ERR_USAGE,
			"cannot serve metrics at '%s': expected PORT or ADDRESS:PORT, such as 9090 or 0.0.0.0:9090",
			address);
	rc = open_listener(&at, &fd);
	if (rc)
		return err_set(err, ERR_NETWORK, "cannot serve metrics at '%s': %s", address,
			uv_strerror(uv_translate_sys_error(rc)));
	m = xcalloc(1, sizeof(*m));
	m->loop = loop;
	m->fd = fd;
	m->answer = answer_path;
	m->context = context;
	m->open_handles = 2;
	uv_timer_init(loop, &m->pause);
	uv_poll_init(loop, &m->poll, fd);
	m->poll.data = m->pause.data = m;
	uv_poll_start(&m->poll, UV_READABLE, on_knock);
	note_address(m);
	*ret = m;
	return 0;
}

const char *metrics_server_address(const struct metrics_server *m)
{
	return m->address;
}

static void on_closed(uv_handle_t *handle)
{
	struct metrics_server *m = handle->data;

	if (--m->open_handles)
		return;
	close(m->fd);
	free(m);
}

void metrics_server_close(struct metrics_server *m)
{
	if (!m)
		return;
	while (m->clients)
		leave(m->clients);
	uv_close((uv_handle_t *)&m->poll, on_closed);
	uv_close((uv_handle_t *)&m->pause, on_closed);
}
