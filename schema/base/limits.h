/*
 * limits.h: the largest thing of each kind that we accept from outside, in one list, so that it is easy to
 * find the limit that was exceeded. Raise a limit here; FORMAT.md names those that bind the format.
 *
 * To add one, write a line that says what it limits. Pass it to buf_init(), which makes anything larger
 * ERR_TOO_LARGE, or compare with it before allocating memory. A test feeds one more than it allows.
 */
#ifndef SCHEMA_BASE_LIMITS_H
#define SCHEMA_BASE_LIMITS_H

#define LIMIT_OBJECT_BYTES     (64u << 20)  /* one object; etcd's default allows 1.5 MB */
#define LIMIT_LIST_BYTES       (1u << 30)   /* one page of a list, decoded */
#define LIMIT_UNFINISHED_BYTES (256u << 20) /* frames and items that are not whole yet, of all streams */
#define LIMIT_DISCOVERY_BYTES                                                                                \
	(128u << 20) /* all discovery documents of a cluster together, but that of the core group */
#define LIMIT_ERROR_BODY_BYTES   (1u << 20)   /* the body of an answer that is an error */
#define LIMIT_ANSWER_HEAD_BYTES  (1u << 20)   /* status line, headers and trailers of an answer */
#define LIMIT_DOCUMENT_BYTES     (64u << 20)  /* a discovery or OpenAPI document */
#define LIMIT_CHUNK_BYTES        (512u << 20) /* objects of one extent */
#define LIMIT_BLOCK_BYTES        (128u << 20) /* raw bytes of one sealed block */
#define LIMIT_INDEX_BYTES        (96u << 20) /* raw bytes of one extent's index: its names may be most of it */
#define LIMIT_EXTENT_EVENTS      (1u << 22)  /* events of one extent */
#define LIMIT_EXTENT_MEMORY      (160u << 20) /* memory of an extent beside its objects */
#define LIMIT_HOT_BYTES          (192u << 20) /* memory of a hot extent: two extents and an object */
#define LIMIT_PREFIX_BYTES       (32u << 20)  /* the names that a block's frame refers to */
#define LIMIT_STORED_BYTES       (208u << 20) /* one value in a segment, and one row: a hot extent */
#define LIMIT_SEGMENT_BYTES      (1ull << 33) /* a segment's file: a hole is all it takes to claim more */
#define LIMIT_STATE_BYTES        (64u << 20)  /* live objects, or four times the tape's size on disk */
#define LIMIT_NAME_BYTES         4096         /* namespace, name, uid, resourceVersion each */
#define LIMIT_JSON_DEPTH         1000         /* nesting of brackets; the API server itself refuses 10,000 */
#define LIMIT_BUNDLE_FILE_BYTES  (256u << 20) /* one file of a bundle that is read */
#define LIMIT_BUNDLE_BYTES       (2ull << 30) /* all objects of a bundle, as JSON */
#define LIMIT_BUNDLE_UNPACKED    (64ull << 30) /* unpacked size of a bundle's archive, including skipped logs */
#define LIMIT_CONFIG_BYTES       (4u << 20)    /* kubeconfig, token, certificate and fault files */
#define LIMIT_REQUEST_HEAD_BYTES (1u << 20)    /* request line and headers a client sends us */
#define LIMIT_REQUEST_BODY_BYTES (3u << 20)    /* a client's request body, as the API server limits it */
#define LIMIT_DROPPED_BYTES      (64u << 20)   /* read of a body that is too large, and dropped */
#define LIMIT_CONN_HELD_BYTES    (16u << 20)   /* requests on their way, on one connection of a client */
#define LIMIT_HELD_BYTES         (256u << 20) /* on all that hold more than a little */
#define LIMIT_OFFLOAD_BYTES      (64u << 20)  /* requests that wait for the thread that does long work */
#define LIMIT_SEEN_REQUESTS      1000000      /* reads of one client in a live run */
#define LIMIT_SEEN_FRAMES        20000000     /* what its watches were sent; 40 bytes each */

#endif
