/*
 * anonymize_tape.c: see anonymize_tape.h. What is collected and what is proved is the same walk over every
 * text of a tape; what is between the two, the rewriting, is remake.h's.
 */
#include "tools/anonymize_tape.h"

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
	return w->proves ? anonymizer_prove_json(w->a, json, w->err) : anonymizer_note_json(w->a, json, w->err);
}

static int walk_text(struct text_walk *w, struct slice text)
{
	if (!text.len)
		return 0;
	return w->proves ? anonymizer_prove_text(w->a, text, w->err) : anonymizer_note_text(w->a, text, w->err);
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
	int failed = 0;

	for (size_t i = 0; (r = tape_resource_at(w->tape, i)) && !failed; i++) {
		if (!(failed = walk_word(w, r->apigroup)) && !(failed = walk_word(w, r->version)) &&
			!(failed = walk_word(w, r->resource)))
			failed = walk_word(w, r->kind);
	}
	for (size_t i = 0; (s = tape_stream_at(w->tape, i)) && !failed; i++) {
		if (!(failed = walk_word(w, s->namespace)) && !(failed = walk_word(w, s->label_selector)))
			failed = walk_word(w, s->field_selector);
	}
	return failed;
}

static int walk_connection(void *context, const struct tape_connection *c)
{
	struct text_walk *w = context;
	int failed;

	if ((failed = walk_word(w, c->target)) || (failed = walk_word(w, c->server)) ||
		(failed = walk_word(w, c->audit_id)))
		return failed;
	return c->error_status ? walk_json(w, slice_of(c->error_status)) : 0;
}

static int walk_mark(void *context, const struct tape_mark *mark)
{
	return walk_json(context, mark->object);
}

static int walk_missed(void *context, const struct tape_missed *m)
{
	int failed;

	if ((failed = walk_text(context, m->namespace)) || (failed = walk_text(context, m->name)) ||
		(failed = walk_text(context, m->uid)))
		return failed;
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
	int failed;

	if ((failed = walk_word(w, d->path)) || (failed = walk_word(w, d->etag)))
		return failed;
	buf_init(&body, LIMIT_DOCUMENT_BYTES);
	failed = tape_document_body(w->tape, d->segment, d->id, &body, w->err);
	if (!failed && is_json(d->content_type, buf_slice(&body)))
		failed = walk_json(w, buf_slice(&body));
	buf_release(&body);
	return failed;
}

static int walk_rows(struct text_walk *w)
{
	int failed;

	if ((failed = walk_registry(w)) || (failed = tape_each_connection(w->tape, walk_connection, w, w->err)) ||
		(failed = tape_each_mark(w->tape, walk_mark, w, w->err)) ||
		(failed = tape_each_missed(w->tape, walk_missed, w, w->err)))
		return failed;
	return tape_each_document(w->tape, walk_document, w, w->err);
}

static int walk_state(struct text_walk *w, uint64_t seq)
{
	struct tape_state *state;
	struct slice object;
	int failed = tape_state_at(w->tape, seq, 0, &state, w->err);

	if (failed)
		return failed;
	for (size_t i = 0; i < state->count && !failed; i++) {
		failed = tape_object(w->tape, state->live[i].seq, &object, w->err);
		if (!failed)
			failed = walk_json(w, object);
	}
	tape_state_free(state);
	return failed;
}

static int tell(struct text_walk *w, uint64_t done, uint64_t total)
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
	int more = tape_cursor_open(w->tape, &all, TAPE_STORED, &c, w->err), failed = 0;

	if (more)
		return more;
	while (!failed && (more = tape_cursor_next(c, &e, w->err)) > 0) {
		failed = tape_cursor_object(c, &object, w->err);
		if (!failed && !(failed = walk_json(w, object)))
			failed = tell(w, ++done, total);
	}
	tape_cursor_close(c);
	return failed ? failed : more;
}

static int walk_tape(struct text_walk *w)
{
	struct tape_info info;
	int failed = tape_info(w->tape, &info, w->err);

	if (failed || (failed = walk_rows(w)) || (failed = walk_events(w, info.events)))
		return failed;
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
	int failed;

	(void)r;
	buf_clear(&w->object);
	failed = anonymizer_put_json(w->a, *object, &w->object, err);
	*object = buf_slice(&w->object);
	return failed;
}

