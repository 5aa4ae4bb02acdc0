/* merge_events.c: which events of the two tapes go into the new one; see merge.h. */
#include "schema/base/rv.h"
#include "schema/tape/merge_internal.h"

#include <stdlib.h>

#define PROGRESS_ENTRIES 1024

/* ---- objects ---- */

static struct merge_live *find_live(struct merge *m, uint32_t resource, const struct event *e)
{
	char *key = xasprintf("%u %.*s/%.*s", resource, (int)e->namespace.len, e->namespace.ptr,
		(int)e->name.len, e->name.ptr);
	struct merge_live *live = text_map_get(&m->live, key);

	if (live) {
		free(key);
		return live;
	}
	live = xcalloc(1, sizeof(*live));
	*live = (struct merge_live){.key = key, .resource = resource};
	live->namespace = (struct slice){strchr(key, ' ') + 1, e->namespace.len};
	text_map_put(&m->live, live->key, live);
	m->lives = xgrow(m->lives, m->live_count, sizeof(*m->lives));
	m->lives[m->live_count++] = live;
	return live;
}

void merge_events_release(struct merge *m)
{
	for (size_t i = 0; i < m->live_count; i++) {
		free(m->lives[i]->key);
		free(m->lives[i]->uid);
		free(m->lives[i]->rv);
		free(m->lives[i]);
	}
	free(m->lives);
	text_map_release(&m->live);
}

static bool is_same_uid(const struct merge_live *live, const struct event *e)
{
	return live->uid && slice_is(e->uid, live->uid);
}

/* Whether the version is the one that is known, or older. */
static bool is_known_version(const struct merge_live *live, struct slice rv)
{
	struct slice known = live->rv ? slice_of(live->rv) : (struct slice){0};

	if (rv_valid(known) && rv_valid(rv))
		return rv_compare(rv, known) <= 0;
	return slice_equal(rv, known);
}

/* What is told of an object that is gone, or of one that another took the name of, comes too late. */
static bool is_news(const struct merge_live *live, const struct event *e)
{
	if (e->type == EVENT_DELETED)
		return live->lives && is_same_uid(live, e);
	if (!live->uid)
		return true;
	if (is_same_uid(live, e))
		return live->lives && !is_known_version(live, e->rv);
	return !is_known_version(live, e->rv);
}

static void merge_events_remember(struct merge_live *live, const struct event *e, uint8_t source)
{
	if (!is_same_uid(live, e))
		live->in[0] = live->in[1] = false;
	free(live->uid);
	free(live->rv);
	live->uid = slice_dup(e->uid);
	live->rv = slice_dup(e->rv);
	live->lives = e->type != EVENT_DELETED;
	live->seq = e->seq;
	live->source = source;
	live->stream = e->stream;
}

/* ---- one event ---- */

static int merge_events_append(
	struct merge *m, struct event *e, struct slice object, int64_t time_ns, struct err *err)
{
	e->time_ns = time_ns;
	m->times_ns = xgrow(m->times_ns, m->time_count, sizeof(*m->times_ns));
	m->times_ns[m->time_count++] = time_ns;
	return writer_copy_event(m->w, e, object, err);
}

/* As seen by one who had seen all before. */
static void set_type(const struct merge *m, const struct merge_live *live, struct event *e)
{
	if (e->type != EVENT_DELETED)
		e->type = live->lives && is_same_uid(live, e) ? EVENT_MODIFIED : EVENT_ADDED;
	if (e->origin == ORIGIN_LIST && m->listed[e->stream - 1])
		e->origin = ORIGIN_RELIST;
}

/* An object may have taken the name of one whose deletion nobody saw. */
static int end_former(struct merge *m, struct merge_live *live, const struct event *e, int64_t time_ns,
	struct slice rv, struct err *err);

static int put_news(struct merge *m, const struct merge_entry *entry, struct event *e,
	struct merge_live *live, struct err *err)
{
	struct slice object;
	int rc;

	if (live->lives && e->type != EVENT_DELETED && !is_same_uid(live, e)) {
		rc = end_former(m, live, e, entry->time_ns, e->rv, err);
		if (rc)
			return rc;
	}
	set_type(m, live, e);
	rc = tape_object(m->sources[entry->source].tape, entry->seq, &object, err);
	if (rc)
		return rc;
	merge_events_remember(live, e, entry->source);
	m->result.events[entry->source]++;
	return merge_events_append(m, e, object, entry->time_ns, err);
}

static bool is_secret(const struct tape_resource *r)
{
	return r && strcmp(r->resource, "secrets") == 0 && !*r->apigroup;
}

/* Of a Secret that both have: recorders with keys of their own make different digests of one value. */
static int compare_secret(struct merge *m, const struct merge_entry *entry, const struct merge_live *live,
	const struct event *e, struct err *err)
{
	struct slice known, other;
	int rc;

	if (m->result.secrets_differ || live->source == entry->source || e->type == EVENT_DELETED ||
		!live->lives || !is_same_uid(live, e) || !slice_is(e->rv, live->rv))
		return 0;
	rc = tape_object(m->sources[live->source].tape, live->seq, &known, err);
	if (!rc)
		rc = tape_object(m->sources[entry->source].tape, entry->seq, &other, err);
	if (!rc)
		m->result.secrets_differ = !slice_equal(known, other);
	return rc;
}

