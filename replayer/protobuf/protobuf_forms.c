/* protobuf_forms.c: see protobuf_forms.h. */
#include "replayer/protobuf/protobuf_forms.h"

#include "replayer/protobuf/protobuf_wire.h"
#include "schema/base/clock.h"
#include "schema/base/count_of.h"
#include "schema/base/json_compact.h"
#include "schema/base/json_scan.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* A field of a message that is known here; slot i is field number i + 1. */
struct slot {
	enum wire_type type;
	bool there;
	uint64_t value;
	struct slice bytes;
};

static int read_slots(struct slice bytes, struct slot *slots, size_t count, struct err *err)
{
	struct wire_field f;
	int rc;

	while ((rc = wire_next(&bytes, &f, err)) > 0) {
		struct slot *slot = f.number <= count ? &slots[f.number - 1] : NULL;

		if (!slot)
			return err_set(err, ERR_PROTOCOL, "unknown field %" PRIu32, f.number);
		if (f.type != slot->type)
			return err_set(err, ERR_PROTOCOL, "field %" PRIu32 " has wire type %d, expected %d",
				f.number, (int)f.type, (int)slot->type);
		if (slot->there)
			return err_set(err, ERR_PROTOCOL, "field %" PRIu32 " is there twice", f.number);
		slot->there = true;
		slot->value = f.value;
		slot->bytes = f.bytes;
	}
	return rc;
}

/* Year 1, month 1, day 1: Go's time that is no time. */
#define NO_TIME_S    INT64_C(-62135596800)
#define FIRST_TIME_S INT64_C(-62167219200) /* year 0 */
#define LAST_TIME_S  INT64_C(253402300799) /* year 9999 */

struct timestamp {
	int64_t seconds;
	int64_t micros; /* 0 when asked for whole seconds */
	bool none;
};

static int read_timestamp(struct slice bytes, bool with_micros, struct timestamp *ret, struct err *err)
{
	struct slot slots[] = {{.type = WIRE_VARINT}, {.type = WIRE_VARINT}};
	int64_t seconds, nanos;
	int rc = read_slots(bytes, slots, 2, err);

	if (rc < 0)
		return rc;
	seconds = (int64_t)slots[0].value;
	nanos = (int64_t)slots[1].value;
	if (seconds < FIRST_TIME_S || seconds > LAST_TIME_S)
		return err_set(
			err, ERR_PROTOCOL, "a time of %" PRId64 " s is outside the years 0 to 9999", seconds);
	if (nanos < 0 || nanos >= NS_PER_S)
		return err_set(err, ERR_PROTOCOL,
			"a time has %" PRId64 " nanoseconds, expected 0 to 999999999", nanos);
	*ret = (struct timestamp){seconds, with_micros ? nanos / NS_PER_US : 0, false};
	ret->none = bytes.len == 0 || (seconds == NO_TIME_S && ret->micros == 0);
	return 0;
}

static int print_time(struct slice bytes, bool with_micros, struct buf *to, struct err *err)
{
	struct timestamp t;
	struct tm tm;
	time_t seconds;
	char fraction[8] = "";
	int rc = read_timestamp(bytes, with_micros, &t, err);

	if (rc < 0)
		return rc;
	if (t.none)
		return buf_append(to, "null", 4, err);
	seconds = (time_t)t.seconds;
	if (!gmtime_r(&seconds, &tm))
		return err_set(err, ERR_PROTOCOL, "a time of %" PRId64 " s has no date", t.seconds);
	if (with_micros)
		snprintf(fraction, sizeof(fraction), ".%06" PRId64, t.micros);
	return buf_printf(to, err, "\"%04d-%02d-%02dT%02d:%02d:%02d%sZ\"", tm.tm_year + 1900, tm.tm_mon + 1,
		tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, fraction);
}

int form_time(struct slice bytes, struct buf *to, struct err *err)
{
	return print_time(bytes, false, to, err);
}

int form_micro_time(struct slice bytes, struct buf *to, struct err *err)
{
	return print_time(bytes, true, to, err);
}

bool form_time_is_null(struct slice bytes)
{
	struct timestamp t;

	return read_timestamp(bytes, true, &t, NULL) == 0 && t.none;
}

/* "1.5", without zeros at the end: whole and a fraction of `unit`. */
static void print_fraction(char *to, size_t size, uint64_t whole, uint64_t fraction, unsigned digits)
{
	int n;

	while (digits > 0 && fraction % 10 == 0) {
		fraction /= 10;
		digits--;
	}
	n = snprintf(to, size, "%" PRIu64, whole);
	if (digits > 0 && n > 0 && (size_t)n < size)
		snprintf(to + n, size - (size_t)n, ".%0*" PRIu64, (int)digits, fraction);
}

