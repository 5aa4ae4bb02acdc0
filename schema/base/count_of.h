/* count_of.h: how many elements an array has. Not for pointers. */
#ifndef SCHEMA_BASE_COUNT_OF_H
#define SCHEMA_BASE_COUNT_OF_H

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#endif
