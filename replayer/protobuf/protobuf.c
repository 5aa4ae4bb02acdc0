/*
 * protobuf.c: see protobuf.h. A message is read twice: once to find where each of its fields begins and ends,
 * then row by row of the table in the order of JSON. Nothing is kept but those places, on the stack.
 */
#include "replayer/protobuf/protobuf.h"

#include "replayer/protobuf/protobuf_forms.h"
#include "replayer/protobuf/protobuf_table.h"
#include "replayer/protobuf/protobuf_wire.h"
#include "schema/base/json_scan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define PLACE_TEXT_MAX 300

/* Where we are, for the error's sentence: a name, then an index or a key. */
struct place {
	const struct place *up;
	const char *name; /* NULL: an index or a key */
	struct slice key; /* of a map, when it has a pointer */
	size_t index;
};

struct decoder {
	struct buf *to;
	struct err *err;
	const struct place *place;
	bool placed; /* the place is in err already */
	unsigned depth;
};

/* Where the occurrences of one field lie in a message: its first one begins at first, its last one ends at
 * end. */
struct span {
	size_t first, end, count;
};

/* A run of rows, as of a message. */
struct rows {
	const struct protobuf_row *first;
	size_t count;
};

static int print_message(struct decoder *d, unsigned message, struct slice bytes);

static void write_place(const struct place *p, FILE *to)
{
	if (!p)
		return;
	write_place(p->up, to);
	if (p->name)
		fprintf(to, "%s%s", p->up ? "." : "", p->name);
	else if (p->key.ptr)
		fprintf(to, "['%.*s']", (int)(p->key.len < 64 ? p->key.len : 64), p->key.ptr);
	else
		fprintf(to, "[%zu]", p->index);
}

/* Puts the place before the sentence that is in err, once. Returns rc. */
static int failed(struct decoder *d, int rc)
{
	char text[PLACE_TEXT_MAX];
	FILE *to;

	if (rc >= 0 || !d->err || !d->place || d->placed)
		return rc;
	d->placed = true;
	memset(text, 0, sizeof(text));
	to = fmemopen(text, sizeof(text) - 1, "w");
	if (!to)
		return rc;
	write_place(d->place, to);
	fclose(to);
	err_prefix(d->err, rc, "at '%s'", text);
	return rc;
}

static int append(struct decoder *d, const char *text)
{
	return buf_append(d->to, text, strlen(text), d->err);
}

static struct rows rows_of(unsigned message)
{
	unsigned start = protobuf_starts[message];

	return (struct rows){protobuf_rows + start, (size_t)(protobuf_starts[message + 1] - start)};
}

static bool is_singular(const struct protobuf_row *row)
{
	return !(row->flags & (ROW_REPEATED | ROW_MAP));
}

/* Fields mostly come in the order of the rows: the search goes on where the last one ended. */
static size_t find_row(struct rows rows, size_t from, uint32_t number)
{
	for (size_t i = 0; i < rows.count; i++) {
		size_t at = from + i < rows.count ? from + i : from + i - rows.count;

		if (rows.first[at].number == number)
			return at;
	}
	return rows.count;
}

/* Fills one span for each row. Fields of older and newer releases are skipped, as by the API server. */
static int find_spans(struct decoder *d, struct rows rows, struct slice bytes, struct span *spans)
{
	struct slice rest = bytes;
	struct wire_field f;
	size_t at = 0, begin = 0;
	int rc;

	memset(spans, 0, rows.count * sizeof(spans[0]));
	for (; (rc = wire_next(&rest, &f, d->err)) > 0; begin = bytes.len - rest.len) {
		at = find_row(rows, at, f.number);
		if (at == rows.count)
			continue;
		if (spans[at].count++ == 0)
			spans[at].first = begin;
		else if (is_singular(&rows.first[at]))
			return err_set(d->err, ERR_PROTOCOL, "field %" PRIu32 " ('%s') is there twice",
				f.number, protobuf_names[rows.first[at].name]);
		spans[at].end = bytes.len - rest.len;
	}
	return rc;
}

static struct slice span_bytes(struct slice message, const struct span *s)
{
	return s->count ? (struct slice){message.ptr + s->first, s->end - s->first} : (struct slice){NULL, 0};
}

