/* state_text.h: changes of objects as lines for people, in colour on a terminal. */
#ifndef TOOLS_STATE_TEXT_H
#define TOOLS_STATE_TEXT_H

#include "schema/base/buf.h"

enum state_style { STATE_HEAD, STATE_ADDED, STATE_REMOVED, STATE_CHANGED, STATE_GAP };

struct state_text {
	bool color;
	bool full;    /* long values are not cut */
	bool as_json; /* strings have their quotes */
};

/* The columns of changes that hold JSON, ended by NULL. */
extern const char *const state_text_values[];

/* `word` is auto, always or never; auto means a terminal that NO_COLOR does not forbid. */
bool state_text_wants_color(const char *word);

/* The sequences that turn a style on, and all of them off, on a terminal. */
const char *state_text_code(enum state_style style);
#define STATE_TEXT_PLAIN "\033[0m"

/* Text printed to stdout in between has the style. */
void state_text_begin(const struct state_text *t, enum state_style style);
void state_text_end(const struct state_text *t);

/* "namespace/name", or "name". */
void state_text_name(struct slice namespace, struct slice name);

/* One line of a field: op is add, remove or replace; old and new are JSON, empty if absent; who may be
 * empty. */
void state_text_change(const struct state_text *t, struct slice op, struct slice field, struct slice old,
	struct slice new, struct slice who);

#endif
