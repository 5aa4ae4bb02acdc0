/* selectors.h: the selectors of a request, together. */
#ifndef REPLAYER_SELECTORS_H
#define REPLAYER_SELECTORS_H

#include "replayer/request/field_selector.h"
#include "replayer/request/label_selector.h"

/* Whether an object is selected; `object` may be empty when the selectors do not read it. */
bool selectors_match(const struct label_selector *labels, const struct field_selector *fields,
	struct slice namespace, struct slice name, struct slice object);

/* Whether the object's bytes are needed to decide. */
bool selectors_read_object(const struct label_selector *labels, const struct field_selector *fields);

#endif
