/*
 * sweep_exchange.h: values from a pool, such as addresses, ports or ranges, that a program assigns in the order in which
 * objects come; and assignments to objects such as nodes, which depend on what had come before. A fault may change that order.
 */
#ifndef TOOLS_SWEEP_EXCHANGE_H
#define TOOLS_SWEEP_EXCHANGE_H

#include "tools/sweep/sweep_answer.h"

/* Adds to answer->exchanged the keys of effects that differ only in having each other's values; where there are such, also
 * those with a value that nobody has in the other run, nor the tape: the next free one. Each value has a digit, and one
 * object of the resource contains it. In neither run, `without` and `with` the fault, did an object get one of the values
 * and later another, nor did two have one at a time only with the fault.
 * And those that differ only in names of objects of the tape, which are there at its end: items of lists, members of maps that
 * have such names themselves, or fields of several objects. No name is there more often than one is without the fault, nor is one
 * that is not there without it; and no object of the tape that the effect names has the name that it has without the fault. */
int sweep_exchange_find(const char *tape, const char *without, const char *with,
	const struct sweep_ground *ground, struct sweep_answer *answer, struct err *err) MUST_CHECK;

#endif
