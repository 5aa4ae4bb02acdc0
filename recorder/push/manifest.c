/* manifest.c: see manifest.h. */
#include "recorder/push/manifest.h"

#include "schema/base/clock.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"
#include "schema/base/moment.h"
#include "schema/base/version.h"
#include "schema/tape/format.h"
#include "schema/tape/segment.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define MANIFEST_VERSION 1

void manifest_release(struct manifest *m)
{
	free(m->tape_id);
	free(m->cluster);
	free(m->name);
	free(m->segments);
	free(m->losses);
	*m = (struct manifest){0};
}

static void *copy_items(const void *items, size_t bytes)
{
	return bytes ? memcpy(xmalloc(bytes), items, bytes) : NULL;
}

struct manifest manifest_copy(const struct manifest *m)
{
	struct manifest copy = *m;

	copy.tape_id = xstrdup(m->tape_id);
	copy.cluster = xstrdup(m->cluster);
	copy.name = xstrdup(m->name);
	copy.segments = copy_items(m->segments, m->segment_count * sizeof(*m->segments));
	copy.losses = copy_items(m->losses, m->loss_count * sizeof(*m->losses));
	return copy;
}

const struct manifest_segment *manifest_find(const struct manifest *m, uint32_t number)
{
	size_t low = 0, high = m->segment_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (m->segments[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low < m->segment_count && m->segments[low].number == number ? &m->segments[low] : NULL;
}

bool manifest_has(const struct manifest *m, uint32_t number)
{
	const struct manifest_segment *s = manifest_find(m, number);

	return s && !s->is_off;
}

void manifest_add(struct manifest *m, const struct manifest_segment *segment)
{
	size_t at = m->segment_count;

	while (at && m->segments[at - 1].number >= segment->number)
		at--;
	if (at == m->segment_count || m->segments[at].number != segment->number) {
		m->segments = xrealloc(m->segments, (m->segment_count + 1) * sizeof(*m->segments));
		memmove(&m->segments[at + 1], &m->segments[at],
			(m->segment_count++ - at) * sizeof(*m->segments));
	}
	m->segments[at] = *segment;
}

void manifest_note_etag(struct manifest_segment *s, const char *etag)
{
	struct slice bare = s3_etag_bare(etag);

	snprintf(s->etag, sizeof(s->etag), "%.*s", (int)bare.len, bare.ptr);
}

bool manifest_is_object(const struct manifest_segment *s, const struct s3_object *object)
{
	return object->bytes == s->bytes && strcmp(object->sha256, s->sha256) == 0;
}

char *manifest_segment_key(const char *folder, uint32_t number)
{
	return xasprintf("%s%s" FORMAT_SEALED_NAME, folder, *folder ? "/" : "", number);
}

void manifest_add_loss(struct manifest *m, const struct manifest_loss *loss)
{
	m->losses = xrealloc(m->losses, (m->loss_count + 1) * sizeof(*m->losses));
	m->losses[m->loss_count++] = *loss;
}

/* ---- from JSON ---- */

static uint64_t number_at(struct slice json, const char *path)
{
	struct slice value;
	char text[32];

	if (json_get(json, path, &value, NULL) <= 0 || value.len >= sizeof(text))
		return 0;
	snprintf(text, sizeof(text), "%.*s", (int)value.len, value.ptr);
	return strtoull(text, NULL, 10);
}

static bool flag_at(struct slice json, const char *path)
{
	struct slice value;

	return json_get(json, path, &value, NULL) > 0 && slice_is(value, "true");
}

/* "" when it is not there, is no text, or does not fit. */
static void text_at(struct slice json, const char *path, char *to, size_t size)
{
	struct slice value;
	struct buf text;

	*to = 0;
	buf_init(&text, size - 1);
	if (json_get(json, path, &value, NULL) > 0 && value.len && *value.ptr == '"' &&
		!json_unescape(value, &text, NULL))
		snprintf(to, size, "%.*s", (int)text.len, text.ptr ? text.ptr : "");
	buf_release(&text);
}

static int64_t time_at(struct slice json, const char *path)
{
	char text[TIME_TEXT_BYTES];
	int64_t ns;

	text_at(json, path, text, sizeof(text));
	return moment_is_absolute(slice_of(text), &ns) ? ns : 0;
}

static char *copy_at(struct slice json, const char *path)
{
	char text[LIMIT_NAME_BYTES];

	text_at(json, path, text, sizeof(text));
	return xstrdup(text);
}

bool manifest_is_sum(const char *text, size_t digits)
{
	return strlen(text) == digits && strspn(text, "0123456789abcdef") == digits;
}

/* Of what makes no sense, in a sentence. */
#define TOLD_BYTES 200

static int take_segment(struct manifest *m, struct slice json, struct err *err)
{
	struct manifest_segment s = {.bytes = number_at(json, "$.bytes"),
		.first_seq = number_at(json, "$.first_seq"),
		.last_seq = number_at(json, "$.last_seq"),
		.events = number_at(json, "$.events"),
		.first_time_ns = time_at(json, "$.first_time"),
		.last_time_ns = time_at(json, "$.last_time"),
		.pushed_ns = time_at(json, "$.pushed")};
	uint64_t number = number_at(json, "$.segment");

	s.number = (uint32_t)number;
	text_at(json, "$.sha256", s.sha256, sizeof(s.sha256));
	text_at(json, "$.digest", s.digest, sizeof(s.digest));
	text_at(json, "$.etag", s.etag, sizeof(s.etag));
	if (!number || number > UINT32_MAX || s.bytes > LIMIT_SEGMENT_BYTES ||
		!manifest_is_sum(s.sha256, S3_SUM_BYTES - 1) ||
		!manifest_is_sum(s.digest, SEAL_DIGEST_BYTES - 1))
		return err_set(err, ERR_CORRUPT, "a segment of the manifest makes no sense: %.*s",
			(int)(json.len < TOLD_BYTES ? json.len : TOLD_BYTES), json.len ? json.ptr : "");
	manifest_add(m, &s);
	return 0;
}

static int take_loss(struct manifest *m, struct slice json, struct err *err)
{
	const struct manifest_loss loss = {(uint32_t)number_at(json, "$.first"),
		(uint32_t)number_at(json, "$.last"), time_at(json, "$.noticed")};

	(void)err;
	manifest_add_loss(m, &loss);
	return 0;
}

static int each_of(struct slice json, const char *path,
	int (*take)(struct manifest *m, struct slice json, struct err *err), struct manifest *m,
	struct err *err)
{
	struct slice list, item;
	struct json_iter it;
	int rc = json_get(json, path, &list, err);

	if (rc <= 0)
		return rc;
	rc = json_iter_begin(list, &it, err);
	while (!rc && (rc = json_iter_next(&it, NULL, &item, err)) > 0)
		rc = take(m, item, err);
	return rc;
}

int manifest_parse(struct slice json, struct manifest *ret, struct err *err)
{
	struct manifest m = {0};
	uint64_t version = number_at(json, "$.manifest");
	int rc;

	if (version > MANIFEST_VERSION)
		return err_set(err, ERR_PROTOCOL,
			"the manifest is of version %" PRIu64 ", this program knows 1", version);
	if (!version)
		return err_set(err, ERR_CORRUPT,
			"it is no manifest of a tape, or only a part of one (%zu bytes)", json.len);
	m.tape_id = copy_at(json, "$.tape_id");
	m.cluster = copy_at(json, "$.cluster");
	m.name = copy_at(json, "$.name");
	m.complete = flag_at(json, "$.complete");
	if ((rc = each_of(json, "$.segments", take_segment, &m, err)) ||
		(rc = each_of(json, "$.lost", take_loss, &m, err))) {
		manifest_release(&m);
		return err_prefix(err, ERR_CORRUPT, "it is no manifest of a tape");
	}
	m.book.bytes = number_at(json, "$.audit.bytes");
	text_at(json, "$.audit.sha256", m.book.sha256, sizeof(m.book.sha256));
	if (!manifest_is_sum(m.book.sha256, S3_SUM_BYTES - 1))
		*m.book.sha256 = 0;
	*ret = m;
	return 0;
}

/* ---- to JSON ---- */

static int put_text(struct buf *to, const char *name, const char *text, struct err *err)
{
	int rc = buf_printf(to, err, "  \"%s\": ", name);

	rc = rc ? rc : json_escape(slice_of(text), to, err);
	return rc ? rc : buf_append(to, ",\n", 2, err);
}

static int put_segment(struct buf *to, const struct manifest_segment *s, bool first, struct err *err)
{
	char begin[TIME_TEXT_BYTES], end[TIME_TEXT_BYTES], pushed[TIME_TEXT_BYTES];

	int rc = buf_printf(to, err,
		"%s    {\"segment\": %u, \"file\": \"" FORMAT_SEALED_NAME "\", \"bytes\": %" PRIu64
		", \"sha256\": \"%s\", \"digest\": \"%s\", \"first_seq\": %" PRIu64 ", \"last_seq\": %" PRIu64
		", \"events\": %" PRIu64
		", \"first_time\": \"%s\", \"last_time\": \"%s\", \"pushed\": \"%s\", \"etag\": ",
		first ? "" : ",\n", s->number, s->number, s->bytes, s->sha256, s->digest, s->first_seq,
		s->last_seq, s->events, s->events ? time_format(begin, s->first_time_ns) : "",
		s->events ? time_format(end, s->last_time_ns) : "", time_format(pushed, s->pushed_ns));

	rc = rc ? rc : json_escape(slice_of(s->etag), to, err);
	return rc ? rc : buf_append(to, "}", 1, err);
}

static int put_loss(struct buf *to, const struct manifest_loss *l, bool first, struct err *err)
{
	char noticed[TIME_TEXT_BYTES];

	return buf_printf(to, err, "%s    {\"first\": %u, \"last\": %u, \"noticed\": \"%s\"}",
		first ? "" : ",\n", l->first, l->last, time_format(noticed, l->noticed_ns));
}

static int put_book(struct buf *to, const struct manifest_book *b, struct err *err)
{
	return buf_printf(
		to, err, "  \"audit\": {\"bytes\": %" PRIu64 ", \"sha256\": \"%s\"},\n", b->bytes, b->sha256);
}

int manifest_format(const struct manifest *m, struct buf *to, struct err *err)
{
	int rc = buf_printf(to, err, "{\n  \"manifest\": %d,\n  \"kubetape\": \"%s\",\n", MANIFEST_VERSION,
		KUBETAPE_VERSION);

	rc = rc ? rc : put_text(to, "tape_id", m->tape_id, err);
	rc = rc ? rc : put_text(to, "cluster", m->cluster, err);
	rc = rc ? rc : put_text(to, "name", m->name, err);
	rc = rc ? rc : buf_printf(to, err, "  \"complete\": %s,\n", m->complete ? "true" : "false");
	if (!rc && *m->book.sha256)
		rc = put_book(to, &m->book, err);
	rc = rc ? rc : buf_printf(to, err, "  \"segments\": [\n");
	for (size_t i = 0; i < m->segment_count && !rc; i++)
		rc = put_segment(to, &m->segments[i], i == 0, err);
	rc = rc ? rc : buf_printf(to, err, "\n  ],\n  \"lost\": [\n");
	for (size_t i = 0; i < m->loss_count && !rc; i++)
		rc = put_loss(to, &m->losses[i], i == 0, err);
	return rc ? rc : buf_printf(to, err, "\n  ]\n}\n");
}

/* ---- in the store ---- */

int manifest_read(struct s3 *s, const char *key, struct manifest *ret, struct err *err)
{
	struct s3_object object;
	struct buf json;
	int rc;

	buf_init(&json, LIMIT_DOCUMENT_BYTES);
	rc = s3_get(s, key, &json, &object, err);
	if (rc)
		goto done;
	rc = manifest_parse(buf_slice(&json), ret, err);
	if (rc)
		rc = err_prefix(err, rc, "cannot read '%s'", key);
	if (rc == ERR_CORRUPT)
		*ret = (struct manifest){0};
	if (!rc || rc == ERR_CORRUPT)
		snprintf(ret->etag, sizeof(ret->etag), "%s", object.etag);
done:
	buf_release(&json);
	return rc;
}

int manifest_write(struct s3 *s, const char *key, struct manifest *m, struct err *err)
{
	char sum[S3_SUM_BYTES];
	struct s3_put put = {.key = key,
		.content_type = "application/json",
		.sha256 = sum,
		.only_new = !*m->etag,
		.only_etag = *m->etag ? m->etag : NULL,
		.ret_etag = m->etag};
	struct buf json;
	int rc;

	buf_init(&json, LIMIT_DOCUMENT_BYTES);
	rc = manifest_format(m, &json, err);
	put.memory = buf_slice(&json);
	rc = rc ? rc : s3_sum_of(put.memory, sum, err);
	rc = rc ? rc : s3_put(s, &put, err);
	buf_release(&json);
	return rc;
}

/* ---- beside what the store has ---- */

struct presence {
	size_t prefix; /* of keys, with its slash */
	const struct manifest *of;
	bool *has; /* for each of its segments */
	size_t count;
};

static int note_present(void *context, const struct s3_entry *entry)
{
	struct presence *here = context;
	const struct manifest_segment *s = NULL;
	uint32_t number;

	if (segment_is_sealed_name(entry->key + here->prefix, &number))
		s = manifest_find(here->of, number);
	if (s) {
		here->has[s - here->of->segments] = true;
		here->count++;
	}
	return 0;
}

/* Keeps those that are there, which are fewer. The number of the first that is not. */
static uint32_t keep_present(struct manifest *m, const bool *has)
{
	uint32_t first = 0;
	size_t kept = 0;

	for (size_t i = 0; i < m->segment_count; i++) {
		if (has[i])
			m->segments[kept++] = m->segments[i];
		else if (!first)
			first = m->segments[i].number;
	}
	m->segment_count = kept;
	return first;
}

char *manifest_leave_out_absent(struct s3 *s, const char *folder, struct manifest *m)
{
	char *prefix = xasprintf("%s%s", folder, *folder ? "/" : ""), *lost = NULL;
	struct presence here = {.prefix = strlen(prefix), .of = m};
	size_t count = m->segment_count;

	here.has = xcalloc(count + 1, sizeof(*here.has));
	if (s3_list(s, prefix, "/", note_present, &here, NULL) == 0 && here.count && here.count < count) {
		uint32_t first = keep_present(m, here.has);

		lost = xasprintf(
			"the store has lost %zu of %zu segments, number %u is the first: what they hold is not shown",
			count - here.count, count, first);
	}
	free(here.has);
	free(prefix);
	return lost;
}

char *manifest_tell_losses(const struct manifest *m)
{
	struct buf text;
	char *result;

	if (!m->loss_count)
		return NULL;
	buf_init(&text, ERR_TEXT_MAX);
	(void)!buf_printf(&text, NULL, "segments that were removed before the store had them are not shown:");
	for (size_t i = 0; i < m->loss_count; i++)
		(void)!buf_printf(
			&text, NULL, "%s %u to %u", i ? "," : "", m->losses[i].first, m->losses[i].last);
	result = slice_dup(buf_slice(&text));
	buf_release(&text);
	return result;
}
