/* stock.c: see stock.h. */
#include "recorder/push/stock.h"

#include "recorder/push/push_book.h"
#include "recorder/push/remote_tape.h"
#include "recorder/push/segment_facts.h"
#include "schema/base/clock.h"
#include "schema/tape/fetched.h"
#include "schema/tape/segment.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* An object of the folder, as a list describes it. */
struct found {
	uint32_t number;
	uint64_t bytes;
	char etag[S3_ETAG_BYTES];
};

/* The folder, and the sealed segments here. */
struct shelf {
	const struct stock *of;
	size_t prefix; /* of keys, with its slash */
	struct found *items;
	size_t count;
	bool has_book;
	uint64_t book_bytes;
	struct segment_file *here;
	size_t here_count;
};

/* ---- the objects of the store, and the segments of this machine ---- */

static int take_object(void *context, const struct s3_entry *entry)
{
	struct shelf *shelf = context;
	const char *name = entry->key + shelf->prefix;
	struct found f = {.bytes = entry->bytes};

	if (strcmp(name, PUSH_BOOK_OBJECT) == 0) {
		shelf->has_book = true;
		shelf->book_bytes = entry->bytes;
	}
	if (!segment_is_sealed_name(name, &f.number))
		return 0;
	snprintf(f.etag, sizeof(f.etag), "%.*s", (int)entry->etag.len, entry->etag.ptr);
	shelf->items = xrealloc(shelf->items, (shelf->count + 1) * sizeof(*shelf->items));
	shelf->items[shelf->count++] = f;
	return 0;
}

static int compare_numbers(const void *left, const void *right)
{
	const struct found *a = left, *b = right;

	return (a->number > b->number) - (a->number < b->number);
}

static void shelf_close(struct shelf *shelf)
{
	segment_list_free(shelf->here, shelf->here_count);
	free(shelf->items);
}

/* A store that lists nothing to us may still answer for each object. */
static int shelf_open(const struct stock *k, struct shelf *ret, struct err *err)
{
	char *prefix = xasprintf("%s/", k->place->key);
	struct err why;
	int rc;

	*ret = (struct shelf){.of = k, .prefix = strlen(prefix)};
	rc = s3_list(k->store, prefix, "/", take_object, ret, &why);
	free(prefix);
	if (rc && rc != ERR_DENIED) {
		shelf_close(ret);
		return err_copy(err, &why);
	}
	rc = segment_list(k->tape_path, &ret->here, &ret->here_count, err);
	if (rc) {
		shelf_close(ret);
		return rc;
	}
	if (ret->count)
		qsort(ret->items, ret->count, sizeof(*ret->items), compare_numbers);
	return 0;
}

static const struct found *shelf_find(const struct shelf *shelf, uint32_t number)
{
	for (size_t i = 0; i < shelf->count; i++) {
		if (shelf->items[i].number == number)
			return &shelf->items[i];
	}
	return NULL;
}

/* NULL: the segment is not here, or no longer. */
static const char *path_here(const struct shelf *shelf, uint32_t number)
{
	for (size_t i = 0; i < shelf->here_count; i++) {
		const struct segment_file *f = &shelf->here[i];

		if (f->number == number && f->sealed && access(f->path, F_OK) == 0)
			return f->path;
	}
	return NULL;
}

static char *object_url(const struct stock *k, const char *key)
{
	return xasprintf("%s%s/%s", S3_SCHEME, k->place->bucket, key);
}

/* ---- whether it is what the manifest says ---- */

static void tell_off(const struct stock *k, const char *key, const struct manifest_segment *s,
	const struct s3_object *object, bool is_here)
{
	char *url = object_url(k, key), *what, *all;

	if (!object)
		what = xasprintf("'%s' is gone from the store", url);
	else if (object->bytes != s->bytes)
		what = xasprintf("'%s' has %" PRIu64 " bytes in the store, expected %" PRIu64, url,
			object->bytes, s->bytes);
	else
		what = xasprintf("'%s' was changed in the store: its sum is '%.16s', expected '%.16s'", url,
			object->sha256, s->sha256);
	all = xasprintf("%s; %s", what,
		is_here ? "pushing it again" : "this machine no longer has it, and cannot push it again");
	if (k->tell)
		k->tell(k->context, all);
	free(all);
	free(what);
	free(url);
}

/* Where the sum was lost, as when a bucket is copied, a segment that is not here is believed by its size. */
static bool is_same(const struct s3_object *object, const struct manifest_segment *s, bool is_here)
{
	return manifest_is_object(s, object) || (object->bytes == s->bytes && !*object->sha256 && !is_here);
}

