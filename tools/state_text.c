/* state_text.c: see state_text.h. */
#include "tools/state_text.h"

#include "schema/base/visible.h"
#include "tools/table_out.h"

#include <stdlib.h>
#include <unistd.h>

#define CUT_BYTES 100

bool state_text_wants_color(const char *word)
{
	const char *no_color = getenv("NO_COLOR");

	if (strcmp(word, "auto") != 0)
		return strcmp(word, "always") == 0;
	return isatty(STDOUT_FILENO) && !(no_color && *no_color);
}

void state_text_begin(const struct state_text *t, enum state_style style)
{
	static const char *const codes[] = {[STATE_HEAD] = "1",
		[STATE_ADDED] = "32",
		[STATE_REMOVED] = "31",
		[STATE_CHANGED] = "33",
		[STATE_GAP] = "35"};

	if (t->color)
		printf("\033[%sm", codes[style]);
}

void state_text_end(const struct state_text *t)
{
	if (t->color)
		fputs("\033[0m", stdout);
}

void state_text_name(struct slice namespace, struct slice name)
{
	visible_put(stdout, namespace);
	if (namespace.len)
		putchar('/');
	visible_put(stdout, name);
}

/* Not in the middle of a character. */
static struct slice cut(const struct state_text *t, struct slice text)
{
	size_t n = CUT_BYTES;

	if (t->full || text.len <= CUT_BYTES)
		return text;
	while (n && ((unsigned char)text.ptr[n] & 0xc0) == 0x80)
		n--;
	return (struct slice){text.ptr, n};
}

static void put_value(const struct state_text *t, const struct sql_value *v)
{
	struct slice shown = cut(t, v->bytes);

	switch (v->type) {
	case SQL_NULL: fputs("null", stdout); break;
	case SQL_INTEGER: printf("%lld", (long long)v->integer); break;
	case SQL_REAL: printf("%.15g", v->real); break;
	default:
		visible_put(stdout, shown);
		if (shown.len < v->bytes.len)
			printf("... (%zu bytes)", v->bytes.len);
	}
}

void state_text_change(const struct state_text *t, struct slice op, struct slice field,
	const struct sql_value *old, const struct sql_value *new, struct slice who)
{
	bool adds = slice_is(op, "add"), removes = slice_is(op, "remove");

	state_text_begin(t, adds ? STATE_ADDED : removes ? STATE_REMOVED : STATE_CHANGED);
	printf("    %c ", adds ? '+' : removes ? '-' : '~');
	visible_put(stdout, field);
	state_text_end(t);
	fputs(": ", stdout);
	if (!adds)
		put_value(t, old);
	if (!adds && !removes)
		fputs(" -> ", stdout);
	if (!removes)
		put_value(t, new);
	if (who.len) {
		fputs("  (", stdout);
		visible_put(stdout, who);
		putchar(')');
	}
	putchar('\n');
}
