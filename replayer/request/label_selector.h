/*
 * label_selector.h: the grammar of labelSelector, with the server's own words for errors.
 *
 *     selector    = requirement *( "," requirement )     ; all must hold; empty selects everything
 *     requirement = KEY / "!" KEY / KEY ("=" / "==" / "!=") VALUE / KEY ("in" / "notin") "(" VALUES ")"
 *                 / KEY (">" / "<") INTEGER
 *
 * "!=" and "notin" also select objects without the label; ">" and "<" only objects with it and an integer
 * value.
 */
#ifndef REPLAYER_LABEL_SELECTOR_H
#define REPLAYER_LABEL_SELECTOR_H

#include "schema/base/buf.h"

struct label_selector;

/* *ret is NULL for a selector without requirements, which selects everything. On ERR_PROTOCOL the error's
 * text is the message of the 400 that the API server answers. The caller frees. */
int label_selector_parse(struct slice text, struct label_selector **ret, struct err *err) MUST_CHECK;
void label_selector_free(struct label_selector *s);

/* Whether an object with these labels (the raw JSON object of metadata.labels; empty when there are none) is
 * selected. NULL selects everything. */
bool label_selector_matches(const struct label_selector *s, struct slice labels);

#endif
