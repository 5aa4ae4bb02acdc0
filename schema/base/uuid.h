/* uuid.h: random UUIDs (RFC 9562, version 4) as text. */
#ifndef SCHEMA_BASE_UUID_H
#define SCHEMA_BASE_UUID_H

#define UUID_TEXT_BYTES 37 /* with the NUL */

/* Where the kernel gives no randomness, always the same one. */
void uuid_new(char to[UUID_TEXT_BYTES]);

#endif
