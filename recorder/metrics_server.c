/* metrics_server.c: see metrics_server.h. */
#include "recorder/metrics_server.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_CLIENTS    32
#define MAX_HEAD_BYTES 8192
#define MAX_BODY_BYTES (16u << 20)
#define PATIENCE_MS    10000

struct client {
	uv_tcp_t tcp;
	uv_timer_t limit;
	uv_write_t write;
	struct metrics_server *server;
	struct client *next, **link; /* in the server's list, while it is open */
	unsigned open_handles;
	bool answered;
	struct buf out;
	size_t len;
	char head[MAX_HEAD_BYTES];
};

struct metrics_server {
	uv_tcp_t tcp;
	metrics_answer *answer;
	void *context;
	struct client *clients;
	size_t client_count;
	char address[64];
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

	c->answered = true;
	uv_read_stop((uv_stream_t *)&c->tcp);
	buf_init(&c->out, MAX_BODY_BYTES + 1024);
	if (buf_printf(&c->out, NULL,
		    "HTTP/1.1 %d %s\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
		    "Content-Length: %zu\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n",
		    status, words_of(status), body->len) ||
		(with_body && buf_append(&c->out, body->ptr, body->len, NULL))) {
		leave(c);
		return;
	}
	block = uv_buf_init(c->out.ptr, (unsigned)c->out.len);
	c->write.data = c;
	if (uv_write(&c->write, (uv_stream_t *)&c->tcp, &block, 1, on_written))
		leave(c);
}

/* "GET /metrics?x HTTP/1.1" */
static void answer(struct client *c)
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
	if (is_get || is_head) {
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
		answer(c);
	else if (c->len == sizeof(c->head))
		leave(c);
}

static void on_connection(uv_stream_t *listener, int status)
{
	struct metrics_server *m = listener->data;
	struct client *c;

	if (status < 0)
		return;
	c = xcalloc(1, sizeof(*c));
	c->server = m;
	c->open_handles = 2;
	uv_tcp_init(listener->loop, &c->tcp);
	uv_timer_init(listener->loop, &c->limit);
	c->tcp.data = c->limit.data = c;
	c->next = m->clients;
	c->link = &m->clients;
	if (c->next)
		c->next->link = &c->next;
	m->clients = c;
	m->client_count++;
	uv_timer_start(&c->limit, on_limit, PATIENCE_MS, 0);
	if (uv_accept(listener, (uv_stream_t *)&c->tcp) || m->client_count > MAX_CLIENTS ||
		uv_read_start((uv_stream_t *)&c->tcp, on_room, on_read))
		leave(c);
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
	int len = sizeof(at);
	char host[INET6_ADDRSTRLEN] = "";

	if (uv_tcp_getsockname(&m->tcp, (struct sockaddr *)&at, &len))
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

static void on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

int metrics_server_open(uv_loop_t *loop, const char *address, metrics_answer *answer_path, void *context,
	struct metrics_server **ret, struct err *err)
{
	struct sockaddr_storage at = {0};
	struct metrics_server *m;
	int rc;

	if (parse_address(address, &at))
		return err_set(err, ERR_USAGE,
			"cannot serve metrics at '%s': expected PORT or ADDRESS:PORT, such as 9090 or 0.0.0.0:9090",
			address);
	m = xcalloc(1, sizeof(*m));
	m->answer = answer_path;
	m->context = context;
	uv_tcp_init(loop, &m->tcp);
	m->tcp.data = m;
	rc = uv_tcp_bind(&m->tcp, (struct sockaddr *)&at, 0);
	if (rc == 0)
		rc = uv_listen((uv_stream_t *)&m->tcp, 16, on_connection);
	if (rc) {
		uv_close((uv_handle_t *)&m->tcp, on_closed);
		return err_set(
			err, ERR_NETWORK, "cannot serve metrics at '%s': %s", address, uv_strerror(rc));
	}
	note_address(m);
	*ret = m;
	return 0;
}

const char *metrics_server_address(const struct metrics_server *m)
{
	return m->address;
}

void metrics_server_close(struct metrics_server *m)
{
	if (!m)
		return;
	while (m->clients)
		leave(m->clients);
	uv_close((uv_handle_t *)&m->tcp, on_closed);
}
