/*
 * replay_watchers.c: many watchers of one replay, for measuring it. Opens CONNECTIONS connections with
 * STREAMS watches each (HTTP/1.1 without TLS when STREAMS is 0, with TLS when it is -1), reads for SECONDS,
 * and prints one line of JSON.
 *
 *     replay_watchers PORT CONNECTIONS STREAMS SECONDS TARGET [ANCHOR_MONO_NS ANCHOR_TAPE_NS SPEED]
 *
 * Objects carry the tape time at which they are due as "due":"<19 digits>"; with the anchor of the replay's
 * clock, which runs on this machine, that gives how late each event was when it had been read.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <nghttp2/nghttp2.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SAMPLES_MAX (1u << 24)

struct anchor {
	int64_t mono_ns, tape_ns;
	double speed;
};

struct client {
	int fd;
	SSL *ssl;
	nghttp2_session *session;
	char tail[32]; /* the end of what was read, where a due time may have been cut */
	size_t tail_len;
};

static struct anchor anchor;
static int64_t *samples, now_ns;
static size_t sample_count;
static uint64_t event_count, byte_count;

static int64_t mono_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void note(const char *digits)
{
	int64_t due_ns = strtoll(digits, NULL, 10);

	event_count++;
	if (anchor.mono_ns && sample_count < SAMPLES_MAX)
		samples[sample_count++] =
			now_ns -
			(anchor.mono_ns + (int64_t)((double)(due_ns - anchor.tape_ns) / anchor.speed));
}

/* Finds every "due":"..." in the bytes, also where it was cut between two reads. */
static void scan(struct client *c, const char *bytes, size_t len)
{
	static const char mark[] = "\"due\":\"";
	char joined[128];
	size_t whole = sizeof(mark) - 1 + 19, head = len < whole ? len : whole;
	const char *at = joined, *end;

	byte_count += len;
	memcpy(joined, c->tail, c->tail_len);
	memcpy(joined + c->tail_len, bytes, head);
	at = memmem(joined, c->tail_len + head, mark, sizeof(mark) - 1);
	if (at && at < joined + c->tail_len && at + whole <= joined + c->tail_len + head)
		note(at + sizeof(mark) - 1);
	for (at = bytes, end = bytes + len;
		(at = memmem(at, (size_t)(end - at), mark, sizeof(mark) - 1)) && at + whole <= end;
		at += whole)
		note(at + sizeof(mark) - 1);
	c->tail_len = len < whole - 1 ? len : whole - 1;
	if (c->tail_len > sizeof(c->tail))
		c->tail_len = sizeof(c->tail);
	memcpy(c->tail, bytes + len - c->tail_len, c->tail_len);
}

static int on_data(
	nghttp2_session *s, uint8_t flags, int32_t id, const uint8_t *bytes, size_t len, void *user)
{
	(void)s;
	(void)flags;
	(void)id;
	scan(user, (const char *)bytes, len);
	return 0;
}

static void flush_session(struct client *c)
{
	const uint8_t *bytes;
	ssize_t n;

	while ((n = nghttp2_session_mem_send(c->session, &bytes)) > 0) {
		if (SSL_write(c->ssl, bytes, (int)n) != n)
			die("SSL_write");
	}
}

static nghttp2_nv field(const char *name, const char *value)
{
	return (nghttp2_nv){
		(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name), strlen(value), 0};
}

/* "%d" in the target becomes the number of the watcher. */
static const char *target_of(const char *target)
{
	static char text[1024];
	static int number;
	const char *mark = strstr(target, "%d");

	if (!mark)
		return target;
	snprintf(text, sizeof(text), "%.*s%d%s", (int)(mark - target), target, number++, mark + 2);
	return text;
}

static void open_tls(struct client *c, SSL_CTX *context, bool http2)
{
	c->ssl = SSL_new(context);
	SSL_set_fd(c->ssl, c->fd);
	if (http2)
		SSL_set_alpn_protos(c->ssl, (const unsigned char *)"\x02h2", 3);
	if (SSL_connect(c->ssl) != 1)
		die("SSL_connect");
}

static void open_http2(struct client *c, int streams, const char *target)
{
	const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 4u << 20}};
	nghttp2_session_callbacks *cb;

	nghttp2_session_callbacks_new(&cb);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data);
	nghttp2_session_client_new(&c->session, cb, c);
	nghttp2_session_callbacks_del(cb);
	nghttp2_submit_settings(c->session, 0, settings, 1);
	nghttp2_session_set_local_window_size(c->session, 0, 0, 1 << 30);
	for (int i = 0; i < streams; i++) {
		const nghttp2_nv fields[] = {field(":method", "GET"), field(":scheme", "https"),
			field(":authority", "bench"), field(":path", target_of(target))};

		nghttp2_submit_request(c->session, NULL, fields, 4, NULL, NULL);
	}
	flush_session(c);
}

