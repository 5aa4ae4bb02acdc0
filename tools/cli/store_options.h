/* store_options.h: which store, and who we are there: the same options for every command that asks one. */
#ifndef TOOLS_STORE_OPTIONS_H
#define TOOLS_STORE_OPTIONS_H

#include "recorder/push/s3.h"
#include "schema/base/clock.h"
#include "tools/cli/options.h"

struct store_values {
	const char *cluster, *endpoint, *profile;
	int64_t retry_for, part_size;
};

#define STORE_DEFAULTS                                                                                       \
	{                                                                                                    \
		.retry_for = 300 * NS_PER_S                                                                  \
	}

/* Their rows. `at` is a macro that gives the offset of a member. */
/* clang-format off */
#define STORE_ROWS(at) \
	{OPTION_TEXT, 0, "cluster", at(cluster), "NAME", "the cluster's name there (default: the tape's name)"}, \
	{OPTION_TEXT, 0, "endpoint", at(endpoint), "URL", \
		"the address of a store other than AWS' (AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL)"}, \
	{OPTION_TEXT, 0, "profile", at(profile), "NAME", "the profile with the credentials (AWS_PROFILE)"}, \
	{OPTION_DURATION, 0, "retry-for", at(retry_for), "TIME", \
		"for how long to retry if the store is busy or away (5m)"}, \
	{OPTION_BYTES, 0, "part-size", at(part_size), "SIZE", \
		"send larger segments in parts of this size (64M; stores need 5M at least)"}
/* clang-format on */

static inline struct s3_options store_options(const struct store_values *v)
{
	return (struct s3_options){.endpoint = v->endpoint,
		.profile = v->profile,
		.retry_ns = v->retry_for,
		.part_bytes = (uint64_t)v->part_size};
}

#endif
