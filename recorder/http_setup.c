/* http_setup.c: see http_internal.h. */
#include "recorder/http_internal.h"

#include "schema/base/count_of.h"
#include "schema/base/version.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>

#define CONNECT_TIMEOUT_S    30
#define KEEPALIVE_IDLE_S     30
#define KEEPALIVE_INTERVAL_S 15
#define DEAD_PEER_MS         60000 /* unanswered data or probes for this long: the peer is gone */
#define LIST_STALL_S         60
#define LIST_BUFFER_BYTES    (128 << 10)

/* ---- the answer, as far as it is known ---- */

static const char *header_value(CURL *easy, const char *name)
{
	struct curl_header *header;

	if (curl_easy_header(easy, name, 0, CURLH_HEADER, -1, &header) != CURLHE_OK)
		return "";
	return header->value;
}

/* Only the number of seconds is understood, as Kubernetes clients do; a date is none. */
static int retry_after(CURL *easy)
{
	const char *value = header_value(easy, "Retry-After");
	char *end;
	long seconds = strtol(value, &end, 10);

	return end == value || *end || seconds < 0 || seconds > 1000000 ? -1 : (int)seconds;
}

static const char *version_name(CURL *easy)
{
	long version = 0;

	curl_easy_getinfo(easy, CURLINFO_HTTP_VERSION, &version);
	switch (version) {
	case CURL_HTTP_VERSION_1_0: return "1.0";
	case CURL_HTTP_VERSION_1_1: return "1.1";
	case CURL_HTTP_VERSION_2_0: return "2";
	default: return "";
	}
}

static void set_server(struct http_request *r)
{
	const char *ip = NULL;
	long port = 0;

	curl_easy_getinfo(r->easy, CURLINFO_PRIMARY_IP, &ip);
	curl_easy_getinfo(r->easy, CURLINFO_PRIMARY_PORT, &port);
	if (ip && *ip)
		snprintf(r->server, sizeof(r->server), strchr(ip, ':') ? "[%s]:%ld" : "%s:%ld", ip, port);
}

struct http_answer http_answer_so_far(struct http_request *r)
{
	int64_t now = clock_mono_ns(r->http->clock);
	curl_off_t sent_after_us = 0;
	long status = 0;

	curl_easy_getinfo(r->easy, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(r->easy, CURLINFO_PRETRANSFER_TIME_T, &sent_after_us);
	set_server(r);
	return (struct http_answer){
		.status = (int)status,
		.sent = sent_after_us > 0,
		.begin_ns = r->begin_ns,
		.first_byte_after_ns = r->first_byte_mono_ns ? r->first_byte_mono_ns - r->begin_mono_ns : -1,
		.duration_ns = now - r->begin_mono_ns,
		.bytes = r->bytes,
		.retry_after_s = retry_after(r->easy),
		.content_type = header_value(r->easy, "Content-Type"),
		.etag = header_value(r->easy, "Etag"),
		.audit_id = header_value(r->easy, "Audit-Id"),
		.date = header_value(r->easy, "Date"),
		.http_version = version_name(r->easy),
		.server = r->server,
		.tls = r->http->tls,
		.error = "",
	};
}

/* libcurl keeps the errno of a failed connect; that of a broken TLS session only stands in its words. */
static int errno_of(struct http_request *r, int curl_code)
{
	static const int likely[] = {
		ECONNRESET, EPIPE, ETIMEDOUT, ECONNREFUSED, ENETUNREACH, EHOSTUNREACH, ECONNABORTED};
	const char *number = strstr(r->error, "errno ");
	long found = 0;

	if (r->socket_errno && curl_code == CURLE_COULDNT_CONNECT)
		return r->socket_errno;
	curl_easy_getinfo(r->easy, CURLINFO_OS_ERRNO, &found);
	if (found || curl_code == CURLE_OK)
		return curl_code == CURLE_OK ? 0 : (int)found;
	if (number)
		return (int)strtol(number + 6, NULL, 10);
	for (size_t i = 0; i < COUNT_OF(likely); i++) {
		char words[128];

		if (strstr(r->error, strerror_r(likely[i], words, sizeof(words))))
			return likely[i];
	}
	return 0;
}

static int h2_error_of(const char *error)
{
	const char *number = strstr(error, "(err ");

	return number ? (int)strtol(number + 5, NULL, 10) : 0;
}

static long port_of(CURL *easy)
{
	long port = 0;

	curl_easy_getinfo(easy, CURLINFO_LOCAL_PORT, &port);
	return port;
}

/* libcurl has no other way to tell of a GOAWAY than what it would print, to whichever request of the
 * connection was reading: "received GOAWAY, error=0, last_stream=7". */
static int listen_for_goaway(CURL *easy, curl_infotype type, char *text, size_t len, void *context)
{
	struct http *h = context;
	const char *word = type == CURLINFO_TEXT ? memmem(text, len, "GOAWAY, error=", 14) : NULL;
	struct goaway goaway;

	if (!word ||
		sscanf(word, "GOAWAY, error=%d, last_stream=%d", &goaway.error, &goaway.last_stream) != 2)
		return 0;
	goaway.port = port_of(easy);
	h->goaways[h->goaway_count++ % GOAWAYS_KEPT] = goaway;
	return 0;
}

/* The GOAWAY of the connection that the request ran over, or NULL. */
static const struct goaway *goaway_of(const struct http_request *r)
{
	const struct http *h = r->http;
	long port = port_of(r->easy);

	for (unsigned i = 0; i < GOAWAYS_KEPT && i < h->goaway_count; i++) {
		const struct goaway *goaway = &h->goaways[(h->goaway_count - 1 - i) % GOAWAYS_KEPT];

		if (goaway->port == port && port)
			return goaway;
	}
	return NULL;
}

void http_answer_end(struct http_request *r, CURLcode code, struct http_answer *answer)
{
	const struct goaway *goaway = goaway_of(r);

	answer->aborted = r->aborted;
	answer->curl_code = (int)code;
	answer->os_errno = errno_of(r, (int)code);
	answer->goaway = goaway != NULL;
	answer->h2_error = goaway ? goaway->error : h2_error_of(r->error);
	if (answer->os_errno == EMFILE || answer->os_errno == ENFILE)
		snprintf(r->error, sizeof(r->error),
			"no socket can be opened, as too many files are open: raise the limit, as by 'ulimit -n 8192'");
	answer->error = *r->error || code == CURLE_OK ? r->error : curl_easy_strerror(code);
}

/* ---- making a request ---- */

/* libcurl does not tell why it got none. */
static curl_socket_t open_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address)
{
	struct http_request *r = context;
	int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);

	(void)purpose;
	r->socket_errno = fd < 0 ? errno : 0;
	return fd < 0 ? CURL_SOCKET_BAD : fd;
}

