/*
 * rotate_tape.c: rotate_tape DIR ROTATIONS: a tape that rotates so often, with retention that keeps it at a
 * few segments, and a line of figures for each tenth of the rotations, for test_rotation.py to compare:
 *
 *   cpu_us         median CPU time of one rotation
 *   heap_bytes     allocated after a rotation, the least of the tenth: what comes and goes with the pages
 * that SQLite holds at one moment, some 300 KB, is not there then, and what is lost always is fds, files open
 * files, and files in the tape, at its end read_calls, write_calls, read_bytes, written_bytes     of one
 * rotation, mean
 */
#include "tests/crash/history.h"

#include <dirent.h>
#include <malloc.h>
#include <time.h>

#define TENTHS              10
#define EVENTS_OF_A_SEGMENT 8
#define KEEP_BYTES          (1u << 19)

/* Of the sanitizers' run-time; without one, malloc knows. */
extern size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

static size_t heap_bytes(void)
{
	if (__sanitizer_get_current_allocated_bytes)
		return __sanitizer_get_current_allocated_bytes();
	return mallinfo2().uordblks + mallinfo2().hblkhd; /* GNU's */
}

static double cpu_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static unsigned count_entries(const char *path)
{
	DIR *dir = opendir(path);
	unsigned count = 0;

	while (dir && readdir(dir))
		count++;
	if (dir)
		closedir(dir);
	return count;
}

/* The kernel's account of what this process has read and written. */
struct traffic {
	unsigned long long read_bytes, written_bytes, read_calls, write_calls;
};

static int read_traffic(struct traffic *ret)
{
	FILE *file = fopen("/proc/self/io", "re");
	int found = file ? fscanf(file, "rchar: %llu wchar: %llu syscr: %llu syscw: %llu", &ret->read_bytes,
				   &ret->written_bytes, &ret->read_calls, &ret->write_calls)
			 : 0;

	if (file)
		fclose(file);
	return found == 4 ? 0 : -1;
}

/* What a recorder would be doing meanwhile. */
struct recording {
	struct tape_writer *writer;
	struct tape_connection connection;
	uint64_t seq;
};

/* A segment's worth: a connection ends and the next begins, events come, the segment ends. */
static int rotate(struct recording *r, struct err *err)
{
	struct tape_connection *c = &r->connection;

	if ((c->id && tape_writer_end_connection(r->writer, c, err)) ||
		tape_writer_begin_connection(r->writer, c, err))
		return err->code;
	for (int i = 0; i < EVENTS_OF_A_SEGMENT; i++) {
		if (history_append(r->writer, ++r->seq, err))
			return err->code;
	}
	tape_writer_rotate(r->writer);
	return tape_writer_flush(r->writer, err);
}

static int compare_doubles(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static int run_tenth(struct recording *r, const char *path, size_t rotations, struct err *err)
{
	double *took_us = xcalloc(rotations, sizeof(*took_us)), each = (double)rotations;
	size_t least_heap_bytes = SIZE_MAX, heap;
	struct traffic before, after;
	int failed = read_traffic(&before);

	for (size_t i = 0; i < rotations && !failed; i++) {
		double begin_us = cpu_us();

		failed = rotate(r, err);
		took_us[i] = cpu_us() - begin_us;
		heap = heap_bytes();
		least_heap_bytes = heap < least_heap_bytes ? heap : least_heap_bytes;
	}
	failed = failed || read_traffic(&after);
	qsort(took_us, rotations, sizeof(*took_us), compare_doubles);
	if (!failed)
		printf("{\"cpu_us\": %.1f, \"heap_bytes\": %zu, \"fds\": %u, \"files\": %u, "
		       "\"read_calls\": %.2f, \"write_calls\": %.2f, \"read_bytes\": %.0f, "
		       "\"written_bytes\": %.0f}\n",
			took_us[rotations / 2], least_heap_bytes - rotations * sizeof(*took_us),
			count_entries("/proc/self/fd"), count_entries(path),
			(double)(after.read_calls - before.read_calls) / each,
			(double)(after.write_calls - before.write_calls) / each,
			(double)(after.read_bytes - before.read_bytes) / each,
			(double)(after.written_bytes - before.written_bytes) / each);
	free(took_us);
	return failed;
}

int main(int argc, char **argv)
{
	static char line[BUFSIZ]; /* so that stdio has its memory before it is measured */
	struct tape_writer_options options = {.retention = {.max_bytes = KEEP_BYTES}};
	struct recording r = {.connection = {.stream = 1, .purpose = "watch", .timeout_seconds = -1}};
	struct err err = {.text = "cannot read /proc/self/io"};
	size_t rotations;
	char *path;
	int failed;

	if (argc != 3) {
		fprintf(stderr, "usage: rotate_tape DIR ROTATIONS\n");
		return 2;
	}
	setvbuf(stdout, line, _IOLBF, sizeof(line));
	rotations = strtoul(argv[2], NULL, 10) / TENTHS;
	path = xasprintf("%s/rotate.tape", argv[1]);
	failed = tape_writer_open(path, &options, &r.writer, &err);
	if (!failed) {
		failed = history_register(r.writer, &err);
		for (int i = 0; i < TENTHS && !failed; i++)
			failed = run_tenth(&r, path, rotations, &err);
		failed = tape_writer_close(r.writer, &err) || failed;
	}
	if (failed)
		fprintf(stderr, "rotate_tape: %s\n", err.text);
	free(path);
	return failed != 0;
}
