/* yaml_documents.c: see yaml_documents.h. */
#include "tools/import/yaml_documents.h"

#include "replayer/json/yaml_json.h"
#include "schema/base/clock.h"
#include "schema/base/limits.h"

#include <stdlib.h>

static const char offset_begin[] = "$(time-offset-nanosecond ";

void yaml_documents_init(struct yaml_documents *y, struct json_documents *lines, int64_t base_ns)
{
	*y = (struct yaml_documents){.lines = lines, .base_ns = base_ns};
	buf_init(&y->text, LIMIT_DOCUMENT_BYTES);
}

void yaml_documents_release(struct yaml_documents *y)
{
	buf_release(&y->text);
	free(y->json);
}

static bool is_divider(struct slice line)
{
	return line.len >= 3 && memcmp(line.ptr, "---", 3) == 0 &&
	       (line.len == 3 || strchr(" \t\r\n", line.ptr[3]));
}

static bool says_nothing(struct slice line)
{
	size_t at = 0;

	while (at < line.len && strchr(" \t\r\n", line.ptr[at]))
		at++;
	return at == line.len || line.ptr[at] == '#';
}

/* The N of an offset that begins at text, and its length; 0 when it is none. */
static size_t offset_at(struct slice text, int64_t *ret_ns)
{
	size_t begin = sizeof(offset_begin) - 1;
	char digits[24], *end;
	size_t len = 0;

	if (text.len <= begin || memcmp(text.ptr, offset_begin, begin) != 0)
		return 0;
	while (begin + len < text.len && len < sizeof(digits) - 1 && text.ptr[begin + len] != ')')
		len++;
	memcpy(digits, text.ptr + begin, len);
	digits[len] = 0;
	*ret_ns = strtoll(digits, &end, 10);
	return begin + len < text.len && text.ptr[begin + len] == ')' && *end == 0 && len ? begin + len + 1
											  : 0;
}

/* To the second where the offset has no more, as most times of Kubernetes are written. */
static int append_time(struct yaml_documents *y, int64_t offset_ns, struct err *err)
{
	char text[TIME_TEXT_BYTES];
	int64_t ns;

	if (__builtin_add_overflow(y->base_ns, offset_ns, &ns) || ns < 0)
		ns = 0;
	time_format(text, ns);
	if (ns % NS_PER_S == 0)
		memcpy(text + strlen("2026-11-21T08:44:17"), "Z", 2);
	return buf_append(&y->text, text, strlen(text), err);
}

static int append_line(struct yaml_documents *y, struct slice line, struct err *err)
{
	int rc = 0;

	while (line.len && !rc) {
		const char *dollar = memchr(line.ptr, '$', line.len);
		size_t plain = dollar ? (size_t)(dollar - line.ptr) : line.len, taken;
		int64_t offset_ns;

		rc = buf_append(&y->text, line.ptr, plain, err);
		line = (struct slice){line.ptr + plain, line.len - plain};
		taken = rc ? 0 : offset_at(line, &offset_ns);
		if (taken)
			rc = append_time(y, offset_ns, err);
		else if (line.len && !rc)
			rc = buf_append(&y->text, line.ptr, taken = 1, err);
		line = (struct slice){line.ptr + taken, line.len - taken};
	}
	return rc;
}

/* 1 when there is a document in text, 0 at the end. */
static int read_document(struct yaml_documents *y, struct err *err)
{
	bool empty = true;
	struct slice line;
	int more, rc;

	buf_clear(&y->text);
	while ((more = json_documents_line(y->lines, &line, err)) > 0) {
		if (is_divider(line) && !empty)
			return 1;
		if (is_divider(line) || (empty && says_nothing(line)))
			continue;
		empty = false;
		rc = append_line(y, line, err);
		if (rc)
			return rc;
	}
	return more < 0 ? more : !empty;
}

int yaml_documents_next(struct yaml_documents *y, struct slice *ret, struct err *err)
{
	int more = read_document(y, err), rc;

	if (more <= 0)
		return more;
	free(y->json);
	y->json = NULL;
	y->lines->count++;
	rc = yaml_to_json(buf_slice(&y->text), &y->json, err);
	if (rc)
		return err_prefix(err, rc, "document %llu of '%s'", (unsigned long long)y->lines->count,
			y->lines->name);
	*ret = slice_of(y->json);
	return 1;
}