/* What is put there lives until the buffer is cleared: it is reserved whole before. */
static int rewrite_text(struct rewriter *w, struct slice *text, bool json, struct err *err)
{
	size_t begin = w->object.len;
	int failed;

	if (!text->len)
		return 0;
	failed = json ? anonymizer_put_json(w->a, *text, &w->object, err)
		      : anonymizer_put_text(w->a, *text, &w->object, err);
	if (!failed)
		failed = buf_append(&w->object, "", 1, err);
	*text = (struct slice){w->object.ptr + begin, w->object.len - begin - 1};
	return failed;
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
	int failed;

	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		bytes += columns[i].table == table ? values[columns[i].column].bytes.len : 0;
	failed = make_room(w, bytes, err);
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]) && !failed; i++) {
		if (columns[i].table == table)
			failed = rewrite_text(w, &values[columns[i].column].bytes, columns[i].json, err);
	}
	if (table == TABLE_CONNECTION) /* half a line: its words may be cut in two */
		values[CONNECTION_TAIL] = value_text(NULL);
	return failed;
}

static int rewrite_word(struct rewriter *w, const char **text, struct err *err)
{
	struct slice s = *text ? slice_of(*text) : (struct slice){0};
	int failed = rewrite_text(w, &s, false, err);

	if (s.len)
		*text = s.ptr;
	return failed;
}

static int rewrite_own(struct rewriter *w, char **text, struct err *err)
{
	const char *own = *text;
	int failed = rewrite_word(w, &own, err);

	*text = (char *)(uintptr_t)own;
	return failed;
}

static int rewrite_document(void *context, struct tape_document *d, struct err *err)
{
	struct rewriter *w = context;
	int failed;

	if (!is_json(d->content_type, d->body))
		return 1;
	failed = make_room(w, d->body.len + strlen(d->path) + strlen(d->etag), err);
	if (!failed)
		failed = rewrite_word(w, &d->path, err);
	if (!failed)
		failed = rewrite_word(w, &d->etag, err);
	return failed ? failed : rewrite_text(w, &d->body, true, err);
}

static int rewrite_resource(void *context, struct tape_resource *r, struct err *err)
{
	struct rewriter *w = context;
	int failed = make_room(w, 4 * LIMIT_NAME_BYTES, err);

	if (failed || (failed = rewrite_own(w, &r->apigroup, err)) || (failed = rewrite_own(w, &r->version, err)) ||
		(failed = rewrite_own(w, &r->resource, err)))
		return failed;
	return rewrite_own(w, &r->kind, err);
}

static int rewrite_stream(void *context, struct tape_stream *s, struct err *err)
{
	struct rewriter *w = context;
	int failed = make_room(
		w, strlen(s->namespace) + strlen(s->label_selector) + strlen(s->field_selector), err);

	if (failed || (failed = rewrite_own(w, &s->namespace, err)) ||
		(failed = rewrite_own(w, &s->label_selector, err)))
		return failed;
	return rewrite_own(w, &s->field_selector, err);
}

/* ---- the three steps ---- */

static int prove(void *context, const char *folder, struct err *err)
{
	struct rewriter *r = context;
	struct text_walk w = {.a = r->a, .o = r->o, .doing = "proving", .proves = true, .err = err};
	int failed = tape_open(folder, &w.tape, err);

	if (failed)
		return failed;
	failed = walk_tape(&w);
	tape_close(w.tape);
	return failed;
}

static int step(void *context, uint64_t done, uint64_t total)
{
	struct rewriter *w = context;

	return w->o->progress ? w->o->progress(w->o->context, "rewriting", done, total) : 0;
}

static int remake(struct tape *from, const char *to, struct rewriter *w, struct remake_result *ret, struct err *err)
{
	const struct remake_options options = {
		.hooks =
			{
				.rewrite = rewrite_object,
				.rewrite_row = rewrite_row,
				.rewrite_document = rewrite_document,
				.rewrite_resource = rewrite_resource,
				.rewrite_stream = rewrite_stream,
				.check = prove,
				.progress = step,
				.context = w,
			},
		.program = w->o->program,
	};

	return tape_remake(from, to, &options, ret, err);
}

int anonymize_tape(struct tape *from, const char *to, struct anonymizer *a, const struct anonymize_options *options,
	struct remake_result *ret, struct err *err)
{
	struct text_walk collect = {.a = a, .tape = from, .o = options, .doing = "collecting", .err = err};
	struct rewriter w = {.a = a, .o = options};
	int failed = walk_tape(&collect);

	if (!failed)
		failed = anonymizer_choose(a, err);
	if (failed)
		return failed;
	buf_init(&w.object, 8 * (size_t)LIMIT_OBJECT_BYTES);
	failed = remake(from, to, &w, ret, err);
	buf_release(&w.object);
	return failed;
}
