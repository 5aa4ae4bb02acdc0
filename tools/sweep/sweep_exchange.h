/*
 * sweep_exchange.h: what a program gave out in another order: addresses, ports, ranges, or whatever it takes from a pool
 * and assigns to whoever comes first. A fault may change who comes first.
 */
#ifndef TOOLS_SWEEP_EXCHANGE_H
#define TOOLS_SWEEP_EXCHANGE_H

#include "tools/sweep/sweep_answer.h"

/* Adds to answer->exchanged the keys of effects that differ only in values that others of that resource have without the
 * fault, and the other way round, if they look given out: each has a digit and stands in one object in either run, and
 * in neither run, `without` and `with`, was anybody given another one of them instead. */
int sweep_exchange_find(const char *tape, const char *without, const char *with,
	const struct sweep_ground *ground, struct sweep_answer *answer, struct err *err) MUST_CHECK;

#endif
