/*
 * sweep_exchange.h: values from a pool, such as addresses, ports or ranges, that a program assigns in the order in which
 * objects come. A fault may change that order.
 */
#ifndef TOOLS_SWEEP_EXCHANGE_H
#define TOOLS_SWEEP_EXCHANGE_H

#include "tools/sweep/sweep_answer.h"

/* Adds to answer->exchanged the keys of effects that differ only in having each other's values. Each value has a digit,
 * and one object of the resource contains it in either run. In neither run, `without` and `with` the fault, did an
 * object get one of the values and later another. */
int sweep_exchange_find(const char *tape, const char *without, const char *with,
	const struct sweep_ground *ground, struct sweep_answer *answer, struct err *err) MUST_CHECK;

#endif
