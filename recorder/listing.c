/* listing.c: see listing.h. */
#include "recorder/listing.h"

#include "schema/base/limits.h"
#include "schema/tape/reader.h"

#include <stdio.h>
#include <stdlib.h>

/* Servers fill their pages: after this many in a row without anything new no end will come. */
#define MAX_IDLE_PAGES 3
/* An item is what an event is, but for the frame around it; and a piece of the page more. */
#define MAX_ITEM_BYTES (LIMIT_OBJECT_BYTES + (1u << 20))

void listing_init(struct listing *l, struct ingest *in, struct gap *gap, const struct listing_target *target)
{
	*l = (struct listing){.ingest = in, .gap = gap, .target = *target};
	json_list_init(&l->page, MAX_ITEM_BYTES);
}

void listing_release(struct listing *l)
{
	listing_stop(l);
	json_list_release(&l->page);
}

void listing_begin(struct listing *l, bool is_first)
{
	listing_stop(l);
	l->is_first = is_first && !l->gap->row.id;
	l->is_stuck = false;
	l->unchanged = 0;
	l->idle_pages = 0;
	l->rv[0] = 0;
	known_sweep_begin(l->ingest->known);
}

void listing_stop(struct listing *l)
{
	free(l->next);
	tape_close(l->reader);
	l->next = NULL;
	l->reader = NULL;
	json_list_clear(&l->page);
}

/* ---- the last state of what is gone ---- */

/* An object that was in memory when the tape was opened may be on the tape by now. */
static int read_object(struct tape *t, uint64_t seq, struct slice *ret)
{
	struct err err;
	int rc = tape_object(t, seq, ret, &err);

	if (rc == ERR_NOT_FOUND && tape_refresh(t, &err) > 0)
		rc = tape_object(t, seq, ret, &err);
	return rc;
}

/* Fills `to` with the object's last bytes. */
static int last_state(struct listing *l, const struct known_object *gone, struct buf *to, struct err *err)
{
	struct recorder_context *x = l->ingest->x;
	struct slice object;
	int rc;

	if (tape_writer_object(flusher_tape(x->flusher), gone->seq, &object))
		return buf_append(to, object.ptr, object.len, err);
	if (!l->reader && (rc = tape_open(x->tape_path, &l->reader, err)))
		return rc;
	if (gone->seq && read_object(l->reader, gone->seq, &object) == 0)
		return buf_append(to, object.ptr, object.len, err);
	return known_stub(gone, to, err);
}

/* Records that `gone` was deleted unseen. `gone` points into the known objects and is invalid afterwards. */
static int put_deletion(struct listing *l, const struct known_object *gone, struct slice rv, struct err *err)
{
	struct buf bytes;
	struct object_meta meta;
	int rc;

	buf_init(&bytes, LIMIT_OBJECT_BYTES);
	rc = last_state(l, gone, &bytes, err);
	if (rc == 0)
		rc = json_scan_object(buf_slice(&bytes), &meta, err);
	if (rc == 0) {
		const struct ingest_object o = {.type = EVENT_DELETED,
			.origin = ORIGIN_INFERRED,
			.time_ns = l->time_ns,
			.meta = &meta,
			.bytes = buf_slice(&bytes),
			.rv = rv};

		rc = ingest_put(l->ingest, &o, l->connection, err);
	}
	buf_release(&bytes);
	return rc;
}

/* ---- one item ---- */

static int miss(struct listing *l, const char *change, const struct object_meta *now,
	const struct known_object *before, struct err *err)
{
	struct tape_missed row = {.change = change, .resource = l->target.resource};

	if (l->is_first || !l->gap->row.id)
		return 0;
	if (before) {
		row.namespace = before->namespace;
		row.name = before->name;
		row.old_uid = before->uid;
		row.old_rv = before->rv;
		row.uid = before->uid;
	}
	if (now) {
		row.namespace = now->namespace;
		row.name = now->name;
		row.uid = now->uid;
		row.rv = now->rv;
	}
	return gap_missed(l->gap, l->ingest->x, &row, err);
}

/* A list may say only after its items what they are. */
static struct slice or_else(const struct buf *said, const char *otherwise)
{
	return said->len ? buf_slice(said) : slice_of(otherwise);
}

static int put_item(struct listing *l, enum event_type type, struct slice item,
	const struct object_meta *meta, struct err *err)
{
	const struct ingest_object o = {.type = type,
		.origin = l->is_first ? ORIGIN_LIST : ORIGIN_RELIST,
		.time_ns = l->time_ns,
		.meta = meta,
		.bytes = item,
		.list_kind = or_else(&l->page.kind, l->target.kind),
		.list_api_version = or_else(&l->page.api_version, l->target.api_version)};

	return ingest_put(l->ingest, &o, l->connection, err);
}

/* The list's version is the upper bound of when an object was deleted. One that is not known yet has a closer
 * bound in the version of the object that took the name. */
static struct slice deleted_before(const struct listing *l, const struct object_meta *successor)
{
	if (l->page.rv.len && l->page.rv.len < RESUME_RV_BYTES)
		return buf_slice(&l->page.rv);
	return *l->rv ? slice_of(l->rv) : successor->rv;
}

static int put_successor(struct listing *l, struct slice item, const struct object_meta *meta,
	const struct known_object *before, struct err *err)
{
	int rc = miss(l, "recreated", meta, before, err);

	if (rc == 0)
		rc = put_deletion(l, before, deleted_before(l, meta), err);
	return rc ? rc : put_item(l, EVENT_ADDED, item, meta, err);
}

