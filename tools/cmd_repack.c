/* cmd_repack.c: `kubetape repack`. */
#include "schema/base/bytes_format.h"
#include "schema/base/out_file.h"
#include "schema/tape/repack.h"
#include "tools/cli/progress.h"
#include "tools/commands.h"

#include <stdio.h>

#define BEST_LEVEL       19
#define BEST_BLOCK_BYTES (32 << 20)
#define NO_LEVEL         (-1)

struct repack_values {
	const char *output;
	int64_t level, extent_size, block_size;
	bool best, json;
};

#define AT(field) offsetof(struct repack_values, field)

static const struct option_row rows[] = {
	{OPTION_TEXT, 'o', "output", AT(output), "TAPE", "the tape to make; it must not exist"},
	{OPTION_NUMBER, 0, "level", AT(level), "N",
		"compression level, 1 to 19 (12; 16 for objects of 8 kB and more)"},
	{OPTION_BYTES, 0, "extent-size", AT(extent_size), "SIZE",
		"sort events in extents of this much JSON (256M)"},
	{OPTION_BYTES, 0, "block-size", AT(block_size), "SIZE",
		"compress objects in blocks of this size (8M; 32M for those)"},
	{OPTION_FLAG, 0, "best", AT(best), NULL,
		"as small as it gets, which takes up to seven times as long: --level 19 --block-size 32M"},
	{OPTION_FLAG, 0, "json", AT(json), NULL, "print the result as JSON"},
	{.kind = OPTION_END},
};

static int repack_check(const struct repack_values *v, struct err *err)
{
	if (!v->output)
		return err_set(err, ERR_USAGE, "no tape to make; name one with '-o TAPE'");
	if (v->level != NO_LEVEL && (v->level < 1 || v->level > 19))
		return err_set(
			err, ERR_USAGE, "option '--level' wants 1 to 19, found %lld", (long long)v->level);
	if (v->best && (v->level != NO_LEVEL || v->block_size))
		return err_set(err, ERR_USAGE, "'--best' chooses '--level' and '--block-size' itself");
	return out_file_refuse_stream(v->output, "a tape is a folder", err);
}

static int repack_step(void *context, uint64_t done_bytes, uint64_t total_bytes)
{
	return progress_step(context, done_bytes, total_bytes);
}

static void print_result(const struct repack_values *v, const struct tape_repack_result *r)
{
	char old_text[BYTES_TEXT_BYTES], new_text[BYTES_TEXT_BYTES];

	if (v->json)
		printf("{\"events\": %llu, \"raw_bytes\": %llu, \"old_disk_bytes\": %llu, \"new_disk_bytes\": %llu}\n",
			(unsigned long long)r->events, (unsigned long long)r->raw_bytes,
			(unsigned long long)r->old_disk_bytes, (unsigned long long)r->new_disk_bytes);
	else
		printf("%llu events, the same in both tapes: %s before, %s in '%s'\n",
			(unsigned long long)r->events, bytes_format(old_text, r->old_disk_bytes),
			bytes_format(new_text, r->new_disk_bytes), v->output);
}

/* 0 in it is the default. */
static struct pack_effort effort_of(const struct repack_values *v)
{
	if (v->best)
		return (struct pack_effort){BEST_LEVEL, BEST_BLOCK_BYTES};
	return (struct pack_effort){v->level == NO_LEVEL ? 0 : (int)v->level, (size_t)v->block_size};
}

static int repack(void *values, const struct operands *operands, struct err *err)
{
	const struct repack_values *v = values;
	struct tape_repack_result result;
	struct progress progress;
	const struct tape_repack_options options = {
		.pack = {.effort = effort_of(v)},
		.extent_bytes = (uint64_t)v->extent_size,
		.progress = repack_step,
		.context = &progress,
	};
	int failed;
	int rc = repack_check(v, err);

	if (rc)
		return rc;
	progress_catch_signals();
	progress_begin(&progress, "repacking");
	failed = tape_repack(operands->items[0], v->output, &options, &result, err);
	progress_clear(&progress);
	if (!failed)
		print_result(v, &result);
	return failed;
}

static int repack_run(const struct command *self, int argc, char **argv)
{
	struct repack_values v = {.level = NO_LEVEL};

	return command_run(self, argc, argv, &v, repack);
}

const struct command cmd_repack = {
	.name = "repack",
	.operands = "TAPE",
	.expects = {"one tape", 1, 1},
	.summary = "make a tape smaller: larger extents, higher effort, the same events",
	.description =
		"Makes a new tape with the same events, rows and segments, packed with more effort than a\n"
		"recorder can spend. Compares the two event by event at the end. The old tape is only read.\n"
		"Larger blocks take less space on disk, but looking up one object is slower.",
	.options = rows,
	.run = repack_run,
};
