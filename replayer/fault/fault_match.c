/* fault_match.c: who is meant by a rule, and chance. See fault_internal.h. */
#include "replayer/fault/fault_internal.h"
#include "schema/base/hash.h"

/* "name", "name.group" or "name.version.group". */
static bool is_named(const char *text, const struct tape_resource *r)
{
	size_t len = strlen(r->resource), version_len = strlen(r->version);

	if (strncmp(text, r->resource, len) != 0)
		return false;
	text += len;
	if (!*text)
		return true;
	if (*text++ != '.')
		return false;
	if (strcmp(text, r->apigroup) == 0)
		return true;
	return strncmp(text, r->version, version_len) == 0 && text[version_len] == '.' &&
	       strcmp(text + version_len + 1, r->apigroup) == 0;
}

static bool is_meant(const struct fault_resource *meant, size_t count, const struct tape_resource *resource)
{
	for (size_t i = 0; i < count; i++) {
		const struct fault_resource *r = &meant[i];

		if (strcmp(r->resource, resource->resource) == 0 &&
			strcmp(r->group, resource->apigroup) == 0 &&
			(!r->version || strcmp(r->version, resource->version) == 0))
			return true;
	}
	return false;
}

bool fault_matches_names(const struct fault_texts *names, const struct fault_resource *meant,
	size_t meant_count, const struct tape_resource *resource)
{
	if (names->count == 0)
		return true;
	if (meant_count)
		return resource && is_meant(meant, meant_count, resource);
	for (size_t i = 0; i < names->count && resource; i++) {
		if (is_named(names->items[i], resource))
			return true;
	}
	return false;
}

bool fault_matches_resource(const struct fault_where *w, const struct tape_resource *resource)
{
	return fault_matches_names(&w->resource, w->meant, w->meant_count, resource);
}

/* Whether the whole text is as the pattern with * and ? says. Goes back to the last star when what follows it
 * does not fit. */
static bool matches_pattern(const char *pattern, struct slice text)
{
	const char *star = NULL;
	size_t at = 0, star_at = 0;

	while (at < text.len) {
		if (*pattern == '*') {
			star = pattern++;
			star_at = at;
		} else if (*pattern && (*pattern == '?' || *pattern == text.ptr[at])) {
			pattern++;
			at++;
		} else if (star) {
			pattern = star + 1;
			at = ++star_at;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

static bool fits_namespace(const struct fault_where *w, const struct fault_request *r)
{
	return !w->namespace || slice_is(r->namespace, w->namespace) ||
	       (w->and_wider && r->namespace.len == 0);
}

static bool fits_client(const struct fault_where *w, const struct fault_request *r)
{
	return !w->client || matches_pattern(w->client, r->user_agent);
}

static bool fits_credential(const struct fault_where *w, const struct fault_request *r)
{
	return !w->credential || slice_is(r->credential, w->credential);
}

bool fault_matches_writer(const struct fault_where *w, const struct fault_request *r)
{
	return fits_namespace(w, r) && fits_client(w, r) && fits_credential(w, r);
}

bool fault_matches_request(const struct fault_where *w, const struct fault_request *r)
{
	return (w->request_mask >> r->kind & 1) && fault_matches_resource(w, r->resource) &&
	       fault_matches_writer(w, r);
}

unsigned fault_parts(const struct fault_where *w, const struct fault_request *r)
{
	return (fault_matches_resource(w, r->resource) ? PART_RESOURCE : 0u) |
	       (fits_namespace(w, r) ? PART_NAMESPACE : 0u) | (fits_client(w, r) ? PART_CLIENT : 0u) |
	       (fits_credential(w, r) ? PART_CREDENTIAL : 0u) |
	       (w->request_mask >> r->kind & 1 ? PART_KIND : 0u);
}

bool fault_matches_event(
	const struct fault_where *w, const struct tape_resource *resource, const struct event *e)
{
	return fault_matches_resource(w, resource) &&
	       (!w->namespace || !*w->namespace || slice_is(e->namespace, w->namespace));
}

/* The finish of splitmix64: every bit of the result depends on every bit of the number. */
static uint64_t mixed(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

uint64_t fault_mix(uint64_t a, uint64_t b)
{
	return mixed(mixed(a) ^ b);
}

double fault_chance(uint64_t seed, uint64_t a, uint64_t b)
{
	return (double)(fault_mix(fault_mix(seed, a), b) >> 11) * 0x1p-53;
}

uint64_t fault_client(struct slice user_agent, struct slice credential)
{
	static const struct slice end = {"", 1};
	uint64_t hash = hash_add(hash_add(HASH_EMPTY, user_agent), end);

	hash = hash_add(hash_add(hash, credential), end);
	return hash ? hash : 1;
}

struct client_count *client_set_find(struct client_set *s, uint64_t client, uint32_t resource)
{
	for (size_t i = 0; i < s->count; i++) {
		if (s->items[i].client == client && s->items[i].resource == resource)
			return &s->items[i];
	}
	return NULL;
}

struct client_count *client_set_add(struct client_set *s, uint64_t client, uint32_t resource)
{
	struct client_count *found = client_set_find(s, client, resource);

	if (found || s->count == CLIENTS_MAX)
		return found;
	s->items = xrealloc(s->items, (s->count + 1) * sizeof(*s->items));
	s->items[s->count] = (struct client_count){.client = client, .resource = resource};
	return &s->items[s->count++];
}

void client_set_remove(struct client_set *s, struct client_count *item)
{
	*item = s->items[--s->count];
}
