/* config_file.h: small files that people or their tools write for programs: configuration, tokens, certificates. */
#ifndef SCHEMA_BASE_CONFIG_FILE_H
#define SCHEMA_BASE_CONFIG_FILE_H

#include "schema/base/buf.h"

/* Appends the whole file, at most LIMIT_CONFIG_BYTES. */
int read_config_file(const char *path, struct buf *to, struct err *err) MUST_CHECK;

/* The same, as a text: a NUL follows, which is not in its length. */
int read_config_text(const char *path, struct buf *to, struct err *err) MUST_CHECK;

#endif
