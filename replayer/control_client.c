/* control_client.c: see control_client.h. */
#include "replayer/control_client.h"

#include "replayer/wire/control_address.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"

#include <ctype.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define HOST_MAX 256

struct target {
	char host_port[HOST_MAX];
	bool tls, plain; /* which to try */
};

static int parse_address(const char *address, struct target *ret, struct err *err)
{
	struct target t = {.tls = true, .plain = true};
	const char *rest = address;

	if (strncmp(rest, "https://", 8) == 0) {
		t.plain = false;
		rest += 8;
	} else if (strncmp(rest, "http://", 7) == 0) {
		t.tls = false;
		rest += 7;
	}
	if (strcspn(rest, "/") >= HOST_MAX || !strchr(rest, ':'))
		return err_set(err, ERR_USAGE, "bad address '%s': expected HOST:PORT or the URL of a replay",
			address);
	snprintf(t.host_port, sizeof(t.host_port), "%.*s", (int)strcspn(rest, "/"), rest);
	*ret = t;
	return 0;
}

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

static char *make_request(const struct target *t, const char *action, const char *name, const char *value)
{
	char *encoded = encode(value ? value : "");
	char *text = xasprintf("%s /kubetape/v1/%s%s%s%s%s HTTP/1.1\r\nHost: %s\r\nUser-Agent: kubetape\r\n"
			       "Content-Length: 0\r\nConnection: close\r\n\r\n",
		strcmp(action, "status") == 0 ? "GET" : "POST", action, name ? "?" : "", name ? name : "",
		name ? "=" : "", encoded, t->host_port);

	free(encoded);
	return text;
}

/* The whole answer; the replay closes behind it. */
static int exchange(BIO *bio, const char *request, struct buf *answer, struct err *err)
{
	int n;

	if (BIO_write(bio, request, (int)strlen(request)) != (int)strlen(request))
		return err_set(err, ERR_NETWORK, "the replay does not take the request");
	do {
		char *at = buf_reserve(answer, 4096);

		if (!at)
			return err_set(err, ERR_TOO_LARGE, "answer of more than %zu bytes", answer->max);
		n = BIO_read(bio, at, 4096);
		answer->len += n > 0 ? (size_t)n : 0;
	} while (n > 0);
	return answer->len ? 0 : err_set(err, ERR_NETWORK, "the replay closed without an answer");
}

static int talk(const struct target *t, bool tls, const char *request, struct buf *answer, struct err *err)
{
	SSL_CTX *context = tls ? SSL_CTX_new(TLS_client_method()) : NULL;
	BIO *bio = tls ? BIO_new_ssl_connect(context) : BIO_new(BIO_s_connect());
	int rc;

	BIO_set_conn_hostname(bio, t->host_port);
	if (BIO_do_connect(bio) <= 0)
		rc = err_set(err, ERR_NETWORK, "nobody answers at '%s'", t->host_port);
	else
		rc = exchange(bio, request, answer, err);
	BIO_free_all(bio);
	SSL_CTX_free(context);
	ERR_clear_error();
	return rc;
}

/* Only an address of this machine can be bound to. */
static bool is_own_address(const BIO_ADDRINFO *at)
{
	int fd = BIO_socket(BIO_ADDRINFO_family(at), SOCK_DGRAM, 0, 0);
	BIO_ADDR *any_port = BIO_ADDR_new();
	unsigned char raw[16];
	size_t len = sizeof(raw);
	bool own = fd >= 0 && any_port && BIO_ADDR_rawaddress(BIO_ADDRINFO_address(at), raw, &len) &&
		   BIO_ADDR_rawmake(any_port, BIO_ADDRINFO_family(at), raw, len, 0) &&
		   BIO_bind(fd, any_port, 0);

	BIO_ADDR_free(any_port);
	if (fd >= 0)
		BIO_closesocket(fd);
	return own;
}

static bool is_this_machine(const struct target *t)
{
	BIO_ADDRINFO *found = NULL;
	char *host = NULL, *port = NULL;
	bool own = false;

	if (BIO_parse_hostserv(t->host_port, &host, &port, BIO_PARSE_PRIO_HOST) &&
		BIO_lookup(host, port, BIO_LOOKUP_CLIENT, AF_UNSPEC, SOCK_STREAM, &found)) {
		for (const BIO_ADDRINFO *at = found; at && !own; at = BIO_ADDRINFO_next(at))
			own = is_own_address(at);
	}
	BIO_ADDRINFO_free(found);
	OPENSSL_free(host);
	OPENSSL_free(port);
	ERR_clear_error();
	return own;
}

/* While a fault refuses connections to the port. */
static int talk_beside(const struct target *t, const char *request, struct buf *answer, struct err *err)
{
	struct sockaddr_un address;
	socklen_t len = control_address(&address, (int)strtol(strrchr(t->host_port, ':') + 1, NULL, 10));
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), rc = ERR_NETWORK;
	BIO *bio;

	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, len)) {
		if (fd >= 0)
			close(fd);
		return rc;
	}
	bio = BIO_new_socket(fd, BIO_CLOSE);
	buf_clear(answer);
	rc = exchange(bio, request, answer, err);
	BIO_free_all(bio);
	return rc;
}

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

int control_ask(const char *address, const char *action, const char *name, const char *value, struct buf *to,
	struct err *err)
{
	struct target t;
	struct buf answer;
	char *request;
	int rc = parse_address(address, &t, err);

	if (rc)
		return rc;
	buf_init(&answer, LIMIT_DOCUMENT_BYTES);
	request = make_request(&t, action, name, value);
	rc = t.tls ? talk(&t, true, request, &answer, err) : ERR_NETWORK;
	if (rc && t.plain) {
		buf_clear(&answer);
		rc = talk(&t, false, request, &answer, err);
	}
	if (rc && is_this_machine(&t))
		rc = talk_beside(&t, request, &answer, err);
	if (rc == 0)
		rc = read_answer(buf_slice(&answer), to, err);
	free(request);
	buf_release(&answer);
	return rc;
}