static int check_segment(
	const struct shelf *shelf, struct manifest_segment *s, uint64_t *lost, struct err *err)
{
	const struct found *f = shelf_find(shelf, s->number);
	bool is_here = path_here(shelf, s->number) != NULL;
	struct s3_object object;
	struct err why;
	char *key;
	int rc;

	if (f && f->bytes == s->bytes && *s->etag && strcmp(f->etag, s->etag) == 0)
		return 0;
	key = manifest_segment_key(shelf->of->place->key, s->number);
	rc = s3_head(shelf->of->store, key, &object, &why);
	if (!rc && is_same(&object, s, is_here)) {
		manifest_note_etag(s, object.etag);
	} else if (!rc || rc == ERR_NOT_FOUND) {
		s->is_off = true;
		*lost += !is_here;
		tell_off(shelf->of, key, s, rc ? NULL : &object, is_here);
		rc = 0;
	}
	free(key);
	return rc ? err_copy(err, &why) : 0;
}

/* The next one that is pushed takes its place. */
static void check_book(const struct shelf *shelf, struct manifest_book *book)
{
	if (!*book->sha256 || !shelf->count || (shelf->has_book && shelf->book_bytes == book->bytes))
		return;
	*book = (struct manifest_book){0};
	if (shelf->of->tell)
		shelf->of->tell(shelf->of->context,
			"the audit book in the store is not what the manifest says; pushing it again");
}

/* Whether the folder has a segment that the manifest does not name, and this machine no longer has. */
static bool is_behind(const struct shelf *shelf, const struct manifest *m)
{
	size_t i = 0;

	while (i < shelf->count &&
		(manifest_find(m, shelf->items[i].number) || path_here(shelf, shelf->items[i].number)))
		i++;
	return i < shelf->count;
}

int stock_check(
	const struct stock *k, struct manifest *m, uint64_t *ret_lost, bool *ret_behind, struct err *err)
{
	struct shelf shelf;
	int rc;

	*ret_lost = 0;
	*ret_behind = false;
	if (!m->segment_count)
		return 0;
	rc = shelf_open(k, &shelf, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < m->segment_count && !rc; i++)
		rc = check_segment(&shelf, &m->segments[i], ret_lost, err);
	if (!rc)
		check_book(&shelf, &m->book);
	*ret_behind = !rc && is_behind(&shelf, m);
	shelf_close(&shelf);
	return rc;
}

/* ---- a manifest made anew ---- */

/* A segment that is here counts if the store has the same. 1: it is here; what the store has of it is another question. */
static int take_same(const struct shelf *shelf, const struct s3_object *object, struct manifest_segment *s,
	struct manifest *m, struct err *err)
{
	const char *path = path_here(shelf, s->number);
	struct err why;
	int rc;

	if (!path)
		return 0;
	rc = segment_facts(path, s, &why);
	if (rc == ERR_CORRUPT || (rc && access(path, F_OK)))
		return 0;
	if (rc)
		return err_copy(err, &why);
	if (manifest_is_object(s, object))
		manifest_add(m, s);
	return 1;
}

/* "" if it has none. */
static void take_sum(const struct s3_object *object, char to[S3_SUM_BYTES])
{
	bool is_sum = manifest_is_sum(object->sha256, S3_SUM_BYTES - 1);

	snprintf(to, S3_SUM_BYTES, "%.*s", S3_SUM_BYTES - 1, is_sum ? object->sha256 : "");
}

/* What can be known of a segment before any of its pages is read. */
static int take_outside(const struct stock *k, const char *key, const struct s3_object *object,
	struct manifest_segment *s, struct err *err)
{
	char *url = object_url(k, key);
	struct buf footer;
	int rc = 0;

	s->bytes = object->bytes;
	take_sum(object, s->sha256);
	buf_init(&footer, SEAL_FOOTER_BYTES);
	if (s->bytes > SEAL_FOOTER_BYTES)
		rc = s3_get_range(
			k->store, key, s->bytes - SEAL_FOOTER_BYTES, SEAL_FOOTER_BYTES, &footer, err);
	rc = rc ? rc : seal_digest_of(buf_slice(&footer), url, s->bytes, s->digest, err);
	buf_release(&footer);
	free(url);
	return rc;
}

static int take_found(const struct shelf *shelf, const struct found *f, struct manifest *m,
	struct manifest *elsewhere, struct err *err)
{
	struct manifest_segment s = {.number = f->number, .pushed_ns = clock_wall_ns(&clock_system)};
	char *key = manifest_segment_key(shelf->of->place->key, f->number);
	struct s3_object object;
	struct err why;
	int rc = s3_head(shelf->of->store, key, &object, &why), here;

