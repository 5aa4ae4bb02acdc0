/* temp_folder.h: a new folder of this user alone, in TMPDIR or /tmp. */
#ifndef SCHEMA_BASE_TEMP_FOLDER_H
#define SCHEMA_BASE_TEMP_FOLDER_H

#include "schema/base/err.h"

/* "/tmp/kubetape-PURPOSE-tmuq3C"; the caller frees the path, and removes the folder. Untouched after a failure. */
int temp_folder_make(const char *purpose, char **ret, struct err *err) MUST_CHECK;

#endif
