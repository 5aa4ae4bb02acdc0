/* raw_wal.c: see raw_wal.h. */
#include "schema/tape/raw_wal.h"

#include "schema/base/buf.h"
#include "schema/tape/format.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define HEADER_BYTES 32
#define FRAME_BYTES  (24 + FORMAT_PAGE_BYTES)
#define MAGIC        0x377f0682u /* the lowest bit says that sums take their words as big-endian */

struct frame {
	uint32_t page;
	off_t offset; /* of the page in the log */
};

struct raw_wal {
	int fd;
	uint32_t pages;
	struct frame *frames;
	size_t count, whole; /* whole: up to the last transaction that ended */
};

static uint32_t u32_at(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static uint32_t word_at(const uint8_t *at, bool big_endian)
{
	if (big_endian)
		return u32_at(at);
	return (uint32_t)at[3] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[1] << 8 | at[0];
}

static void add_to_sum(uint32_t sum[2], const uint8_t *bytes, size_t len, bool big_endian)
{
	for (size_t i = 0; i < len; i += 8) {
		sum[0] += word_at(bytes + i, big_endian) + sum[1];
		sum[1] += word_at(bytes + i + 4, big_endian) + sum[0];
	}
}

static bool sum_is(const uint32_t sum[2], const uint8_t *at)
{
	return sum[0] == u32_at(at) && sum[1] == u32_at(at + 4);
}

static void add_frame(struct raw_wal *w, uint32_t page, off_t offset)
{
	if ((w->count & (w->count - 1)) == 0)
		w->frames = xrealloc(w->frames, (w->count ? 2 * w->count : 1) * sizeof(*w->frames));
	w->frames[w->count++] = (struct frame){page, offset};
}

/* Frames follow as long as their salt is the header's and the running sum holds. */
static void read_frames(struct raw_wal *w, const uint8_t header[HEADER_BYTES], uint32_t sum[2])
{
	bool big_endian = u32_at(header) & 1;
	uint8_t *frame = xmalloc(FRAME_BYTES);

	for (off_t at = HEADER_BYTES; pread(w->fd, frame, FRAME_BYTES, at) == FRAME_BYTES;
		at += FRAME_BYTES) {
		add_to_sum(sum, frame, 8, big_endian);
		add_to_sum(sum, frame + 24, FORMAT_PAGE_BYTES, big_endian);
		if (memcmp(frame + 8, header + 16, 8) != 0 || !sum_is(sum, frame + 16))
			break;
		add_frame(w, u32_at(frame), at + 24);
		if (u32_at(frame + 4)) {
			w->whole = w->count;
			w->pages = u32_at(frame + 4);
		}
	}
	free(frame);
}

struct raw_wal *raw_wal_open(const char *database_path)
{
	char *path = xasprintf("%s-wal", database_path);
	struct raw_wal *w = xcalloc(1, sizeof(*w));
	uint8_t header[HEADER_BYTES];
	uint32_t sum[2] = {0, 0};

	w->fd = open(path, O_RDONLY | O_CLOEXEC);
	free(path);
	if (w->fd >= 0 && pread(w->fd, header, HEADER_BYTES, 0) == HEADER_BYTES &&
		(u32_at(header) & ~1u) == MAGIC && u32_at(header + 8) == FORMAT_PAGE_BYTES) {
		add_to_sum(sum, header, 24, u32_at(header) & 1);
		if (sum_is(sum, header + 24))
			read_frames(w, header, sum);
	}
	if (w->whole)
		return w;
	raw_wal_close(w);
	return NULL;
}

void raw_wal_close(struct raw_wal *w)
{
	if (!w)
		return;
	if (w->fd >= 0)
		close(w->fd);
	free(w->frames);
	free(w);
}

uint32_t raw_wal_pages(const struct raw_wal *w)
{
	return w->pages;
}

bool raw_wal_page(const struct raw_wal *w, uint32_t number, uint8_t *to)
{
	for (size_t i = w->whole; i-- > 0;) {
		if (w->frames[i].page == number)
			return pread(w->fd, to, FORMAT_PAGE_BYTES, w->frames[i].offset) == FORMAT_PAGE_BYTES;
	}
	return false;
}
