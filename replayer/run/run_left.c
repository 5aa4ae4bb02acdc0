/* run_left.c: see run_left.h. */
#include "replayer/run/run_left.h"

#include "schema/base/json_scan.h"
#include "schema/base/limits.h"
#include "schema/tape/redact.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>

static void add_text(cJSON *to, char *text)
{
	cJSON_AddItemToArray(to, cJSON_CreateString(text));
	free(text);
}

/* null for a Secret that cannot be read. */
static char *object_of(const struct tape_resource *r, struct slice object, struct redactor *redactor)
{
	struct buf clean;
	char *text;

	if (!redactor_concerns(r->apigroup, r->resource))
		return slice_dup(object);
	buf_init(&clean, LIMIT_OBJECT_BYTES);
	text = redactor_object(redactor, object, &clean, NULL) ? xstrdup("null")
							       : slice_dup(buf_slice(&clean));
	buf_release(&clean);
	return text;
}

static cJSON *describe(
	const struct collection *in, const struct overlay_version *v, struct redactor *redactor)
{
	const struct tape_resource *r = &in->resource;
	struct object_meta meta;
	cJSON *row = cJSON_CreateArray();
	char *object = object_of(r, blob_body(v->object), redactor);

	if (json_scan_object(blob_body(v->object), &meta, NULL))
		meta.uid = (struct slice){NULL, 0};
	add_text(row, xasprintf("%s%s%s", r->resource, *r->apigroup ? "." : "", r->apigroup));
	add_text(row, slice_dup(v->namespace));
	add_text(row, slice_dup(v->name));
	add_text(row, slice_dup(meta.uid));
	cJSON_AddItemToArray(row, cJSON_CreateRaw(object));
	free(object);
	return row;
}

char *run_left(const struct world *w, struct redactor *redactor)
{
	cJSON *list = cJSON_CreateArray();
	char *text;

	for (size_t i = 0; i < w->count; i++) {
		const struct collection *in = &w->collections[i];

		for (size_t k = 0; k < in->written.count; k++) {
			const struct overlay_version *v = overlay_find(w->overlay, in->written.items[k]->seq);

			if (v && v->type != EVENT_DELETED)
				cJSON_AddItemToArray(list, describe(in, v, redactor));
		}
	}
	text = cJSON_PrintUnformatted(list);
	cJSON_Delete(list);
	return text;
}

char *run_shown(const struct world *w)
{
	size_t count, len;
	const struct overlay_shown *shown = overlay_shown(w->overlay, &count);
	char *text = NULL;
	FILE *to;

	if (!count)
		return NULL;
	to = open_memstream(&text, &len);
	for (size_t i = 0; i < count; i++)
		fprintf(to, "%c[%llu,\"%llu\"]", i ? ',' : '[', (unsigned long long)shown[i].seq,
			(unsigned long long)shown[i].rv);
	fputc(']', to);
	fclose(to);
	return text;
}
