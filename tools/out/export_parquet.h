/* export_parquet.h: Parquet by way of DuckDB's library, which is looked for when it is needed. */
#ifndef TOOLS_EXPORT_PARQUET_H
#define TOOLS_EXPORT_PARQUET_H

#include "schema/base/out_file.h"

/* ERR_NOT_FOUND if the library is not there, ERR_FAILED if it does not load. */
int export_parquet_check(struct err *err) MUST_CHECK;

/* Turns the NDJSON of table events in `lines`, objects as strings, into Parquet. */
int export_parquet(FILE *lines, const struct out_file *to, struct err *err) MUST_CHECK;

#endif
