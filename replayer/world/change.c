/* change.c: see change.h. */
#include "replayer/world/change.h"

#include "schema/base/count_of.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"
#include "schema/base/rv.h"

#include <stdlib.h>

#define BUCKETS 32768

struct change_cache {
	struct tape *tape;
	const struct overlay *overlay;
	const struct rebase *rebase; /* NULL: times are as recorded */
	size_t bytes, max_bytes;
	struct change *newest, *oldest;
	struct change *buckets[BUCKETS];
};

void change_unref(struct change *c)
{
	if (!c || --c->refs)
		return;
	for (size_t i = 0; i < c->encoding_count; i++)
		blob_unref(c->encodings[i].blob);
	blob_unref(c->previous);
	blob_unref(c->plain);
	buf_release(&c->keep);
	free(c);
}

/* A frame of a watch: {"type":TYPE,"object":OBJECT} and a line feed. The caller owns the reference. */
static struct blob *frame_of(enum event_type type, struct slice object)
{
	const char *name = event_type_name(type);
	const struct slice parts[] = {slice_of("{\"type\":\""), slice_of(name), slice_of("\",\"object\":"),
		object, slice_of("}\n")};

	return blob_join(parts, COUNT_OF(parts));
}

static struct slice change_keep(struct buf *b, struct slice s)
{
	size_t at = b->len;

	if (s.len == 0 || buf_append(b, s.ptr, s.len, NULL))
		return (struct slice){NULL, 0};
	return (struct slice){b->ptr + at, s.len};
}

int object_with_rv(struct slice object, uint64_t rv, struct buf *to, struct err *err)
{
	struct slice old;
	int rc = json_get(object, "metadata.resourceVersion", &old, err);
	size_t before;

	if (rc < 0)
		return rc;
	if (rc == 0)
		return buf_append(to, object.ptr, object.len, err);
	before = (size_t)(old.ptr - object.ptr);
	rc = buf_append(to, object.ptr, before, err);
	if (rc == 0)
		rc = buf_printf(to, err, "\"%llu\"", (unsigned long long)rv);
	return rc ? rc : buf_append(to, old.ptr + old.len, object.len - before - old.len, err);
}

static void set_object(struct change *c, struct slice object)
{
	struct slice body;

	c->plain = frame_of(c->type, object);
	body = blob_body(c->plain);
	c->object = (struct slice){body.ptr + body.len - 2 - object.len, object.len};
}

struct change *change_new(const struct event *e, struct slice object, uint64_t rv)
{
	struct change *c = xcalloc(1, sizeof(*c));
	struct buf renumbered;

	*c = (struct change){.refs = 1,
		.seq = e->seq,
		.type = e->type,
		.origin = e->origin,
		.resource = e->resource,
		.stream = e->stream,
		.time_ns = e->time_ns};
	if (!rv_to_u64(e->rv, &c->rv))
		c->rv = 0;
	if (rv)
		c->rv = rv;
	buf_init(&c->keep, 2 * LIMIT_NAME_BYTES);
	/* Reserved at once, so that the second name does not move the first. */
	if (buf_reserve(&c->keep, e->namespace.len + e->name.len)) {
		c->namespace = change_keep(&c->keep, e->namespace);
		c->name = change_keep(&c->keep, e->name);
	}
	buf_init(&renumbered, LIMIT_OBJECT_BYTES);
	if (e->origin == ORIGIN_INFERRED && c->rv && object_with_rv(object, c->rv, &renumbered, NULL) == 0)
		object = buf_slice(&renumbered);
	set_object(c, object);
	buf_release(&renumbered);
	return c;
}

void change_rebase(struct change *c, const struct rebase *r)
{
	if (r)
		rebase_object(
			r, blob_change(c->plain) + (c->object.ptr - blob_body(c->plain).ptr), c->object.len);
}

static struct event event_of(const struct change *c)
{
	return (struct event){.seq = c->seq,
		.type = c->type,
		.origin = c->origin,
		.resource = c->resource,
		.stream = c->stream,
		.time_ns = c->time_ns,
		.namespace = c->namespace,
		.name = c->name};
}

struct change *change_renumbered(const struct change *c, uint64_t rv)
{
	const struct event e = event_of(c);
	struct change *made;
	struct buf object;

