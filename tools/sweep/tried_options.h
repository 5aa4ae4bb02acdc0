/*
 * tried_options.h: how a command is run against one replay after the other: the same options for `sweep` and `shrink`, and
 * the part of a tape, which `replay` has as well.
 */
#ifndef TOOLS_TRIED_OPTIONS_H
#define TOOLS_TRIED_OPTIONS_H

#include "schema/base/clock.h"
#include "tools/cli/options.h"

struct tried_values {
	const char *compare; /* NULL: nothing is compared */
	const char *speed;
	const char *in_cluster; /* NULL: the command has a KUBECONFIG */
	struct text_list writes, ignored;
	int64_t settle_ns, timeout_ns;
	bool plain;
};

#define TRIED_DEFAULTS                                                                                       \
	{                                                                                                    \
		.speed = "max", .settle_ns = 2 * NS_PER_S, .timeout_ns = 120 * NS_PER_S                      \
	}
#define ALL_WATCHES "1000000" /* more than anybody opens: the clock starts when all have been quiet */

/* Their rows. `at` is a macro that gives the offset of a member. */
/* clang-format off */
#define TRIED_COMPARE_ROW(at, help) {OPTION_TEXT, 0, "compare", at(compare), "exit|writes|exit,writes", help}
#define TRIED_IGNORE_ROW(at) \
	{OPTION_LIST, 0, "ignore", at(ignored), "RULE", \
		"do not compare this of what is left: [RESOURCE[.GROUP]=]FIELD, as 'status.conditions[Ready]', " \
		"'pods=status' or 'secrets=*'; a finding names its field"}
#define TRIED_TIME_ROWS(at) \
	{OPTION_DURATION, 0, "settle", at(settle_ns), "DURATION", \
		"end a command that never exits when it was quiet for this long at the tape's end; 2s"}, \
	{OPTION_DURATION, 0, "timeout", at(timeout_ns), "DURATION", "the longest time of one run; 2m unless given"}, \
	{OPTION_TEXT, 0, "speed", at(speed), "N|max", "as with 'replay'; max unless given"}
#define TRIED_PLAIN_ROW(at) \
	{OPTION_FLAG, 0, "plain", at(plain), "", "serve HTTP/1.1 without TLS, not HTTPS with HTTP/2"}
#define TRIED_WRITE_ROW(at) {OPTION_LIST, 0, "write", at(writes), "RULE", "as with 'replay'"}
#define IN_CLUSTER_ROW(at) \
	{OPTION_TEXT, 0, "in-cluster", at(in_cluster), "NAMESPACE", \
		"the command has no KUBECONFIG; it finds the replay as a container in a pod of NAMESPACE does"}
#define IN_CLUSTER_NEEDS_TLS "in a pod, programs find their cluster by HTTPS: leave out '--plain'"
#define BOUND_ROWS(at) \
	{OPTION_TEXT, 0, "from", at(from), "POSITION", "begin there"}, \
	{OPTION_TEXT, 0, "until", at(until), "POSITION", "end there"}
/* clang-format on */

static inline int tried_check(const struct tried_values *v, struct err *err)
{
	if (v->in_cluster && v->plain)
		return err_set(err, ERR_USAGE, IN_CLUSTER_NEEDS_TLS);
	if (v->settle_ns < 10 * NS_PER_MS || v->timeout_ns <= 0)
		return err_set(err, ERR_USAGE, "expected a --settle of 10ms or more, and a --timeout");
	if (v->compare && strcmp(v->compare, "exit") != 0 && strcmp(v->compare, "writes") != 0 &&
		strcmp(v->compare, "exit,writes") != 0)
		return err_set(err, ERR_USAGE, "bad --compare '%.100s': expected exit, writes or exit,writes",
			v->compare);
	return 0;
}

#endif
