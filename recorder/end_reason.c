/* end_reason.c: see end_reason.h. The libcurl codes were checked with libcurl 7.88. */
#include "recorder/end_reason.h"

#include "schema/base/clock.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>

/* A server ends a watch that much before the time asked for and still means the time-out. */
#define TIMEOUT_SLACK_NS (3 * NS_PER_S)

static bool is_tls(int code)
{
	switch (code) {
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CIPHER:
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_INVALIDCERTSTATUS:
	case CURLE_SSL_PINNEDPUBKEYNOTMATCH: return true;
	default: return false;
	}
}

/* No status line came: what kept the request from being answered. */
static const char *unanswered(const struct end_facts *f)
{
	switch (f->curl_code) {
	case CURLE_COULDNT_CONNECT:
		if (f->os_errno == EMFILE || f->os_errno == ENFILE)
			return "failed";
		return f->os_errno == ETIMEDOUT ? "connect_timeout" : "refused";
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY: return "dns";
	case CURLE_OPERATION_TIMEDOUT: return f->sent ? "no_response" : "connect_timeout";
	case CURLE_GOT_NOTHING:
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR: return "no_response";
	case CURLE_LOGIN_DENIED: return "credentials";
	case CURLE_HTTP2_STREAM: return f->goaway ? "goaway" : "h2_stream";
	case CURLE_HTTP2: return f->goaway ? "goaway" : "h2_conn";
	default: return "failed";
	}
}

static const char *clean_end(const struct end_facts *f)
{
	if (!f->is_watch)
		return "complete";
	/* libcurl 7.88 takes the end of such a connection for that of most of its streams. */
	if (f->goaway && f->h2_error)
		return "goaway";
	if (f->tail_bytes)
		return "cut_clean_midframe";
	if (f->timeout_seconds >= 0 && f->duration_ns >= f->timeout_seconds * NS_PER_S - TIMEOUT_SLACK_NS)
		return "server_timeout";
	return "server_close_early";
}

static const char *broken(const struct end_facts *f)
{
	/* Told to go away, and then cut: however libcurl noticed. */
	if (f->goaway && f->curl_code != CURLE_BAD_CONTENT_ENCODING)
		return "goaway";
	switch (f->curl_code) {
	case CURLE_PARTIAL_FILE: return "cut";
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR:
		return f->os_errno == ECONNRESET || f->os_errno == EPIPE || f->os_errno == ETIMEDOUT ? "reset"
												     : "cut";
	case CURLE_OPERATION_TIMEDOUT: return "stalled";
	case CURLE_HTTP2_STREAM: return "h2_stream";
	case CURLE_HTTP2: return "h2_conn";
	case CURLE_BAD_CONTENT_ENCODING: return "bad_encoding";
	default: return "failed";
	}
}

const char *end_reason(char to[END_REASON_BYTES], const struct end_facts *f)
{
	const char *word;

	if (f->error_code) {
		snprintf(to, END_REASON_BYTES, "error_event:%d:%.60s", f->error_code,
			f->error_reason ? f->error_reason : "");
		return to;
	}
	if (f->http_status && f->http_status != 200 && !f->stalled) {
		snprintf(to, END_REASON_BYTES, "http_%d", f->http_status);
		return to;
	}
	if (f->bad_frame)
		word = "bad_frame";
	else if (f->stalled)
		word = "stalled";
	else if (f->own_stop)
		word = "client_stop";
	else if (is_tls(f->curl_code))
		word = "tls";
	else if (!f->http_status)
		word = unanswered(f);
	else
		word = f->curl_code == CURLE_OK ? clean_end(f) : broken(f);
	snprintf(to, END_REASON_BYTES, "%s", word);
	return to;
}
