/* query_run.c: see query_run.h. */
#include "tools/query_run.h"

#include "tools/progress.h"
#include "tools/sql_progress.h"

int query_run(struct sql_session *s, const struct query_run_options *o, struct slice sql, struct err *err)
{
	struct table_out *out = table_out_new(stdout, o->format, table_out_terminal_width(stdout));
	struct sql_sink rows = table_out_sink(out), sink;
	struct sql_progress progress;
	struct sigaction before;
	int code;

	progress_catch_interrupt(&before);
	sink = sql_progress_begin(&progress, s, "", stdout, &rows);
	sql_session_limit(s, o->time_limit_ns);
	code = sql_session_run(s, sql, &sink, err);
	sql_progress_end(&progress);
	progress_release_interrupt(&before);
	table_out_free(out);
	return code;
}
