/*
 * export_html.c: one page with its data in it. The data is one JSON text, compressed and in base64: nothing
 * in it can be taken for the page's own text. file_source.js reads it, and answers from it what the server
 * would have.
 */
#include "replayer/view/assets.h"
#include "schema/base/base64.h"
#include "schema/base/limits.h"
#include "schema/base/out_file.h"
#include "schema/sql/session.h"
#include "schema/view/answer_out.h"
#include "tools/cli/progress.h"
#include "tools/cli/sql_progress.h"
#include "tools/out/export_picture.h"

#include <stdlib.h>
#include <zlib.h>

#define LANES_MAX 20000
#define VALUE_MAX 600 /* of an old or new value of a change; the objects are whole */
#define WIDTH     PICTURE_WIDTH_MAX

/* ---- the data ---- */

struct rows {
	struct answer_out *o;
	size_t count;
};

static void put_value(struct answer_out *o, const struct sql_value *v, size_t most)
{
	if (v->type == SQL_NULL)
		answer_put(o, "null");
	else if (v->type == SQL_INTEGER)
		answer_put(o, "\"%lld\"", (long long)v->integer);
	else
		answer_text(o, answer_cut(v->bytes, most));
}

static int put_row(void *context, const struct sql_value *values, size_t count, struct err *err)
{
	struct rows *r = context;

	(void)err;
	answer_put(r->o, r->count++ ? ",[" : "[");
	for (size_t i = 0; i < count; i++) {
		answer_put(r->o, i ? "," : "");
		put_value(r->o, &values[i], count == 7 ? VALUE_MAX : SIZE_MAX);
	}
	answer_put(r->o, "]");
	return r->o->code;
}

static int put_rows(
	struct sql_session *s, struct answer_out *o, const char *name, const char *sql, struct err *err)
{
	struct rows rows = {o, 0};
	struct sql_progress progress;
	struct sql_sink sink = sql_progress_begin(
		&progress, s, "exporting ", NULL, &(struct sql_sink){.row = put_row, .context = &rows});
	int rc;

	answer_put(o, ",\"%s\":[", name);
	rc = sql_session_run(s, slice_of(sql), &sink, err);
	sql_progress_end(&progress);
	answer_put(o, "]");
	return rc ? rc : o->code;
}

static void set_time(struct sql_session *s, const char *name, int64_t time_ns)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", (long long)time_ns);
	sql_session_set(s, name, text);
}

/* Events of the window, and before it those that gave the state at its beginning. */
static int put_events(
	const struct export_picture *e, const struct picture_window *w, struct answer_out *o, struct err *err)
{
	char *part = xasprintf(
		"time_ns <= :until AND (time_ns >= :from OR seq IN (SELECT seq FROM objects(to_time(:from))))"
		"%s AND (%s)",
		e->namespace ? " AND namespace = :namespace" : "", e->where ? e->where : "1");
	char *events = xasprintf(
		"SELECT seq, time_ns, type, resource || iif(apigroup = '', '', '.' || apigroup) || '/' || "
		"coalesce(namespace, '') || '/' || name, uid, rv, origin, object FROM events WHERE %s "
		"ORDER BY seq",
		part);
	char *changes = xasprintf(
		"SELECT seq, field, path, op, old_json, new_json, manager, user, user_agent FROM changes WHERE path <> '$' "
		"AND seq IN (SELECT seq FROM events WHERE %s) ORDER BY seq",
		part);
	struct sql_session *s;
	int rc = sql_session_open(e->tape, &s, err);

	if (!rc) {
		set_time(s, "from", w->from_ns);
		set_time(s, "until", w->to_ns);
		if (e->namespace)
			sql_session_set(s, "namespace", e->namespace);
		rc = put_rows(s, o, "events", events, err);
		if (!rc)
			rc = put_rows(s, o, "changes", changes, err);
		sql_session_close(s);
	}
	free(part);
	free(events);
	free(changes);
	return rc;
}

static void put_answer(struct answer_out *o, const char *name,
	int (*answer)(struct picture *p, struct buf *to, struct err *err), struct picture *p)
{
	answer_put(o, ",\"%s\":", name);
	if (!o->code)
		o->code = answer(p, o->to, o->err);
}

static void put_window_answer(struct answer_out *o, const char *name,
	int (*answer)(struct picture *p, const struct picture_window *w, struct buf *to, struct err *err),
	struct picture *p, const struct picture_window *w)
{
	answer_put(o, ",\"%s\":", name);
	if (!o->code)
		o->code = answer(p, w, o->to, o->err);
}

