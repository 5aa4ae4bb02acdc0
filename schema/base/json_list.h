/*
 * json_list.h: one page of a list, read as its bytes arrive. Each item is handed on when it is complete, so
 * that a page of any length takes no more memory than its largest item.
 *
 * The rules of json_scan.h apply: the page is proved to be balanced, kind and metadata may come before the
 * items or after them, and of duplicate members the last one counts (but each array of items is handed on).
 */
#ifndef SCHEMA_BASE_JSON_LIST_H
#define SCHEMA_BASE_JSON_LIST_H

#include "schema/base/buf.h"

enum json_list_state {
	JSON_LIST_BEGINS,  /* before the opening brace */
	JSON_LIST_MEMBERS, /* between members of the list */
	JSON_LIST_ITEMS,   /* between items */
	JSON_LIST_ENDED,   /* after the closing brace */
};

struct json_list {
	enum json_list_state state;
	bool is_first;       /* nothing has come yet in the object or array that is being read */
	struct buf pending;  /* the incomplete part */
	size_t look_again;   /* ... and this long it is worth another look */
	uint64_t item_count; /* handed on so far */
	/* Of the list, as far as they have come; the texts of kind, apiVersion and resourceVersion still
	 * escaped. */
	struct buf kind, api_version, rv, continue_token;
};

/* max_bytes: of one item, or of another member. */
void json_list_init(struct json_list *l, size_t max_bytes);
void json_list_release(struct json_list *l);

/* Resets it for the next page, and frees the memory of a large item. */
void json_list_clear(struct json_list *l);

/* Calls `each` for every item that `bytes` completes, perhaps a little later; a non-zero return of `each`
 * ends the page and is returned. ERR_PROTOCOL if it is not a list, ERR_TOO_LARGE for an item above the
 * maximum. */
typedef int json_list_each(void *context, struct slice item, struct err *err);
int json_list_feed(struct json_list *l, struct slice bytes, json_list_each *each, void *context,
	struct err *err) MUST_CHECK;

/* After the last byte: hands on what has waited. ERR_PROTOCOL if the list is incomplete. */
int json_list_end(struct json_list *l, json_list_each *each, void *context, struct err *err) MUST_CHECK;

#endif
