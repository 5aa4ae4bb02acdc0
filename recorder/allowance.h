/*
 * allowance.h: the memory that all incomplete answers may take together: frames whose line feed has not
 * arrived, items of lists. Each has a maximum of its own, but a server can fill any number of streams at
 * once. An answer that asks for more than is left has to give up.
 */
#ifndef RECORDER_ALLOWANCE_H
#define RECORDER_ALLOWANCE_H

#include <stdbool.h>
#include <stddef.h>

struct allowance {
	size_t max_bytes, used_bytes;
};

/* One holder's part. */
struct share {
	size_t bytes;
};

/* The holder has this many bytes now. False if that is more than it may have: it must release them and call
 * again. */
static inline bool share_set(struct share *s, struct allowance *a, size_t bytes)
{
	bool grows = bytes > s->bytes;

	a->used_bytes += bytes - s->bytes;
	s->bytes = bytes;
	return !grows || a->used_bytes <= a->max_bytes;
}

#endif
