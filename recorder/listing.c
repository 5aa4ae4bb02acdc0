/* listing.c: see listing.h. */
#include "recorder/listing.h"

#include "schema/base/limits.h"
#include "schema/tape/reader.h"

#include <stdio.h>
#include <stdlib.h>

struct page {
	struct listing *listing;
	struct list_page head;
	int64_t time_ns;
	struct connection *connection;
};

void listing_begin(struct listing *l, struct ingest *in, struct gap *gap, uint32_t resource, bool is_first)
{
	listing_release(l);
	*l = (struct listing){
		.ingest = in, .gap = gap, .resource = resource, .is_first = is_first && !gap->row.id};
	known_sweep_begin(in->known);
}

void listing_release(struct listing *l)
{
	free(l->next);
	tape_close(l->reader);
	l->next = NULL;
	l->reader = NULL;
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

/* When the tape cannot give the last state back (it should), what is known stands for it. */
static int make_stub(const struct known_object *gone, struct buf *to, struct err *err)
{
	int rc = buf_append(to, "{\"metadata\":{\"name\":", 20, err);

	if (rc == 0)
		rc = json_escape(gone->name, to, err);
	if (rc == 0 && gone->namespace.len)
		rc = buf_printf(
			to, err, ",\"namespace\":\"%.*s\"", (int)gone->namespace.len, gone->namespace.ptr);
	if (rc == 0)
		rc = buf_printf(to, err, ",\"uid\":\"%.*s\",\"resourceVersion\":\"%.*s\"}}",
			(int)gone->uid.len, gone->uid.ptr, (int)gone->rv.len, gone->rv.ptr);
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
	return make_stub(gone, to, err);
}

/* Records that `gone` was deleted unseen. `gone` points into the known objects and is invalid afterwards. */
static int put_deletion(struct listing *l, const struct known_object *gone, int64_t time_ns,
	struct connection *connection, struct err *err)
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
			.time_ns = time_ns,
			.meta = &meta,
			.bytes = buf_slice(&bytes),
			.rv = slice_of(l->rv)};

		rc = ingest_put(l->ingest, &o, connection, err);
	}
	buf_release(&bytes);
	return rc;
}

/* ---- one item ---- */

static int miss(struct listing *l, const char *change, const struct object_meta *now,
	const struct known_object *before, struct err *err)
{
	struct tape_missed row = {.change = change, .resource = l->resource};

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

static int put_item(struct page *page, enum event_type type, struct slice item,
	const struct object_meta *meta, struct err *err)
{
	struct listing *l = page->listing;
	const struct ingest_object o = {.type = type,
		.origin = l->is_first ? ORIGIN_LIST : ORIGIN_RELIST,
		.time_ns = page->time_ns,
		.meta = meta,
		.bytes = item,
		.list_kind = page->head.kind,
		.list_api_version = page->head.api_version};

	return ingest_put(l->ingest, &o, page->connection, err);
}

static int take_item(struct page *page, struct slice item, struct err *err)
{
	struct listing *l = page->listing;
	struct known_object before;
	struct object_meta meta;
	int rc = json_scan_object(item, &meta, err);

	if (rc)
		return rc;
	if (!known_get(l->ingest->known, meta.namespace, meta.name, &before)) {
		rc = miss(l, "added", &meta, NULL, err);
		return rc ? rc : put_item(page, EVENT_ADDED, item, &meta, err);
	}
	if (slice_equal(before.uid, meta.uid) && slice_equal(before.rv, meta.rv)) {
		known_saw(l->ingest->known, meta.namespace, meta.name);
		l->unchanged++;
		return 0;
	}
	if (slice_equal(before.uid, meta.uid)) {
		rc = miss(l, "modified", &meta, &before, err);
		return rc ? rc : put_item(page, EVENT_MODIFIED, item, &meta, err);
	}
	rc = miss(l, "recreated", &meta, &before, err);
	if (rc == 0)
		rc = put_deletion(l, &before, page->time_ns, page->connection, err);
	return rc ? rc : put_item(page, EVENT_ADDED, item, &meta, err);
}

static int take_items(struct page *page, struct err *err)
{
	struct json_iter it;
	struct slice key, item;
	int rc;

	if (!page->head.items.len)
		return 0;
	rc = json_iter_begin(page->head.items, &it, err);
	while (rc == 0 && (rc = json_iter_next(&it, &key, &item, err)) > 0)
		rc = take_item(page, item, err);
	return rc;
}

/* ---- the page, and the end of the list ---- */

static int put_unseen(struct page *page, struct err *err)
{
	struct listing *l = page->listing;
	struct known_object gone;
	int rc = 0;

	while (rc == 0 && known_unseen(l->ingest->known, &gone)) {
		rc = miss(l, "deleted", NULL, &gone, err);
		if (rc == 0)
			rc = put_deletion(l, &gone, page->time_ns, page->connection, err);
	}
	return rc;
}

static int check_head(const struct listing *l, const struct list_page *head, struct err *err)
{
	bool is_list = head->kind.len >= 5 && memcmp(head->kind.ptr + head->kind.len - 4, "List", 4) == 0;

	if (!is_list && l->ingest->redacts) /* it may be a value of a Secret */
		return err_set(err, ERR_PROTOCOL, "answer is no list");
	if (!is_list)
		return err_set(err, ERR_PROTOCOL, "answer is no list: its kind is '%.*s'",
			head->kind.len < 80 ? (int)head->kind.len : 80, head->kind.ptr ? head->kind.ptr : "");
	if (!head->rv.len || head->rv.len >= RESUME_RV_BYTES)
		return err_set(err, ERR_PROTOCOL, "list has no usable resourceVersion");
	return 0;
}

int listing_page(
	struct listing *l, struct slice body, int64_t time_ns, struct connection *connection, struct err *err)
{
	struct page page = {.listing = l, .time_ns = time_ns, .connection = connection};
	int rc = json_scan_list(body, &page.head, err);

	if (rc == 0)
		rc = check_head(l, &page.head, err);
	if (rc)
		return rc;
	snprintf(l->rv, sizeof(l->rv), "%.*s", (int)page.head.rv.len, page.head.rv.ptr);
	rc = take_items(&page, err);
	if (rc)
		return rc;
	free(l->next);
	l->next = page.head.continue_token.len ? slice_dup(page.head.continue_token) : NULL;
	if (l->next)
		return 1;
	rc = put_unseen(&page, err);
	tape_close(l->reader);
	l->reader = NULL;
	if (rc == 0)
		l->gap->row.unchanged = l->unchanged;
	return rc;
}

int listing_nothing(struct listing *l, const char *rv, int64_t time_ns, struct err *err)
{
	struct page page = {.listing = l, .time_ns = time_ns};

	snprintf(l->rv, sizeof(l->rv), "%s", rv);
	return put_unseen(&page, err);
}
