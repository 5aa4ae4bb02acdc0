/* bench_scan.c: taking seven fields out of every line: the scanner beside a full parser. */
#include "tests/bench/bench.h"

#include "schema/base/json_scan.h"

#include <cjson/cJSON.h>

/* A parser needs a twentieth of the lines for a figure. */
#define PARSER_SHARE 20

static double scan_all(struct bench *b, uint64_t *ret_sum)
{
	int64_t start_ns = bench_cpu_ns();
	uint64_t sum = 0;

	for (size_t i = 0; i < b->line_count; i++) {
		struct watch_frame frame;
		struct err err;

		bench_check(json_scan_frame(b->lines[i], &frame, &err), &err);
		sum += frame.type.len + frame.meta.kind.len + frame.meta.name.len + frame.meta.namespace.len +
		       frame.meta.uid.len + frame.meta.rv.len;
	}
	*ret_sum = sum;
	return bench_mb_per_s(b->stream.len, bench_cpu_ns() - start_ns);
}

static size_t text_len(const cJSON *object, const char *name)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));

	return text ? strlen(text) : 0;
}

static double parse_some(struct bench *b, uint64_t *ret_sum)
{
	int64_t start_ns = bench_cpu_ns();
	uint64_t sum = 0, bytes = 0;

	for (size_t i = 0; i < b->line_count; i += PARSER_SHARE) {
		cJSON *tree = cJSON_ParseWithLength(b->lines[i].ptr, b->lines[i].len);
		const cJSON *object = cJSON_GetObjectItemCaseSensitive(tree, "object");
		const cJSON *metadata = cJSON_GetObjectItemCaseSensitive(object, "metadata");

		sum += text_len(tree, "type") + text_len(object, "kind") + text_len(metadata, "name") +
		       text_len(metadata, "namespace") + text_len(metadata, "uid") +
		       text_len(metadata, "resourceVersion");
		bytes += b->lines[i].len;
		cJSON_Delete(tree);
	}
	*ret_sum = sum;
	return bench_mb_per_s(bytes, bench_cpu_ns() - start_ns);
}

static double get_all(struct bench *b)
{
	int64_t start_ns = bench_cpu_ns();

	for (size_t i = 0; i < b->line_count; i++) {
		struct slice value;
		struct err err;

		bench_check(json_get(b->lines[i], "$.object.status.phase", &value, &err), &err);
	}
	return bench_mb_per_s(b->stream.len, bench_cpu_ns() - start_ns);
}

void bench_scan(struct bench *b)
{
	double best[BENCH_ROUNDS], portable[BENCH_ROUNDS], get[BENCH_ROUNDS], parser[BENCH_ROUNDS], rival;
	uint64_t sum;

	for (int i = 0; i < BENCH_ROUNDS; i++) {
		json_scan_engine(0);
		portable[i] = scan_all(b, &sum);
		json_scan_engine(1);
		best[i] = scan_all(b, &sum);
		get[i] = get_all(b);
		parser[i] = parse_some(b, &sum);
	}
	rival = bench_median(parser, BENCH_ROUNDS);
	bench_report(b, &(struct bench_row){.what = "scan frames, best engine",
				.unit = "MB/s",
				.ours = bench_median(best, BENCH_ROUNDS),
				.rival = rival,
				.rival_name = "cJSON"});
	bench_report(b, &(struct bench_row){.what = "scan frames, portable engine",
				.unit = "MB/s",
				.ours = bench_median(portable, BENCH_ROUNDS),
				.rival = rival,
				.rival_name = "cJSON"});
	bench_report(b, &(struct bench_row){.what = "one value by path, whole frame",
				.unit = "MB/s",
				.ours = bench_median(get, BENCH_ROUNDS),
				.rival = rival,
				.rival_name = "cJSON"});
}
