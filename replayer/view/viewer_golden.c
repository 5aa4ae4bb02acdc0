/* viewer_golden.c: an earlier run beside the one that is shown: what each was told, and how their writes compare. */
#include "replayer/view/viewer_internal.h"

#include "schema/base/clock.h"

#include <stdio.h>

#define RUN_LIMIT_NS (120 * NS_PER_S)
#define BINS         128
#define ROWS_MAX     20000
#define TEXT_MAX     400

#define RESOURCE "coalesce(r.resource, '') || iif(r.apigroup <> '', '.' || r.apigroup, '') AS resource"

/* Counted before they are joined: there may be millions. */
static const char told[] =
	"SELECT coalesce(r.client, '') AS client, " RESOURCE
	", d.bin, sum(d.n) AS events FROM (SELECT request, seq * :bins / (:last + 1) AS bin, "
	"count(*) AS n FROM deliveries WHERE seq > 0 GROUP BY 1, 2) AS d "
	"JOIN requests AS r ON r.request = d.request GROUP BY 1, 2, 3 ORDER BY 1, 2, 3";

static const char asked[] = "SELECT coalesce(client, '') AS client, " RESOURCE
			    ", sum(verb = 'list') AS lists, sum(verb = 'watch') AS watches, "
			    "coalesce(sum(status >= 400), 0) AS refused FROM requests AS r "
			    "WHERE verb IN ('list', 'watch') GROUP BY 1, 2 ORDER BY 1, 2";

static int put_query(
	struct viewer_desk *d, struct answer_out *o, const char *name, const char *sql, struct err *err)
{
	int rc;

	answer_put(o, "\"%s\":{", name);
	rc = viewer_put_rows(d, o, slice_of(sql), ROWS_MAX, TEXT_MAX, err);
	answer_put(o, "},");
	return rc;
}

/* What the clients of a run asked, and what they were told until now. */
static int put_run(
	struct viewer_desk *d, struct answer_out *o, const struct query *q, const char *name, struct err *err)
{
	char bins[16], last[24];
	int rc;

	snprintf(bins, sizeof(bins), "%d", BINS);
	snprintf(last, sizeof(last), "%lld", (long long)viewer_number(q, "last", 0));
	sql_session_set(d->session, "bins", bins);
	sql_session_set(d->session, "last", last);
	sql_session_limit(d->session, RUN_LIMIT_NS);
	answer_put(o, "\"%s\":{", name);
	rc = put_query(d, o, "told", told, err);
	if (!rc)
		rc = put_query(d, o, "asked", asked, err);
	answer_put(o, "\"path\":");
	answer_text(o, slice_of(d->run));
	answer_put(o, "},");
	return rc;
}

static int put_golden(struct viewer_desk *d, const struct query *q, struct buf *to, struct err *err)
{
	struct answer_out o = {to, err, 0};
	int rc;

	answer_put(&o, "{\"bins\":%d,", BINS);
	rc = put_run(d->golden_desk, &o, q, "golden", err);
	if (!rc)
		rc = put_run(d, &o, q, "now", err);
	answer_put(&o, "\"writes\":");
	if (!rc && !o.code)
		rc = d->golden->compare(d->golden->context, d->run, to, err);
	answer_put(&o, "}");
	return rc ? rc : o.code;
}

void viewer_golden(struct viewer_desk *d, struct viewer_job *job)
{
	if (!d->golden || !d->run)
		job->code = err_set(&job->err, ERR_NOT_FOUND, "there is no golden run beside this view");
	else if (viewer_number(&job->query, "last", 0) < 1)
		job->code =
			err_set(&job->err, ERR_USAGE, "expected 'last', the number of the tape's last event");
	else
		job->code = put_golden(d, &job->query, &job->answer, &job->err);
}
