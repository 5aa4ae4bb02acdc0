/*
 * write_account.h: what a write leaves in the metadata of its object: who wrote which fields, and how many changes asked for
 * something else.
 */
#ifndef REPLAYER_WRITE_ACCOUNT_H
#define REPLAYER_WRITE_ACCOUNT_H

#include <cjson/cJSON.h>
#include <stdbool.h>

struct write;

/* Keeps account of who wrote which fields of an object that takes the place of w->old, if nobody has yet.
 * write_apply.c. */
void write_keep_managers(struct write *w, cJSON *object);

/* The manager as which this is written. The caller frees. */
char *write_manager_name(const struct write *w);

/* Whether metadata.generation counts the changes of this kind. */
bool write_counts_generation(const struct write *w);

/* Raises the generation, which is that of w->old, if the object asks for something else. */
void write_count_generation(const struct write *w, cJSON *object);

#endif
