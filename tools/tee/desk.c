/* desk.c: see desk.h. */
#include "tools/tee/desk.h"

#include <pthread.h>
#include <stdlib.h>

struct desk {
	struct desk_options o;
	pthread_t thread;
	struct desk_summary summary;
};

static void take_item(struct desk *d, const struct feed_item *item)
{
	d->summary.requests += item->kind == FEED_REQUEST;
}

static void *work(void *context)
{
	struct desk *d = context;
	bool closed = false;

	while (!closed) {
		struct feed_block *b = feed_take(d->o.feed, INT64_MAX, &closed), *next;

		for (; b; b = next) {
			const struct feed_item *item;
			size_t at = 0;

			next = b->next;
			while ((item = feed_next(b, &at)))
				take_item(d, item);
			feed_give_back(d->o.feed, b);
		}
	}
	return NULL;
}

int desk_open(const struct desk_options *options, struct desk **ret, struct err *err)
{
	struct desk *d = xcalloc(1, sizeof(*d));

	d->o = *options;
	if (pthread_create(&d->thread, NULL, work, d)) {
		free(d);
		return err_set(err, ERR_FAILED, "cannot start a thread");
	}
	*ret = d;
	return 0;
}

int desk_close(struct desk *d, struct desk_summary *ret, struct err *err)
{
	(void)err;
	pthread_join(d->thread, NULL);
	*ret = d->summary;
	free(d);
	return 0;
}
