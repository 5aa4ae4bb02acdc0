/*
 * protobuf_table.h: how every built-in kind looks in protobuf and in JSON. The table (protobuf_table.c) is
 * generated from the Go types by tools/protobuf; the protobuf*.c beside it read it.
 *
 * A message is a run of rows in the order in which Go prints their fields. Types that look alike (most of a
 * group's versions do) share a message.
 */
#ifndef REPLAYER_PROTOBUF_TABLE_H
#define REPLAYER_PROTOBUF_TABLE_H

#include <stddef.h>
#include <stdint.h>

#define PROTOBUF_ROWS_MAX 64 /* fields of one message; the generator checks it */

/* What a field holds. The generator numbers them in this order. */
enum protobuf_form {
	PB_STRING,
	PB_BOOL,
	PB_INT32,
	PB_INT64,
	PB_DOUBLE,
	PB_BYTES, /* base64 in JSON */
	PB_MESSAGE,
	PB_STRINGS,           /* a message of strings, an array in JSON: a list that may be null or empty */
	PB_TIME,              /* seconds, "2026-11-21T08:44:17Z"; nothing is null */
	PB_MICRO_TIME,        /* with six digits of a fraction */
	PB_DURATION,          /* nanoseconds, "1m30s" */
	PB_QUANTITY,          /* a message of one string, a string in JSON */
	PB_INT_OR_STRING,     /* type, number, string */
	PB_RAW_EXTENSION,     /* JSON in bytes; nothing is null */
	PB_FIELDS_V1,         /* the same, empty is null too */
	PB_RAW_JSON,          /* the same */
	PB_SCHEMA_OR_BOOL,    /* a bool and a schema */
	PB_SCHEMA_OR_ARRAY,   /* a schema, or several */
	PB_SCHEMA_OR_STRINGS, /* a schema, or strings */
};

enum protobuf_flags {
	ROW_REPEATED = 1,
	ROW_MAP = 2,        /* entries of a string key (1) and a value (2) of that form */
	ROW_POINTER = 4,    /* absent is null, not the zero value */
	ROW_OMIT_EMPTY = 8, /* left out when null, zero, false or empty */
	ROW_OMIT_ZERO = 16, /* left out when it is no time */
	ROW_INLINE = 32,    /* its fields are printed among those of the message around it */
};

struct protobuf_row {
	uint16_t name; /* in JSON; of protobuf_names */
	uint8_t number;
	uint8_t form;
	uint8_t flags;
	uint16_t message; /* of PB_MESSAGE and of the schema forms */
};

struct protobuf_kind {
	uint16_t api_version, kind; /* of protobuf_names; an empty api_version is any */
	uint16_t typed;             /* JSON has kind and apiVersion in front */
	uint16_t message;
};

extern const struct protobuf_kind protobuf_kinds[];
extern const unsigned protobuf_kind_count;
extern const struct protobuf_row protobuf_rows[];
extern const uint16_t protobuf_starts[]; /* of each message's rows; the next one's start is their end */
extern const uint16_t protobuf_types[]; /* for each message the name of a Go type that has it: "v1.PodSpec" */
extern const char *const protobuf_names[];
extern const size_t protobuf_name_count;

#endif