static void open_http1(struct client *c, const char *target)
{
	char request[1024];
	int n = snprintf(request, sizeof(request),
		"GET %s HTTP/1.1\r\nHost: bench\r\nUser-Agent: bench\r\n\r\n", target);

	if ((c->ssl ? SSL_write(c->ssl, request, n) : write(c->fd, request, (size_t)n)) != n)
		die("write");
}

static void open_client(struct client *c, SSL_CTX *context, int port, int streams, const char *target)
{
	const struct sockaddr_in to = {.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	c->fd = socket(AF_INET, SOCK_STREAM, 0);
	if (c->fd < 0 || connect(c->fd, (const struct sockaddr *)&to, sizeof(to)))
		die("connect");
	if (streams)
		open_tls(c, context, streams > 0);
	if (streams > 0)
		open_http2(c, streams, target);
	else
		open_http1(c, target_of(target));
	fcntl(c->fd, F_SETFL, O_NONBLOCK);
}

static void read_client(struct client *c)
{
	static char bytes[1 << 18];
	ssize_t n;

	while ((n = c->ssl ? SSL_read(c->ssl, bytes, sizeof(bytes)) : read(c->fd, bytes, sizeof(bytes))) >
		0) {
		now_ns = mono_ns();
		if (!c->session) {
			scan(c, bytes, (size_t)n);
			continue;
		}
		if (nghttp2_session_mem_recv(c->session, (const uint8_t *)bytes, (size_t)n) != n)
			die("nghttp2");
		flush_session(c);
	}
	if (n == 0 && !c->ssl) {
		fputs("a connection was closed\n", stderr);
		exit(1);
	}
}

static int compare(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double us_at(double part)
{
	size_t i = (size_t)((double)sample_count * part);

	return sample_count ? (double)samples[i < sample_count ? i : sample_count - 1] / 1000 : 0;
}

static void report(double seconds)
{
	qsort(samples, sample_count, sizeof(*samples), compare);
	printf("{\"events\":%llu,\"bytes\":%llu,\"seconds\":%.3f,\"per_second\":%.0f,\"p50_us\":%.1f,\"p90_us\":%.1f,"
	       "\"p99_us\":%.1f,\"p999_us\":%.1f,\"max_us\":%.1f}\n",
		(unsigned long long)event_count, (unsigned long long)byte_count, seconds,
		(double)event_count / seconds, us_at(0.5), us_at(0.9), us_at(0.99), us_at(0.999), us_at(1));
}

int main(int argc, char **argv)
{
	struct rlimit files = {65536, 65536};
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());
	int connections, streams, poll = epoll_create1(0);
	struct client *clients;
	int64_t begin, end;

	if (argc < 6)
		return 2;
	setrlimit(RLIMIT_NOFILE, &files);
	connections = (int)strtol(argv[2], NULL, 10);
	streams = (int)strtol(argv[3], NULL, 10);
	clients = calloc((size_t)connections, sizeof(*clients));
	samples = malloc(SAMPLES_MAX * sizeof(*samples));
	for (int i = 0; i < connections; i++) {
		struct epoll_event e = {.events = EPOLLIN, .data.ptr = &clients[i]};

		open_client(&clients[i], context, (int)strtol(argv[1], NULL, 10), streams, argv[5]);
		epoll_ctl(poll, EPOLL_CTL_ADD, clients[i].fd, &e);
	}
	/* The clock has started with the last watch: whoever started us writes the anchor to our stdin. */
	fprintf(stderr, "open\n");
	if (argc > 6 && scanf("%lld %lld %lf", (long long *)&anchor.mono_ns, (long long *)&anchor.tape_ns,
				&anchor.speed) != 3)
		return 2;
	begin = mono_ns();
	end = begin + (int64_t)(strtod(argv[4], NULL) * 1e9);
	while (mono_ns() < end) {
		struct epoll_event got[256];
		int n = epoll_wait(poll, got, 256, 100);

		for (int i = 0; i < n; i++)
			read_client(got[i].data.ptr);
	}
	report((double)(mono_ns() - begin) / 1e9);
	return 0;
}
