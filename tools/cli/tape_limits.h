/*
 * tape_limits.h: how a tape that is written as events come is cut into segments, and how much of it is kept: the same
 * options for every command that writes one.
 */
#ifndef TOOLS_TAPE_LIMITS_H
#define TOOLS_TAPE_LIMITS_H

#include "schema/base/version.h"
#include "schema/tape/writer.h"
#include "tools/cli/options.h"

/* As options give them; 0: not given. Sizes in bytes, ages in nanoseconds. */
struct tape_limits {
	int64_t extent_size, segment_size, segment_age, segment_events, max_size, max_age, keep_free;
};

/* Their rows. `at` is a macro that gives the offset of a member, `extent` the default of --extent-size as text. */
/* clang-format off */
#define TAPE_LIMIT_ROWS(at, extent) \
	{OPTION_BYTES, 0, "segment-size", at(segment_size), "SIZE", \
		"begin a new segment at this size on disk (256M, at most 2G)"}, \
	{OPTION_DURATION, 0, "segment-age", at(segment_age), "TIME", "... or at this age"}, \
	{OPTION_NUMBER, 0, "segment-events", at(segment_events), "N", "... or after this number of events"}, \
	{OPTION_BYTES, 0, "extent-size", at(extent_size), "SIZE", \
		"sort and pack events in extents of this much JSON (" extent ", or less: --max-size / 8)"}, \
	{OPTION_BYTES, 0, "max-size", at(max_size), "SIZE", "remove the oldest segments while the tape is larger than this"}, \
	{OPTION_DURATION, 0, "max-age", at(max_age), "TIME", "... and those that ended longer ago than this"}, \
	{OPTION_BYTES, 0, "keep-free", at(keep_free), "SIZE", "... and while the disk has less free space than this"}
/* clang-format on */

/* Logs which of them cannot be held. The tape may not be there yet. */
void tape_limits_doubt(const struct tape_limits *l, const char *tape_path);

static inline struct tape_writer_options tape_limits_options(const struct tape_limits *l)
{
	return (struct tape_writer_options){
		.program = "kubetape " KUBETAPE_VERSION,
		.extent_bytes = (uint64_t)l->extent_size,
		.segment_bytes = (uint64_t)l->segment_size,
		.segment_age_ns = l->segment_age,
		.segment_events = (uint64_t)l->segment_events,
		.retention = {.max_bytes = (uint64_t)l->max_size,
			.max_age_ns = l->max_age,
			.keep_free_bytes = (uint64_t)l->keep_free},
	};
}

#endif
