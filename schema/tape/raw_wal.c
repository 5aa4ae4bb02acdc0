/* raw_wal.c: see raw_wal.h. */
#include "schema/tape/raw_wal.h"

#include "schema/base/buf.h"
#include "schema/base/limits.h"
#include "schema/base/regular_file.h"
#include "schema/tape/format.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define HEADER_BYTES 32
#define FRAME_HEADER 24
#define FRAME_BYTES  (FRAME_HEADER + FORMAT_PAGE_BYTES)
#define PAGES_MAX    (LIMIT_SEGMENT_BYTES / FORMAT_PAGE_BYTES)

struct frame {
	uint32_t page; /* 0: not known */
	uint32_t order;
	uint32_t pages; /* 0, or the size of the database after the transaction that ends here */
	bool damaged;
	bool is_zero; /* all of its header */
	bool breaks;  /* SQLite takes it for the log's end, be it damaged or only its sum or salt */
	off_t offset; /* of the page in the log */
};

struct raw_wal {
	int fd;
	bool big_endian, end_is_damaged;
	uint8_t header[HEADER_BYTES];
	uint8_t salt[8];
	off_t broken_at;              /* see raw_wal_is_broken; -1: nowhere */
	uint32_t pages, highest_page; /* as the last transaction says; that a frame has */
	struct frame *frames;         /* in the order of the log; those of whole transactions, in the end */
	size_t count;
	struct frame *newest;  /* the last undamaged frame of each page, sorted by page */
	struct frame *damaged; /* damaged frames that no later frame makes up for */
	size_t newest_count, damaged_count;
	uint32_t unknown_order; /* after the last damaged frame of an unknown page; 0: none */
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

struct sum {
	uint32_t a, b;
};

static void add_to_sum(struct sum *sum, const uint8_t *bytes, size_t len, bool big_endian)
{
	for (size_t i = 0; i < len; i += 8) {
		sum->a += word_at(bytes + i, big_endian) + sum->b;
		sum->b += word_at(bytes + i + 4, big_endian) + sum->a;
	}
}

static struct sum sum_at(const uint8_t *at)
{
	return (struct sum){u32_at(at), u32_at(at + 4)};
}

static bool sum_is(struct sum a, struct sum b)
{
	return a.a == b.a && a.b == b.b;
}

static struct sum sum_of_frame(const struct raw_wal *w, struct sum seed, const uint8_t *frame)
{
	add_to_sum(&seed, frame, 8, w->big_endian);
	add_to_sum(&seed, frame + FRAME_HEADER, FORMAT_PAGE_BYTES, w->big_endian);
	return seed;
}

/* ---- frames ---- */

/* Frames of the log's former lives stand after those of this one: theirs is another salt. */
static bool has_salt(const struct raw_wal *w, const uint8_t *frame)
{
	unsigned differing = 0;

	for (int i = 0; i < 8; i++)
		differing += (unsigned)__builtin_popcount(frame[8 + i] ^ w->salt[i]);
	return differing <= 1;
}

static void add_frame(struct raw_wal *w, const uint8_t *frame, bool damaged, off_t offset)
{
	static const uint8_t zeros[FRAME_HEADER];
	uint32_t page = u32_at(frame);

	w->frames = xgrow(w->frames, w->count, sizeof(*w->frames));
	w->frames[w->count] = (struct frame){
		.page = page <= PAGES_MAX ? page : 0,
		.order = (uint32_t)w->count + 1,
		.pages = has_salt(w, frame) ? u32_at(frame + 4) : 0,
		.damaged = damaged,
		.is_zero = memcmp(frame, zeros, FRAME_HEADER) == 0,
		.breaks = damaged || memcmp(frame + 8, w->salt, 8) != 0,
		.offset = offset + FRAME_HEADER,
	};
	w->count++;
}

/* Frames in a hole of the file are passed over but for the first one: they are zeros, which no frame is. */
static off_t next_frame(const struct raw_wal *w, off_t at)
{
	off_t next = at + FRAME_BYTES;
	uint64_t data = regular_file_next_data(w->fd, (uint64_t)next), passed;

	if (data == UINT64_MAX || (off_t)data < next + FRAME_BYTES)
		return next;
	passed = (data - (uint64_t)next) / FRAME_BYTES;
	return w->count && w->frames[w->count - 1].is_zero ? next + (off_t)(passed * FRAME_BYTES) : next;
}

/* Where the sum of a frame does not hold, it is the frame or the sum: the next one knows. */
static void read_frames(struct raw_wal *w, struct sum stored, struct sum made)
{
	uint8_t *frame = xmalloc(FRAME_BYTES);

	w->count = 0;
	for (off_t at = HEADER_BYTES; pread(w->fd, frame, FRAME_BYTES, at) == FRAME_BYTES;
		at = next_frame(w, at)) {
		struct sum own = sum_at(frame + 16), by_stored = sum_of_frame(w, stored, frame);
		bool salted = has_salt(w, frame), ok = salted && sum_is(by_stored, own);

		if (!ok && salted && sum_is(sum_of_frame(w, made, frame), own)) {
			ok = true;
			if (w->count)
				w->frames[w->count - 1].damaged = false;
		}
		w->end_is_damaged = !ok && (w->end_is_damaged || salted);
		add_frame(w, frame, !ok, at);
		made = by_stored;
		stored = own;
	}
	free(frame);
}

static bool has_undamaged(const struct raw_wal *w)
{
	for (size_t i = 0; i < w->count; i++) {
		if (!w->frames[i].damaged)
			return true;
	}
	return false;
}

/* What stands after the last whole transaction was never promised to anybody. */
static void drop_unfinished(struct raw_wal *w)
{
	while (w->count && (w->frames[w->count - 1].damaged || !w->frames[w->count - 1].pages))
		w->count--;
	w->pages = w->count ? w->frames[w->count - 1].pages : 0;
}

/* A database is no larger than its file, but for pages that are in the log. */
static uint32_t highest_page(const struct raw_wal *w)
{
	uint32_t highest = 0;

	for (size_t i = 0; i < w->count; i++)
		highest = w->frames[i].page > highest ? w->frames[i].page : highest;
	return highest;
}

/* What is damaged of the last transaction, or stands after it, a crash may have cut off. */
static off_t find_break(const struct raw_wal *w, bool header_holds)
{
	size_t last = w->count; /* where the last transaction begins */

	if (!last)
		return -1;
	for (last--; last && !w->frames[last - 1].pages;)
		last--;
	for (size_t i = 0; i < last; i++) {
		if (w->frames[i].breaks)
			return header_holds ? w->frames[i].offset - FRAME_HEADER : 0;
	}
	return header_holds ? -1 : 0;
}

static int compare_frames(const void *left, const void *right)
{
	const struct frame *a = left, *b = right;

	if (a->page != b->page)
		return a->page < b->page ? -1 : 1;
	return (a->order > b->order) - (a->order < b->order);
}

/* Sorted by page and order, a damaged frame is made up for by any undamaged one
 * after it of the same page. */
static void sort_frames(struct raw_wal *w)
{
	w->newest = xcalloc(w->count, sizeof(*w->newest));
	w->damaged = xcalloc(w->count, sizeof(*w->damaged));
	if (w->count)
		qsort(w->frames, w->count, sizeof(*w->frames), compare_frames);
	for (size_t i = 0, end; i < w->count; i = end) {
		size_t good = i;

		for (end = i; end < w->count && w->frames[end].page == w->frames[i].page; end++) {
			if (!w->frames[end].damaged)
				good = end + 1;
		}
		if (good > i && w->frames[i].page)
			w->newest[w->newest_count++] = w->frames[good - 1];
		for (size_t k = w->frames[i].page ? good : i; k < end; k++)
			w->damaged[w->damaged_count++] = w->frames[k];
		if (!w->frames[i].page)
			w->unknown_order = w->frames[end - 1].order;
	}
}

/* ---- the log ---- */

static void read_in_order(struct raw_wal *w, bool big_endian)
{
	struct sum made = {0, 0};

	w->big_endian = big_endian;
	add_to_sum(&made, w->header, 24, big_endian);
	read_frames(w, sum_at(w->header + 24), made);
}

static void read_log(struct raw_wal *w)
{
	uint8_t first[FRAME_HEADER];
	bool big_endian, header_holds;
	struct sum made = {0, 0};

	if (pread(w->fd, w->header, HEADER_BYTES, 0) != HEADER_BYTES)
		return;
	big_endian = u32_at(w->header) & 1;
	add_to_sum(&made, w->header, 24, big_endian);
	header_holds = sum_is(made, sum_at(w->header + 24));
	memcpy(w->salt, w->header + 16, 8);
	if (!header_holds && pread(w->fd, first, sizeof(first), HEADER_BYTES) == sizeof(first))
		memcpy(w->salt, first + 8, 8);
	read_in_order(w, big_endian);
	if (!has_undamaged(w))
		read_in_order(w, !big_endian);
	drop_unfinished(w);
	w->highest_page = highest_page(w);
	w->broken_at = find_break(w, header_holds);
}

struct raw_wal *raw_wal_open(const char *database_path)
{
	char *path = xasprintf("%s-wal", database_path);
	struct raw_wal *w = xcalloc(1, sizeof(*w));

