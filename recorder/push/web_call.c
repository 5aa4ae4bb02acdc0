/* web_call.c: see web_call.h. */
#include "recorder/push/web_call.h"

#include "schema/base/version.h"

#include <curl/curl.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CONNECT_LIMIT_S 30
/* A second: who gives or takes less is as good as silent. */
#define SLOWEST_BYTES     100
#define SILENCE_S         60
#define UPLOAD_BUFFER     (256L << 10)
#define CREDENTIALS_BYTES 1024

struct web {
	CURL *easy;
	bool (*stop)(void *context);
	void *context;
	/* Of the request that runs. */
	const struct web_body *body;
	uint64_t sent;
	struct web_answer *answer;
	bool too_large;
	char error[CURL_ERROR_SIZE];
};

static void init_libcurl(void)
{
	curl_global_init(CURL_GLOBAL_DEFAULT);
}

struct web *web_new(bool (*stop)(void *context), void *context)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct web *w = xcalloc(1, sizeof(*w));

	pthread_once(&once, init_libcurl);
	w->easy = curl_easy_init();
	w->stop = stop;
	w->context = context;
	return w;
}

void web_free(struct web *w)
{
	if (!w)
		return;
	curl_easy_cleanup(w->easy);
	free(w);
}

void web_answer_release(struct web_answer *a)
{
	buf_release(&a->body);
}

/* ---- what libcurl asks for ---- */

static uint64_t body_bytes(const struct web_body *b)
{
	return b->file_bytes ? b->file_bytes : b->memory.len;
}

static size_t give_bytes(char *to, size_t size, size_t count, void *context)
{
	struct web *w = context;
	const struct web_body *b = w->body;
	uint64_t left = body_bytes(b) - w->sent;
	size_t len = size * count < left ? size * count : (size_t)left;
	ssize_t got = (ssize_t)len;

	if (b->file_bytes)
		got = pread(b->fd, to, len, (off_t)(b->file_offset + w->sent));
	else if (len)
		memcpy(to, b->memory.ptr + w->sent, len);
	if (got < 0 || (got == 0 && len))
		return CURL_READFUNC_ABORT;
	w->sent += (size_t)got;
	return (size_t)got;
}

static int give_from(void *context, curl_off_t offset, int origin)
{
	struct web *w = context;

	if (origin != SEEK_SET)
		return CURL_SEEKFUNC_CANTSEEK;
	w->sent = (uint64_t)offset;
	return CURL_SEEKFUNC_OK;
}

static size_t take_bytes(char *bytes, size_t size, size_t count, void *context)
{
	struct web *w = context;

	w->too_large = buf_append(&w->answer->body, bytes, size * count, NULL) != 0;
	return w->too_large ? 0 : size * count;
}

static int look_for_stop(void *context, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	const struct web *w = context;

	(void)a, (void)b, (void)c, (void)d;
	return w->stop && w->stop(w->context);
}

/* ---- a request ---- */

static void set_method(CURL *easy, const struct web_request *r)
{
	uint64_t bytes = body_bytes(&r->body);

	if (strcmp(r->method, "HEAD") == 0)
		curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
	else if (bytes || strcmp(r->method, "GET") != 0)
		curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, r->method);
	if (!bytes && strcmp(r->method, "PUT") != 0 && strcmp(r->method, "POST") != 0)
		return;
	curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
	curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)bytes);
}

static void set_signature(CURL *easy, const struct web_signature *s)
{
	char text[CREDENTIALS_BYTES];

	if (!s)
		return;
	snprintf(text, sizeof(text), "aws:amz:%s:%s", s->region, s->service);
	curl_easy_setopt(easy, CURLOPT_AWS_SIGV4, text);
	curl_easy_setopt(easy, CURLOPT_USERNAME, s->key_id);
	curl_easy_setopt(easy, CURLOPT_PASSWORD, s->secret);
}

static void set_callbacks(struct web *w)
{
	CURL *easy = w->easy;

	curl_easy_setopt(easy, CURLOPT_READFUNCTION, give_bytes);
	curl_easy_setopt(easy, CURLOPT_READDATA, w);
	curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, give_from);
	curl_easy_setopt(easy, CURLOPT_SEEKDATA, w);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_bytes);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, w);
	curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, look_for_stop);
	curl_easy_setopt(easy, CURLOPT_XFERINFODATA, w);
	curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, w->error);
}

static void set_up(struct web *w, const struct web_request *r, struct curl_slist *headers)
{
	CURL *easy = w->easy;
	const char *authorities = getenv("AWS_CA_BUNDLE");

	curl_easy_reset(easy);
	set_callbacks(w);
	set_method(easy, r);
	set_signature(easy, r->signature);
	curl_easy_setopt(easy, CURLOPT_URL, r->url);
	curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(easy, CURLOPT_USERAGENT, "kubetape/" KUBETAPE_VERSION);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT,
		(long)(r->connect_limit_s ? r->connect_limit_s : CONNECT_LIMIT_S));
	curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, (long)SLOWEST_BYTES);
	curl_easy_setopt(
		easy, CURLOPT_LOW_SPEED_TIME, (long)(r->silence_limit_s ? r->silence_limit_s : SILENCE_S));
	curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, UPLOAD_BUFFER);
	if (authorities && *authorities)
		curl_easy_setopt(easy, CURLOPT_CAINFO, authorities);
}

