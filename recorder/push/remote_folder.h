/* remote_folder.h: the folder of the cache that stands for one tape of a store (remote_cache.h). */
#ifndef RECORDER_PUSH_REMOTE_FOLDER_H
#define RECORDER_PUSH_REMOTE_FOLDER_H

#include "recorder/push/manifest.h"

#define REMOTE_HASH_DIGITS 16
#define REMOTE_TAPE_ENDING ".tape"

/* ROOT/HASH, and in that NAME.tape; the caller frees. */
int remote_folder_of(const char *root, const struct s3_options *options, const struct s3_place *p, char **ret,
	struct err *err) MUST_CHECK;
char *remote_folder_tape(const char *folder, const struct manifest *m);

/* Makes ROOT/HASH, with what other processes need to find the rest. */
int remote_folder_note(
	const char *folder, const struct s3_place *p, const struct manifest *m, struct err *err) MUST_CHECK;
/* What is in it then; on failure the caller releases what there is. */
int remote_folder_read(const char *folder, struct s3_place *ret_place, struct manifest *ret_manifest,
	struct err *err) MUST_CHECK;

/* Makes NAME.tape and its segments, which are holes until they are read. *ret_note is a warning, which the caller frees, or
 * unchanged. */
int remote_folder_lay_out(
	const char *tape, const struct manifest *m, char **ret_note, struct err *err) MUST_CHECK;

#endif
