/* http2_memory.c: see http2_memory.h. */
#include "replayer/wire/http2_memory.h"

#include <stdlib.h>
#include <string.h>

#define FRAME_BYTES     16384               /* of the payload ... */
#define FRAME_MAX_BYTES (FRAME_BYTES + 512) /* ... and its head */

static char frame_buffer[FRAME_MAX_BYTES];

static void *take_memory(size_t size, void *user)
{
	(void)user;
	return malloc(size);
}

static void *take_zeroed(size_t count, size_t size, void *user)
{
	(void)user;
	return calloc(count, size);
}

/* Buffers are made by resizing nothing. */
static void *resize_memory(void *p, size_t size, void *user)
{
	struct http2_memory *m = user;
	void *own;

	if (!p && size >= FRAME_BYTES && size <= sizeof(frame_buffer) && !m->has_frame_buffer) {
		m->has_frame_buffer = true;
		return frame_buffer;
	}
	if (p != frame_buffer)
		return realloc(p, size);
	own = malloc(size);
	if (own)
		memcpy(own, frame_buffer, size < sizeof(frame_buffer) ? size : sizeof(frame_buffer));
	return own;
}

static void free_memory(void *p, void *user)
{
	(void)user;
	if (p != frame_buffer)
		free(p);
}

nghttp2_mem http2_memory_functions(struct http2_memory *m)
{
	return (nghttp2_mem){m, take_memory, free_memory, take_zeroed, resize_memory};
}
