/* desk.c: see desk.h. */
#include "tools/tee/desk.h"

#include "tools/tee/tape_past.h"
#include "tools/tee/visit.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define TICK_NS (NS_PER_S / 4)
#define SLOTS   4096 /* of requests under way */

struct slot {
	struct slot *next;
	uint64_t id; /* of the feed */
	struct visit *visit;
};

struct desk {
	struct desk_options o;
	struct office office;
	struct slot *slots[SLOTS];
	pthread_t thread;
	int64_t ticked_ns;
};

/* ---- requests under way ---- */

static struct slot **slot_of(struct desk *d, uint64_t id)
{
	struct slot **at = &d->slots[id % SLOTS];

	while (*at && (*at)->id != id)
		at = &(*at)->next;
	return at;
}

static void begin_visit(struct desk *d, const struct feed_item *item)
{
	struct slot **at = slot_of(d, item->id), *s = xcalloc(1, sizeof(*s));

	s->id = item->id;
	s->visit = visit_begin(&d->office, item);
	s->next = *at;
	*at = s;
}

static void remove_slot(struct slot **at)
{
	struct slot *s = *at;

	*at = s->next;
	free(s);
}

static void take_item(struct desk *d, const struct feed_item *item)
{
	struct slot **at;

	switch (item->kind) {
	case FEED_CONNECTED: office_connected(&d->office, item); return;
	case FEED_DISCONNECTED: office_disconnected(&d->office, item); return;
	case FEED_UNREACHED: office_unreached(&d->office, item); return;
	case FEED_REQUEST: begin_visit(d, item); return;
	default: break;
	}
	at = slot_of(d, item->id);
	if (!*at)
		return;
	if (item->kind != FEED_END) {
		visit_take((*at)->visit, item);
		return;
	}
	visit_end((*at)->visit, item);
	remove_slot(at);
}

static void drop_visits(struct desk *d)
{
	for (size_t i = 0; i < SLOTS; i++) {
		while (d->slots[i]) {
			visit_drop(d->slots[i]->visit);
			remove_slot(&d->slots[i]);
		}
	}
}

/* ---- the thread ---- */

static void desk_tick(struct desk *d)
{
	int64_t now = clock_mono_ns(&clock_system);
	struct err err;

	tape_book_tick(d->office.book, now);
	if (now - d->ticked_ns < TICK_NS)
		return;
	d->ticked_ns = now;
	for (size_t i = 0; i < SLOTS; i++) {
		for (struct slot *s = d->slots[i]; s; s = s->next)
			visit_tick(s->visit, now);
	}
	office_judge(&d->office, tee_streams_tick(d->office.shelf, now, &err), &err);
	run_book_tick(d->office.run);
}

static int64_t next_tick_ns(const struct desk *d)
{
	int64_t due = tape_book_due_ns(d->office.book), other = d->ticked_ns + TICK_NS;

	return due < other ? due : other;
}

static void take_blocks(struct desk *d, struct feed_block *b)
{
	for (struct feed_block *next; b; b = next) {
		const struct feed_item *item;
		size_t at = 0;

		next = b->next;
		while ((item = feed_next(b, &at)))
			take_item(d, item);
		feed_give_back(d->o.feed, b);
		tape_book_tick(d->office.book, clock_mono_ns(&clock_system));
	}
}

static void desk_rest(int64_t until_mono_ns)
{
	const struct timespec until = {until_mono_ns / NS_PER_S, until_mono_ns % NS_PER_S};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static void *desk_work(void *context)
{
	struct desk *d = context;
	bool closed = false;

	while (!closed) {
		if (tape_book_is_stuck(d->office.book) && !feed_is_closed(d->o.feed))
			desk_rest(next_tick_ns(d));
		else
			take_blocks(d, feed_take(d->o.feed, next_tick_ns(d), &closed));
		desk_tick(d);
	}
	drop_visits(d);
	return NULL;
}

/* ---- opening and closing ---- */

static int open_books(struct desk *d, struct err *err)
{
	struct office *o = &d->office;
	const struct tape_book_options tape = {d->o.tape, d->o.keep_secrets, d->o.writer};
	struct run_book_options run = {.path = d->o.run, .tape = d->o.tape, .server = d->o.server};
	int rc = tape_book_open(&tape, &o->book, err);

	if (rc)
		return rc;
	o->redactor = tape_book_redactor(o->book);
	o->shelf = shelf_new(o->book);
	if (tape_book_is_resumed(o->book))
		rc = tape_past_load(o->shelf, err);
	run.tape_id = tape_writer_id(tape_book_writer(o->book));
	run.redactor = o->redactor;
	return rc ? rc : run_book_open(&run, &o->run, err);
}

static void sum_up(const struct office *o, struct desk_summary *ret)
{
	*ret = (struct desk_summary){.requests = o->requests,
		.events = o->shelf ? o->shelf->events : 0,
		.deliveries = o->deliveries,
		.writes = o->writes,
		.gaps = o->shelf ? o->shelf->gaps : 0,
		.lost_bytes = o->lost_bytes,
		.unread = o->unread};
}

static int close_books(struct desk *d, const struct desk_end *end, struct err *err)
{
	struct office *o = &d->office;
	struct run_book_end last = {.ended_by = end->ended_by, .exit_code = end->exit_code};
	int rc = 0, tape_rc = 0;

	last.last_seq = o->book ? office_seq(o) : 0;
	shelf_free(o->shelf);
	if (end->never_began) {
		run_book_discard(o->run);
		tape_book_discard(o->book);
	} else {
		rc = run_book_close(o->run, &last, err);
		tape_rc = tape_book_close(o->book, rc ? NULL : err);
	}
	office_release(o);
	return rc ? rc : tape_rc;
}

int desk_open(const struct desk_options *options, struct desk **ret, struct err *err)
{
	const struct desk_end never = {"failure", -1, true};
	struct desk *d = xcalloc(1, sizeof(*d));
	int rc;

	d->o = *options;
	d->ticked_ns = clock_mono_ns(&clock_system);
	office_init(&d->office);
	d->office.server_path = xstrdup(options->server_path);
	rc = open_books(d, err);
	if (rc == 0 && pthread_create(&d->thread, NULL, desk_work, d))
		rc = err_set(err, ERR_FAILED, "cannot start a thread");
	if (rc) {
		(void)close_books(d, &never, NULL);
		free(d);
		return rc;
	}
	*ret = d;
	return 0;
}

int desk_close(struct desk *d, const struct desk_end *end, struct desk_summary *ret, struct err *err)
{
	int rc;

	pthread_join(d->thread, NULL);
	sum_up(&d->office, ret);
	rc = close_books(d, end, err);
	free(d);
	return rc;
}
