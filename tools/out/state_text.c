/* state_text.c: see state_text.h. */
#include "tools/out/state_text.h"

#include "schema/base/json_scan.h"
#include "schema/base/visible.h"

#include <stdlib.h>
#include <unistd.h>

#define CUT_BYTES 100

const char *const state_text_values[] = {"old", "new", NULL};

bool state_text_wants_color(const char *word)
{
	const char *no_color = getenv("NO_COLOR");

	if (strcmp(word, "auto") != 0)
		return strcmp(word, "always") == 0;
	return isatty(STDOUT_FILENO) && !(no_color && *no_color);
}

const char *state_text_code(enum state_style style)
{
	static const char *const codes[] = {[STATE_HEAD] = "\033[1m",
		[STATE_ADDED] = "\033[32m",
		[STATE_REMOVED] = "\033[31m",
		[STATE_CHANGED] = "\033[33m",
		[STATE_GAP] = "\033[35m"};

	return codes[style];
}

void state_text_begin(const struct state_text *t, enum state_style style)
{
	if (t->color)
		fputs(state_text_code(style), stdout);
}

void state_text_end(const struct state_text *t)
{
	if (t->color)
		fputs(STATE_TEXT_PLAIN, stdout);
}

void state_text_name(struct slice namespace, struct slice name)
{
	visible_put(stdout, namespace);
	if (namespace.len)
		putchar('/');
	visible_put(stdout, name);
}

/* Not in the middle of a character. */
static struct slice state_text_cut(const struct state_text *t, struct slice text)
{
	size_t n = CUT_BYTES;

	if (t->full || text.len <= CUT_BYTES)
		return text;
	while (n && ((unsigned char)text.ptr[n] & 0xc0) == 0x80)
		n--;
	return (struct slice){text.ptr, n};
}

static void put_cut(const struct state_text *t, struct slice text)
{
	struct slice shown = state_text_cut(t, text);

	visible_put(stdout, shown);
	if (shown.len < text.len)
		printf("... (%zu bytes)", text.len);
}

/* Strings without their quotes, unless all is to be shown as JSON; what is no string as JSON has it. */
static void put_value(const struct state_text *t, struct slice json)
{
	struct buf text;

	if (t->as_json || !json.len || json.ptr[0] != '"') {
		put_cut(t, json);
		return;
	}
	buf_init(&text, json.len);
	put_cut(t, json_unescape(json, &text, NULL) ? json : buf_slice(&text));
	buf_release(&text);
}

void state_text_change(const struct state_text *t, struct slice op, struct slice field, struct slice old,
	struct slice new, struct slice who)
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
