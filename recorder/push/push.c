/* push.c: see push.h. */
#include "recorder/push/push.h"

#include "recorder/push/copy.h"
#include "recorder/push/house.h"
#include "recorder/push/push_account.h"
#include "recorder/push/push_book.h"
#include "recorder/push/push_note.h"
#include "recorder/push/push_put.h"
#include "recorder/push/segment_facts.h"
#include "recorder/push/stock.h"
#include "schema/base/clock.h"
#include "schema/base/version.h"
#include "schema/tape/identity.h"
#include "schema/tape/reader.h"
#include "schema/tape/segment.h"
#include "schema/tape/tape_lock.h"
#include "schema/tape/writer.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define MANIFEST_TRIES 20 /* others may push the same tape */

struct push {
	struct push_options options;
	struct house *house; /* instead of the store, NULL: an object store */
	struct s3 *store;
	struct s3_place place; /* key: of the tape's folder */
	char *url, *manifest_key;
	struct manifest manifest;
	bool is_remade, is_checked; /* the manifest: and not written yet; against what the store has */
	struct push_figures figures;
	uint32_t first_seen;              /* number of the first segment that was ever here, for this push */
	uint32_t first_there;             /* ... and of the first one that was ever there; 0: none was */
	uint64_t total_bytes, done_bytes; /* of this run */
};

/* ---- what is here ---- */

/* The last part of the path, without its ending. */
static char *tape_name(const char *path)
{
	size_t len = strlen(path), begin, end;

	while (len > 1 && path[len - 1] == '/')
		len--;
	for (begin = len; begin && path[begin - 1] != '/';)
		begin--;
	for (end = len; end > begin && path[end] != '.';)
		end--;
	end = end > begin && (strncmp(path + end, ".tape", 5) == 0 || strncmp(path + end, ".ktape", 6) == 0)
		      ? end
		      : len;
	return slice_dup((struct slice){path + begin, end - begin});
}

static bool has_writer(const char *path)
{
	int fd = -1, rc = tape_lock_share(path, &fd, NULL);

	if (fd >= 0)
		close(fd);
	return rc == ERR_BUSY;
}

/* A killed writer left the last segment open; the next one seals it, and that is what we are here. */
static int seal_what_is_left(const char *path, struct err *err)
{
	struct tape_writer *w;
	int rc = tape_writer_open(
		path, &(struct tape_writer_options){.program = "kubetape " KUBETAPE_VERSION}, &w, err);

	if (!rc)
		rc = tape_writer_close(w, err);
	return rc == ERR_BUSY ? 0 : rc;
}

static int list_sealed(struct push *p, struct segment_file **ret, size_t *ret_count, struct err *err)
{
	size_t count;
	int rc = segment_list(p->options.tape_path, ret, &count, err);

	p->figures.open = has_writer(p->options.tape_path);
	if (!rc && count && !(*ret)[count - 1].sealed && !p->figures.open) {
		segment_list_free(*ret, count);
		rc = seal_what_is_left(p->options.tape_path, err);
		if (!rc)
			rc = segment_list(p->options.tape_path, ret, &count, err);
	}
	if (rc)
		return rc;
	if (count && !(*ret)[count - 1].sealed)
		free((*ret)[--count].path);
	*ret_count = count;
	return 0;
}

/* ---- beginning ---- */

/* No store lists keys with such characters as it took them. */
static bool has_control(const char *name)
{
	while (*name && !iscntrl((unsigned char)*name))
		name++;
	return *name;
}

static int check_cluster(const char *name, struct err *err)
{
	if (*name && !has_control(name) && !strchr(name, '/') && strcmp(name, ".") != 0 &&
		strcmp(name, "..") != 0)
		return 0;
	return err_set(err, ERR_USAGE,
		"bad name of a cluster '%s': expected one without '/' and control characters that is not '.' or '..'",
		name);
}

static struct stock stock_of(const struct push *p)
{
	return (struct stock){.store = p->store,
		.options = &p->options.store,
		.place = &p->place,
		.tape_path = p->options.tape_path,
		.tell = p->options.tell,
		.context = p->options.context};
}

