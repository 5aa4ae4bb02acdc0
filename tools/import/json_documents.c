/* json_documents.c: see json_documents.h. Only brackets and strings are looked at; the taker of a document
 * apart finds what else is wrong with it. */
#include "tools/import/json_documents.h"

#include "schema/base/limits.h"

#include <errno.h>
#include <unistd.h>

#define READ_BYTES (1u << 20)

void json_documents_init(struct json_documents *d, int fd, const char *name)
{
	*d = (struct json_documents){.fd = fd, .name = name};
	buf_init(&d->bytes, LIMIT_LIST_BYTES);
}

void json_documents_release(struct json_documents *d)
{
	buf_release(&d->bytes);
}

static bool is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* Steps over one byte; true when it closed the document. */
static bool json_documents_step(struct json_documents *d, char c)
{
	if (d->in_string) {
		if (d->escaped)
			d->escaped = false;
		else if (c == '\\')
			d->escaped = true;
		else if (c == '"')
			d->in_string = false;
		return false;
	}
	if (c == '"')
		d->in_string = true;
	else if (c == '{' || c == '[')
		d->depth++;
	else if (c == '}' || c == ']')
		return d->depth && --d->depth == 0;
	else if (c == '\n')
		d->spread = true;
	return false;
}

/* Looks for the end of the document in what was read. What cannot begin one ends where it begins. */
static bool find_end(struct json_documents *d)
{
	while (d->at < d->bytes.len) {
		char c = d->bytes.ptr[d->at++];

		if (d->depth == 0 && is_space(c))
			d->begin = d->at;
		else if (json_documents_step(d, c) || d->depth == 0)
			return true;
	}
	return false;
}

/* In place: it only becomes shorter. */
static void take_out_spaces(struct slice *document, char *bytes)
{
	bool in_string = false, escaped = false;
	size_t n = 0;

	for (size_t i = 0; i < document->len; i++) {
		char c = bytes[i];

		if (!in_string && is_space(c))
			continue;
		bytes[n++] = c;
		if (c == '"' && !escaped)
			in_string = !in_string;
		escaped = in_string && c == '\\' && !escaped;
	}
	document->len = n;
}

/* 1 when bytes came, 0 at the end or when a signal came. */
static int read_more(struct json_documents *d, struct err *err)
{
	char *room;
	ssize_t n;

	buf_consume(&d->bytes, d->begin);
	d->passed += d->begin;
	d->at -= d->begin;
	d->begin = 0;
	room = buf_reserve(&d->bytes, READ_BYTES);
	if (!room)
		return err_set(err, ERR_TOO_LARGE,
			"document %llu of '%s' is larger than the maximum of %u bytes",
			(unsigned long long)d->count + 1, d->name, LIMIT_LIST_BYTES);
	n = read(d->fd, room, READ_BYTES);
	if (n < 0 && errno != EINTR)
		return err_set_errno(err, errno, "cannot read '%s'", d->name);
	if (n <= 0) {
		d->ended = true;
		return 0;
	}
	d->bytes.len += (size_t)n;
	return 1;
}

static int json_documents_refuse(const struct json_documents *d, struct err *err)
{
	return err_set(err, ERR_PROTOCOL, "document %llu of '%s' is no JSON object: it begins with 0x%02x",
		(unsigned long long)d->count + 1, d->name, (unsigned char)d->bytes.ptr[d->begin]);
}

static int check_end(const struct json_documents *d, struct err *err)
{
	if (d->depth || d->in_string)
		return err_set(err, ERR_PROTOCOL, "document %llu of '%s' is cut off after %zu bytes",
			(unsigned long long)d->count + 1, d->name, d->bytes.len - d->begin);
	return 0;
}

bool json_documents_waits(struct json_documents *d)
{
	size_t at = d->at;

	while (at < d->bytes.len && is_space(d->bytes.ptr[at]))
		at++;
	return at == d->bytes.len;
}

int json_documents_next(struct json_documents *d, struct slice *ret, struct err *err)
{
	char *bytes;
	int more;

	d->begin = d->at;
	d->spread = false;
	while (!find_end(d)) {
		more = d->ended ? 0 : read_more(d, err);
		if (more <= 0)
			return more < 0 ? more : check_end(d, err);
	}
	bytes = d->bytes.ptr + d->begin;
	if (*bytes != '{')
		return json_documents_refuse(d, err);
	*ret = (struct slice){bytes, d->at - d->begin};
	if (d->spread)
		take_out_spaces(ret, bytes);
	d->count++;
	return 1;
}

uint64_t json_documents_passed(const struct json_documents *d)
{
	return d->passed + d->at;
}

int json_documents_peek(struct json_documents *d, struct slice *ret, struct err *err)
{
	int rc;

	while (!d->ended && d->bytes.len < 64) {
		if ((rc = read_more(d, err)) < 0)
			return rc;
	}
	*ret = buf_slice(&d->bytes);
	return 0;
}

int json_documents_line(struct json_documents *d, struct slice *ret, struct err *err)
{
	const char *feed;
	int more;

	d->begin = d->at;
	while (!(feed = d->at < d->bytes.len ? memchr(d->bytes.ptr + d->at, '\n', d->bytes.len - d->at)
					     : NULL)) {
		d->at = d->bytes.len;
		more = d->ended ? 0 : read_more(d, err);
		if (more < 0)
			return more;
		if (more == 0)
			break;
	}
	d->at = feed ? (size_t)(feed - d->bytes.ptr) + 1 : d->bytes.len;
	*ret = (struct slice){d->bytes.ptr + d->begin, d->at - d->begin};
	return ret->len > 0;
}
