/*
 * remote_tape.h: a tape in a store, which is to every reader a folder of this machine: its segments are there with their
 * full size, and come as they are read (fetched.h).
 */
#ifndef RECORDER_PUSH_REMOTE_TAPE_H
#define RECORDER_PUSH_REMOTE_TAPE_H

#include "recorder/push/manifest.h"

/* Once, before any tape is opened: from then on readers find what such folders lack. */
void remote_tape_init(void);

/* The local folder for the tape at s3://BUCKET/KEY, or for the only one below it; the caller frees. *ret_note
 * is a warning about it, or NULL. ERR_USAGE if there are several, which it names; ERR_NOT_FOUND, and the
 * errors of s3.h. */
int remote_tape_resolve(const char *url, char **ret_path, char **ret_note, struct err *err) MUST_CHECK;

/* Whether one that was resolved has lost segments in its store: what is read is not all there was. */
bool remote_tape_lacks(void);

/* The local folder for the tape at `place`, of which the caller has a manifest that need not be in the store. The caller frees the
 * path; the texts of the options are borrowed for the life of the process. */
int remote_tape_present(const struct s3_options *options, const struct s3_place *place,
	const struct manifest *m, char **ret_path, struct err *err) MUST_CHECK;

/* A sentence in which such folders are called by the URLs that they stand for; the caller frees. */
char *remote_tape_words(const char *text);

/* The URL of each tape there or below; non-zero of `each` ends the walk and is returned. */
int remote_tape_each(const char *url, int (*each)(void *context, const char *url, struct err *err),
	void *context, struct err *err) MUST_CHECK;

#endif
