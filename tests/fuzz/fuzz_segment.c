/*
 * fuzz_segment.c: a damaged or hostile segment (crafted_tape.h), everything that a reader can be asked, and
 * what recover makes of it, which must be sound: way, bit 2.
 */
#include "schema/base/limits.h"
#include "schema/tape/reader.h"
#include "schema/tape/recover.h"
#include "schema/tape/verify.h"
#include "tests/fuzz/crafted_tape.h"

#include <string.h>
#include <unistd.h>

static int take_mark(void *context, const struct tape_mark *mark)
{
	(void)context;
	return mark->rv.len > 1u << 30;
}

static int take_connection(void *context, const struct tape_connection *c)
{
	(void)context;
	return c->tail.len > 1u << 30;
}

static int take_gap(void *context, const struct tape_gap *gap)
{
	(void)context;
	return gap->reason && strlen(gap->reason) > 1u << 30;
}

static int take_missed(void *context, const struct tape_missed *missed)
{
	(void)context;
	return missed->name.len > 1u << 30;
}

static void walk(struct tape *t, const struct tape_filter *filter, enum tape_order order)
{
	struct tape_cursor *c;
	struct slice object;
	struct event e;
	struct err err = {0};

	if (tape_cursor_open(t, filter, order, &c, &err))
		return;
	while (tape_cursor_next(c, &e, &err) > 0) {
		fuzz_demand(tape_resource_by_id(t, e.resource) && tape_stream_by_id(t, e.stream));
		if (tape_cursor_object(c, &object, &err) == 0)
			fuzz_demand(object.len == e.bytes);
	}
	tape_cursor_close(c);
}

static void ask_everything(struct tape *t)
{
	struct tape_filter by_uid = {.uid = "u3"}, by_key = {.resource = 1, .namespace = "a", .name = "n3"};
	struct tape_state *state;
	struct tape_document d;
	struct tape_info info;
	struct buf body;
	struct err err;
	uint64_t seq;

	walk(t, NULL, TAPE_FORWARD);
	walk(t, NULL, TAPE_STORED);
	walk(t, &by_uid, TAPE_BACKWARD);
	walk(t, &by_key, TAPE_FORWARD);
	for (seq = 1; seq < 60; seq += 13) {
		uint64_t previous;

		if (tape_state_at(t, seq, 0, &state, &err) == 0)
			tape_state_free(state);
		fuzz_demand(tape_previous(t, seq, &previous, &err) < 0 || previous < seq);
	}
	if (tape_info(t, &info, &err) == 0 && info.events)
		fuzz_demand(info.events == info.last_seq - info.first_seq + 1);
	fuzz_demand(tape_seq_at_time(t, 1700000000000000009, &seq, &err) <= 0);
	buf_init(&body, LIMIT_DOCUMENT_BYTES);
	fuzz_demand(tape_document(t, "/api", "", 0, &d, &body, &err) <= 0);
	buf_release(&body);
	fuzz_demand(tape_each_mark(t, take_mark, NULL, &err) <= 0);
	fuzz_demand(tape_each_connection(t, take_connection, NULL, &err) <= 0);
	fuzz_demand(tape_each_gap(t, take_gap, NULL, &err) <= 0);
	fuzz_demand(tape_each_missed(t, take_missed, NULL, &err) <= 0);
}

static int fail_at_damage(void *context, const struct tape_damage *d)
{
	(void)context;
	fprintf(stderr, "new tape: %s: %s: found %s, expected %s\n", d->file, d->what, d->found, d->expected);
	fuzz_demand(false);
	return 1;
}

static int note_loss(void *context, const struct tape_loss *loss)
{
	(void)context;
	fuzz_demand(loss->first <= loss->last && *loss->why && loss->file);
	return 0;
}

static void recover(const char *tape_path)
{
	char new_path[100];
	struct tape_recover_options options = {.lost = note_loss};
	struct tape_verify_options check = {.damaged = fail_at_damage};
	struct tape_recover_result result;
	struct tape_verify_result verified;
	struct err err = {0};

	snprintf(new_path, sizeof(new_path), "%s-new", tape_path);
	if (tape_recover(tape_path, new_path, &options, &result, &err)) {
		fuzz_demand(err.code < 0 && err.text[0] && access(new_path, F_OK));
		return;
	}
	fuzz_demand(tape_verify(new_path, &check, &verified, &err) == 0 && verified.events == result.events);
	crafted_tape_remove(new_path);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	const char *tape_path;
	struct tape *t;
	struct err err = {0};

	if (len < 2)
		return 0;
	tape_path = crafted_tape(bytes, len);
	if (bytes[1] & 2)
		recover(tape_path);
	if (tape_open(tape_path, &t, &err) == 0) {
		ask_everything(t);
		tape_close(t);
	} else {
		fuzz_demand(err.code < 0 && err.text[0]);
	}
	return 0;
}
