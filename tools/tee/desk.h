/*
 * desk.h: a separate thread writes the items of the feed to tape and run; no watch waits for it.
 *
 * While the disk takes nothing, and much is waiting, the desk takes nothing from the feed either, so that the
 * feed fills. The feeding code decides then what to do with passing data.
 */
#ifndef TOOLS_TEE_DESK_H
#define TOOLS_TEE_DESK_H

#include "schema/tape/writer.h"
#include "tools/tee/feed.h"

struct desk;

struct desk_options {
	struct feed *feed;
	const char *tape, *run; /* paths */
	bool keep_secrets;
	struct tape_writer_options writer;
	const char *server;      /* its URL */
	const char *server_path; /* that requests begin with, "" for nothing */
};

/* Opens tape and run, and starts the thread. Borrows what the options point to. */
int desk_open(const struct desk_options *options, struct desk **ret, struct err *err) MUST_CHECK;

struct desk_summary {
	uint64_t requests, events, deliveries, writes, gaps;
	uint64_t lost_bytes; /* that passed and are not written down */
	uint64_t unread;     /* pieces that nobody could make out */
};

struct desk_end {
	const char *ended_by; /* as run_book_end */
	int exit_code;
	bool never_began; /* nothing could pass: newly made files are removed */
};

/* After feed_close: waits until all is written down, and closes tape and run. The first failure of either. */
int desk_close(struct desk *d, const struct desk_end *end, struct desk_summary *ret, struct err *err);

#endif
