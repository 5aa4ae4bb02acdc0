/* fault_kind.c: kinds of writes, as fault files and --gap say them. See fault_rule.h. */
#include "replayer/fault/fault_keys.h"

#include <stdlib.h>

static int bad_write(const char *text, struct err *err)
{
	return err_set(err, ERR_USAGE,
		"bad write '%.100s': expected a verb (create, update, patch, delete, deletecollection, or write for any), "
		"and a resource as in 'create pods' or 'update pods/status'",
		text);
}

static bool is_name(struct slice text, const char *of)
{
	for (size_t i = 0; i < text.len; i++) {
		if (!strchr(of, text.ptr[i]))
			return false;
	}
	return text.len > 0;
}

static void take_resource(struct fault_kind_of_write *w, struct slice name)
{
	const char *slash = memchr(name.ptr, '/', name.len);
	size_t len = slash ? (size_t)(slash - name.ptr) : name.len;

	w->resource.items = xcalloc(1, sizeof(*w->resource.items));
	w->resource.items[0] = slice_dup((struct slice){name.ptr, len});
	w->resource.count = 1;
	w->subresource = slash ? slice_dup((struct slice){slash + 1, name.len - len - 1}) : xstrdup("");
}

int fault_write_parse(const char *text, struct fault_kind_of_write *ret, struct err *err)
{
	size_t len = strcspn(text, " ");
	int verb = fault_word_index(FAULT_VERB_WORDS, (struct slice){text, len});
	struct slice resource = {text + len + 1, text[len] ? strlen(text + len + 1) : 0};
	struct fault_kind_of_write w = {0};

	if (verb < 0 || !*text ||
		(text[len] && !is_name(resource, "abcdefghijklmnopqrstuvwxyz0123456789.-/")))
		return bad_write(text, err);
	w.verbs = verb == FAULT_VERBS ? (1u << FAULT_VERBS) - 1 : 1u << verb;
	if (resource.len)
		take_resource(&w, resource);
	*ret = w;
	return 0;
}
