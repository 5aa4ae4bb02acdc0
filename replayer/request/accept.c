/* accept.c: see accept.h. */
#include "replayer/request/accept.h"

#include "replayer/wire/http.h"
#include "schema/base/count_of.h"

#define CLAUSES_MAX 32
#define YAML_TYPE   "application/yaml"
#define BINARY_TYPE "application/vnd.kubernetes.protobuf"

struct clause {
	struct slice type; /* "application/json" */
	struct slice as, group, version, pretty;
	int quality; /* in thousandths */
};

/* Cuts at the separator and trims. */
static struct slice take_until(struct slice *rest, char separator)
{
	const char *end = memchr(rest->ptr, separator, rest->len);
	size_t len = end ? (size_t)(end - rest->ptr) : rest->len;
	size_t skip = end ? len + 1 : len;
	struct slice part = {rest->ptr, len};

	*rest = (struct slice){rest->ptr + skip, rest->len - skip};
	return slice_trim(part);
}

/* "0.8" as 800; anything odd counts as 1. */
static int parse_quality(struct slice text)
{
	int value = 0, scale = 100;

	if (text.len == 0 || (text.ptr[0] != '0' && text.ptr[0] != '1'))
		return 1000;
	value = (text.ptr[0] - '0') * 1000;
	for (size_t i = 2; i < text.len && scale; i++, scale /= 10) {
		if (text.ptr[i] < '0' || text.ptr[i] > '9')
			return 1000;
		value += (text.ptr[i] - '0') * scale;
	}
	return value > 1000 ? 1000 : value;
}

static struct clause parse_clause(struct slice text)
{
	struct clause c = {.quality = 1000};

	c.type = take_until(&text, ';');
	while (text.len) {
		struct slice value = take_until(&text, ';');
		struct slice name = take_until(&value, '=');

		if (slice_is(name, "q"))
			c.quality = parse_quality(value);
		else if (slice_is(name, "as"))
			c.as = value;
		else if (slice_is(name, "g"))
			c.group = value;
		else if (slice_is(name, "v"))
			c.version = value;
		else if (slice_is(name, "pretty"))
			c.pretty = value;
	}
	return c;
}

/* The clauses, best first, equal ones in the order given. */
static size_t parse_header(struct slice header, struct clause *ret)
{
	size_t n = 0;

	while (header.len && n < CLAUSES_MAX) {
		struct clause c = parse_clause(take_until(&header, ','));
		size_t at = n;

		if (c.type.len == 0)
			continue;
		while (at > 0 && ret[at - 1].quality < c.quality) {
			ret[at] = ret[at - 1];
			at--;
		}
		ret[at] = c;
		n++;
	}
	return n;
}

static bool is_our_type(struct slice type, enum accept_by by)
{
	static const char *const types[] = {"*/*", "application/json", YAML_TYPE, BINARY_TYPE};

	for (size_t i = 0; i < COUNT_OF(types); i++) {
		if (slice_is(type, types[i]))
			return true;
	}
	return by != ACCEPT_BY_ROUTER && slice_is(type, "application/*");
}

static bool convert(const struct clause *c, struct accepted *ret)
{
	static const struct {
		const char *as;
		enum answer_form form;
	} forms[] = {
		{"Table", FORM_TABLE},
		{"PartialObjectMetadata", FORM_PARTIAL},
		{"PartialObjectMetadataList", FORM_PARTIAL_LIST},
	};
	bool beta = slice_is(c->version, "v1beta1");

	*ret = (struct accepted){.form = FORM_OBJECT,
		.beta = beta,
		.pretty = slice_is(c->pretty, "1"),
		.yaml = slice_is(c->type, YAML_TYPE)};
	if (c->as.len == 0) /* a version of nothing cannot be had */
		return c->group.len == 0 && c->version.len == 0;
	if (!slice_is(c->group, "meta.k8s.io") || (!beta && !slice_is(c->version, "v1")))
		return false;
	for (size_t i = 0; i < COUNT_OF(forms); i++) {
		if (slice_is(c->as, forms[i].as)) {
			ret->form = forms[i].form;
			return true;
		}
	}
	return false;
}

