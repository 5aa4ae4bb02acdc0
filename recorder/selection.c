/* selection.c: see selection.h. */
#include "recorder/selection.h"

#include "schema/base/log.h"

int selection_resources(const struct recorder_options *o, const struct catalog *catalog,
	struct catalog_choice *choice, struct err *err)
{
	size_t twins;
	int rc;

	if (o->all)
		catalog_choose_all(catalog, choice);
	for (size_t i = 0; i < o->resource_count; i++) {
		rc = catalog_choose(catalog, o->resources[i], choice, err);
		if (rc)
			return rc;
	}
	for (size_t i = 0; i < o->exclude_count; i++)
		catalog_exclude(catalog, o->excludes[i], choice);
	twins = catalog_drop_twins(choice);
	if (twins && !o->all)
		log_info("%zu resource%s left out: the same objects are recorded under another group", twins,
			twins == 1 ? " was" : "s were");
	if (!choice->count)
		return err_set(err, ERR_NOT_FOUND,
			"nothing is left to record: the server offers %zu resources", catalog->count);
	return 0;
}

static void warn_of_unknown(const struct err *why)
{
	log_warn("option '--exclude' leaves nothing out so far: %s", why->text);
}

void selection_doubt_excludes(const struct recorder_options *o, const struct catalog *catalog)
{
	for (size_t i = 0; i < o->exclude_count; i++)
		catalog_unknown(catalog, o->excludes[i], warn_of_unknown);
}

int selection_streams(const struct recorder_options *o, const struct catalog_resource *resource,
	int (*each)(void *context, const struct stream_spec *spec), void *context)
{
	struct stream_spec spec = {.resource = resource,
		.namespace = "",
		.label_selector = o->label_selector,
		.field_selector = o->field_selector};

	if (!o->namespace_count || !resource->namespaced)
		return o->namespace_count && o->all && !resource->namespaced ? 0 : each(context, &spec);
	for (size_t i = 0; i < o->namespace_count; i++) {
		int rc;

		spec.namespace = o->namespaces[i];
		rc = each(context, &spec);
		if (rc)
			return rc;
	}
	return 0;
}
