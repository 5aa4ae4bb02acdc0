"""Answers SQL with DuckDB over an exported tape: answer.py FOLDER <STATEMENTS >ANSWERS, both JSON: a list of texts
in, a list of {"rows": [...]} or {"error": TEXT} out.

FOLDER holds events.parquet, events.csv, and NAME.ndjson of every table. What kubetape computes (objects, changes,
jget) is defined here again in DuckDB's own words, so that the same statements run on both."""

import json
import os
import sys

import duckdb

LARGEST = 1 << 27
EVENTS = {
    "seq": "BIGINT", "time": "VARCHAR", "time_ns": "BIGINT", "origin": "VARCHAR", "type": "VARCHAR", "apigroup": "VARCHAR",
    "version": "VARCHAR", "resource": "VARCHAR", "namespace": "VARCHAR", "name": "VARCHAR", "uid": "VARCHAR",
    "rv": "VARCHAR", "bytes": "BIGINT", "object": "VARCHAR"}
OTHER = ("streams", "connections", "gaps", "missed", "marks")
KEY = "apigroup, resource, namespace, name"
# Fields of one value that stand in no list, which both sides name alike.
FIELDS = ("$.spec.replicas", "$.spec.nodeName", "$.spec.renewTime", "$.spec.holderIdentity", "$.metadata.generation",
    "$.metadata.deletionTimestamp", "$.status.phase", "$.status.observedGeneration", "$.status.availableReplicas",
    "$.status.readyReplicas", "$.status.replicas", "$.status.podIP")

DEFINITIONS = f"""
CREATE VIEW events AS SELECT *, TRY_CAST(rv AS BIGINT) AS rv_number FROM read_parquet($folder || '/events.parquet');
CREATE VIEW events_ndjson AS SELECT * FROM read_json($folder || '/events.ndjson', format = 'newline_delimited',
  maximum_object_size = {LARGEST}, columns = {EVENTS});
CREATE VIEW events_csv AS SELECT * FROM read_csv($folder || '/events.csv', header = true, all_varchar = false,
  max_line_size = {LARGEST}, buffer_size = {LARGEST}, quote = '"', escape = '"', columns = {EVENTS});
CREATE MACRO jget(o, p) AS CASE json_type(o, p) WHEN 'VARCHAR' THEN json_extract_string(o, p) WHEN 'NULL' THEN NULL
  WHEN 'BOOLEAN' THEN CAST(CAST(json_extract_string(o, p) AS BOOLEAN)::INT AS VARCHAR)
  ELSE CAST(json_extract(o, p) AS VARCHAR) END;
CREATE MACRO jtext(o, p) AS CASE json_type(o, p) WHEN 'BOOLEAN' THEN json_extract_string(o, p) ELSE jget(o, p) END;
CREATE MACRO to_ns(t) AS epoch_ns(CAST(t AS TIMESTAMP));
CREATE MACRO state_after(last_seq) AS TABLE SELECT * EXCLUDE (place) FROM (
  SELECT *, row_number() OVER (PARTITION BY {KEY} ORDER BY seq DESC) AS place FROM events WHERE seq <= last_seq)
  WHERE place = 1 AND type <> 'DELETED';
CREATE MACRO objects(point) AS TABLE FROM state_after(CASE WHEN TRY_CAST(point AS BIGINT) IS NOT NULL THEN
  TRY_CAST(point AS BIGINT) ELSE (SELECT coalesce(max(seq), 0) FROM events WHERE time <= point) END);
CREATE VIEW objects AS FROM state_after((SELECT max(seq) FROM events));
CREATE TABLE changes AS WITH v AS (SELECT seq, type, resource, name, uid, path, jtext(object, path) AS new,
  lag(jtext(object, path)) OVER (PARTITION BY apigroup, resource, uid, path ORDER BY seq) AS old,
  lag(seq) OVER (PARTITION BY apigroup, resource, uid, path ORDER BY seq) AS before
  FROM events, (SELECT unnest({list(FIELDS)}) AS path))
  SELECT seq, type, resource, name, uid, path, old, new FROM v WHERE before IS NOT NULL AND old IS DISTINCT FROM new;
"""


def load(folder):
    db = duckdb.connect()
    for statement in DEFINITIONS.replace("$folder", "'" + folder.replace("'", "''") + "'").split(";\n"):
        if statement.strip():
            db.execute(statement)
    for name in OTHER:
        path = os.path.join(folder, name + ".ndjson")
        if os.path.getsize(path):
            db.execute(f"CREATE TABLE {name} AS FROM read_json('{path}', format = 'newline_delimited', "
                "convert_strings_to_integers = false, timestampformat = 'never', dateformat = 'never')")
    return db


def answer(db, statement):
    try:
        done = db.execute(statement)
        return {"columns": [column[0] for column in done.description], "rows": done.fetchall()}
    except duckdb.Error as err:
        return {"error": str(err)}


def main():
    db = load(sys.argv[1])
    json.dump([answer(db, statement) for statement in json.load(sys.stdin)], sys.stdout, default=str)


main()
