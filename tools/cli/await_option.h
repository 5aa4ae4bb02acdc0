/* await_option.h: the values of --await: rules (replayer/write/awaited.h), or @FILE with one on each line. */
#ifndef TOOLS_CLI_AWAIT_OPTION_H
#define TOOLS_CLI_AWAIT_OPTION_H

#include "replayer/write/awaited.h"
#include "tools/cli/options.h"

/* Into empty rules, which the caller releases, also after a failure. */
int await_option_read(const struct text_list *values, struct await_rules *ret, struct err *err) MUST_CHECK;

#endif
