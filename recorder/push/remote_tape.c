/* remote_tape.c: see remote_tape.h. */
#include "recorder/push/remote_tape.h"

#include "recorder/push/push_book.h"
#include "recorder/push/remote_cache.h"
#include "recorder/push/remote_find.h"
#include "recorder/push/remote_folder.h"
#include "schema/base/clock.h"
#include "schema/base/limits.h"
#include "schema/base/log.h"
#include "schema/tape/fetched.h"
#include "schema/tape/format.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define RETRY_NS   (60 * NS_PER_S)
#define TRIM_EVERY (256u << 20) /* bytes fetched, or an eighth of what the cache may have */
#define NAMED_MAX  5
#define DOORS      FETCHED_AHEAD /* requests at once, of each tape */

/* Short waits are no news. */
static void tell_wait(void *context, const struct err *why, int64_t delay_ns)
{
	(void)context;
	if (delay_ns >= NS_PER_S)
		log_warn("%s; trying again", why->text);
}

static const struct s3_options reading = {.retry_ns = RETRY_NS, .waits = tell_wait};

/* A tape of which segments are read; they stay until the process ends. */
struct remote {
	char *folder; /* root/HASH */
	struct s3_place place;
	struct manifest manifest;
	struct s3_options options;
	struct s3 *idle[DOORS]; /* connections to the store that nobody uses at the moment */
	size_t idle_count;
	pthread_mutex_t lock; /* of those */
	struct remote *next;
};

static struct {
	_Atomic(char *) root; /* NULL without one */
	char **former;        /* roots, which others may be reading still */
	size_t former_count;
	bool is_spare, is_told, lacks_some; /* see remote_tape_lacks */
	pthread_mutex_t lock;
	struct remote *remotes;
	uint64_t fetched_bytes; /* since the cache was last trimmed */
} cache = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- what readers ask ---- */

static void remote_free(struct remote *r)
{
	while (r->idle_count)
		s3_close(r->idle[--r->idle_count]);
	s3_place_release(&r->place);
	manifest_release(&r->manifest);
	free(r->folder);
	free(r);
}

static struct remote *remote_new(struct slice folder)
{
	struct remote *r = xcalloc(1, sizeof(*r));

	r->folder = slice_dup(folder);
	r->options = reading;
	pthread_mutex_init(&r->lock, NULL);
	return r;
}

/* A connection of the caller's own, until it is given back. */
static int take_store(struct remote *r, struct s3 **ret, struct err *err)
{
	struct s3 *idle = NULL;

	pthread_mutex_lock(&r->lock);
	if (r->idle_count)
		idle = r->idle[--r->idle_count];
	pthread_mutex_unlock(&r->lock);
	*ret = idle;
	return idle ? 0 : s3_open(&r->options, r->place.bucket, ret, err);
}

static void give_back(struct remote *r, struct s3 *store)
{
	pthread_mutex_lock(&r->lock);
	if (r->idle_count < DOORS) {
		r->idle[r->idle_count++] = store;
		store = NULL;
	}
	pthread_mutex_unlock(&r->lock);
	s3_close(store);
}

/* Finds out early what is wrong with the options. */
static int open_store(struct remote *r, struct err *err)
{
	struct s3 *store;
	int rc = take_store(r, &store, err);

	if (!rc)
		give_back(r, store);
	return rc;
}

static int remote_load(struct remote *r, struct err *err)
{
	int rc = remote_folder_read(r->folder, &r->place, &r->manifest, err);

	return rc ? rc : open_store(r, err);
}

/* With the cache locked. Hides one of that folder that was added before, which stays for those that use it. */
static void add_remote(struct remote *r)
{
	r->next = cache.remotes;
	cache.remotes = r;
}

/* The tape of a folder, with the cache locked. */
static int remote_of(struct slice folder, struct remote **ret, struct err *err)
{
	struct remote *r;
	int rc;

	for (r = cache.remotes; r; r = r->next) {
		if (slice_is(folder, r->folder)) {
			*ret = r;
			return 0;
		}
	}
	r = remote_new(folder);
	rc = remote_load(r, err);
	if (rc) {
		remote_free(r);
		return rc;
	}
	add_remote(r);
	*ret = r;
	return 0;
}

/* From now on this process reads the tape of that manifest there, whatever others write into the folder. */
static int remote_enter(const char *folder, const struct s3_options *options, const struct s3_place *place,
	const struct manifest *m, struct err *err)
{
	struct remote *r = remote_new(slice_of(folder));
	int rc;

	r->options.endpoint = options->endpoint;
	r->options.profile = options->profile;
	r->place = (struct s3_place){xstrdup(place->bucket), xstrdup(place->key)};
	r->manifest = manifest_copy(m);
	rc = open_store(r, err);
	if (rc) {
		remote_free(r);
		return rc;
	}
	pthread_mutex_lock(&cache.lock);
	add_remote(r);
	pthread_mutex_unlock(&cache.lock);
	return 0;
}