static void tell_remade(const struct push *p, const char *why)
{
	char *sentence = xasprintf("'%s/" MANIFEST_NAME
				   "' %s; it is made anew from what the store has (%zu segment%s)",
		p->url, why, p->manifest.segment_count, p->manifest.segment_count == 1 ? "" : "s");

	if (p->options.tell)
		p->options.tell(p->options.context, sentence);
	free(sentence);
}

/* The store has no manifest, or with an etag one of no use, and why, which the new one replaces. Segments may be there even so, and not
 * be here any more. */
static int remake_manifest(struct push *p, const char *etag, const char *of_no_use, struct err *err)
{
	const struct stock stock = stock_of(p);
	struct manifest *m = &p->manifest;
	struct err why;
	int rc;

	m->segment_count = m->loss_count = 0;
	m->book = (struct manifest_book){0};
	snprintf(m->etag, sizeof(m->etag), "%s", etag);
	rc = stock_take(&stock, m, &why);
	if (rc == ERR_CORRUPT)
		return err_set(err, rc,
			"cannot make '%s/" MANIFEST_NAME
			"' anew: %.400s; this machine no longer has that segment: move it away there and push "
			"again, the manifest will say that it is lost",
			p->url, why.text);
	if (rc)
		return err_copy(err, &why);
	p->is_remade = m->segment_count || *etag;
	if (*etag)
		tell_remade(p, of_no_use);
	return 0;
}

static int read_manifest(struct push *p, struct err *err)
{
	struct manifest m;
	struct err why;
	int rc;

	if (p->house)
		return house_read(p->house, &p->manifest, err);
	rc = manifest_read(p->store, p->manifest_key, &m, &why);
	if (rc == ERR_NOT_FOUND || rc == ERR_CORRUPT)
		return remake_manifest(p, rc == ERR_CORRUPT ? m.etag : "", "was torn", err);
	if (rc)
		return err_copy(err, &why);
	if (strcmp(m.tape_id, p->manifest.tape_id) != 0) {
		rc = err_set(err, ERR_FAILED, "'%s/" MANIFEST_NAME "' is of tape %s, expected %s", p->url,
			m.tape_id, p->manifest.tape_id);
		manifest_release(&m);
		return rc;
	}
	manifest_release(&p->manifest);
	p->manifest = m;
	return 0;
}

static int parse_place(const char *url, struct s3_place *ret, struct err *err)
{
	if (strncmp(url, S3_SCHEME, strlen(S3_SCHEME)) != 0)
		return err_set(err, ERR_USAGE,
			"'%s' is no place to push to, expected s3://BUCKET/PREFIX or "
			"clickhouse+https://HOST/DATABASE",
			url);
	return s3_place_parse(url, ret, err);
}

static int name_places(struct push *p, const char *cluster, const char *id, struct err *err)
{
	int rc = parse_place(p->options.url, &p->place, err);
	char *prefix;

	if (rc)
		return rc;
	prefix = p->place.key;
	p->place.key = xasprintf("%s%scluster=%s/tape=%s", prefix, *prefix ? "/" : "", cluster, id);
	p->url = xasprintf("%s%s/%s", S3_SCHEME, p->place.bucket, p->place.key);
	p->manifest_key = xasprintf("%s/" MANIFEST_NAME, p->place.key);
	free(prefix);
	return 0;
}

static int open_bucket(struct push *p, struct err *err)
{
	int rc = name_places(p, p->manifest.cluster, p->manifest.tape_id, err);

	return rc ? rc : s3_open(&p->options.store, p->place.bucket, &p->store, err);
}

static int open_house(struct push *p, struct err *err)
{
	const struct house_options options = {
		p->options.url, p->manifest.cluster, p->manifest.tape_id, &p->options.store};
	int rc = house_open(&options, &p->house, err);

	if (!rc)
		p->url = xstrdup(house_url(p->house));
	return rc;
}

