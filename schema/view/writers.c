/* writers.c: see writers.h. */
#include "schema/view/writers.h"

#include "schema/base/clock.h"
#include "schema/base/limits.h"
#include "schema/base/text_map.h"
#include "schema/sql/session.h"
#include "schema/tape/reader.h"
#include "schema/view/answer_out.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define WRITERS_MAX 4096 /* names; further ones are not told */
#define NOBODY      "(no manager)"

struct writer {
	char *name;
	uint64_t events, fields, last_seq;
	uint32_t counts[WRITERS_BINS];
	struct text_map objects;
	char **keys; /* of the map */
	size_t key_count;
};

struct writers {
	pthread_mutex_t lock;
	pthread_t thread;
	bool begun;
	char *path;
	struct sql_session *session; /* while it counts; to interrupt it */
	bool stopped;
	double share;
	int64_t begin_ns, bin_ns;
	struct writer **items;
	size_t count;
	struct text_map places;
	struct err failure;
};

struct writers *writers_new(const char *tape_path)
{
	struct writers *w = xcalloc(1, sizeof(*w));

	pthread_mutex_init(&w->lock, NULL);
	w->path = xstrdup(tape_path);
	return w;
}

/* ---- counting ---- */

static struct writer *find_writer(struct writers *w, const char *name)
{
	struct writer *found = text_map_get(&w->places, name);

	if (found || w->count >= WRITERS_MAX)
		return found;
	found = xcalloc(1, sizeof(*found));
	found->name = xstrdup(name);
	w->items = xgrow(w->items, w->count, sizeof(*w->items));
	w->items[w->count++] = found;
	text_map_put(&w->places, found->name, found);
	return found;
}

static void note_object(struct writer *writer, const char *key)
{
	char *own;

	if (text_map_get(&writer->objects, key))
		return;
	own = xstrdup(key);
	writer->keys = xgrow(writer->keys, writer->key_count, sizeof(*writer->keys));
	writer->keys[writer->key_count++] = own;
	text_map_put(&writer->objects, own, own);
}

/* Rows are (manager, key, seq, time_ns). */
static int take_row(void *context, const struct sql_value *values, size_t count, struct err *err)
{
	struct writers *w = context;
	char *name = values[0].type == SQL_NULL ? xstrdup(NOBODY) : slice_dup(values[0].bytes);
	char *key = slice_dup(values[1].bytes);
	int64_t bin = (values[3].integer - w->begin_ns) / w->bin_ns;
	struct writer *writer;

	(void)count, (void)err;
	pthread_mutex_lock(&w->lock);
	writer = find_writer(w, name);
	if (writer) {
		bool again = writer->last_seq == (uint64_t)values[2].integer;

		writer->events += !again;
		writer->fields++;
		writer->counts[bin < 0 ? 0 : bin >= WRITERS_BINS ? WRITERS_BINS - 1 : bin] += !again;
		writer->last_seq = (uint64_t)values[2].integer;
		note_object(writer, key);
	}
	pthread_mutex_unlock(&w->lock);
	free(name);
	free(key);
	return 0;
}

static void on_progress(void *context)
{
	struct writers *w = context;
	const char *table;
	double share;

	sql_session_progress(w->session, &table, &share);
	pthread_mutex_lock(&w->lock);
	if (table)
		w->share = share;
	pthread_mutex_unlock(&w->lock);
}

static int find_bins(struct writers *w, struct err *err)
{
	struct tape_info info;
	struct tape *t;
	int rc = tape_open(w->path, &t, err);

	if (rc)
		return rc;
	rc = tape_info(t, &info, err);
	tape_close(t);
	if (rc)
		return rc;
	pthread_mutex_lock(&w->lock);
	w->begin_ns = info.first_time_ns;
	w->bin_ns = time_sub(info.last_time_ns, info.first_time_ns) / WRITERS_BINS + 1;
	pthread_mutex_unlock(&w->lock);
	return 0;
}

