/* sweep_place.c: see sweep_place.h. */
#include "tools/sweep/sweep_place.h"

#include "recorder/push/s3.h"
#include "schema/base/clock.h"
#include "schema/base/limits.h"
#include "schema/base/log.h"
#include "schema/base/out_file.h"
#include "schema/base/regular_file.h"
#include "schema/base/temp_folder.h"
#include "tools/sweep/sweep_run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define RETRY_NS (300 * NS_PER_S)

/* An open store, and the prefix of the keys there: it ends with a slash, or is "". */
struct place {
	struct s3 *store;
	char *prefix;
};

/* Short waits are no news. */
static void tell_wait(void *context, const struct err *why, int64_t delay_ns)
{
	(void)context;
	if (why && delay_ns >= NS_PER_S)
		log_warn("%s; trying again", why->text);
}

/* A sweep has blocked these signals; outside one they kill, and are never pending. */
static bool is_stop_asked(void *context)
{
	sigset_t pending;

	(void)context;
	return sigpending(&pending) == 0 && (sigismember(&pending, SIGINT) || sigismember(&pending, SIGTERM));
}

static void place_close(struct place *p)
{
	s3_close(p->store);
	free(p->prefix);
}

static int place_open(const char *url, struct place *ret, struct err *err)
{
	const struct s3_options options = {.retry_ns = RETRY_NS, .waits = tell_wait, .stop = is_stop_asked};
	struct s3_place at;
	int rc = s3_place_parse(url, &at, err);

	if (rc)
		return rc;
	*ret = (struct place){.prefix = xasprintf("%s%s", at.key, *at.key ? "/" : "")};
	rc = s3_open(&options, at.bucket, &ret->store, err);
	if (rc)
		place_close(ret);
	s3_place_release(&at);
	return rc;
}

/* ---- into the store ---- */

/* Asks for the report itself: only what answers a GET tells whether there is a bucket. */
static int check_empty(const char *url, struct err *err)
{
	struct buf report;
	struct err why;
	int rc;

	buf_init(&report, LIMIT_DOCUMENT_BYTES);
	rc = sweep_place_read(url, &report, &why);
	buf_release(&report);
	if (rc == ERR_NOT_FOUND)
		return 0;
	if (rc)
		return err_copy(err, &why);
	return err_set(err, ERR_USAGE,
		"'%s' holds an earlier sweep, which is not thrown away: remove it, or name another place",
		url);
}

int sweep_place_prepare(const char *url, char **ret_folder, struct err *err)
{
	int rc = check_empty(url, err);

	return rc ? rc : temp_folder_make("sweep", ret_folder, err);
}

static int sum_file(const char *path, char ret[S3_SUM_BYTES], struct err *err)
{
	int fd = regular_file_open(path, O_RDONLY, err), rc;
	struct stat st;

	if (fd < 0)
		return fd;
	rc = fstat(fd, &st) ? err_set_errno(err, errno, "cannot look at '%s'", path)
			    : s3_sum_of_file(fd, 0, (uint64_t)st.st_size, ret, err);
	close(fd);
	return rc;
}

static int put_file(
	const struct place *p, const char *folder, const char *name, bool only_new, struct err *err)
{
	char sum[S3_SUM_BYTES], *path = xasprintf("%s/%s", folder, name),
				*key = xasprintf("%s%s", p->prefix, name);
	const char *dot = strrchr(name, '.');
	const struct s3_put put = {.key = key,
		.path = path,
		.content_type =
			dot && strcmp(dot, ".json") == 0 ? "application/json" : "application/octet-stream",
		.sha256 = sum,
		.only_new = only_new};
	int rc = sum_file(path, sum, err);

	if (!rc)
		rc = s3_put(p->store, &put, err);
	free(path);
	free(key);
	return rc;
}

/* Calls `act` for each file of a sweep in the folder but its report. */
static int each_file(const char *folder,
	int (*act)(const struct place *p, const char *folder, const char *name, struct err *err),
	const struct place *p, struct err *err)
{
	DIR *dir = opendir(folder);
	int rc = 0;

	if (!dir)
		return err_set_errno(err, errno, "cannot open '%s'", folder);
	for (struct dirent *e; !rc && (e = readdir(dir));) {
		if (sweep_is_file(e->d_name) && strcmp(e->d_name, SWEEP_REPORT_NAME) != 0)
			rc = act(p, folder, e->d_name, err);
	}
	closedir(dir);
	return rc;
}

static int put_one(const struct place *p, const char *folder, const char *name, struct err *err)
{
	return put_file(p, folder, name, false, err);
}

static int remove_one(const struct place *p, const char *folder, const char *name, struct err *err)
{
	char *path = xasprintf("%s/%s", folder, name);

	(void)p, (void)err;
	unlink(path);
	free(path);
	return 0;
}

static int put_all(const char *url, const char *folder, struct err *err)
{
	struct place p;
	int rc = place_open(url, &p, err);

	if (rc)
		return rc;
	rc = each_file(folder, put_one, &p, err);
	if (!rc)
		rc = put_file(&p, folder, SWEEP_REPORT_NAME, true, err);
	place_close(&p);
	return rc;
}

