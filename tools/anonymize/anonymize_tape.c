/*
 * anonymize_tape.c: see anonymize_tape.h. What is collected and what is proved is the same walk over every
 * text of a tape; what is between the two, the rewriting, is remake.h's.
 */
#include "tools/anonymize/anonymize_tape.h"

#include "schema/base/count_of.h"
#include "schema/base/limits.h"

#include <stdlib.h>

/* ---- every text of a tape ---- */

struct text_walk {
	struct anonymizer *a;
	struct tape *tape;
	const struct anonymize_options *o;
	const char *doing;
	bool proves;
	struct err *err;
};

static int walk_json(struct text_walk *w, struct slice json)
{
	if (!json.len)
		return 0;
	return w->proves ? anonymizer_prove_json(w->a, json, w->err)
			 : anonymizer_note_json(w->a, json, w->err);
}

static int walk_text(struct text_walk *w, struct slice text)
{
	if (!text.len)
		return 0;
	return w->proves ? anonymizer_prove_text(w->a, text, w->err)
			 : anonymizer_note_text(w->a, text, w->err);
}

/* NULL is fine. */
static int walk_word(struct text_walk *w, const char *text)
{
	return text ? walk_text(w, slice_of(text)) : 0;
}

static int walk_registry(struct text_walk *w)
{
	const struct tape_resource *r;
	const struct tape_stream *s;
	int rc = 0;

	for (size_t i = 0; (r = tape_resource_at(w->tape, i)) && !rc; i++) {
		if (!(rc = walk_word(w, r->apigroup)) && !(rc = walk_word(w, r->version)) &&
			!(rc = walk_word(w, r->resource)))
			rc = walk_word(w, r->kind);
	}
	for (size_t i = 0; (s = tape_stream_at(w->tape, i)) && !rc; i++) {
		if (!(rc = walk_word(w, s->namespace)) && !(rc = walk_word(w, s->label_selector)))
			rc = walk_word(w, s->field_selector);
	}
	return rc;
}

static int walk_connection(void *context, const struct tape_connection *c)
{
	struct text_walk *w = context;
	int rc;

	if ((rc = walk_word(w, c->target)) || (rc = walk_word(w, c->server)) ||
		(rc = walk_word(w, c->audit_id)))
		return rc;
	return c->error_status ? walk_json(w, slice_of(c->error_status)) : 0;
}

static int walk_mark(void *context, const struct tape_mark *mark)
{
	return walk_json(context, mark->object);
}

static int walk_missed(void *context, const struct tape_missed *m)
{
	int rc;

	if ((rc = walk_text(context, m->namespace)) || (rc = walk_text(context, m->name)) ||
		(rc = walk_text(context, m->uid)))
		return rc;
	return walk_text(context, m->old_uid);
}

static bool is_json(const char *content_type, struct slice body)
{
	return strstr(content_type, "json") && body.len && (*body.ptr == '{' || *body.ptr == '[');
}

static int walk_document(void *context, const struct tape_document *d)
{
	struct text_walk *w = context;
	struct buf body;
	int rc;

	if ((rc = walk_word(w, d->path)) || (rc = walk_word(w, d->etag)))
		return rc;
	buf_init(&body, LIMIT_DOCUMENT_BYTES);
	rc = tape_document_body(w->tape, d->segment, d->id, &body, w->err);
	if (!rc && is_json(d->content_type, buf_slice(&body)))
		rc = walk_json(w, buf_slice(&body));
	buf_release(&body);
	return rc;
}

/* Who made which event, as the audit log says: users, programs and addresses. */
static int walk_claim(void *context, const struct audit_claim *c)
{
	const struct slice texts[] = {
		c->uid, c->audit_id, c->user, c->impersonated_user, c->user_agent, c->source_ip};
	int rc = 0;

	for (size_t i = 0; i < COUNT_OF(texts) && !rc; i++)
		rc = walk_text(context, texts[i]);
	return rc;
}

static int walk_book(struct text_walk *w, const char *tape_path)
{
	struct audit_book *book;
	int rc = audit_book_open(tape_path, &book, w->err);

	if (!rc && book)
		rc = audit_book_each(book, walk_claim, w, w->err);
	audit_book_close(book);
	return rc;
}

static int walk_rows(struct text_walk *w)
{
	int rc;

	if ((rc = walk_registry(w)) || (rc = tape_each_connection(w->tape, walk_connection, w, w->err)) ||
		(rc = tape_each_mark(w->tape, walk_mark, w, w->err)) ||
		(rc = tape_each_missed(w->tape, walk_missed, w, w->err)))
		return rc;
	return tape_each_document(w->tape, walk_document, w, w->err);
}

