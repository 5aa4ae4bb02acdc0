/* talk.c: see talk.h. */
#include "tools/tee/talk.h"

#include "replayer/wire/http.h"
#include "schema/base/count_of.h"

#include <stdlib.h>

/* A WebSocket may carry a watch; whatever else an upgrade brings is nobody's to read. */
static bool is_watch(struct slice target)
{
	static const char *const signs[] = {"watch=", "/watch/"};

	for (size_t i = 0; i < COUNT_OF(signs); i++) {
		if (memmem(target.ptr, target.len, signs[i], strlen(signs[i])))
			return true;
	}
	return false;
}

struct talk *talk_begin(struct feed *f, uint64_t id, uint64_t connection, const struct talk_head *head)
{
	struct talk *t = xcalloc(1, sizeof(*t));
	struct slice upgrade = field_value(head->fields, "Upgrade");
	struct feed_entry e = {
		.kind = FEED_REQUEST, .id = id, .other = connection, .text_count = REQUEST_TEXTS};

	t->feed = f;
	t->id = id;
	t->is_head = slice_is(head->method, "HEAD");
	t->is_connect = slice_is(head->method, "CONNECT");
	t->wants_upgrade = t->is_connect ||
			   (upgrade.len && http_list_has(field_value(head->fields, "Connection"), "upgrade"));
	t->feeds_upgraded = slice_equal_nocase(upgrade, slice_of("websocket")) && is_watch(head->target);
	e.texts[REQUEST_METHOD] = head->method;
	e.texts[REQUEST_TARGET] = head->target;
	e.texts[REQUEST_AGENT] = field_value(head->fields, "User-Agent");
	e.texts[REQUEST_AUTHORIZATION] = field_value(head->fields, "Authorization");
	e.texts[REQUEST_ACCEPT] = field_value(head->fields, "Accept");
	e.texts[REQUEST_CONTENT_TYPE] = field_value(head->fields, "Content-Type");
	e.texts[REQUEST_UPGRADE] = upgrade;
	e.texts[REQUEST_VERSION] = slice_of(head->version);
	t->is_told = feed_put(f, &e);
	return t;
}

/* What was lost is told before what comes next. True: the piece fits in. */
static void put_piece(struct talk *t, enum feed_kind kind, uint64_t *lost, struct slice bytes)
{
	struct feed_entry piece = {.kind = kind, .id = t->id, .texts = {bytes}, .text_count = 1};
	struct feed_entry loss = {
		.kind = FEED_LOST, .id = t->id, .other = kind == FEED_ASKED, .number = (int64_t)*lost};

	if (!t->is_told || !bytes.len)
		return;
	if (*lost && !feed_has_room(t->feed)) {
		*lost += bytes.len;
		return;
	}
	if (*lost && feed_put(t->feed, &loss))
		*lost = 0;
	if (*lost || !feed_put(t->feed, &piece))
		*lost += bytes.len;
}

void talk_asked(struct talk *t, struct slice bytes)
{
	put_piece(t, FEED_ASKED, &t->asked_lost, bytes);
}

static void tell_loss(struct talk *t, uint64_t *lost, uint64_t which)
{
	const struct feed_entry loss = {
		.kind = FEED_LOST, .id = t->id, .other = which, .number = (int64_t)*lost};

	if (*lost && feed_put(t->feed, &loss))
		*lost = 0;
}

void talk_asked_end(struct talk *t)
{
	const struct feed_entry e = {.kind = FEED_ASKED_END, .id = t->id};

	if (!t->is_told)
		return;
	tell_loss(t, &t->asked_lost, 1);
	(void)feed_put(t->feed, &e);
}

void talk_answer(struct talk *t, int status, const struct field_list *fields)
{
	struct feed_entry e = {
		.kind = FEED_ANSWER, .id = t->id, .number = status, .text_count = ANSWER_TEXTS};

	t->is_answered = true;
	if (!t->is_told)
		return;
	e.texts[ANSWER_CONTENT_TYPE] = field_value(fields, "Content-Type");
	e.texts[ANSWER_CONTENT_ENCODING] = field_value(fields, "Content-Encoding");
	e.texts[ANSWER_RETRY_AFTER] = field_value(fields, "Retry-After");
	e.texts[ANSWER_AUDIT_ID] = field_value(fields, "Audit-Id");
	e.texts[ANSWER_DATE] = field_value(fields, "Date");
	e.texts[ANSWER_ETAG] = field_value(fields, "Etag");
	(void)feed_put(t->feed, &e);
}

void talk_body(struct talk *t, struct slice bytes)
{
	put_piece(t, FEED_BODY, &t->lost, bytes);
}

void talk_end(struct talk *t, enum road_end how, enum road_party by, int64_t code)
{
	uint32_t number = (uint32_t)code;
	const struct feed_entry e = {.kind = FEED_END,
		.id = t->id,
		.number = how,
		.other = by,
		.texts = {{(const char *)&number, sizeof(number)}},
		.text_count = code >= 0};

	if (t->is_told) {
		tell_loss(t, &t->lost, 0);
		(void)feed_put(t->feed, &e);
	}
	free(t);
}