static int put_data(const struct export_picture *e, struct picture *p, const struct picture_window *w,
	struct buf *to, struct err *err)
{
	const struct picture_choice all = {.window = *w, .count = LANES_MAX, .all_open = true};
	struct answer_out o = {to, err, 0};

	answer_put(&o, "{\"from\":\"%lld\",\"to\":\"%lld\",\"width\":%u", (long long)w->from_ns,
		(long long)w->to_ns, w->width);
	put_answer(&o, "summary", picture_summary, p);
	put_answer(&o, "density", picture_density, p);
	put_answer(&o, "notable", picture_notable, p);
	put_window_answer(&o, "gaps", picture_gaps, p, w);
	put_window_answer(&o, "watches", picture_watches, p, w);
	answer_put(&o, ",\"lanes\":");
	if (!o.code)
		o.code = picture_lanes(p, &all, to, err);
	if (!o.code)
		o.code = put_events(e, w, &o, err);
	answer_put(&o, "}");
	return o.code;
}

/* ---- the page ---- */

static int pack(struct slice data, struct buf *to, struct err *err)
{
	uLongf len = compressBound(data.len);
	unsigned char *packed = xmalloc(len);
	int rc = 0;

	if (compress2(packed, &len, (const unsigned char *)data.ptr, data.len, Z_BEST_COMPRESSION) != Z_OK)
		rc = err_set(err, ERR_FAILED, "cannot compress the page's data");
	if (!rc)
		rc = base64_encode((struct slice){(char *)packed, len}, to, err);
	free(packed);
	return rc;
}

/* The page up to a tag, and what the tag stands for instead of it. */
static int put_until(FILE *to, struct slice *page, const char *tag, const char *before, struct slice with,
	const char *after, struct err *err)
{
	const char *at = memmem(page->ptr, page->len, tag, strlen(tag));

	if (!at)
		return err_set(err, ERR_FAILED, "the page lacks '%s'", tag);
	fwrite(page->ptr, 1, (size_t)(at - page->ptr), to);
	fputs(before, to);
	fwrite(with.ptr, 1, with.len, to);
	fputs(after, to);
	*page = (struct slice){at + strlen(tag), page->len - (size_t)(at - page->ptr) - strlen(tag)};
	return out_stream_check(to, err);
}

static int inflate_all(struct buf texts[3], struct err *err)
{
	static const char *const names[] = {"index.html", "style.css", "app.js"};
	int rc = 0;

	for (size_t i = 0; i < 3 && !rc; i++) {
		buf_init(&texts[i], LIMIT_DOCUMENT_BYTES);
		rc = asset_inflate(asset_find(slice_of(names[i])), &texts[i], err);
	}
	return rc;
}

static int write_page(struct slice packed, FILE *to, struct err *err)
{
	static const char csp[] =
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src "
		"'unsafe-inline'; style-src 'unsafe-inline'; img-src data:\">\n<style>\n";
	struct buf texts[3] = {0};
	struct slice page;
	int rc = inflate_all(texts, err);

	page = buf_slice(&texts[0]);
	if (!rc)
		rc = put_until(to, &page, "<link rel=\"stylesheet\" href=\"style.css\">", csp,
			buf_slice(&texts[1]), "</style>", err);
	if (!rc)
		rc = put_until(to, &page, "<script type=\"module\" src=\"app.js\"></script>",
			"<script type=\"application/octet-stream\" id=\"data\">", packed, "</script>", err);
	if (!rc)
		rc = put_until(to, &page, "</body>", "<script type=\"module\">\n", buf_slice(&texts[2]),
			"</script>\n</body>", err);
	if (!rc)
		fwrite(page.ptr, 1, page.len, to);
	for (size_t i = 0; i < 3; i++)
		buf_release(&texts[i]);
	return rc ? rc : out_stream_flush(to, err);
}

int export_html(const struct export_picture *o, FILE *to, struct err *err)
{
	struct picture_window w = {.width = WIDTH};
	struct picture *p;
	struct buf data, packed;
	int rc = export_picture_open(o, &p, &w, err);

	if (rc)
		return rc;
	buf_init(&data, EXPORT_PAGE_BYTES);
	buf_init(&packed, EXPORT_PAGE_BYTES);
	rc = put_data(o, p, &w, &data, err);
	if (rc == ERR_TOO_LARGE)
		rc = err_suffix(
			err, rc, "a page holds less: narrow it with '--from', '--until', '-n' or '--where'");
	if (!rc && progress_stop_asked())
		rc = err_set(err, ERR_STOPPED, "stopped before the page was written");
	if (!rc)
		rc = pack(buf_slice(&data), &packed, err);
	if (!rc)
		rc = write_page(buf_slice(&packed), to, err);
	buf_release(&data);
	buf_release(&packed);
	picture_close(p);
	return rc;
}
