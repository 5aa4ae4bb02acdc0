/* Discovery documents and names of resources. */
#include "schema/base/catalog.h"
#include "schema/base/similar.h"
#include "tests/unit/unit.h"

#include <stdio.h>

static const char core[] =
	"{\"kind\":\"APIGroupDiscoveryList\",\"items\":[{\"metadata\":{},\"versions\":[{\"version\":\"v1\",\"resources\":["
	"{\"resource\":\"pods\",\"responseKind\":{\"group\":\"\",\"version\":\"\",\"kind\":\"Pod\"},\"scope\":\"Namespaced\","
	"\"singularResource\":\"pod\",\"verbs\":[\"get\",\"list\",\"watch\"],\"shortNames\":[\"po\"],\"categories\":[\"all\"]},"
	"{\"resource\":\"events\",\"responseKind\":{\"kind\":\"Event\"},\"scope\":\"Namespaced\",\"singularResource\":\"event\","
	"\"verbs\":[\"list\",\"watch\"],\"shortNames\":[\"ev\"]},"
	"{\"resource\":\"bindings\",\"responseKind\":{\"kind\":\"Binding\"},\"scope\":\"Namespaced\","
	"\"singularResource\":\"binding\",\"verbs\":[\"create\"]},"
	"{\"resource\":\"nameless\",\"scope\":\"Namespaced\",\"verbs\":[\"list\",\"watch\"]}]}]}]}";

static const char groups[] =
	"{\"kind\":\"APIGroupDiscoveryList\",\"items\":[{\"metadata\":{\"name\":\"apps\"},\"versions\":["
	"{\"version\":\"v1\",\"resources\":[{\"resource\":\"deployments\",\"responseKind\":{\"kind\":\"Deployment\"},"
	"\"scope\":\"Namespaced\",\"singularResource\":\"deployment\",\"verbs\":[\"list\",\"watch\"],"
	"\"shortNames\":[\"deploy\"],\"categories\":[\"all\"]}]},"
	"{\"version\":\"v1beta1\",\"resources\":[{\"resource\":\"deployments\",\"responseKind\":{\"kind\":\"Deployment\"},"
	"\"scope\":\"Namespaced\",\"singularResource\":\"deployment\",\"verbs\":[\"list\",\"watch\"]}]}]},"
	"{\"metadata\":{\"name\":\"events.k8s.io\"},\"versions\":[{\"version\":\"v1\",\"resources\":["
	"{\"resource\":\"events\",\"responseKind\":{\"kind\":\"Event\"},\"scope\":\"Namespaced\",\"singularResource\":\"event\","
	"\"verbs\":[\"list\",\"watch\"],\"shortNames\":[\"ev\"]}]}]},"
	"{\"metadata\":{\"name\":\"metrics.k8s.io\"},\"versions\":[{\"version\":\"v1beta1\",\"resources\":["
	"{\"resource\":\"pods\",\"responseKind\":{\"kind\":\"PodMetrics\"},\"scope\":\"Namespaced\",\"singularResource\":\"pod\","
	"\"verbs\":[\"get\",\"list\"]}]}]}]}";

static struct catalog make(void)
{
	struct catalog c = {0};
	struct err err;

	ck_assert_ok(catalog_add_aggregated(&c, slice_of(core), &err), &err);
	ck_assert_ok(catalog_add_aggregated(&c, slice_of(groups), &err), &err);
	return c;
}

/* "resource.version.group" of everything chosen, joined by blanks. */
static const char *choice_text(const struct catalog_choice *choice)
{
	static char text[512];

	*text = 0;
	for (size_t i = 0; i < choice->count; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s.%s.%s", i ? " " : "",
			choice->items[i]->resource, choice->items[i]->version, choice->items[i]->group);
	return text;
}

static void expect(const char *names, const char *found)
{
	struct catalog c = make();
	struct catalog_choice choice = {0};
	struct err err;

	ck_assert_ok(catalog_choose(&c, names, &choice, &err), &err);
	ck_assert_str_eq(choice_text(&choice), found);
	catalog_choice_release(&choice);
	catalog_release(&c);
}

