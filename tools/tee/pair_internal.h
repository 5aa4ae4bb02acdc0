/* pair_internal.h: shared by pair.c (how a pair begins and ends) and lane.c (how bytes pass). */
#ifndef TOOLS_TEE_PAIR_INTERNAL_H
#define TOOLS_TEE_PAIR_INTERNAL_H

#include "tools/tee/channel.h"
#include "tools/tee/dial.h"
#include "tools/tee/pair.h"

enum pair_state { PAIR_HELLO, PAIR_CONNECTING, PAIR_SERVER, PAIR_CLIENT, PAIR_OPEN, PAIR_CLOSED };

/* One end of a pair. */
struct side {
	struct channel channel;
	uv_poll_t poll;
	bool has_poll;
	bool is_broken; /* libuv reports nothing more about it; only reading does */
	int events;
};

/* Bytes from one side to the other. */
struct lane {
	struct side *from, *to;
	enum road_party party; /* at `from` */
	struct buf held;       /* bytes that `to` has not taken yet */
	bool owes_goodbye;     /* `from` has ended, and `to` has not yet got the end */
	bool owes_fin, is_over;
	bool is_stalled; /* the desk has no room */
	bool has_failed; /* `to` is broken */
};

struct pair {
	struct pair_context *x;
	struct pair_links links;
	enum pair_state state;
	uint64_t id;
	struct side client, server;
	struct lane up, down; /* to the server; to the client */
	struct buf unread;    /* of the client, while it has to wait */
	struct hello hello;
	struct dial *dial;
	struct road *road; /* when it is open */
	uv_timer_t patience;
	int open_handles;
	int64_t begun_mono_ns;
	bool has_looked, is_looking, is_asking; /* the server's side has ended: is it still there? */
	ssize_t end_seen;
	bool is_resetting;
	enum road_party reset_by;
	unsigned drains;
	bool has_ended, has_road_ended; /* the first end, and which side ended it */
	enum road_party ended_by;
	enum road_end end;
};

void pair_poll(struct side *s, int events);
void pair_note_end(struct pair *p, enum road_party by, enum road_end how);
void pair_reset(struct pair *p, enum road_party by);
void pair_finish(struct pair *p);

/* Says the reason for the log, then resets. */
void pair_refuse(struct pair *p, const struct err *err);

/* ---- lane.c ---- */

/* Passes on what it can, in both directions, and sets the events to wait for. May close the pair. */
void pair_pump(struct pair *p);

/* Gives the held bytes to `to`. True: none are held any more. */
bool lane_flush(struct pair *p, struct lane *l);

#endif
