/*
 * write_account.h: the traces of a write in the metadata of its object: who wrote which fields, and the
 * generation.
 */
#ifndef REPLAYER_WRITE_ACCOUNT_H
#define REPLAYER_WRITE_ACCOUNT_H

#include <cjson/cJSON.h>
#include <stdbool.h>

struct write;

/* Records who wrote which fields of an object that replaces w->old, unless that has been done already.
 * write_apply.c. */
void write_keep_managers(struct write *w, cJSON *object);

/* The manager as which this is written. The caller frees. */
char *write_manager_name(const struct write *w);

/* Whether metadata.generation counts the changes of this kind. */
bool write_counts_generation(const struct write *w);

/* Raises the generation, which is that of w->old, if the object asks for something else. */
void write_count_generation(const struct write *w, cJSON *object);

/* Whether it has a deletionTimestamp. */
bool write_is_asked_to_end(const cJSON *object);

/* Raises the generation of an object that is asked to end, if it has one: this counts as a change of its spec. */
void write_count_end(cJSON *metadata);

#endif
