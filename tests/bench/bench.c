/*
 * bench.c: bench STREAM.ndjson|TAPE WORK_DIR BENCH.json [PART]: measures the promises of this program beside
 * its rivals, prints a table and writes it as JSON. The stream is gen_stream's, any other of one object a
 * line, or the events of a tape.
 */
#include "tests/bench/bench.h"

#include "schema/base/clock.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

void bench_check(int rc, const struct err *err)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "bench: %s\n", err ? err->text : "failed");
	exit(EXIT_FAILURE);
}

static int64_t read_clock(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

int64_t bench_wall_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

int64_t bench_cpu_ns(void)
{
	return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

double bench_mb_per_s(uint64_t bytes, int64_t ns)
{
	return (double)bytes * 1e3 / (double)ns;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double bench_median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), compare_doubles);
	return values[count / 2];
}

void bench_report(struct bench *b, const struct bench_row *row)
{
	double ratio = row->rival > 0 ? row->ours / row->rival : 0;

	printf("%-60s %10.6g %-11s %-14s", row->what, row->ours, row->unit, row->goal ? row->goal : "");
	if (row->rival > 0)
		printf(" %10.6g %8.3g  %s", row->rival, ratio, row->rival_name);
	printf("\n");
	fflush(stdout);
	bench_check(
		buf_printf(&b->rows, NULL,
			"%s\n  {\"what\": \"%s\", \"ours\": %.6g, \"rival\": %.6g, \"rival_name\": \"%s\", "
			"\"ratio\": %.6g, \"unit\": \"%s\"}",
			b->row_count++ ? "," : "", row->what, row->ours, row->rival,
			row->rival_name ? row->rival_name : "", ratio, row->unit),
		NULL);
}

/* Directories of ours hold files only. */
static void each_file(const char *path, void (*each)(const char *file, void *context), void *context)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	if (!dir) {
		each(path, context);
		return;
	}
	while ((entry = readdir(dir)) != NULL) {
		char *file = xasprintf("%s/%s", path, entry->d_name);

		if (entry->d_name[0] != '.')
			each(file, context);
		free(file);
	}
	closedir(dir);
}

static void add_size(const char *file, void *context)
{
	struct stat st;

	if (stat(file, &st) == 0)
		*(uint64_t *)context += (uint64_t)st.st_size;
}

uint64_t bench_disk_bytes(const char *path)
{
	uint64_t bytes = 0;

	each_file(path, add_size, &bytes);
	return bytes;
}

static void remove_file(const char *file, void *context)
{
	(void)context;
	unlink(file);
}

void bench_remove(const char *path)
{
	each_file(path, remove_file, NULL);
	rmdir(path);
}

/* Into memory of its own, so that no page fault is measured. */
static void load(struct bench *b)
{
	int fd = open(b->stream_path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *bytes;
	size_t len = 0, cap = 0;

	if (fd < 0 || fstat(fd, &st) < 0) {
		perror(b->stream_path);
		exit(EXIT_FAILURE);
	}
	bytes = xmalloc((size_t)st.st_size);
	for (ssize_t n; (n = read(fd, bytes + len, (size_t)st.st_size - len)) > 0;)
		len += (size_t)n;
	close(fd);
	b->stream = (struct slice){bytes, len};
	for (const char *at = bytes, *feed; (feed = memchr(at, '\n', (size_t)(bytes + len - at)));
		at = feed + 1) {
		if (b->line_count == cap) {
			cap = cap ? 2 * cap : 65536;
			b->lines = xrealloc(b->lines, cap * sizeof(*b->lines));
		}
		b->lines[b->line_count++] = (struct slice){at, (size_t)(feed - at)};
	}
}

/* sched_setaffinity is GNU's. */
void bench_pin(bool on)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	if (on)
		CPU_SET(sysconf(_SC_NPROCESSORS_ONLN) - 1, &cpus);
	else
		memset(&cpus, 0xff, sizeof(cpus));
	if (sched_setaffinity(0, sizeof(cpus), &cpus) < 0)
		perror("bench: cannot choose a CPU");
}

/* One part, or all of them when it is NULL. What is read must have been ingested. */
static void run_parts(struct bench *b, const char *only)
{
	if (!only || strcmp(only, "scan") == 0)
		bench_scan(b);
	if (!only || strcmp(only, "scan") != 0)
		bench_ingest(b);
	if (!only || strcmp(only, "read") == 0)
		bench_read(b);
}

static bool is_part(const char *word)
{
	return strcmp(word, "scan") == 0 || strcmp(word, "ingest") == 0 || strcmp(word, "read") == 0;
}

static bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int main(int argc, char **argv)
{
	struct bench b = {0};
	char *session = NULL;
	FILE *out;

	if (argc < 4 || argc > 5 || (argc == 5 && !is_part(argv[4]))) {
		fputs("usage: bench STREAM.ndjson|TAPE WORK_DIR BENCH.json [scan|ingest|read]\n", stderr);
		return 2;
	}
	b.stream_path = argv[1];
	b.work_dir = argv[2];
	b.tape = xasprintf("%s/bench.tape", b.work_dir);
	buf_init(&b.rows, 1 << 20);
	bench_pin(true);
	if (is_directory(argv[1])) {
		b.stream_path = session = xasprintf("%s/session.ndjson", b.work_dir);
		b.recording = argv[1];
		bench_write_stream(&b, argv[1], session);
	}
	load(&b);
	printf("%s: ", argv[1]);
	printf("%zu events, %.1f MB, %.0f bytes each, medians of %d rounds\n\n%-60s %10s %-11s %-14s %10s %8s\n",
		b.line_count, (double)b.stream.len / 1e6, (double)b.stream.len / (double)b.line_count,
		BENCH_ROUNDS, "what", "ours", "", "goal", "rival", "ratio");
	run_parts(&b, argv[4]);
	out = fopen(argv[3], "w");
	if (!out || fprintf(out, "[%.*s\n]\n", (int)b.rows.len, b.rows.ptr) < 0 || fclose(out) != 0) {
		perror(argv[3]);
		return EXIT_FAILURE;
	}
	bench_remove(b.tape);
	if (session)
		bench_remove(session);
	free(session);
	free(b.times_ns);
	free(b.tape);
	buf_release(&b.rows);
	free(b.lines);
	free((char *)b.stream.ptr);
	return EXIT_SUCCESS;
}
