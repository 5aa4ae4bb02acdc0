/* list.h: LIST and GET: the state at the position, or at an older one. */
#ifndef REPLAYER_LIST_H
#define REPLAYER_LIST_H

#include "replayer/request/continue_token.h"
#include "replayer/request/list_options.h"
#include "replayer/serve/call.h"
#include "replayer/table/view.h"

/* Takes over the options' selectors; the caller still releases the options. */
void list_serve(struct api_call *call, struct collection *c, struct list_options *o, const struct view *view);

void get_serve(struct api_call *call, struct collection *c, const struct view *view);

/* The version at the time of the state that the call shows (call->is_older). */
int list_older_version(
	const struct api_call *call, const struct collection *c, uint64_t *ret, struct err *err) MUST_CHECK;

/* Where the page of a token begins in the set, not before `begin`. `namespace` is that of the path, "" for none. */
size_t list_page_begin(
	const struct live_set *set, struct slice namespace, const struct continue_token *token, size_t begin);

#endif