void sweep_place_drop(const char *folder)
{
	(void)!each_file(folder, remove_one, NULL, NULL);
	(void)!remove_one(NULL, folder, SWEEP_REPORT_NAME, NULL);
	(void)!remove_one(NULL, folder, SWEEP_KEY_NAME, NULL);
	rmdir(folder);
}

int sweep_place_store(const char *url, const char *folder, struct err *err)
{
	struct err why;
	int rc = put_all(url, folder, &why);

	if (rc)
		return err_set(err, rc, "the results are in '%s' and not in the store: %s", folder, why.text);
	sweep_place_drop(folder);
	return 0;
}

/* ---- out of it ---- */

int sweep_place_read(const char *url, struct buf *to, struct err *err)
{
	struct place p;
	char *key;
	int rc = place_open(url, &p, err);

	if (rc)
		return rc;
	key = xasprintf("%s" SWEEP_REPORT_NAME, p.prefix);
	rc = s3_get(p.store, key, to, NULL, err);
	free(key);
	place_close(&p);
	return rc;
}

struct fetching {
	struct place place;
	const char *folder;
	struct err *err;
};

/* Only what a sweep may have written, whatever else the store has there. */
static int fetch_one(void *context, const struct s3_entry *entry)
{
	const struct fetching *f = context;
	const char *name = entry->key + strlen(f->place.prefix);
	struct out_file *out;
	char *path;
	int rc;

	if (strchr(name, '/') || !sweep_is_file(name))
		return 0;
	path = xasprintf("%s/%s", f->folder, name);
	rc = out_file_open(path, &out, f->err);
	free(path);
	if (rc)
		return rc;
	rc = s3_get_to(f->place.store, entry->key, entry->bytes, out_file_stream(out), f->err);
	if (!rc)
		return out_file_close(out, f->err);
	out_file_abandon(out);
	return rc;
}

int sweep_place_fetch(const char *url, const char *folder, struct err *err)
{
	struct fetching f = {.folder = folder, .err = err};
	int rc;

	if (mkdir(folder, 0700))
		return err_set_errno(err, errno, "cannot make '%s'", folder);
	rc = place_open(url, &f.place, err);
	if (rc)
		return rc;
	rc = s3_list(f.place.store, f.place.prefix, "/", fetch_one, &f, err);
	place_close(&f.place);
	return rc;
}

struct finding {
	const char *prefix;
	struct text_list found; /* prefixes of reports, without their slash */
	bool here;              /* one is at the place itself */
};

static int take_report(void *context, const struct s3_entry *entry)
{
	struct finding *f = context;
	const char *key = entry->key, *slash = strrchr(key, '/'), *name = slash ? slash + 1 : key;

	if (strcmp(name, SWEEP_REPORT_NAME) != 0)
		return 0;
	f->here |= name == key + strlen(f->prefix);
	text_list_add(&f->found, slice_dup((struct slice){key, slash ? (size_t)(slash - key) : 0}));
	return 0;
}

static int add_found(const char *url, struct finding *f, struct text_list *to, struct err *err)
{
	struct s3_place at;
	int rc = s3_place_parse(url, &at, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < f->found.count && !f->here; i++)
		text_list_add(to, xasprintf(S3_SCHEME "%s/%s", at.bucket, f->found.items[i]));
	if (f->here)
		text_list_add(to, xasprintf(S3_SCHEME "%s/%s", at.bucket, at.key));
	else if (!f->found.count)
		rc = err_set(err, ERR_NOT_FOUND, "no " SWEEP_REPORT_NAME " at or below '%s'", url);
	s3_place_release(&at);
	return rc;
}

int sweep_place_find(const char *url, struct text_list *to, struct err *err)
{
	struct finding f = {0};
	struct place p;
	int rc = place_open(url, &p, err);

	if (rc)
		return rc;
	f.prefix = p.prefix;
	rc = s3_list(p.store, p.prefix, NULL, take_report, &f, err);
	if (!rc)
		rc = add_found(url, &f, to, err);
	text_list_release(&f.found);
	place_close(&p);
	return rc;
}

/* ---- how it is told ---- */

char *sweep_move_text(const char *text, const char *from, const char *to)
{
	char *made;
	size_t len;
	FILE *out = open_memstream(&made, &len);

	for (const char *at; *from && (at = strstr(text, from)); text = at + strlen(from)) {
		fwrite(text, 1, (size_t)(at - text), out);
		fputs(to, out);
	}
	fputs(text, out);
	fclose(out);
	return made;
}

void sweep_place_tell(const char *url, void (*tell)(const struct sweep_report *r, FILE *to),
	const struct sweep_report *r, FILE *to)
{
	char *text, *moved;
	size_t len;
	FILE *memory;

	if (!url) {
		tell(r, to);
		return;
	}
	memory = open_memstream(&text, &len);
	tell(r, memory);
	fclose(memory);
	moved = sweep_move_text(text, r->folder, url);
	fputs(moved, to);
	free(text);
	free(moved);
}
