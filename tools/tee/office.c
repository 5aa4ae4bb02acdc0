/* office.c: see office.h. */
#include "tools/tee/office.h"

#include "schema/base/limits.h"
#include "schema/base/log.h"

#include <stdlib.h>

#define PARKED_MAX    64
#define COLLECTED_MAX ((size_t)48 << 20) /* of all bodies together */

void office_init(struct office *o)
{
	*o = (struct office){.book = NULL};
	buf_init(&o->typed, LIMIT_OBJECT_BYTES);
	buf_init(&o->clean, LIMIT_OBJECT_BYTES);
}

static void free_parked(struct office *o, struct parked_list *p)
{
	tee_listing_drop(p->listing);
	free(p->token);
	free(p);
	o->parked_count--;
}

static void free_socket(struct socket_note *s)
{
	free(s->server);
	free(s);
}

void office_release(struct office *o)
{
	for (struct parked_list *p = o->parked, *next; p; p = next) {
		next = p->next;
		free_parked(o, p);
	}
	for (struct socket_note *s = o->sockets, *next; s; s = next) {
		next = s->next;
		free_socket(s);
	}
	buf_release(&o->typed);
	buf_release(&o->clean);
	free(o->server_path);
}

void office_judge(struct office *o, int rc, const struct err *err)
{
	if (rc >= 0 || rc == ERR_STOPPED)
		return;
	if (rc == ERR_PROTOCOL || rc == ERR_TOO_LARGE) {
		log_debug("not on the tape: %s", err->text);
		o->unread++;
		return;
	}
	tape_book_give_up(o->book, err);
}

uint64_t office_seq(const struct office *o)
{
	struct tape_writer_stats stats = {0};

	if (tape_book_writer(o->book))
		tape_writer_stats(tape_book_writer(o->book), &stats);
	return stats.last_seq;
}

/* ---- words ---- */

const char *office_how(int64_t how)
{
	static const char *const words[] = {[ROAD_COMPLETE] = "complete",
		[ROAD_RST_STREAM] = "rst_stream",
		[ROAD_GOAWAY] = "goaway",
		[ROAD_FIN] = "fin",
		[ROAD_RESET] = "reset",
		[ROAD_UNREAD] = "unread"};

	return words[how];
}

const char *office_by(uint64_t by)
{
	static const char *const words[] = {
		[PARTY_SERVER] = "server", [PARTY_CLIENT] = "client", [PARTY_TEE] = "tee"};

	return words[by];
}

/* ---- connections ---- */

void office_connected(struct office *o, const struct feed_item *item)
{
	struct slice server = feed_text(item, CONNECTED_SERVER);
	struct socket_note *s = xcalloc(1, sizeof(*s));
	const struct run_socket_row row = {.id = run_book_socket(o->run, item->id),
		.time_ns = item->wall_ns,
		.peer = feed_text(item, CONNECTED_PEER),
		.server = server,
		.http_version = feed_text(item, CONNECTED_PROTOCOL),
		.tls = feed_text(item, CONNECTED_TLS).len > 0};

	*s = (struct socket_note){o->sockets, item->id, slice_dup(server), row.tls};
	o->sockets = s;
	run_file_socket(run_book_file(o->run), &row);
}

void office_disconnected(struct office *o, const struct feed_item *item)
{
	struct socket_note **at = &o->sockets, *s;

	while (*at && (*at)->id != item->id)
		at = &(*at)->next;
	s = *at;
	if (s) {
		*at = s->next;
		free_socket(s);
	}
	run_file_socket_end(run_book_file(o->run), run_book_socket(o->run, item->id), item->wall_ns,
		slice_of(office_how(item->number)), slice_of(office_by(item->other)));
}

void office_unreached(struct office *o, const struct feed_item *item)
{
	run_file_fault(run_book_file(o->run), &(struct run_fault_row){.time_ns = item->wall_ns,
						      .tape_time_ns = item->wall_ns,
						      .seq = office_seq(o),
						      .step = slice_of("request"),
						      .what = slice_of("refuse"),
						      .detail = feed_text(item, 0)});
}

const struct socket_note *office_socket(const struct office *o, uint64_t id)
{
	const struct socket_note *s = o->sockets;

	while (s && s->id != id)
		s = s->next;
	return s;
}

/* ---- lists between pages ---- */

void office_park(struct office *o, struct slice token, struct tee_listing *listing)
{
	struct parked_list *p = xcalloc(1, sizeof(*p)), **last = &o->parked;

	*p = (struct parked_list){o->parked, slice_dup(token), listing};
	o->parked = p;
	if (++o->parked_count <= PARKED_MAX)
		return;
	while ((*last)->next)
		last = &(*last)->next;
	free_parked(o, *last);
	*last = NULL;
}

struct tee_listing *office_unpark(struct office *o, struct slice token)
{
	struct parked_list **at = &o->parked, *p;
	struct tee_listing *listing;

	while (*at && !slice_is(token, (*at)->token))
		at = &(*at)->next;
	p = *at;
	if (!p)
		return NULL;
	*at = p->next;
	listing = p->listing;
	p->listing = NULL;
	free_parked(o, p);
	return listing;
}

/* ---- bodies ---- */

bool office_collect(struct office *o, struct buf *body, struct slice bytes)
{
	if (o->collected + bytes.len > COLLECTED_MAX || buf_append(body, bytes.ptr, bytes.len, NULL))
		return false;
	o->collected += bytes.len;
	return true;
}

void office_uncollect(struct office *o, struct buf *body)
{
	o->collected -= body->len;
	buf_release(body);
}