static int set_socket_options(void *context, curl_socket_t socket, curlsocktype purpose)
{
	unsigned limit_ms = DEAD_PEER_MS;

	(void)context;
	(void)purpose;
	setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit_ms, sizeof(limit_ms));
	return CURL_SOCKOPT_OK;
}

static void set_blob(CURL *easy, CURLoption option, struct slice data)
{
	struct curl_blob blob = {
		.data = (void *)(uintptr_t)data.ptr, .len = data.len, .flags = CURL_BLOB_COPY};

	if (data.len)
		curl_easy_setopt(easy, option, &blob);
}

/* An authority that is given is the only one: libcurl would believe those of the system's folder beside it,
 * and our token would go to any server that one of them vouches for. */
static void set_authority(CURL *easy, const struct cluster_config *c)
{
	if (!c->ca_data.len && !c->ca_file)
		return;
	curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
	set_blob(easy, CURLOPT_CAINFO_BLOB, buf_slice(&c->ca_data));
	if (c->ca_data.len)
		return;
	curl_easy_setopt(easy, CURLOPT_CAINFO, c->ca_file);
#if LIBCURL_VERSION_NUM >= 0x075700
	/* The file may be replaced by one with a newer authority; libcurl keeps what it has read for a day. */
	curl_easy_setopt(easy, CURLOPT_CA_CACHE_TIMEOUT, 0L);
#endif
}

static void set_tls(CURL *easy, const struct http *h)
{
	const struct cluster_config *c = h->config;

	set_authority(easy, c);
	set_blob(easy, CURLOPT_SSLCERT_BLOB, credentials_certificate(h->credentials));
	if (!credentials_certificate(h->credentials).len && c->cert_file)
		curl_easy_setopt(easy, CURLOPT_SSLCERT, c->cert_file);
	set_blob(easy, CURLOPT_SSLKEY_BLOB, credentials_key(h->credentials));
	if (!credentials_key(h->credentials).len && c->key_file)
		curl_easy_setopt(easy, CURLOPT_SSLKEY, c->key_file);
	if (c->insecure) {
		curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
		curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
	}
	if (h->connect_list)
		curl_easy_setopt(easy, CURLOPT_CONNECT_TO, h->connect_list);
}

static void set_proxy(CURL *easy, const struct http *h)
{
	const char *upper = getenv("HTTP_PROXY");

	if (h->proxy)
		curl_easy_setopt(easy, CURLOPT_PROXY, h->proxy);
	else if (h->no_proxy)
		curl_easy_setopt(easy, CURLOPT_PROXY, "");
	else if (!h->tls && upper && !getenv("http_proxy"))
		curl_easy_setopt(easy, CURLOPT_PROXY, upper);
	curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
}

