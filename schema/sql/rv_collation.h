/*
 * rv_collation.h: the collating sequence of columns that hold resourceVersions. Two texts of digits compare
 * as numbers, whatever their length, so that `rv > '999'` and ORDER BY rv work as expected; everything else
 * comes after the numbers, bytewise.
 */
#ifndef SCHEMA_SQL_RV_COLLATION_H
#define SCHEMA_SQL_RV_COLLATION_H

#include "schema/sql/sqlite_api.h"

#define RV_COLLATION "kubetape_rv"

int rv_collation_register(sqlite3 *db);

#endif
