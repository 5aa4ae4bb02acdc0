/*
 * tee_road.c: both ends of a road, and the least that can stand between them.
 *
 *     tee_road source RATE EVENTS BYTES   answers each request with a watch: that many events at that rate
 *     tee_road splice PORT                passes on what comes to the port PORT, by splice(2)
 *     tee_road sink PORT EVENTS           watches through the port PORT; prints {"p50_us":, "p99_us":} of how
 *                                         late events are, from the write(2) before the road
 *     tee_road hold PORT WATCHES          opens this many watches, prints a line, and holds them
 *
 * source and splice print their own port first. Each event carries the monotonic time at which it was sent.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define REQUEST                                                                                              \
	"GET /api/v1/pods?watch=1&resourceVersion=10 HTTP/1.1\r\nHost: x\r\nUser-Agent: bench/1\r\n"         \
	"Accept: application/json\r\n\r\n"
#define ANSWER "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
#define MARK   "\"due\":\""

static long rate, events, size;
static int target_port;

static int64_t now_ns(void)
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

static struct sockaddr_in address_of(int port)
{
	return (struct sockaddr_in){.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static void no_delay(int fd)
{
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

static int connect_to(int port)
{
	struct sockaddr_in a = address_of(port);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof(a)))
		die("connect");
	no_delay(fd);
	return fd;
}

static void write_all(int fd, const char *bytes, size_t len)
{
	while (len) {
		ssize_t n = write(fd, bytes, len);

		if (n <= 0)
			return;
		bytes += n;
		len -= (size_t)n;
	}
}

/* Serves each connection in a thread of its own. */
static void serve(void *(*each)(void *fd))
{
	struct sockaddr_in a = address_of(0);
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	pthread_attr_t small;

	if (fd < 0 || bind(fd, (struct sockaddr *)&a, len) || listen(fd, 4096) ||
		getsockname(fd, (struct sockaddr *)&a, &len))
		die("listen");
	printf("%d\n", ntohs(a.sin_port));
	fflush(stdout);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 256 << 10);
	for (;;) {
		int peer = accept(fd, NULL, NULL);
		pthread_t thread;

		if (peer < 0)
			die("accept");
		no_delay(peer);
		if (pthread_create(&thread, &small, each, (void *)(intptr_t)peer) == 0)
			pthread_detach(thread);
	}
}

/* ---- the source ---- */

static int event_text(char *to, size_t room, long number, const char *filling)
{
	static const char form[] =
		"{\"type\":\"MODIFIED\",\"object\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{"
		"\"name\":\"p%ld\",\"namespace\":\"default\",\"uid\":\"u-%ld\",\"resourceVersion\":\"%ld\"},"
		"\"x\":\"%.*s\"," MARK "%019lld\"}}\n";

	return snprintf(to, room, form, number % 50, number % 50, 11 + number,
		(int)(size > 200 ? size - 200 : 0), filling, (long long)now_ns());
}

static void *source(void *peer)
{
	static char filling[1 << 16];
	int fd = (int)(intptr_t)peer;
	char head[4096], text[1 << 16], chunk[(1 << 16) + 32];
	int64_t begin_ns;

	memset(filling, 'x', sizeof(filling) - 1);
	if (read(fd, head, sizeof(head)) <= 0)
		return NULL;
	write_all(fd, ANSWER, sizeof(ANSWER) - 1);
	begin_ns = now_ns() + 200000000;
	for (long i = 0; i < events; i++) {
		int64_t due_ns = begin_ns + i * 1000000000 / rate;
		struct timespec due = {due_ns / 1000000000, due_ns % 1000000000};
		int n;

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
		n = event_text(text, sizeof(text), i, filling);
		n = snprintf(chunk, sizeof(chunk), "%x\r\n%s\r\n", n, text);
		write_all(fd, chunk, (size_t)n);
	}
	while (read(fd, head, sizeof(head)) > 0)
		;
	close(fd);
	return NULL;
}