static int compare_item(struct listing *l, struct slice item, const struct object_meta *meta, struct err *err)
{
	struct known *known = l->ingest->known;
	struct known_object before;
	bool is_new = !known_was_seen(known, meta->namespace, meta->name);
	int rc;

	l->new_count += is_new;
	if (!known_get(known, meta->namespace, meta->name, &before)) {
		rc = miss(l, "added", meta, NULL, err);
		return rc ? rc : put_item(l, EVENT_ADDED, item, meta, err);
	}
	if (!slice_equal(before.uid, meta->uid))
		return put_successor(l, item, meta, &before, err);
	if (slice_equal(before.rv, meta->rv)) {
		/* What an earlier attempt has recorded in this gap did change. */
		l->unchanged += is_new && before.seq <= l->gap->row.begin_seq;
		known_saw(known, meta->namespace, meta->name);
		return 0;
	}
	rc = miss(l, "modified", meta, &before, err);
	return rc ? rc : put_item(l, EVENT_MODIFIED, item, meta, err);
}

/* ---- the page ---- */

static int check_kind(const struct listing *l, struct err *err)
{
	struct slice kind = buf_slice(&l->page.kind);

	if (kind.len >= 5 && memcmp(kind.ptr + kind.len - 4, "List", 4) == 0)
		return 0;
	if (l->ingest->redacts) /* it may be a value of a Secret */
		return err_set(err, ERR_PROTOCOL, "answer is no list");
	return err_set(err, ERR_PROTOCOL, "answer is no list: its kind is '%.*s'",
		kind.len < 80 ? (int)kind.len : 80, kind.ptr ? kind.ptr : "");
}

static int take_item(void *context, struct slice item, struct err *err)
{
	struct listing *l = context;
	struct object_meta meta;
	int rc = l->page.kind.len ? check_kind(l, err) : 0;

	if (rc == 0)
		rc = json_scan_object(item, &meta, err);
	return rc ? rc : compare_item(l, item, &meta, err);
}

void listing_page_begin(struct listing *l, struct connection *connection)
{
	json_list_clear(&l->page);
	l->connection = connection;
	l->new_count = 0;
}

int listing_page_bytes(struct listing *l, struct slice bytes, int64_t time_ns, struct err *err)
{
	l->time_ns = time_ns;
	return json_list_feed(&l->page, bytes, take_item, l, err);
}

/* ---- the end of a page, and of the list ---- */

static int put_unseen(struct listing *l, struct err *err)
{
	struct known_object gone;
	int rc = 0;

	while (rc == 0 && known_unseen(l->ingest->known, &gone)) {
		rc = miss(l, "deleted", NULL, &gone, err);
		if (rc == 0)
			rc = put_deletion(l, &gone, slice_of(l->rv), err);
	}
	return rc;
}

static int check_head(const struct listing *l, struct err *err)
{
	const struct buf *rv = &l->page.rv;
	int rc = check_kind(l, err);

	if (rc == 0 && (!rv->len || rv->len >= RESUME_RV_BYTES))
		rc = err_set(err, ERR_PROTOCOL, "list has no usable resourceVersion");
	return rc;
}

/* A server that leads in circles would be followed for ever, thousands of pages a second. */
static int check_progress(struct listing *l, struct slice token, struct err *err)
{
	l->idle_pages = l->new_count ? 0 : l->idle_pages + 1;
	l->is_stuck = true;
	if (l->next && slice_is(token, l->next))
		return err_set(err, ERR_PROTOCOL,
			"list does not end: the next page has the continue token of this one");
	if (l->idle_pages >= MAX_IDLE_PAGES)
		return err_set(err, ERR_PROTOCOL, "list does not end: %u pages in a row had nothing new",
			l->idle_pages);
	l->is_stuck = false;
	return 0;
}

static int go_on(struct listing *l, struct slice token, struct err *err)
{
	int rc = check_progress(l, token, err);

	if (rc)
		return rc;
	free(l->next);
	l->next = slice_dup(token);
	return 1;
}

static int listing_complete(struct listing *l, struct err *err)
{
	int rc = put_unseen(l, err);

	tape_close(l->reader);
	l->reader = NULL;
	free(l->next);
	l->next = NULL;
	if (rc == 0)
		l->gap->row.unchanged = l->unchanged;
	return rc;
}

int listing_page_end(struct listing *l, int64_t time_ns, struct err *err)
{
	const struct buf *token = &l->page.continue_token;
	int rc;

	/* Items that waited for the end come after what other streams were sent meanwhile, and so does their time. */
	l->time_ns = time_ns;
	rc = json_list_end(&l->page, take_item, l, err);
	if (rc == 0)
		rc = check_head(l, err);
	if (rc)
		return rc;
	snprintf(l->rv, sizeof(l->rv), "%.*s", (int)l->page.rv.len, l->page.rv.ptr);
	return token->len ? go_on(l, buf_slice(token), err) : listing_complete(l, err);
}

int listing_nothing(struct listing *l, const char *rv, int64_t time_ns, struct err *err)
{
	snprintf(l->rv, sizeof(l->rv), "%s", rv);
	l->time_ns = time_ns;
	l->connection = NULL;
	return put_unseen(l, err);
}
