/* bench_repack.c: what `kubetape repack` makes of the tape, and at what rate; beside zstd on the stream. */
#include "tests/bench/bench.h"

#include "schema/tape/repack.h"

#include <stdlib.h>

void bench_repack(struct bench *b, double zstd3_bytes)
{
	char *to = xasprintf("%s/repacked.tape", b->work_dir);
	struct tape_repack_result result;
	int64_t begin_ns, took_ns;
	struct err err;

	bench_remove(to);
	begin_ns = bench_cpu_ns();
	bench_check(tape_repack(b->tape, to, &(struct tape_repack_options){0}, &result, &err), &err);
	took_ns = bench_cpu_ns() - begin_ns;
	bench_report(b, &(struct bench_row){.what = "size after repack, indexes included",
				.unit = "bytes/event",
				.ours = (double)result.new_disk_bytes / (double)result.events,
				.rival = zstd3_bytes / (double)result.events,
				.rival_name = "zstd -3, whole stream",
				.goal = "ratio <= 0.5"});
	bench_report(b, &(struct bench_row){.what = "repack and comparison, MB of JSON, by CPU time",
				.unit = "MB/s",
				.ours = bench_mb_per_s(result.raw_bytes, took_ns)});
	bench_remove(to);
	free(to);
}