static int open_session(struct writers *w, struct sql_session **ret, struct err *err)
{
	int rc = sql_session_open(w->path, ret, err);

	if (rc)
		return rc;
	sql_session_on_progress(*ret, on_progress, w);
	pthread_mutex_lock(&w->lock);
	w->session = *ret;
	if (w->stopped)
		rc = err_set(err, ERR_STOPPED, "stopped");
	pthread_mutex_unlock(&w->lock);
	return rc;
}

static void *count_all(void *context)
{
	static const char sql[] =
		"SELECT manager, resource || iif(apigroup = '', '', '.' || apigroup) || '/' || "
		"coalesce(namespace, '') || '/' || name, seq, time_ns FROM changes WHERE type = 'MODIFIED'";
	struct writers *w = context;
	struct sql_session *session = NULL;
	struct err err = {0};
	int rc = find_bins(w, &err);

	if (!rc)
		rc = open_session(w, &session, &err);
	if (!rc)
		rc = sql_session_run(
			session, slice_of(sql), &(struct sql_sink){.row = take_row, .context = w}, &err);
	pthread_mutex_lock(&w->lock);
	w->session = NULL;
	w->share = 1;
	if (rc)
		w->failure = err;
	pthread_mutex_unlock(&w->lock);
	sql_session_close(session);
	return NULL;
}

/* ---- telling ---- */

static int compare_writers(const void *a, const void *b)
{
	const struct writer *x = *(struct writer *const *)a, *y = *(struct writer *const *)b;

	if (x->events != y->events)
		return x->events < y->events ? 1 : -1;
	return strcmp(x->name, y->name);
}

static void put_writer(struct answer_out *o, const struct writer *writer)
{
	answer_put(o, "{\"events\":%llu,\"fields\":%llu,\"objects\":%zu", (unsigned long long)writer->events,
		(unsigned long long)writer->fields, writer->key_count);
	answer_member(o, "name", slice_of(writer->name));
	answer_put(o, ",\"counts\":[");
	for (size_t i = 0; i < WRITERS_BINS; i++)
		answer_put(o, "%s%u", i ? "," : "", writer->counts[i]);
	answer_put(o, "]}");
}

int writers_answer(struct writers *w, struct buf *to, struct err *err)
{
	struct answer_out o = {to, err, 0};

	pthread_mutex_lock(&w->lock);
	if (!w->begun && pthread_create(&w->thread, NULL, count_all, w) == 0)
		w->begun = true;
	if (w->failure.code)
		o.code = err_copy(err, &w->failure);
	if (w->count)
		qsort(w->items, w->count, sizeof(struct writer *), compare_writers);
	answer_put(&o, "{\"share\":%.3f", w->share);
	answer_number(&o, "begin", w->begin_ns);
	answer_number(&o, "bin", w->bin_ns);
	answer_put(&o, ",\"writers\":[");
	for (size_t i = 0; i < w->count; i++) {
		answer_put(&o, i ? "," : "");
		put_writer(&o, w->items[i]);
	}
	answer_put(&o, "]}");
	pthread_mutex_unlock(&w->lock);
	return o.code;
}

bool writers_touched(struct writers *w, struct slice writer, const char *key)
{
	char *name = slice_dup(writer);
	struct writer *found;
	bool touched;

	pthread_mutex_lock(&w->lock);
	found = text_map_get(&w->places, name);
	touched = found && text_map_get(&found->objects, key);
	pthread_mutex_unlock(&w->lock);
	free(name);
	return touched;
}

/* ---- the end ---- */

static void free_writer(struct writer *writer)
{
	for (size_t i = 0; i < writer->key_count; i++)
		free(writer->keys[i]);
	free(writer->keys);
	text_map_release(&writer->objects);
	free(writer->name);
	free(writer);
}

void writers_free(struct writers *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->stopped = true;
	if (w->session)
		sql_session_interrupt(w->session);
	pthread_mutex_unlock(&w->lock);
	if (w->begun)
		pthread_join(w->thread, NULL);
	for (size_t i = 0; i < w->count; i++)
		free_writer(w->items[i]);
	free(w->items);
	text_map_release(&w->places);
	pthread_mutex_destroy(&w->lock);
	free(w->path);
	free(w);
}
