/* sweep_asked.c: what a sweep was asked for, by which parts of one sweep are known to belong together. See sweep_merge.h. */
#include "tools/sweep/sweep_merge.h"

#include "schema/base/clock.h"
#include "schema/base/count_of.h"

#include <stdlib.h>

/* Options about the machine and about what becomes of the results. */
static bool is_of_part(const char *name)
{
	static const char *const names[] = {"again", "budget", "html", "jobs", "json", "junit", "merge",
		"out", "sarif", "shard", "timeout"};

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		if (strcmp(names[i], name) == 0)
			return true;
	}
	return false;
}

static void add_word(struct text_list *to, const char *name, const char *value)
{
	char *word = xasprintf("--%s%s%s", name, value ? "=" : "", value ? value : "");

	(void)text_list_keep(to, word);
	free(word);
}

static void add_number(struct text_list *to, const char *name, int64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)number);
	if (number >= 0)
		add_word(to, name, text);
}

static void add_option(const struct option_row *o, const char *values, struct text_list *to)
{
	const void *value = values + o->offset;
	char time[TIME_TEXT_BYTES];

	switch (o->kind) {
	case OPTION_FLAG:
		if (*(const bool *)value)
			add_word(to, o->name, NULL);
		break;
	case OPTION_TEXT:
	case OPTION_CHOICE:
		if (*(const char *const *)value)
			add_word(to, o->name, *(const char *const *)value);
		break;
	case OPTION_LIST: {
		const struct text_list *list = value;

		for (size_t i = 0; i < list->count; i++)
			add_word(to, o->name, list->items[i]);
		break;
	}
	case OPTION_DURATION:
		if (*(const int64_t *)value)
			add_word(to, o->name, duration_format(time, *(const int64_t *)value));
		break;
	case OPTION_NUMBER:
	case OPTION_BYTES: add_number(to, o->name, *(const int64_t *)value); break;
	case OPTION_END: break;
	}
}

void sweep_asked_list(const struct option_row *options, const void *values, struct text_list *to)
{
	for (const struct option_row *o = options; o->kind != OPTION_END; o++) {
		if (!is_of_part(o->name))
			add_option(o, values, to);
	}
}

/* ---- of a report ---- */

static void take_words(struct text_list *to, const cJSON *list)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, list)
	{
		if (cJSON_IsString(item))
			text_list_add(to, xstrdup(item->valuestring));
	}
}

void sweep_asked_read(const cJSON *report, struct text_list *asked, struct text_list *command)
{
	take_words(asked, cJSON_GetObjectItemCaseSensitive(report, "asked"));
	take_words(command, cJSON_GetObjectItemCaseSensitive(report, "command"));
}

/* ---- of several ---- */

/* The first of a's words that b does not have; NULL: it has all. */
static const char *word_beside(const struct text_list *a, const struct text_list *b)
{
	for (size_t i = 0; i < a->count; i++) {
		if (!text_list_has(b, a->items[i]))
			return a->items[i];
	}
	return NULL;
}

static int check_options(
	const struct text_list *asked, const struct text_list *others, const char *folder, struct err *err)
{
	const char *more = word_beside(asked, others), *less = word_beside(others, asked);

	if (more)
		return err_set(
			err, ERR_USAGE, "'%s' is a sweep with '%s', the others are without", folder, more);
	if (less)
		return err_set(
			err, ERR_USAGE, "'%s' is a sweep without '%s', the others have it", folder, less);
	return 0;
}

static char *joined(const struct text_list *words)
{
	char *text = xstrdup("");

	for (size_t i = 0; i < words->count; i++) {
		char *longer = xasprintf("%s%s%s", text, i ? " " : "", words->items[i]);

		free(text);
		text = longer;
	}
	return text;
}

/* It may be the same program elsewhere. */
static void tell_of_command(
	const struct text_list *command, const struct text_list *others, const char *folder)
{
	char *own = joined(command), *other = joined(others);

	if (strcmp(own, other) != 0)
		fprintf(stderr,
			"kubetape sweep: '%s' ran '%s', others ran '%s': if these are different programs, the report is of neither\n",
			folder, own, other);
	free(own);
	free(other);
}

int sweep_asked_check(const struct sweep_merged *m, const cJSON *report, const char *folder, struct err *err)
{
	struct text_list asked = {0}, command = {0};
	int rc;

	sweep_asked_read(report, &asked, &command);
	rc = check_options(&asked, &m->asked, folder, err);
	if (rc == 0)
		tell_of_command(&command, &m->command, folder);
	text_list_release(&asked);
	text_list_release(&command);
	return rc;
}
