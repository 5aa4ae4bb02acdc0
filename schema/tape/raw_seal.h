/*
 * raw_seal.h: which pages of a damaged sealed segment are as sealed. Unlike seal.h it uses each checksum by
 * itself: the footer may be gone and the array of checksums cut. A page with a single flipped bit is
 * corrected: of all pages that differ from it in one bit, the one that has the checksum was sealed.
 */
#ifndef SCHEMA_TAPE_RAW_SEAL_H
#define SCHEMA_TAPE_RAW_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct raw_seal;

/* NULL if no page matches any of the checksums. Borrows fd. */
struct raw_seal *raw_seal_open(int fd, uint64_t file_bytes);
void raw_seal_close(struct raw_seal *s);

size_t raw_seal_page_bytes(const struct raw_seal *s);

/* Pages of the database, also of those that the file lacks. Numbers below are from 1. */
uint32_t raw_seal_pages(const struct raw_seal *s);

/* True if the page has another sum, even mended, than it was sealed with. */
bool raw_seal_is_bad(const struct raw_seal *s, uint32_t number);

/* Turns the flipped bit of the page back, if it has one. */
void raw_seal_mend(const struct raw_seal *s, uint32_t number, uint8_t *page);
uint32_t raw_seal_mended_count(const struct raw_seal *s);

#endif
