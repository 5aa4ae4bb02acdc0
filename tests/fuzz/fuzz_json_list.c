/*
 * fuzz_json_list.c: pages of lists in pieces. The first byte says how large the pieces are; whatever it is, a
 * page that is read whole gives the same items, and one that is refused whole is refused in pieces.
 */
#include "schema/base/json_list.h"

#include "schema/base/json_scan.h"
#include "tests/fuzz/fuzz.h"

static int add(void *context, struct slice item, struct err *err)
{
	struct buf *items = context;
	int rc = buf_append(items, item.ptr, item.len, err);

	return rc ? rc : buf_append(items, "\n", 1, err);
}

static int read_whole(struct slice page, struct list_page *head, struct buf *items)
{
	struct json_iter it;
	struct slice item;
	int rc = json_scan_list(page, head, NULL);

	if (rc || !head->items.len)
		return rc;
	rc = json_iter_begin(head->items, &it, NULL);
	while (rc == 0 && (rc = json_iter_next(&it, NULL, &item, NULL)) > 0)
		rc = add(items, item, NULL);
	return rc;
}

static int read_in_pieces(struct json_list *l, struct slice page, size_t size, struct buf *items)
{
	int rc = 0;

	for (size_t at = 0; rc == 0 && at < page.len; at += size) {
		size_t n = page.len - at < size ? page.len - at : size;

		rc = json_list_feed(l, (struct slice){page.ptr + at, n}, add, items, NULL);
	}
	return rc ? rc : json_list_end(l, add, items, NULL);
}

/* Of members that come twice one reader takes the last, the other both. */
static bool has_items_twice(struct slice page)
{
	const char *at = memmem(page.ptr, page.len, "items", 5);

	return memchr(page.ptr, '\\', page.len) ||
	       (at && memmem(at + 1, (size_t)(page.ptr + page.len - at - 1), "items", 5));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct slice page = {(const char *)bytes + 1, len - 1};
	struct buf whole, pieces;
	struct list_page head;
	struct json_list l;
	int rc, piecewise;

	if (len < 2 || has_items_twice(page))
		return 0;
	json_list_init(&l, 1 << 20);
	buf_init(&whole, 1 << 22);
	buf_init(&pieces, 1 << 22);
	rc = read_whole(page, &head, &whole);
	piecewise = read_in_pieces(&l, page, (size_t)bytes[0] + 1, &pieces);
	fuzz_demand((rc == 0) == (piecewise == 0));
	if (rc == 0) {
		fuzz_demand(slice_equal(buf_slice(&whole), buf_slice(&pieces)));
		fuzz_demand(slice_equal(head.kind, buf_slice(&l.kind)));
		fuzz_demand(slice_equal(head.rv, buf_slice(&l.rv)));
		fuzz_demand(slice_equal(head.continue_token, buf_slice(&l.continue_token)));
	}
	json_list_release(&l);
	buf_release(&whole);
	buf_release(&pieces);
	return 0;
}
