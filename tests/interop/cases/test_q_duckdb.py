"""DuckDB is given what `kubetape export` writes, in three formats, and asked what kubetape is asked: the answers are
the same."""

import json
import os
import random
import re
import subprocess
import unittest

from lib import paths, tape
from lib.case import Case

FOLDER = os.path.join(paths.HERE, "duckdb")
ENVIRONMENT = os.path.join(paths.BUILD, "duckdb")
BUNDLED = os.path.join(paths.ROOT, "tests", "tapes", "rolling-update.tape")
TABLES = ("streams", "connections", "gaps", "missed", "marks")
RANDOM_QUESTIONS = 150
TIMEOUT_S = 300


def export(source, folder):
    """Everything that DuckDB is to read. Parquet is written by the C interface that lies in DuckDB's Python module."""
    os.makedirs(folder, exist_ok=True)
    for name in TABLES:
        tape.kubetape("export", source, "--table", name, "-o", os.path.join(folder, name + ".ndjson"))
    for form in ("ndjson", "csv"):
        tape.kubetape("export", source, "--format", form, "-o", os.path.join(folder, "events." + form))
    done = subprocess.run([paths.KUBETAPE, "export", source, "--format", "parquet", "-o", folder + "/events.parquet"],
        capture_output=True, timeout=TIMEOUT_S, check=False, env={**os.environ,
            "KUBETAPE_DUCKDB": os.path.join(ENVIRONMENT, "libduckdb.so"),
            "LD_PRELOAD": os.path.join(ENVIRONMENT, "python_names.so")})
    if done.returncode:
        raise RuntimeError(f"no Parquet: {done.stderr.decode()}")


def ask_duckdb(folder, statements):
    done = subprocess.run([os.path.join(ENVIRONMENT, "bin", "python"), os.path.join(FOLDER, "answer.py"), folder],
        input=json.dumps(statements).encode(), capture_output=True, timeout=TIMEOUT_S, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.decode())
    return json.loads(done.stdout)


def ask_kubetape(source, statement):
    """The rows; one statement a call."""
    return [list(row.values()) for row in numbered(tape.kubetape("query", source, statement, "--format", "json"))]


def numbered(text):
    """Rows of JSON in which columns may share a name."""
    return json.loads(text, object_pairs_hook=lambda pairs: dict(enumerate(value for _, value in pairs)))


def as_text(value):
    if value is None:
        return ""  # both have NULLs only where a value is missing, and no text is empty there
    if isinstance(value, bool):
        return str(int(value))
    return str(int(value)) if isinstance(value, float) and value == int(value) else str(value)


def comparable(rows):
    return sorted([as_text(value) for value in row] for row in rows)


class Asked:
    """A tape, its export, and what stands for the {names} in the questions."""

    def __init__(self, source, folder):
        self.source, self.folder = source, folder
        export(source, folder)
        first, last, count = ask_kubetape(source, "SELECT min(time_ns), max(time_ns), count(*) FROM events")[0]
        early_ns, late_ns = first + (last - first) // 4, first + 3 * (last - first) // 4
        times = ask_kubetape(source, f"SELECT to_time({early_ns}), to_time({(early_ns + late_ns) // 2}), to_time({late_ns})")
        with open(os.path.join(FOLDER, "answer.py"), encoding="utf-8") as f:
            fields = re.search(r"FIELDS = \((.*?)\)", f.read(), re.S).group(1).replace('"', "'").rstrip(", \n\t")
        self.names = {"early_ns": early_ns, "late_ns": late_ns, "middle_seq": count // 2, "fields": fields,
            "middle_rv": ask_kubetape(source, f"SELECT max(rv_number) FROM events WHERE seq <= {count // 2}")[0][0],
            **dict(zip(("early_time", "middle_time", "late_time"), times[0]))}

    def fill(self, text):
        return re.sub(r"\{(\w+)\}", lambda m: str(self.names[m.group(1)]), text)


def questions(asked):
    with open(os.path.join(FOLDER, "questions.sql"), encoding="utf-8") as f:
        text = re.sub(r"^--.*\n", "", f.read(), flags=re.M)
    return [asked.fill(s).strip() for s in text.split(";\n") if s.strip()]


