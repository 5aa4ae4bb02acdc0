/*
 * gap_spec.h: the short form of a fault for the command line:
 *
 *     WHEN,LENGTH[,WORD]...           '+30s,10s,rst,compact,pods'
 *
 *     WHEN     a position on the tape ('+30s', 'rv:5321'), or '#N': before the N-th event of 'event='
 *     LENGTH   a duration ('10s'), or 'Nev': until N events in scope have passed
 *     WORD     how watches end: end (when none is named), cut=BYTES, fin, rst, goaway, rst_stream[=CODE],
 *              stall, error[=CODE]
 *              what requests get meanwhile: refuse, http=CODE
 *              what is left: compact, stale=DURATION, hold=DURATION
 *              where: client=PATTERN, ns=NAME, and any other word is a resource
 *              wall: the length is of the wall's clock; after: after the event, not before it
 *              optional: it may strike nobody; quiet: a pause lasts until clients are quiet for that LENGTH
 *              event=EXPRESSION, which takes all that follows, commas too
 */
#ifndef REPLAYER_GAP_SPEC_H
#define REPLAYER_GAP_SPEC_H

#include "replayer/fault/fault_rule.h"

/* All of them, except resources, separated by blanks: for suggestions. */
extern const char gap_spec_words[];

/* `number` counts gaps from 1. ERR_USAGE names the word that was not understood. The caller releases. */
int gap_spec_parse(const char *text, size_t number, struct fault_rule *ret, struct err *err) MUST_CHECK;

#endif
