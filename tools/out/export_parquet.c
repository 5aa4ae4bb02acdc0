/*
 * export_parquet.c: see export_parquet.h. The library is loaded at run time, because it is large and in no
 * distribution; what we need of its C interface, which is promised to stay, is declared here.
 */
#include "tools/out/export_parquet.h"

#include "schema/base/buf.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

/* duckdb_result: six words that are DuckDB's own business. */
struct duckdb_result {
	void *words[8];
};

struct duckdb {
	void *library;
	int (*open)(const char *path, void **ret_database);
	void (*close)(void **database);
	int (*connect)(void *database, void **ret_connection);
	void (*disconnect)(void **connection);
	int (*query)(void *connection, const char *sql, struct duckdb_result *ret);
	const char *(*result_error)(struct duckdb_result *result);
	void (*destroy_result)(struct duckdb_result *result);
};

/* The loader's own words begin with the name of what it could not load. */
static int not_loaded(const char *given, struct err *err)
{
	const char *why = dlerror();

	if (given && access(given, F_OK) == 0)
		return err_set(err, ERR_FAILED,
			"the library that KUBETAPE_DUCKDB names exists and cannot be loaded: %s", why);
	return err_set(err, ERR_NOT_FOUND,
		"Parquet needs DuckDB's library '%s', which was not found; name it in KUBETAPE_DUCKDB, or export "
		"ndjson",
		given ? given : "libduckdb.so");
}

static int export_parquet_load(struct duckdb *d, struct err *err)
{
	const char *given = getenv("KUBETAPE_DUCKDB"), *name = given ? given : "libduckdb.so";

	d->library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	if (!d->library)
		return not_loaded(given, err);
	*(void **)&d->open = dlsym(d->library, "duckdb_open");
	*(void **)&d->close = dlsym(d->library, "duckdb_close");
	*(void **)&d->connect = dlsym(d->library, "duckdb_connect");
	*(void **)&d->disconnect = dlsym(d->library, "duckdb_disconnect");
	*(void **)&d->query = dlsym(d->library, "duckdb_query");
	*(void **)&d->result_error = dlsym(d->library, "duckdb_result_error");
	*(void **)&d->destroy_result = dlsym(d->library, "duckdb_destroy_result");
	if (!d->open || !d->close || !d->connect || !d->disconnect || !d->query || !d->result_error ||
		!d->destroy_result) {
		dlclose(d->library);
		return err_set(err, ERR_FAILED, "'%s' lacks a function of DuckDB's C interface", name);
	}
	return 0;
}

int export_parquet_check(struct err *err)
{
	struct duckdb d;
	int rc = export_parquet_load(&d, err);

	if (rc)
		return rc;
	dlclose(d.library);
	return 0;
}

/* As an SQL text. The caller frees. */
static char *quoted(const char *text)
{
	char *to = xmalloc(2 * strlen(text) + 3), *at = to;

	*at++ = '\'';
	for (const char *c = text; *c; c++) {
		if (*c == '\'')
			*at++ = '\'';
		*at++ = *c;
	}
	*at++ = '\'';
	*at = 0;
	return to;
}

/* Both paths are of open files, which DuckDB must not replace by others. */
static char *make_sql(const char *from, const char *to)
{
	char *source = quoted(from), *target = quoted(to);
	char *sql = xasprintf(
		"COPY (SELECT * FROM read_json(%s, format = 'newline_delimited', maximum_object_size = 134217728, "
		"columns = {seq: 'BIGINT', time: 'VARCHAR', time_ns: 'BIGINT', origin: 'VARCHAR', "
		"type: 'VARCHAR', apigroup: 'VARCHAR', version: 'VARCHAR', resource: 'VARCHAR', "
		"namespace: 'VARCHAR', name: 'VARCHAR', uid: 'VARCHAR', rv: 'VARCHAR', bytes: 'BIGINT', "
		"object: 'VARCHAR'})) TO %s (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false)",
		source, target);

	free(source);
	free(target);
	return sql;
}

static int export_parquet_copy(const struct duckdb *d, const char *sql, struct err *err)
{
	void *database = NULL, *connection = NULL;
	struct duckdb_result result = {0};
	int rc = 0;

	if (d->open(NULL, &database) || d->connect(database, &connection))
		rc = err_set(err, ERR_FAILED, "cannot open a DuckDB database in memory");
	else if (d->query(connection, sql, &result))
		rc = err_set(err, ERR_FAILED, "DuckDB cannot write Parquet: %s", d->result_error(&result));
	d->destroy_result(&result);
	if (connection)
		d->disconnect(&connection);
	if (database)
		d->close(&database);
	return rc;
}

int export_parquet(FILE *lines, const struct out_file *to, struct err *err)
{
	const char *target = out_file_path(to);
	char from[32], *sql;
	struct duckdb d;
	int rc = export_parquet_load(&d, err);

	if (rc)
		return rc;
	snprintf(from, sizeof(from), "/proc/self/fd/%d", fileno(lines));
	if (target && access(from, R_OK) == 0) {
		sql = make_sql(from, target);
		rc = export_parquet_copy(&d, sql, err);
		free(sql);
	} else {
		rc = err_set(err, ERR_FAILED, "Parquet cannot be written where /proc is not mounted");
	}
	dlclose(d.library);
	return rc;
}