static int begin(struct push *p, struct err *err)
{
	char *name = tape_name(p->options.tape_path), *id = NULL;
	const char *cluster = p->options.cluster ? p->options.cluster : name;
	int rc = check_cluster(cluster, err);

	rc = rc ? rc : tape_identity_read(p->options.tape_path, &id, err);
	if (rc) {
		free(name);
		return rc;
	}
	p->manifest = (struct manifest){.tape_id = id, .cluster = xstrdup(cluster), .name = name};
	rc = clickhouse_is_url(p->options.url) ? open_house(p, err) : open_bucket(p, err);
	return rc ? rc : read_manifest(p, err);
}

int push_open(const struct push_options *options, struct push **ret, struct err *err)
{
	struct push *p = xcalloc(1, sizeof(*p));
	int rc;

	p->options = *options;
	rc = begin(p, err);
	if (rc) {
		push_close(p);
		return rc;
	}
	*ret = p;
	return 0;
}

int push_check_url(const char *url, struct err *err)
{
	struct s3_place place;
	struct clickhouse *server;
	int rc;

	if (clickhouse_is_url(url)) {
		rc = clickhouse_open(url, &(struct s3_options){0}, &server, err);
		if (!rc)
			clickhouse_close(server);
		return rc;
	}
	rc = parse_place(url, &place, err);
	if (!rc)
		s3_place_release(&place);
	return rc;
}

void push_close(struct push *p)
{
	if (!p)
		return;
	house_close(p->house);
	manifest_release(&p->manifest);
	s3_close(p->store);
	s3_place_release(&p->place);
	free(p->url);
	free(p->manifest_key);
	free(p);
}

/* ---- the manifest, which others may write as well ---- */

/* Adds our segments to the manifest that is in the store now. */
static int merge_manifest(struct push *p, struct err *err)
{
	struct manifest mine = p->manifest;
	int rc;

	p->manifest = (struct manifest){.tape_id = xstrdup(mine.tape_id),
		.cluster = xstrdup(mine.cluster),
		.name = xstrdup(mine.name)};
	rc = read_manifest(p, err);
	for (size_t i = 0; i < mine.segment_count && !rc; i++)
		manifest_add(&p->manifest, &mine.segments[i]);
	if (!p->manifest.loss_count) {
		for (size_t i = 0; i < mine.loss_count && !rc; i++)
			manifest_add_loss(&p->manifest, &mine.losses[i]);
	}
	p->manifest.complete = mine.complete;
	p->manifest.book = mine.book;
	manifest_release(&mine);
	return rc;
}

static int write_manifest(struct push *p, struct err *err)
{
	struct err why;
	int rc = p->house ? 0 : ERR_BUSY;

	for (int i = 0; i < MANIFEST_TRIES && rc == ERR_BUSY; i++) {
		rc = manifest_write(p->store, p->manifest_key, &p->manifest, &why);
		if (rc == ERR_BUSY && merge_manifest(p, err))
			return ERR_NETWORK;
	}
	return rc ? err_copy(err, &why) : 0;
}

/* ---- one segment ---- */

/* Nothing damaged goes where it would be believed. */
static int examine(const struct segment_file *f, struct manifest_segment *s, struct err *err)
{
	struct err why;
	int rc = segment_facts(f->path, s, &why);

	if (rc == ERR_CORRUPT)
		return err_set(err, rc, "'%s' is damaged and was not pushed: %.800s", f->path, why.text);
	return rc ? err_copy(err, &why) : 0;
}

/* The objects that were live before come along where no segment before it is there. */
static int put_rows(
	struct push *p, const struct segment_file *f, const struct manifest_segment *s, struct err *err)
{
	bool with_state = !manifest_has(&p->manifest, s->number - 1);
	int rc = house_put(p->house, f->path, s, with_state, err);

	return rc ? rc : house_note(p->house, s, err);
}

