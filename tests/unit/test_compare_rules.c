/* test_compare_rules.c: rules where objects are compared: which fields they cover. */
#include "schema/run/compare_rules.h"
#include "tests/unit/unit.h"

static struct compare_rules *rules_of(const char *rule)
{
	struct compare_rules *rules = compare_rules_new_bare();
	struct err err;

	ck_assert_ok(compare_rules_ignore(rules, rule, &err), &err);
	return rules;
}

static bool covers(const char *rule, const char *resource, const char *field)
{
	struct compare_rules *rules = rules_of(rule);
	bool covers = compare_rules_skip_path(rules, resource, slice_of(field));

	compare_rules_free(rules);
	return covers;
}

START_TEST(compare_rules__cover_a_field_and_all_below_it)
{
	ck_assert(covers("spec", "pods", "spec"));
	ck_assert(covers("spec", "pods", "spec.containers[web].image"));
	ck_assert(covers("metadata.annotations[a.b/c]", "pods", "metadata.annotations[a.b/c]"));
	ck_assert(!covers("spec.containers", "pods", "spec"));
	ck_assert(!covers("spec", "pods", "special"));
	ck_assert(!covers("spec", "pods", ""));
}
END_TEST

START_TEST(compare_rules__may_leave_out_names_of_items)
{
	ck_assert(covers("spec.containers.image", "pods", "spec.containers[web].image"));
	ck_assert(covers("spec.containers[web].image", "pods", "spec.containers[web].image"));
	ck_assert(!covers("spec.containers[web]", "pods", "spec.containers[side].image"));
	ck_assert(!covers("spec.image", "pods", "spec.containers.image"));
}
END_TEST

START_TEST(compare_rules__have_stars_for_names_and_for_any_depth)
{
	ck_assert(covers("spec.*.image", "pods", "spec.containers[web].image"));
	ck_assert(covers("spec.containers.*.image", "pods", "spec.containers[web].image"));
	ck_assert(covers("**.image", "pods", "spec.containers[web].image"));
	ck_assert(covers("**.containers", "pods", "spec.containers[web].image"));
	ck_assert(!covers("**.image", "pods", "spec.containers[web].imagePullPolicy"));
}
END_TEST

START_TEST(compare_rules__are_of_a_resource_and_its_group)
{
	struct compare_rules *rules = rules_of("deployments.apps=*");

	ck_assert(compare_rules_skip_object(rules, "deployments.apps"));
	ck_assert(!compare_rules_skip_object(rules, "deployments.extensions"));
	ck_assert(compare_rules_skip_path(rules, "deployments.apps", slice_of("spec")));
	ck_assert(covers("pods=status", "pods", "status.phase"));
	ck_assert(!covers("pods=status", "nodes", "status.phase"));
	compare_rules_free(rules);
	rules = rules_of("deployments=spec");
	ck_assert(!compare_rules_skip_object(rules, "deployments.apps"));
	compare_rules_free(rules);
}
END_TEST

START_TEST(compare_rules__of_objects_have_no_verbs_subresources_and_kinds_of_values)
{
	static const struct {
		const char *rule;
		int rc;
	} cases[] = {{"pods=*", 0}, {"**.image", 0}, {"pods:update=*", ERR_USAGE},
		{"pods/status=*", ERR_USAGE}, {"@times", ERR_USAGE}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct compare_rules *rules = rules_of(cases[i].rule);

		ck_assert_int_eq(compare_rules_check_objects(rules, NULL), cases[i].rc);
		compare_rules_free(rules);
	}
}
END_TEST

UNIT_MAIN("compare_rules", compare_rules__cover_a_field_and_all_below_it,
	compare_rules__may_leave_out_names_of_items, compare_rules__have_stars_for_names_and_for_any_depth,
	compare_rules__are_of_a_resource_and_its_group,
	compare_rules__of_objects_have_no_verbs_subresources_and_kinds_of_values)
