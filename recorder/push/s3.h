/*
 * s3.h: objects in a bucket of a store that speaks S3: AWS' own, and others that are named by their endpoint.
 *
 * Calls wait until they are answered. A store that is busy (503 SlowDown, 429), fails (5xx) or cannot be reached is asked
 * again, later and later, for as long as the options say; keys that ended are renewed once, and a bucket's own region is
 * taken over when the store names it. Errors: ERR_NOT_FOUND no object of that key; ERR_BUSY a condition of the request does not
 * hold; ERR_DENIED credentials, rights, or a clock that is off; ERR_FAILED no such bucket, and what else the store refuses;
 * ERR_NETWORK, ERR_PROTOCOL, ERR_STOPPED, ERR_TOO_LARGE. Not thread-safe.
 */
#ifndef RECORDER_PUSH_S3_H
#define RECORDER_PUSH_S3_H

#include "recorder/push/web_call.h"

#include <stdio.h>

#define S3_SCHEME "s3://"
/* An object above this many bytes is sent in parts of this many, unless the options say otherwise. */
#define S3_PART_BYTES (64u << 20)
/* 64 hexadecimal digits and the end. */
#define S3_SUM_BYTES 65
/* Of an object's tag, with the end. */
#define S3_ETAG_BYTES 128

/* The parts of s3://BUCKET/KEY; key is "" for the whole bucket, and has no slash at its end. */
struct s3_place {
	char *bucket, *key;
};
bool s3_is_url(const char *text);
/* ERR_USAGE for what is no such place, or names what cannot be a bucket. */
int s3_place_parse(const char *url, struct s3_place *ret, struct err *err) MUST_CHECK;
void s3_place_release(struct s3_place *p);

struct s3_options {
	const char *endpoint, *profile; /* NULL: as environment and files say */
	int64_t retry_ns;               /* for how long to ask a busy store again */
	int64_t silence_s; /* for which a request may be answered with nothing; 0: up to a minute, as retry_ns is */
	uint64_t part_bytes; /* 0: S3_PART_BYTES */
	/* A store is asked again after this time, because of that; without a reason: then it answered. May be NULL. */
	void (*waits)(void *context, const struct err *why, int64_t delay_ns);
	/* Asked while waiting and sending; true ends the call. May be NULL. */
	bool (*stop)(void *context);
	void *context;
};

struct s3;

/* Asks nobody yet. Texts of the options are borrowed for the life of the store. */
int s3_open(
	const struct s3_options *options, const char *bucket, struct s3 **ret, struct err *err) MUST_CHECK;
void s3_close(struct s3 *s); /* accepts NULL */

/* The store's description of an object. sha256: the checksum with which it was stored, "" if there was
 * none. The etag is as the store writes it, with its quotes. */
struct s3_object {
	uint64_t bytes;
	char etag[S3_ETAG_BYTES], sha256[80];
};
int s3_head(struct s3 *s, const char *key, struct s3_object *ret, struct err *err) MUST_CHECK;

/* Appends the object, or that many bytes (not 0) of it from the offset. `ret` may be NULL. */
int s3_get(struct s3 *s, const char *key, struct buf *to, struct s3_object *ret, struct err *err) MUST_CHECK;
int s3_get_range(struct s3 *s, const char *key, uint64_t offset, size_t bytes, struct buf *to,
	struct err *err) MUST_CHECK;
/* Writes the first `bytes` bytes of the object to a file, a piece in memory at a time. */
int s3_get_to(struct s3 *s, const char *key, uint64_t bytes, FILE *to, struct err *err) MUST_CHECK;

struct s3_put {
	const char *key;
	struct slice memory; /* or, where path is not NULL, a file */
	const char *path;
	const char *content_type;
	const char *sha256;    /* of the bytes, as s3_sum_* makes it */
	bool only_new;         /* ERR_BUSY if there is such an object */
	const char *only_etag; /* ERR_BUSY unless the object there has that; NULL: any */
	char *ret_etag; /* S3_ETAG_BYTES, for that of the object that was written; may be NULL, and only_etag */
};
int s3_put(struct s3 *s, const struct s3_put *put, struct err *err) MUST_CHECK;

/* The etag is bare, and empty if the list names none. */
struct s3_entry {
	const char *key;
	uint64_t bytes;
	struct slice etag;
};

/* Without its quotes, which some stores write in lists, and some do not. */
struct slice s3_etag_bare(const char *etag);

/* Each key that begins with `prefix`; with a delimiter those that have it after the prefix come once, cut after it.
 * Non-zero of `each` ends the walk and is returned. */
int s3_list(struct s3 *s, const char *prefix, const char *delimiter,
	int (*each)(void *context, const struct s3_entry *entry), void *context, struct err *err) MUST_CHECK;

/* SHA-256 in hexadecimal, of memory or of a part of a file. */
int s3_sum_of(struct slice bytes, char ret[S3_SUM_BYTES], struct err *err) MUST_CHECK;
int s3_sum_of_file(
	int fd, uint64_t offset, uint64_t bytes, char ret[S3_SUM_BYTES], struct err *err) MUST_CHECK;
/* Of a whole file, and its size. */
int s3_sum_of_path(const char *path, uint64_t *ret_bytes, char ret[S3_SUM_BYTES], struct err *err) MUST_CHECK;

#endif
