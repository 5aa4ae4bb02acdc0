/*
 * json_scan.c: frames, objects and list pages. Members come in any order: built-in resources are sent in the
 * order of Go's structs, custom resources sorted by key, so that a list's kind may stand after its items.
 */
#include "schema/base/json_scan.h"

#include "schema/base/count_of.h"
#include "schema/base/json_walk.h"

/* A member to take, and where its text goes. */
struct field {
	struct slice name;
	struct slice *ret;
	char first; /* '"': only a string, stored without its quotes; '0': only a number */
};

#define FIELD(key, kind, to)                                                                                 \
	{                                                                                                    \
		{key, sizeof(key) - 1}, to, kind                                                             \
	}

static struct slice text_of(struct slice value, char first)
{
	bool is_number = value.ptr[0] == '-' || (value.ptr[0] >= '0' && value.ptr[0] <= '9');

	if (first == '"' && value.ptr[0] == '"')
		return (struct slice){value.ptr + 1, value.len - 2};
	if (first == '0' && is_number)
		return value;
	return (struct slice){0};
}

static int take_field(
	struct json_cursor *c, const struct json_key *key, const struct field *fields, size_t count)
{
	struct slice value;
	int rc = json_take(c, &value);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < count; i++) {
		if (json_key_equal(key, fields[i].name)) {
			*fields[i].ret = text_of(value, fields[i].first);
			break;
		}
	}
	return 0;
}

/* Takes the fields of the object at the cursor. Anything but an object has none. */
static int take_fields(struct json_cursor *c, const struct field *fields, size_t count)
{
	struct json_key key;
	struct slice value;
	bool first = true;
	int rc;

	for (size_t i = 0; i < count; i++)
		*fields[i].ret = (struct slice){0};
	if (json_peek(c) != '{')
		return json_take(c, &value);
	rc = json_enter(c, '{');
	while (rc == 0 && (rc = json_next_member(c, &first, &key)) > 0)
		rc = take_field(c, &key, fields, count);
	return rc;
}

static bool key_is(const struct json_key *key, const char *name)
{
	return json_key_equal(key, slice_of(name));
}

static int take_metadata(struct json_cursor *c, struct object_meta *ret)
{
	const struct field fields[] = {
		FIELD("namespace", '"', &ret->namespace),
		FIELD("name", '"', &ret->name),
		FIELD("uid", '"', &ret->uid),
		FIELD("resourceVersion", '"', &ret->rv),
		FIELD("creationTimestamp", '"', &ret->creation_timestamp),
	};

	return take_fields(c, fields, COUNT_OF(fields));
}

/* The members of the object at the cursor. */
static int take_object(struct json_cursor *c, struct object_meta *ret)
{
	const struct field fields[] = {
		FIELD("kind", '"', &ret->kind),
		FIELD("apiVersion", '"', &ret->api_version),
	};
	struct json_key key;
	bool first = true;
	int rc;

	*ret = (struct object_meta){0};
	rc = json_enter(c, '{');
	while (rc == 0 && (rc = json_next_member(c, &first, &key)) > 0) {
		if (key_is(&key, "metadata"))
			rc = take_metadata(c, ret);
		else
			rc = take_field(c, &key, fields, COUNT_OF(fields));
	}
	return rc;
}

int json_scan_object(struct slice json, struct object_meta *ret, struct err *err)
{
	struct json_cursor c = json_cursor_over(json, err);
	struct object_meta meta;
	int rc = take_object(&c, &meta);

	if (rc == 0)
		rc = json_finish(&c);
	if (rc == 0)
		*ret = meta;
	return rc;
}

static int take_frame_member(struct json_cursor *c, const struct json_key *key, struct watch_frame *frame)
{
	const struct field type = FIELD("type", '"', &frame->type);
	struct slice other;
	const char *start;
	int rc;

	if (!key_is(key, "object"))
		return take_field(c, key, &type, 1);
	frame->object = (struct slice){0};
	if (json_peek(c) != '{')
		return json_take(c, &other);
	start = c->at;
	rc = take_object(c, &frame->meta);
	if (rc == 0)
		frame->object = (struct slice){start, (size_t)(c->at - start)};
	return rc;
}

int json_scan_frame(struct slice json, struct watch_frame *ret, struct err *err)
{
	struct json_cursor c = json_cursor_over(json, err);
	struct watch_frame frame = {0};
	struct json_key key;
	bool first = true;
	int rc = json_enter(&c, '{');

	while (rc == 0 && (rc = json_next_member(&c, &first, &key)) > 0)
		rc = take_frame_member(&c, &key, &frame);
	if (rc == 0)
		rc = json_finish(&c);
	if (rc < 0)
		return rc;
	if (!frame.type.ptr)
		return err_set(
			err, ERR_PROTOCOL, "bad watch frame of %zu bytes: 'type' is no string", json.len);
	if (!frame.object.ptr)
		return err_set(
			err, ERR_PROTOCOL, "bad watch frame of %zu bytes: 'object' is no object", json.len);
	*ret = frame;
	return 0;
}

static int take_list_member(struct json_cursor *c, const struct json_key *key, struct list_page *page)
{
	const struct field fields[] = {
		FIELD("kind", '"', &page->kind),
		FIELD("apiVersion", '"', &page->api_version),
	};
	const struct field metadata[] = {
		FIELD("resourceVersion", '"', &page->rv),
		FIELD("continue", '"', &page->continue_token),
		FIELD("remainingItemCount", '0', &page->remaining),
	};

	if (key_is(key, "items"))
		return json_take(c, &page->items);
	if (key_is(key, "metadata"))
		return take_fields(c, metadata, COUNT_OF(metadata));
	return take_field(c, key, fields, COUNT_OF(fields));
}

/* Go sends null for an empty array. */
static int check_items(struct slice *items, struct err *err)
{
	if (items->ptr && *items->ptr == 'n')
		*items = (struct slice){0};
	if (items->ptr && *items->ptr != '[')
		return err_set(err, ERR_PROTOCOL, "bad list: 'items' begins with '%c', expected an array",
			*items->ptr);
	return 0;
}

int json_scan_list(struct slice json, struct list_page *ret, struct err *err)
{
	struct json_cursor c = json_cursor_over(json, err);
	struct list_page page = {0};
	struct json_key key;
	bool first = true;
	int rc = json_enter(&c, '{');

	while (rc == 0 && (rc = json_next_member(&c, &first, &key)) > 0)
		rc = take_list_member(&c, &key, &page);
	if (rc == 0)
		rc = json_finish(&c);
	if (rc == 0)
		rc = check_items(&page.items, err);
	if (rc == 0)
		*ret = page;
	return rc;
}
