/* tape_set.c: see tape_set.h. */
#include "tools/cli/tape_set.h"

#include "recorder/push/remote_tape.h"
#include "recorder/push/s3.h"
#include "schema/base/visible.h"
#include "schema/tape/format.h"
#include "schema/tape/identity.h"
#include "schema/tape/new_tape.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENDING       ".tape"
#define PINS_ENDING  ".pins" /* of the folder beside a tape in which its pins are */
#define FOLDER_DEPTH 4       /* a copy of a store's: cluster=NAME/tape=ID */

static struct sql_tape *add_tape(
	struct tape_set *set, const char *path, const char *name, const char *cluster)
{
	set->tapes = xrealloc(set->tapes, (set->count + 1) * sizeof(*set->tapes));
	set->tapes[set->count] = (struct sql_tape){xstrdup(path), xstrdup(name), xstrdup(cluster), NULL};
	return &set->tapes[set->count++];
}

static void release_tape(struct sql_tape *t)
{
	free((char *)t->path);
	free((char *)t->name);
	free((char *)t->cluster);
	free(t->problem);
}

/* The file's name without its ending. */
static struct slice base_name(const char *path)
{
	static const char *const endings[] = {ENDING, FORMAT_FILE_ENDING};
	struct slice s = slice_of(path);

	while (s.len > 1 && s.ptr[s.len - 1] == '/')
		s.len--;
	for (const char *slash; (slash = memchr(s.ptr, '/', s.len)) && s.len > 1;)
		s = (struct slice){slash + 1, s.len - (size_t)(slash + 1 - s.ptr)};
	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
		size_t len = strlen(endings[i]);

		if (s.len > len && memcmp(s.ptr + s.len - len, endings[i], len) == 0)
			s.len -= len;
	}
	return s;
}

/* The last part of the path that names one: those before it are of the place that was pushed to. */
static char *cluster_of(const char *given, const char *path)
{
	static const char word[] = "cluster=";
	const char *part = NULL;

	if (given)
		return xstrdup(given);
	for (const char *at = path; (at = strstr(at, word)); at++)
		part = at == path || at[-1] == '/' ? at + strlen(word) : part;
	return part ? slice_dup((struct slice){part, strcspn(part, "/")}) : slice_dup(base_name(path));
}

static struct sql_tape *add_named(struct tape_set *set, const char *path, const char *name, const char *given)
{
	char *cluster = cluster_of(given, name);
	struct sql_tape *tape = add_tape(set, path, name, cluster);

	free(cluster);
	return tape;
}

static void add_unread(struct tape_set *set, const char *name, const char *given, const struct err *why)
{
	add_named(set, name, name, given)->problem = xstrdup(why->text);
}

/* ---- in a store ---- */

struct store_walk {
	struct tape_set *set;
	const char *given;
};

static int add_remote(void *context, const char *url, struct err *err)
{
	struct store_walk *w = context;
	struct err problem = {0};
	char *path, *note;

	(void)err;
	if (remote_tape_resolve(url, &path, &note, &problem)) {
		add_unread(w->set, url, w->given, &problem);
		return 0;
	}
	if (note)
		fprintf(stderr, "'%s': %s\n", url, note);
	add_named(w->set, path, url, w->given);
	free(note);
	free(path);
	return 0;
}

