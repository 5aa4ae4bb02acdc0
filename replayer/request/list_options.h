/*
 * list_options.h: the query parameters of LIST and WATCH, parsed, defaulted and checked in the order and with
 * the words of the API server.
 */
#ifndef REPLAYER_LIST_OPTIONS_H
#define REPLAYER_LIST_OPTIONS_H

#include "replayer/request/field_selector.h"
#include "replayer/request/label_selector.h"
#include "replayer/request/query.h"
#include "replayer/request/status.h"

enum rv_match { MATCH_NONE, MATCH_NOT_OLDER, MATCH_EXACT };
enum tristate { UNSET, NO, YES };

struct list_options {
	bool watch, bookmarks;
	enum tristate send_initial; /* as the server fills it in for a watch without RV */
	char *rv;                   /* as given; "" when absent */
	enum rv_match match;
	char *continue_token;          /* "" when absent */
	int64_t limit;                 /* 0: none */
	int64_t timeout_seconds;       /* 0: none given */
	struct label_selector *labels; /* NULL: everything */
	struct field_selector *fields;
};

/* Returns 0, or ERR_FAILED with the status to answer. force_watch: the path says so. The caller releases in
 * both cases. */
int list_options_parse(const struct query *q, bool force_watch, const struct selectable_kind *kind,
	struct list_options *ret, struct status *ret_status) MUST_CHECK;
void list_options_release(struct list_options *o);

/* A resourceVersion as the server reads it: leading zeros pass, a sign or more than 64 bits do not. On
 * failure ret_problem says why in the words of Go's number parser; the caller frees it. */
bool rv_parse(const char *text, uint64_t *ret, char **ret_problem);

#endif
