/* bundle_layout.c: which file of a bundle is what. See bundle_internal.h. */
#include "schema/base/count_of.h"
#include "schema/base/moment.h"
#include "tools/import/bundle_internal.h"

#include <stdio.h>

#define PARTS_MAX 12 /* of a path; deeper files are none that we look for */

/* A path in its parts. */
struct path_parts {
	struct slice items[PARTS_MAX];
	size_t count;
};

static bool split(const char *path, struct path_parts *ret)
{
	struct slice rest = slice_of(path);

	ret->count = 0;
	while (rest.ptr) {
		struct slice part = slice_cut(&rest, '/');

		if (part.len == 0 || slice_is(part, "."))
			continue;
		if (ret->count == PARTS_MAX)
			return false;
		ret->items[ret->count++] = part;
	}
	return ret->count > 0;
}

static struct slice without(struct slice s, const char *ending)
{
	return slice_ends(s, ending) ? (struct slice){s.ptr, s.len - strlen(ending)} : s;
}

/* The parts from the first of that name on; count 0 when there is none. */
static struct path_parts parts_from(const struct path_parts *p, const char *name)
{
	struct path_parts found = {.count = 0};

	for (size_t i = 0; i < p->count; i++) {
		if (!slice_is(p->items[i], name))
			continue;
		found.count = p->count - i;
		memcpy(found.items, p->items + i, found.count * sizeof(*found.items));
		break;
	}
	return found;
}

static struct slice last_of(const struct path_parts *p)
{
	return p->items[p->count - 1];
}

/* ---- which form ---- */

/* A folder of crust-gather is named after an apiVersion: "v1", "apps-v1". */
static bool is_api_version(struct slice s)
{
	const char *dash = memrchr(s.ptr, '-', s.len);
	struct slice version = dash ? (struct slice){dash + 1, (size_t)(s.ptr + s.len - dash - 1)} : s;

	return version.len >= 2 && version.ptr[0] == 'v' && version.ptr[1] >= '0' && version.ptr[1] <= '9';
}

static enum bundle_form form_of_namespace(const struct path_parts *p)
{
	if (p->count == 5 && is_api_version(p->items[2]))
		return BUNDLE_CRUST_GATHER;
	if (p->count == 3 && slice_equal(without(p->items[2], ".yaml"), p->items[1]))
		return BUNDLE_MUST_GATHER;
	return p->count >= 4 && slice_is(p->items[2], "core") ? BUNDLE_MUST_GATHER : BUNDLE_ANY;
}

enum bundle_form bundle_form_of(const char *path)
{
	struct path_parts all, inner;

	if (!split(path, &all))
		return BUNDLE_ANY;
	if (slice_is(last_of(&all), "collected.timestamp"))
		return BUNDLE_CRUST_GATHER;
	if (parts_from(&all, "cluster-scoped-resources").count > 1)
		return BUNDLE_MUST_GATHER;
	if (parts_from(&all, "cluster-resources").count > 1)
		return BUNDLE_SUPPORT_BUNDLE;
	inner = parts_from(&all, "cluster");
	if (inner.count == 4 && is_api_version(inner.items[1]))
		return BUNDLE_CRUST_GATHER;
	inner = parts_from(&all, "namespaces");
	return inner.count ? form_of_namespace(&inner) : BUNDLE_ANY;
}

const char *bundle_form_name(enum bundle_form form)
{
	static const char *const names[] = {[BUNDLE_ANY] = "bundle",
		[BUNDLE_MUST_GATHER] = "must-gather",
		[BUNDLE_SUPPORT_BUNDLE] = "support-bundle",
		[BUNDLE_CRUST_GATHER] = "crust-gather"};

	return names[form];
}

/* ---- must-gather ---- */

/* GROUP/PLURAL.yaml or GROUP/PLURAL/NAME.yaml, from parts->items[at] on. */
static struct bundle_part in_group(const struct path_parts *p, size_t at, struct slice namespace)
{
	struct bundle_part part = {.kind = PART_OBJECTS, .is_yaml = true, .namespace = namespace};

	if ((p->count != at + 2 && p->count != at + 3) || !slice_ends(last_of(p), ".yaml"))
		return (struct bundle_part){.kind = PART_OTHER};
	part.group = slice_is(p->items[at], "core") ? (struct slice){"", 0} : p->items[at];
	part.plural = p->count == at + 2 ? without(p->items[at + 1], ".yaml") : p->items[at + 1];
	return part;
}

static struct bundle_part core_object(struct slice namespace, const char *plural)
{
	return (struct bundle_part){.kind = PART_OBJECTS,
		.is_yaml = true,
		.namespace = namespace,
		.group = {"", 0},
		.plural = slice_of(plural)};
}

/* The Namespace, and pods beside their logs, lie elsewhere than the rest. */
static struct bundle_part in_namespace(const struct path_parts *p)
{
	if (p->count == 3 && slice_equal(without(p->items[2], ".yaml"), p->items[1]))
		return core_object((struct slice){NULL, 0}, "namespaces");
	if (p->count == 5 && slice_is(p->items[2], "pods") &&
		slice_equal(without(p->items[4], ".yaml"), p->items[3]))
		return core_object(p->items[1], "pods");
	if (p->count < 4 || slice_is(p->items[2], "pods"))
		return (struct bundle_part){.kind = PART_OTHER};
	return in_group(p, 2, p->items[1]);
}

static struct bundle_part part_of_must_gather(const struct path_parts *all)
{
	struct path_parts inner = parts_from(all, "cluster-scoped-resources");