/* Below a second one unit, above it hours, minutes and seconds, each only after a larger one. */
static int print_duration(uint64_t ns, const char *sign, struct buf *to, struct err *err)
{
	char number[48];
	uint64_t s = ns / (uint64_t)NS_PER_S, minutes = s / 60;

	if (ns == 0)
		return buf_append(to, "\"0s\"", 4, err);
	if (ns < 1000)
		return buf_printf(to, err, "\"%s%" PRIu64 "ns\"", sign, ns);
	if (ns < 1000000) {
		print_fraction(number, sizeof(number), ns / 1000, ns % 1000, 3);
		return buf_printf(to, err, "\"%s%s\u00b5s\"", sign, number);
	}
	if (s == 0) {
		print_fraction(number, sizeof(number), ns / 1000000, ns % 1000000, 6);
		return buf_printf(to, err, "\"%s%sms\"", sign, number);
	}
	print_fraction(number, sizeof(number), s % 60, ns % (uint64_t)NS_PER_S, 9);
	if (minutes == 0)
		return buf_printf(to, err, "\"%s%ss\"", sign, number);
	if (minutes < 60)
		return buf_printf(to, err, "\"%s%" PRIu64 "m%ss\"", sign, minutes, number);
	return buf_printf(
		to, err, "\"%s%" PRIu64 "h%" PRIu64 "m%ss\"", sign, minutes / 60, minutes % 60, number);
}

int form_duration(struct slice bytes, struct buf *to, struct err *err)
{
	struct slot slot = {.type = WIRE_VARINT};
	int rc = read_slots(bytes, &slot, 1, err);

	if (rc < 0)
		return rc;
	if ((int64_t)slot.value < 0)
		return print_duration(0 - slot.value, "-", to, err);
	return print_duration(slot.value, "", to, err);
}

static size_t count_digits(struct slice s)
{
	size_t n = 0;

	while (n < s.len && s.ptr[n] >= '0' && s.ptr[n] <= '9')
		n++;
	return n;
}

static struct slice behind(struct slice s, size_t n)
{
	return (struct slice){s.ptr + n, s.len - n};
}

