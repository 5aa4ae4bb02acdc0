/* push_note.c: see push_note.h. */
#include "recorder/push/push_note.h"

#include "schema/base/clock.h"
#include "schema/base/config_file.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"
#include "schema/base/moment.h"
#include "schema/base/out_file.h"
#include "schema/tape/beside.h"
#include "schema/tape/segment.h"

#include <stdlib.h>
#include <sys/stat.h>

static const char *const endings[PUSH_NOTE_KINDS] = {
	[PUSH_NOTE_STORE] = "push", [PUSH_NOTE_CLICKHOUSE] = "push-clickhouse"};

static int write_note(const char *path, const struct push_note *note)
{
	char time[TIME_TEXT_BYTES];
	struct buf json;
	int rc;

	buf_init(&json, LIMIT_CONFIG_BYTES);
	rc = buf_printf(&json, NULL, "{\"tape_id\": ");
	rc = rc ? rc : json_escape(slice_of(note->tape_id), &json, NULL);
	rc = rc ? rc : buf_printf(&json, NULL, ", \"url\": ");
	rc = rc ? rc : json_escape(slice_of(note->url), &json, NULL);
	rc = rc ? rc
		: buf_printf(&json, NULL, ", \"first\": %u, \"through\": %u, \"time\": \"%s\"}\n",
			  note->first, note->through, time_format(time, note->pushed_ns));
	rc = rc ? rc : out_file_write(path, buf_slice(&json), NULL);
	buf_release(&json);
	return rc;
}

void push_note_write(const char *tape_path, const struct push_note *note)
{
	char *path = tape_beside(tape_path, endings[note->kind]);

	(void)!write_note(path, note);
	free(path);
}

/* The caller frees. NULL: there is no such text. */
static char *text_at(struct slice json, const char *path)
{
	struct slice value;
	struct buf text;
	char *ret = NULL;

	buf_init(&text, LIMIT_NAME_BYTES);
	if (json_get(json, path, &value, NULL) > 0 && json_unescape(value, &text, NULL) == 0)
		ret = slice_dup(buf_slice(&text));
	buf_release(&text);
	return ret;
}

/* A member follows each number: it ends. */
static bool number_at(struct slice json, const char *path, uint32_t *ret)
{
	struct slice value;
	bool found = json_get(json, path, &value, NULL) > 0;

	*ret = found ? (uint32_t)strtoul(value.ptr, NULL, 10) : 0;
	return found;
}

static bool take_note(struct slice json, struct push_note *ret)
{
	char *time = text_at(json, "$.time");
	bool whole = time && moment_is_absolute(slice_of(time), &ret->pushed_ns) &&
		     number_at(json, "$.through", &ret->through);

	free(time);
	if (!whole)
		return false;
	(void)number_at(json, "$.first", &ret->first); /* earlier programs did not write it */
	ret->tape_id = text_at(json, "$.tape_id");
	ret->url = text_at(json, "$.url");
	return ret->tape_id && ret->url;
}

bool push_note_read(
	const char *tape_path, const char *tape_id, enum push_note_kind kind, struct push_note *ret)
{
	char *path = tape_beside(tape_path, endings[kind]);
	struct push_note note = {.kind = kind};
	struct buf json;
	bool found;

	buf_init(&json, LIMIT_CONFIG_BYTES);
	found = read_config_text(path, &json, NULL) == 0 && take_note(buf_slice(&json), &note) &&
		strcmp(note.tape_id, tape_id) == 0;
	buf_release(&json);
	free(path);
	if (found)
		*ret = note;
	else
		push_note_release(&note);
	return found;
}

void push_note_release(struct push_note *note)
{
	free(note->tape_id);
	free(note->url);
	*note = (struct push_note){0};
}

struct push_lag push_note_lag(const char *tape_path, const struct push_note *note)
{
	struct push_lag lag = {0};
	struct segment_file *list;
	size_t count;

	if (segment_list(tape_path, &list, &count, NULL))
		return lag;
	for (size_t i = 0; i < count; i++) {
		struct stat st;

		if (!list[i].sealed || list[i].number <= note->through || stat(list[i].path, &st))
			continue;
		if (!lag.segments++)
			lag.since_ns = (int64_t)st.st_mtim.tv_sec * NS_PER_S + st.st_mtim.tv_nsec;
		lag.bytes += (uint64_t)st.st_size;
	}
	segment_list_free(list, count);
	return lag;
}
