/*
 * seal.h: the checksums after the pages of a sealed segment. SQLite has none of its own; these find any
 * change of any bit, with its page. FORMAT.md ("Seal") has the byte table:
 *
 *   pages (4096 or 1024 bytes each) | XXH64 of each page, u64 each | footer of 64 bytes
 */
#ifndef SCHEMA_TAPE_SEAL_H
#define SCHEMA_TAPE_SEAL_H

#include "schema/base/buf.h"

#define SEAL_DIGEST_BYTES 33 /* 32 hexadecimal digits and the end */
#define SEAL_FOOTER_BYTES 64
#define SEAL_FOOTER_PAGES 8 /* where in the footer the number of pages is, u64 */

/* Eight bytes, the lowest first, as all numbers of the seal are. */
static inline uint64_t seal_get_u64(const uint8_t *from)
{
	uint64_t value = 0;

	for (int i = 0; i < 8; i++)
		value |= (uint64_t)from[i] << (8 * i);
	return value;
}

/* Puts the sums after a finished database file, makes it durable and read-only. */
int seal_append(const char *path, char ret_digest_hex[SEAL_DIGEST_BYTES], struct err *err) MUST_CHECK;

/* A finding of a check; offset and length in the file, texts borrowed for the call. */
struct seal_damage {
	uint64_t offset, length;
	const char *what; /* "page 17" */
	char found[40], expected[40];
};

/* Reads the whole file (of one that is fetched, what its source has) and calls damaged for each page or field that is not as
 * sealed; a non-zero return stops. progress, if not NULL, gets the number of bytes read so far. Returns the number of damaged places.
 * The digest is that of the footer. ERR_CORRUPT if there is no intact footer to check against. */
int seal_check(const char *path, int (*damaged)(void *context, const struct seal_damage *d),
	int (*progress)(void *context, uint64_t bytes), void *context, char ret_digest_hex[SEAL_DIGEST_BYTES],
	struct err *err) MUST_CHECK;

/* The digest in the footer, without reading the pages. */
int seal_digest(const char *path, char ret_digest_hex[SEAL_DIGEST_BYTES], struct err *err) MUST_CHECK;

/* The same from the last bytes of a file that is elsewhere; `name` is for errors. */
int seal_digest_of(struct slice end, const char *name, uint64_t file_bytes,
	char ret_digest_hex[SEAL_DIGEST_BYTES], struct err *err) MUST_CHECK;

/* The checksums of a file's pages, and the size and number of these. */
struct seal_sums {
	uint64_t pages, page_bytes;
	uint8_t *sums; /* eight bytes for each page, see seal_get_u64 */
};

/* How many bytes at the end of a file of that size are sums and footer, as the footer in a stretch of its end says; the stretch's
 * length when it says nothing that makes sense. */
uint64_t seal_tail_bytes(struct slice end, uint64_t file_bytes);

/* Reads the checksums, and checks them against the footer and the expected digest of the file. */
int seal_load(
	int fd, const char *path, const char *digest_hex, struct seal_sums *ret, struct err *err) MUST_CHECK;
/* The same from the bytes that the file ends with, as seal_tail_bytes counts them. */
int seal_take(struct slice tail, const char *path, uint64_t file_bytes, const char *digest_hex,
	struct seal_sums *ret, struct err *err) MUST_CHECK;
void seal_release(struct seal_sums *s);

#endif
