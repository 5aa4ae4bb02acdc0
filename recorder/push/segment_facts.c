/* segment_facts.c: see segment_facts.h. */
#include "recorder/push/segment_facts.h"

#include "schema/tape/reader.h"

#include <stdio.h>

static int take_events(void *context, const struct tape_segment_info *s)
{
	struct manifest_segment *to = context;

	to->first_seq = s->first_seq;
	to->last_seq = s->last_seq;
	to->events = s->events;
	to->first_time_ns = s->first_time_ns;
	to->last_time_ns = s->last_time_ns;
	(void)snprintf(
		to->previous, sizeof(to->previous), "%s", s->previous_digest ? s->previous_digest : "");
	return 0;
}

int segment_facts_events(const char *path, struct manifest_segment *s, struct err *err)
{
	struct tape *t;
	int rc = reader_open_sealed(path, s->number, &t, err);

	if (rc)
		return rc;
	rc = tape_each_segment(t, take_events, s, err);
	tape_close(t);
	return rc;
}

static int note_damage(void *context, const struct seal_damage *d)
{
	return err_set(context, ERR_CORRUPT, "%s has sum %s, expected %s", d->what, d->found, d->expected);
}

int segment_facts(const char *path, struct manifest_segment *s, struct err *err)
{
	struct err damage = {0};
	int rc = seal_check(path, note_damage, NULL, &damage, s->digest, err);

	if (damage.code)
		return err_copy(err, &damage);
	rc = rc ? rc : segment_facts_events(path, s, err);
	return rc ? rc : s3_sum_of_path(path, &s->bytes, s->sha256, err);
}
