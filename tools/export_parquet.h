/* export_parquet.h: Parquet by way of DuckDB's library, which is looked for when it is needed. */
#ifndef TOOLS_EXPORT_PARQUET_H
#define TOOLS_EXPORT_PARQUET_H

#include "schema/base/err.h"

/* ERR_NOT_FOUND when the library is not there. */
int export_parquet_check(struct err *err) MUST_CHECK;

/* Turns the NDJSON of table events at `from`, objects as strings, into the Parquet file `to`. */
int export_parquet(const char *from, const char *to, struct err *err) MUST_CHECK;

#endif
