/* notices.c: see notices.h. */
#include "recorder/notices.h"

#include "schema/base/clock.h"

#include <stdio.h>
#include <string.h>

#define WINDOW_NS NS_PER_S

static struct notice_kind *notices_find(struct notices *n, const char *what)
{
	for (size_t i = 0; i < NOTICE_KINDS; i++) {
		struct notice_kind *k = &n->kinds[i];

		if (k->since_mono_ns && strncmp(k->what, what, NOTICE_KIND_BYTES - 1) == 0)
			return k;
	}
	return NULL;
}

static void notices_tell(struct notice_kind *k)
{
	if (k->more)
		log_write(k->level, "%u more stream%s: %s", k->more, k->more == 1 ? "" : "s", k->what);
	*k = (struct notice_kind){.more = 0};
}

/* A free place, or the oldest one. */
static struct notice_kind *take_place(struct notices *n)
{
	struct notice_kind *oldest = &n->kinds[0];

	for (size_t i = 0; i < NOTICE_KINDS; i++) {
		if (n->kinds[i].since_mono_ns < oldest->since_mono_ns)
			oldest = &n->kinds[i];
	}
	notices_tell(oldest);
	return oldest;
}

void notices_say(struct notices *n, int64_t now_mono_ns, enum log_level level, const char *name,
	const char *what, const char *detail)
{
	struct notice_kind *k = notices_find(n, what);

	if (k) {
		k->more++;
		return;
	}
	log_write(level, "%s: %s%s%s", name, what, *detail ? ": " : "", detail);
	k = take_place(n);
	snprintf(k->what, sizeof(k->what), "%s", what);
	k->level = level;
	k->since_mono_ns = now_mono_ns > 0 ? now_mono_ns : 1;
}

void notices_tick(struct notices *n, int64_t now_mono_ns)
{
	for (size_t i = 0; i < NOTICE_KINDS; i++) {
		struct notice_kind *k = &n->kinds[i];

		if (k->since_mono_ns && now_mono_ns - k->since_mono_ns >= WINDOW_NS)
			notices_tell(k);
	}
}