	if (rc)
		goto done;
	manifest_note_etag(&s, object.etag);
	here = take_same(shelf, &object, &s, m, &why);
	rc = here < 0 ? here : 0;
	if (!here && !(rc = take_outside(shelf->of, key, &object, &s, &why)))
		manifest_add(elsewhere, &s);
done:
	free(key);
	return rc == ERR_NOT_FOUND || !rc ? 0 : err_copy(err, &why);
}

/* Its events, and its sum where the store has lost that: read as any tape of a store is, by the pages' own sums. */
static int read_elsewhere(const char *folder, struct manifest_segment *s, struct err *err)
{
	char *path = xasprintf("%s/" FORMAT_SEALED_NAME, folder, s->number);
	int rc = segment_facts_events(path, s, err);

	if (!rc && !*s->sha256)
		rc = fetched_complete(path, err);
	if (!rc && !*s->sha256)
		rc = s3_sum_of_path(path, &s->bytes, s->sha256, err);
	free(path);
	return rc;
}

static int add_elsewhere(
	const struct stock *k, const struct manifest *elsewhere, struct manifest *m, struct err *err)
{
	char *folder;
	int rc = elsewhere->segment_count ? remote_tape_present(k->options, k->place, elsewhere, &folder, err)
					  : 1;

	if (rc)
		return rc < 0 ? rc : 0;
	for (size_t i = 0; i < elsewhere->segment_count && !rc; i++) {
		struct manifest_segment s = elsewhere->segments[i];

		rc = read_elsewhere(folder, &s, err);
		if (!rc)
			manifest_add(m, &s);
	}
	free(folder);
	return rc;
}

static void note_loss(struct manifest *m, uint32_t first, uint32_t end)
{
	if (first < end)
		manifest_add_loss(m, &(struct manifest_loss){first, end - 1, clock_wall_ns(&clock_system)});
}

/* What lacks from one segment of the store to the next, but for what is here and follows. */
static void note_holes(const struct shelf *shelf, struct manifest *m)
{
	for (size_t i = 1; i < m->segment_count; i++) {
		uint32_t next = m->segments[i - 1].number + 1, end = m->segments[i].number;

		for (size_t k = 0; k < shelf->here_count; k++) {
			uint32_t here = shelf->here[k].number;

			if (here < next || here >= end)
				continue;
			note_loss(m, next, here);
			next = here + 1;
		}
		note_loss(m, next, end);
	}
}

/* Where the store has lost the sum. */
static int sum_book(struct s3 *store, const char *key, struct manifest_book *book, struct err *err)
{
	FILE *copy = tmpfile();
	int rc;

	if (!copy)
		return err_set_errno(err, errno, "cannot make a temporary file");
	rc = s3_get_to(store, key, book->bytes, copy, err);
	if (!rc && fflush(copy))
		rc = err_set_errno(err, errno, "cannot write a temporary file");
	if (!rc)
		rc = s3_sum_of_file(fileno(copy), 0, book->bytes, book->sha256, err);
	fclose(copy);
	return rc;
}

static int take_book(const struct shelf *shelf, struct manifest_book *ret, struct err *err)
{
	char *key = xasprintf("%s/" PUSH_BOOK_OBJECT, shelf->of->place->key);
	struct s3_object object;
	int rc = shelf->has_book ? s3_head(shelf->of->store, key, &object, err) : 1;

	if (!rc) {
		ret->bytes = object.bytes;
		take_sum(&object, ret->sha256);
		if (!*ret->sha256)
			rc = sum_book(shelf->of->store, key, ret, err);
	}
	free(key);
	return rc < 0 ? rc : 0;
}

static int take_shelf(const struct shelf *shelf, struct manifest *m, struct err *err)
{
	struct manifest elsewhere = {
		.tape_id = xstrdup(m->tape_id), .cluster = xstrdup(m->cluster), .name = xstrdup(m->name)};
	int rc = 0;

	for (size_t i = 0; i < shelf->count && !rc; i++)
		rc = take_found(shelf, &shelf->items[i], m, &elsewhere, err);
	rc = rc ? rc : add_elsewhere(shelf->of, &elsewhere, m, err);
	rc = rc ? rc : take_book(shelf, &m->book, err);
	if (!rc)
		note_holes(shelf, m);
	manifest_release(&elsewhere);
	return rc;
}

int stock_take(const struct stock *k, struct manifest *m, struct err *err)
{
	struct shelf shelf;
	int rc = shelf_open(k, &shelf, err);

	if (rc)
		return rc;
	rc = take_shelf(&shelf, m, err);
	shelf_close(&shelf);
	return rc;
}