static void copy_header(CURL *easy, const char *name, char *to, size_t size)
{
	struct curl_header *header;

	*to = 0;
	if (curl_easy_header(easy, name, 0, CURLH_HEADER, -1, &header) == CURLHE_OK)
		snprintf(to, size, "%.*s", (int)strcspn(header->value, "\r\n"), header->value);
}

static void note_headers(CURL *easy, struct web_answer *a)
{
	curl_off_t length = 0;
	char retry[32], *end;
	long status = 0, seconds;

	curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
	a->status = (int)status;
	a->length = length > 0 ? (uint64_t)length : 0;
	copy_header(easy, "ETag", a->etag, sizeof(a->etag));
	copy_header(easy, "x-amz-bucket-region", a->region, sizeof(a->region));
	copy_header(easy, "Date", a->date, sizeof(a->date));
	copy_header(easy, "x-amz-meta-sha256", a->sha256, sizeof(a->sha256));
	copy_header(easy, "Retry-After", retry, sizeof(retry));
	seconds = strtol(retry, &end, 10);
	a->retry_after_s = end == retry || *end || seconds < 0 || seconds > 3600 ? -1 : (int)seconds;
}

void web_server(const char *url, char ret[WEB_SERVER_BYTES])
{
	const char *host = strstr(url, "://"), *end, *at;

	host = host ? host + 3 : url;
	end = host + strcspn(host, "/?#");
	at = memrchr(host, '@', (size_t)(end - host));
	snprintf(ret, WEB_SERVER_BYTES, "%.*s%.*s", (int)(host - url), url, (int)(end - (at ? at + 1 : host)),
		at ? at + 1 : host);
}

static int tell_failure(struct web *w, const struct web_request *r, CURLcode code, struct err *err)
{
	char server[WEB_SERVER_BYTES];

	web_server(r->url, server);
	if (code == CURLE_ABORTED_BY_CALLBACK && look_for_stop(w, 0, 0, 0, 0))
		return err_set(err, ERR_STOPPED, "stopped");
	if (w->too_large)
		return err_set(err, ERR_TOO_LARGE, "the answer of '%s' is larger than %zu bytes", server,
			r->max_bytes);
	if (code == CURLE_ABORTED_BY_CALLBACK)
		return err_set(err, ERR_IO, "cannot read what is to be sent to '%s'", server);
	if (code == CURLE_URL_MALFORMAT)
		return err_set(err, ERR_USAGE, "'%s' is no address of a server", r->url);
	/* Nothing was asked of the server: no later try ends otherwise. */
	if (code == CURLE_SSL_CACERT_BADFILE || strncmp(w->error, "Unsupported proxy", 17) == 0)
		return err_set(err, ERR_USAGE, "cannot call '%s' from here: %s", server,
			*w->error ? w->error : curl_easy_strerror(code));
	return err_set(err, ERR_NETWORK, "no whole answer from '%s': %s", server,
		*w->error ? w->error : curl_easy_strerror(code));
}

bool web_is_address(const char *text)
{
	CURLU *u = curl_url();
	bool is = (strncmp(text, "http://", 7) == 0 || strncmp(text, "https://", 8) == 0) && u &&
		  curl_url_set(u, CURLUPART_URL, text, 0) == CURLUE_OK;

	curl_url_cleanup(u);
	return is;
}

int web_call(struct web *w, const struct web_request *r, struct web_answer *ret, struct err *err)
{
	struct curl_slist *headers = NULL;
	CURLcode code;

	*ret = (struct web_answer){.retry_after_s = -1};
	buf_init(&ret->body, r->max_bytes);
	for (size_t i = 0; i < WEB_HEADERS_MAX && r->headers[i]; i++)
		headers = curl_slist_append(headers, r->headers[i]);
	w->body = &r->body;
	w->sent = 0;
	w->answer = ret;
	w->too_large = false;
	*w->error = 0;
	set_up(w, r, headers);
	code = curl_easy_perform(w->easy);
	curl_slist_free_all(headers);
	note_headers(w->easy, ret);
	/* A store that refuses may do so before it has read all; what it said is there. */
	if (code == CURLE_OK || (code == CURLE_SEND_ERROR && ret->status >= 400 && ret->body.len))
		return 0;
	web_answer_release(ret);
	return tell_failure(w, r, code, err);
}

int web_encode(const char *text, bool keeps_slashes, struct buf *to, struct err *err)
{
	int rc = 0;

	for (; *text && !rc; text++) {
		char c = *text;
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			     strchr("-._~", c) || (c == '/' && keeps_slashes);

		rc = plain ? buf_append(to, &c, 1, err) : buf_printf(to, err, "%%%02X", (unsigned char)c);
	}
	return rc;
}
