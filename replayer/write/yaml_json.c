/* yaml_json.c: see yaml_json.h. */
#include "replayer/write/yaml_json.h"

#include <libfyaml.h>

/* libfyaml would print what it does not understand. */
static void say_nothing(struct fy_diag *diag, void *user, const char *text, size_t len)
{
	(void)diag, (void)user, (void)text, (void)len;
}

static struct fy_diag *silent_diag(void)
{
	struct fy_diag_cfg config;

	fy_diag_cfg_default(&config);
	config.fp = NULL;
	config.output_fn = say_nothing;
	return fy_diag_create(&config);
}

int yaml_to_json(struct slice text, char **ret, struct err *err)
{
	struct fy_diag *diag = silent_diag();
	struct fy_parse_cfg config = {.flags = FYPCF_QUIET, .diag = diag};
	struct fy_document *document =
		fy_document_build_from_string(&config, text.ptr ? text.ptr : "", text.len);
	char *json = document ? fy_emit_document_to_string(document, FYECF_MODE_JSON_ONELINE) : NULL;

	fy_document_destroy(document);
	fy_diag_unref(diag);
	if (!json)
		return err_set(err, ERR_PROTOCOL, "error converting YAML to JSON: not a YAML document");
	*ret = json;
	return 0;
}
