/*
 * kshrk_archive.h: the records in an archive of k8shark 1.0: a ZIP container whose entries
 * k8shark-capture/records/PATH/NUMBER.json.zst are JSON documents, each compressed by zstd. They are given in
 * the order of their time, which is not that of the container.
 */
#ifndef TOOLS_KSHRK_ARCHIVE_H
#define TOOLS_KSHRK_ARCHIVE_H

#include "schema/base/buf.h"

struct kshrk_archive;

/* True if a file that begins so is one, or may be one. */
bool kshrk_archive_is(struct slice first_bytes);

/* The file must be regular and stay as it is; the descriptor is the caller's. The front of every record is
 * looked at once for its time. */
int kshrk_archive_open(int fd, const char *name, struct kshrk_archive **ret, struct err *err) MUST_CHECK;
void kshrk_archive_close(struct kshrk_archive *a);

/* 1 and the next record, valid until the next call; 0 at the end. */
int kshrk_archive_next(struct kshrk_archive *a, struct slice *ret, struct err *err) MUST_CHECK;

/* How many bytes of the file the records took that were given. */
uint64_t kshrk_archive_passed(const struct kshrk_archive *a);

#endif
