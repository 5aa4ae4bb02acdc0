/* seal.c: see seal.h. */
#include "schema/tape/seal.h"

#include "schema/base/count_of.h"
#include "schema/base/limits.h"
#include "schema/base/regular_file.h"
#include "schema/tape/codec.h"
#include "schema/tape/fetched.h"
#include "schema/tape/format.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEAL_MAGIC "KTSEAL01"
#define READ_BYTES (1u << 20)

/* Offsets in the footer. */
enum {
	FOOTER_MAGIC = 0,
	FOOTER_PAGES = SEAL_FOOTER_PAGES,
	FOOTER_PAGE_BYTES = 16, /* u64, 4096 or 1024 */
	FOOTER_SUMS = 24,       /* u64, XXH64 of the array of sums */
	FOOTER_DIGEST = 32,     /* 16 bytes, XXH3-128 of the array of sums */
	FOOTER_RESERVED = 48,   /* 8 bytes of zero */
	FOOTER_SELF = 56,       /* u64, XXH64 of the 56 bytes before */
};

static void put_u64(uint8_t *to, uint64_t value)
{
	for (int i = 0; i < 8; i++)
		to[i] = (uint8_t)(value >> (8 * i));
}

static void digest_to_hex(const uint8_t digest[16], char to[SEAL_DIGEST_BYTES])
{
	for (int i = 0; i < 16; i++)
		snprintf(to + 2 * i, 3, "%02x", digest[i]);
}

static uint64_t sum_of(const uint8_t *bytes, size_t len)
{
	return codec_hash((struct slice){(const char *)bytes, len});
}

/* A database in a file, by its pages. */
struct pages {
	int fd;
	const char *path;
	uint64_t bytes, count; /* of a page; of them */
};

/* Reads all pages and gives each one's sum to take. */
static int each_page(const struct pages *p, int (*take)(void *context, uint64_t page, uint64_t sum),
	void *context, struct err *err)
{
	uint8_t *bytes = xmalloc(READ_BYTES);
	int stop = 0;

	for (uint64_t page = 0; page < p->count && !stop;) {
		uint64_t left = (p->count - page) * p->bytes, offset = page * p->bytes;
		ssize_t n = pread(p->fd, bytes, left < READ_BYTES ? left : READ_BYTES, (off_t)offset);

		if (n < (ssize_t)p->bytes) {
			stop = err_set_errno(err, n < 0 ? errno : EIO, "cannot read '%s' at offset %" PRIu64,
				p->path, offset);
			break;
		}
		for (uint64_t i = 0; i < (uint64_t)n / p->bytes && !stop; i++, page++)
			stop = take(context, page, sum_of(bytes + i * p->bytes, p->bytes));
	}
	free(bytes);
	return stop;
}

static int keep_sum(void *context, uint64_t page, uint64_t sum)
{
	put_u64((uint8_t *)context + 8 * page, sum);
	return 0;
}

static void make_footer(uint8_t footer[SEAL_FOOTER_BYTES], const uint8_t *sums, const struct pages *p)
{
	uint64_t pages = p->count;

	memset(footer, 0, SEAL_FOOTER_BYTES);
	memcpy(footer + FOOTER_MAGIC, SEAL_MAGIC, 8);
	put_u64(footer + FOOTER_PAGES, pages);
	put_u64(footer + FOOTER_PAGE_BYTES, p->bytes);
	put_u64(footer + FOOTER_SUMS, sum_of(sums, 8 * pages));
	codec_digest((struct slice){(const char *)sums, 8 * pages}, footer + FOOTER_DIGEST);
	put_u64(footer + FOOTER_SELF, sum_of(footer, FOOTER_SELF));
}

