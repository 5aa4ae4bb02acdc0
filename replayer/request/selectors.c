/* selectors.c: see selectors.h. */
#include "replayer/request/selectors.h"

#include "schema/base/json_scan.h"

bool selectors_read_object(const struct label_selector *labels, const struct field_selector *fields)
{
	return labels || field_selector_reads_object(fields);
}

bool selectors_match(const struct label_selector *labels, const struct field_selector *fields,
	struct slice namespace, struct slice name, struct slice object)
{
	struct slice found = {NULL, 0};

	if (!field_selector_matches(fields, namespace, name, object))
		return false;
	if (!labels)
		return true;
	if (json_get(object, "metadata.labels", &found, NULL) <= 0 || found.len == 0 || found.ptr[0] != '{')
		found = (struct slice){NULL, 0};
	return label_selector_matches(labels, found);
}