static bool is_quantity_suffix(struct slice s)
{
	static const char *const suffixes[] = {
		"", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
	size_t digits;

	for (size_t i = 0; i < COUNT_OF(suffixes); i++) {
		if (slice_is(s, suffixes[i]))
			return true;
	}
	if (s.ptr[0] != 'e' && s.ptr[0] != 'E')
		return false;
	s = behind(s, 1);
	if (s.len && (s.ptr[0] == '-' || s.ptr[0] == '+'))
		s = behind(s, 1);
	digits = count_digits(s);
	return digits > 0 && digits == s.len && digits <= 9;
}

/* [+-] digits [. digits] suffix, with a digit on one side of the point. */
static bool is_quantity(struct slice s)
{
	size_t whole, fraction = 0;

	if (s.len && (s.ptr[0] == '-' || s.ptr[0] == '+'))
		s = behind(s, 1);
	whole = count_digits(s);
	s = behind(s, whole);
	if (s.len && s.ptr[0] == '.') {
		s = behind(s, 1);
		fraction = count_digits(s);
		s = behind(s, fraction);
	}
	return whole + fraction > 0 && is_quantity_suffix(s);
}

int form_quantity(struct slice bytes, struct buf *to, struct err *err)
{
	struct slot slot = {.type = WIRE_BYTES};
	int rc = read_slots(bytes, &slot, 1, err);

	if (rc < 0)
		return rc;
	if (!slot.there)
		return buf_append(to, "\"0\"", 3, err);
	if (slot.bytes.len == 0 || !is_quantity(slot.bytes))
		return err_set(err, ERR_PROTOCOL, "bad quantity '%.*s'",
			(int)(slot.bytes.len < 64 ? slot.bytes.len : 64), slot.bytes.ptr);
	return json_escape(slot.bytes, to, err);
}

int form_int_or_string(struct slice bytes, struct buf *to, struct err *err)
{
	struct slot slots[] = {{.type = WIRE_VARINT}, {.type = WIRE_VARINT}, {.type = WIRE_BYTES}};
	int64_t number;
	int rc = read_slots(bytes, slots, 3, err);

	if (rc < 0)
		return rc;
	if (slots[0].value == 1)
		return json_escape(slots[2].bytes, to, err);
	if (slots[0].value != 0)
		return err_set(err, ERR_PROTOCOL, "type %" PRIu64 " is neither 0 (a number) nor 1 (a string)",
			slots[0].value);
	number = (int64_t)slots[1].value;
	if (number < INT32_MIN || number > INT32_MAX)
		return err_set(err, ERR_PROTOCOL, "number %" PRId64 " has more than 32 bits", number);
	return buf_printf(to, err, "%" PRId64, number);
}

int form_raw_json(struct slice bytes, bool empty_is_null, struct buf *to, struct err *err)
{
	struct slot slot = {.type = WIRE_BYTES};
	int rc = read_slots(bytes, &slot, 1, err);

	if (rc < 0)
		return rc;
	if (!slot.there || (empty_is_null && slot.bytes.len == 0))
		return buf_append(to, "null", 4, err);
	return json_compact(slot.bytes, to, err);
}

int form_strings(struct slice bytes, struct buf *to, struct err *err)
{
	const char *before = "[";
	struct wire_field f;
	int rc;

	while ((rc = wire_next(&bytes, &f, err)) > 0) {
		if (f.number != 1 || f.type != WIRE_BYTES)
			return err_set(err, ERR_PROTOCOL,
				"unknown field %" PRIu32 " of wire type %d in a list of strings", f.number,
				(int)f.type);
		rc = buf_append(to, before, 1, err);
		if (rc == 0)
			rc = json_escape(f.bytes, to, err);
		if (rc < 0)
			return rc;
		before = ",";
	}
	if (rc < 0)
		return rc;
	return *before == '[' ? buf_append(to, "[]", 2, err) : buf_append(to, "]", 1, err);
}

/* From the digits of "%.*e": those, then as many zeros as the exponent asks for. */
static int print_whole(const char *scientific, int exponent, struct buf *to, struct err *err)
{
	int digits = 0, rc = 0;

	for (const char *at = scientific; *at != 'e' && rc == 0; at++) {
		if (*at == '.')
			continue;
		digits += *at != '-';
		rc = buf_append(to, at, 1, err);
	}
	for (; digits <= exponent && rc == 0; digits++)
		rc = buf_append(to, "0", 1, err);
	return rc;
}

/* The shortest digits that read as the same number; with an exponent from 1e21 on and below 1e-6. */
int form_double(uint64_t bits, struct buf *to, struct err *err)
{
	char text[40], *exponent;
	double number, size;
	int digits = 0, power;

	memcpy(&number, &bits, sizeof(number));
	size = fabs(number);
	if (!isfinite(number))
		return err_set(err, ERR_PROTOCOL, "a number is infinite or none");
	do {
		snprintf(text, sizeof(text), "%.*e", digits, number);
	} while (strtod(text, NULL) != number && ++digits < 17);
	exponent = text + strcspn(text, "e") + 1;
	power = (int)strtol(exponent, NULL, 10);
	if (size == 0 || (size >= 1e-6 && size < 1e21)) {
		if (power >= digits)
			return print_whole(text, power, to, err);
		return buf_printf(to, err, "%.*f", digits - power, number);
	}
	if (exponent[0] == '-' && exponent[1] == '0') /* e-09 is e-9 in Go */
		memmove(exponent + 1, exponent + 2, strlen(exponent + 1));
	return buf_append(to, text, strlen(text), err);
}

int form_base64(struct slice bytes, struct buf *to, struct err *err)
{
	static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t len = (bytes.len + 2) / 3 * 4 + 2;
	char *at = buf_reserve(to, len);

	if (!at)
		return err_set(err, ERR_TOO_LARGE, "%zu bytes as base64 do not fit into the %zu left",
			bytes.len, to->max - to->len);
	*at++ = '"';
	for (size_t i = 0; i < bytes.len; i += 3) {
		size_t left = bytes.len - i;
		uint32_t bits = (uint32_t)(unsigned char)bytes.ptr[i] << 16;

		if (left > 1)
			bits |= (uint32_t)(unsigned char)bytes.ptr[i + 1] << 8;
		if (left > 2)
			bits |= (unsigned char)bytes.ptr[i + 2];
		*at++ = alphabet[bits >> 18];
		*at++ = alphabet[bits >> 12 & 63];
		*at++ = left > 1 ? alphabet[bits >> 6 & 63] : '=';
		*at++ = left > 2 ? alphabet[bits & 63] : '=';
	}
	*at = '"';
	to->len += len;
	return 0;
}
