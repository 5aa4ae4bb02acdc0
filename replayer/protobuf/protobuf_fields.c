/* protobuf_fields.c: see protobuf_fields.h. */
#include "replayer/protobuf/protobuf_fields.h"

#include "replayer/protobuf/protobuf_table.h"

#define RANKS_OF_ROW 256 /* room for the members of one that is inline */

bool protobuf_find_message(struct slice api_version, struct slice kind, unsigned *ret)
{
	for (unsigned i = 0; i < protobuf_kind_count; i++) {
		const struct protobuf_kind *k = &protobuf_kinds[i];
		const char *version = protobuf_names[k->api_version];

		if (slice_is(kind, protobuf_names[k->kind]) &&
			(!*version || slice_is(api_version, version))) {
			*ret = k->message;
			return true;
		}
	}
	return false;
}

static enum protobuf_value value_of(enum protobuf_form form)
{
	switch (form) {
	case PB_STRING:
	case PB_DURATION: return VALUE_STRING;
	case PB_BOOL: return VALUE_BOOL;
	case PB_INT32: return VALUE_INT32;
	case PB_INT64: return VALUE_INT64;
	case PB_DOUBLE: return VALUE_NUMBER;
	case PB_BYTES: return VALUE_BYTES;
	case PB_MESSAGE: return VALUE_MESSAGE;
	case PB_TIME: return VALUE_TIME;
	case PB_MICRO_TIME: return VALUE_MICRO_TIME;
	case PB_QUANTITY: return VALUE_QUANTITY;
	case PB_INT_OR_STRING: return VALUE_INT_OR_STRING;
	case PB_STRINGS:
	case PB_RAW_EXTENSION:
	case PB_FIELDS_V1:
	case PB_RAW_JSON:
	case PB_SCHEMA_OR_BOOL:
	case PB_SCHEMA_OR_ARRAY:
	case PB_SCHEMA_OR_STRINGS: break;
	}
	return VALUE_ANY;
}

const char *protobuf_message_type(unsigned message)
{
	return protobuf_names[protobuf_types[message]];
}

bool protobuf_find_member(unsigned message, const char *name, struct protobuf_member *ret)
{
	unsigned begin = protobuf_starts[message];

	for (unsigned i = begin; i < protobuf_starts[message + 1]; i++) {
		const struct protobuf_row *row = &protobuf_rows[i];

		if (row->flags & ROW_INLINE) {
			if (protobuf_find_member(row->message, name, ret)) {
				ret->rank = RANKS_OF_ROW * (i - begin) + ret->rank / RANKS_OF_ROW;
				return true;
			}
		} else if (strcmp(protobuf_names[row->name], name) == 0) {
			*ret = (struct protobuf_member){.value = value_of(row->form),
				.message = row->message,
				.is_list = (row->flags & ROW_REPEATED) != 0,
				.is_map = (row->flags & ROW_MAP) != 0,
				.rank = RANKS_OF_ROW * (i - begin)};
			return true;
		}
	}
	return false;
}
