/* sweep_again.c: what went wrong in an earlier sweep is tried first. See sweep_course.h. */
#include "tools/sweep/sweep_course.h"

#include <stdlib.h>

static bool is_text(const cJSON *gap, const char *name, const char *expected)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(gap, name);
	const char *text = cJSON_IsString(value) ? value->valuestring : "";

	return strcmp(text, expected ? expected : "") == 0;
}

static bool is_number(const cJSON *gap, const char *name, uint64_t expected)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(gap, name);

	return cJSON_IsNumber(value) ? (uint64_t)value->valuedouble == expected : !expected;
}

static bool is_same(const cJSON *gap, const struct sweep_try *t)
{
	const struct sweep_position *p = t->position;
	const cJSON *narrowed_from = cJSON_GetObjectItemCaseSensitive(gap, "narrowed_from");
	const cJSON *place = narrowed_from ? narrowed_from : gap;

	return is_text(gap, "pattern", sweep_pattern_names[p->pattern]) && is_text(gap, "gap", t->words) &&
	       is_text(gap, "resource", p->resource) && is_text(gap, "others", p->others) &&
	       is_number(gap, "others_as_of_seq", p->others_as_of_seq) && is_text(gap, "write", p->write) &&
	       is_number(gap, "nth", p->nth) && is_number(gap, "as_of_seq", p->as_of_seq) &&
	       is_number(place, "seq", p->seq) && is_number(place, "last_seq", p->last_seq);
}

static bool has_failed(const cJSON *gaps, const struct sweep_try *t)
{
	const cJSON *gap;

	cJSON_ArrayForEach(gap, gaps)
	{
		const cJSON *word = cJSON_GetObjectItemCaseSensitive(gap, "verdict");
		int verdict = sweep_verdict_find(cJSON_GetStringValue(word));

		if ((verdict < 0 || !sweep_verdict_is_harmless((enum sweep_verdict)verdict)) &&
			is_same(gap, t))
			return true;
	}
	return false;
}

/* In the order in which they were, what has failed before what has not. */
static void put_first(struct sweep *s, const cJSON *gaps)
{
	struct sweep_try *sorted = xcalloc(s->try_count + 1, sizeof(*sorted));
	size_t count = 0;

	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < s->try_count; i++) {
			if (has_failed(gaps, &s->tries[i]) == (round == 0))
				sorted[count++] = s->tries[i];
		}
	}
	free(s->tries);
	s->tries = sorted;
}

int sweep_order_again(struct sweep *s, struct err *err)
{
	cJSON *report = NULL;
	int rc = sweep_report_read(s->v->again, &report, err);

	if (rc == 0)
		put_first(s, cJSON_GetObjectItemCaseSensitive(report, "gaps"));
	cJSON_Delete(report);
	return rc;
}