/* The next field of that number; the message was walked before, so that nothing can fail. */
static bool next_of(struct slice *rest, uint32_t number, struct wire_field *ret)
{
	while (wire_next(rest, ret, NULL) > 0) {
		if (ret->number == number)
			return true;
	}
	return false;
}

static enum wire_type wire_type_of(enum protobuf_form form)
{
	switch (form) {
	case PB_BOOL:
	case PB_INT32:
	case PB_INT64: return WIRE_VARINT;
	case PB_DOUBLE: return WIRE_FIXED64;
	default: return WIRE_BYTES;
	}
}

static int check_type(struct decoder *d, enum protobuf_form form, const struct wire_field *f)
{
	if (f->type == wire_type_of(form))
		return 0;
	return err_set(d->err, ERR_PROTOCOL, "field %" PRIu32 " has wire type %d, expected %d", f->number,
		(int)f->type, (int)wire_type_of(form));
}

static int print_int(struct decoder *d, enum protobuf_form form, uint64_t value)
{
	int64_t number = (int64_t)value;

	if (form == PB_INT32 && (number < INT32_MIN || number > INT32_MAX))
		return err_set(d->err, ERR_PROTOCOL, "number %" PRId64 " has more than 32 bits", number);
	return buf_printf(d->to, d->err, "%" PRId64, number);
}

static int print_list(struct decoder *d, const struct protobuf_row *row, struct slice range);

/* A schema form is a message of two fields, of which only one is printed. */
static int find_pair(
	struct decoder *d, struct slice bytes, const struct protobuf_row rows[2], struct slice ret[2])
{
	struct span spans[2];
	int rc = find_spans(d, (struct rows){rows, 2}, bytes, spans);

	for (size_t i = 0; i < 2; i++)
		ret[i] = span_bytes(bytes, &spans[i]);
	return rc;
}

/* The one field that is in `range`, if any: 1 or 0. */
static int only_field(
	struct decoder *d, const struct protobuf_row *row, struct slice range, struct wire_field *ret)
{
	int rc;

	if (!next_of(&range, row->number, ret))
		return 0;
	rc = check_type(d, (enum protobuf_form)row->form, ret);
	return rc < 0 ? rc : 1;
}

static int print_value(struct decoder *d, const struct protobuf_row *row, const struct wire_field *f);

/* Go reads what something else outweighs, too: it is printed, and taken away again. */
static int check_value(struct decoder *d, const struct protobuf_row *row, const struct wire_field *f)
{
	size_t before = d->to->len;
	int rc = print_value(d, row, f);

	d->to->len = before;
	return rc;
}

static int check_only_field(struct decoder *d, const struct protobuf_row *row, struct slice range)
{
	struct wire_field f;
	int rc = only_field(d, row, range, &f);

	return rc > 0 ? check_value(d, row, &f) : rc;
}

static int print_schema_or_bool(struct decoder *d, unsigned schema, struct slice bytes)
{
	const struct protobuf_row rows[2] = {{.number = 1, .form = PB_BOOL},
		{.number = 2, .form = PB_MESSAGE, .message = (uint16_t)schema}};
	struct slice found[2];
	struct wire_field f;
	int rc = find_pair(d, bytes, rows, found);

	if (rc == 0)
		rc = check_only_field(d, &rows[0], found[0]);
	if (rc == 0)
		rc = only_field(d, &rows[1], found[1], &f);
	if (rc > 0)
		return print_message(d, schema, f.bytes);
	if (rc == 0)
		rc = only_field(d, &rows[0], found[0], &f);
	return rc < 0 ? rc : append(d, rc && f.value ? "true" : "false");
}

/* Several of the form `many` when there are any, else the one schema, else null. */
static int print_schema_or_many(
	struct decoder *d, unsigned schema, enum protobuf_form many, struct slice bytes)
{
	const struct protobuf_row rows[2] = {{.number = 1, .form = PB_MESSAGE, .message = (uint16_t)schema},
		{.number = 2, .form = (uint8_t)many, .flags = ROW_REPEATED, .message = (uint16_t)schema}};
	struct slice found[2];
	struct wire_field f;
	int rc = find_pair(d, bytes, rows, found);

	if (rc == 0 && found[1].len) {
		rc = check_only_field(d, &rows[0], found[0]);
		return rc < 0 ? rc : print_list(d, &rows[1], found[1]);
	}
	if (rc == 0)
		rc = only_field(d, &rows[0], found[0], &f);
	if (rc > 0)
		return print_message(d, schema, f.bytes);
	return rc < 0 ? rc : append(d, "null");
}

