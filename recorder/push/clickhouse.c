/* clickhouse.c: see clickhouse.h. */
#include "recorder/push/clickhouse.h"

#include "recorder/push/patience.h"
#include "schema/base/clock.h"
#include "schema/base/count_of.h"
#include "schema/base/limits.h"
#include "schema/tape/codec.h"

#include <stdlib.h>
#include <string.h>

#define SCHEME           "clickhouse+"
#define MAX_ANSWER_BYTES (64u << 20)
#define MAX_SAID_BYTES   300 /* of what the server says */
#define ROWS_LEVEL       3

struct clickhouse {
	struct s3_options options;
	struct web *web;
	char *url;        /* clickhouse+http://host:port/database */
	char *base;       /* http://host:port/?database=... */
	char *user, *key; /* headers; NULL: none */
};

/* What a server cannot do just now, by the numbers of its exceptions. */
static const int passing[] = {
	159, /* TIMEOUT_EXCEEDED */
	160, /* TOO_SLOW */
	202, /* TOO_MANY_SIMULTANEOUS_QUERIES */
	209, /* SOCKET_TIMEOUT */
	210, /* NETWORK_ERROR */
	241, /* MEMORY_LIMIT_EXCEEDED */
	242, /* TABLE_IS_READ_ONLY */
	252, /* TOO_MANY_PARTS */
	319, /* UNKNOWN_STATUS_OF_INSERT */
	999, /* KEEPER_EXCEPTION */
};
#define UNKNOWN_TABLE 60

/* ---- where it is ---- */

bool clickhouse_is_url(const char *text)
{
	return strncmp(text, "clickhouse", strlen("clickhouse")) == 0;
}

static int refuse_url(const char *url, struct err *err)
{
	return err_set(err, ERR_USAGE,
		"'%s' is no place in ClickHouse, expected clickhouse+https://[USER@]HOST[:PORT]/DATABASE",
		url);
}

static bool is_database(struct slice name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

	for (size_t i = 0; i < name.len; i++) {
		if (!memchr(letters, name.ptr[i], sizeof(letters) - 1))
			return false;
	}
	return name.len > 0;
}

/* A name before the host; a password does not belong there, where every process list shows it. */
static int take_user(struct clickhouse *c, struct slice *host, const char *url, struct err *err)
{
	struct slice rest = *host, user = slice_cut(&rest, '@');
	const char *known = getenv("CLICKHOUSE_USER"), *password = getenv("CLICKHOUSE_PASSWORD");

	if (!rest.ptr)
		user = slice_of(known);
	else
		*host = rest;
	if (user.len && memchr(user.ptr, ':', user.len))
		return err_set(err, ERR_USAGE,
			"'%.*s...' has a password in it; put it into CLICKHOUSE_PASSWORD",
			(int)strcspn(url, ":"), url);
	if (user.len)
		c->user = xasprintf("X-ClickHouse-User: %.*s", (int)user.len, user.ptr);
	if (password && *password)
		c->key = xasprintf("X-ClickHouse-Key: %s", password);
	return 0;
}

static int take_url(struct clickhouse *c, const char *url, struct err *err)
{
	struct slice rest = slice_of(url), host;
	const char *scheme, *port = "";
	int rc;

	if (!slice_skip(&rest, SCHEME))
		return refuse_url(url, err);
	scheme = slice_skip(&rest, "https://") ? "https" : slice_skip(&rest, "http://") ? "http" : NULL;
	host = scheme ? slice_cut(&rest, '/') : (struct slice){0};
	if (!host.len || !rest.ptr || !is_database(rest))
		return refuse_url(url, err);
	rc = take_user(c, &host, url, err);
	if (rc)
		return rc;
	if (!host.len)
		return refuse_url(url, err);
	if (!memchr(host.ptr, ':', host.len))
		port = strcmp(scheme, "https") == 0 ? ":8443" : ":8123";
	c->url = xasprintf(
		"%s%s://%.*s/%.*s", SCHEME, scheme, (int)host.len, host.ptr, (int)rest.len, rest.ptr);
	c->base = xasprintf("%s://%.*s%s/?database=%.*s&wait_end_of_query=1", scheme, (int)host.len, host.ptr,
		port, (int)rest.len, rest.ptr);
	return web_is_address(c->base) ? 0 : refuse_url(url, err);
}

int clickhouse_open(
	const char *url, const struct s3_options *options, struct clickhouse **ret, struct err *err)
{
	struct clickhouse *c = xcalloc(1, sizeof(*c));
	int rc;

	c->options = *options;
	c->web = web_new(options->stop, options->context);
	rc = take_url(c, url, err);
	if (rc) {
		clickhouse_close(c);
		return rc;
	}
	*ret = c;
	return 0;
}

void clickhouse_close(struct clickhouse *c)
{
	if (!c)
		return;
	web_free(c->web);
	free(c->url);
	free(c->base);
	free(c->user);
	free(c->key);
	free(c);
}

const char *clickhouse_url(const struct clickhouse *c)
{
	return c->url;
}

/* ---- what it refuses ---- */

/* 60 of "Code: 60. DB::Exception: ..."; 0 of other texts. */
static int exception_number(struct slice said)
{
	int number = 0;

	if (!slice_skip(&said, "Code: "))
		return 0;
	for (size_t i = 0; i < said.len && i < 6 && said.ptr[i] >= '0' && said.ptr[i] <= '9'; i++)
		number = number * 10 + said.ptr[i] - '0';
	return number;
}

static int code_of(int status, int number)
{
	if (number == UNKNOWN_TABLE)
		return ERR_NOT_FOUND;
	return status == 401 || status == 403 ? ERR_DENIED : ERR_FAILED;
}