	w->broken_at = -1;
	w->fd = regular_file_open(path, O_RDONLY, NULL);
	free(path);
	if (w->fd < 0) {
		raw_wal_close(w);
		return NULL;
	}
	read_log(w);
	sort_frames(w);
	return w;
}

void raw_wal_close(struct raw_wal *w)
{
	if (!w)
		return;
	if (w->fd >= 0)
		close(w->fd);
	free(w->frames);
	free(w->newest);
	free(w->damaged);
	free(w);
}

uint32_t raw_wal_pages(const struct raw_wal *w)
{
	return w->pages < w->highest_page ? w->pages : w->highest_page;
}

static const struct frame *raw_wal_find(const struct frame *frames, size_t count, uint32_t page)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (frames[middle].page < page)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && frames[low].page == page ? &frames[low] : NULL;
}

static bool read_page(const struct raw_wal *w, const struct frame *frame, uint8_t *to)
{
	return pread(w->fd, to, FORMAT_PAGE_BYTES, frame->offset) == FORMAT_PAGE_BYTES;
}

bool raw_wal_page(const struct raw_wal *w, uint32_t number, uint8_t *to)
{
	const struct frame *frame = raw_wal_find(w->newest, w->newest_count, number);

	return frame && read_page(w, frame, to);
}