	buf_init(&object, LIMIT_OBJECT_BYTES);
	if (object_with_rv(c->object, rv, &object, NULL) == 0)
		made = change_new(&e, buf_slice(&object), rv);
	else
		made = change_new(&e, c->object, rv);
	buf_release(&object);
	return made;
}

bool change_is_of(const struct change *c, struct slice object)
{
	struct object_meta changed, other;

	return json_scan_object(c->object, &changed, NULL) == 0 &&
	       json_scan_object(object, &other, NULL) == 0 && slice_equal(changed.uid, other.uid);
}

struct event change_event(const struct change *c)
{
	struct object_meta meta = {0};
	struct event e = {.seq = c->seq,
		.time_ns = c->time_ns,
		.type = c->type,
		.origin = c->origin,
		.stream = c->stream,
		.resource = c->resource,
		.namespace = c->namespace,
		.name = c->name,
		.bytes = c->object.len};

	if (json_scan_object(c->object, &meta, NULL) == 0) {
		e.uid = meta.uid;
		e.rv = meta.rv;
	}
	return e;
}

struct change *change_of_version(const struct overlay_version *v)
{
	const struct event e = {.seq = v->seq,
		.type = v->type,
		.origin = ORIGIN_WATCH,
		.resource = v->resource,
		.time_ns = v->time_ns,
		.namespace = v->namespace,
		.name = v->name};
	struct change *c = change_new(&e, blob_body(v->object), v->rv);

	c->tape_seq = v->tape_seq;
	c->previous_seq = v->previous_seq;
	c->previous_known = true;
	return c;
}

struct blob *change_encoding(const struct change *c, uint32_t key)
{
	for (size_t i = 0; i < c->encoding_count; i++) {
		if (c->encodings[i].key == key)
			return c->encodings[i].blob;
	}
	return NULL;
}

void change_keep_encoding(struct change *c, uint32_t key, struct blob *b)
{
	if (c->encoding_count == CHANGE_ENCODINGS)
		return;
	c->encodings[c->encoding_count].key = key;
	c->encodings[c->encoding_count++].blob = blob_ref(b);
}

/* ---- cache ---- */

struct change_cache *change_cache_new(struct tape *tape, const struct overlay *overlay, size_t max_bytes)
{
	struct change_cache *cc = xcalloc(1, sizeof(*cc));

	cc->tape = tape;
	cc->overlay = overlay;
	cc->max_bytes = max_bytes;
	return cc;
}

static struct change **bucket_of(struct change_cache *cc, uint64_t seq)
{
	return &cc->buckets[seq % BUCKETS];
}

static size_t cost(const struct change *c)
{
	return sizeof(*c) + c->plain->len;
}

static void unlink_change(struct change_cache *cc, struct change *c)
{
	if (c->newer)
		c->newer->older = c->older;
	else
		cc->newest = c->older;
	if (c->older)
		c->older->newer = c->newer;
	else
		cc->oldest = c->newer;
	c->newer = c->older = NULL;
}

static void link_newest(struct change_cache *cc, struct change *c)
{
	c->older = cc->newest;
	c->newer = NULL;
	if (cc->newest)
		cc->newest->newer = c;
	cc->newest = c;
	if (!cc->oldest)
		cc->oldest = c;
}

static void evict(struct change_cache *cc, struct change *c)
{
	struct change **at = bucket_of(cc, c->seq);

	while (*at != c)
		at = &(*at)->next_in_bucket;
	*at = c->next_in_bucket;
	c->next_in_bucket = NULL;
	unlink_change(cc, c);
	cc->bytes -= cost(c);
	change_unref(c);
}

void change_cache_forget(struct change_cache *cc)
{
	while (cc->oldest)
		evict(cc, cc->oldest);
}

void change_cache_free(struct change_cache *cc)
{
	if (!cc)
		return;
	change_cache_forget(cc);
	free(cc);
}

void change_cache_rebase(struct change_cache *cc, const struct rebase *r)
{
	change_cache_forget(cc);
	cc->rebase = r;
}

static struct change *change_find(struct change_cache *cc, uint64_t seq)
{
	struct change *c = *bucket_of(cc, seq);

