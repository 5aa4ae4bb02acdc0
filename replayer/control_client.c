/* control_client.c: see control_client.h. */
#include "replayer/control_client.h"

#include "replayer/request/query.h"
#include "replayer/wire/control_address.h"
#include "replayer/wire/tls_client.h"
#include "schema/base/clock.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"

#include <ctype.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define HOST_MAX       256
#define CONNECT_NS     (10 * NS_PER_S) /* until it has taken the request */
#define PORT_MAX       65535
#define DEFAULT_SCHEME "http://"

struct target {
	char host[HOST_MAX], port[8];
	char *token, *certificate; /* NULL: none */
	bool tls;
	int64_t answer_ns;
};

/* A connection, by either way. */
struct line {
	int fd;
	struct tls_client *tls; /* NULL: plain */
	int64_t until_ns;       /* when we give up */
	int64_t answer_ns;      /* how long it may take to answer */
};

/* ---- the address ---- */

static void target_release(struct target *t)
{
	free(t->token);
	free(t->certificate);
}

static int bad_address(const char *address, struct err *err)
{
	return err_set(
		err, ERR_USAGE, "bad address '%s': expected HOST:PORT or the URL of a replay", address);
}

/* "HOST:PORT", "[ADDRESS]:PORT" or "PORT". */
static bool split_host(struct slice text, struct target *to)
{
	const char *colon = text.len ? memrchr(text.ptr, ':', text.len) : NULL;
	struct slice host = slice_of("127.0.0.1"), port = text;
	char *end;

	if (colon) {
		host = (struct slice){text.ptr, (size_t)(colon - text.ptr)};
		port = (struct slice){colon + 1, text.len - host.len - 1};
	}
	if (host.len >= 2 && host.ptr[0] == '[' && host.ptr[host.len - 1] == ']')
		host = (struct slice){host.ptr + 1, host.len - 2};
	if (host.len == 0 || host.len >= HOST_MAX || port.len == 0 || port.len >= sizeof(to->port))
		return false;
	snprintf(to->host, sizeof(to->host), "%.*s", (int)host.len, host.ptr);
	snprintf(to->port, sizeof(to->port), "%.*s", (int)port.len, port.ptr);
	return isdigit((unsigned char)to->port[0]) && strtoul(to->port, &end, 10) <= PORT_MAX && !*end;
}

static char *own_parameter(const struct query *q, const char *name)
{
	return query_get(q, name).len ? slice_dup(query_get(q, name)) : NULL;
}

static int parse_address(const char *address, struct target *ret, struct err *err)
{
	const char *said = strstr(address, " at "), *rest = said ? said + strlen(" at ") : address;
	struct target t = {0};
	struct query q;

	t.tls = strncmp(rest, "https://", 8) == 0;
	if (t.tls)
		rest += strlen("https://");
	else if (strncmp(rest, DEFAULT_SCHEME, strlen(DEFAULT_SCHEME)) == 0)
		rest += strlen(DEFAULT_SCHEME);
	if (!split_host((struct slice){rest, strcspn(rest, "/")}, &t))
		return bad_address(address, err);
	query_parse(slice_of(rest + strcspn(rest, "/")), &q);
	t.token = own_parameter(&q, "token");
	t.certificate = own_parameter(&q, "certificate");
	query_release(&q);
	*ret = t;
	return 0;
}

/* ---- the request ---- */

/* Everything but letters and digits as %XX. */
static char *encode(const char *text)
{
	char *out = xmalloc(3 * strlen(text) + 1), *at = out;

	for (; *text; text++) {
		if (isalnum((unsigned char)*text))
			*at++ = *text;
		else
			at += snprintf(at, 4, "%%%02X", (unsigned char)*text);
	}
	*at = 0;
	return out;
}

static char *make_request(const struct target *t, const struct control_question *q)
{
	char *encoded = encode(q->value ? q->value : "");
	char *text = xasprintf(
		"%s /kubetape/v1/%s%s%s%s%s HTTP/1.1\r\nHost: localhost:%s\r\nUser-Agent: kubetape\r\n"
		"%s%s%sContent-Length: 0\r\nConnection: close\r\n\r\n",
		strcmp(q->action, "status") == 0 ? "GET" : "POST", q->action, q->name ? "?" : "",
		q->name ? q->name : "", q->name ? "=" : "", encoded, t->port,
		t->token ? "Authorization: Bearer " : "", t->token ? t->token : "", t->token ? "\r\n" : "");

	free(encoded);
	return text;
}

