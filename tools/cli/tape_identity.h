/* tape_identity.h: whether two places have the same tape. */
#ifndef TOOLS_TAPE_IDENTITY_H
#define TOOLS_TAPE_IDENTITY_H

/* The id that all segments of the tape have; the caller frees. NULL: it cannot be read. */
char *tape_identity(const char *path);

#endif