/* ROOT/HASH/NAME.tape/seg-000001.db: the folder ROOT/HASH, and the segment's number. */
static bool split_path(const char *path, struct slice *ret_folder, uint32_t *ret_number)
{
	const char *in = cache.root;
	size_t root = in ? strlen(in) : 0;
	const char *hash = path + root + 1, *tape, *name = strrchr(path, '/');

	if (!root || strncmp(path, in, root) != 0 || path[root] != '/')
		return false;
	tape = strchr(hash, '/');
	if (!tape || tape - hash != REMOTE_HASH_DIGITS || !name || name == tape)
		return false;
	*ret_folder = (struct slice){path, (size_t)(tape - path)};
	return sscanf(name, "/" FORMAT_SEALED_NAME, ret_number) == 1;
}

static int find_segment(
	const char *path, struct remote **ret_remote, const struct manifest_segment **ret, struct err *err)
{
	struct slice folder;
	uint32_t number;
	int rc;

	if (!split_path(path, &folder, &number))
		return 0;
	pthread_mutex_lock(&cache.lock);
	rc = remote_of(folder, ret_remote, err);
	pthread_mutex_unlock(&cache.lock);
	if (rc)
		return rc;
	*ret = manifest_find(&(*ret_remote)->manifest, number);
	return *ret ? 1 : err_set(err, ERR_NOT_FOUND, "'%s' is not in the manifest", path);
}

static int on_find(void *context, const char *path, struct fetched_segment *ret, struct err *err)
{
	const struct manifest_segment *s;
	struct remote *r;
	int found = find_segment(path, &r, &s, err), rc;

	(void)context;
	if (found <= 0)
		return found;
	rc = remote_cache_file(path, s->bytes, err);
	if (rc)
		return rc;
	ret->bytes = s->bytes;
	snprintf(ret->digest, sizeof(ret->digest), "%s", s->digest);
	return 1;
}

static void count_fetched(size_t bytes)
{
	uint64_t most = REMOTE_CACHE_BYTES;
	bool trim;

	(void)!remote_cache_size(&most, NULL);
	pthread_mutex_lock(&cache.lock);
	cache.fetched_bytes += bytes;
	trim = cache.fetched_bytes > TRIM_EVERY || cache.fetched_bytes > most / 8;
	cache.fetched_bytes = trim ? 0 : cache.fetched_bytes;
	pthread_mutex_unlock(&cache.lock);
	if (trim)
		remote_cache_trim(cache.root);
}

static int on_fetch(
	void *context, const char *path, uint64_t offset, size_t bytes, struct buf *to, struct err *err)
{
	const struct manifest_segment *s;
	struct remote *r;
	struct s3 *store;
	int rc = find_segment(path, &r, &s, err);
	char *key;

	(void)context;
	if (rc <= 0)
		return rc ? rc : err_set(err, ERR_NOT_FOUND, "'%s' is nowhere to be fetched from", path);
	rc = take_store(r, &store, err);
	if (rc)
		return rc;
	key = manifest_segment_key(r->place.key, s->number);
	rc = s3_get_range(store, key, offset, bytes, to, err);
	give_back(r, store);
	free(key);
	if (!rc)
		count_fetched(bytes);
	return rc;
}

/* The disk of the cache is full, or fails: reading goes on. */
static void on_unkept(void *context, const struct err *why)
{
	bool is_told;

	(void)context;
	pthread_mutex_lock(&cache.lock);
	is_told = cache.is_told;
	cache.is_told = true;
	pthread_mutex_unlock(&cache.lock);
	if (!is_told)
		log_warn(
			"the cache '%s' takes nothing more (%s); what is fetched is not kept; " REMOTE_CACHE_VARIABLE
			" names another folder",
			cache.root, why->text);
}

static void use_root(char *root)
{
	static const struct fetched_source source = {.find = on_find, .fetch = on_fetch, .unkept = on_unkept};
	char *before = cache.root;

	if (before && strcmp(before, root) == 0) {
		free(root);
		return;
	}
	if (before) {
		cache.former = xrealloc(cache.former, (cache.former_count + 1) * sizeof(*cache.former));
		cache.former[cache.former_count++] = before;
	}
	cache.root = root;
	fetched_set_source(&source);
}

void remote_tape_init(void)
{
	char *root;

	if (remote_cache_root(&root, NULL) == 0)
		use_root(root);
}

