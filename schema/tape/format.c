/* format.c: the tables of a segment; their meaning is in FORMAT.md. */
#include "schema/tape/format.h"

#include <stddef.h>

const struct table_format table_formats[TABLE_COUNT] = {
	[TABLE_META] = {"meta", "key TEXT PRIMARY KEY, value", 2, NULL},
	[TABLE_RESOURCE] = {"resource",
		"id INTEGER PRIMARY KEY, apigroup TEXT, version TEXT, resource TEXT, kind TEXT, namespaced "
		"INTEGER",
		6, "i....."},
	[TABLE_STREAM] = {"stream",
		"id INTEGER PRIMARY KEY, resource INTEGER, namespace TEXT, label_selector TEXT, "
		"field_selector TEXT, "
		"after_seq INTEGER, time_ns INTEGER",
		7, "ir...q."},
	[TABLE_CONNECTION] = {"connection",
		"id INTEGER PRIMARY KEY, after_seq INTEGER, stream INTEGER, purpose TEXT, target TEXT, "
		"server TEXT, "
		"http_version TEXT, tls INTEGER, start_rv TEXT, timeout_seconds INTEGER, begin_ns INTEGER, "
		"first_byte_after_ns INTEGER, duration_ns INTEGER, first_seq INTEGER, last_seq INTEGER, "
		"end_reason TEXT, http_status INTEGER, retry_after_s INTEGER, curl_code INTEGER, os_errno "
		"INTEGER, "
		"h2_error INTEGER, error_status TEXT, content_type TEXT, audit_id TEXT, server_date TEXT, "
		"bytes INTEGER, events INTEGER, bookmarks INTEGER, last_rv TEXT, tail BLOB, next_action "
		"TEXT, "
		"next_delay_ns INTEGER",
		32, "iqs..........qq................."},
	[TABLE_MARK] = {"mark",
		"id INTEGER PRIMARY KEY, after_seq INTEGER, time_ns INTEGER, kind TEXT, stream INTEGER, "
		"connection INTEGER, rv TEXT, object TEXT",
		8, "iq..sc.."},
	[TABLE_GAP] = {"gap",
		"id INTEGER PRIMARY KEY, stream INTEGER, begin_seq INTEGER, end_seq INTEGER, begin_ns "
		"INTEGER, "
		"end_ns INTEGER, duration_ns INTEGER, from_rv TEXT, to_rv TEXT, reason TEXT, how_ended TEXT, "
		"connection_before INTEGER, connection_after INTEGER, modified INTEGER, added INTEGER, "
		"deleted INTEGER, recreated INTEGER, unchanged INTEGER",
		18, "isqq.......cc....."},
	[TABLE_MISSED] = {"missed",
		"id INTEGER PRIMARY KEY, gap INTEGER, change TEXT, resource INTEGER, namespace TEXT, name "
		"TEXT, "
		"uid TEXT, old_uid TEXT, rv TEXT, old_rv TEXT",
		10, "ig.r......"},
	[TABLE_CLOCK] = {"clock",
		"id INTEGER PRIMARY KEY, after_seq INTEGER, time_ns INTEGER, mono_ns INTEGER, boot_id TEXT",
		5, "iq..."},
	[TABLE_EPOCH] = {"epoch",
		"id INTEGER PRIMARY KEY, after_seq INTEGER, time_ns INTEGER, cluster_uid TEXT, reason TEXT",
		5, "iq..."},
	[TABLE_DOCUMENT] = {"document",
		"id INTEGER PRIMARY KEY, after_seq INTEGER, time_ns INTEGER, path TEXT, variant TEXT, "
		"http_status INTEGER, content_type TEXT, etag TEXT, raw_bytes INTEGER, xxh64 INTEGER, body "
		"BLOB",
		11, "iq........."},
	[TABLE_CHUNK] = {"chunk",
		"id INTEGER PRIMARY KEY, extent INTEGER, first_seq INTEGER, events INTEGER, first_time_ns "
		"INTEGER, "
		"raw_bytes INTEGER, xxh64 INTEGER, data BLOB",
		8, NULL},
	[TABLE_EXTENT] = {"extent",
		"id INTEGER PRIMARY KEY, kind TEXT, first_seq INTEGER, last_seq INTEGER, events INTEGER, "
		"objects INTEGER, min_time_ns INTEGER, max_time_ns INTEGER, raw_bytes INTEGER, blocks "
		"INTEGER, "
		"index_raw_bytes INTEGER, index_xxh64 INTEGER, filter_xxh64 INTEGER, filter BLOB, \"index\" "
		"BLOB",
		15, NULL},
	[TABLE_BLOCK] = {"block",
		"id INTEGER PRIMARY KEY, kind TEXT, events INTEGER, raw_bytes INTEGER, xxh64 INTEGER, data "
		"BLOB",
		6, NULL},
};
