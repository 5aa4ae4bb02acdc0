/*
 * write_loop.c: the least a server could do: waits for CONNECTIONS, then writes the same BYTES to each of
 * them EVENTS times, RATE times a second (0: without a pause), with one write(2) each, and prints as one line
 * of JSON what that cost. With no connections it shows how late a timer alone wakes up.
 *
 *     write_loop CONNECTIONS RATE EVENTS BYTES [tls]
 *
 * With "tls" the bytes go through one SSL_write(3) instead, which is the least a server with TLS could do.
 * Prints the port first. Events carry the monotonic time at which they are due, as replay_watchers reads it.
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static int64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

struct peer {
	int fd;
	SSL *ssl; /* NULL: without TLS */
};

/* With a certificate that nobody looks at, the cipher that the replay prefers, and as the replay: no buffers
 * while a connection is idle. */
static SSL_CTX *make_context(void)
{
	SSL_CTX *context = SSL_CTX_new(TLS_server_method());
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *cert = X509_new();

	if (!context || !key || !cert || !X509_set_pubkey(cert, key) ||
		!X509_gmtime_adj(X509_getm_notBefore(cert), -60) ||
		!X509_gmtime_adj(X509_getm_notAfter(cert), 86400) || !X509_sign(cert, key, EVP_sha256()) ||
		SSL_CTX_use_certificate(context, cert) != 1 || SSL_CTX_use_PrivateKey(context, key) != 1)
		die("SSL_CTX");
	SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256");
	SSL_CTX_set_num_tickets(context, 0);
	X509_free(cert);
	EVP_PKEY_free(key);
	return context;
}

static void read_request(struct peer *p, SSL_CTX *context)
{
	char request[4096];

	if (!context) {
		if (read(p->fd, request, sizeof(request)) <= 0)
			die("read");
		return;
	}
	p->ssl = SSL_new(context);
	SSL_set_fd(p->ssl, p->fd);
	if (SSL_accept(p->ssl) != 1 || SSL_read(p->ssl, request, sizeof(request)) <= 0)
		die("SSL_accept");
}

static struct peer *accept_all(int count, bool tls)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	struct peer *peers = calloc((size_t)count + 1, sizeof(*peers));
	SSL_CTX *context = tls ? make_context() : NULL;
	int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;

	if (listener < 0 || bind(listener, (struct sockaddr *)&at, len) || listen(listener, 1024) ||
		getsockname(listener, (struct sockaddr *)&at, &len))
		die("listen");
	printf("%d\n", ntohs(at.sin_port));
	fflush(stdout);
	for (int i = 0; i < count; i++) {
		peers[i].fd = accept(listener, NULL, NULL);
		if (peers[i].fd < 0)
			die("accept");
		setsockopt(peers[i].fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		read_request(&peers[i], context);
	}
	return peers;
}

/* Sleeps until the time and returns how much later it is. */
static int64_t wait_until(int timer, int64_t due_ns)
{
	const struct itimerspec at = {
		.it_value = {.tv_sec = due_ns / 1000000000, .tv_nsec = due_ns % 1000000000}};
	uint64_t expirations;

	timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, NULL);
	if (read(timer, &expirations, sizeof(expirations)) != sizeof(expirations))
		die("timerfd");
	return clock_ns(CLOCK_MONOTONIC) - due_ns;
}

/* False when the readers have gone: their time is over. */
static bool write_all(const struct peer *p, const char *bytes, size_t len)
{
	while (len) {
		ssize_t n = p->ssl ? SSL_write(p->ssl, bytes, (int)len) : write(p->fd, bytes, len);

		if (n <= 0)
			return false;
		bytes += n;
		len -= (size_t)n;
	}
	return true;
}

static int compare(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

int main(int argc, char **argv)
{
	struct rlimit files = {65536, 65536};
	long connections = argc >= 5 ? strtol(argv[1], NULL, 10) : -1, events, bytes, written = 0;
	bool reading = true;
	int timer = timerfd_create(CLOCK_MONOTONIC, 0);
	struct peer *peers;
	int64_t begin, cpu_begin, *late;
	double rate;
	char *frame;

	if (connections < 0)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	setrlimit(RLIMIT_NOFILE, &files);
	rate = strtod(argv[2], NULL);
	events = strtol(argv[3], NULL, 10);
	bytes = strtol(argv[4], NULL, 10);
	frame = malloc((size_t)bytes + 64);
	late = calloc((size_t)events, sizeof(*late));
	memset(frame, 'x', (size_t)bytes);
	peers = accept_all((int)connections, argc > 5);
	begin = clock_ns(CLOCK_MONOTONIC) + 500000000;
	cpu_begin = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	for (long i = 0; i < events && reading; i++) {
		int64_t due_ns = begin + (rate > 0 ? (int64_t)((double)i * 1e9 / rate) : 0);

		if (rate > 0)
			late[i] = wait_until(timer, due_ns);
		snprintf(frame, 64, "{\"type\":\"MODIFIED\",\"due\":\"%019lld\"", (long long)due_ns);
		for (long k = 0; k < connections && reading; k++) {
			reading = write_all(&peers[k], frame, (size_t)bytes);
			written += reading;
		}
	}
	cpu_begin = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_begin;
	qsort(late, (size_t)events, sizeof(*late), compare);
	printf("{\"cpu_us\":%.3f,\"late_p50_us\":%.1f,\"late_p99_us\":%.1f}\n",
		written ? (double)cpu_begin / 1000 / (double)written : 0, (double)late[events / 2] / 1000,
		(double)late[events * 99 / 100] / 1000);
	fflush(stdout);
	pause(); /* the connections stay until whoever reads them is done */
	return 0;
}
