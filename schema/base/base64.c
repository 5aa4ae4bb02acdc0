/* base64.c: see base64.h. */
#include "schema/base/base64.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static bool is_blank(char c)
{
	return c == '\n' || c == '\r' || c == ' ' || c == '\t';
}

int base64_decode(struct slice text, struct buf *to, struct err *err)
{
	uint32_t bits = 0;
	unsigned held = 0;
	int rc;

	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];
		const char *digit;
		char byte;

		if (is_blank(c))
			continue;
		if (c == '=')
			break;
		digit = c ? strchr(digits, c) : NULL;
		if (!digit)
			return err_set(err, ERR_PROTOCOL, "bad base64: byte 0x%02x at offset %zu",
				(unsigned char)c, i);
		bits = bits << 6 | (uint32_t)(digit - digits);
		held += 6;
		if (held < 8)
			continue;
		held -= 8;
		byte = (char)(bits >> held);
		rc = buf_append(to, &byte, 1, err);
		if (rc)
			return rc;
	}
	return 0;
}

int base64_encode(struct slice bytes, struct buf *to, struct err *err)
{
	int rc;

	for (size_t i = 0; i < bytes.len; i += 3) {
		size_t n = bytes.len - i < 3 ? bytes.len - i : 3;
		uint32_t bits = 0;
		char four[4];

		for (size_t j = 0; j < 3; j++)
			bits = bits << 8 | (j < n ? (unsigned char)bytes.ptr[i + j] : 0);
		for (size_t j = 0; j < 4; j++)
			four[j] = j <= n ? digits[bits >> (18 - 6 * j) & 63] : '=';
		rc = buf_append(to, four, 4, err);
		if (rc)
			return rc;
	}
	return 0;
}