START_TEST(catalog_choose__takes_names_as_kubectl_does)
{
	expect("pods", "pods.v1.");
	expect("po", "pods.v1.");
	expect("Pod", "pods.v1.");
	expect("deploy", "deployments.v1.apps");
	expect("deployments.apps", "deployments.v1.apps");
	expect("deployments.v1beta1.apps", "deployments.v1beta1.apps");
	expect("ev.events.k8s.io", "events.v1.events.k8s.io");
	expect("events", "events.v1.");
	expect("po,deploy,pods", "pods.v1. deployments.v1.apps");
	expect("all", "pods.v1. deployments.v1.apps");
}
END_TEST

static void expect_found(const char *name, const char *found)
{
	struct catalog c = make();
	struct catalog_choice choice = {0};

	ck_assert_int_eq(catalog_find(&c, name, &choice), *found != 0);
	ck_assert_str_eq(choice_text(&choice), found);
	catalog_choice_release(&choice);
	catalog_release(&c);
}

START_TEST(catalog_find__takes_also_what_cannot_be_watched_and_both_of_two_twins)
{
	expect_found("Deploy", "deployments.v1.apps");
	expect_found("bindings", "bindings.v1.");
	expect_found("pods.metrics.k8s.io", "pods.v1beta1.metrics.k8s.io");
	expect_found("ev", "events.v1. events.v1.events.k8s.io");
	expect_found("events.events.k8s.io", "events.v1.events.k8s.io");
	expect_found("gadgets", "");
}
END_TEST

static void expect_meant(const char *word, const char *candidates, const char *meant)
{
	char *found = similar_in(slice_of(word), candidates);

	ck_assert_pstr_eq(found, meant);
	free(found);
}

START_TEST(similar__is_the_word_with_the_fewest_letters_changed_or_swapped)
{
	expect_meant("rts", "end cut fin rst stall", "rst");
	expect_meant("stal", "end,stall,stale", "stall");
	expect_meant("Compact", "compact", "compact");
	expect_meant("compcat", "end compact", "compact");
	expect_meant("gadget", "end compact", NULL);
	expect_meant("x", "a b", NULL);
	expect_meant("", "a", NULL);
	expect_meant("012345678901234567890123456789012345678901234567890123456789abcdef", "a", NULL);
}
END_TEST

START_TEST(catalog_choose__names_what_is_not_there)
{
	struct catalog c = make();
	struct catalog_choice choice = {0};
	struct err err;

	ck_assert_int_eq(catalog_choose(&c, "pods,gadgets", &choice, &err), ERR_NOT_FOUND);
	ck_assert_str_eq(err.text, "server does not have a resource 'gadgets'");
	ck_assert_int_eq(catalog_choose(&c, "pdos", &choice, &err), ERR_NOT_FOUND);
	ck_assert_str_eq(err.text, "server does not have a resource 'pdos'; did you mean 'pods'?");
	ck_assert_int_eq(catalog_choose(&c, "Deploymet.batch", &choice, &err), ERR_NOT_FOUND);
	ck_assert_str_eq(err.text,
		"server does not have a resource 'deploymet.batch'; did you mean 'deployments.apps'?");
	ck_assert_int_eq(catalog_choose(&c, "bindings", &choice, &err), ERR_NOT_FOUND);
	ck_assert_str_eq(err.text, "resource 'bindings' cannot be listed and watched");
	ck_assert_int_eq(catalog_choose(&c, "nameless", &choice, &err), ERR_NOT_FOUND);
	catalog_choice_release(&choice);
	catalog_release(&c);
}
END_TEST

