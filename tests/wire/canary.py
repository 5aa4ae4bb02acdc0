"""Values of Secrets that nobody would write by chance, and the search for them, or for parts of them, in everything that a
program leaves: files as they are, tables as SQL shows them, texts."""

import base64
import functools
import json
import os
import sqlite3
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KUBETAPE = os.environ.get("KUBETAPE", "build/kubetape")
VALUE = "zq7Canary-Vx3/Wf9~kJ2\"p\\8Yd"
PART = 9  # bytes of it in a row are no accident


def b64(text):
    return base64.b64encode(text.encode()).decode()


def forms():
    """The value as it may stand in a text, each with how much of it counts as a part."""
    plain = VALUE.encode()
    escaped = plain.replace(b"\\", b"\\\\").replace(b'"', b'\\"')
    shifted = [base64.b64encode(b"x" * n + plain)[4:-4] for n in range(3)]  # inside a longer text, too
    whole = base64.b64encode(plain)
    return [(form, PART) for form in (plain, escaped, whole, *shifted)] + [
        (form.hex().encode(), 2 * PART) for form in (plain, whole)]


PARTS = {form[i:i + size] for form, size in forms() for i in range(len(form) - size + 1)}


def leaks(data):
    return sorted(part for part in PARTS if part in data)


def secret(name="s", rv="100000", **members):
    """A Secret that has the value in every place where Secrets have values."""
    applied = {"kind": "Secret", "apiVersion": "v1", "data": {"p": b64(VALUE)}, "stringData": {"q": VALUE}}
    value = {"kind": "Secret", "apiVersion": "v1", "metadata": {
        "name": name, "namespace": "default", "uid": "uid-" + name, "resourceVersion": rv,
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": encode(applied),
                        "kapp.k14s.io/original": encode(applied),
                        "objectset.rio.cattle.io/applied": b64(encode(applied)),
                        "tool.example.com/state": encode({"object": applied}),
                        "tool.example.com/yaml": "kind: Secret\nstringData:\n  q: " + VALUE}},
        "data": {"p": b64(VALUE), "config": b64("password=" + VALUE + "\n")}, "stringData": {"q": VALUE}, "type": "Opaque"}
    return {**value, **members}


def encode(value):
    return json.dumps(value, separators=(",", ":"))


def files(folder):
    for root, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(root, name), "rb") as f:
                yield os.path.join(root, name), f.read()


def run(*command):
    done = subprocess.run([KUBETAPE, *command], capture_output=True, timeout=60, check=False)
    return done.stdout + done.stderr


@functools.lru_cache
def table_names():
    done = subprocess.run([KUBETAPE, "query", os.path.join(ROOT, "tests/tapes/rolling-update.tape"), "--format", "json",
                           "SELECT name FROM pragma_table_list WHERE type = 'virtual'"], capture_output=True, timeout=60, check=True)
    return [row["name"] for row in json.loads(done.stdout)]


def tape_texts(tape):
    """What of a tape is not to be seen in its files, which are compressed."""
    for table in table_names():
        yield table, run("query", tape, f"SELECT * FROM {table}", "--format", "json")
    yield "export", run("export", tape, "--table", "all")
    yield "get", run("get", tape, "secrets", "-A", "-o", "json")
    yield "gaps", run("gaps", tape)


def run_file_texts(path):
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
        for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            yield table, repr(db.execute(f'SELECT * FROM "{table}"').fetchall()).encode()
    db.close()


def assert_nowhere(case, folder, tapes=(), runs=(), texts=()):
    """No part of the value is in the files of the folder, in the tables of tapes and run files, in the texts."""
    found = list(files(folder)) + [("text", text if isinstance(text, bytes) else text.encode()) for text in texts]
    for tape in tapes:
        found += [(f"{tape}: {what}", data) for what, data in tape_texts(tape)]
    for path in runs:
        found += [(f"{path}: {what}", data) for what, data in run_file_texts(path)]
    for what, data in found:
        bad = leaks(data)
        case.assertEqual(bad, [], f"{what}: {data[max(0, data.find(bad[0]) - 200):][:400] if bad else b''}")
