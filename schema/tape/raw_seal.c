/* raw_seal.c: see raw_seal.h. */
#include "schema/tape/raw_seal.h"

#include "schema/base/buf.h"
#include "schema/base/regular_file.h"
#include "schema/tape/codec.h"
#include "schema/tape/format.h"
#include "schema/tape/seal.h"

#include <stdlib.h>
#include <unistd.h>

#define HEADER_PAGES_AT 28 /* in SQLite's header, big-endian */
/* Each costs 10 ms or so, and where many pages are bad it was no single bit. */
#define MEND_TRIES_MAX 200
#define SUMS_AT_ONCE   1024

enum page_state { PAGE_UNKNOWN, PAGE_GOOD, PAGE_BAD, PAGE_MENDED };

struct page_note {
	uint8_t state;
	uint16_t bit; /* MENDED: byte * 8 + bit in it */
};

struct raw_seal {
	int fd;
	uint64_t file_bytes, page_bytes;
	uint32_t pages;
	struct page_note *notes; /* by number - 1; NULL when all are good */
	uint32_t mended;
};

static uint64_t sum_of(const struct raw_seal *s, const uint8_t *page)
{
	return codec_hash((struct slice){(const char *)page, s->page_bytes});
}

static bool read_page(const struct raw_seal *s, uint64_t index, uint8_t page[FORMAT_PAGE_BYTES])
{
	return pread(s->fd, page, s->page_bytes, (off_t)(index * s->page_bytes)) == (ssize_t)s->page_bytes;
}

/* ---- where the sums are ---- */

/* The sums of the pages that the file has, made afresh. */
static uint64_t *make_sums(const struct raw_seal *s, uint64_t count)
{
	uint64_t *sums = xcalloc(count, sizeof(*sums)), data = 0;
	uint8_t page[FORMAT_PAGE_BYTES] = {0};
	uint64_t of_zeros = sum_of(s, page);

	for (uint64_t i = 0; i < count; i++) {
		if (data < (i + 1) * s->page_bytes)
			data = regular_file_next_data(s->fd, i * s->page_bytes);
		sums[i] = data >= (i + 1) * s->page_bytes ? of_zeros /* in a hole */
			  : read_page(s, i, page)         ? sum_of(s, page)
							  : 0;
	}
	return sums;
}

/* The sums as sealed, if the database has that many pages; those that the file lacks are zero. */
static uint64_t *read_sums(const struct raw_seal *s, uint64_t pages)
{
	uint64_t *sums = xcalloc(pages, sizeof(*sums)), at = pages * s->page_bytes;
	uint8_t bytes[8 * SUMS_AT_ONCE];

	for (uint64_t i = 0; i < pages;) {
		uint64_t left = pages - i;
		ssize_t n = pread(
			s->fd, bytes, 8 * (left < SUMS_AT_ONCE ? left : SUMS_AT_ONCE), (off_t)(at + 8 * i));

		if (n < 8)
			break;
		for (ssize_t k = 0; k + 8 <= n; k += 8)
			sums[i++] = seal_get_u64(bytes + k);
	}
	return sums;
}

static uint64_t count_equal(const uint64_t *fresh, uint64_t fresh_count, const uint64_t *kept, uint64_t pages)
{
	uint64_t equal = 0;

	for (uint64_t i = 0; i < pages && i < fresh_count; i++)
		equal += fresh[i] == kept[i];
	return equal;
}

/* What the file's size, the footer and SQLite's header say of the number of pages; 0 for nothing. */
static void guess_pages(const struct raw_seal *s, uint64_t ret[3])
{
	uint8_t bytes[8];

	ret[0] = s->file_bytes > SEAL_FOOTER_BYTES ? (s->file_bytes - SEAL_FOOTER_BYTES) / (s->page_bytes + 8)
						   : 0;
	ret[1] = ret[2] = 0;
	if (s->file_bytes >= SEAL_FOOTER_BYTES &&
		pread(s->fd, bytes, 8, (off_t)(s->file_bytes - SEAL_FOOTER_BYTES + SEAL_FOOTER_PAGES)) == 8)
		ret[1] = seal_get_u64(bytes);
	if (pread(s->fd, bytes, 4, HEADER_PAGES_AT) == 4)
		ret[2] = (uint64_t)bytes[0] << 24 | (uint64_t)bytes[1] << 16 | (uint64_t)bytes[2] << 8 |
			 bytes[3];
}

