/* query_run.c: see query_run.h. */
#include "tools/shell/query_run.h"

#include "recorder/push/remote_tape.h"
#include "schema/base/visible.h"
#include "tools/cli/sql_progress.h"

#include <stdlib.h>

static void tell_remarks(struct sql_session *s)
{
	char *remark;

	fflush(stdout);
	while ((remark = sql_session_remark(s))) {
		char *words = remote_tape_words(remark);

		fputs("kubetape query: ", stderr);
		visible_puts(stderr, words);
		fputc('\n', stderr);
		free(words);
		free(remark);
	}
}

int query_run(struct sql_session *s, const struct query_run_options *o, struct slice sql, struct err *err)
{
	struct table_out *out = table_out_new(stdout, o->format, table_out_terminal_width(stdout));
	struct sql_sink rows = table_out_sink(out);
	int rc;

	sql_session_limit(s, o->time_limit_ns);
	rc = sql_progress_run(s, sql, &rows, err);
	table_out_free(out);
	if (!rc)
		tell_remarks(s);
	return rc;
}
