/*
 * field_selector.h: the grammar of fieldSelector, with the server's own words for errors.
 *
 *     selector = term *( "," term )                      ; empty terms are skipped; all must hold
 *     term     = FIELD ( "!=" / "==" / "=" ) VALUE       ; "\,", "\=" and "\\" in VALUE stand for themselves
 */
#ifndef REPLAYER_FIELD_SELECTOR_H
#define REPLAYER_FIELD_SELECTOR_H

#include "replayer/request/selectable_fields.h"

struct field_selector;

/* Reads the grammar. *ret is NULL for a selector without terms. ERR_PROTOCOL: the text is the message of the
 * 400. */
int field_selector_parse(struct slice text, struct field_selector **ret, struct err *err) MUST_CHECK;

/* Looks up what its fields are in that kind; to be called once, before everything below. ERR_PROTOCOL as
 * above. NULL is fine. */
int field_selector_resolve(
	struct field_selector *s, const struct selectable_kind *kind, struct err *err) MUST_CHECK;
void field_selector_free(struct field_selector *s);

/* The value that metadata.name must be equal to: true and the value, borrowed. */
bool field_selector_name(const struct field_selector *s, struct slice *ret);

/* False if namespace and name alone decide, so that the object need not be read. */
bool field_selector_reads_object(const struct field_selector *s);

/* `object` may be empty when field_selector_reads_object is false. NULL selects everything. */
bool field_selector_matches(
	const struct field_selector *s, struct slice namespace, struct slice name, struct slice object);

#endif