/* Tables are not made in protobuf by anyone. */
static bool exists(const struct clause *c, enum accept_by by, const struct accepted *a, bool stream)
{
	bool none = a->form == FORM_TABLE || (a->form == FORM_OBJECT && by == ACCEPT_BY_CUSTOM);

	return !(slice_is(c->type, BINARY_TYPE) && none) && !(stream && a->yaml);
}

static enum accept_failure choose(struct slice header, enum accept_by by, bool stream, struct accepted *ret)
{
	struct clause clauses[CLAUSES_MAX];
	size_t n = parse_header(header, clauses);
	enum accept_failure failure = ACCEPT_NO_MEDIA_TYPE;

	*ret = (struct accepted){.form = FORM_OBJECT};
	if (header.len == 0)
		return ACCEPT_OK;
	for (size_t i = 0; i < n; i++) {
		if (!is_our_type(clauses[i].type, by))
			continue;
		if (convert(&clauses[i], ret) && exists(&clauses[i], by, ret, stream))
			return ACCEPT_OK;
		failure = ACCEPT_NO_CONVERSION;
	}
	return failure;
}

enum accept_failure accept_resource(struct slice header, enum accept_by by, struct accepted *ret)
{
	return choose(header, by, false, ret);
}

enum accept_failure accept_stream(struct slice header, enum accept_by by, struct accepted *ret)
{
	return choose(header, by, true, ret);
}

bool accept_json(struct slice header)
{
	struct clause clauses[CLAUSES_MAX];
	size_t n = parse_header(header, clauses);

	for (size_t i = 0; i < n; i++) {
		if (slice_is(clauses[i].type, "*/*") || slice_is(clauses[i].type, "application/json"))
			return true;
	}
	return header.len == 0;
}

bool accept_plain(struct slice header, bool *ret_yaml)
{
	struct clause clauses[CLAUSES_MAX];
	size_t n = parse_header(header, clauses);

	*ret_yaml = false;
	for (size_t i = 0; i < n; i++) {
		if (is_our_type(clauses[i].type, ACCEPT_BY_HANDLER) && clauses[i].as.len == 0 &&
			clauses[i].group.len == 0 && clauses[i].version.len == 0) {
			*ret_yaml = slice_is(clauses[i].type, YAML_TYPE);
			return true;
		}
	}
	return header.len == 0;
}

int accept_aggregated_discovery(struct slice header)
{
	struct clause clauses[CLAUSES_MAX];
	size_t n = parse_header(header, clauses);

	for (size_t i = 0; i < n; i++) {
		if (!is_our_type(clauses[i].type, ACCEPT_BY_HANDLER))
			continue;
		if (clauses[i].as.len == 0)
			return 0;
		if (slice_is(clauses[i].as, "APIGroupDiscoveryList") && slice_is(clauses[i].version, "v2") &&
			slice_is(clauses[i].group, "apidiscovery.k8s.io"))
			return 1;
	}
	return n == 0 ? 0 : -1;
}

/* Asterisks stand for any type, and any subtype. */
static bool allows(struct slice clause, struct slice type)
{
	const char *slash = memchr(clause.ptr, '/', clause.len), *other = memchr(type.ptr, '/', type.len);
	struct slice major, minor;

	if (!slash || !other)
		return slice_is(clause, "*");
	major = (struct slice){clause.ptr, (size_t)(slash - clause.ptr)};
	minor = (struct slice){slash + 1, clause.len - major.len - 1};
	return (slice_is(major, "*") ||
		       slice_equal(major, (struct slice){type.ptr, (size_t)(other - type.ptr)})) &&
	       (slice_is(minor, "*") || slice_is(minor, other + 1));
}

int accept_choose(struct slice header, const char *const *types, size_t count)
{
	struct clause clauses[CLAUSES_MAX];
	size_t n = parse_header(header, clauses);

	if (header.len == 0)
		return 0;
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < count; k++) {
			if (allows(clauses[i].type, slice_of(types[k])))
				return (int)k;
		}
	}
	return -1;
}
