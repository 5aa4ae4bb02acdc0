/*
 * http2_memory.h: nghttp2's allocator. It keeps a buffer of one frame for each session, more than all the
 * rest of it together. The replay copies each frame out of it as soon as it is made, before it calls any
 * session again, so all sessions of the process take turns with one such buffer, which then also stays in the
 * cache: 16 kB less for each connection.
 */
#ifndef REPLAYER_HTTP2_MEMORY_H
#define REPLAYER_HTTP2_MEMORY_H

#include <nghttp2/nghttp2.h>
#include <stdbool.h>

/* Of one session; it outlives the session. */
struct http2_memory {
	bool has_frame_buffer; /* it takes part in the shared one; further buffers are its own */
};

nghttp2_mem http2_memory_functions(struct http2_memory *m);

#endif
