/* cmd_staleness.c: `kubetape staleness`: how much later clients were told than somebody who watched beside
 * them. */
#include "schema/base/log.h"
#include "schema/sql/session.h"
#include "tools/cli/sql_progress.h"
#include "tools/commands.h"
#include "tools/out/table_out.h"

#include <stdio.h>

struct staleness_options {
	const char *client;
	bool json, all;
};

static const struct option_row rows[] = {
	{OPTION_TEXT, 0, "client", offsetof(struct staleness_options, client), "TEXT",
		"only clients with TEXT in their User-Agent"},
	{OPTION_FLAG, 0, "json", offsetof(struct staleness_options, json), NULL, "print one JSON object"},
	{OPTION_FLAG, 'a', "all", offsetof(struct staleness_options, all), NULL,
		"list every write on old news, not the first twenty"},
	{OPTION_END, 0, NULL, 0, NULL, NULL},
};

static const char clients_sql[] =
	"WITH s AS MATERIALIZED (SELECT client, late_ns, row_number() OVER (PARTITION BY client ORDER BY late_ns) AS n,"
	" count(*) OVER (PARTITION BY client) AS c FROM staleness WHERE instr(client, :client)),"
	" late AS (SELECT client, max(c) AS events,"
	"  max(late_ns) FILTER (WHERE n = (c * 50 + 99) / 100) AS p50,"
	"  max(late_ns) FILTER (WHERE n = (c * 99 + 99) / 100) AS p99, max(late_ns) AS most FROM s GROUP BY client),"
	" wrote AS (SELECT ifnull(client, '') AS client, count(*) AS writes FROM writes"
	"  WHERE instr(ifnull(client, ''), :client) GROUP BY 1),"
	" old AS (SELECT client, count(*) AS stale FROM stale_writes GROUP BY client),"
	" names AS (SELECT client FROM late UNION SELECT client FROM wrote)"
	" SELECT client, ifnull(events, 0) AS events, round(p50 / 1e6, 3) AS p50_ms, round(p99 / 1e6, 3) AS p99_ms,"
	" round(most / 1e6, 3) AS max_ms, ifnull(writes, 0) AS writes, ifnull(stale, 0) AS stale_writes"
	" FROM names LEFT JOIN late USING (client) LEFT JOIN wrote USING (client) LEFT JOIN old USING (client)"
	" ORDER BY client";

static const char writes_sql[] =
	"SELECT strftime('%Y-%m-%dT%H:%M:%S', time_ns / 1000000000, 'unixepoch')"
	"  || printf('.%03dZ', time_ns % 1000000000 / 1000000) AS time, client, verb,"
	" resource || CASE WHEN subresource <> '' THEN '/' || subresource ELSE '' END AS resource, namespace, name,"
	" status, basis_rv, newest_rv, behind, round(stale_ns / 1e6, 3) AS stale_ms"
	" FROM stale_writes WHERE instr(client, :client) ORDER BY write LIMIT :most";

/* Counts the rows on their way. */
struct counted {
	struct sql_sink to;
	uint64_t rows;
};

static int count_begin(void *context, const char *const *names, size_t count, struct err *err)
{
	struct counted *c = context;

	return c->to.begin ? c->to.begin(c->to.context, names, count, err) : 0;
}

static int count_row(void *context, const struct sql_value *values, size_t count, struct err *err)
{
	struct counted *c = context;

	c->rows++;
	return c->to.row(c->to.context, values, count, err);
}

static int count_end(void *context, struct err *err)
{
	struct counted *c = context;

	return c->to.end ? c->to.end(c->to.context, err) : 0;
}

static int print_rows(struct sql_session *s, const char *sql, bool json, uint64_t *ret_rows, struct err *err)
{
	struct table_out *out = table_out_new(
		stdout, json ? TABLE_JSON : TABLE_TEXT, json ? 0 : table_out_terminal_width(stdout));
	struct counted counted = {.to = table_out_sink(out)};
	const struct sql_sink sink = {count_begin, count_row, count_end, &counted};
	int rc = sql_progress_run(s, slice_of(sql), &sink, err);

	table_out_free(out);
	*ret_rows = counted.rows;
	return rc;
}

static int print_all(struct sql_session *s, bool json, uint64_t *ret_clients, struct err *err)
{
	uint64_t writes;
	int rc;

	if (json)
		fputs("{\"clients\":", stdout);
	rc = print_rows(s, clients_sql, json, ret_clients, err);
	fputs(json ? ",\"stale_writes\":" : "\nwrites on old news:\n", stdout);
	if (rc == 0)
		rc = print_rows(s, writes_sql, json, &writes, err);
	if (rc == 0 && json)
		puts("}");
	else if (rc == 0 && !writes)
		puts("none");
	return rc;
}

/* A run of a replay has no such views. */
static int check_run(struct sql_session *s, const char *path, struct err *err)
{
	const struct sql_sink nowhere = {.row = NULL};

	if (sql_session_run(s, slice_of("SELECT 1 FROM staleness LIMIT 0"), &nowhere, NULL) == 0)
		return 0;
	return err_set(err, ERR_USAGE,
		"'%s' is the run of a replay: what a client was told live is in one of 'kubetape tee'", path);
}

static int staleness_show(void *values, const struct operands *operands, struct err *err)
{
	const struct staleness_options *o = values;
	struct sql_session *s;
	uint64_t clients = 0;
	int rc = sql_session_open(operands->items[1], &s, err);

	if (rc)
		return rc;
	rc = sql_session_add_run(s, operands->items[0], err);
	if (rc == 0)
		rc = check_run(s, operands->items[0], err);
	sql_session_set(s, "client", o->client ? o->client : "");
	sql_session_set(s, "most", o->all ? "-1" : "20");
	if (rc == 0)
		rc = print_all(s, o->json, &clients, err);
	sql_session_close(s);
	if (rc == 0 && !clients) {
		log_warn(
			"no client of the run was sent an event of the tape, or wrote anything: are they of one time "
			"and cluster?");
		return EXIT_LOSS;
	}
	return rc;
}

static int staleness_run(const struct command *self, int argc, char **argv)
{
	struct staleness_options o = {.client = NULL};

	return command_run(self, argc, argv, &o, staleness_show);
}

const struct command cmd_staleness = {
	.name = "staleness",
	.operands = "RUN TAPE",
	.expects = {"a live run and the tape of somebody who watched beside it", 2, 2},
	.summary = "show how much later the clients of a tee got events than a recorder beside them",
	.description =
		"RUN is the run of a tee, TAPE what a recorder saw of the same cluster at the same time. For each\n"
		"client, prints how many of the tape's events it was sent and how much later: half of them within\n"
		"p50, 99 of 100 within p99. Then lists the writes on old news: updates, patches and deletes of\n"
		"objects with newer versions on the tape than the client had been sent, had read, or had written.\n"
		"\n"
		"The same in SQL: kubetape query TAPE --run RUN 'SELECT * FROM staleness', or stale_writes. Both\n"
		"times are from wall clocks; if they are of two machines, the clocks' difference is added.\n"
		"\n"
		"  kubetape staleness live.run observer.tape",
	.options = rows,
	.exits =
		{
			[EXIT_LOSS] = "done, but run and tape have nothing in common",
		},
	.run = staleness_run,
};
