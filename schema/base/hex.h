/* hex.h: hexadecimal digits, in small or capital letters. */
#ifndef SCHEMA_BASE_HEX_H
#define SCHEMA_BASE_HEX_H

/* The value of a digit, -1 if it is not one. */
static inline int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

#endif
