/*
 * sweep_lines.h: the words of the lines that repeat a finding. The report puts a finding's faults and its time to be
 * quiet in between, and the command at the end. The caller frees them.
 */
#ifndef TOOLS_SWEEP_SWEEP_LINES_H
#define TOOLS_SWEEP_SWEEP_LINES_H

#include "tools/sweep/sweep_course.h"

/* "kubetape replay TAPE ...": how it begins. */
char *sweep_line_again(const struct sweep *s);

/* What compares the replay as the sweep has done, and with what: further runs without gaps tell what differs by itself. */
char *sweep_line_verdict(struct sweep *s, bool laid_over);

/* " --lockstep 50ms", for findings that need it; "" if all have it. */
char *sweep_line_paced(const struct sweep *s);

/* "kubetape sweep TAPE ...": the same sweep, for findings of which a replay alone does not tell. */
char *sweep_line_anew(const struct sweep *s, bool laid_over);

#endif
