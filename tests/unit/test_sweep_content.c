/* test_sweep_content.c: what of an object differs between two runs of a sweep. */
#include "tests/unit/unit.h"
#include "tools/sweep/sweep_content.h"

static struct sweep_effect object(const char *tape, const char *content)
{
	return (struct sweep_effect){.key = (char *)"things shop/a",
		.resource = (char *)"things",
		.content = (char *)content,
		.tape = (char *)tape};
}

/* Checks the first difference, as "FIELD WITHOUT WITH". NULL: there must be none. */
static void expect(struct sweep_effect without, struct sweep_effect with, const struct sweep_measure *m,
	const char *told)
{
	struct content_difference d = {0};
	bool differs = sweep_content_differs(m ? m : &(struct sweep_measure){0}, &without, &with, &d);

	ck_assert_int_eq(differs, told != NULL);
	if (differs) {
		char *text =
			xasprintf("%s %s %s", d.field, d.without ? d.without : "-", d.with ? d.with : "-");

		ck_assert_str_eq(text, told);
		free(text);
	}
	content_difference_release(&d);
}

START_TEST(sweep_content__which_version_of_itself_the_program_saw_does_not_count)
{
	expect(object(NULL, "{\"seen\":\"" SWEEP_VERSION "\"}"), object(NULL, "{\"seen\":\"107\"}"), NULL,
		NULL);
	expect(object(NULL, "{\"seen\":\"107\"}"), object(NULL, "{\"seen\":\"" SWEEP_VERSION "\"}"), NULL,
		NULL);
	expect(object(NULL, "{\"seen\":\"107\"}"), object(NULL, "{\"seen\":\"108\"}"), NULL,
		"seen \"107\" \"108\"");
	expect(object(NULL, "{\"seen\":\"" SWEEP_VERSION "\"}"), object(NULL, "{\"seen\":\"\"}"), NULL,
		"seen \"" SWEEP_VERSION "\" \"\"");
	expect(object(NULL, "{\"seen\":\"" SWEEP_VERSION "\"}"), object(NULL, "{}"), NULL,
		"seen \"" SWEEP_VERSION "\" -");
}
END_TEST

START_TEST(sweep_content__of_an_object_of_the_program_counts_all)
{
	expect(object(NULL, "{\"spec\":{\"a\":1}}"), object(NULL, "{\"spec\":{\"a\":1}}"), NULL, NULL);
	expect(object(NULL, "{\"spec\":{\"a\":1}}"), object(NULL, "{\"spec\":{\"a\":2}}"), NULL,
		"spec.a 1 2");
	expect(object(NULL, "{\"spec\":{\"a\":1}}"), object(NULL, "{\"spec\":{}}"), NULL, "spec.a 1 -");
	expect(object(NULL, "true"), object(NULL, "no JSON"), NULL, " true no JSON");
}
END_TEST

START_TEST(sweep_content__an_item_that_another_took_the_place_of_counts)
{
	const char *tape = "{\"f\":[\"theirs\"]}", *one = "{\"f\":[\"own\"]}",
		   *both = "{\"f\":[\"theirs\",\"own\"]}";

	expect(object(tape, both), object(tape, one), NULL, "f[theirs] \"theirs\" -");
	expect(object(tape, one), object(tape, both), NULL, "f[theirs] - \"theirs\"");
	expect(object(both, both), object(one, one), NULL, NULL);
}
END_TEST

START_TEST(sweep_content__null_is_nothing)
{
	expect(object(NULL, "{\"meta\":{\"made\":null}}"), object(NULL, "{\"meta\":{}}"), NULL, NULL);
	expect(object(NULL, "{\"meta\":{}}"), object(NULL, "{\"meta\":{\"made\":null}}"), NULL, NULL);
	expect(object(NULL, "{\"meta\":{\"made\":1}}"), object(NULL, "{\"meta\":{\"made\":null}}"), NULL,
		"meta.made 1 null");
}
END_TEST

START_TEST(sweep_content__of_an_object_of_the_tape_counts_what_either_program_changed)
{
	/* both wrote b, over other versions */
	expect(object("{\"a\":1}", "{\"a\":1,\"b\":5}"), object("{\"a\":2}", "{\"a\":2,\"b\":5}"), NULL,
		NULL);
	expect(object("{\"a\":1}", "{\"a\":1,\"b\":5}"), object("{\"a\":2}", "{\"a\":2,\"b\":6}"), NULL,
		"b 5 6");
	expect(object("{\"a\":1}", "{\"a\":1,\"b\":5}"), object("{\"a\":2}", "{\"a\":2}"), NULL, "b 5 -");
	/* one did not write a, and the tape has changed it */
	expect(object("{\"a\":1}", "{\"a\":9}"), object("{\"a\":2}", "{\"a\":2}"), NULL, "a 9 2");
}
END_TEST