/* The array of sums; one that is equal proves the place. */
static uint64_t *find_sums(const struct raw_seal *s, const uint64_t *fresh, uint64_t fresh_count,
	uint64_t *ret_pages, uint64_t *ret_equal)
{
	uint64_t guesses[3], best = 0, *sums = NULL;

	guess_pages(s, guesses);
	for (int i = 0; i < 3; i++) {
		uint64_t equal, *tried;

		if (!guesses[i] || guesses[i] > s->file_bytes / s->page_bytes)
			continue;
		tried = read_sums(s, guesses[i]);
		equal = count_equal(fresh, fresh_count, tried, guesses[i]);
		if (equal <= best) {
			free(tried);
			continue;
		}
		free(sums);
		sums = tried;
		best = equal;
		*ret_pages = guesses[i];
	}
	*ret_equal = best;
	return sums;
}

/* ---- judging pages ---- */

static bool find_flipped_bit(const struct raw_seal *s, uint64_t index, uint64_t expected, uint16_t *ret)
{
	uint8_t page[FORMAT_PAGE_BYTES];

	if (!read_page(s, index, page))
		return false;
	for (uint32_t bit = 0; bit < s->page_bytes * 8; bit++) {
		page[bit / 8] ^= (uint8_t)(1u << bit % 8);
		if (sum_of(s, page) == expected) {
			*ret = (uint16_t)bit;
			return true;
		}
		page[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	return false;
}

static void raw_seal_judge(struct raw_seal *s, const uint64_t *fresh, const uint64_t *kept)
{
	uint32_t tries = 0, good = 0;

	for (uint64_t i = 0; i < s->pages; i++) {
		struct page_note *note = &s->notes[i];
		uint64_t differing = fresh[i] ^ kept[i];

		/* When one bit differs it is the sum's own: two sums are not alike by chance. */
		note->state = !kept[i]                             ? PAGE_UNKNOWN
			      : (differing & (differing - 1)) == 0 ? PAGE_GOOD
								   : PAGE_BAD;
		good += note->state == PAGE_GOOD;
		if (note->state != PAGE_BAD || tries++ >= MEND_TRIES_MAX ||
			!find_flipped_bit(s, i, kept[i], &note->bit))
			continue;
		note->state = PAGE_MENDED;
		s->mended++;
	}
	if (good < s->pages)
		return;
	free(s->notes);
	s->notes = NULL;
}

/* Judges the pages if they are of that size, and more of them are as sealed than at the best size so far. */
static void try_page_size(struct raw_seal *s, uint64_t page_bytes, uint64_t *best)
{
	struct raw_seal tried = {.fd = s->fd, .file_bytes = s->file_bytes, .page_bytes = page_bytes};
	uint64_t fresh_count = s->file_bytes / page_bytes, pages = 0, equal = 0;
	uint64_t *fresh = make_sums(&tried, fresh_count);
	uint64_t *kept = find_sums(&tried, fresh, fresh_count, &pages, &equal);

	if (kept && pages <= UINT32_MAX && equal * page_bytes > *best) {
		free(s->notes);
		*s = tried;
		*best = equal * page_bytes;
		s->pages = (uint32_t)pages;
		s->notes = xcalloc(pages, sizeof(*s->notes));
		raw_seal_judge(s, fresh, kept);
	}
	free(fresh);
	free(kept);
}

struct raw_seal *raw_seal_open(int fd, uint64_t file_bytes)
{
	struct raw_seal *s = xcalloc(1, sizeof(*s));
	uint64_t best = 0;

	s->fd = fd;
	s->file_bytes = file_bytes;
	try_page_size(s, FORMAT_PAGE_BYTES, &best);
	try_page_size(s, FORMAT_SMALL_PAGE_BYTES, &best);
	if (best)
		return s;
	raw_seal_close(s);
	return NULL;
}

void raw_seal_close(struct raw_seal *s)
{
	if (!s)
		return;
	free(s->notes);
	free(s);
}

size_t raw_seal_page_bytes(const struct raw_seal *s)
{
	return s->page_bytes;
}

uint32_t raw_seal_pages(const struct raw_seal *s)
{
	return s->pages;
}

static const struct page_note *note_of(const struct raw_seal *s, uint32_t number)
{
	static const struct page_note good = {.state = PAGE_GOOD};

	if (!s->notes && number >= 1 && number <= s->pages)
		return &good;
	return number >= 1 && number <= s->pages ? &s->notes[number - 1] : NULL;
}

bool raw_seal_is_bad(const struct raw_seal *s, uint32_t number)
{
	const struct page_note *note = note_of(s, number);

	return !note || note->state == PAGE_BAD;
}

void raw_seal_mend(const struct raw_seal *s, uint32_t number, uint8_t *page)
{
	const struct page_note *note = note_of(s, number);

	if (note && note->state == PAGE_MENDED)
		page[note->bit / 8] ^= (uint8_t)(1u << note->bit % 8);
}

uint32_t raw_seal_mended_count(const struct raw_seal *s)
{
	return s->mended;
}
