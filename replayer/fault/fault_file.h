/*
 * fault_file.h: reading fault files. Errors are ERR_USAGE with the place and what was expected there:
 *
 *     faults.json, line 7, column 5: unknown key 'wen' of a rule, expected one of: name, when, where, ...
 */
#ifndef REPLAYER_FAULT_FILE_H
#define REPLAYER_FAULT_FILE_H

#include "replayer/fault/fault_rule.h"

/* `name` is for messages. The caller releases. */
int fault_file_parse(struct slice json, const char *name, struct fault_file *ret, struct err *err) MUST_CHECK;

/* Appends the contents of the file, "-" for stdin, for fault_file_parse; a pipe can be read only once.
 * ERR_TOO_LARGE above LIMIT_CONFIG_BYTES. */
int fault_file_text(const char *path, struct buf *to, struct err *err) MUST_CHECK;

/* Appends the file as indented JSON with a line feed, which reads as the same rules. */
int fault_file_write(const struct fault_file *f, struct buf *to, struct err *err) MUST_CHECK;

/* Appends the JSON Schema of fault files, as fault-file.schema.json has it. */
int fault_schema_write(struct buf *to, struct err *err) MUST_CHECK;

#endif
