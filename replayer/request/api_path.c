/* api_path.c: see api_path.h. */
#include "replayer/request/api_path.h"

#include "schema/base/count_of.h"

#define SEGMENTS_MAX 10 /* the last one takes what is left */

struct segments {
	struct slice at[SEGMENTS_MAX];
	size_t count;
};

/* False when a segment inside is empty where it may not be. */
static bool split(struct slice path, struct segments *ret)
{
	ret->count = 0;
	if (path.len && path.ptr[0] == '/')
		path = (struct slice){path.ptr + 1, path.len - 1};
	if (path.len && path.ptr[path.len - 1] == '/')
		path.len--;
	while (path.len) {
		const char *slash = ret->count + 1 < SEGMENTS_MAX ? memchr(path.ptr, '/', path.len) : NULL;
		size_t len = slash ? (size_t)(slash - path.ptr) : path.len;
		size_t skip = slash ? len + 1 : len;

		/* "namespaces//pods" is no namespace, and so all of them. */
		if (len == 0 && (!ret->count || !slice_is(ret->at[ret->count - 1], "namespaces")))
			return false;
		ret->at[ret->count++] = (struct slice){path.ptr, len};
		path = (struct slice){path.ptr + skip, path.len - skip};
	}
	return true;
}

static struct slice api_path_take(struct segments *s, size_t *at)
{
	return *at < s->count ? s->at[(*at)++] : (struct slice){NULL, 0};
}

/* "status" and "finalize" after a namespace are its subresources, anything else a resource inside it. */
static bool is_inside_namespace(const struct segments *s, size_t at)
{
	if (s->count - at < 3 || !slice_is(s->at[at], "namespaces"))
		return false;
	return !slice_is(s->at[at + 2], "status") && !slice_is(s->at[at + 2], "finalize");
}

static void read_resource(struct segments *s, size_t at, struct api_path *ret)
{
	if (slice_is(s->at[at], "watch") && at + 1 < s->count) {
		ret->forced_watch = true;
		at++;
	}
	ret->kind = API_PATH_RESOURCE;
	if (is_inside_namespace(s, at)) {
		ret->namespace = s->at[at + 1];
		ret->in_namespace = ret->namespace.len > 0;
		at += 2;
	}
	ret->resource = api_path_take(s, &at);
	ret->name = api_path_take(s, &at);
	ret->subresource = api_path_take(s, &at);
	ret->rest = api_path_take(s, &at);
}

void api_path_parse(struct slice path, struct api_path *ret)
{
	struct segments s;
	size_t at = 1;
	bool core, whole;

	*ret = (struct api_path){.kind = API_PATH_OTHER};
	whole = split(path, &s);
	core = s.count && slice_is(s.at[0], "api");
	if (!s.count || (!core && !slice_is(s.at[0], "apis")))
		return;
	if (!whole) {
		ret->kind = API_PATH_BAD;
		return;
	}
	if (!core && at < s.count) {
		ret->group = api_path_take(&s, &at);
		ret->kind = API_PATH_GROUP;
	} else {
		ret->kind = API_PATH_ROOT;
	}
	if (at == s.count)
		return;
	ret->version = api_path_take(&s, &at);
	ret->kind = API_PATH_VERSION;
	if (at < s.count)
		read_resource(&s, at, ret);
	if (ret->kind == API_PATH_RESOURCE && ret->resource.len == 0)
		ret->kind = API_PATH_BAD;
}

bool subresource_is_talk(struct slice subresource)
{
	static const char *const words[] = {"exec", "attach", "portforward", "proxy"};

	for (size_t i = 0; i < COUNT_OF(words); i++) {
		if (slice_is(subresource, words[i]))
			return true;
	}
	return false;
}

bool subresource_is_bytes(struct slice subresource)
{
	return slice_is(subresource, "log") || subresource_is_talk(subresource);
}
