/* list.h: LIST and GET: the state at the position, or at an older one. */
#ifndef REPLAYER_LIST_H
#define REPLAYER_LIST_H

#include "replayer/api/api.h"
#include "replayer/api/list_options.h"
#include "replayer/api/view.h"

/* Takes over the options' selectors; the caller still releases the options. */
void list_serve(struct api_call *call, struct collection *c, struct list_options *o, const struct view *view);

void get_serve(struct api_call *call, struct collection *c, const struct view *view);

/* Events are kept without a cache by the API server, which shows in a few places. */
bool list_is_uncached(const struct collection *c);

/* Whether an object is selected; `object` may be empty when the selectors do not read it. */
bool selectors_match(const struct label_selector *labels, const struct field_selector *fields,
	struct slice namespace, struct slice name, struct slice object);

/* Whether the object's bytes are needed to decide. */
bool selectors_read_object(const struct label_selector *labels, const struct field_selector *fields);

#endif