static int put_event(struct merge *m, const struct merge_entry *entry, struct err *err)
{
	struct merge_source *s = &m->sources[entry->source];
	struct merge_live *live;
	struct event e;
	bool news, secret;
	int rc = tape_event(s->tape, entry->seq, &e, &m->names, err);

	if (rc)
		return rc;
	secret = is_secret(tape_resource_by_id(s->tape, e.resource));
	e.resource = entry->resource;
	e.stream = s->streams[e.stream - 1];
	if (entry->rank == MERGE_STATE)
		e.origin = ORIGIN_LIST;
	if (entry->rank == MERGE_STATE && e.type != EVENT_DELETED)
		e.type = EVENT_ADDED;
	live = find_live(m, entry->resource, &e);
	news = is_news(live, &e);
	if (news)
		rc = put_news(m, entry, &e, live, err);
	else if (secret)
		rc = compare_secret(m, entry, live, &e, err);
	if (is_same_uid(live, &e))
		live->in[entry->source] = e.type != EVENT_DELETED;
	if (entry->rank != MERGE_STATE) {
		s->kept[entry->seq - s->info.first_seq] = news ? m->w->last_seq : 0;
		s->seqs[entry->seq - s->info.first_seq] = m->w->last_seq;
	}
	return rc;
}

/* ---- what a list tells by what it lacks ---- */

static int conclude_deletion(
	struct merge *m, struct merge_live *live, struct slice rv, int64_t time_ns, struct err *err)
{
	struct tape *t = m->sources[live->source].tape;
	struct slice object;
	struct buf names;
	struct event e;
	int rc;

	buf_init(&names, m->names.max);
	rc = tape_event(t, live->seq, &e, &names, err);
	if (!rc)
		rc = tape_object(t, live->seq, &object, err);
	if (!rc) {
		e.resource = live->resource;
		e.stream = live->stream;
		e.type = EVENT_DELETED;
		e.origin = ORIGIN_INFERRED;
		e.rv = rv;
		live->lives = false;
		m->result.deletions++;
		rc = merge_events_append(m, &e, object, time_ns, err);
	}
	buf_release(&names);
	return rc;
}

static int end_former(struct merge *m, struct merge_live *live, const struct event *e, int64_t time_ns,
	struct slice rv, struct err *err)
{
	(void)e;
	return conclude_deletion(m, live, rv, time_ns, err);
}

static bool is_of_stream(const struct merge_live *live, const struct tape_stream *s)
{
	return live->lives && live->resource == s->resource && !*s->label_selector && !*s->field_selector &&
	       (!*s->namespace || slice_is(live->namespace, s->namespace));
}

/* Of a later version than the list's, it may have come after it. */
static bool is_older_than(const struct merge_live *live, struct slice rv)
{
	struct slice known = slice_of(live->rv);

	return !rv_valid(known) || !rv_valid(rv) || rv_compare(known, rv) <= 0;
}

static int conclude_deletions(
	struct merge *m, const struct tape_mark *mark, uint8_t source, int64_t time_ns, struct err *err)
{
	const struct tape_stream *s = registry_stream(&m->w->registry, mark->stream);
	int rc = 0;

	for (size_t i = 0; i < m->live_count && !rc; i++) {
		const struct merge_live *live = m->lives[i];

		if (is_of_stream(live, s) && !live->in[source] && is_older_than(live, mark->rv))
			rc = conclude_deletion(m, m->lives[i], mark->rv, time_ns, err);
	}
	return rc;
}

/* ---- marks ---- */

static void queue_mark(struct merge *m, const struct tape_mark *mark, int64_t time_ns, uint64_t connection)
{
	struct tape_writer *w = m->w;

	row_queue_add(w->rows, TABLE_MARK,
		(struct value[]){value_integer(++w->ids[TABLE_MARK]), value_integer((int64_t)w->last_seq),
			value_integer(time_ns), value_text(mark_kind_name(mark->kind)),
			value_integer(mark->stream), value_integer((int64_t)connection),
			value_slice(mark->rv), value_slice(mark->object)});
}

/* Versions that marks tell go up, as they do for one who follows a stream. */
static bool is_behind(struct merge *m, const struct tape_mark *mark)
{
	char **highest = &m->highest[mark->stream - 1];

	if (mark->kind == MARK_ERROR || !rv_valid(mark->rv))
		return false;
	if (*highest && rv_compare(mark->rv, slice_of(*highest)) <= 0)
		return true;
	free(*highest);
	*highest = slice_dup(mark->rv);
	return false;
}

static int put_mark(struct merge *m, const struct merge_entry *entry, struct err *err)
{
	const struct tape_mark *mark = &m->sources[entry->source].marks[entry->seq].mark;
	int rc = 0;

	if (entry->rank == MERGE_LIST && m->listed[mark->stream - 1] &&
		!merge_was_seen_at(m, !entry->source, mark->stream, entry->time_ns))
		rc = conclude_deletions(m, mark, entry->source, entry->time_ns, err);
	if (rc)
		return rc;
	if (entry->rank == MERGE_LIST)
		m->listed[mark->stream - 1] = true;
	if (!is_behind(m, mark))
		queue_mark(
			m, mark, entry->time_ns, 2 * mark->connection - (mark->connection && !entry->source));
	return row_queue_bytes(m->w->rows) > (8u << 20) ? tape_writer_flush(m->w, err) : 0;
}

/* ---- all ---- */

static int merge_events_report(const struct merge *m, size_t done, struct err *err)
{
	if (done % PROGRESS_ENTRIES || !m->o->progress ||
		!m->o->progress(m->o->context, done, m->entry_count))
		return 0;
	return err_set(err, ERR_STOPPED, "stopped before the tape was made");
}

int merge_put_entries(struct merge *m, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < m->entry_count && !rc; i++) {
		const struct merge_entry *e = &m->entries[i];

		rc = e->rank == MERGE_LIST || e->rank == MERGE_MARK ? put_mark(m, e, err)
								    : put_event(m, e, err);
		if (!rc)
			rc = merge_events_report(m, i + 1, err);
	}
	return rc;
}
