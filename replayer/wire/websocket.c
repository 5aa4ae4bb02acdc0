/* websocket.c: see websocket.h. */
#include "replayer/wire/websocket.h"

#include <openssl/evp.h>
#include <openssl/sha.h>

#define GUID         "258EAFA5-E914-47DA-95CA-C5AB0DC85B11" /* of the protocol */
#define KEY_LEN      24                                     /* 16 bytes in base64 */
#define FIN          0x80
#define MASKED       0x80
#define CONTROL      0x08
#define LENGTH_MASK  0x7f
#define LENGTH_IN_16 126
#define LENGTH_IN_64 127

bool websocket_is_wanted(const struct http_request *r)
{
	return r->major == 1 && http_list_has(http_header_find(r, "Connection"), "upgrade") &&
	       slice_equal_nocase(http_header_find(r, "Upgrade"), slice_of("websocket"));
}

const char *websocket_accept(const struct http_request *r, char to[WEBSOCKET_ACCEPT_MAX])
{
	struct slice key = http_header_find(r, "Sec-WebSocket-Key");
	unsigned char digest[SHA_DIGEST_LENGTH], text[KEY_LEN + sizeof(GUID) - 1];

	to[0] = 0;
	if (key.len != KEY_LEN || !slice_is(http_header_find(r, "Sec-WebSocket-Version"), "13"))
		return to;
	memcpy(text, key.ptr, KEY_LEN);
	memcpy(text + KEY_LEN, GUID, sizeof(GUID) - 1);
	if (EVP_Digest(text, sizeof(text), digest, NULL, EVP_sha1(), NULL) == 1)
		EVP_EncodeBlock((unsigned char *)to, digest, sizeof(digest));
	return to;
}

struct blob *websocket_frame(enum websocket_opcode opcode, struct slice payload)
{
	unsigned char head[10] = {(unsigned char)(FIN | opcode)};
	size_t n = 2, length_bytes = payload.len < LENGTH_IN_16 ? 0 : payload.len <= UINT16_MAX ? 2 : 8;

	head[1] = (unsigned char)(length_bytes == 0   ? payload.len
				  : length_bytes == 2 ? LENGTH_IN_16
						      : LENGTH_IN_64);
	for (size_t i = length_bytes; i > 0; i--)
		head[n++] = (unsigned char)((uint64_t)payload.len >> (8 * (i - 1)));
	return blob_join((struct slice[]){{(const char *)head, n}, payload}, 2);
}

/* How long the head is, as far as its first bytes tell; client frames are always masked. */
static size_t head_needed(const struct websocket_reader *w)
{
	unsigned length = w->head_len < 2 ? 0 : w->head[1] & LENGTH_MASK;

	if (w->head_len < 2)
		return 2;
	return 2 + 4 + (length == LENGTH_IN_16 ? 2 : length == LENGTH_IN_64 ? 8 : 0);
}

static uint64_t payload_length(const struct websocket_reader *w)
{
	unsigned length = w->head[1] & LENGTH_MASK;
	size_t bytes = length == LENGTH_IN_16 ? 2 : length == LENGTH_IN_64 ? 8 : 0;
	uint64_t value = 0;

	if (bytes == 0)
		return length;
	for (size_t i = 0; i < bytes; i++)
		value = value << 8 | w->head[2 + i];
	return value;
}

static bool is_control(const struct websocket_reader *w)
{
	return w->head[0] & CONTROL;
}

/* 1 when the head is whole. */
static int read_head(struct websocket_reader *w, struct slice *in, struct err *err)
{
	while (in->len && w->head_len < head_needed(w)) {
		w->head[w->head_len++] = (unsigned char)in->ptr[0];
		*in = (struct slice){in->ptr + 1, in->len - 1};
	}
	if (w->head_len < head_needed(w))
		return 0;
	if (!(w->head[1] & MASKED))
		return err_set(err, ERR_PROTOCOL, "WebSocket frame of a client without a mask");
	w->left = payload_length(w);
	w->payload_len = 0;
	if (is_control(w) && w->left > sizeof(w->payload))
		return err_set(err, ERR_PROTOCOL, "WebSocket control frame of more than 125 bytes");
	return 1;
}

static void read_payload(struct websocket_reader *w, struct slice *in)
{
	size_t n = in->len < w->left ? in->len : (size_t)w->left;
	const unsigned char *mask = w->head + head_needed(w) - 4;

	for (size_t i = 0; is_control(w) && i < n; i++, w->payload_len++)
		w->payload[w->payload_len] = (unsigned char)in->ptr[i] ^ mask[w->payload_len % 4];
	w->left -= n;
	*in = (struct slice){in->ptr + n, in->len - n};
}

int websocket_read(struct websocket_reader *w, struct slice *in, enum websocket_opcode *ret_opcode,
	struct slice *ret_payload, struct err *err)
{
	for (;;) {
		if (w->head_len < head_needed(w)) {
			int rc = read_head(w, in, err);

			if (rc <= 0)
				return rc;
		}
		read_payload(w, in);
		if (w->left)
			return 0;
		w->head_len = 0;
		if (is_control(w)) {
			*ret_opcode = (enum websocket_opcode)(w->head[0] & 0x0f);
			*ret_payload = (struct slice){(const char *)w->payload, w->payload_len};
			return 1;
		}
	}
}
