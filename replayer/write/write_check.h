/*
 * write_check.h: the checks of a write before it is done: its options, its body, and the body's values. All
 * functions that return int return 0, or ERR_FAILED with the write's status filled, in the words of the API
 * server.
 */
#ifndef REPLAYER_WRITE_CHECK_H
#define REPLAYER_WRITE_CHECK_H

#include <cjson/cJSON.h>
#include <stdbool.h>

struct write;

/* ---- write_options.c ---- */

/* The options of a deletion, of its body or, without one, of its query; the caller frees. */
int write_delete_options(struct write *w, cJSON **ret) MUST_CHECK;

/* The options of a create, an update or a patch, which are in the query. */
int write_check_options(struct write *w) MUST_CHECK;

/* ---- write_kind.c, write_metadata.c, write_object.c ---- */

/* Whether the body, or what a patch left, is of the collection's kind; fills in a kind that was left out. A
 * custom resource must say its version, and is asked for its kind later. */
int write_check_kind(struct write *w, cJSON *object, bool patched) MUST_CHECK;
int write_check_custom_kind(struct write *w, const cJSON *object) MUST_CHECK;

/* The same of an object of another kind: a Scale, a Binding. */
struct write_kind {
	const char *kind, *api_version, *group;
};
int write_check_kind_of(
	struct write *w, cJSON *object, const struct write_kind *want, bool patched) MUST_CHECK;

/* 422 for what a patch left of an object: nothing that could be decoded. */
int write_refuse_patched(struct write *w, const cJSON *object, const char *why);

/* 422 for a name, labels, annotations, owners or finalizers that no object may have; of an update, which
 * knows w->old, also for changes that may not be. */
int write_check_metadata(struct write *w, const cJSON *object, bool updated) MUST_CHECK;

/* Name and namespace against the path. */
int write_check_place(struct write *w, cJSON *object) MUST_CHECK;

/* 409 when the object does not have that UID; "" is any. */
int write_check_uid(struct write *w, const char *uid) MUST_CHECK;

/* ---- write_fields.c, write_values.c ---- */

/* The object of the body, of the collection's kind, with its fields checked. */
int write_read_object(struct write *w, cJSON **ret) MUST_CHECK;
/* The same of another kind: a Scale, a Binding. */
int write_read_other(struct write *w, const struct write_kind *want, cJSON **ret) MUST_CHECK;

/* Refuses, or warns of and drops, fields that the type does not have and those of `duplicates` (may be NULL),
 * as the request wants it. patched: only of those that w->old does not have. */
int write_check_fields(struct write *w, cJSON *object, const cJSON *duplicates, bool patched) MUST_CHECK;

/* Refuses values that the type does not allow: 400 in the words of the API server's decoder, 422 for a patch
 * and 500 for an apply; for a custom resource 422 with a cause for each. Errors that w->old already has are
 * accepted when it is patched or replaced. A custom resource gets the defaults of its schema, and loses
 * fields that the schema does not have. */
enum value_origin { VALUES_OF_BODY, VALUES_OF_PATCH, VALUES_APPLIED };
int write_check_values(struct write *w, cJSON *object, enum value_origin origin) MUST_CHECK;

/* The error of Go's decoder for an object of another kind, in its words; NULL if there is none. The caller
 * frees.
 */
char *write_decoding_problem(const cJSON *object, const struct write_kind *want);
/* 400 for it. */
int write_check_decoding(struct write *w, const cJSON *object, const struct write_kind *want) MUST_CHECK;

#endif