/* ---- a connection ---- */

/* Each call on the socket may take what is left of the time. */
static void allow_time(const struct line *l)
{
	int64_t left_ns = l->until_ns - clock_mono_ns(&clock_system);
	struct timeval left;

	if (left_ns < NS_PER_MS)
		left_ns = NS_PER_MS; /* 0 would be without end */
	left = (struct timeval){.tv_sec = left_ns / NS_PER_S, .tv_usec = left_ns % NS_PER_S / 1000};
	setsockopt(l->fd, SOL_SOCKET, SO_RCVTIMEO, &left, sizeof(left));
	setsockopt(l->fd, SOL_SOCKET, SO_SNDTIMEO, &left, sizeof(left));
}

static bool is_late(const struct line *l)
{
	return clock_mono_ns(&clock_system) >= l->until_ns;
}

static ssize_t line_read(struct line *l, char *to, size_t max)
{
	allow_time(l);
	return l->tls ? tls_client_read(l->tls, to, max) : read(l->fd, to, max);
}

static bool line_write(struct line *l, struct slice bytes)
{
	allow_time(l);
	if (l->tls)
		return tls_client_write(l->tls, bytes);
	return send(l->fd, bytes.ptr, bytes.len, MSG_NOSIGNAL) == (ssize_t)bytes.len;
}

static struct line line_for(const struct target *t)
{
	return (struct line){
		.fd = -1, .until_ns = clock_mono_ns(&clock_system) + CONNECT_NS, .answer_ns = t->answer_ns};
}

static void line_close(struct line *l)
{
	tls_client_free(l->tls);
	if (l->fd >= 0)
		close(l->fd);
}

/* The whole answer; the replay closes after it. */
static int exchange(struct line *l, const char *request, struct buf *answer, struct err *err)
{
	ssize_t n;

	if (!line_write(l, slice_of(request)))
		return err_set(err, ERR_NETWORK, "the replay does not take the request");
	l->until_ns = clock_mono_ns(&clock_system) + l->answer_ns;
	do {
		char *at = buf_reserve(answer, 4096);

		if (!at)
			return err_set(err, ERR_TOO_LARGE, "answer of more than %zu bytes", answer->max);
		n = line_read(l, at, 4096);
		answer->len += n > 0 ? (size_t)n : 0;
	} while (n > 0 && !is_late(l));
	if (is_late(l))
		return err_set(err, ERR_NETWORK, "the replay has not answered within %.3g s",
			(double)l->answer_ns / (double)NS_PER_S);
	return answer->len ? 0 : err_set(err, ERR_NETWORK, "the replay closed without an answer");
}

/* ---- through the port ---- */

static bool connect_to(struct line *l, const struct addrinfo *at)
{
	l->fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (l->fd < 0)
		return false;
	allow_time(l);
	if (connect(l->fd, at->ai_addr, at->ai_addrlen) == 0)
		return true;
	close(l->fd);
	l->fd = -1;
	return false;
}

static int open_port(const struct target *t, struct line *l, struct err *err)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;

	if (getaddrinfo(t->host, t->port, &hints, &found))
		return err_set(err, ERR_NETWORK, "there is no host '%s'", t->host);
	for (const struct addrinfo *at = found; at && l->fd < 0 && !is_late(l); at = at->ai_next)
		(void)!connect_to(l, at);
	freeaddrinfo(found);
	if (l->fd < 0)
		return err_set(err, ERR_NETWORK, "nobody answers at '%s' port %s", t->host, t->port);
	if (!t->tls)
		return 0;
	allow_time(l);
	return tls_client_open(l->fd, t->certificate, &l->tls, err);
}

static int talk(const struct target *t, const char *request, struct buf *answer, struct err *err)
{
	struct line l = line_for(t);
	int rc;

	if (t->tls && !t->certificate)
		return err_set(err, ERR_USAGE,
			"cannot tell whether it is the replay that answers: give the whole control address that it printed");
	rc = open_port(t, &l, err);
	if (rc == 0)
		rc = exchange(&l, request, answer, err);
	line_close(&l);
	return rc;
}

/* ---- beside the port ---- */

/* The name is anybody's to take: only our user and root are believed. */
static bool is_listener_ours(int fd)
{
	struct ucred who;
	socklen_t len = sizeof(who);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0 &&
	       (who.uid == geteuid() || who.uid == 0 || geteuid() == 0);
}

