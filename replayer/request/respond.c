/* respond.c: see respond.h. */
#include "replayer/request/respond.h"

#include "replayer/request/accept.h"
#include "schema/base/count_of.h"
#include "schema/base/json_indent.h"
#include "schema/base/limits.h"
#include "schema/base/yaml_out.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* The words that Go takes for true. */
static bool is_true_word(struct slice word)
{
	static const char *const words[] = {"1", "t", "T", "true", "TRUE", "True"};

	for (size_t i = 0; i < COUNT_OF(words); i++) {
		if (slice_is(word, words[i]))
			return true;
	}
	return false;
}

void answer_style_find(const struct http_request *r, const struct query *q, struct answer_style *ret)
{
	struct slice agent = http_header_find(r, "User-Agent");
	struct slice accept = http_header_find(r, "Accept");
	struct accepted accepted;
	bool known = accept_resource(accept, ACCEPT_BY_HANDLER, &accepted) == ACCEPT_OK;

	ret->yaml = known && accepted.yaml;
	if (query_get(q, "pretty").len)
		ret->pretty = is_true_word(query_get(q, "pretty"));
	else if (known && accepted.pretty)
		ret->pretty = true;
	else
		ret->pretty = slice_begins(agent, "curl") || slice_begins(agent, "Wget") ||
			      slice_begins(agent, "Mozilla/5.0");
	ret->pretty_errors = !accept_plain(accept, &ret->yaml_errors) || ret->pretty;
}

void answer_headers_init(struct answer_headers *h, const struct http_request *r, const char *content_type)
{
	struct slice id = r ? http_header_find(r, "Audit-Id") : (struct slice){NULL, 0};

	h->count = 0;
	if (id.len && id.len < sizeof(h->audit_id)) {
		memcpy(h->audit_id, id.ptr, id.len);
		h->audit_id[id.len] = 0;
	} else {
		uuid_new(h->audit_id);
	}
	answer_headers_add(h, "Audit-Id", slice_of(h->audit_id));
	answer_headers_add(h, "Cache-Control", slice_of("no-cache, private"));
	answer_headers_add(h, "Content-Type", slice_of(content_type));
}

void answer_headers_add(struct answer_headers *h, const char *name, struct slice value)
{
	if (h->count < COUNT_OF(h->items))
		h->items[h->count++] = (struct http_header){slice_of(name), value};
}

void respond_bytes(struct exchange *x, const struct answer_headers *h, int status, struct slice body)
{
	exchange_answer(x, status, h->items, h->count, body.len <= LENGTH_KNOWN_MAX ? (int64_t)body.len : -1);
	if (body.len) {
		struct blob *b = blob_of(body);

		exchange_push(x, b);
		blob_unref(b);
	}
	exchange_finish(x);
}

enum layout { LINE, INDENTED, YAML };

static enum layout layout_of(bool pretty, bool yaml)
{
	return yaml ? YAML : pretty ? INDENTED : LINE;
}

static int lay_out_yaml(struct slice json, struct buf *to, struct err *err)
{
	char *text = NULL;
	size_t len = 0;
	FILE *stream = open_memstream(&text, &len);
	int rc;

	if (!stream)
		return err_set_errno(err, errno, "cannot write YAML");
	rc = yaml_out(stream, json, 0, err);
	fclose(stream);
	if (rc == 0)
		rc = buf_append(to, text, len, err);
	free(text);
	return rc;
}

/* Appends the JSON as it is to be sent. */
static int lay_out(struct slice json, enum layout layout, struct buf *to, struct err *err)
{
	struct json_indent indent = {0};
	int rc;

	if (layout == YAML)
		return lay_out_yaml(json, to, err);
	if (layout == INDENTED)
		return json_indent_feed(&indent, json, to, err);
	rc = buf_append(to, json.ptr, json.len, err);
	return rc ? rc : buf_append(to, "\n", 1, err);
}

int respond_lay_out(const struct answer_style *style, struct slice json, struct buf *to, struct err *err)
{
	return lay_out(json, layout_of(style->pretty, style->yaml), to, err);
}

void respond_laid_out(struct exchange *x, const struct http_request *r, const struct answer_style *style,
	int status, struct slice body)
{
	struct answer_headers h;

	answer_headers_init(&h, r, style->yaml ? YAML_TYPE : JSON_TYPE);
	if (style->warnings.len)
		answer_headers_add(&h, "Warning", style->warnings);
	respond_bytes(x, &h, status, body);
}

void respond_json(struct exchange *x, const struct http_request *r, const struct answer_style *style,
	int status, struct slice json)
{
	struct buf body;

	buf_init(&body, LIMIT_LIST_BYTES);
	if (respond_lay_out(style, json, &body, NULL) == 0)
		respond_laid_out(x, r, style, status, buf_slice(&body));
	else
		exchange_abort(x, ABORT_FIN);
	buf_release(&body);
}

void respond_status(struct exchange *x, const struct http_request *r, const struct answer_style *style,
	struct status *status)
{
	struct answer_headers h;
	struct buf json, body;
	char seconds[16];

	buf_init(&json, LIMIT_REQUEST_HEAD_BYTES * 8);
	answer_headers_init(&h, r, style->yaml_errors ? YAML_TYPE : JSON_TYPE);
	snprintf(seconds, sizeof(seconds), "%d", status->retry_after_s);
	if (style->warnings.len)
		answer_headers_add(&h, "Warning", style->warnings);
	if (status->retry_after_s > 0)
		answer_headers_add(&h, "Retry-After", slice_of(seconds));
	buf_init(&body, LIMIT_LIST_BYTES);
	if (status_write(status, &json, NULL) == 0 &&
		lay_out(buf_slice(&json), layout_of(style->pretty_errors, style->yaml_errors), &body, NULL) ==
			0)
		respond_bytes(x, &h, status->code, buf_slice(&body));
	else
		exchange_abort(x, ABORT_FIN);
	buf_release(&json);
	buf_release(&body);
	status_release(status);
}

void respond_text(struct exchange *x, const struct http_request *r, int status, const char *text)
{
	struct answer_headers h;
	char *line = xasprintf("%s\n", text);

	answer_headers_init(&h, r, TEXT_TYPE);
	answer_headers_add(&h, "X-Content-Type-Options", slice_of("nosniff"));
	respond_bytes(x, &h, status, slice_of(line));
	free(line);
}

void respond_no_page(struct exchange *x, const struct http_request *r)
{
	respond_text(x, r, 404, "404 page not found");
}