static int walk_state(struct text_walk *w, uint64_t seq)
{
	struct tape_state *state;
	struct slice object;
	int rc = tape_state_at(w->tape, seq, 0, &state, w->err);

	if (rc)
		return rc;
	for (size_t i = 0; i < state->count && !rc; i++) {
		rc = tape_object(w->tape, state->live[i].seq, &object, w->err);
		if (!rc)
			rc = walk_json(w, object);
	}
	tape_state_free(state);
	return rc;
}

static int anonymize_tape_tell(struct text_walk *w, uint64_t done, uint64_t total)
{
	if (done % 1024 || !w->o->progress || !w->o->progress(w->o->context, w->doing, done, total))
		return 0;
	return err_set(w->err, ERR_STOPPED, "stopped before the tape was made");
}

static int walk_events(struct text_walk *w, uint64_t total)
{
	const struct tape_filter all = {0};
	struct tape_cursor *c;
	struct slice object;
	struct event e;
	uint64_t done = 0;
	int more = tape_cursor_open(w->tape, &all, TAPE_STORED, &c, w->err), rc = 0;

	if (more)
		return more;
	while (!rc && (more = tape_cursor_next(c, &e, w->err)) > 0) {
		rc = tape_cursor_object(c, &object, w->err);
		if (!rc && !(rc = walk_json(w, object)))
			rc = anonymize_tape_tell(w, ++done, total);
	}
	tape_cursor_close(c);
	return rc ? rc : more;
}

static int walk_tape(struct text_walk *w)
{
	struct tape_info info;
	int rc = tape_info(w->tape, &info, w->err);

	if (rc || (rc = walk_book(w, tape_path_of(w->tape))) || (rc = walk_rows(w)) ||
		(rc = walk_events(w, info.events)))
		return rc;
	return info.first_seq == 1 ? 0 : walk_state(w, info.first_seq ? info.first_seq - 1 : UINT64_MAX);
}

/* ---- rewriting ---- */

struct rewriter {
	struct anonymizer *a;
	const struct anonymize_options *o;
	struct buf object; /* or document, or the texts of a row: until the next one */
};

static int rewrite_object(void *context, const struct tape_resource *r, struct slice *object, struct err *err)
{
	struct rewriter *w = context;
	int rc;

	(void)r;
	buf_clear(&w->object);
	rc = anonymizer_put_json(w->a, *object, &w->object, err);
	*object = buf_slice(&w->object);
	return rc;
}

/* What is put there lives until the buffer is cleared: it is reserved whole before. */
static int rewrite_text(struct rewriter *w, struct slice *text, bool json, struct err *err)
{
	size_t begin = w->object.len;
	int rc;

	if (!text->len)
		return 0;
	rc = json ? anonymizer_put_json(w->a, *text, &w->object, err)
		  : anonymizer_put_text(w->a, *text, &w->object, err);
	if (!rc)
		rc = buf_append(&w->object, "", 1, err);
	*text = (struct slice){w->object.ptr + begin, w->object.len - begin - 1};
	return rc;
}

struct text_column {
	enum table table;
	int column;
	bool json;
};

static const struct text_column columns[] = {
	{TABLE_CONNECTION, CONNECTION_TARGET, false},
	{TABLE_CONNECTION, CONNECTION_SERVER, false},
	{TABLE_CONNECTION, CONNECTION_ERROR_STATUS, true},
	{TABLE_CONNECTION, CONNECTION_AUDIT_ID, false},
	{TABLE_MARK, MARK_OBJECT, true},
	{TABLE_MISSED, MISSED_NAMESPACE, false},
	{TABLE_MISSED, MISSED_NAME, false},
	{TABLE_MISSED, MISSED_UID, false},
	{TABLE_MISSED, MISSED_OLD_UID, false},
	{TABLE_CLOCK, CLOCK_BOOT_ID, false},
	{TABLE_EPOCH, EPOCH_CLUSTER_UID, false},
};

/* A pseudonym may be longer than its word, by a letter or two of each. */
static int make_room(struct rewriter *w, size_t bytes, struct err *err)
{
	buf_clear(&w->object);
	return buf_reserve(&w->object, 4 * bytes + 256)
		       ? 0
		       : err_set(err, ERR_TOO_LARGE, "a row of %zu bytes is too long", bytes);
}

static int rewrite_row(void *context, enum table table, struct value *values, struct err *err)
{
	struct rewriter *w = context;
	size_t bytes = 0;
	int rc;

	for (size_t i = 0; i < COUNT_OF(columns); i++)
		bytes += columns[i].table == table ? values[columns[i].column].bytes.len : 0;
	rc = make_room(w, bytes, err);
	for (size_t i = 0; i < COUNT_OF(columns) && !rc; i++) {
		if (columns[i].table == table)
			rc = rewrite_text(w, &values[columns[i].column].bytes, columns[i].json, err);
	}
	if (table == TABLE_CONNECTION) /* half a line: its words may be cut in two */
		values[CONNECTION_TAIL] = value_text(NULL);
	return rc;
}

