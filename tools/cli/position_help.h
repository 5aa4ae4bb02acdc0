/* position_help.h: the text about positions in --help, shared by all commands that take one. */
#ifndef TOOLS_POSITION_HELP_H
#define TOOLS_POSITION_HELP_H

#define POSITION_HELP                                                                                        \
	"A POSITION is 'start', 'end', an event's number, 'pods@RV' or 'rv:RV' (after the last event\n"      \
	"not newer than that resourceVersion), or a time: 2026-11-21T09:51:40Z, 2026-11-21 09:51,\n"         \
	"09:51:40, @SECONDS, 'now', '-5m' before the tape's last event, '+30s' after its first. Times\n"     \
	"are UTC unless they say otherwise.\n"

#endif
