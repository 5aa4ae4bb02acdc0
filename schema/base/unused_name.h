/* unused_name.h: names of files that do not take another one's place. */
#ifndef SCHEMA_BASE_UNUSED_NAME_H
#define SCHEMA_BASE_UNUSED_NAME_H

/* NAME, or NAME-2 and so on: the first of which the folder has no file with that ending. The caller frees. */
char *unused_name(const char *folder, const char *name, const char *ending);

#endif
