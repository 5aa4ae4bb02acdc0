/*
 * placement.h: chooses the connection of a watch. Whenever a byte arrives on a connection, libcurl visits all
 * its requests, for about 3 us each. So a busy watch costs least beside few others, and silent watches cost
 * nothing if they share a connection.
 */
#ifndef RECORDER_PLACEMENT_H
#define RECORDER_PLACEMENT_H

#include <stddef.h>

/* The load of a connection. */
struct placement {
	double rate; /* events a second, of all its watches */
	size_t count;
};

/* The first place for a nearly silent watch, else the one of the others whose cost grows least. */
size_t placement_choose(const struct placement *places, size_t count, double rate);

/* Estimates events a second of a resource that was not watched before, from its name and the number of its
 * objects. */
double placement_guess(const char *group, const char *resource, size_t objects);

#endif