bool raw_wal_is_stale(const struct raw_wal *w, uint32_t number)
{
	const struct frame *newest = raw_wal_find(w->newest, w->newest_count, number);

	return (newest ? newest->order : 0) < w->unknown_order ||
	       raw_wal_find(w->damaged, w->damaged_count, number) != NULL;
}

uint32_t raw_wal_damaged_count(const struct raw_wal *w)
{
	return (uint32_t)w->damaged_count;
}

bool raw_wal_damaged_page(const struct raw_wal *w, uint32_t index, uint8_t *to)
{
	return index < w->damaged_count && read_page(w, &w->damaged[index], to);
}

bool raw_wal_end_is_damaged(const struct raw_wal *w)
{
	return w->end_is_damaged;
}

bool raw_wal_is_broken(const struct raw_wal *w, uint64_t *ret_offset, uint64_t *ret_length)
{
	if (w->broken_at < 0)
		return false;
	*ret_offset = (uint64_t)w->broken_at;
	*ret_length = w->broken_at ? FRAME_BYTES : HEADER_BYTES;
	return true;
}

bool raw_wal_is_current(const struct raw_wal *w)
{
	uint8_t now[HEADER_BYTES];

	return pread(w->fd, now, HEADER_BYTES, 0) == HEADER_BYTES &&
	       memcmp(now, w->header, HEADER_BYTES) == 0;
}
