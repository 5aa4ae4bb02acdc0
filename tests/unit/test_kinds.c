/* test_kinds.c: what the replay knows of the built-in kinds, against the tables made from Kubernetes' own
 * code. */
#include "replayer/kinds/write_table.h"
#include "replayer/table/meta_order.h"
#include "replayer/table/table_columns.h"
#include "replayer/table/table_headings.h"
#include "replayer/table/view.h"
#include "tests/unit/unit.h"

static struct err err;

static const char *resource_of(const char *group, const char *kind)
{
	for (unsigned i = 0; i < write_resource_count; i++) {
		if (strcmp(write_resources[i].kind, kind) == 0 &&
			strcmp(write_resources[i].group, group) == 0)
			return write_resources[i].resource;
	}
	return NULL;
}

static void check_column(const struct table_column *c, const struct table_heading *h)
{
	ck_assert_msg(c->name && strcmp(c->name, h->name) == 0, "%s: found column '%s', expected '%s'",
		h->kind, c->name ? c->name : "none", h->name);
	ck_assert_msg(strcmp(c->type, h->type) == 0, "%s %s: found type '%s', expected '%s'", h->kind,
		h->name, c->type, h->type);
	ck_assert_msg(strcmp(c->format ? c->format : "", h->format) == 0, "%s %s: expected format '%s'",
		h->kind, h->name, h->format);
	ck_assert_msg(c->priority == h->priority, "%s %s: found priority %d, expected %d", h->kind, h->name,
		c->priority, h->priority);
}

START_TEST(columns__are_those_of_the_api_server)
{
	const struct table_column *c = NULL;
	const struct table_heading *before = NULL;
	unsigned kinds = 0;

	for (unsigned i = 0; i < table_heading_count; i++) {
		const struct table_heading *h = &table_headings[i];

		if (!*h->kind)
			continue;
		if (!before || strcmp(before->kind, h->kind) != 0 || strcmp(before->group, h->group) != 0) {
			const char *resource = resource_of(h->group, h->kind);

			ck_assert_msg(!c || !c->name || c->priority == COLUMN_WITHOUT_HEADING,
				"'%s' has a column too many: '%s'", before ? before->kind : "",
				c ? c->name : "");
			ck_assert_msg(resource != NULL, "no resource has the kind '%s'", h->kind);
			c = table_kind_columns(slice_of(h->group), slice_of(resource));
			kinds++;
		}
		check_column(c++, h);
		before = h;
	}
	ck_assert_uint_gt(kinds, 50);
}
END_TEST

static void assert_bookmark(
	char *group, char *version, char *kind, bool initial_end, struct slice recorded, const char *expected)
{
	const struct collection c = {
		.resource = {.apigroup = group, .version = version, .kind = kind},
		.custom = strchr(group, '.') && !strstr(group, ".k8s.io"),
	};
	struct buf b;

	buf_init(&b, 10000);
	ck_assert_ok(bookmark_object(&c, recorded, 7, initial_end, &b, &err), &err);
	ck_assert_slice_eq(buf_slice(&b), expected);
	buf_release(&b);
}

START_TEST(bookmark__has_the_empty_members_of_its_kind)
{
	const struct slice none = {NULL, 0};

	assert_bookmark("", "v1", "ConfigMap", false, none,
		"{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"7\"}}");
	assert_bookmark("", "v1", "Pod", true, none,
		"{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"7\",\"annotations\":"
		"{\"k8s.io/initial-events-end\":\"true\"}},\"spec\":{\"containers\":null},\"status\":{}}");
	assert_bookmark("", "v1", "Event", false, none,
		"{\"kind\":\"Event\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"7\"},"
		"\"involvedObject\":{},\"source\":{},\"firstTimestamp\":null,\"lastTimestamp\":null,"
		"\"eventTime\":null,\"reportingComponent\":\"\",\"reportingInstance\":\"\"}");
	assert_bookmark("example.com", "v1", "Widget", true, none,
		"{\"apiVersion\":\"example.com/v1\",\"kind\":\"Widget\",\"metadata\":{\"annotations\":"
		"{\"k8s.io/initial-events-end\":\"true\"},\"resourceVersion\":\"7\"}}");
}
END_TEST

