/* identity.h: which tape is in a place: the id that all its segments have, and copies of it. */
#ifndef SCHEMA_TAPE_IDENTITY_H
#define SCHEMA_TAPE_IDENTITY_H

#include "schema/tape/reader.h"

/* The caller frees. ERR_NOT_FOUND if nothing is on the tape yet; the second one also says what tape_open says. */
int tape_identity_of(struct tape *t, char **ret, struct err *err) MUST_CHECK;
int tape_identity_read(const char *path, char **ret, struct err *err) MUST_CHECK;

/* The same; NULL: it cannot be read. */
char *tape_identity(const char *path);

#endif
