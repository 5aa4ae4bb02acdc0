/*
 * manifest.h: what a store has of a tape, in its object manifest.json beside the segments:
 *
 *   PREFIX/cluster=CLUSTER/tape=TAPE_ID/seg-000001.db
 *                                       seg-000002.db
 *                                       audit.sqlite    who asked for what, if an audit log was joined
 *                                       manifest.json   written after each of them
 *
 * A segment counts once the manifest names it.
 */
#ifndef RECORDER_PUSH_MANIFEST_H
#define RECORDER_PUSH_MANIFEST_H

#include "recorder/push/s3.h"
#include "schema/tape/seal.h"

#define MANIFEST_NAME "manifest.json"

/* One sealed segment; numbers of events as in reader.h. */
struct manifest_segment {
	uint32_t number;
	uint64_t bytes;
	char sha256[S3_SUM_BYTES], digest[SEAL_DIGEST_BYTES]; /* of the file; of its pages, see seal.h */
	uint64_t first_seq, last_seq, events;                 /* 0 if it has none */
	int64_t first_time_ns, last_time_ns;
	int64_t pushed_ns;
	char etag[S3_ETAG_BYTES]; /* of the object, bare; "" if the manifest is of an older program */
	/* Only in memory. */
	bool is_off;                      /* what the store has is not that */
	char previous[SEAL_DIGEST_BYTES]; /* digest of the segment before it, as it says; "": it does not */
};

/* Segments that were removed here before the store had them. */
struct manifest_loss {
	uint32_t first, last;
	int64_t noticed_ns;
};

/* The audit book; the sha256 is "" if the store has none. */
struct manifest_book {
	uint64_t bytes;
	char sha256[S3_SUM_BYTES];
};

struct manifest {
	char *tape_id, *cluster, *name;    /* name: of the tape's folder, without its ending */
	bool complete;                     /* nobody was writing the tape when its last segment was pushed */
	struct manifest_segment *segments; /* by number */
	size_t segment_count;
	struct manifest_loss *losses;
	size_t loss_count;
	struct manifest_book book;
	char etag[S3_ETAG_BYTES]; /* as it was read; "" when there was none */
};

void manifest_release(struct manifest *m);
struct manifest manifest_copy(const struct manifest *m);

/* ERR_CORRUPT if it is not a manifest, or half of one; ERR_PROTOCOL if it is one of a later program. */
int manifest_parse(struct slice json, struct manifest *ret, struct err *err) MUST_CHECK;
int manifest_format(const struct manifest *m, struct buf *to, struct err *err) MUST_CHECK;

/* The one at that key. ERR_NOT_FOUND, and the errors of s3.h and manifest_parse. With ERR_CORRUPT, *ret has the etag of what is
 * there and nothing else, so that a new one may take its place. */
int manifest_read(struct s3 *s, const char *key, struct manifest *ret, struct err *err) MUST_CHECK;

/* ERR_BUSY if it has changed since it was read. */
int manifest_write(struct s3 *s, const char *key, struct manifest *m, struct err *err) MUST_CHECK;

const struct manifest_segment *manifest_find(const struct manifest *m, uint32_t number);
/* Whether it is in the store as the manifest says. */
bool manifest_has(const struct manifest *m, uint32_t number);
/* Replaces the one of that number, if there is one. */
void manifest_add(struct manifest *m, const struct manifest_segment *segment);
/* As the store gives it, with its quotes or without. */
void manifest_note_etag(struct manifest_segment *s, const char *etag);
/* Whether an object has the size and the sum of that segment. */
bool manifest_is_object(const struct manifest_segment *s, const struct s3_object *object);
/* Whether a text is that many hexadecimal digits. */
bool manifest_is_sum(const char *text, size_t digits);
/* Where a segment is, in the tape's folder at that key; the caller frees. */
char *manifest_segment_key(const char *folder, uint32_t number);
/* A sentence about segments that the store never had, which the caller frees; NULL: it had all. */
char *manifest_tell_losses(const struct manifest *m);
/* Segments that the store has lost since its manifest was written, to a rule of its own or to somebody's hand, are none of
 * the tape any more. A store that lists nothing to us has them all. A sentence about it, which the caller frees; NULL: it
 * has all. */
char *manifest_leave_out_absent(struct s3 *s, const char *folder, struct manifest *m);
void manifest_add_loss(struct manifest *m, const struct manifest_loss *loss);

#endif
