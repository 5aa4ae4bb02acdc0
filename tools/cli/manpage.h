/*
 * manpage.h: manual pages from the option tables, in the man(7) language. tools/man/pages.sh appends the
 * hand-written part (tools/man/PAGE.roff) and the references to other pages.
 */
#ifndef TOOLS_MANPAGE_H
#define TOOLS_MANPAGE_H

#include "tools/cli/options.h"

#include <stdio.h>

/* kubetape(1): a description and the list of commands, which ends with NULL. */
void manpage_write_overview(const struct command *const *commands, FILE *to);

/* kubetape-NAME(1). */
void manpage_write_command(const struct command *c, FILE *to);

#endif