static int talk_beside(const struct target *t, const char *request, struct buf *answer, struct err *err)
{
	struct line l = line_for(t);
	struct sockaddr_un address;
	socklen_t len = control_address(&address, (int)strtol(t->port, NULL, 10));
	int rc = 0;

	l.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (l.fd >= 0)
		allow_time(&l);
	if (l.fd < 0 || connect(l.fd, (const struct sockaddr *)&address, len))
		rc = err_set(err, ERR_NETWORK,
			"no replay of this machine serves at port %s; one elsewhere takes the control address that it printed",
			t->port);
	else if (!is_listener_ours(l.fd))
		rc = err_set(err, ERR_NETWORK, "the replay at port %s is another user's", t->port);
	if (rc == 0)
		rc = exchange(&l, request, answer, err);
	line_close(&l);
	return rc;
}

/* Only an address of this machine can be bound to. */
static bool is_own_address(const struct addrinfo *at)
{
	struct sockaddr_storage any_port;
	int fd = socket(at->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool own;

	memcpy(&any_port, at->ai_addr, at->ai_addrlen);
	if (at->ai_family == AF_INET)
		((struct sockaddr_in *)&any_port)->sin_port = 0;
	else
		((struct sockaddr_in6 *)&any_port)->sin6_port = 0;
	own = fd >= 0 && bind(fd, (const struct sockaddr *)&any_port, at->ai_addrlen) == 0;
	if (fd >= 0)
		close(fd);
	return own;
}

static bool is_this_machine(const struct target *t)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;
	bool own = false;

	if (getaddrinfo(t->host, t->port, &hints, &found))
		return false;
	for (const struct addrinfo *at = found; at && !own; at = at->ai_next)
		own = is_own_address(at);
	freeaddrinfo(found);
	return own;
}

/* With the token through the port; where that is refused, as a fault may have it, beside it. */
static int talk_either_way(const struct target *t, const char *request, struct buf *answer, struct err *err)
{
	bool is_here = is_this_machine(t);
	int rc;

	if (!t->token && !is_here)
		return err_set(err, ERR_USAGE,
			"'%s' is not this machine: a replay elsewhere takes the control address that it printed",
			t->host);
	if (!t->token)
		return talk_beside(t, request, answer, err);
	rc = talk(t, request, answer, err);
	if (rc == ERR_NETWORK && is_here) {
		buf_clear(answer);
		rc = talk_beside(t, request, answer, err);
	}
	return rc;
}

/* ---- the answer ---- */

/* Takes the body out of the answer, or the sentence out of the error in it. */
static int read_answer(struct slice answer, struct buf *to, struct err *err)
{
	const char *end = memmem(answer.ptr, answer.len, "\r\n\r\n", 4);
	struct slice body, message = slice_of("\"no reason given\"");
	struct buf text;
	int rc;

	if (!end || answer.len < 13 || memcmp(answer.ptr, "HTTP/1.1 ", 9) != 0)
		return err_set(err, ERR_PROTOCOL, "what answers is no replay");
	body = (struct slice){end + 4, answer.len - (size_t)(end + 4 - answer.ptr)};
	if (memcmp(answer.ptr + 9, "200", 3) == 0)
		return buf_append(to, body.ptr, body.len, err);
	buf_init(&text, ERR_TEXT_MAX);
	if (json_get(body, "message", &message, NULL) < 0)
		message = slice_of("\"what answers is no replay\"");
	rc = json_unescape(message, &text, err);
	if (rc == 0)
		rc = err_set(err, ERR_USAGE, "%.*s", (int)text.len, text.len ? text.ptr : "");
	buf_release(&text);
	return rc;
}

int control_ask(const struct control_question *q, struct buf *to, struct err *err)
{
	struct target t;
	struct buf answer;
	char *request;
	int rc = parse_address(q->address, &t, err);

	if (rc)
		return rc;
	t.answer_ns = q->timeout_ns;
	buf_init(&answer, LIMIT_DOCUMENT_BYTES);
	request = make_request(&t, q);
	rc = talk_either_way(&t, request, &answer, err);
	if (rc == 0)
		rc = read_answer(buf_slice(&answer), to, err);
	free(request);
	target_release(&t);
	buf_release(&answer);
	return rc;
}
