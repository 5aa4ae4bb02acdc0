/* other_time.c: preloaded into a program, gives it other clocks and a hastier TCP.
 *
 * The file named by KUBETAPE_CLOCKS holds two 64-bit numbers, nanoseconds to add to the wall clock and to the
 * monotonic one; a test changes them while the program runs. KUBETAPE_TCP_HASTE divides the times after which
 * the kernel looks for a silent peer and gives it up. */
#include <dlfcn.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *offsets;

__attribute__((constructor)) static void map_offsets(void)
{
	const char *path = getenv("KUBETAPE_CLOCKS");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *map = fd < 0 ? MAP_FAILED : mmap(NULL, 16, PROT_READ, MAP_SHARED, fd, 0);

	if (fd >= 0)
		close(fd);
	if (map != MAP_FAILED)
		offsets = map;
}

static int64_t offset_of(clockid_t clock)
{
	if (!offsets)
		return 0;
	return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE ? offsets[0] : offsets[1];
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
	static int (*real)(clockid_t, struct timespec *);
	int64_t ns;
	int rc;

	if (!real)
		real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	rc = real(clock, t);
	ns = t->tv_sec * INT64_C(1000000000) + t->tv_nsec + offset_of(clock);
	t->tv_sec = ns / 1000000000;
	t->tv_nsec = ns % 1000000000;
	return rc;
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	static int (*real)(int, int, int, const void *, socklen_t);
	const char *haste = getenv("KUBETAPE_TCP_HASTE");
	int number;

	if (!real)
		real = (int (*)(int, int, int, const void *, socklen_t))dlsym(RTLD_NEXT, "setsockopt");
	if (!haste || level != IPPROTO_TCP || len != sizeof(number) ||
		(name != TCP_USER_TIMEOUT && name != TCP_KEEPIDLE && name != TCP_KEEPINTVL))
		return real(fd, level, name, value, len);
	memcpy(&number, value, sizeof(number));
	number /= (int)strtol(haste, NULL, 10);
	if (number < 1)
		number = 1;
	return real(fd, level, name, &number, len);
}
