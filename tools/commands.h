/* commands.h: every subcommand; each is defined in the cmd_*.c of its name. */
#ifndef TOOLS_COMMANDS_H
#define TOOLS_COMMANDS_H

#include "tools/cli/options.h"

extern const struct command cmd_anonymize;
extern const struct command cmd_audit;
extern const struct command cmd_ctl;
extern const struct command cmd_cut;
extern const struct command cmd_diff;
extern const struct command cmd_diff_state;
extern const struct command cmd_events;
extern const struct command cmd_export;
extern const struct command cmd_gaps;
extern const struct command cmd_get;
extern const struct command cmd_help;
extern const struct command cmd_import;
extern const struct command cmd_info;
extern const struct command cmd_log;
extern const struct command cmd_mcp;
extern const struct command cmd_merge;
extern const struct command cmd_pin;
extern const struct command cmd_push;
extern const struct command cmd_query;
extern const struct command cmd_record;
extern const struct command cmd_recover;
extern const struct command cmd_repack;
extern const struct command cmd_replay;
extern const struct command cmd_report;
extern const struct command cmd_shrink;
extern const struct command cmd_staleness;
extern const struct command cmd_sweep;
extern const struct command cmd_tee;
extern const struct command cmd_verify;
extern const struct command cmd_view;
extern const struct command cmd_why;

/* The rows of main.c, ended by NULL, and what `kubetape --help` prints. */
extern const struct command *const commands[];
const struct command *command_find(const char *name); /* NULL if there is none */
void commands_print(FILE *to);

/* ERR_USAGE: no command has that name; the sentence suggests one. */
int command_refuse(const char *word, struct err *err) MUST_CHECK;

#endif
