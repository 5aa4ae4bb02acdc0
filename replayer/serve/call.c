/* call.c: see call.h. */
#include "replayer/serve/call.h"

#include "replayer/run/run.h"
#include "replayer/table/table.h"
#include "replayer/world/crd.h"
#include "replayer/world/player.h"
#include "schema/base/json_scan.h"

#include <stdlib.h>

#define MEDIA_TYPES       "application/json, application/yaml, application/vnd.kubernetes.protobuf"
#define WATCH_MEDIA_TYPES "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"

void api_fail(struct api_call *call, struct status *status)
{
	call->client->refused++;
	respond_status(call->x, call->request, &call->style, status);
}

/* ---- what is asked for ---- */

/* The selectable fields that the CRD of a custom resource names; borrowed until the next object is read. */
static struct slice find_crd_fields(struct api *api, const struct collection *c)
{
	struct slice crd, fields = {NULL, 0};

	if (crd_find(api->world, c, &crd) == 0)
		return fields;
	if (json_get(crd_version(crd, c->resource.version), "selectableFields", &fields, NULL) <= 0)
		fields = (struct slice){NULL, 0};
	return fields;
}

struct selectable_kind api_selectable_kind(struct api *api, const struct collection *c)
{
	return (struct selectable_kind){
		.group = slice_of(c->resource.apigroup),
		.version = slice_of(c->resource.version),
		.resource = slice_of(c->resource.resource),
		.namespaced = c->resource.namespaced,
		.custom = c->custom,
		.crd_fields = c->custom ? find_crd_fields(api, c) : (struct slice){NULL, 0},
	};
}

static int parse_include(const struct query *q, enum table_include *ret, struct status *st)
{
	struct slice include = query_get(q, "includeObject");

	*ret = INCLUDE_METADATA;
	if (slice_is(include, "None"))
		*ret = INCLUDE_NONE;
	else if (slice_is(include, "Object"))
		*ret = INCLUDE_OBJECT;
	else if (include.len && !slice_is(include, "Metadata"))
		return status_bad_request(st,
			"Unable to convert to Table as requested: includeObject: Invalid value: \"%.*s\": must be "
			"'Metadata', 'Object', 'None', or empty",
			(int)include.len, include.ptr);
	return 0;
}

/* The API server asks twice what a client accepts: its router before the types are known, and the handler,
 * which is all that custom resources have. */
int api_negotiate(struct api_call *call, const struct collection *c, bool list, struct status *st)
{
	bool watch = list && call->verb == VERB_WATCH;
	struct slice accept = http_header_find(call->request, "Accept");
	enum accept_by by = c->custom ? ACCEPT_BY_CUSTOM : ACCEPT_BY_ROUTER;

	switch (accept_resource(accept, by, &call->accepted)) {
	case ACCEPT_OK:
		if (!watch || accept_stream(accept, by, &call->accepted) == ACCEPT_OK)
			return 0;
		return status_set(st, 406, "NotAcceptable",
			"only the following media types are accepted: " WATCH_MEDIA_TYPES);
	case ACCEPT_NO_MEDIA_TYPE:
		if (c->custom)
			break;
		st->has_details = true;
		return status_set(st, 406, "NotAcceptable",
			"406: Not Acceptable\n\nAvailable representations: " MEDIA_TYPES "%s",
			list ? ", " WATCH_MEDIA_TYPES : "");
	case ACCEPT_NO_CONVERSION: break;
	}
	return status_set(
		st, 406, "NotAcceptable", "only the following media types are accepted: " MEDIA_TYPES);
}

/* The name of the server's type, as its messages tell it. */
static char *go_type(const struct collection *c, const char *suffix)
{
	const char *group = *c->resource.apigroup ? c->resource.apigroup : "core";

	if (c->custom)
		return xasprintf("*unstructured.Unstructured%s", suffix);
	return xasprintf("*%.*s.%s%s", (int)strcspn(group, "."), group, c->resource.kind, suffix);
}

int api_check_form(struct api_call *call, const struct collection *c, bool list, struct status *st)
{
	char *type = NULL;

	if (list && call->accepted.form == FORM_PARTIAL) {
		type = go_type(c, "List");
		status_set(st, 406, "NotAcceptable",
			"you requested PartialObjectMetadata, but the requested object is a list (%s)", type);
	} else if (!list && call->accepted.form == FORM_PARTIAL_LIST && c->custom) {
		return status_set(st, 500, NULL, "content is not a list");
	} else if (!list && call->accepted.form == FORM_PARTIAL_LIST) {
		type = go_type(c, "");
		status_set(st, 406, "NotAcceptable",
			"you requested PartialObjectMetadataList, but the requested object is not a list (%s)",
			type);
	}
	free(type);
	return type ? ERR_FAILED : 0;
}

/* Now, as the times in objects have it. While the replay has not begun the tape stands still: whoever comes
 * after a long silence finds it as if it had just been opened. */
static int64_t time_now(struct api *api)
{
	struct rebase *rebase = api->world->rebase;

	if (!rebase)
		return player_tape_ns(api->player);
	if (player_state(api->player) == PLAYER_WAITING && rebase_note_request(rebase))
		world_rebase(api->world, player_tape_ns(api->player));
	return rebase_now(rebase);
}

static struct view view_of(struct api_call *call, struct collection *c, enum table_include include)
{
	if (call->accepted.form == FORM_TABLE)
		table_prepare(call->api->world, c);
	return (struct view){.form = call->accepted.form,
		.beta = call->accepted.beta,
		.include = include,
		.collection = c,
		.now_ns = time_now(call->api)};
}

int api_choose_view(struct api_call *call, struct collection *c, struct view *ret, struct status *st)
{
	enum table_include include = INCLUDE_METADATA;
	int rc = call->accepted.form == FORM_TABLE ? parse_include(&call->query, &include, st) : 0;

	if (rc == 0)
		*ret = view_of(call, c, include);
	return rc;
}

int api_view(struct api_call *call, struct collection *c, struct view *ret, struct status *st)
{
	int rc = api_negotiate(call, c, false, st);

	if (rc == 0)
		rc = api_choose_view(call, c, ret, st);
	return rc ? rc : api_check_form(call, c, false, st);
}
