/* utf8.c: see utf8.h. */
#include "schema/base/utf8.h"

/* Continuation bytes give six bits each. */
static bool read_rest(const unsigned char *at, size_t n, uint32_t *code)
{
	for (size_t i = 1; i < n; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return false;
		*code = *code << 6 | (at[i] & 0x3f);
	}
	return true;
}

size_t utf8_read(struct slice text, uint32_t *ret_code)
{
	const unsigned char *c = (const unsigned char *)text.ptr;
	size_t n;
	uint32_t code;

	if (text.len == 0)
		return 0;
	n = c[0] < 0x80 ? 1 : c[0] >= 0xf0 ? 4 : c[0] >= 0xe0 ? 3 : 2;
	if (n == 1) {
		*ret_code = c[0];
		return 1;
	}
	if (c[0] < 0xc2 || c[0] > 0xf4 || text.len < n)
		return 0;
	code = c[0] & (0xffu >> (n + 1));
	if (!read_rest(c, n, &code) || (n == 3 && code < 0x800) || (n == 4 && code < 0x10000) ||
		(code >= 0xd800 && code <= 0xdfff) || code > 0x10ffff)
		return 0;
	*ret_code = code;
	return n;
}

size_t utf8_write(char to[4], uint32_t code)
{
	if (code >= 0xd800 && code <= 0xdfff)
		code = 0xfffd;
	if (code < 0x80) {
		to[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		to[0] = (char)(0xc0 | code >> 6);
		to[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		to[0] = (char)(0xe0 | code >> 12);
		to[1] = (char)(0x80 | (code >> 6 & 0x3f));
		to[2] = (char)(0x80 | (code & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | code >> 18);
	to[1] = (char)(0x80 | (code >> 12 & 0x3f));
	to[2] = (char)(0x80 | (code >> 6 & 0x3f));
	to[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}

bool utf8_is_active(uint32_t code)
{
	if (code < 0xa0)
		return code < 0x20 || code >= 0x7f;
	if (code < 0x2000)
		return code == 0x061c;
	return code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
	       (code >= 0x2066 && code <= 0x206f);
}