/* The first line of what it says, cut to what is told of it. */
static struct slice first_line(const struct web_answer *a)
{
	struct slice said = buf_slice(&a->body), first = slice_cut(&said, '\n');

	return first.len < MAX_SAID_BYTES ? first : (struct slice){first.ptr, MAX_SAID_BYTES};
}

static int refuse(const struct clickhouse *c, const struct web_answer *a, bool *ret_again, struct err *err)
{
	struct slice first = first_line(a);
	int number = exception_number(first);

	*ret_again = !number && (a->status == 429 || a->status >= 500);
	for (size_t i = 0; i < COUNT_OF(passing); i++)
		*ret_again |= number == passing[i];
	return err_set(err, code_of(a->status, number), "'%s' answered %d%s%.*s", c->url, a->status,
		first.len ? ": " : ", and nothing else", (int)first.len, first.ptr ? first.ptr : "");
}

/* ---- calls ---- */

static int call_once(struct clickhouse *c, const struct web_request *r, struct web_answer *ret,
	bool *ret_again, struct err *err)
{
	int rc = web_call(c->web, r, ret, err);

	*ret_again = rc == ERR_NETWORK;
	if (rc)
		return rc;
	/* Of what failed late the status is that of a success. */
	if (ret->status == 200 && !exception_number(buf_slice(&ret->body)))
		return 0;
	rc = refuse(c, ret, ret_again, err);
	web_answer_release(ret);
	return rc;
}

static int call(struct clickhouse *c, struct web_request *r, struct web_answer *ret, struct err *err)
{
	int64_t give_up = clock_mono_ns(&clock_system) + c->options.retry_ns;
	size_t headers = 0;
	struct err why = {0};
	bool again;

	while (r->headers[headers])
		headers++;
	r->headers[headers] = c->user ? c->user : c->key;
	r->headers[headers + (c->user != NULL)] = c->key;
	for (unsigned attempt = 0;; attempt++) {
		int64_t delay;
		int rc;

		r->silence_limit_s = patience_silence_s(give_up);
		rc = call_once(c, r, ret, &again, &why);
		delay = patience_delay(attempt, rc ? ret->retry_after_s : -1);

		if (!rc && attempt && c->options.waits)
			c->options.waits(c->options.context, NULL, 0);
		if (!rc)
			return 0;
		if (!again || clock_mono_ns(&clock_system) + delay > give_up)
			return err_copy(err, &why);
		if (c->options.waits)
			c->options.waits(c->options.context, &why, delay);
		if (patience_wait(delay, c->options.stop, c->options.context))
			return err_set(err, ERR_STOPPED, "stopped while waiting: %s", why.text);
	}
}

int clickhouse_ask(struct clickhouse *c, const char *sql, struct buf *to, struct err *err)
{
	struct web_request r = {.method = "POST",
		.url = c->base,
		.headers = {"Content-Type: text/plain", "Expect:"},
		.body = {.memory = slice_of(sql)},
		.max_bytes = MAX_ANSWER_BYTES};
	struct web_answer a;
	int rc = call(c, &r, &a, err);

	if (rc)
		return rc;
	if (to)
		rc = buf_append(to, a.body.ptr, a.body.len, err);
	web_answer_release(&a);
	return rc;
}

/* One request of at most some MB becomes one block there, and that is what the token is of. */
static char *insert_url(const struct clickhouse *c, const char *table, const char *token)
{
	char *sql = xasprintf("INSERT INTO %s FORMAT RowBinaryWithNamesAndTypes", table);
	struct buf url;
	char *text;
	int rc;

	buf_init(&url, LIMIT_NAME_BYTES);
	rc = buf_printf(
		&url, NULL, "%s&async_insert=0&insert_deduplicate=1&insert_deduplication_token=", c->base);
	rc = rc ? rc : web_encode(token, false, &url, NULL);
	rc = rc ? rc : buf_printf(&url, NULL, "&query=");
	rc = rc ? rc : web_encode(sql, false, &url, NULL);
	text = rc ? xstrdup("") : slice_dup(buf_slice(&url));
	buf_release(&url);
	free(sql);
	return text;
}

/* An INSERT that was done has nothing to say; a page for people comes from something that stands in between. */
static int check_silence(const struct clickhouse *c, const struct web_answer *a, struct err *err)
{
	struct slice first = first_line(a);

	if (!a->body.len)
		return 0;
	return err_set(err, ERR_FAILED,
		"'%s' answered an INSERT with 200 and a text, which ClickHouse does not: %.*s", c->url,
		(int)first.len, first.ptr);
}

int clickhouse_insert(
	struct clickhouse *c, const char *table, struct slice rows, const char *token, struct err *err)
{
	char *url = insert_url(c, table, token);
	struct web_request r = {.method = "POST",
		.url = url,
		.headers = {"Content-Type: application/octet-stream", "Content-Encoding: zstd", "Expect:"},
		.max_bytes = MAX_ANSWER_BYTES};
	struct web_answer a;
	struct buf packed;
	int rc;

	buf_init(&packed, codec_bound(rows.len));
	rc = codec_pack(rows, ROWS_LEVEL, &packed, err);
	r.body.memory = buf_slice(&packed);
	rc = rc ? rc : call(c, &r, &a, err);
	if (!rc) {
		rc = check_silence(c, &a, err);
		web_answer_release(&a);
	}
	buf_release(&packed);
	free(url);
	return rc;
}

int clickhouse_quote(const char *text, struct buf *to, struct err *err)
{
	int rc = buf_append(to, "'", 1, err);

	for (; *text && !rc; text++) {
		if (*text == '\'' || *text == '\\')
			rc = buf_append(to, "\\", 1, err);
		rc = rc ? rc : buf_append(to, text, 1, err);
	}
	return rc ? rc : buf_append(to, "'", 1, err);
}
