/* status_body.c: see status_body.h. */
#include "recorder/status_body.h"

#include "schema/base/json_scan.h"

#include <stdio.h>
#include <stdlib.h>

static bool text_at(struct slice json, const char *path, struct buf *to)
{
	struct slice value;

	buf_clear(to);
	return json_get(json, path, &value, NULL) > 0 && value.len > 2 && value.ptr[0] == '"' &&
	       json_unescape(value, to, NULL) == 0;
}

static void status_body_put(char *to, size_t size, struct slice text)
{
	size_t len = text.len < size - 1 ? text.len : size - 1;

	for (size_t i = 0; i < len; i++)
		to[i] = (unsigned char)text.ptr[i] < ' ' ? ' ' : text.ptr[i];
	while (len && to[len - 1] == ' ')
		len--;
	to[len] = 0;
}

void status_body_message(struct slice body, int http_status, char to[STATUS_MESSAGE_BYTES])
{
	struct buf text;

	buf_init(&text, 1 << 20);
	if (text_at(body, "$.message", &text))
		status_body_put(to, STATUS_MESSAGE_BYTES, buf_slice(&text));
	else
		status_body_put(to, STATUS_MESSAGE_BYTES, body.len < 2048 ? body : (struct slice){0});
	buf_release(&text);
	if (!*to)
		snprintf(to, STATUS_MESSAGE_BYTES, "HTTP status %d", http_status);
}

void status_body_reason(struct slice body, char to[STATUS_REASON_BYTES])
{
	struct buf text;

	buf_init(&text, 1 << 16);
	*to = 0;
	if (text_at(body, "$.reason", &text))
		status_body_put(to, STATUS_REASON_BYTES, buf_slice(&text));
	buf_release(&text);
}

long status_body_number(struct slice body, const char *path)
{
	struct slice value;
	char digits[24] = "";
	char *end;
	long number;

	if (json_get(body, path, &value, NULL) <= 0 || value.len >= sizeof(digits))
		return -1;
	status_body_put(digits, sizeof(digits), value);
	number = strtol(digits, &end, 10);
	return end == digits || *end ? -1 : number;
}