START_TEST(bookmark__of_a_daemon_set_keeps_its_annotation_beside_the_end_mark)
{
	const char *rest =
		"\"spec\":{\"selector\":null,\"template\":{\"metadata\":{},\"spec\":{\"containers\":null}},"
		"\"updateStrategy\":{}},\"status\":{\"currentNumberScheduled\":0,\"numberMisscheduled\":0,"
		"\"desiredNumberScheduled\":0,\"numberReady\":0}}";
	char *expected = xasprintf(
		"{\"kind\":\"DaemonSet\",\"apiVersion\":\"apps/v1\",\"metadata\":{\"resourceVersion\":\"7\","
		"\"annotations\":{\"deprecated.daemonset.template.generation\":\"0\","
		"\"k8s.io/initial-events-end\":\"true\"}},%s",
		rest);

	assert_bookmark("apps", "v1", "DaemonSet", true, (struct slice){NULL, 0}, expected);
	free(expected);
}
END_TEST

START_TEST(bookmark__is_as_the_recorded_server_made_it)
{
	assert_bookmark("", "v1", "Pod", false,
		slice_of(
			"{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"3\",\"annotations\":"
			"{\"k8s.io/initial-events-end\":\"true\"}},\"spec\":{\"old\":1}}"),
		"{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"7\"},\"spec\":{\"old\":1}}");
}
END_TEST

static void assert_partial(const struct collection *c, const char *metadata, const char *expected)
{
	const struct view v = {.form = FORM_PARTIAL, .collection = c};
	char *object = xasprintf("{\"kind\":\"X\",\"metadata\":%s}", metadata);
	char *whole = xasprintf(
		"{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":%s}",
		expected);
	struct buf b;

	buf_init(&b, 10000);
	ck_assert_ok(view_object(&v, slice_of(object), &b, &err), &err);
	ck_assert_slice_eq(buf_slice(&b), whole);
	buf_release(&b);
	free(object);
	free(whole);
}

START_TEST(metadata__of_a_daemon_set_lacks_what_the_server_makes_up)
{
	static const struct collection c = {
		.resource = {.apigroup = "apps", .version = "v1", .kind = "DaemonSet"}};

	assert_partial(&c,
		"{\"name\":\"d\",\"annotations\":{\"deprecated.daemonset.template.generation\":\"1\"}}",
		"{\"name\":\"d\"}");
	assert_partial(&c,
		"{\"name\":\"d\",\"annotations\":{\"a\":\"b\",\"deprecated.daemonset.template.generation\":\"1\"},"
		"\"finalizers\":[]}",
		"{\"name\":\"d\",\"annotations\":{\"a\":\"b\"},\"finalizers\":[]}");
	assert_partial(&c,
		"{\"annotations\":{\"deprecated.daemonset.template.generation\":\"1\",\"e\":\"f\"}}",
		"{\"annotations\":{\"e\":\"f\"}}");
	assert_partial(&c,
		"{\"annotations\":{\"deprecated.daemonset.template.generation\":\"1\"},\"name\":\"d\"}",
		"{\"name\":\"d\"}");
	assert_partial(&c, "{\"annotations\":{\"a\":\"b\"}}", "{\"annotations\":{\"a\":\"b\"}}");
}
END_TEST

START_TEST(metadata__of_a_custom_resource_are_in_the_order_of_the_server)
{
	static const struct collection c = {
		.resource = {.apigroup = "example.com", .version = "v1", .kind = "Widget"}, .custom = true};

	assert_partial(&c,
		"{\"annotations\":{\"x\":\"y\"},\"creationTimestamp\":null,\"managedFields\":[{\"apiVersion\":\"v1\","
		"\"manager\":\"m\"}],\"name\":\"w\",\"odd\":{},\"ownerReferences\":[{\"uid\":\"u\",\"kind\":\"K\"},{}]}",
		"{\"name\":\"w\",\"creationTimestamp\":null,\"annotations\":{\"x\":\"y\"},\"ownerReferences\":"
		"[{\"kind\":\"K\",\"uid\":\"u\"},{}],\"managedFields\":[{\"manager\":\"m\",\"apiVersion\":\"v1\"}],"
		"\"odd\":{}}");
	assert_partial(&c, "{}", "{}");
	assert_partial(
		&c, "{\"ownerReferences\":null,\"name\":\"w\"}", "{\"name\":\"w\",\"ownerReferences\":null}");
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		columns__are_those_of_the_api_server,
		bookmark__has_the_empty_members_of_its_kind,
		bookmark__of_a_daemon_set_keeps_its_annotation_beside_the_end_mark,
		bookmark__is_as_the_recorded_server_made_it,
		metadata__of_a_daemon_set_lacks_what_the_server_makes_up,
		metadata__of_a_custom_resource_are_in_the_order_of_the_server,
	};

	return unit_main("kinds", tests, COUNT_OF(tests));
}
