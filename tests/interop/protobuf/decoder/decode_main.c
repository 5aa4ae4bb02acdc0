/*
 * decode_main.c: the decoder of protobuf bodies as a filter, for a test that has the Go types at hand.
 *
 *     stdin:  length (4 bytes, big-endian), body; again and again
 *     stdout: 'J' or 'E', length (4 bytes, big-endian), JSON or the error's sentence; one for each body
 */
#include "replayer/protobuf/protobuf.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

#define BODY_MAX (4u << 20)
#define JSON_MAX (256u << 20)

static int answer(char kind, struct slice text)
{
	uint32_t len = htonl((uint32_t)text.len);

	if (fputc(kind, stdout) == EOF || fwrite(&len, sizeof(len), 1, stdout) != 1)
		return -1;
	if (text.len && fwrite(text.ptr, text.len, 1, stdout) != 1)
		return -1;
	return fflush(stdout);
}

/* The bytes are given in memory of their own size, so that a sanitizer sees a byte read behind their end. */
static int decode_one(uint32_t len)
{
	char *body = xmalloc(len);
	struct buf json;
	struct err err;
	int rc = -1;

	buf_init(&json, JSON_MAX);
	if (len == 0 || fread(body, len, 1, stdin) == 1)
		rc = protobuf_to_json((struct slice){body, len}, &json, &err) < 0
			     ? answer('E', slice_of(err.text))
			     : answer('J', buf_slice(&json));
	buf_release(&json);
	free(body);
	return rc;
}

int main(void)
{
	uint32_t len;

	while (fread(&len, sizeof(len), 1, stdin) == 1) {
		if (ntohl(len) > BODY_MAX || decode_one(ntohl(len)) < 0)
			return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}
