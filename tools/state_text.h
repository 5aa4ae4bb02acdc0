/* state_text.h: changes of objects as lines for people, in colour on a terminal. */
#ifndef TOOLS_STATE_TEXT_H
#define TOOLS_STATE_TEXT_H

#include "schema/sql/session.h"

enum state_style { STATE_HEAD, STATE_ADDED, STATE_REMOVED, STATE_CHANGED, STATE_GAP };

struct state_text {
	bool color;
	bool full; /* long values are not cut */
};

/* `word` is auto, always or never; auto means a terminal that NO_COLOR does not forbid. */
bool state_text_wants_color(const char *word);

/* What is printed to stdout in between has the style. */
void state_text_begin(const struct state_text *t, enum state_style style);
void state_text_end(const struct state_text *t);

/* "namespace/name", or "name". */
void state_text_name(struct slice namespace, struct slice name);

/* One line of a field: op is add, remove or replace; who may be empty. */
void state_text_change(const struct state_text *t, struct slice op, struct slice field,
	const struct sql_value *old, const struct sql_value *new, struct slice who);

#endif