	if (inner.count)
		return in_group(&inner, 1, (struct slice){NULL, 0});
	if (parts_from(all, "audit_logs").count)
		return (struct bundle_part){.kind = PART_AUDIT_LOG};
	inner = parts_from(all, "namespaces");
	if (inner.count)
		return in_namespace(&inner);
	if (slice_is(last_of(all), "timestamp"))
		return (struct bundle_part){.kind = PART_MOMENT};
	return (struct bundle_part){.kind = PART_OTHER};
}

/* ---- Troubleshoot ---- */

/* A custom resource lies under the name of its definition: "crontabs.stable.example.com". */
static void name_custom(struct bundle_part *part, struct slice crd)
{
	part->group = crd;
	part->plural = slice_cut(&part->group, '.');
}

static struct bundle_part part_of_cluster_resources(const struct path_parts *p)
{
	struct bundle_part part = {.kind = PART_OBJECTS, .is_yaml = slice_ends(last_of(p), ".yaml")};
	struct slice name = without(without(last_of(p), ".json"), ".yaml");
	bool is_custom = p->count > 2 && slice_is(p->items[1], "custom-resources");

	if (slice_is(name, "groups") && p->count == 2)
		part.kind = PART_GROUPS;
	else if (slice_is(name, "resources") && p->count == 2)
		part.kind = PART_RESOURCES;
	else if (slice_ends(name, "-errors") || slice_is(p->items[1], "auth-cani-list") ||
		 name.len == last_of(p).len || p->count > (is_custom ? 4u : 3u))
		part.kind = PART_OTHER;
	else if (is_custom)
		name_custom(&part, p->count == 3 ? name : p->items[2]);
	if (p->count == (is_custom ? 4u : 3u))
		part.namespace = name;
	part.folder = p->count == 2 ? name : p->items[1];
	return part;
}

static struct bundle_part part_of_support_bundle(const struct path_parts *all)
{
	struct path_parts inner = parts_from(all, "cluster-resources");

	if (inner.count > 1)
		return part_of_cluster_resources(&inner);
	if (slice_is(last_of(all), "cluster_version.json"))
		return (struct bundle_part){.kind = PART_VERSION};
	return (struct bundle_part){.kind = PART_OTHER};
}

/* ---- crust-gather ---- */

static struct bundle_part part_of_crust(const struct path_parts *p, size_t count)
{
	struct bundle_part part = {.kind = PART_OTHER, .is_yaml = true};

	if (p->count == count && slice_ends(last_of(p), ".yaml"))
		part.kind = PART_OBJECTS;
	else if (p->count == count && slice_ends(last_of(p), ".patch"))
		part.kind = PART_PATCHES;
	if (count == 5 && p->count > 1)
		part.namespace = p->items[1];
	return part;
}

static struct bundle_part part_of_crust_gather(const struct path_parts *all)
{
	static const struct {
		const char *name;
		struct bundle_part part;
	} files[] = {{"collected.timestamp", {.kind = PART_MOMENT}},
		{"version.yaml", {.kind = PART_VERSION, .is_yaml = true}}, {"api.json", {.kind = PART_CORE}},
		{"apis.json", {.kind = PART_APIS}}};
	struct path_parts inner = parts_from(all, "namespaces");

	if (inner.count)
		return part_of_crust(&inner, 5);
	inner = parts_from(all, "cluster");
	if (inner.count)
		return part_of_crust(&inner, 4);
	for (size_t i = 0; i < COUNT_OF(files); i++) {
		if (slice_is(last_of(all), files[i].name))
			return files[i].part;
	}
	return (struct bundle_part){.kind = PART_OTHER};
}

/* ---- all ---- */

static bool is_log(struct slice name)
{
	return slice_ends(without(name, ".gz"), ".log") || memmem(name.ptr, name.len, ".log.", 5);
}

struct bundle_part bundle_part_of(enum bundle_form form, const char *path)
{
	static struct bundle_part (*const forms[])(const struct path_parts *all) = {
		[BUNDLE_MUST_GATHER] = part_of_must_gather,
		[BUNDLE_SUPPORT_BUNDLE] = part_of_support_bundle,
		[BUNDLE_CRUST_GATHER] = part_of_crust_gather};
	struct bundle_part part = {.kind = PART_OTHER};
	struct path_parts all;

	if (form != BUNDLE_ANY && split(path, &all)) {
		part = forms[form](&all);
		if (part.kind == PART_OTHER && is_log(last_of(&all)))
			part.kind = PART_LOG;
	}
	return part;
}

/* Date, time and, if it is a number, the zone: Go and Rust write its name after that, or instead. */
bool bundle_time(struct slice text, int64_t *ret_ns)
{
	struct slice date, time, zone;
	char moment[MOMENT_BYTES_MAX];

	while (text.len && strchr("\" \t\r\n", text.ptr[0]))
		text = (struct slice){text.ptr + 1, text.len - 1};
	while (text.len && strchr("\" \t\r\n", text.ptr[text.len - 1]))
		text.len--;
	date = slice_cut(&text, ' ');
	time = slice_cut(&text, ' ');
	zone = slice_cut(&text, ' ');
	if (zone.len == 0 || !strchr("+-", zone.ptr[0]))
		zone = (struct slice){"", 0};
	if (date.len + time.len + zone.len + 2 > sizeof(moment))
		return false;
	snprintf(moment, sizeof(moment), "%.*s%s%.*s%.*s", (int)date.len, date.ptr, time.len ? "T" : "",
		(int)time.len, time.len ? time.ptr : "", (int)zone.len, zone.ptr);
	return moment_is_absolute(slice_of(moment), ret_ns);
}
