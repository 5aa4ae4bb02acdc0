/* follow.c: see follow.h. */
#include "tools/cli/follow.h"

#include "schema/base/clock.h"
#include "schema/base/out_file.h"
#include "tools/cli/progress.h"

#include <stdio.h>
#include <time.h>

#define LOOK_EVERY_NS (200 * NS_PER_MS)

static void follow_wait(void)
{
	const struct timespec moment = {.tv_nsec = LOOK_EVERY_NS};

	nanosleep(&moment, NULL);
}

int follow_recording(struct tape *t, const char *command,
	int (*look)(void *context, bool is_last, struct err *err), void *context, struct err *err)
{
	bool is_recorded = tape_has_writer(t);
	const char *end = is_recorded ? "the recording has ended" : "the tape is not being recorded";
	int rc = 0;

	progress_catch_signals();
	while (!rc && is_recorded && !progress_stop_asked()) {
		rc = out_stream_flush(stdout, err);
		is_recorded = tape_has_writer(t);
		if (is_recorded)
			follow_wait();
		if (!rc)
			rc = look(context, !is_recorded, err);
	}
	if (!rc && !is_recorded)
		fprintf(stderr, "kubetape %s: %s\n", command, end);
	return rc;
}
