/* follow.h: on with a tape while it is being recorded, as tail -f does with a file. */
#ifndef TOOLS_FOLLOW_H
#define TOOLS_FOLLOW_H

#include "schema/tape/reader.h"

/*
 * Calls `look` several times a second, which refreshes the tape and prints what is new, and a last time once
 * nobody records any more; at once if nobody does. Then a sentence on stderr, in the name of the command,
 * says that the recording is over. Ctrl-C ends it without one. Flushes stdout before each pause. Returns 0,
 * or what `look` returned.
 */
int follow_recording(struct tape *t, const char *command,
	int (*look)(void *context, bool is_last, struct err *err), void *context, struct err *err) MUST_CHECK;

#endif
