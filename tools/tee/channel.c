/* channel.c: see channel.h. */
#include "tools/tee/channel.h"

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define KEEPALIVE_S     15
#define KEEPALIVE_TRIES 9
#define UNSENT_BYTES    (128 << 10) /* of what is written the kernel keeps so much unsent */

static ssize_t read_socket(struct channel *c, char *to, size_t max)
{
	ssize_t n;

	do
		n = recv(c->fd, to, max, 0);
	while (n < 0 && errno == EINTR);
	if (n > 0)
		return n;
	if (n == 0)
		return CHANNEL_FIN;
	return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : CHANNEL_RESET;
}

/* After a goodbye only the end of the connection counts. */
static ssize_t read_end(struct channel *c, char *to, size_t max)
{
	ssize_t n;

	do
		n = read_socket(c, to, max);
	while (n > 0);
	return n;
}

/* The queue of errors is empty before each call, as SSL_get_error needs. */
static ssize_t why_nothing(struct channel *c, int rc, int saved_errno)
{
	int code = SSL_get_error(c->ssl, rc);
	unsigned long error = ERR_peek_last_error();

	ERR_clear_error();
	c->reads_by_writing = code == SSL_ERROR_WANT_WRITE;
	if (code == SSL_ERROR_WANT_READ || code == SSL_ERROR_WANT_WRITE)
		return 0;
	if (code == SSL_ERROR_ZERO_RETURN)
		return CHANNEL_GOODBYE;
	if (code == SSL_ERROR_SSL && ERR_GET_REASON(error) == SSL_R_UNEXPECTED_EOF_WHILE_READING)
		return CHANNEL_FIN;
	return code == SSL_ERROR_SYSCALL && saved_errno == 0 ? CHANNEL_FIN : CHANNEL_RESET;
}

ssize_t channel_read(struct channel *c, char *to, size_t max)
{
	size_t got;
	ssize_t end;
	int rc;

	if (!c->ssl)
		return read_socket(c, to, max);
	if (c->got_goodbye)
		return read_end(c, to, max);
	c->reads_by_writing = false;
	errno = 0;
	rc = SSL_read_ex(c->ssl, to, max, &got);
	if (rc > 0)
		return (ssize_t)got;
	end = why_nothing(c, rc, errno);
	c->got_goodbye = end == CHANNEL_GOODBYE;
	return end;
}

bool channel_has_read(const struct channel *c)
{
	return c->ssl && SSL_has_pending(c->ssl);
}

ssize_t channel_write(struct channel *c, struct slice bytes)
{
	size_t n = bytes.len < CHANNEL_PIECE_BYTES ? bytes.len : CHANNEL_PIECE_BYTES, put;
	ssize_t sent;
	int rc;

	if (c->ssl) {
		errno = 0;
		rc = SSL_write_ex(c->ssl, bytes.ptr, n, &put);
		if (rc > 0)
			return (ssize_t)put;
		return why_nothing(c, rc, errno) == 0 ? 0 : CHANNEL_RESET;
	}
	do
		sent = send(c->fd, bytes.ptr, n, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	if (sent >= 0)
		return sent;
	return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : CHANNEL_RESET;
}

int channel_say_goodbye(struct channel *c)
{
	int rc;

	if (!c->ssl || c->said_goodbye)
		return 1;
	rc = SSL_shutdown(c->ssl);
	if (rc < 0 && SSL_get_error(c->ssl, rc) == SSL_ERROR_WANT_WRITE) {
		ERR_clear_error();
		return 0;
	}
	ERR_clear_error();
	c->said_goodbye = true;
	return 1;
}

void channel_say_fin(struct channel *c)
{
	shutdown(c->fd, SHUT_WR);
}

bool channel_is_drained(const struct channel *c)
{
	int unsent = 0;

	return ioctl(c->fd, SIOCOUTQ, &unsent) != 0 || unsent == 0;
}

void channel_close(struct channel *c, bool by_reset)
{
	static const struct linger hard = {.l_onoff = 1, .l_linger = 0};

	SSL_free(c->ssl);
	c->ssl = NULL;
	if (c->fd < 0)
		return;
	if (by_reset)
		setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	close(c->fd);
	c->fd = -1;
}

void channel_set_options(int fd)
{
	int on = 1, seconds = KEEPALIVE_S, tries = KEEPALIVE_TRIES, unsent = UNSENT_BYTES;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof(seconds));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof(seconds));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &tries, sizeof(tries));
	setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof(unsent));
}
