/* slow_sync.c: preloaded into a program, makes each fdatasync and fsync take KUBETAPE_SYNC_MS longer. */
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static void wait_a_while(void)
{
	const char *ms_text = getenv("KUBETAPE_SYNC_MS");
	long ms = ms_text ? strtol(ms_text, NULL, 10) : 0;
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&t, NULL);
}

int fdatasync(int fd)
{
	int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");

	wait_a_while();
	return real(fd);
}

int fsync(int fd)
{
	int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");

	wait_a_while();
	return real(fd);
}
