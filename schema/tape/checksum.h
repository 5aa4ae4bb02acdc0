/* checksum.h: the sentence for bytes of a tape that are not those that were written. */
#ifndef SCHEMA_TAPE_CHECKSUM_H
#define SCHEMA_TAPE_CHECKSUM_H

#include "schema/base/err.h"

#include <stdint.h>

/* 0 if they are equal, else ERR_CORRUPT; the caller puts in front of it what the sum is of. */
static inline int checksum_expect(uint64_t found, uint64_t expected, struct err *err)
{
	if (found == expected)
		return 0;
	return err_set(err, ERR_CORRUPT, "bad checksum: found 0x%llx, expected 0x%llx",
		(unsigned long long)found, (unsigned long long)expected);
}

#endif