/* One value. A field that is all zero prints the form's zero value. */
static int print_value(struct decoder *d, const struct protobuf_row *row, const struct wire_field *f)
{
	switch ((enum protobuf_form)row->form) {
	case PB_STRING: return json_escape(f->bytes, d->to, d->err);
	case PB_BOOL: return append(d, f->value ? "true" : "false");
	case PB_INT32:
	case PB_INT64: return print_int(d, (enum protobuf_form)row->form, f->value);
	case PB_DOUBLE: return form_double(f->value, d->to, d->err);
	case PB_BYTES: return form_base64(f->bytes, d->to, d->err);
	case PB_MESSAGE: return print_message(d, row->message, f->bytes);
	case PB_STRINGS: return form_strings(f->bytes, d->to, d->err);
	case PB_TIME: return form_time(f->bytes, d->to, d->err);
	case PB_MICRO_TIME: return form_micro_time(f->bytes, d->to, d->err);
	case PB_DURATION: return form_duration(f->bytes, d->to, d->err);
	case PB_QUANTITY: return form_quantity(f->bytes, d->to, d->err);
	case PB_INT_OR_STRING: return form_int_or_string(f->bytes, d->to, d->err);
	case PB_RAW_EXTENSION: return form_raw_json(f->bytes, false, d->to, d->err);
	case PB_FIELDS_V1:
	case PB_RAW_JSON: return form_raw_json(f->bytes, true, d->to, d->err);
	case PB_SCHEMA_OR_BOOL: return print_schema_or_bool(d, row->message, f->bytes);
	case PB_SCHEMA_OR_ARRAY: return print_schema_or_many(d, row->message, PB_MESSAGE, f->bytes);
	case PB_SCHEMA_OR_STRINGS: return print_schema_or_many(d, row->message, PB_STRING, f->bytes);
	}
	return err_set(d->err, ERR_FAILED, "form %d is not in the decoder", row->form);
}

static int print_item(
	struct decoder *d, const struct protobuf_row *row, size_t index, const struct wire_field *f)
{
	const struct place place = {.up = d->place, .index = index};
	const struct place *up = d->place;
	int rc;

	d->place = &place;
	rc = index ? append(d, ",") : 0;
	rc = failed(d, rc < 0 ? rc : print_value(d, row, f));
	d->place = up;
	return rc;
}

/* Numbers may come packed: several in one field of bytes. */
static int print_packed(
	struct decoder *d, const struct protobuf_row *row, struct slice numbers, size_t *index)
{
	struct wire_field f = {.number = row->number};
	int rc;

	while ((rc = wire_next_varint(&numbers, &f.value, d->err)) > 0) {
		rc = print_item(d, row, (*index)++, &f);
		if (rc < 0)
			return rc;
	}
	return rc;
}

/* `range` begins with the first item and ends with the last. */
static int print_list(struct decoder *d, const struct protobuf_row *row, struct slice range)
{
	bool numbers = wire_type_of((enum protobuf_form)row->form) == WIRE_VARINT;
	struct wire_field f;
	size_t index = 0;
	int rc = append(d, "[");

	while (rc == 0 && next_of(&range, row->number, &f)) {
		if (numbers && f.type == WIRE_BYTES) {
			rc = print_packed(d, row, f.bytes, &index);
			continue;
		}
		rc = check_type(d, (enum protobuf_form)row->form, &f);
		if (rc == 0)
			rc = print_item(d, row, index++, &f);
	}
	return rc < 0 ? rc : append(d, "]");
}

struct map_entry {
	struct slice key;
	struct wire_field value;
	size_t index; /* the last of equal keys counts */
};

static int compare_entries(const void *left, const void *right)
{
	const struct map_entry *a = left, *b = right;
	int c = slice_compare(a->key, b->key);

	return c ? c : (a->index > b->index) - (a->index < b->index);
}

/* An entry without key or value has the empty one. */
static int read_entry(struct decoder *d, const struct protobuf_row *row, struct slice bytes, size_t index,
	struct map_entry *ret)
{
	struct wire_field f;
	int rc;