START_TEST(sweep_content__what_one_changed_and_the_other_found_changed_is_the_same)
{
	expect(object("{}", "{\"done\":true}"), object("{\"done\":true}", "{\"done\":true}"), NULL, NULL);
	expect(object("{}", "{\"done\":true}"), object("{\"done\":true}", "{}"), NULL, "done true -");
	expect(object("{\"old\":1}", "{}"), object("{}", "{}"), NULL, NULL);
}
END_TEST

START_TEST(sweep_content__of_a_struct_that_one_added_counts_what_it_put_there)
{
	expect(object("{}", "{\"status\":{\"mine\":1}}"),
		object("{\"status\":{\"others\":2}}", "{\"status\":{\"mine\":1,\"others\":2}}"), NULL, NULL);
	expect(object("{}", "{\"status\":{\"mine\":1}}"),
		object("{\"status\":{\"others\":2}}", "{\"status\":{\"others\":2}}"), NULL,
		"status.mine 1 -");
}
END_TEST

START_TEST(sweep_content__knows_items_by_their_names)
{
	static const char one[] = "[{\"type\":\"Ready\",\"status\":\"True\"}]",
			  two[] = "[{\"type\":\"Old\"},{\"type\":\"Ready\",\"status\":\"False\"}]",
			  other[] = "[{\"type\":\"Old\"},{\"type\":\"Ready\",\"status\":\"True\"}]";

	expect(object("[]", one), object("[{\"type\":\"Old\"}]", other), NULL, NULL);
	expect(object("[]", one), object("[{\"type\":\"Old\"}]", two), NULL,
		"[Ready].status \"True\" \"False\"");
}
END_TEST

static struct sweep_effect of_resource(const char *resource, const char *content)
{
	return (struct sweep_effect){
		.key = (char *)"a", .resource = (char *)resource, .content = (char *)content};
}

START_TEST(sweep_content__the_number_of_a_controller_revision_does_not_count)
{
	static const char one[] = "{\"data\":{\"revision\":1},\"revision\":1}",
			  three[] = "{\"data\":{\"revision\":1},\"revision\":3}",
			  other[] = "{\"data\":{\"revision\":3},\"revision\":3}";

	expect(of_resource("controllerrevisions.apps", one), of_resource("controllerrevisions.apps", three),
		NULL, NULL);
	expect(of_resource("controllerrevisions.apps", one), of_resource("controllerrevisions.apps", other),
		NULL, "data.revision 1 3");
	expect(of_resource("things", one), of_resource("things", three), NULL, "revision 1 3");
}
END_TEST

START_TEST(sweep_content__of_how_many_states_were_seen_nothing_counts)
{
	static const char three[] = "{\"metadata\":{\"annotations\":{\"x.io/revision\":\"3\"}}}",
			  two[] = "{\"metadata\":{\"annotations\":{\"x.io/revision\":\"2\"}}}",
			  word[] = "{\"metadata\":{\"annotations\":{\"x.io/revision\":\"two\"}}}";

	expect(object(NULL, three), object(NULL, two), NULL, NULL);
	expect(object(NULL, two), object(NULL, three), NULL, NULL);
	expect(object(NULL, three), object(NULL, word), NULL,
		"metadata.annotations[x.io/revision] \"3\" \"two\"");
	expect(object(NULL, "{\"spec\":{\"revision\":3}}"), object(NULL, "{\"spec\":{\"revision\":2}}"), NULL,
		"spec.revision 3 2");
}
END_TEST

START_TEST(sweep_content__the_message_of_a_condition_does_not_count_and_its_reason_does)
{
	static const char one
		[] = "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"reason\":\"A\",\"message\":\"a\"}]}}",
	     other[] =
		     "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"reason\":\"A\",\"message\":\"b\"}]}}",
	     third[] =
		     "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"reason\":\"B\",\"message\":\"a\"}]}}";

	expect(object(NULL, one), object(NULL, other), NULL, NULL);
	expect(object(NULL, one), object(NULL, third), NULL, "status.conditions[Ready].reason \"A\" \"B\"");
}
END_TEST

#define CONDITIONS(items) "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}" items "]}}"

