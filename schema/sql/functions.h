/*
 * functions.h: the SQL functions of the extension.
 *
 *   jget(JSON, PATH)                the value at a path such as '$.metadata.labels.app', as json_extract
 *                                   gives it, without reading the rest
 *   jdiff(OLD, NEW [, ALL [, WHO]]) the fields in which two JSON texts differ, as a JSON array; ALL other than
 *                                   0: also managedFields and resourceVersion; WHO other than 0: with the manager
 *                                   of each field, if the managedFields of NEW say
 *   to_ns(TIME)                     nanoseconds since 1970
 *   to_time(NS)                     the other way round
 *   duration(NS)                    for people: '12.4s'
 *   rv_cmp(A, B)                    -1, 0, 1: order of two resourceVersions; NULL if one is malformed
 *   kubetape_open(PATH [, PREFIX])  makes the tables of a tape in the connection's temp schema
 *   kubetape_version()              of the program
 */
#ifndef SCHEMA_SQL_FUNCTIONS_H
#define SCHEMA_SQL_FUNCTIONS_H

#include "schema/base/buf.h"
#include "schema/sql/sqlite_api.h"

int functions_register(sqlite3 *db);

/* Gives JSON as SQL does: strings without quotes, numbers, true and false as 1 and 0, null as NULL, arrays
 * and objects as their text. */
int result_json(sqlite3_context *context, struct slice value, struct err *err) MUST_CHECK;

/* Unescapes a JSON string without its quotes. */
int result_escaped(sqlite3_context *context, struct slice escaped, struct err *err) MUST_CHECK;

#endif
