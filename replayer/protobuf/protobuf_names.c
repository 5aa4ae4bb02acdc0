/* protobuf_names.c: the names of the table, for those who ask what Kubernetes calls its own. */
#include "replayer/protobuf/protobuf.h"
#include "replayer/protobuf/protobuf_table.h"

const char *protobuf_name_at(size_t index)
{
	return index < protobuf_name_count ? protobuf_names[index] : NULL;
}