START_TEST(sweep_content__a_condition_that_is_not_true_may_be_absent)
{
	static const char none[] = CONDITIONS(""),
			  no[] = CONDITIONS(",{\"type\":\"Idle\",\"status\":\"False\"}"),
			  yes[] = CONDITIONS(",{\"type\":\"Idle\",\"status\":\"True\"}");

	expect(object(NULL, no), object(NULL, none), NULL, NULL);
	expect(object(NULL, yes), object(NULL, none), NULL,
		"status.conditions[Idle] {\"type\":\"Idle\",\"status\":\"True\"} -");
	expect(object(NULL, none), object(NULL, no), NULL,
		"status.conditions[Idle] - {\"type\":\"Idle\",\"status\":\"False\"}");
	expect(object(NULL, no), object(NULL, "{\"status\":{}}"), NULL,
		"status.conditions [{\"type\":\"Ready\",\"status\":\"True\"},{\"type\":\"Idle\",\"status\":\"False\"}] -");
}
END_TEST

START_TEST(sweep_content__learns_fields_that_differ_by_themselves)
{
	struct sweep_effect one = object(NULL, "{\"data\":{\"key\":\"x\",\"name\":\"n\"}}"),
			    other = object(NULL, "{\"data\":{\"key\":\"y\",\"name\":\"n\"}}");
	struct sweep_measure m = {0};

	sweep_content_learn(&m, &one, &other);
	sweep_content_learn(&m, &one, &other);
	ck_assert_uint_eq(m.unsteady.count, 1);
	ck_assert_str_eq(m.unsteady.items[0], "things data.key");
	expect(one, other, &m, NULL);
	expect(one, object(NULL, "{\"data\":{\"key\":\"z\",\"name\":\"m\"}}"), &m, "data.name \"n\" \"m\"");
	expect(one, object(NULL, "{}"), &m, "data {\"key\":\"x\",\"name\":\"n\"} -");
	sweep_measure_release(&m);
}
END_TEST

START_TEST(sweep_content__learns_that_names_of_items_are_chance)
{
	struct sweep_effect one = object(NULL, "{\"volumes\":[{\"name\":\"a-1\"}],\"x\":1}"),
			    other = object(NULL, "{\"volumes\":[{\"name\":\"a-2\"}],\"x\":1}");
	struct sweep_measure m = {0};

	sweep_content_learn(&m, &one, &other);
	ck_assert_uint_eq(m.unsteady.count, 1);
	ck_assert_str_eq(m.unsteady.items[0], "things volumes[*]");
	expect(one, object(NULL, "{\"volumes\":[{\"name\":\"a-3\"}],\"x\":1}"), &m, NULL);
	expect(one, object(NULL, "{\"volumes\":[{\"name\":\"a-3\"}],\"x\":2}"), &m, "x 1 2");
	sweep_measure_release(&m);
}
END_TEST

START_TEST(sweep_content__learns_a_status_as_one_field)
{
	struct sweep_effect one = object(NULL, "{\"spec\":1,\"status\":{\"a\":1,\"b\":1}}"),
			    other = object(NULL, "{\"spec\":1,\"status\":{\"a\":2,\"b\":1}}");
	struct sweep_measure m = {0};

	sweep_content_learn(&m, &one, &other);
	expect(one, object(NULL, "{\"spec\":1,\"status\":{\"a\":1,\"b\":3}}"), &m, NULL);
	expect(one, object(NULL, "{\"spec\":2,\"status\":{\"a\":1,\"b\":3}}"), &m, "spec 1 2");
	sweep_measure_release(&m);
}
END_TEST

UNIT_MAIN("sweep_content", sweep_content__which_version_of_itself_the_program_saw_does_not_count,
	sweep_content__of_an_object_of_the_program_counts_all,
	sweep_content__an_item_that_another_took_the_place_of_counts, sweep_content__null_is_nothing,
	sweep_content__of_an_object_of_the_tape_counts_what_either_program_changed,
	sweep_content__what_one_changed_and_the_other_found_changed_is_the_same,
	sweep_content__of_a_struct_that_one_added_counts_what_it_put_there,
	sweep_content__the_number_of_a_controller_revision_does_not_count,
	sweep_content__of_how_many_states_were_seen_nothing_counts,
	sweep_content__the_message_of_a_condition_does_not_count_and_its_reason_does,
	sweep_content__a_condition_that_is_not_true_may_be_absent, sweep_content__knows_items_by_their_names,
	sweep_content__learns_fields_that_differ_by_themselves,
	sweep_content__learns_that_names_of_items_are_chance, sweep_content__learns_a_status_as_one_field)
