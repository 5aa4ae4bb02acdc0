/*
 * write_loop.c: the least a server could do: waits for CONNECTIONS, then writes the same BYTES to each of
 * them EVENTS times, RATE times a second (0: without a pause), with one write(2) each, and prints as one line
 * of JSON what that cost. With no connections it shows how late a timer alone wakes up.
 *
 *     write_loop CONNECTIONS RATE EVENTS BYTES
 *
 * Prints the port first. Events carry the monotonic time at which they are due, as replay_watchers reads it.
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
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

static int *accept_all(int count)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM, 0), *fds = calloc((size_t)count + 1, sizeof(*fds));
	char request[4096];
	int on = 1;

	if (listener < 0 || bind(listener, (struct sockaddr *)&at, len) || listen(listener, 1024) ||
		getsockname(listener, (struct sockaddr *)&at, &len))
		die("listen");
	printf("%d\n", ntohs(at.sin_port));
	fflush(stdout);
	for (int i = 0; i < count; i++) {
		fds[i] = accept(listener, NULL, NULL);
		if (fds[i] >= 0)
			setsockopt(fds[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		if (fds[i] < 0 || read(fds[i], request, sizeof(request)) <= 0)
			die("accept");
	}
	return fds;
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
static bool write_all(int fd, const char *bytes, size_t len)
{
	while (len) {
		ssize_t n = write(fd, bytes, len);

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
	long connections = argc == 5 ? strtol(argv[1], NULL, 10) : -1, events, bytes, written = 0;
	bool reading = true;
	int timer = timerfd_create(CLOCK_MONOTONIC, 0), *fds;
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
	fds = accept_all((int)connections);
	begin = clock_ns(CLOCK_MONOTONIC) + 500000000;
	cpu_begin = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	for (long i = 0; i < events && reading; i++) {
		int64_t due_ns = begin + (rate > 0 ? (int64_t)((double)i * 1e9 / rate) : 0);

		if (rate > 0)
			late[i] = wait_until(timer, due_ns);
		snprintf(frame, 64, "{\"type\":\"MODIFIED\",\"due\":\"%019lld\"", (long long)due_ns);
		for (long k = 0; k < connections && reading; k++) {
			reading = write_all(fds[k], frame, (size_t)bytes);
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
