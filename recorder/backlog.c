/* backlog.c: see backlog.h. */
#include "recorder/backlog.h"

#include <stdalign.h>
#include <stdlib.h>

#define BLOCK_BYTES (1u << 20)
#define MAX_SPARE   4 /* kept for the next ones: fresh pages cost more than what is put into them */

struct backlog_block {
	struct backlog_block *next;
	size_t taken, used, size; /* items begin at taken and end at used */
	alignas(struct backlog_item) char bytes[];
};

static size_t size_of(size_t len)
{
	size_t unit = alignof(struct backlog_item);

	return (sizeof(struct backlog_item) + len + unit - 1) / unit * unit;
}

static struct backlog_item *item_at(struct backlog_block *block, size_t at)
{
	return (struct backlog_item *)(void *)(block->bytes + at);
}

static struct backlog_block *new_block(struct backlog *b, size_t size)
{
	struct backlog_block *block = b->spare;

	if (block && size == BLOCK_BYTES) {
		b->spare = block->next;
		b->spare_count--;
	} else {
		block = xmalloc(sizeof(*block) + size);
	}
	*block = (struct backlog_block){.size = size};
	return block;
}

static struct backlog_block *block_for(struct backlog *b, size_t size)
{
	struct backlog_block *block = b->last;

	if (block && block->size - block->used >= size)
		return block;
	block = new_block(b, size > BLOCK_BYTES ? size : BLOCK_BYTES);
	if (b->last)
		b->last->next = block;
	else
		b->first = block;
	b->last = block;
	return block;
}

bool backlog_add(struct backlog *b, void *owner, struct slice bytes, int64_t time_ns)
{
	struct backlog_block *block;
	struct backlog_item *item;

	if (b->bytes + bytes.len > b->max_bytes)
		return false;
	block = block_for(b, size_of(bytes.len));
	item = item_at(block, block->used);
	*item = (struct backlog_item){.owner = owner, .time_ns = time_ns, .len = bytes.len};
	memcpy(item->bytes, bytes.ptr, bytes.len);
	block->used += size_of(bytes.len);
	b->bytes += bytes.len;
	return true;
}

static void drop_first_block(struct backlog *b)
{
	struct backlog_block *block = b->first;

	b->first = block->next;
	if (!b->first)
		b->last = NULL;
	if (block->size != BLOCK_BYTES || b->spare_count == MAX_SPARE) {
		free(block);
		return;
	}
	block->next = b->spare;
	b->spare = block;
	b->spare_count++;
}

const struct backlog_item *backlog_take(struct backlog *b)
{
	const struct backlog_item *item;

	if (b->first && b->first->taken == b->first->used)
		drop_first_block(b);
	if (!b->first)
		return NULL;
	item = item_at(b->first, b->first->taken);
	b->first->taken += size_of(item->len);
	b->bytes -= item->len;
	return item;
}

void backlog_forget(struct backlog *b, const void *owner)
{
	for (struct backlog_block *block = b->first; block; block = block->next) {
		for (size_t at = block->taken; at < block->used; at += size_of(item_at(block, at)->len)) {
			if (item_at(block, at)->owner == owner)
				item_at(block, at)->owner = NULL;
		}
	}
}

void backlog_release(struct backlog *b)
{
	while (b->first)
		drop_first_block(b);
	while (b->spare)
		free(new_block(b, BLOCK_BYTES));
	b->bytes = 0;
}
