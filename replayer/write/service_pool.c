/* service_pool.c: see service_pool.h. */
#include "replayer/write/service_pool.h"

#include "schema/base/hash.h"
#include "schema/base/json_scan.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

#define NODE_PORT_FIRST 30000
#define NODE_PORT_LAST  32767
#define PORTS           65536
/* Where nothing says which range the cluster has: around the address of the service `kubernetes`, or kubeadm's. */
#define RANGE_DEFAULT  "10.96.0.1"
#define RANGE_BITS     16
#define RANGE_RESERVED 16 /* at its beginning, for addresses that people choose */

/* Texts, sorted when they are asked for. */
struct address_set {
	char **items;
	size_t count, cap;
	bool sorted;
};

struct taken {
	struct address_set ips;
	unsigned char ports[PORTS / 8];
};

struct service_pool {
	struct world *world;
	bool is_read;
	struct taken recorded, now, given; /* given: since the last look */
	uint64_t seed;                     /* of the service that asks */
	bool is_six;
	uint32_t base, size;                /* of IPv4 */
	char prefix[SERVICE_IP_BYTES - 16]; /* of IPv6, up to the last part */
};

/* ---- sets ---- */

static void set_add(struct address_set *s, struct slice text)
{
	if (s->count == s->cap) {
		s->cap = s->cap ? 2 * s->cap : 64;
		s->items = xrealloc(s->items, s->cap * sizeof(*s->items));
	}
	s->items[s->count++] = slice_dup(text);
	s->sorted = false;
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void set_sort(struct address_set *s)
{
	if (!s->sorted && s->count)
		qsort(s->items, s->count, sizeof(*s->items), compare_texts);
	s->sorted = true;
}

static bool set_has(const struct address_set *s, const char *text)
{
	return s->count && bsearch(&text, s->items, s->count, sizeof(*s->items), compare_texts);
}

static void taken_clear(struct taken *t)
{
	for (size_t i = 0; i < t->ips.count; i++)
		free(t->ips.items[i]);
	free(t->ips.items);
	*t = (struct taken){0};
}

static bool has_port(const struct taken *t, int port)
{
	return t->ports[port / 8] & (1u << (port % 8));
}

static void add_port(struct taken *t, int64_t port)
{
	if (port > 0 && port < PORTS)
		t->ports[port / 8] |= (unsigned char)(1u << (port % 8));
}

/* ---- what services have ---- */

static struct slice inner(struct slice string)
{
	return string.len > 2 && *string.ptr == '"' ? (struct slice){string.ptr + 1, string.len - 2}
						    : (struct slice){NULL, 0};
}

static int64_t number_at(struct slice object, const char *path)
{
	struct slice value;
	char digits[24] = "";

	if (json_get(object, path, &value, NULL) <= 0 || value.len >= sizeof(digits))
		return 0;
	memcpy(digits, value.ptr, value.len);
	return strtoll(digits, NULL, 10);
}

static void add_service(struct taken *to, struct slice service)
{
	struct slice list, key, item;
	struct json_iter it;

	if (json_get(service, "spec.clusterIPs", &list, NULL) > 0 && json_iter_begin(list, &it, NULL) == 0) {
		while (json_iter_next(&it, &key, &item, NULL) > 0)
			set_add(&to->ips, inner(item));
	} else if (json_get(service, "spec.clusterIP", &item, NULL) > 0) {
		set_add(&to->ips, inner(item));
	}
	add_port(to, number_at(service, "spec.healthCheckNodePort"));
	if (json_get(service, "spec.ports", &list, NULL) <= 0 || json_iter_begin(list, &it, NULL))
		return;
	while (json_iter_next(&it, &key, &item, NULL) > 0)
		add_port(to, number_at(item, "nodePort"));
}

/* Those of all times. A tape that cannot be read further gives what it gave. */
static void read_tape(struct service_pool *p, const struct collection *services)
{
	struct tape_filter filter = {.resource = services->resource.id};
	struct tape_cursor *cursor;
	struct event e;
	struct slice object;

	p->is_read = true;
	if (services->resource.id >= p->world->recorded_count ||
		tape_cursor_open(p->world->tape, &filter, TAPE_STORED, &cursor, NULL))
		return;
	while (tape_cursor_next(cursor, &e, NULL) > 0) {
		if (tape_cursor_object(cursor, &object, NULL) == 0)
			add_service(&p->recorded, object);
	}
	tape_cursor_close(cursor);
	set_sort(&p->recorded.ips);
}

/* An absorbed deletion. */
static bool is_deleted(const struct world *w, const struct live *l)
{
	const struct overlay_version *v = overlay_has(l->seq) ? overlay_find(w->overlay, l->seq) : NULL;

	return v && v->type == EVENT_DELETED;
}

static void look_at(struct service_pool *p, const struct live_set *set, struct service_name asks)
{
	struct slice object;

	for (size_t i = 0; i < set->count; i++) {
		const struct live *l = set->items[i];

		if (slice_equal(live_name(l), asks.name) && slice_equal(live_namespace(l), asks.namespace))
			continue;
		if (!is_deleted(p->world, l) && world_object(p->world, l->seq, &object, NULL) == 0)
			add_service(&p->now, object);
	}
}

/* ---- the range ---- */

static struct slice first_range(struct world *w)
{
	struct collection *ranges =
		world_find(w, slice_of("networking.k8s.io"), slice_of("v1"), slice_of("servicecidrs"));
	struct slice object, cidr;

	if (!ranges || !ranges->live.count || world_object(w, ranges->live.items[0]->seq, &object, NULL) ||
		json_get(object, "spec.cidrs[0]", &cidr, NULL) <= 0)
		return (struct slice){NULL, 0};
	return inner(cidr);
}

static struct slice kubernetes_ip(struct world *w, const struct collection *services)
{
	const struct live *l = live_set_find(&services->live, slice_of("default"), slice_of("kubernetes"));
	struct slice object, ip;

	if (!l || world_object(w, l->seq, &object, NULL) ||
		json_get(object, "spec.clusterIP", &ip, NULL) <= 0)
		return slice_of(RANGE_DEFAULT);
	return inner(ip);
}

static void set_six(struct service_pool *p, const char *address)
{
	const char *last = strrchr(address, ':');

	p->is_six = true;
	p->size = 1u << RANGE_BITS;
	snprintf(p->prefix, sizeof(p->prefix), "%.*s", (int)(last + 1 - address), address);
}

static void find_range(struct service_pool *p, const struct collection *services)
{
	struct slice cidr = first_range(p->world);
	char text[SERVICE_IP_BYTES] = "", *slash;
	struct in_addr address;
	int bits = RANGE_BITS;

	if (!cidr.len)
		cidr = kubernetes_ip(p->world, services);
	snprintf(text, sizeof(text), "%.*s", (int)cidr.len, cidr.ptr);
	slash = strchr(text, '/');
	if (slash) {
		*slash = 0;
		bits = 32 - (int)strtol(slash + 1, NULL, 10);
	}
	if (strchr(text, ':')) {
		set_six(p, text);
		return;
	}
	if (inet_pton(AF_INET, text, &address) != 1)
		inet_pton(AF_INET, RANGE_DEFAULT, &address);
	p->size = 1u << (bits < 2 ? 2 : bits > 20 ? 20 : bits);
	p->base = ntohl(address.s_addr) & ~(p->size - 1);
}

/* ---- the pool ---- */

struct service_pool *service_pool_new(struct world *w)
{
	struct service_pool *p = xcalloc(1, sizeof(*p));

	p->world = w;
	return p;
}

void service_pool_free(struct service_pool *p)
{
	if (!p)
		return;
	taken_clear(&p->recorded);
	taken_clear(&p->now);
	free(p);
}

void service_pool_look(struct service_pool *p, const struct collection *services, struct service_name asks)
{
	if (!p->is_read) {
		read_tape(p, services);
		find_range(p, services);
	}
	taken_clear(&p->now);
	taken_clear(&p->given);
	look_at(p, &services->live, asks);
	look_at(p, &services->absorbed, asks);
	set_sort(&p->now.ips);
	p->seed = hash_add(hash_add(hash_add(HASH_EMPTY, asks.namespace), slice_of("/")), asks.name);
}

bool service_pool_has_ip(const struct service_pool *p, const char *ip)
{
	return set_has(&p->now.ips, ip);
}

bool service_pool_has_port(const struct service_pool *p, int port)
{
	return port > 0 && port < PORTS && has_port(&p->now, port);
}

static void write_ip(const struct service_pool *p, uint32_t host, char to[SERVICE_IP_BYTES])
{
	struct in_addr address = {htonl(p->base + host)};

	if (p->is_six)
		snprintf(to, SERVICE_IP_BYTES, "%s%x", p->prefix, host);
	else
		inet_ntop(AF_INET, &address, to, SERVICE_IP_BYTES);
}

bool service_pool_give_ip(struct service_pool *p, char to[SERVICE_IP_BYTES])
{
	uint32_t first = p->size > 4 * RANGE_RESERVED ? RANGE_RESERVED : 1, count = p->size - first - 1;

	for (uint32_t i = 0; i < count; i++) {
		write_ip(p, first + (uint32_t)((p->seed + i) % count), to);
		if (!set_has(&p->recorded.ips, to) && !set_has(&p->now.ips, to))
			return true;
	}
	return false;
}

int service_pool_give_port(struct service_pool *p, const char *port)
{
	uint64_t seed = hash_add(p->seed, slice_of(port));
	int count = NODE_PORT_LAST - NODE_PORT_FIRST + 1;

	for (int i = 0; i < count; i++) {
		int number = NODE_PORT_FIRST + (int)((seed + (uint64_t)i) % (uint64_t)count);

		if (has_port(&p->recorded, number) || has_port(&p->now, number) ||
			has_port(&p->given, number))
			continue;
		add_port(&p->given, number);
		return number;
	}
	return 0;
}