static int write_all(
	int fd, const char *path, const uint8_t *bytes, size_t len, uint64_t offset, struct err *err)
{
	while (len > 0) {
		ssize_t n = pwrite(fd, bytes, len, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_set_errno(err, n < 0 ? errno : EIO, "cannot write '%s'", path);
		bytes += n;
		len -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

/* As SQLite's header says, where 1 stands for 65536. */
static int read_page_bytes(struct pages *p, struct err *err)
{
	uint8_t header[2];

	if (pread(p->fd, header, 2, 16) != 2)
		return err_set_errno(err, EIO, "cannot read '%s' at offset 16", p->path);
	p->bytes = (uint64_t)header[0] << 8 | header[1];
	p->bytes = p->bytes == 1 ? 65536 : p->bytes;
	return p->bytes ? 0 : err_set(err, ERR_CORRUPT, "'%s' is no database", p->path);
}

static int append_to(struct pages *p, char digest_hex[SEAL_DIGEST_BYTES], struct err *err)
{
	uint8_t footer[SEAL_FOOTER_BYTES], *sums;
	struct stat st;
	int rc;

	if (fstat(p->fd, &st))
		return err_set_errno(err, errno, "cannot stat '%s'", p->path);
	rc = read_page_bytes(p, err);
	if (rc)
		return rc;
	p->count = (uint64_t)st.st_size / p->bytes;
	sums = xmalloc(8 * p->count);
	rc = each_page(p, keep_sum, sums, err);
	if (!rc) {
		make_footer(footer, sums, p);
		rc = write_all(p->fd, p->path, sums, 8 * p->count, p->count * p->bytes, err);
	}
	if (!rc)
		rc = write_all(p->fd, p->path, footer, SEAL_FOOTER_BYTES, p->count * (p->bytes + 8), err);
	free(sums);
	if (rc)
		return rc;
	digest_to_hex(footer + FOOTER_DIGEST, digest_hex);
	if (fchmod(p->fd, 0400) || fsync(p->fd))
		return err_set_errno(err, errno, "cannot make '%s' durable", p->path);
	return 0;
}

int seal_append(const char *path, char ret_digest_hex[SEAL_DIGEST_BYTES], struct err *err)
{
	struct pages p = {.fd = regular_file_open(path, O_RDWR, err), .path = path};
	int rc;

	if (p.fd < 0)
		return p.fd;
	rc = append_to(&p, ret_digest_hex, err);
	close(p.fd);
	return rc;
}

/* Against itself, and the size of the file that it ends. */
static int check_footer(
	const uint8_t footer[SEAL_FOOTER_BYTES], const char *path, uint64_t size, struct err *err)
{
	uint64_t pages = seal_get_u64(footer + FOOTER_PAGES),
		 page_bytes = seal_get_u64(footer + FOOTER_PAGE_BYTES);

	if (memcmp(footer, SEAL_MAGIC, 8) != 0 ||
		sum_of(footer, FOOTER_SELF) != seal_get_u64(footer + FOOTER_SELF))
		return err_set(err, ERR_CORRUPT,
			"bad seal in '%s' at offset %" PRIu64 ": found %016" PRIx64 ", expected %016" PRIx64,
			path, size - SEAL_FOOTER_BYTES, sum_of(footer, FOOTER_SELF),
			seal_get_u64(footer + FOOTER_SELF));
	if (size > LIMIT_SEGMENT_BYTES)
		return err_set(err, ERR_TOO_LARGE, "'%s' has %" PRIu64 " bytes, the maximum is %" PRIu64,
			path, size, (uint64_t)LIMIT_SEGMENT_BYTES);
	if (page_bytes != FORMAT_PAGE_BYTES && page_bytes != FORMAT_SMALL_PAGE_BYTES)
		return err_set(err, ERR_CORRUPT, "'%s' claims pages of %" PRIu64 " bytes", path, page_bytes);
	if (pages > size / page_bytes || pages * (page_bytes + 8) + SEAL_FOOTER_BYTES != size)
		return err_set(err, ERR_CORRUPT,
			"bad size of '%s': found %" PRIu64 " bytes, expected %" PRIu64, path, size,
			pages * (page_bytes + 8) + SEAL_FOOTER_BYTES);
	return 0;
}

static int refuse_short(const char *path, uint64_t size, struct err *err)
{
	return err_set(
		err, ERR_CORRUPT, "'%s' is cut short: %" PRIu64 " bytes have no room for a seal", path, size);
}

static int read_footer(int fd, const char *path, uint8_t footer[SEAL_FOOTER_BYTES], struct err *err)
{
	struct stat st;
	uint64_t size;

	if (fstat(fd, &st))
		return err_set_errno(err, errno, "cannot stat '%s'", path);
	size = (uint64_t)st.st_size;
	if (size < SEAL_FOOTER_BYTES ||
		pread(fd, footer, SEAL_FOOTER_BYTES, (off_t)(size - SEAL_FOOTER_BYTES)) != SEAL_FOOTER_BYTES)
		return refuse_short(path, size, err);
	return check_footer(footer, path, size, err);
}

struct check {
	struct pages pages;
	const uint8_t *sums;
	int (*damaged)(void *context, const struct seal_damage *d);
	int (*progress)(void *context, uint64_t bytes);
	void *context;
	int found;
};

static int seal_report(struct check *c, const char *what, uint64_t offset, uint64_t length, uint64_t found,
	uint64_t expected)
{
	struct seal_damage d = {.offset = offset, .length = length, .what = what};

	c->found++;
	snprintf(d.found, sizeof(d.found), "%016" PRIx64, found);
	snprintf(d.expected, sizeof(d.expected), "%016" PRIx64, expected);
	return c->damaged(c->context, &d);
}

static int compare_sum(void *context, uint64_t page, uint64_t sum)
{
	struct check *c = context;
	uint64_t expected = seal_get_u64(c->sums + 8 * page), page_bytes = c->pages.bytes;
	char what[32];

	if (c->progress && page % (READ_BYTES / page_bytes) == 0 &&
		c->progress(c->context, page * page_bytes))
		return ERR_STOPPED;
	if (sum == expected)
		return 0;
	snprintf(what, sizeof(what), "page %" PRIu64, page + 1);
	return seal_report(c, what, page * page_bytes, page_bytes, sum, expected) ? ERR_STOPPED : 0;
}

/* The sums themselves are damaged: they are made again. When those are what was sealed, only the sums are
 * wrong, else the pages whose sums differ are named beside them. */
static int check_against_footer(const uint8_t *footer, struct check *c, struct err *err)
{
	uint64_t pages = c->pages.count, page_bytes = c->pages.bytes, at = pages * page_bytes,
		 expected = seal_get_u64(footer + FOOTER_SUMS);
	uint8_t *fresh = xmalloc(8 * pages);
	int rc = each_page(&c->pages, keep_sum, fresh, err);
	bool intact = !rc && sum_of(fresh, 8 * pages) == expected;

	if (!rc && !intact &&
		seal_report(c, "the sums of the pages", at, 8 * pages, sum_of(c->sums, 8 * pages), expected))
		rc = ERR_STOPPED;
	for (uint64_t page = 0; page < pages && !rc; page++) {
		uint64_t kept = seal_get_u64(c->sums + 8 * page), made = seal_get_u64(fresh + 8 * page);
		char what[48];

		if (kept == made)
			continue;
		snprintf(what, sizeof(what), intact ? "the sum of page %" PRIu64 : "page %" PRIu64, page + 1);
		if (intact ? seal_report(c, what, at + 8 * page, 8, kept, made)
			   : seal_report(c, what, page * page_bytes, page_bytes, made, kept))
			rc = ERR_STOPPED;
	}
	free(fresh);
	return rc;
}

/* What the next segment names must follow from the sums, or it would prove nothing about them. */
static int check_digest(const uint8_t *footer, struct check *c)
{
	uint64_t pages = c->pages.count;
	struct seal_damage d = {
		.offset = pages * (c->pages.bytes + 8) + FOOTER_DIGEST, .length = 16, .what = "the digest"};
	uint8_t made[16];

	codec_digest((struct slice){(const char *)c->sums, 8 * pages}, made);
	if (memcmp(made, footer + FOOTER_DIGEST, 16) == 0)
		return 0;
	c->found++;
	digest_to_hex(footer + FOOTER_DIGEST, d.found);
	digest_to_hex(made, d.expected);
	return c->damaged(c->context, &d) ? ERR_STOPPED : 0;
}

static int check_fd(struct check *c, char digest_hex[SEAL_DIGEST_BYTES], struct err *err)
{
	struct pages *p = &c->pages;
	uint8_t footer[SEAL_FOOTER_BYTES], *sums;
	uint64_t at;
	int rc = read_footer(p->fd, p->path, footer, err);

	if (rc)
		return rc;
	p->count = seal_get_u64(footer + FOOTER_PAGES);
	p->bytes = seal_get_u64(footer + FOOTER_PAGE_BYTES);
	at = p->count * p->bytes;
	sums = xmalloc(8 * p->count);
	if (pread(p->fd, sums, 8 * p->count, (off_t)at) != (ssize_t)(8 * p->count))
		rc = err_set_errno(err, EIO, "cannot read '%s' at offset %" PRIu64, p->path, at);
	c->sums = sums;
	if (!rc && sum_of(sums, 8 * p->count) != seal_get_u64(footer + FOOTER_SUMS))
		rc = check_against_footer(footer, c, err);
	else if (!rc && !(rc = check_digest(footer, c)))
		rc = each_page(p, compare_sum, c, err);
	free(sums);
	digest_to_hex(footer + FOOTER_DIGEST, digest_hex);
	if (rc == ERR_STOPPED)
		return err_set(err, ERR_STOPPED, "check of '%s' was stopped", p->path);
	return rc ? rc : c->found;
}

int seal_check(const char *path, int (*damaged)(void *context, const struct seal_damage *d),
	int (*progress)(void *context, uint64_t bytes), void *context, char ret_digest_hex[SEAL_DIGEST_BYTES],
	struct err *err)
{
	struct check c = {.damaged = damaged, .progress = progress, .context = context};
	int fd, result = fetched_anew(path, &fd, err);

	if (result)
		return result;
	c.pages = (struct pages){.fd = fd < 0 ? regular_file_open(path, O_RDONLY, err) : fd, .path = path};
	if (c.pages.fd < 0)
		return c.pages.fd;
	result = check_fd(&c, ret_digest_hex, err);
	close(c.pages.fd);
	return result;
}

int seal_digest(const char *path, char ret_digest_hex[SEAL_DIGEST_BYTES], struct err *err)
{
	uint8_t footer[SEAL_FOOTER_BYTES];
	int fd = regular_file_open(path, O_RDONLY, err), rc;

	if (fd < 0)
		return fd;
	rc = read_footer(fd, path, footer, err);
	close(fd);
	if (!rc)
		digest_to_hex(footer + FOOTER_DIGEST, ret_digest_hex);
	return rc;
}

int seal_digest_of(struct slice end, const char *name, uint64_t file_bytes,
	char ret_digest_hex[SEAL_DIGEST_BYTES], struct err *err)
{
	const uint8_t *footer;
	int rc;

	if (end.len < SEAL_FOOTER_BYTES || file_bytes < SEAL_FOOTER_BYTES)
		return refuse_short(name, file_bytes, err);
	footer = (const uint8_t *)end.ptr + end.len - SEAL_FOOTER_BYTES;
	rc = check_footer(footer, name, file_bytes, err);
	if (!rc)
		digest_to_hex(footer + FOOTER_DIGEST, ret_digest_hex);
	return rc;
}

/* ---- for those who read a file page by page ---- */

uint64_t seal_tail_bytes(struct slice end, uint64_t file_bytes)
{
	static const uint64_t page_bytes[] = {FORMAT_PAGE_BYTES, FORMAT_SMALL_PAGE_BYTES};
	uint64_t pages = 0;

	if (end.len >= SEAL_FOOTER_BYTES)
		pages = seal_get_u64((const uint8_t *)end.ptr + end.len - SEAL_FOOTER_BYTES + FOOTER_PAGES);
	for (size_t i = 0; i < COUNT_OF(page_bytes); i++) {
		if (pages < file_bytes / page_bytes[i] &&
			pages * (page_bytes[i] + 8) + SEAL_FOOTER_BYTES == file_bytes)
			return 8 * pages + SEAL_FOOTER_BYTES;
	}
	return end.len;
}

void seal_release(struct seal_sums *s)
{
	free(s->sums);
	*s = (struct seal_sums){0};
}

static int check_sums(const uint8_t *footer, const struct seal_sums *s, const char *path,
	const char *digest_hex, struct err *err)
{
	char found[SEAL_DIGEST_BYTES];
	uint8_t made[16];

	codec_digest((struct slice){(const char *)s->sums, 8 * s->pages}, made);
	digest_to_hex(made, found);
	if (memcmp(made, footer + FOOTER_DIGEST, sizeof(made)) == 0 && strcmp(found, digest_hex) == 0)
		return 0;
	return err_set(
		err, ERR_CORRUPT, "bad digest of '%s': found %s, expected %s", path, found, digest_hex);
}

/* Their number and size, by the footer. */
static struct seal_sums sums_in(const uint8_t *footer)
{
	uint64_t pages = seal_get_u64(footer + FOOTER_PAGES);

	return (struct seal_sums){pages, seal_get_u64(footer + FOOTER_PAGE_BYTES), xmalloc(8 * pages)};
}

/* Takes over what was read; on failure it is released. */
static int keep_sums(const uint8_t *footer, struct seal_sums *s, const char *path, const char *digest_hex,
	struct seal_sums *ret, struct err *err)
{
	int rc = check_sums(footer, s, path, digest_hex, err);

	if (rc)
		seal_release(s);
	else
		*ret = *s;
	return rc;
}

int seal_load(int fd, const char *path, const char *digest_hex, struct seal_sums *ret, struct err *err)
{
	uint8_t footer[SEAL_FOOTER_BYTES];
	struct seal_sums s;
	uint64_t at;
	int rc = read_footer(fd, path, footer, err);

	if (rc)
		return rc;
	s = sums_in(footer);
	at = s.pages * s.page_bytes;
	if (pread(fd, s.sums, 8 * s.pages, (off_t)at) == (ssize_t)(8 * s.pages))
		return keep_sums(footer, &s, path, digest_hex, ret, err);
	seal_release(&s);
	return err_set_errno(err, EIO, "cannot read '%s' at offset %" PRIu64, path, at);
}

int seal_take(struct slice tail, const char *path, uint64_t file_bytes, const char *digest_hex,
	struct seal_sums *ret, struct err *err)
{
	const uint8_t *footer;
	struct seal_sums s;
	int rc;

	if (tail.len < SEAL_FOOTER_BYTES || file_bytes < tail.len)
		return refuse_short(path, file_bytes, err);
	footer = (const uint8_t *)tail.ptr + tail.len - SEAL_FOOTER_BYTES;
	rc = check_footer(footer, path, file_bytes, err);
	if (rc)
		return rc;
	if (8 * seal_get_u64(footer + FOOTER_PAGES) + SEAL_FOOTER_BYTES > tail.len)
		return refuse_short(path, file_bytes, err);
	s = sums_in(footer);
	memcpy(s.sums, footer - 8 * s.pages, 8 * s.pages);
	return keep_sums(footer, &s, path, digest_hex, ret, err);
}