static int push_segment(struct push *p, const struct segment_file *f, struct err *err)
{
	struct manifest_segment s = {.number = f->number};
	int rc = examine(f, &s, err);

	rc = rc ? rc : copy_check_follows(&p->manifest, p->options.tape_path, &s, err);
	s.pushed_ns = clock_wall_ns(&clock_system);
	if (!rc)
		rc = p->house ? put_rows(p, f, &s, err)
			      : push_put(p->store, p->place.key, &p->manifest, f->path, &s, err);
	if (rc)
		return rc;
	manifest_add(&p->manifest, &s);
	rc = write_manifest(p, err);
	if (rc)
		return rc;
	p->figures.segments++;
	p->figures.bytes += s.bytes;
	return 0;
}

/* ---- all of them ---- */

static uint64_t file_bytes(const struct segment_file *f, int64_t *ret_sealed_ns)
{
	struct stat st;

	*ret_sealed_ns = 0;
	if (stat(f->path, &st))
		return 0;
	*ret_sealed_ns = (int64_t)st.st_mtim.tv_sec * NS_PER_S + st.st_mtim.tv_nsec;
	return (uint64_t)st.st_size;
}

static void count_waiting(struct push *p, const struct segment_file *list, size_t count)
{
	struct push_figures *f = &p->figures;
	bool all = true;

	f->stored_segments = f->stored_bytes = f->waiting_segments = f->waiting_bytes = 0;
	f->oldest_waiting_ns = 0;
	for (size_t i = 0; i < p->manifest.segment_count; i++) {
		const struct manifest_segment *s = &p->manifest.segments[i];

		f->stored_segments += !s->is_off;
		f->stored_bytes += s->is_off ? 0 : s->bytes;
	}
	for (size_t i = 0; i < count; i++) {
		int64_t sealed_ns;
		uint64_t bytes = file_bytes(&list[i], &sealed_ns);

		if (manifest_has(&p->manifest, list[i].number)) {
			f->through = all ? list[i].number : f->through;
			continue;
		}
		f->oldest_waiting_ns = all ? sealed_ns : f->oldest_waiting_ns;
		all = false;
		f->waiting_segments++;
		f->waiting_bytes += bytes;
	}
}

/* Segments between those that are there and the first one here: gone before they were pushed. */
static void note_losses(struct push *p, const struct segment_file *list, size_t count)
{
	const struct manifest *m = &p->manifest;
	uint32_t next = m->segment_count ? m->segments[m->segment_count - 1].number + 1 : p->first_seen;
	uint32_t known = m->loss_count ? m->losses[m->loss_count - 1].last : 0;

	next = known >= next ? known + 1 : next;
	if (count && list[0].number > next && next)
		manifest_add_loss(&p->manifest,
			&(struct manifest_loss){next, list[0].number - 1, clock_wall_ns(&clock_system)});
	if (count && !p->first_seen)
		p->first_seen = list[0].number;
	p->figures.lost_segments = 0;
	for (size_t i = 0; i < m->loss_count; i++)
		p->figures.lost_segments += m->losses[i].last - m->losses[i].first + 1;
}

static int step(struct push *p, uint64_t bytes, struct err *err)
{
	p->done_bytes += bytes;
	if (p->options.progress && p->options.progress(p->options.context, p->done_bytes, p->total_bytes))
		return err_set(err, ERR_STOPPED, "stopped; what is pushed stays, and the next push goes on");
	return 0;
}

/* Passes over a segment that retention removed since it was listed. */
static int push_listed(struct push *p, const struct segment_file *f, struct err *err)
{
	int64_t sealed_ns;
	uint64_t bytes = file_bytes(f, &sealed_ns);
	int rc = push_segment(p, f, err);

	if (rc && access(f->path, F_OK))
		return 0;
	if (rc == ERR_CORRUPT) {
		p->figures.damaged_segments++;
		return step(p, bytes, err);
	}
	return rc ? rc : step(p, bytes, err);
}