	while (c && c->seq != seq)
		c = c->next_in_bucket;
	return c;
}

void change_cache_add(struct change_cache *cc, struct change *c)
{
	struct change **bucket = bucket_of(cc, c->seq), *old = change_find(cc, c->seq);

	if (old == c)
		return;
	if (old)
		evict(cc, old);
	if (cost(c) > cc->max_bytes)
		return;
	change_ref(c);
	c->next_in_bucket = *bucket;
	*bucket = c;
	link_newest(cc, c);
	cc->bytes += cost(c);
	while (cc->bytes > cc->max_bytes)
		evict(cc, cc->oldest);
}

static int version_gone(uint64_t seq, struct err *err)
{
	return err_set(err, ERR_NOT_FOUND, "written version %llu is kept no more",
		(unsigned long long)(seq - OVERLAY_SEQ));
}

static int read_version(struct change_cache *cc, uint64_t seq, struct change **ret, struct err *err)
{
	const struct overlay_version *v = overlay_find(cc->overlay, seq);

	if (!v)
		return version_gone(seq, err);
	*ret = change_of_version(v);
	return 0;
}

static int read_event(
	struct change_cache *cc, uint64_t seq, uint64_t rv, struct change **ret, struct err *err)
{
	uint64_t moved = overlay_moved(cc->overlay, seq);
	struct slice object;
	struct change *c;
	struct event e;
	struct buf strings;
	int rc;

	buf_init(&strings, 8 * LIMIT_NAME_BYTES);
	rc = tape_event(cc->tape, seq, &e, &strings, err);
	if (rc == 0)
		rc = tape_object(cc->tape, seq, &object, err);
	if (rc == 0) {
		c = change_new(&e, object, rv);
		change_rebase(c, cc->rebase);
		*ret = moved ? change_renumbered(c, moved) : change_ref(c);
		change_unref(c);
	}
	buf_release(&strings);
	return rc;
}

int change_cache_get(struct change_cache *cc, uint64_t seq, uint64_t rv, struct change **ret, struct err *err)
{
	struct change *c = change_find(cc, seq);
	int rc;

	if (c) {
		unlink_change(cc, c);
		link_newest(cc, c);
		*ret = change_ref(c);
		return 0;
	}
	rc = overlay_has(seq) ? read_version(cc, seq, ret, err) : read_event(cc, seq, rv, ret, err);
	if (rc == 0)
		change_cache_add(cc, *ret);
	return rc;
}

static int read_object(struct change_cache *cc, uint64_t seq, struct slice *ret, struct err *err)
{
	const struct overlay_version *v;

	if (!overlay_has(seq))
		return tape_object(cc->tape, seq, ret, err);
	v = overlay_find(cc->overlay, seq);
	if (!v)
		return version_gone(seq, err);
	*ret = blob_body(v->object);
	return 0;
}

/* The previous event of the same name, if it left the object in existence. */
int change_find_previous(struct change_cache *cc, struct change *c, struct err *err)
{
	struct event e;
	struct buf strings;
	uint64_t seq;
	int rc;

	if (c->previous_known)
		return 0;
	rc = tape_previous(cc->tape, c->seq, &seq, err);
	if (rc == 0 && seq) {
		buf_init(&strings, 8 * LIMIT_NAME_BYTES);
		rc = tape_event(cc->tape, seq, &e, &strings, err);
		if (rc == 0 && e.type == EVENT_DELETED)
			seq = 0;
		buf_release(&strings);
	}
	if (rc)
		return rc;
	c->previous_seq = seq;
	c->previous_known = true;
	return 0;
}

int change_previous(struct change_cache *cc, struct change *c, struct slice *ret, struct err *err)
{
	int rc = change_find_previous(cc, c, err);

	if (rc || c->previous_seq == 0)
		return rc;
	if (!c->previous) {
		struct slice object;

		rc = read_object(cc, c->previous_seq, &object, err);
		if (rc)
			return rc;
		c->previous = blob_of(object);
		if (cc->rebase && !overlay_has(c->previous_seq))
			rebase_object(cc->rebase, blob_change(c->previous), object.len);
	}
	*ret = blob_body(c->previous);
	return 1;
}
