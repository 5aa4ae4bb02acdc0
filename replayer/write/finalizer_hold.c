/* finalizer_hold.c: see finalizer_hold.h. */
#include "replayer/write/finalizer_hold.h"

#include "replayer/write/own_part.h"
#include "replayer/write/own_write.h"
#include "schema/base/json_scan.h"
#include "schema/base/log.h"

#include <stdlib.h>

bool finalizer_is_named(const char *finalizer, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(names[i], finalizer) == 0)
			return true;
	}
	return false;
}

bool finalizer_is_in(struct slice object, const char *name)
{
	char *quoted = xasprintf("\"%s\"", name);
	struct slice list;
	bool has = json_get(object, "metadata.finalizers", &list, NULL) > 0 &&
		   memmem(list.ptr, list.len, quoted, strlen(quoted));

	free(quoted);
	return has;
}

/* ---- before an event ---- */

/* Whether the event takes one away from the object as it is shown, or the object itself. */
static bool takes_one_away(const struct api *api, struct slice shown, const struct change *c)
{
	bool is_end = c->type == EVENT_DELETED || !change_is_of(c, shown);

	for (size_t i = 0; i < api->held_finalizer_count; i++) {
		const char *name = api->held_finalizers[i];

		if (finalizer_is_in(shown, name) && (is_end || !finalizer_is_in(c->object, name)))
			return true;
	}
	return false;
}

void finalizer_hold_before(struct api *api, const struct collection *in, const struct change *c)
{
	const struct live *l =
		api->held_finalizer_count ? live_set_find(&in->live, c->namespace, c->name) : NULL;
	struct slice object;
	struct err err;

	if (!l || overlay_has(l->seq))
		return;
	if (world_object(api->world, l->seq, &object, &err))
		log_warn("%s", err.text);
	else if (takes_one_away(api, object, c))
		own_write_adopt(api, in, c, OWN_PART_NONE);
}

/* ---- when it has come ---- */

void finalizer_hold_keep(struct write *w)
{
	const struct api *api = w->call->api;
	const cJSON *item;

	cJSON_ArrayForEach(item, json_tree_at(w->old, "metadata", "finalizers", NULL))
	{
		char *part;

		if (!cJSON_IsString(item) || !finalizer_is_named(item->valuestring, api->held_finalizers,
						     api->held_finalizer_count))
			continue;
		part = own_part_hold(w->part, item->valuestring);
		free(w->part);
		w->part = part;
	}
}
