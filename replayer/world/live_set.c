/*
 * live_set.c: see live_set.h. A sorted array of pointers: changes of existing objects, by far the most
 * frequent, touch one entry; a new or deleted one moves 8 bytes for each object after it.
 */
#include "replayer/world/live_set.h"

#include <stdlib.h>

void live_set_release(struct live_set *s)
{
	for (size_t i = 0; i < s->count; i++)
		free(s->items[i]);
	free(s->items);
	*s = (struct live_set){0};
}

/* The bytes of "namespace/name" compared with a key, without joining them. */
static int compare_parts(struct slice namespace, struct slice name, struct slice key)
{
	struct slice head = {key.ptr, key.len < namespace.len ? key.len : namespace.len};
	int c;

	if (namespace.len == 0)
		return slice_compare(name, key);
	c = slice_compare(namespace, head);
	if (c || key.len == namespace.len)
		return c ? c : 1;
	if (key.ptr[namespace.len] != '/')
		return '/' < (unsigned char)key.ptr[namespace.len] ? -1 : 1;
	return slice_compare(name, (struct slice){key.ptr + namespace.len + 1, key.len - namespace.len - 1});
}

/* Index of the first item not below namespace/name. */
static size_t search(const struct live_set *s, struct slice namespace, struct slice name, bool *ret_found)
{
	size_t low = 0, high = s->count;

	*ret_found = false;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int c = compare_parts(namespace, name, live_key(s->items[middle]));

		if (c == 0) {
			*ret_found = true;
			return middle;
		}
		if (c < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static struct live *new_live(struct slice namespace, struct slice name, uint64_t seq)
{
	size_t skip = namespace.len ? namespace.len + 1 : 0;
	struct live *l = xmalloc(sizeof(*l) + skip + name.len);

	l->seq = seq;
	l->key_len = (uint32_t)(skip + name.len);
	l->namespace_len = (uint32_t) namespace.len;
	if (namespace.len) {
		memcpy(l->key, namespace.ptr, namespace.len);
		l->key[namespace.len] = '/';
	}
	if (name.len)
		memcpy(l->key + skip, name.ptr, name.len);
	return l;
}

void live_set_copy(const struct live_set *s, struct live_set *to)
{
	to->items = xmalloc((s->count ? s->count : 1) * sizeof(*to->items));
	to->count = to->cap = s->count;
	for (size_t i = 0; i < s->count; i++)
		to->items[i] =
			new_live(live_namespace(s->items[i]), live_name(s->items[i]), s->items[i]->seq);
}

uint64_t live_set_put(struct live_set *s, struct slice namespace, struct slice name, uint64_t seq)
{
	bool found;
	size_t at = search(s, namespace, name, &found);
	uint64_t previous;

	if (found) {
		previous = s->items[at]->seq;
		s->items[at]->seq = seq;
		return previous;
	}
	if (s->count == s->cap) {
		s->cap = s->cap > 8 ? 2 * s->cap : 16;
		s->items = xrealloc(s->items, s->cap * sizeof(*s->items));
	}
	memmove(s->items + at + 1, s->items + at, (s->count - at) * sizeof(*s->items));
	s->items[at] = new_live(namespace, name, seq);
	s->count++;
	return 0;
}

uint64_t live_set_remove(struct live_set *s, struct slice namespace, struct slice name)
{
	bool found;
	size_t at = search(s, namespace, name, &found);
	uint64_t previous;

	if (!found)
		return 0;
	previous = s->items[at]->seq;
	free(s->items[at]);
	s->count--;
	memmove(s->items + at, s->items + at + 1, (s->count - at) * sizeof(*s->items));
	return previous;
}

const struct live *live_set_find(const struct live_set *s, struct slice namespace, struct slice name)
{
	bool found;
	size_t at = search(s, namespace, name, &found);

	return found ? s->items[at] : NULL;
}

size_t live_set_lower_bound(const struct live_set *s, struct slice key)
{
	size_t low = 0, high = s->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (slice_compare(live_key(s->items[middle]), key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void live_set_range(const struct live_set *s, struct slice namespace, size_t *ret_begin, size_t *ret_end)
{
	bool found;
	char *after;

	if (namespace.len == 0) {
		*ret_begin = 0;
		*ret_end = s->count;
		return;
	}
	*ret_begin = search(s, namespace, (struct slice){"", 0}, &found);
	/* '0' is the character after '/': the first key that is not "namespace/...". */
	after = xasprintf("%.*s0", (int)namespace.len, namespace.ptr);
	*ret_end = live_set_lower_bound(s, slice_of(after));
	free(after);
}