/* Only a folder that is there has its real name. */
static int make_root(struct err *err)
{
	char *root;
	uint64_t size;
	int rc = remote_cache_size(&size, err);

	if (rc || cache.is_spare)
		return rc;
	rc = remote_cache_root(&root, err);
	if (rc)
		return rc;
	rc = remote_cache_make(root, err);
	free(root);
	if (rc)
		return rc;
	remote_tape_init();
	remote_cache_trim(cache.root);
	return 0;
}

/* ---- from a URL to a folder ---- */

static int refuse_many(const struct s3_place *p, const struct remote_places *found, struct err *err)
{
	struct buf names;
	int rc = 0;

	buf_init(&names, ERR_TEXT_MAX);
	for (size_t i = 0; i < found->count && i < NAMED_MAX && !rc; i++)
		rc = buf_printf(
			&names, NULL, "%s%s%s/%s", i ? ", " : "", S3_SCHEME, p->bucket, found->keys[i]);
	rc = err_set(err, ERR_USAGE, "there are %zu tapes below, name one of them: %.*s%s", found->count,
		(int)names.len, names.ptr, found->count > NAMED_MAX ? " ..." : "");
	buf_release(&names);
	return rc;
}

/* The place of the one tape that is meant. */
static int settle_place(struct s3 *s, struct s3_place *p, struct err *err)
{
	struct remote_places found;
	int rc = remote_find(s, p->key, &found, err);

	if (rc)
		return rc;
	if (found.count > 1) {
		rc = refuse_many(p, &found, err);
	} else {
		free(p->key);
		p->key = xstrdup(found.keys[0]);
	}
	remote_places_release(&found);
	return rc;
}

struct presented {
	const struct s3_options *options;
	const struct s3_place *place;
	const struct manifest *manifest;
	struct s3 *store; /* that has its audit book; NULL: none is wanted */
	char *path, *note;
};

/* The folder for a tape: what other processes need in it, its segments and its audit book. */
static int present_in(struct presented *p, struct err *err)
{
	const struct manifest *m = p->manifest;
	char *folder, *tape, *note = NULL;
	int rc = remote_folder_of(cache.root, p->options, p->place, &folder, err);

	if (rc)
		return rc;
	tape = remote_folder_tape(folder, m);
	rc = remote_folder_note(folder, p->place, m, err);
	rc = rc ? rc : remote_enter(folder, p->options, p->place, m, err);
	rc = rc ? rc : remote_folder_lay_out(tape, m, &note, err);
	if (!rc && p->store)
		rc = push_book_fetch(p->store, p->place->key, &m->book, tape, err);
	free(folder);
	if (rc) {
		free(tape);
		free(note);
		return rc;
	}
	p->path = tape;
	p->note = note;
	return 0;
}

static bool is_trouble_of_cache(int rc)
{
	return rc == ERR_IO || rc == ERR_NO_SPACE;
}

static int present_in_spare(struct presented *p, const struct err *why, struct err *err)
{
	int rc = ERR_IO;
	char *folder;

	for (unsigned i = 0; i < REMOTE_CACHE_SPARES && is_trouble_of_cache(rc); i++) {
		if ((rc = remote_cache_spare(i, &folder, err)))
			continue;
		use_root(folder);
		cache.is_spare = true;
		rc = present_in(p, err);
	}
	if (rc && !is_trouble_of_cache(rc))
		return rc;
	if (rc)
		return err_set(err, rc,
			"no folder takes what is fetched, " REMOTE_CACHE_VARIABLE
			" names another one: %.400s",
			why->text);
	log_warn("%s; until this command ends, '%s' is the cache; " REMOTE_CACHE_VARIABLE
		 " names another folder",
		why->text, cache.root);
	return 0;
}

/* Where the cache is of no use, as on a disk that is full or cannot be written, reading goes on with another one. */
static int present(struct presented *p, struct err *err)
{
	struct err why;
	int rc;

	if (!p->manifest->segment_count)
		return err_set(err, ERR_FAILED, "the manifest names no segment yet");
	rc = make_root(&why);
	if (rc == ERR_NOT_FOUND)
		rc = ERR_IO; /* no folder at all */
	rc = rc ? rc : present_in(p, &why);
	if (is_trouble_of_cache(rc) && !cache.is_spare)
		return present_in_spare(p, &why, err);
	return rc ? err_copy(err, &why) : 0;
}

int remote_tape_present(const struct s3_options *options, const struct s3_place *place,
	const struct manifest *m, char **ret_path, struct err *err)
{
	struct presented p = {options, place, m, NULL, NULL, NULL};
	int rc = present(&p, err);

	free(p.note);
	if (!rc)
		*ret_path = p.path;
	return rc;
}

