/*
 * placement.h: which connection a watch goes to. libcurl looks after every request of a connection whenever a
 * byte arrives on it, for about 3 us each, so that a busy watch costs least where few others are, and those
 * of which nothing comes cost nothing where they are together.
 */
#ifndef RECORDER_PLACEMENT_H
#define RECORDER_PLACEMENT_H

#include <stddef.h>

/* What a connection carries. */
struct placement {
	double rate; /* events a second, of all its watches */
	size_t count;
};

/* The first place for a watch of which next to nothing comes, else the one of the others that becomes dearer
 * by the least. */
size_t placement_choose(const struct placement *places, size_t count, double rate);

/* Events a second of a resource that was not watched before, as far as its name and the number of its objects
 * tell. */
double placement_guess(const char *group, const char *resource, size_t objects);

#endif