	*ret = (struct map_entry){.key = {"", 0}, .index = index};
	while ((rc = wire_next(&bytes, &f, d->err)) > 0) {
		if (f.number > 2)
			return err_set(d->err, ERR_PROTOCOL, "unknown field %" PRIu32 " in a map", f.number);
		rc = check_type(d, f.number == 1 ? PB_STRING : (enum protobuf_form)row->form, &f);
		if (rc < 0)
			return rc;
		if (f.number == 1)
			ret->key = f.bytes;
		else
			ret->value = f;
	}
	return rc;
}

static int print_entry(
	struct decoder *d, const struct protobuf_row *row, bool first, const struct map_entry *entry)
{
	const struct place place = {.up = d->place, .key = entry->key};
	const struct place *up = d->place;
	int rc = first ? 0 : append(d, ",");

	d->place = &place;
	if (rc == 0)
		rc = json_escape(entry->key, d->to, d->err);
	if (rc == 0)
		rc = append(d, ":");
	if (rc == 0)
		rc = failed(d, print_value(d, row, &entry->value));
	d->place = up;
	return rc;
}

static int print_entries(
	struct decoder *d, const struct protobuf_row *row, struct map_entry *entries, size_t count)
{
	int rc = append(d, "{");
	bool first = true;

	qsort(entries, count, sizeof(entries[0]), compare_entries);
	for (size_t i = 0; i < count && rc == 0; i++) {
		if (i + 1 < count && slice_equal(entries[i].key, entries[i + 1].key)) {
			rc = check_value(d, row, &entries[i].value);
			continue;
		}
		rc = print_entry(d, row, first, &entries[i]);
		first = false;
	}
	return rc < 0 ? rc : append(d, "}");
}

/* Go sorts the keys. */
static int print_map(struct decoder *d, const struct protobuf_row *row, struct slice range, size_t count)
{
	struct map_entry *entries = xcalloc(count, sizeof(*entries));
	struct wire_field f;
	size_t have = 0;
	int rc = 0;

	while (rc == 0 && have < count && next_of(&range, row->number, &f)) {
		rc = check_type(d, PB_MESSAGE, &f);
		if (rc == 0)
			rc = read_entry(d, row, f.bytes, have, &entries[have]);
		have++;
	}
	if (rc == 0)
		rc = print_entries(d, row, entries, have);
	free(entries);
	return rc;
}

/* Whether Go leaves the field out. Structs it never leaves out, but for a time that is none. */
static bool is_omitted(const struct protobuf_row *row, const struct wire_field *f, size_t count)
{
	if (row->flags & ROW_OMIT_ZERO && form_time_is_null(f->bytes))
		return true;
	if (!(row->flags & ROW_OMIT_EMPTY))
		return false;
	if (count == 0 && row->flags & (ROW_POINTER | ROW_REPEATED | ROW_MAP))
		return true;
	if (row->flags & (ROW_POINTER | ROW_REPEATED | ROW_MAP))
		return false;
	switch ((enum protobuf_form)row->form) {
	case PB_STRING:
	case PB_BYTES:
	case PB_STRINGS: return f->bytes.len == 0;
	case PB_BOOL:
	case PB_INT32:
	case PB_INT64:
	case PB_DOUBLE: return f->value == 0;
	default: return false;
	}
}

/* Whether Go has nothing to print where it prints something. */
static bool is_null(const struct protobuf_row *row, size_t count)
{
	if (count > 0)
		return false;
	return row->flags & (ROW_POINTER | ROW_REPEATED | ROW_MAP) || row->form == PB_BYTES ||
	       row->form == PB_STRINGS;
}

static int print_fields(struct decoder *d, struct rows rows, struct slice bytes, bool *ret_any);

static int print_field_value(struct decoder *d, const struct protobuf_row *row, struct slice range,
	size_t count, const struct wire_field *f)
{
	if (is_null(row, count))
		return append(d, "null");
	if (row->flags & ROW_REPEATED)
		return print_list(d, row, range);
	if (row->flags & ROW_MAP)
		return print_map(d, row, range, count);
	return print_value(d, row, f);
}

/* One field of a message, with its name. */
static int print_field(
	struct decoder *d, const struct protobuf_row *row, struct slice range, size_t count, bool *ret_any)
{
	struct wire_field f = {.number = row->number};
	const char *name = protobuf_names[row->name];
	int rc = 0;