/* The one who has the tape can make a torn manifest anew. */
static int read_manifest(struct s3 *s, const struct s3_place *p, struct manifest *ret, struct err *err)
{
	char *key = xasprintf("%s%s" MANIFEST_NAME, p->key, *p->key ? "/" : "");
	struct err why;
	int rc = manifest_read(s, key, ret, &why);

	free(key);
	if (rc == ERR_CORRUPT)
		return err_set(err, rc,
			"%s; 'kubetape push' of this tape, on the machine that records it, makes it anew",
			why.text);
	if (rc == ERR_NOT_FOUND)
		return err_set(err, rc,
			"it has segments and no " MANIFEST_NAME
			": its first push has not ended, and the next one goes on with it");
	return rc ? err_copy(err, &why) : 0;
}

/* Takes both over; either may be NULL. */
static char *join_notes(char *note, char *more)
{
	char *both;

	if (!note || !more)
		return note ? note : more;
	both = xasprintf("%s; %s", note, more);
	free(note);
	free(more);
	return both;
}

static int resolve_in(struct s3 *s, struct s3_place *p, char **ret_path, char **ret_note, struct err *err)
{
	struct manifest m;
	struct presented found = {&reading, p, &m, s, NULL, NULL};
	int rc = settle_place(s, p, err);
	char *lost;

	rc = rc ? rc : read_manifest(s, p, &m, err);
	if (rc)
		return rc;
	lost = join_notes(manifest_tell_losses(&m), manifest_leave_out_absent(s, p->key, &m));
	rc = present(&found, err);
	manifest_release(&m);
	if (rc) {
		free(lost);
		return rc;
	}
	*ret_path = found.path;
	*ret_note = join_notes(lost, found.note);
	cache.lacks_some |= *ret_note != NULL;
	if (cache.is_spare) /* for programs that this one starts */
		setenv(REMOTE_CACHE_VARIABLE, cache.root, true);
	return 0;
}

bool remote_tape_lacks(void)
{
	return cache.lacks_some;
}

int remote_tape_resolve(const char *url, char **ret_path, char **ret_note, struct err *err)
{
	struct s3_place place = {0};
	struct s3 *s = NULL;
	struct err why;
	int rc = s3_place_parse(url, &place, &why);

	*ret_note = NULL;
	rc = rc ? rc : s3_open(&reading, place.bucket, &s, &why);
	rc = rc ? rc : resolve_in(s, &place, ret_path, ret_note, &why);
	s3_close(s);
	s3_place_release(&place);
	if (rc)
		err_copy(err, &why);
	return rc == 0 || rc == ERR_USAGE ? rc : err_prefix(err, rc, "cannot read '%s'", url);
}

/* The tape's folder, FOLDER/NAME.tape, at the front of a text; 0: it is not there. */
static size_t folder_length(const char *text, const struct remote *r)
{
	size_t len = strlen(r->folder);
	const char *end;

	if (strncmp(text, r->folder, len) != 0 || text[len] != '/')
		return 0;
	end = strstr(text + len, REMOTE_TAPE_ENDING);
	return end ? (size_t)(end - text) + strlen(REMOTE_TAPE_ENDING) : 0;
}

static const struct remote *remote_at(const char *text, size_t *ret_length)
{
	const struct remote *r = cache.remotes;

	while (r && !(*ret_length = folder_length(text, r)))
		r = r->next;
	return r;
}

char *remote_tape_words(const char *text)
{
	struct buf words;
	char *copy;
	size_t len;
	int rc = 0;

	buf_init(&words, LIMIT_DOCUMENT_BYTES);
	pthread_mutex_lock(&cache.lock);
	while (*text && !rc) {
		const struct remote *r = *text == '/' ? remote_at(text, &len) : NULL;

		rc = r ? buf_printf(&words, NULL, "%s%s%s%s", S3_SCHEME, r->place.bucket,
				 *r->place.key ? "/" : "", r->place.key)
		       : buf_append(&words, text, 1, NULL);
		text += r ? len : 1;
	}
	pthread_mutex_unlock(&cache.lock);
	copy = slice_dup(buf_slice(&words));
	buf_release(&words);
	return copy;
}

int remote_tape_each(const char *url, int (*each)(void *context, const char *url, struct err *err),
	void *context, struct err *err)
{
	struct remote_places found = {0};
	struct s3_place place = {0};
	struct s3 *s = NULL;
	int rc = s3_place_parse(url, &place, err);

	rc = rc ? rc : s3_open(&reading, place.bucket, &s, err);
	if (!rc && (rc = remote_find(s, place.key, &found, err)))
		rc = err_prefix(err, rc, "cannot read '%s'", url);
	for (size_t i = 0; i < found.count && !rc; i++) {
		char *one = xasprintf("%s%s/%s", S3_SCHEME, place.bucket, found.keys[i]);

		rc = each(context, one, err);
		free(one);
	}
	remote_places_release(&found);
	s3_close(s);
	s3_place_release(&place);
	return rc;
}