def random_questions(asked, seed):
    """Conditions that the tape answers itself, alone and together, in every order of walking."""
    chance = random.Random(seed)
    rows = ask_kubetape(asked.source, "SELECT seq, time_ns, time, apigroup, resource, namespace, name, uid, rv, type FROM events")

    def condition():
        row = chance.choice(rows)
        column, value = chance.choice(list(zip(("seq", "time_ns", "time", "apigroup", "resource", "namespace", "name",
            "uid", "rv", "type"), row)))
        ordered = column in ("seq", "time_ns", "time")
        operator = chance.choice(("<", "<=", ">", ">=", "=", "<>") if ordered else ("=", "=", "=", "<>"))
        return f"{column} {operator} " + (str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'")

    for _ in range(RANDOM_QUESTIONS):
        where = chance.choice((" AND ", " AND ", " OR ")).join(condition() for _ in range(chance.randint(1, 4)))
        if chance.random() < 0.5:
            yield f"SELECT count(*), min(seq), max(seq), sum(bytes), sum(length(object)) FROM events WHERE {where}"
        else:
            order = chance.choice(("seq", "seq DESC", "time_ns, seq", "name, seq DESC"))
            yield (f"SELECT seq, type, uid, rv, {chance.choice(('bytes', 'object'))} FROM events WHERE {where} "
                f"ORDER BY {order} LIMIT {chance.choice((1, 7, 1000))} OFFSET {chance.choice((0, 0, 3))}")


class DuckDB(Case):

    def asked(self, which):
        return Asked(which, self.folder())

    def compare(self, asked, statements):
        answers = ask_duckdb(asked.folder, statements)
        self.assertEqual(len(answers), len(statements))
        nonempty = 0
        for statement, theirs in zip(statements, answers):
            with self.subTest(sql=statement):
                self.assertNotIn("error", theirs)
                ours = ask_kubetape(asked.source, statement)
                self.assertEqual(comparable(ours), comparable(theirs["rows"]))
                nonempty += bool(ours)
        self.assertGreater(nonempty, len(statements) // 2, "most questions must have an answer")

    def test_answers_the_questions_about_the_bundled_tape_alike(self):
        asked = self.asked(BUNDLED)
        self.compare(asked, questions(asked))

    def test_answers_the_questions_about_a_fresh_recording_alike(self):
        asked = self.asked(self.all_tape)
        self.compare(asked, questions(asked))

    def test_answers_random_questions_alike(self):
        for number, source in enumerate((BUNDLED, self.session.tape("cut"))):
            asked = self.asked(source)
            self.compare(asked, list(random_questions(asked, number)))

    def test_reads_the_same_rows_out_of_parquet_ndjson_and_csv(self):
        asked = self.asked(self.all_tape)
        columns = ", ".join(("seq", "time", "time_ns", "origin", "type", "apigroup", "version", "resource", "namespace",
            "name", "uid", "rv", "bytes", "object"))
        for form in ("ndjson", "csv"):
            # An empty text and none are one thing in CSV; an object inside a line of JSON is read and written anew.
            empty = columns.replace("apigroup", "coalesce(apigroup, '')").replace("namespace", "coalesce(namespace, '')")
            empty = empty.replace("object", "json_extract(object, '$')") if form == "ndjson" else empty
            differ = ask_duckdb(asked.folder, [f"SELECT count(*) FROM (SELECT {empty} FROM {a} EXCEPT ALL SELECT {empty} FROM {b})"
                for a, b in (("events", "events_" + form), ("events_" + form, "events"))])
            self.assertEqual([d.get("rows") for d in differ], [[[0]], [[0]]], f"{form}: {differ}")
        rows = ask_duckdb(asked.folder, ["SELECT object FROM events ORDER BY seq"])[0]["rows"]
        self.assertEqual([row[0] for row in rows], [e.object.decode() for e in self.all_events], "bytes as delivered")


if __name__ == "__main__":
    unittest.main()
