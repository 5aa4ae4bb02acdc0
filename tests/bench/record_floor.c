/*
 * record_floor.c: what watches cost that are only read, for comparison with `kubetape record`. Opens those
 * named on its standard input, a line each, on https://127.0.0.1:PORT, and forgets what comes until it is
 * killed.
 *
 *     record_floor curl|nghttp2 PORT REST_MS
 *
 * `curl` is libcurl at its cheapest, a connection for each watch, so that no read makes it look after others;
 * `nghttp2` is that library over OpenSSL, one connection for all. Like the recorder they rest for REST_MS
 * after something came, so as to wake up less often.
 */
#include <arpa/inet.h>
#include <curl/curl.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <openssl/ssl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static uint64_t byte_count;
static struct timespec rest;
static int poll_fd;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static int wait_for_bytes(struct epoll_event *got, int max, int timeout_ms)
{
	static uint64_t before;

	if (byte_count != before && rest.tv_nsec)
		nanosleep(&rest, NULL);
	before = byte_count;
	return epoll_wait(poll_fd, got, max, timeout_ms);
}

/* ---- libcurl ---- */

static long timeout_ms = -1;

static int want_timer(CURLM *multi, long ms, void *context)
{
	(void)multi;
	(void)context;
	timeout_ms = ms;
	return 0;
}

static int want_socket(CURL *easy, curl_socket_t fd, int what, void *context, void *socket_context)
{
	struct epoll_event e = {.data.fd = fd};

	(void)easy;
	(void)context;
	(void)socket_context;
	e.events = (what & CURL_POLL_IN ? EPOLLIN : 0u) | (what & CURL_POLL_OUT ? EPOLLOUT : 0u);
	if (what == CURL_POLL_REMOVE)
		epoll_ctl(poll_fd, EPOLL_CTL_DEL, fd, NULL);
	else if (epoll_ctl(poll_fd, EPOLL_CTL_MOD, fd, &e))
		epoll_ctl(poll_fd, EPOLL_CTL_ADD, fd, &e);
	return 0;
}

static size_t count_bytes(char *bytes, size_t size, size_t count, void *context)
{
	(void)bytes;
	(void)context;
	byte_count += size * count;
	return size * count;
}

static void add_watch(CURLM *multi, const char *port, const char *target)
{
	CURL *easy = curl_easy_init();
	char url[2048];

	snprintf(url, sizeof(url), "https://127.0.0.1:%s%s", port, target);
	curl_easy_setopt(easy, CURLOPT_URL, url);
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, count_bytes);
	curl_multi_add_handle(multi, easy);
}

static void run_curl(const char *port)
{
	CURLM *multi = curl_multi_init();
	char target[1024];
	int running;

	curl_multi_setopt(multi, CURLMOPT_PIPELINING, CURLPIPE_NOTHING);
	curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, want_socket);
	curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, want_timer);
	while (fgets(target, sizeof(target), stdin)) {
		target[strcspn(target, "\n")] = 0;
		add_watch(multi, port, target);
	}
	for (;;) {
		struct epoll_event got[256];
		int n = wait_for_bytes(got, 256, timeout_ms < 0 ? 1000 : (int)timeout_ms);

		for (int i = 0; i < n; i++) {
			int what = (got[i].events & EPOLLIN ? CURL_CSELECT_IN : 0) |
				   (got[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0);

			curl_multi_socket_action(multi, got[i].data.fd, what, &running);
		}
		if (n == 0 || timeout_ms == 0) {
			timeout_ms = -1; /* libcurl says so when there is another one */
			curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running);
		}
	}
}

/* ---- nghttp2 ---- */

static int on_data(
	nghttp2_session *s, uint8_t flags, int32_t id, const uint8_t *bytes, size_t len, void *user)
{
	(void)s;
	(void)flags;
	(void)id;
	(void)bytes;
	(void)user;
	byte_count += len;
	return 0;
}

static void flush_session(nghttp2_session *s, SSL *ssl)
{
	const uint8_t *bytes;
	ssize_t n;

	while ((n = nghttp2_session_mem_send(s, &bytes)) > 0) {
		if (SSL_write(ssl, bytes, (int)n) != n)
			die("SSL_write");
	}
}

static SSL *open_tls(const char *port)
{
	const struct sockaddr_in to = {.sin_family = AF_INET,
		.sin_port = htons((uint16_t)strtol(port, NULL, 10)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	SSL *ssl = SSL_new(SSL_CTX_new(TLS_client_method()));
	int fd = socket(AF_INET, SOCK_STREAM, 0), yes = 1;

	if (fd < 0 || connect(fd, (const struct sockaddr *)&to, sizeof(to)))
		die("connect");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	SSL_set_fd(ssl, fd);
	SSL_set_alpn_protos(ssl, (const unsigned char *)"\x02h2", 3);
	if (SSL_connect(ssl) != 1)
		die("SSL_connect");
	return ssl;
}

static nghttp2_nv field(const char *name, const char *value)
{
	return (nghttp2_nv){
		(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name), strlen(value), 0};
}

static nghttp2_session *open_session(SSL *ssl)
{
	const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 4u << 20}};
	nghttp2_session_callbacks *cb;
	nghttp2_session *s;
	char target[1024];

	nghttp2_session_callbacks_new(&cb);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data);
	nghttp2_session_client_new(&s, cb, NULL);
	nghttp2_session_callbacks_del(cb);
	nghttp2_submit_settings(s, 0, settings, 1);
	nghttp2_session_set_local_window_size(s, 0, 0, 1 << 30);
	while (fgets(target, sizeof(target), stdin)) {
		target[strcspn(target, "\n")] = 0;
		const nghttp2_nv fields[] = {field(":method", "GET"), field(":scheme", "https"),
			field(":authority", "bench"), field(":path", target)};

		nghttp2_submit_request(s, NULL, fields, 4, NULL, NULL);
		flush_session(s, ssl);
	}
	return s;
}

static void run_nghttp2(const char *port)
{
	static uint8_t bytes[1 << 17];
	SSL *ssl = open_tls(port);
	nghttp2_session *s = open_session(ssl);
	struct epoll_event e = {.events = EPOLLIN};

	fcntl(SSL_get_fd(ssl), F_SETFL, O_NONBLOCK);
	epoll_ctl(poll_fd, EPOLL_CTL_ADD, SSL_get_fd(ssl), &e);
	for (;;) {
		int n;

		wait_for_bytes(&e, 1, -1);
		while ((n = SSL_read(ssl, bytes, sizeof(bytes))) > 0) {
			if (nghttp2_session_mem_recv(s, bytes, (size_t)n) != n)
				die("nghttp2");
		}
		flush_session(s, ssl);
	}
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	poll_fd = epoll_create1(0);
	rest.tv_nsec = strtol(argv[3], NULL, 10) * 1000000;
	if (strcmp(argv[1], "curl") == 0)
		run_curl(argv[2]);
	else
		run_nghttp2(argv[2]);
	return 0;
}
