/*
 * restart.h: continues a tape: gives every stream what the tape knows about it, so that it watches from where
 * the recording stopped, or, if its first list was never finished, lists without recording anything twice.
 */
#ifndef RECORDER_RESTART_H
#define RECORDER_RESTART_H

#include "recorder/stream.h"

/* To be called before the streams start. Requests that a killed recorder left without an end get one. */
int restart_load(
	struct recorder_context *x, struct stream **streams, size_t count, struct err *err) MUST_CHECK;

/* When a connection ended. One without an end ended with the last thing on the tape (last_ns), as far as anybody
 * knows; INT64_MIN: it has an end, but its time is not known. */
int64_t restart_connection_end(const struct tape_connection *c, int64_t last_ns);

/* Gives one that a killed recorder left without an end its end. */
int restart_end_connection(
	struct tape_writer *w, const struct tape_connection *c, int64_t last_ns, struct err *err) MUST_CHECK;

/* Gives the streams of the tape whose resource the catalog does not have any more, as far as objects of it
 * live on the tape: asked for once more, they will be found gone. The specs are borrowed for the call. */
int restart_vanished(const char *tape_path, const struct catalog *catalog,
	int (*each)(void *context, const struct stream_spec *spec), void *context,
	struct err *err) MUST_CHECK;

/* The UID of the cluster that was recorded last, "" if the tape does not say. */
#define CLUSTER_UID_BYTES 128
int restart_cluster(const char *tape_path, char ret_uid[CLUSTER_UID_BYTES], struct err *err) MUST_CHECK;

#endif
