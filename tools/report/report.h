/*
 * report.h: what happened between two positions, on one page: sections, each the rows of one statement (report_sections.c).
 * Each row has the event that shows it, as a position for other commands.
 */
#ifndef TOOLS_REPORT_H
#define TOOLS_REPORT_H

#include "schema/sql/session.h"

#include <stdio.h>

/* Rows of a section that are shown: a page is to be read. */
#define REPORT_ROWS_MAX 50

enum report_kind {
	REPORT_OF_STATES,  /* a list shows it, too */
	REPORT_OF_CHANGES, /* only who watches sees it */
};

struct report_section {
	const char *title;
	const char *
		resources; /* that it is made of, separated by spaces: none of them on the tape means not known; NULL: any */
	/* Columns: seq, time, object, what, who. Parameters: :from and :until (events after the first, up to
	 * the second), :from_ns, :begin_ns (of the first, also if that is the tape's start), :until_ns, :namespace ("" all),
	 * :most. */
	const char *sql;
	enum report_kind kind;
};

/* Ended by a row of NULLs. */
extern const struct report_section report_sections[];

enum report_column { REPORT_SEQ, REPORT_TIME, REPORT_OBJECT, REPORT_WHAT, REPORT_WHO, REPORT_COLUMNS };

/* How a page looks. Texts come from a tape: a form escapes what its readers would take for more than text. */
struct report_form {
	const char *name;
	void (*begin)(FILE *to, const char *title);
	void (*section)(FILE *to, const char *title);
	void (*row)(FILE *to, const struct slice columns[REPORT_COLUMNS]);
	void (*rows_end)(FILE *to);               /* after the rows of a section that has some */
	void (*note)(FILE *to, const char *text); /* instead of rows, or after them */
	void (*end)(FILE *to);
};
extern const struct report_form report_text, report_markdown, report_html;

struct report {
	struct sql_session *session;
	const struct report_form *form;
	FILE *to;
	const char *title;
	bool is_of_namespace; /* else of all of them */
};

/* The parameters are set. */
int report_make(const struct report *r, struct err *err) MUST_CHECK;

#endif
