/* delivery.c: see delivery.h. */
#include "replayer/delivery.h"

#include "schema/base/clock.h"

/* What was delivered is on its way: now it can be said how late. With speed max nothing is late. */
void delivery_flush(struct delivery *d)
{
	bool timed = player_speed(d->player) > SPEED_MAX;
	int64_t now_ns;

	server_flush(d->server);
	now_ns = clock_mono_ns(&clock_system);
	for (size_t i = 0; i < d->count; i++) {
		if (d->reached[i])
			run_delivered(d->run, timed ? d->due_ns[i] : now_ns, now_ns, d->reached[i]);
	}
	d->count = 0;
	run_flushed(d->run, now_ns);
}

void delivery_change(
	struct delivery *d, struct collection *in, struct change *c, uint64_t number, int64_t due_ns)
{
	if (d->count == DELIVERY_BATCH_MAX)
		delivery_flush(d);
	d->due_ns[d->count] = due_ns;
	d->run->due_ns = player_speed(d->player) > SPEED_MAX ? due_ns : RUN_NO_TIME;
	d->reached[d->count] = watches_deliver(d->watches, in, c, number);
	if (d->reached[d->count++])
		settle_sent(d->settle);
	d->run->due_ns = RUN_NO_TIME;
}
