/* slow_sync.c: preloaded into a program, makes each fdatasync and fsync take as many milliseconds longer as
 * the file named by KUBETAPE_SYNC_MS says; without the file nothing is slower. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void wait_a_while(void)
{
	const char *path = getenv("KUBETAPE_SYNC_MS");
	FILE *file = path ? fopen(path, "r") : NULL;
	long ms = 0;
	struct timespec t;

	if (!file)
		return;
	if (fscanf(file, "%ld", &ms) != 1)
		ms = 0;
	fclose(file);
	t = (struct timespec){ms / 1000, ms % 1000 * 1000000};
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
