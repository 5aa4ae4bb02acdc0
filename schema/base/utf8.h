/* utf8.h: characters, and which of them are not to be shown as they are. */
#ifndef SCHEMA_BASE_UTF8_H
#define SCHEMA_BASE_UTF8_H

#include "schema/base/buf.h"

/* How many bytes the first character of the text has; 0 if they are not UTF-8 (overlong, a surrogate, cut)
 * or there are none. */
size_t utf8_read(struct slice text, uint32_t *ret_code);

/* Returns the number of bytes written. An invalid character (a surrogate) becomes U+FFFD. */
size_t utf8_write(char to[4], uint32_t code);

/* Whether a character does something instead of standing for itself: it steers a terminal (C0, DEL, C1), ends
 * a line for some readers, or changes the direction in which its neighbours are read. */
bool utf8_is_active(uint32_t code);

#endif
