/* slow_sync.c: preloaded into a program, makes each fdatasync and fsync take as many milliseconds longer as
 * the file named by KUBETAPE_SYNC_MS says, or, when it says -1, until it is gone; without the file nothing is
 * slower. The file KUBETAPE_SYNC_MS.seen says that such a wait is over, or, when it has no end, that it is
 * on. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void sleep_ms(long ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&t, NULL);
}

static void tell(const char *path)
{
	char seen[4096];
	int fd;

	snprintf(seen, sizeof(seen), "%s.seen", path);
	fd = open(seen, O_CREAT | O_WRONLY, 0600);
	if (fd >= 0)
		close(fd);
}

static void wait_a_while(void)
{
	const char *path = getenv("KUBETAPE_SYNC_MS");
	FILE *file = path ? fopen(path, "r") : NULL;
	long ms = 0;

	if (!file)
		return;
	if (fscanf(file, "%ld", &ms) != 1)
		ms = 0;
	fclose(file);
	if (ms > 0)
		sleep_ms(ms);
	tell(path);
	while (ms < 0 && access(path, F_OK) == 0)
		sleep_ms(1);
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