/* ---- in folders ---- */

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool is_link(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

static bool is_segment(const char *name)
{
	return strncmp(name, "seg-", 4) == 0 || strncmp(name, "open-", 5) == 0;
}

static int compare_entries(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* A folder with no segment may be a tape that lost them all, or that a recorder has just begun: it is told why it is not read. */
static bool looks_like_tape(const char *path)
{
	size_t len = strlen(path), ending = strlen(ENDING);

	return len > ending && strcmp(path + len - ending, ENDING) == 0;
}

/* A link to a tape that is not there. */
static bool leads_nowhere(const char *path)
{
	return looks_like_tape(path) && is_link(path) && access(path, F_OK) != 0;
}

static int add_below(struct tape_set *set, const char *path, const char *given, int depth, struct err *err);

/* A link to a folder that the walk comes from. */
static bool is_above(const char *path, const char *folder)
{
	char *target = realpath(path, NULL), *from = realpath(folder, NULL);
	size_t len = target ? strlen(target) : 0;
	bool is = target && from && strncmp(from, target, len) == 0 && (!from[len] || from[len] == '/');

	free(target);
	free(from);
	return is;
}

/* An entry of a folder that is no tape itself. */
static void add_entry(
	struct tape_set *set, const char *folder, const char *name, const char *given, int depth)
{
	char *path = xasprintf("%s/%s", folder, name);
	size_t len = strlen(name), ending = strlen(FORMAT_FILE_ENDING);
	struct err problem;

	if (is_folder(path) && depth && !is_above(path, folder)) {
		if (add_below(set, path, given, depth - 1, &problem))
			add_unread(set, path, given, &problem);
	} else if ((len > ending && strcmp(name + len - ending, FORMAT_FILE_ENDING) == 0) ||
		   leads_nowhere(path)) {
		add_named(set, path, path, given);
	}
	free(path);
}

static bool has_entry(struct dirent *const *entries, int count, struct slice name)
{
	for (int i = 0; i < count; i++) {
		if (slice_is(name, entries[i]->d_name))
			return true;
	}
	return false;
}

/* The pins of a tape that is asked itself: most of their events are there, too. */
static bool are_pins(const char *folder, struct dirent *const *entries, int count, const char *name)
{
	size_t len = strlen(name), ending = strlen(PINS_ENDING);
	bool are = len > ending && strcmp(name + len - ending, PINS_ENDING) == 0 &&
		   has_entry(entries, count, (struct slice){name, len - ending});

	if (are)
		fprintf(stderr, "'%s/%s': pins are asked where they are named\n", folder, name);
	return are;
}

/* Not walked into, unless it calls itself a tape. */
static bool is_hidden(const char *name)
{
	return *name == '.' && !slice_ends(slice_of(name), ".tape") &&
	       !slice_ends(slice_of(name), FORMAT_FILE_ENDING);
}

static int add_below(struct tape_set *set, const char *path, const char *given, int depth, struct err *err)
{
	struct dirent **entries;
	size_t before = set->count;
	int count = scandir(path, &entries, NULL, compare_entries);
	bool is_tape = false;
	struct slice name;

	if (count < 0)
		return err_set_errno(err, errno, "cannot read '%s'", path);
	for (int i = 0; i < count; i++)
		is_tape |= is_segment(entries[i]->d_name);
	if (is_tape)
		add_named(set, path, path, given);
	for (int i = 0; i < count; i++) {
		if (!is_tape && !is_hidden(entries[i]->d_name) &&
			!new_tape_maker(entries[i]->d_name, &name) &&
			!are_pins(path, entries, count, entries[i]->d_name))
			add_entry(set, path, entries[i]->d_name, given, depth);
	}
	for (int i = 0; i < count; i++)
		free(entries[i]);
	free(entries);
	if (set->count == before && looks_like_tape(path))
		add_named(set, path, path, given);
	return 0;
}

/* ---- a word ---- */

/* "NAME=PLACE": what stands before the first '=' if it could not be a part of a path. NULL: no name. */
static char *take_name(const char **word)
{
	const char *equals = strchr(*word, '=');
	char *name;

	if (!equals || equals == *word || memchr(*word, '/', (size_t)(equals - *word)) ||
		access(*word, F_OK) == 0)
		return NULL;
	name = slice_dup((struct slice){*word, (size_t)(equals - *word)});
	*word = equals + 1;
	return name;
}

static int add_word(struct tape_set *set, const char *word, struct err *err)
{
	char *given = take_name(&word);
	size_t before = set->count;
	int rc = 0;

	if (s3_is_url(word))
		rc = remote_tape_each(word, add_remote, &(struct store_walk){set, given}, err);
	else if (access(word, F_OK))
		rc = err_set_errno(err, errno, "cannot read '%s'", word);
	else if (is_folder(word))
		rc = add_below(set, word, given, FOLDER_DEPTH, err);
	else
		add_named(set, word, word, given);
	if (!rc && set->count == before)
		rc = err_set(err, ERR_NOT_FOUND, "no tape in '%s'", word);
	free(given);
	return rc;
}

/* One file or folder by two names, as of a link `latest.tape`: the first name that is no link is kept. */
static bool is_same(const struct sql_tape *a, const struct sql_tape *b)
{
	struct stat first, second;

	return stat(a->path, &first) == 0 && stat(b->path, &second) == 0 && first.st_dev == second.st_dev &&
	       first.st_ino == second.st_ino;
}

static void drop_links(struct tape_set *set)
{
	for (size_t i = 0; i < set->count; i++) {
		for (size_t k = i + 1; k < set->count;) {
			size_t goes = is_link(set->tapes[i].path) ? i : k;

			if (!is_same(&set->tapes[i], &set->tapes[k])) {
				k++;
				continue;
			}
			release_tape(&set->tapes[goes]);
			memmove(&set->tapes[goes], &set->tapes[goes + 1],
				(--set->count - goes) * sizeof(*set->tapes));
			k = i + 1;
		}
	}
}

/* `more`: that are the same as well. */
static void tell_twins(const struct sql_tape *one, const struct sql_tape *other, size_t more)
{
	fputs("'", stderr);
	visible_puts(stderr, one->name);
	fputs(more ? "', '" : "' and '", stderr);
	visible_puts(stderr, other->name);
	if (more)
		fprintf(stderr,
			"' and %zu more are the same tape: the events that several of them have are there several times\n",
			more);
	else
		fputs("' are the same tape: the events that both have are there twice\n", stderr);
}

/* Tells of all that have the id of that one, and forgets theirs. */
static void tell_twins_of(const struct tape_set *set, char **ids, size_t first)
{
	size_t second = 0, count = 0;

	for (size_t i = first + 1; ids[first] && i < set->count; i++) {
		if (!ids[i] || strcmp(ids[i], ids[first]) != 0)
			continue;
		second = count++ ? second : i;
		free(ids[i]);
		ids[i] = NULL;
	}
	if (count)
		tell_twins(&set->tapes[first], &set->tapes[second], count - 1);
}

void tape_set_tell_twins(const struct tape_set *set)
{
	char **ids = xcalloc(set->count + 1, sizeof(*ids));

	for (size_t i = 0; i < set->count; i++)
		ids[i] = set->tapes[i].problem ? NULL : tape_identity(set->tapes[i].path);
	for (size_t i = 0; i < set->count; i++)
		tell_twins_of(set, ids, i);
	for (size_t i = 0; i < set->count; i++)
		free(ids[i]);
	free(ids);
}

int tape_set_find(const struct text_list *words, struct tape_set *ret, struct err *err)
{
	int rc = 0;

	*ret = (struct tape_set){0};
	for (size_t i = 0; i < words->count && !rc; i++)
		rc = add_word(ret, words->items[i], err);
	drop_links(ret);
	return rc;
}

void tape_set_release(struct tape_set *set)
{
	for (size_t i = 0; i < set->count; i++)
		release_tape(&set->tapes[i]);
	free(set->tapes);
	*set = (struct tape_set){0};
}