	if (count && is_singular(row))
		rc = only_field(d, row, range, &f);
	if (rc < 0)
		return rc;
	if (row->flags & ROW_INLINE)
		return print_fields(d, rows_of(row->message), f.bytes, ret_any);
	if (is_omitted(row, &f, count))
		return 0;
	rc = buf_printf(d->to, d->err, "%s\"%s\":", *ret_any ? "," : "", name);
	*ret_any = true;
	return rc < 0 ? rc : print_field_value(d, row, range, count, &f);
}

/* Fields with commas between; *ret_any: whether there is one before already. */
static int print_fields(struct decoder *d, struct rows rows, struct slice bytes, bool *ret_any)
{
	struct span spans[PROTOBUF_ROWS_MAX];
	const struct place *up = d->place;
	int rc = find_spans(d, rows, bytes, spans);

	for (size_t i = 0; i < rows.count && rc == 0; i++) {
		const struct protobuf_row *row = &rows.first[i];
		const struct place place = {.up = up, .name = protobuf_names[row->name]};

		d->place = row->flags & ROW_INLINE ? up : &place;
		rc = failed(d, print_field(d, row, span_bytes(bytes, &spans[i]), spans[i].count, ret_any));
		d->place = up;
	}
	return rc;
}

static int enter(struct decoder *d)
{
	if (d->depth == PROTOBUF_DEPTH_MAX)
		return err_set(d->err, ERR_TOO_LARGE, "messages nest deeper than %d", PROTOBUF_DEPTH_MAX);
	d->depth++;
	return 0;
}

static int print_message(struct decoder *d, unsigned message, struct slice bytes)
{
	bool any = false;
	int rc = enter(d);

	if (rc < 0)
		return rc;
	rc = append(d, "{");
	if (rc == 0)
		rc = print_fields(d, rows_of(message), bytes, &any);
	d->depth--;
	return rc < 0 ? rc : append(d, "}");
}

/* The kind under that name, or under any apiVersion; NULL when there is none. */
static const struct protobuf_kind *find_kind(const struct protobuf_envelope *e)
{
	for (unsigned i = 0; i < protobuf_kind_count; i++) {
		const struct protobuf_kind *k = &protobuf_kinds[i];
		const char *api_version = protobuf_names[k->api_version];

		if (slice_is(e->kind, protobuf_names[k->kind]) &&
			(!*api_version || slice_is(e->api_version, api_version)))
			return k;
	}
	return NULL;
}

/* kind and apiVersion come first in every object that has them. */
static int print_type(struct decoder *d, const struct protobuf_envelope *e)
{
	int rc = append(d, "\"kind\":");

	if (rc == 0)
		rc = json_escape(e->kind, d->to, d->err);
	if (rc == 0)
		rc = append(d, ",\"apiVersion\":");
	return rc < 0 ? rc : json_escape(e->api_version, d->to, d->err);
}

static int print_object(struct decoder *d, const struct protobuf_envelope *e)
{
	const struct protobuf_kind *kind = find_kind(e);
	bool any;
	int rc;

	if (!kind)
		return err_set(d->err, ERR_PROTOCOL, "its kind '%.*s' in '%.*s' is no built-in one",
			(int)(e->kind.len < 64 ? e->kind.len : 64), e->kind.ptr,
			(int)(e->api_version.len < 64 ? e->api_version.len : 64), e->api_version.ptr);
	any = kind->typed;
	rc = append(d, "{");
	if (rc == 0 && kind->typed)
		rc = print_type(d, e);
	if (rc == 0)
		rc = print_fields(d, rows_of(kind->message), e->raw, &any);
	return rc < 0 ? rc : append(d, "}");
}

int protobuf_to_json(struct slice body, struct buf *to, struct err *err)
{
	struct decoder d = {.to = to, .err = err};
	struct protobuf_envelope e;
	size_t before = to->len;
	int rc;

	if (body.len > PROTOBUF_BODY_BYTES_MAX)
		return err_set(err, ERR_TOO_LARGE, "protobuf body has %zu bytes, at most %u are taken",
			body.len, PROTOBUF_BODY_BYTES_MAX);
	rc = protobuf_read_envelope(body, &e, err);
	if (rc == 0)
		rc = print_object(&d, &e);
	if (rc == 0)
		return 0;
	to->len = before;
	err_prefix(err, rc, "bad protobuf body");
	return rc;
}