static int rewrite_claim(void *context, struct audit_claim *c, struct err *err)
{
	struct rewriter *w = context;
	struct slice *const texts[] = {
		&c->uid, &c->audit_id, &c->user, &c->impersonated_user, &c->user_agent, &c->source_ip};
	size_t bytes = 0;
	int rc;

	for (size_t i = 0; i < COUNT_OF(texts); i++)
		bytes += texts[i]->len;
	rc = make_room(w, bytes, err);
	for (size_t i = 0; i < COUNT_OF(texts) && !rc; i++)
		rc = rewrite_text(w, texts[i], false, err);
	return rc;
}

static int rewrite_word(struct rewriter *w, const char **text, struct err *err)
{
	struct slice s = *text ? slice_of(*text) : (struct slice){0};
	int rc = rewrite_text(w, &s, false, err);

	if (s.len)
		*text = s.ptr;
	return rc;
}

static int rewrite_own(struct rewriter *w, char **text, struct err *err)
{
	const char *own = *text;
	int rc = rewrite_word(w, &own, err);

	*text = (char *)(uintptr_t)own;
	return rc;
}

static int rewrite_document(void *context, struct tape_document *d, struct err *err)
{
	struct rewriter *w = context;
	int rc;

	if (!is_json(d->content_type, d->body))
		return 1;
	rc = make_room(w, d->body.len + strlen(d->path) + strlen(d->etag), err);
	if (!rc)
		rc = rewrite_word(w, &d->path, err);
	if (!rc)
		rc = rewrite_word(w, &d->etag, err);
	return rc ? rc : rewrite_text(w, &d->body, true, err);
}

static int rewrite_resource(void *context, struct tape_resource *r, struct err *err)
{
	struct rewriter *w = context;
	int rc = make_room(w, 4 * LIMIT_NAME_BYTES, err);

	if (rc || (rc = rewrite_own(w, &r->apigroup, err)) || (rc = rewrite_own(w, &r->version, err)) ||
		(rc = rewrite_own(w, &r->resource, err)))
		return rc;
	return rewrite_own(w, &r->kind, err);
}

static int rewrite_stream(void *context, struct tape_stream *s, struct err *err)
{
	struct rewriter *w = context;
	int rc = make_room(
		w, strlen(s->namespace) + strlen(s->label_selector) + strlen(s->field_selector), err);

	if (rc || (rc = rewrite_own(w, &s->namespace, err)) || (rc = rewrite_own(w, &s->label_selector, err)))
		return rc;
	return rewrite_own(w, &s->field_selector, err);
}

/* ---- the three steps ---- */

static int prove(void *context, const char *folder, struct err *err)
{
	struct rewriter *r = context;
	struct text_walk w = {.a = r->a, .o = r->o, .doing = "proving", .proves = true, .err = err};
	int rc = tape_open(folder, &w.tape, err);

	if (rc)
		return rc;
	rc = walk_tape(&w);
	tape_close(w.tape);
	return rc;
}

static int anonymize_tape_step(void *context, uint64_t done, uint64_t total)
{
	struct rewriter *w = context;

	return w->o->progress ? w->o->progress(w->o->context, "rewriting", done, total) : 0;
}

static int remake(
	struct tape *from, const char *to, struct rewriter *w, struct remake_result *ret, struct err *err)
{
	const struct remake_options options = {
		.hooks =
			{
				.rewrite = rewrite_object,
				.rewrite_row = rewrite_row,
				.rewrite_claim = rewrite_claim,
				.rewrite_document = rewrite_document,
				.rewrite_resource = rewrite_resource,
				.rewrite_stream = rewrite_stream,
				.check = prove,
				.progress = anonymize_tape_step,
				.context = w,
			},
		.program = w->o->program,
	};

	return tape_remake(from, to, &options, ret, err);
}

int anonymize_tape(struct tape *from, const char *to, struct anonymizer *a,
	const struct anonymize_options *options, struct remake_result *ret, struct err *err)
{
	struct text_walk collect = {.a = a, .tape = from, .o = options, .doing = "collecting", .err = err};
	struct rewriter w = {.a = a, .o = options};
	int rc = walk_tape(&collect);

	if (!rc)
		rc = anonymizer_choose(a, err);
	if (rc)
		return rc;
	buf_init(&w.object, 8 * (size_t)LIMIT_OBJECT_BYTES);
	rc = remake(from, to, &w, ret, err);
	buf_release(&w.object);
	return rc;
}
