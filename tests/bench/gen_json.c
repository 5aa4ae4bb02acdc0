/* gen_json.c: chance, and JSON as text. */
#include "tests/bench/gen.h"

#include "schema/base/json_scan.h"

#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

/* splitmix64 */
uint64_t gen_random(struct gen *g)
{
	uint64_t z = g->random += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

unsigned gen_below(struct gen *g, unsigned limit)
{
	return (unsigned)(gen_random(g) % limit);
}

bool gen_chance(struct gen *g, unsigned percent)
{
	return gen_below(g, 100) < percent;
}

static void choose(struct gen *g, const char *letters, char *to, size_t count)
{
	unsigned limit = (unsigned)strlen(letters);

	for (size_t i = 0; i < count; i++)
		to[i] = letters[gen_below(g, limit)];
	to[count] = 0;
}

void gen_hex(struct gen *g, char *to, size_t digits)
{
	choose(g, "0123456789abcdef", to, digits);
}

/* The letters Kubernetes uses in generated names. */
void gen_letters(struct gen *g, char *to, size_t count)
{
	choose(g, "bcdfghjklmnpqrstvwxz2456789", to, count);
}

void gen_uid(struct gen *g, char to[37])
{
	gen_hex(g, to, 36);
	to[8] = to[13] = to[18] = to[23] = '-';
	to[14] = '4';
	to[19] = "89ab"[gen_below(g, 4)];
}

void gen_meta(struct gen *g, struct meta *m, const char *namespace, const char *name)
{
	snprintf(m->name, sizeof(m->name), "%s", name);
	snprintf(m->namespace, sizeof(m->namespace), "%s", namespace);
	gen_uid(g, m->uid);
	m->created_ms = g->now_ms;
	m->generation = 1;
}

static void must(int rc)
{
	if (rc < 0) {
		fputs("gen_stream: object too large\n", stderr);
		abort();
	}
}

void put(struct buf *to, const char *format, ...)
{
	char quoted[4096];
	size_t i;
	va_list ap;
	int n;
	char *at;

	for (i = 0; format[i] && i < sizeof(quoted) - 1; i++)
		quoted[i] = format[i] == '\'' ? '"' : format[i];
	quoted[i] = 0;
	at = buf_reserve(to, 65536);
	must(at ? 0 : ERR_TOO_LARGE);
	va_start(ap, format);
	n = vsnprintf(at, 65536, quoted, ap);
	va_end(ap);
	must(n < 65536 ? n : ERR_TOO_LARGE);
	to->len += (size_t)n;
}

const char *gen_time(char to[32], int64_t ms)
{
	time_t t = (time_t)(ms / 1000);
	struct tm tm;

	gmtime_r(&t, &tm);
	strftime(to, 32, "%Y-%m-%dT%H:%M:%SZ", &tm);
	return to;
}

const char *gen_micro_time(char to[32], int64_t ms, unsigned us)
{
	gen_time(to, ms);
	snprintf(to + 19, 13, ".%06uZ", (unsigned)(ms % 1000) * 1000 + us % 1000);
	return to;
}

/* Lists whose items are owned one by one, and the members that tell items apart. */
static const struct {
	const char *list, *key, *second_key;
} list_keys[] = {
	{"containers", "name", NULL},
	{"volumes", "name", NULL},
	{"env", "name", NULL},
	{"conditions", "type", NULL},
	{"ports", "containerPort", "protocol"},
	{"volumeMounts", "mountPath", NULL},
	{"podIPs", "ip", NULL},
	{"hostIPs", "ip", NULL},
	{"addresses", "type", NULL},
	{"ownerReferences", "uid", NULL},
};

struct member {
	struct slice key, value;
};

static int compare_members(const void *a, const void *b)
{
	return slice_compare(((const struct member *)a)->key, ((const struct member *)b)->key);
}

/* The members of an object in the order of their keys, or the items of an array as they stand. */
static size_t read_members(struct slice value, struct member *to, size_t max)
{
	struct json_iter it;
	size_t count = 0;
	struct slice key = {0}, inner;

	if (json_iter_begin(value, &it, NULL) < 0)
		return 0;
	while (count < max && json_iter_next(&it, &key, &inner, NULL) > 0)
		to[count++] = (struct member){key, inner};
	if (it.is_object)
		qsort(to, count, sizeof(*to), compare_members);
	return count;
}

static void put_slice(struct buf *to, struct slice s)
{
	must(buf_append(to, s.ptr, s.len, NULL));
}

/* "k:{\"name\":\"web\"}": the key members of an item, escaped. */
static void put_item_key(struct buf *to, struct slice item, const char *key, const char *second_key)
{
	const char *const keys[] = {key, second_key};
	struct slice value;

	put(to, "'k:{");
	for (size_t i = 0; i < 2 && keys[i]; i++) {
		if (json_get(item, keys[i], &value, NULL) <= 0)
			continue;
		put(to, "%s\\'%s\\':", i ? "," : "", keys[i]);
		if (*value.ptr == '"')
			put(to, "\\'%.*s\\'", (int)value.len - 2, value.ptr + 1);
		else
			put_slice(to, value);
	}
	put(to, "}'");
}

/* The two outermost levels, such as f:metadata, have no point of their own. */
static void put_members(struct buf *to, struct slice value, unsigned depth);

/* Items in an array without keys are owned as a whole. */
static void put_items(struct buf *to, struct slice list, struct slice value)
{
	struct member items[64];
	size_t count = read_members(value, items, COUNT_OF(items)), row = 0;

	while (row < COUNT_OF(list_keys) && !slice_is(list, list_keys[row].list))
		row++;
	put(to, "{");
	if (row < COUNT_OF(list_keys) && count > 0 && *items[0].value.ptr == '{') {
		put(to, "'.':{}");
		for (size_t i = 0; i < count; i++) {
			put(to, ",");
			put_item_key(to, items[i].value, list_keys[row].key, list_keys[row].second_key);
			put(to, ":");
			put_members(to, items[i].value, 2);
		}
	}
	put(to, "}");
}

static void put_members(struct buf *to, struct slice value, unsigned depth)
{
	struct member members[64];
	size_t count = read_members(value, members, COUNT_OF(members));

	put(to, depth > 1 && count ? "{'.':{}," : "{");
	for (size_t i = 0; i < count; i++) {
		put(to, "%s'f:%.*s':", i ? "," : "", (int)members[i].key.len, members[i].key.ptr);
		if (*members[i].value.ptr == '{')
			put_members(to, members[i].value, depth + 1);
		else if (*members[i].value.ptr == '[')
			put_items(to, members[i].key, members[i].value);
		else
			put(to, "{}");
	}
	put(to, "}");
}

void put_fields(struct buf *to, struct slice value)
{
	put_members(to, value, 0);
}

uint64_t gen_next_rv(struct gen *g)
{
	return g->rv += 1 + gen_below(g, 3);
}

void gen_emit(struct gen *g, const char *type, const struct buf *object)
{
	if (g->written >= g->wanted)
		return;
	g->written++;
	fprintf(g->out, "{\"type\":\"%s\",\"object\":", type);
	fwrite(object->ptr, 1, object->len, g->out);
	fputs("}\n", g->out);
}

static bool sooner(const struct timer *a, const struct timer *b)
{
	return a->at_ms != b->at_ms ? a->at_ms < b->at_ms : a->number < b->number;
}

/* A binary heap, the soonest timer first; gen_stream.c takes it off. */
uint64_t gen_after(struct gen *g, int64_t delay_ms, enum timer_kind kind, void *subject)
{
	struct timer made = {g->now_ms + delay_ms, g->timer_count++, kind, subject};
	size_t at = g->heap_count++;

	if (g->heap_count > g->heap_cap) {
		g->heap_cap = g->heap_cap ? 2 * g->heap_cap : 1024;
		g->heap = xrealloc(g->heap, g->heap_cap * sizeof(*g->heap));
	}
	for (; at > 0 && sooner(&made, &g->heap[(at - 1) / 2]); at = (at - 1) / 2)
		g->heap[at] = g->heap[(at - 1) / 2];
	g->heap[at] = made;
	return made.number;
}