static int push_all(struct push *p, const struct segment_file *list, size_t count, struct err *err)
{
	int rc = step(p, 0, err);

	for (size_t i = 0; i < count && !rc; i++) {
		if (!manifest_has(&p->manifest, list[i].number))
			rc = push_listed(p, &list[i], err);
		count_waiting(p, list, count);
	}
	if (rc || p->figures.waiting_segments || p->manifest.complete == !p->figures.open)
		return rc;
	p->manifest.complete = !p->figures.open;
	return write_manifest(p, err);
}

/* The book may say more of what was pushed before. */
static int push_audit(struct push *p, struct err *err)
{
	int rc = p->house ? house_put_audit(p->house, p->options.tape_path, err)
			  : push_book(p->store, p->place.key, p->options.tape_path, &p->manifest.book, err);

	return rc > 0 ? write_manifest(p, err) : rc;
}

/* An older manifest was put back. If one of the segments that it does not name is damaged, it stays. */
static int catch_up(struct push *p, struct err *err)
{
	struct manifest old = manifest_copy(&p->manifest);
	int rc = remake_manifest(p, old.etag, "is older than what the store has", err);

	if (rc != ERR_CORRUPT) {
		manifest_release(&old);
		return rc;
	}
	manifest_release(&p->manifest);
	p->manifest = old;
	return 0;
}

/* Once, as it costs a list: what the store loses later, the next push finds. */
static int check_stock(struct push *p, struct err *err)
{
	const struct stock stock = stock_of(p);
	bool is_behind = false;
	int rc = p->house || p->is_checked
			 ? 0
			 : stock_check(&stock, &p->manifest, &p->figures.missing_segments, &is_behind, err);

	if (!rc && is_behind)
		rc = catch_up(p, err);
	p->is_checked = p->is_checked || !rc;
	if (!rc && p->is_remade)
		rc = write_manifest(p, err);
	p->is_remade = p->is_remade && rc;
	return rc;
}

/* Told again when it lacks more. */
static void check_account(struct push *p, const struct segment_file *list, size_t count)
{
	uint64_t known = p->figures.missing_segments;
	char *sentence;

	if (!p->house)
		return;
	p->figures.missing_segments = push_account(p->options.tape_path, p->url, &p->manifest,
		count ? list[0].number : UINT32_MAX, &p->first_there);
	if (p->figures.missing_segments <= known || !p->options.tell)
		return;
	sentence = push_account_tell(p->url, p->figures.missing_segments);
	p->options.tell(p->options.context, sentence);
	free(sentence);
}

static int list_own(struct push *p, struct segment_file **ret, size_t *ret_count, struct err *err)
{
	int rc = list_sealed(p, ret, ret_count, err);

	if (rc)
		return rc;
	rc = copy_check(&p->manifest, p->options.tape_path, *ret, *ret_count, err);
	if (rc)
		segment_list_free(*ret, *ret_count);
	return rc;
}

int push_run(struct push *p, struct err *err)
{
	struct segment_file *list;
	size_t count;
	int rc = check_stock(p, err);

	rc = rc ? rc : list_own(p, &list, &count, err);
	if (rc)
		return rc;
	check_account(p, list, count);
	note_losses(p, list, count);
	count_waiting(p, list, count);
	p->figures.damaged_segments = 0;
	p->done_bytes = 0;
	p->total_bytes = p->figures.waiting_bytes;
	rc = push_all(p, list, count, err);
	if (!rc && p->manifest.segment_count)
		rc = push_audit(p, err);
	segment_list_free(list, count);
	if (!p->first_there && p->manifest.segment_count)
		p->first_there = p->manifest.segments[0].number;
	push_note_write(
		p->options.tape_path, &(struct push_note){.first = p->first_there,
					      .kind = p->house ? PUSH_NOTE_CLICKHOUSE : PUSH_NOTE_STORE,
					      .tape_id = p->manifest.tape_id,
					      .url = p->url,
					      .through = p->figures.through,
					      .pushed_ns = clock_wall_ns(&clock_system)});
	return rc ? rc : p->figures.damaged_segments ? ERR_CORRUPT : 0;
}

struct push_figures push_figures(const struct push *p)
{
	return p->figures;
}

const char *push_url(const struct push *p)
{
	return p->url;
}
