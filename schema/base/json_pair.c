/* json_pair.c: see json_pair.h. */
#include "schema/base/json_pair.h"

#include <string.h>

/* Looking for equal bytes stops here and begins again where it is asked next: documents in which the distance changes with
 * each member cost no more than this for each. */
#define EQUAL_MAX 16384

struct json_pair json_pair_over(struct slice old, struct slice new, struct err *err)
{
	return (struct json_pair){{json_cursor_over(old, err), json_cursor_over(new, err)}, {NULL, NULL}};
}

static size_t count_equal(const char *a, const char *b, size_t max)
{
	size_t n = 0;

	for (; max - n >= 64 && memcmp(a + n, b + n, 64) == 0; n += 64)
		;
	for (; n < max && a[n] == b[n]; n++)
		;
	return n;
}

/* How many bytes are known to be equal from here on: as many as were found before, or as are found now. */
static size_t find_equal(struct json_pair *p)
{
	const struct json_cursor *old = &p->sides[JSON_OLD], *new = &p->sides[JSON_NEW];
	size_t old_len = (size_t)(old->end - old->at), new_len = (size_t)(new->end - new->at);
	size_t len = old_len < new_len ? old_len : new_len;

	if (p->equal_end[JSON_OLD] && p->equal_end[JSON_OLD] > old->at &&
		p->equal_end[JSON_OLD] - old->at == p->equal_end[JSON_NEW] - new->at)
		return (size_t)(p->equal_end[JSON_OLD] - old->at);
	len = count_equal(old->at, new->at, len < EQUAL_MAX ? len : EQUAL_MAX);
	p->equal_end[JSON_OLD] = old->at + len;
	p->equal_end[JSON_NEW] = new->at + len;
	return len;
}

/* 1 with the length of the value that ends within the bytes known to be equal. */
static int pass_within(struct json_pair *p, size_t equal)
{
	struct json_cursor *old = &p->sides[JSON_OLD];
	const char *end = json_container_end(old, old->at + equal);

	if (!end)
		return 0;
	p->sides[JSON_NEW].at += end - old->at;
	old->at = end;
	return 1;
}

/* Values that are longer than what was looked at. */
static int pass_whole(struct json_pair *p)
{
	struct json_cursor old = p->sides[JSON_OLD], *new = &p->sides[JSON_NEW];
	struct slice value;

	if (json_take(&old, &value) < 0)
		return ERR_PROTOCOL;
	if ((size_t)(new->end - new->at) < value.len || memcmp(new->at, value.ptr, value.len) != 0)
		return 0;
	p->sides[JSON_OLD].at = old.at;
	new->at += value.len;
	return 1;
}

int json_pair_pass_equal(struct json_pair *p)
{
	size_t equal = find_equal(p);
	int passed = pass_within(p, equal);

	return passed || equal < EQUAL_MAX ? passed : pass_whole(p);
}

int json_pair_enter(struct json_pair *p)
{
	int rc = json_enter(&p->sides[JSON_OLD], '{');

	return rc ? rc : json_enter(&p->sides[JSON_NEW], '{');
}

int json_pair_finish(struct json_pair *p)
{
	int rc = json_finish(&p->sides[JSON_OLD]);

	return rc ? rc : json_finish(&p->sides[JSON_NEW]);
}