/* ---- the splice ---- */

static bool move(int from, int to, const int pipe_fd[2])
{
	ssize_t n = splice(from, NULL, pipe_fd[1], NULL, 65536, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

	if (n <= 0)
		return n < 0 && errno == EAGAIN;
	while (n > 0) {
		ssize_t out = splice(pipe_fd[0], NULL, to, NULL, (size_t)n, SPLICE_F_MOVE);

		if (out <= 0)
			return false;
		n -= out;
	}
	return true;
}

static void *splice_pair(void *peer)
{
	int client = (int)(intptr_t)peer, server = connect_to(target_port), pipes[2];
	struct pollfd polls[2] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
	bool goes_on = pipe(pipes) == 0;

	while (goes_on && poll(polls, 2, -1) > 0) {
		if (polls[0].revents)
			goes_on = move(client, server, pipes);
		if (goes_on && polls[1].revents)
			goes_on = move(server, client, pipes);
	}
	close(client);
	close(server);
	return NULL;
}

/* ---- the sink ---- */

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* Takes the events that are whole out of the text; returns how many bytes they are. */
static size_t take(char *text, size_t len, int64_t *late, long *count)
{
	int64_t now = now_ns();
	size_t at = 0;

	for (;;) {
		char *mark = memmem(text + at, len - at, MARK, sizeof(MARK) - 1);

		if (!mark || (size_t)(text + len - mark) < sizeof(MARK) - 1 + 20)
			return at;
		if (*count < events)
			late[(*count)++] = now - strtoll(mark + sizeof(MARK) - 1, NULL, 10);
		at = (size_t)(mark - text) + sizeof(MARK) - 1;
	}
}

static void sink(int port)
{
	int64_t *late = calloc((size_t)events, sizeof(*late));
	static char text[1 << 20];
	int fd = connect_to(port);
	size_t len = 0, used;
	long count = 0;

	write_all(fd, REQUEST, sizeof(REQUEST) - 1);
	while (count < events) {
		ssize_t n = read(fd, text + len, sizeof(text) - len);

		if (n <= 0)
			die("read");
		len += (size_t)n;
		used = take(text, len, late, &count);
		memmove(text, text + used, len - used);
		len -= used;
	}
	qsort(late, (size_t)count, sizeof(*late), compare);
	printf("{\"p50_us\":%.1f,\"p99_us\":%.1f}\n", (double)late[count / 2] / 1e3,
		(double)late[count * 99 / 100] / 1e3);
	free(late);
}

static void hold(int port, long watches)
{
	for (long i = 0; i < watches; i++) {
		char head[1024];
		int fd = connect_to(port);

		write_all(fd, REQUEST, sizeof(REQUEST) - 1);
		if (read(fd, head, sizeof(head)) <= 0)
			die("read");
	}
	puts("open");
	fflush(stdout);
	pause();
}

int main(int argc, char **argv)
{
	const char *role = argc > 2 ? argv[1] : "";

	signal(SIGPIPE, SIG_IGN);
	if (strcmp(role, "source") == 0 && argc == 5) {
		rate = strtol(argv[2], NULL, 10);
		events = strtol(argv[3], NULL, 10);
		size = strtol(argv[4], NULL, 10);
		serve(source);
	} else if (strcmp(role, "splice") == 0) {
		target_port = (int)strtol(argv[2], NULL, 10);
		serve(splice_pair);
	} else if (strcmp(role, "sink") == 0 && argc == 4) {
		events = strtol(argv[3], NULL, 10);
		sink((int)strtol(argv[2], NULL, 10));
	} else if (strcmp(role, "hold") == 0 && argc == 4) {
		hold((int)strtol(argv[2], NULL, 10), strtol(argv[3], NULL, 10));
	} else {
		fputs("usage: tee_road source|splice|sink|hold ...\n", stderr);
		return 2;
	}
	return 0;
}
