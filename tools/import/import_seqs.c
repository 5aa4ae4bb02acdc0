/* import_seqs.c: see import_seqs.h. */
#include "tools/import/import_seqs.h"

#include "schema/base/buf.h"

#include <stdlib.h>

void import_seqs_release(struct import_seqs *s)
{
	free(s->items);
	*s = (struct import_seqs){0};
}

void import_seqs_want(struct import_seqs *s, int64_t from)
{
	s->items = xgrow(s->items, s->count, sizeof(*s->items));
	s->items[s->count++] = (struct import_seq){.from = from};
	s->sorted = false;
}

static int import_seqs_compare(const void *left, const void *right)
{
	const struct import_seq *a = left, *b = right;

	return (a->from > b->from) - (a->from < b->from);
}

void import_seqs_pass(struct import_seqs *s, int64_t from, uint64_t last)
{
	if (!s->sorted && s->done < s->count)
		qsort(s->items + s->done, s->count - s->done, sizeof(*s->items), import_seqs_compare);
	s->sorted = true;
	for (; s->done < s->count && s->items[s->done].from < from; s->done++)
		s->items[s->done].to = last;
}

uint64_t import_seqs_get(const struct import_seqs *s, int64_t from)
{
	const struct import_seq key = {.from = from}, *found = NULL;

	if (s->done)
		found = bsearch(&key, s->items, s->done, sizeof(key), import_seqs_compare);
	return found ? found->to : 0;
}
