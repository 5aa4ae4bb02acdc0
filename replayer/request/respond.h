/*
 * respond.h: whole answers: JSON, error objects, plain text, with the header fields that the API server sends
 * on everything.
 */
#ifndef REPLAYER_RESPOND_H
#define REPLAYER_RESPOND_H

#include "replayer/request/query.h"
#include "replayer/request/status.h"
#include "replayer/wire/exchange.h"
#include "schema/base/uuid.h"

#define JSON_TYPE "application/json"
#define YAML_TYPE "application/yaml"
#define TEXT_TYPE "text/plain; charset=utf-8"

/* Bodies up to this many bytes have a Content-Length, longer ones come in chunks. */
#define LENGTH_KNOWN_MAX 2048

/* How the client wants text laid out. */
struct answer_style {
	bool pretty;           /* bodies are indented, without a final line feed */
	bool pretty_errors;    /* the same for errors: also when no clause of Accept takes a plain Status */
	bool yaml;             /* YAML instead of JSON */
	bool yaml_errors;      /* the same for errors */
	struct slice warnings; /* value of the header Warning; empty: none */
};

void answer_style_find(const struct http_request *r, const struct query *q, struct answer_style *ret);

/* Audit-Id, Cache-Control, Content-Type and up to three more. Audit-Id is the request's own or a new one. */
struct answer_headers {
	struct http_header items[8];
	size_t count;
	char audit_id[UUID_TEXT_BYTES];
};
void answer_headers_init(struct answer_headers *h, const struct http_request *r, const char *content_type);
void answer_headers_add(struct answer_headers *h, const char *name, struct slice value);

/* A whole body that is sent as it is. May be empty. */
void respond_bytes(struct exchange *x, const struct answer_headers *h, int status, struct slice body);

/* Compact JSON: a line feed is added, or it is indented, or becomes YAML. */
void respond_json(struct exchange *x, const struct http_request *r, const struct answer_style *style,
	int status, struct slice json);

/* Like it, in two steps. The first takes long, but needs only the JSON. */
int respond_lay_out(
	const struct answer_style *style, struct slice json, struct buf *to, struct err *err) MUST_CHECK;
void respond_laid_out(struct exchange *x, const struct http_request *r, const struct answer_style *style,
	int status, struct slice body);

/* Sends the error and releases it. */
void respond_status(struct exchange *x, const struct http_request *r, const struct answer_style *style,
	struct status *status);

/* Text with a line feed after it, as of a path that is not the API's. */
void respond_text(struct exchange *x, const struct http_request *r, int status, const char *text);

/* 404 "404 page not found" in plain text. */
void respond_no_page(struct exchange *x, const struct http_request *r);

#endif
