/*
 * field_type.h: how the fields of a type are merged, from the generated table of the built-in types
 * (write_table.h) or from an OpenAPI document: a recorded one, or the schema of a CRD. Where nothing is said,
 * lists are replaced as a whole, maps and objects are merged.
 */
#ifndef REPLAYER_FIELD_TYPE_H
#define REPLAYER_FIELD_TYPE_H

#include "replayer/json/json_tree.h"
#include "replayer/kinds/write_table.h"

#define FIELD_KEYS_MAX 8 /* of a list's items; more are not looked at */

/* Borrowed from the table or from the document. All zero: nothing is known. */
struct field_type {
	const struct write_type *row;
	const cJSON *schema, *document; /* document: where "#/..." references lead; NULL: nowhere */
	bool each;                      /* a map whose values are of the row's type */
	bool custom_object;             /* its metadata is that of every object, whatever the schema says */
	bool untyped;                   /* of a custom object, where the schema says nothing */
};

enum list_kind { LIST_ATOMIC, LIST_SET, LIST_MAP };

struct field_key {
	struct slice name, default_text;
	bool has_default; /* a text in place of a key that was left out */
};

/* A field, or the items of a list, or the values of a map. */
struct field {
	bool atomic;                           /* an object or map that is replaced as a whole */
	enum list_kind list;                   /* the kind of list, if it is one */
	struct field_key keys[FIELD_KEYS_MAX]; /* of LIST_MAP */
	size_t key_count;
	bool merges;            /* a strategic merge patch merges the list, by */
	struct slice merge_key; /* ... this key of its items; empty: a list of plain values */
	bool declared;          /* a field of a type, not a key of a map */
	struct field_type type; /* of the value; of a list, that of its items */
};

/* The type of that name in the table; an unknown type if there is none. */
struct field_type field_type_find(struct slice name);

/* The type of a built-in resource; an unknown type if it is not one. */
struct field_type field_type_of_resource(const char *group, const char *version, const char *resource);

/* That of a schema in a document. */
struct field_type field_type_of_schema(const cJSON *schema, const cJSON *document);

/* That of a custom resource, by the openAPIV3Schema of its CRD (may be NULL). */
struct field_type field_type_of_custom(const cJSON *schema);

/* The type of a member of an object of the type. */
void field_find(struct field_type of, const char *name, struct field *ret);

/* The type of the items of a list. */
void field_of_items(const struct field *list, struct field *ret);

#endif
