/*
 * fields.h: the header fields of a request or an answer, of any version of HTTP, and the head of an HTTP/1.1
 * message as text.
 *
 * A head is read as leniently as the servers of Go read it (a bare line feed ends a line). A head that they
 * might read differently is refused.
 */
#ifndef TOOLS_TEE_FIELDS_H
#define TOOLS_TEE_FIELDS_H

#include "schema/base/buf.h"

struct field {
	struct slice name, value; /* borrowed, or `own` */
	struct slice line;        /* of HTTP/1.1: as it came, with its end; empty: it was changed or added */
	char *own;                /* the memory of a value that was changed or added; NULL: none */
	bool is_secret;           /* HTTP/2: not to be put into any table on the way */
};

struct field_list {
	struct field *items;
	size_t count, cap;
	size_t bytes; /* of names and values */
};

/* All zero is the empty list. Clearing keeps the memory of the array. */
void field_list_clear(struct field_list *l);
void field_list_release(struct field_list *l);

/* Borrows the texts. */
void field_list_add(struct field_list *l, struct slice name, struct slice value);

/* The first field of that name in any case, NULL if there is none. */
struct field *field_first(const struct field_list *l, const char *name);

/* Its value, the empty slice if there is none; and the number of such fields. */
struct slice field_value(const struct field_list *l, const char *name);
size_t field_count(const struct field_list *l, const char *name);

/* Copies the value. */
void field_change(struct field *f, struct slice value);
void field_append(struct field_list *l, const char *name, struct slice value);
void field_remove(struct field_list *l, size_t index);

/* ---- HTTP/1.1 ---- */

/* The length of a head with the empty line that ends it, 0 while it is not whole. `scanned` (0 at the
 * beginning of each head) remembers how far earlier calls looked. */
size_t h1_head_length(struct slice in, size_t *scanned);

/* Fills the (empty) list from a whole head; borrows. False if it is malformed: the head is then better
 * passed on unread. *ret_first is the first line without its end. */
bool h1_head_parse(struct slice head, struct slice *ret_first, struct field_list *ret);

/* Appends the head with that first line. */
int h1_head_write(
	struct slice first, const struct field_list *fields, struct buf *to, struct err *err) MUST_CHECK;

/* A number of one to 18 digits. */
bool field_number(struct slice digits, uint64_t *ret);

#endif
