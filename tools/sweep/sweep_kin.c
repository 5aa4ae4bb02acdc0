/* sweep_kin.c: see sweep_kin.h. */
#include "tools/sweep/sweep_kin.h"

#include "replayer/json/json_tree.h"

#include <string.h>

static bool is_same_text(const cJSON *a, const cJSON *b, const char *name)
{
	return strcmp(json_tree_text(a, name), json_tree_text(b, name)) == 0;
}

static bool is_owner(const cJSON *reference, const cJSON *object)
{
	return is_same_text(reference, object, "kind") &&
	       is_same_text(reference, json_tree_at(object, "metadata", NULL), "name");
}

static const cJSON *owners_of(const cJSON *object)
{
	return json_tree_at(object, "metadata", "ownerReferences", NULL);
}

static bool has_owner(const cJSON *object, const cJSON *reference)
{
	const cJSON *own;

	cJSON_ArrayForEach(own, owners_of(object))
	{
		if (is_same_text(own, reference, "kind") && is_same_text(own, reference, "name"))
			return true;
	}
	return false;
}

static bool are_kin(const cJSON *object, const cJSON *other)
{
	const cJSON *reference;

	cJSON_ArrayForEach(reference, owners_of(object))
	{
		if (is_owner(reference, other) || has_owner(other, reference))
			return true;
	}
	return false;
}

bool sweep_are_kin(const struct sweep_effect *object, const struct sweep_effect *other)
{
	cJSON *one = cJSON_Parse(object->content), *two = cJSON_Parse(other->content);
	bool are = are_kin(one, two);

	cJSON_Delete(one);
	cJSON_Delete(two);
	return are;
}