START_TEST(catalog_choose_all__takes_each_thing_once_and_exclude_takes_it_out)
{
	struct catalog c = make();
	struct catalog_choice choice = {0};

	catalog_choose_all(&c, &choice);
	ck_assert_str_eq(
		choice_text(&choice), "pods.v1. events.v1. deployments.v1.apps events.v1.events.k8s.io");
	ck_assert_uint_eq(catalog_drop_twins(&choice), 1);
	ck_assert_str_eq(choice_text(&choice), "pods.v1. events.v1. deployments.v1.apps");
	catalog_exclude(&c, "ev,unknown,*.apps", &choice);
	ck_assert_str_eq(choice_text(&choice), "pods.v1.");
	catalog_choice_release(&choice);
	catalog_release(&c);
}
END_TEST

/* What is left of everything without `names`. */
static void expect_without(const char *names, const char *left)
{
	struct catalog c = make();
	struct catalog_choice choice = {0};

	catalog_choose_all(&c, &choice);
	catalog_exclude(&c, names, &choice);
	ck_assert_str_eq(choice_text(&choice), left);
	catalog_choice_release(&choice);
	catalog_release(&c);
}

START_TEST(catalog_exclude__without_a_group_takes_the_twin_out_too)
{
	expect_without("events", "pods.v1. deployments.v1.apps");
	expect_without("ev", "pods.v1. deployments.v1.apps");
	expect_without("events.", "pods.v1. deployments.v1.apps events.v1.events.k8s.io");
	expect_without("events.events.k8s.io", "pods.v1. events.v1. deployments.v1.apps");
	expect_without("*.events.k8s.io", "pods.v1. events.v1. deployments.v1.apps");
}
END_TEST

static char doubts[512];

static void note_doubt(const struct err *why)
{
	ck_assert_int_eq(why->code, ERR_NOT_FOUND);
	snprintf(doubts + strlen(doubts), sizeof(doubts) - strlen(doubts), "%.150s\n", why->text);
}

START_TEST(catalog_unknown__names_each_word_that_means_nothing)
{
	struct catalog c = make();

	*doubts = 0;
	catalog_unknown(&c, "po,Pdos,bindings,*.apps,all,gadgets.example.com,*.example.com,", note_doubt);
	ck_assert_str_eq(doubts, "server does not have a resource 'pdos'; did you mean 'pods'?\n"
				 "server does not have a resource 'gadgets.example.com'\n"
				 "server does not have a group 'example.com'\n");
	catalog_release(&c);
}
END_TEST

START_TEST(catalog_add_classic__reads_a_resource_list)
{
	struct catalog c = {0};
	struct err err;

	ck_assert_ok(
		catalog_add_classic(&c,
			slice_of(
				"{\"kind\":\"APIResourceList\",\"groupVersion\":\"apps/v1\",\"resources\":["
				"{\"name\":\"deployments\",\"singularName\":\"deployment\",\"namespaced\":true,"
				"\"kind\":\"Deployment\",\"verbs\":[\"list\",\"watch\"]},"
				"{\"name\":\"deployments/scale\",\"kind\":\"Scale\",\"verbs\":[\"get\"]}]}"),
			&err),
		&err);
	ck_assert_uint_eq(c.count, 1);
	ck_assert_str_eq(c.items[0].group, "apps");
	ck_assert(c.items[0].namespaced && c.items[0].watchable);
	ck_assert_int_eq(catalog_add_classic(&c, slice_of("{\"kind\":\"Status\"}"), &err), ERR_PROTOCOL);
	ck_assert_int_eq(catalog_add_classic(&c, slice_of("<html>"), &err), ERR_PROTOCOL);
	catalog_release(&c);
}
END_TEST

UNIT_MAIN("catalog", catalog_choose__takes_names_as_kubectl_does, catalog_choose__names_what_is_not_there,
	catalog_find__takes_also_what_cannot_be_watched_and_both_of_two_twins,
	similar__is_the_word_with_the_fewest_letters_changed_or_swapped,
	catalog_choose_all__takes_each_thing_once_and_exclude_takes_it_out,
	catalog_exclude__without_a_group_takes_the_twin_out_too,
	catalog_unknown__names_each_word_that_means_nothing, catalog_add_classic__reads_a_resource_list)
