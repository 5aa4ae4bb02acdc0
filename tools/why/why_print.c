/* why_print.c: a chain for people and for programs. */
#include "tools/out/state_text.h"
#include "tools/out/table_out.h"
#include "tools/why/why.h"

#include "schema/base/visible.h"

#include <stdio.h>

const char *why_certainty_name(enum why_certainty certainty)
{
	return certainty == WHY_CERTAIN ? "certain" : "likely";
}

static void print_who(const struct why_step *s)
{
	if (*s->user) {
		fputs("      by ", stdout);
		visible_puts(stdout, s->user);
		fputs(" with ", stdout);
		visible_puts(stdout, s->user_agent);
		fputs(" (audit log: ", stdout);
		visible_puts(stdout, s->verb);
		fputs(")\n", stdout);
	} else if (*s->manager) {
		fputs("      by ", stdout);
		visible_puts(stdout, s->manager);
		fputs(" (managedFields)\n", stdout);
	}
}

/* Takes a line off the front of the lines. */
static struct slice take_line(const char **lines)
{
	size_t len = strcspn(*lines, "\n");
	struct slice line = {*lines, len};

	*lines += len + ((*lines)[len] == '\n');
	return line;
}

static void print_log(const struct why_step *s)
{
	const char *rest = s->log;

	if (*rest)
		fputs("      the last lines of its log:\n", stdout);
	while (*rest) {
		fputs("        ", stdout);
		visible_put(stdout, take_line(&rest));
		putchar('\n');
	}
	if (*s->no_log) {
		fputs("      its log is not on the tape: ", stdout);
		visible_puts(stdout, s->no_log);
		putchar('\n');
	}
}

static void print_step(const struct why_step *s, size_t number, const struct state_text *style)
{
	state_text_begin(style, STATE_HEAD);
	printf("%s%zu. ", number > 1 ? "because\n" : "", number);
	visible_puts(stdout, s->resource);
	putchar(' ');
	state_text_name(slice_of(s->namespace), slice_of(s->name));
	state_text_end(style);
	fputs(": ", stdout);
	visible_puts(stdout, s->text);
	printf("\n      %s; event %lld, %s\n", why_certainty_name(s->rule->certainty), (long long)s->seq,
		s->time);
	print_who(s);
	print_log(s);
	if (*s->gap) {
		fputs("      ", stdout);
		visible_puts(stdout, s->gap);
		putchar('\n');
	}
}

void why_print(const struct why_chain *c, bool color)
{
	const struct state_text style = {.color = color};

	for (size_t i = 0; i < c->count; i++)
		print_step(&c->steps[i], i + 1, &style);
	printf("%s\n", c->end);
}

static void print_member(const char *name, const char *text)
{
	printf(", \"%s\": ", name);
	if (*text)
		table_out_json_string(stdout, slice_of(text));
	else
		fputs("null", stdout);
}

static void print_log_member(const char *lines)
{
	fputs(", \"log\": ", stdout);
	fputs(*lines ? "[" : "null", stdout);
	for (const char *rest = lines; *rest;) {
		fputs(rest == lines ? "" : ", ", stdout);
		table_out_json_string(stdout, take_line(&rest));
	}
	fputs(*lines ? "]" : "", stdout);
}

void why_print_json(const struct why_chain *c)
{
	fputs("{\"steps\": [", stdout);
	for (size_t i = 0; i < c->count; i++) {
		const struct why_step *s = &c->steps[i];

		printf("%s{\"rule\": \"%s\", \"certainty\": \"%s\", \"seq\": %lld", i ? ", " : "",
			s->rule->name, why_certainty_name(s->rule->certainty), (long long)s->seq);
		print_member("time", s->time);
		print_member("resource", s->resource);
		print_member("namespace", s->namespace);
		print_member("name", s->name);
		print_member("uid", s->uid);
		print_member("text", s->text);
		print_member("field", s->field);
		print_member("user", s->user);
		print_member("user_agent", s->user_agent);
		print_member("verb", s->verb);
		print_member("manager", s->manager);
		print_member("gap", s->gap);
		print_log_member(s->log);
		print_member("no_log", s->no_log);
		putchar('}');
	}
	printf("], \"known\": %s, \"end\": ", c->is_known ? "true" : "false");
	table_out_json_string(stdout, slice_of(c->end));
	puts("}");
}
