/* readable.h: how much of a damaged tape can still be read, by what reads tapes every day. */
#ifndef TOOLS_READABLE_H
#define TOOLS_READABLE_H

#include <stdbool.h>
#include <stdint.h>

struct readable {
	uint64_t events;   /* whose object can be read */
	uint64_t total;    /* that the tape says it has */
	bool is_cut_short; /* nobody knows of some events whether they can be */
	bool is_closed;    /* the tape cannot even be opened: the others are 0 */
};

/* Reads every object once. `stop`, when it returns non-zero, cuts the count short; it is called for each
 * event. */
struct readable readable_count(const char *tape_path, int (*stop)(void *context), void *context);

#endif
