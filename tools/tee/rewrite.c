/* rewrite.c: see rewrite.h. */
#include "tools/tee/rewrite.h"

#include "replayer/wire/http.h"
#include "schema/base/count_of.h"
#include "schema/base/limits.h"

#include <stdlib.h>

/* ---- Accept ---- */

/* The media type of an alternative, without its parameters. */
static struct slice media_type(struct slice alternative)
{
	struct slice type = slice_cut(&alternative, ';');

	return slice_trim(type);
}

static bool is_json(struct slice alternative)
{
	return slice_equal_nocase(media_type(alternative), slice_of("application/json"));
}

static bool is_binary(struct slice alternative)
{
	static const char *const types[] = {
		"application/vnd.kubernetes.protobuf", "application/cbor", "application/cbor-seq"};

	for (size_t i = 0; i < COUNT_OF(types); i++) {
		if (slice_equal_nocase(media_type(alternative), slice_of(types[i])))
			return true;
	}
	return false;
}

bool accept_has_json(struct slice value)
{
	while (value.len) {
		if (is_json(slice_cut(&value, ',')))
			return true;
	}
	return false;
}

int rewrite_accept(struct slice value, struct buf *to, struct err *err)
{
	size_t begin = to->len;
	int rc = 0;

	while (rc == 0 && value.len) {
		struct slice alternative = slice_trim(slice_cut(&value, ','));

		if (is_binary(alternative))
			continue;
		if (to->len > begin)
			rc = buf_append(to, ",", 1, err);
		if (rc == 0)
			rc = buf_append(to, alternative.ptr, alternative.len, err);
	}
	return rc;
}

static bool has_binary(struct slice value)
{
	while (value.len) {
		if (is_binary(slice_cut(&value, ',')))
			return true;
	}
	return false;
}

static bool is_accept(const struct field *f)
{
	return slice_equal_nocase(f->name, slice_of("Accept"));
}

/* What remains of a field; one of which nothing remains goes. */
static void narrow(struct field_list *fields, size_t index)
{
	struct field *f = &fields->items[index];
	struct buf value;

	if (!has_binary(f->value))
		return;
	buf_init(&value, LIMIT_REQUEST_HEAD_BYTES);
	if (rewrite_accept(f->value, &value, NULL))
		buf_clear(&value);
	if (value.len)
		field_change(f, buf_slice(&value));
	else
		field_remove(fields, index);
	buf_release(&value);
}

static void narrow_accept(struct field_list *fields)
{
	bool takes_json = false;

	for (size_t i = 0; i < fields->count; i++)
		takes_json |= is_accept(&fields->items[i]) && accept_has_json(fields->items[i].value);
	for (size_t i = fields->count; takes_json && i-- > 0;) {
		if (is_accept(&fields->items[i]))
			narrow(fields, i);
	}
}

/* ---- who asks ---- */

static bool same_secret(struct slice a, struct slice b)
{
	unsigned char difference = a.len != b.len;

	for (size_t i = 0; i < a.len && i < b.len; i++)
		difference |= (unsigned char)(a.ptr[i] ^ b.ptr[i]);
	return !difference;
}

static bool knows_secret(const struct rewrite *r, const struct field_list *fields)
{
	static const char scheme[] = "Bearer ";
	struct slice value = field_value(fields, "Authorization");
	size_t n = sizeof(scheme) - 1;

	if (value.len <= n || !slice_equal_nocase((struct slice){value.ptr, n}, slice_of(scheme)))
		return false;
	value = slice_trim((struct slice){value.ptr + n, value.len - n});
	return field_count(fields, "Authorization") == 1 && same_secret(value, slice_of(r->secret));
}

static bool begins_nocase(struct slice text, const char *with)
{
	size_t n = strlen(with);

	return text.len >= n && slice_equal_nocase((struct slice){text.ptr, n}, slice_of(with));
}

static bool impersonates(const struct field_list *fields)
{
	for (size_t i = 0; i < fields->count; i++) {
		if (begins_nocase(fields->items[i].name, "Impersonate-"))
			return true;
	}
	return false;
}

/* Names of fields are in lower case in HTTP/2, and may be so anywhere. */
static void say_who(const struct rewrite *r, struct field_list *fields)
{
	for (size_t i = fields->count; i-- > 0;) {
		if (slice_equal_nocase(fields->items[i].name, slice_of("Authorization")))
			field_remove(fields, i);
	}
	if (r->authorization) {
		field_append(fields, "authorization", slice_of(r->authorization));
		fields->items[fields->count - 1].is_secret = true;
	}
	if (!r->as_user)
		return;
	field_append(fields, "impersonate-user", slice_of(r->as_user));
	for (const char **group = r->as_groups; group && *group; group++)
		field_append(fields, "impersonate-group", slice_of(*group));
}

bool rewrite_fields(const struct rewrite *r, struct field_list *fields)
{
	if (r->says_who && !knows_secret(r, fields))
		return false;
	if (r->as_user && impersonates(fields))
		return false;
	for (size_t i = 0; i < fields->count; i++) {
		struct field *f = &fields->items[i];

		if (slice_equal_nocase(f->name, slice_of("Host")) || slice_is(f->name, ":authority"))
			field_change(f, slice_of(r->authority));
	}
	narrow_accept(fields);
	if (r->says_who)
		say_who(r, fields);
	return true;
}
