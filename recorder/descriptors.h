/* descriptors.h: how many files and sockets the process may have open. */
#ifndef RECORDER_DESCRIPTORS_H
#define RECORDER_DESCRIPTORS_H

#include "schema/base/err.h"

/* Allows as many as the system lets us, up to some ten thousand: a watch over HTTP/1.1 takes one. ERR_FAILED
 * if too few are left to record anything; later failures would say less. */
int descriptors_prepare(struct err *err) MUST_CHECK;

#endif
