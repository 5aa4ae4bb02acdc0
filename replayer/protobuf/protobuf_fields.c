/* protobuf_fields.c: see protobuf_fields.h. */
#include "replayer/protobuf/protobuf_fields.h"

#include "replayer/protobuf/protobuf_table.h"

bool protobuf_find_message(struct slice api_version, struct slice kind, unsigned *ret)
{
	for (unsigned i = 0; i < protobuf_kind_count; i++) {
		const struct protobuf_kind *k = &protobuf_kinds[i];

		if (slice_is(kind, protobuf_names[k->kind]) &&
			slice_is(api_version, protobuf_names[k->api_version])) {
			*ret = k->message;
			return true;
		}
	}
	return false;
}

bool protobuf_find_member(unsigned message, const char *name, struct protobuf_member *ret)
{
	for (unsigned i = protobuf_starts[message]; i < protobuf_starts[message + 1]; i++) {
		const struct protobuf_row *row = &protobuf_rows[i];

		if (row->flags & ROW_INLINE) {
			if (protobuf_find_member(row->message, name, ret))
				return true;
		} else if (strcmp(protobuf_names[row->name], name) == 0) {
			*ret = (struct protobuf_member){
				row->form == PB_MESSAGE, row->message, (row->flags & ROW_MAP) != 0};
			return true;
		}
	}
	return false;
}