static void add_header(struct http_request *r, const char *name, const char *value)
{
	char *line = xasprintf("%s: %s", name, value);

	r->headers = curl_slist_append(r->headers, line);
	free(line);
}

static int set_headers(struct http_request *r, struct err *err)
{
	const struct http *h = r->http;
	const struct cluster_config *c = h->config;
	const char *authorization = NULL;
	int rc = credentials_header(h->credentials, &authorization, err);

	if (rc)
		return rc;
	add_header(r, "Accept", r->accept);
	if (authorization && (h->tls || c->token_over_http))
		r->headers = curl_slist_append(r->headers, authorization);
	if (h->connect_to)
		add_header(r, "Host", h->authority);
	if (c->as_user)
		add_header(r, "Impersonate-User", c->as_user);
	if (c->as_uid)
		add_header(r, "Impersonate-Uid", c->as_uid);
	for (char **group = c->as_groups; group && *group; group++)
		add_header(r, "Impersonate-Group", *group);
	curl_easy_setopt(r->easy, CURLOPT_HTTPHEADER, r->headers);
	return 0;
}

static void set_transfer(struct http_request *r)
{
	CURL *easy = r->easy;

	curl_easy_setopt(easy, CURLOPT_URL, r->url);
	curl_easy_setopt(easy, CURLOPT_PRIVATE, r);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, r->error);
	curl_easy_setopt(easy, CURLOPT_USERAGENT, "kubetape/" KUBETAPE_VERSION);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
	/* Wait for a connection that may carry many; without HTTP/2 libcurl 7.88 would wait for ever. */
	curl_easy_setopt(easy, CURLOPT_PIPEWAIT, r->http->tls && !r->http->h1_seen ? 1L : 0L);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_TIMEOUT_S);
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, (long)KEEPALIVE_IDLE_S);
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, (long)KEEPALIVE_INTERVAL_S);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, r);
	curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, set_socket_options);
	if (r->http->tls) {
		curl_easy_setopt(easy, CURLOPT_DEBUGFUNCTION, listen_for_goaway);
		curl_easy_setopt(easy, CURLOPT_DEBUGDATA, r->http);
		curl_easy_setopt(easy, CURLOPT_VERBOSE, 1L);
	}
	if (r->lane == LIST_LANE) {
		curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, (long)LIST_BUFFER_BYTES);
		curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
		curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, (long)LIST_STALL_S);
	}
}

int http_set_up(struct http_request *r, struct err *err)
{
	set_transfer(r);
	set_tls(r->easy, r->http);
	set_proxy(r->easy, r->http);
	return set_headers(r, err);
}

/* ---- the server ---- */

static bool is_loopback(const char *host)
{
	return strcmp(host, "localhost") == 0 || strncmp(host, "127.", 4) == 0 || strcmp(host, "[::1]") == 0;
}

/* A SOCKS proxy looks the server's name up, as kubectl has it: it may be the only one that can. */
static char *make_proxy(const char *url)
{
	struct slice rest;

	if (!url)
		return NULL;
	rest = slice_of(url);
	return slice_skip(&rest, "socks5://") ? xasprintf("socks5h://%s", rest.ptr) : xstrdup(url);
}

/* Takes the server's URL apart: what URLs begin with, and where to connect. A tls-server-name takes the
 * host's place in the URL, since libcurl takes SNI and the name to verify from there. */
void http_set_base(struct http *h)
{
	const struct cluster_config *c = h->config;
	CURLU *url = curl_url();
	char *host = NULL, *port = NULL, *path = NULL;

	h->tls = strncmp(c->server, "https://", 8) == 0;
	curl_url_set(url, CURLUPART_URL, c->server, 0);
	curl_url_get(url, CURLUPART_HOST, &host, 0);
	curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT);
	curl_url_get(url, CURLUPART_PATH, &path, 0);
	h->authority = host && port ? xasprintf("%s:%s", host, port) : xstrdup(c->server);
	h->proxy = make_proxy(c->proxy_url);
	h->no_proxy = host && is_loopback(host);
	if (h->tls && c->tls_server_name) {
		h->base =
			xasprintf("https://%s:%s%s", c->tls_server_name, port, strcmp(path, "/") ? path : "");
		h->connect_to = xasprintf("%s:%s:%s", c->tls_server_name, port, h->authority);
		h->connect_list = curl_slist_append(NULL, h->connect_to);
	} else {
		h->base = xstrdup(c->server);
	}
	curl_free(host);
	curl_free(port);
	curl_free(path);
	curl_url_cleanup(url);
}

int http_escape(const char *text, struct buf *to, struct err *err)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";

	for (; *text; text++) {
		bool as_is = strchr(plain, *text) != NULL;
		int rc = as_is ? buf_append(to, text, 1, err)
			       : buf_printf(to, err, "%%%02X", (unsigned char)*text);

		if (rc)
			return rc;
	}
	return 0;
}
