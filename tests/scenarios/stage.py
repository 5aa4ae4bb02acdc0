"""What the scenarios share: tapes from readable text, a replay with a client as its child, and what the run tells."""

import contextlib
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(ROOT, os.environ.get("KUBETAPE_BUILD", "build"))
KUBETAPE = os.environ.get("KUBETAPE", os.path.join(BUILD, "kubetape"))
GO_CLIENT = os.path.join(ROOT, "build", "interop", "bin", "scenarios")
JS_CLIENT = os.path.join(ROOT, "build", "interop", "javascript", "cut.js")
DEADLINE_S = 120  # for a client; a scenario that works takes seconds

sys.path.insert(0, os.path.join(ROOT, "tests", "wire"))
from replays import CONFIGMAPS, NAMESPACES, NODES, PODS, Tape, obj  # noqa: E402

LEASES = {"group": "coordination.k8s.io", "version": "v1", "resource": "leases", "kind": "Lease", "namespaced": True}
RESOURCES = {"pods": PODS, "nodes": NODES, "configmaps": CONFIGMAPS, "namespaces": NAMESPACES, "leases": LEASES}
SPECS = {"pods": {"containers": [{"name": "main", "image": "example"}]}, "leases": {"holderIdentity": "recorded"}}


def seconds(text):
    return float(re.fullmatch(r"([0-9.]+)s", text).group(1))


def thing_of(stream, words):
    """`[NAMESPACE/]NAME UID RV [LABEL=VALUE]...`"""
    namespace, _, name = words[0].rpartition("/")
    labels = dict(word.split("=", 1) for word in words[3:])
    spec = {"spec": SPECS[stream["resource"]]} if stream["resource"] in SPECS else {}
    return obj(stream, name, words[2], uid=words[1], namespace=namespace or "default", labels=labels or None, **spec)


def read_tape(path):
    """The text of a tape. A line is one of
    TIME list RESOURCE RV, followed by indented lines with what was in the list,
    TIME refuses PATH CODE, a document of discovery that is not there, and
    TIME ADDED|MODIFIED|DELETED RESOURCE [NAMESPACE/]NAME UID RV [LABEL=VALUE]..."""
    tape, listed = Tape(), None
    with open(path, encoding="utf-8") as f:
        for line in f:
            words = line.split("#")[0].split()
            if line[0].isspace() and words:
                listed[2].append(thing_of(listed[0], words))
                continue
            if listed and words:
                tape.listed(*listed)
                listed = None
            if not words:
                continue
            if words[1] == "refuses":
                tape.document(words[2], "no\n", content_type="text/plain", status=int(words[3]))
                continue
            at, word, stream = seconds(words[0]), words[1], RESOURCES[words[2]]
            if word == "list":
                listed = (stream, words[3], [], at)
            else:
                tape.event(at, stream, word, thing_of(stream, words[3:]))
    return tape.listed(*listed) if listed else tape


class Play:
    """A replay that has ended, and what its client said: `code`, `out` (without the replay's own first line), `err`
    (with the replay's log). After it stand the tables of its run."""

    def __init__(self, folder, tape, gaps=None, options=(), command=(), env=None, say=None):
        self.folder = folder
        self.say = say or (lambda text: None)
        os.makedirs(folder, exist_ok=True)
        made = os.path.join(folder, tape + ".tape")
        shutil.rmtree(made, ignore_errors=True)
        read_tape(os.path.join(HERE, "tapes", tape + ".txt")).write(made)
        self.run = os.path.join(folder, "x.run")
        arguments = [KUBETAPE, "replay", made, "--run", self.run, *options]
        if gaps:
            arguments += ["--gaps", os.path.join(HERE, "faults", gaps + ".json")]
        self.perform([*arguments, "--", *command], {**os.environ, "HOME": folder, "TMPDIR": folder, **(env or {})})

    def perform(self, arguments, env):
        self.say("$ " + " ".join(short(a) for a in arguments))
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env) as child:
            watchdog = threading.Timer(DEADLINE_S, child.terminate)
            watchdog.start()
            try:
                err = []
                beside = threading.Thread(target=self.read, args=(child.stderr, err))
                beside.start()
                out = self.read(child.stdout, [])
                beside.join()
            finally:
                watchdog.cancel()
        self.code = child.returncode
        self.out, self.err = "".join(out[1:]), "".join(err)
        self.tell_run()

    def read(self, stream, to):
        for line in stream:
            to.append(line)
            self.say("  " + line.rstrip("\n"))
        return to

    def rows(self, sql, *values):
        with contextlib.closing(sqlite3.connect(self.run)) as db:
            db.row_factory = sqlite3.Row
            return [dict(row) for row in db.execute(sql, values)]

    def asked(self, resource="pods"):
        """The lists and watches of a resource in order, as (word, resourceVersion asked for, status): LIST, WATCH, or
        STREAM for a streaming list."""
        return [(word_of(row), row["rv"] or "", row["status"]) for row in self.rows(
            "SELECT verb, path, rv, status FROM requests WHERE resource = ? AND verb IN ('list', 'watch') ORDER BY request",
            resource)]

    def tell_run(self):
        """What the run says, for a reader."""
        self.say(f"exit code {self.code}; the run:")
        for row in self.rows("SELECT * FROM (SELECT time_ns, 0 AS kind, 'fault' AS what, detail || ': ' || step || ' ' || what AS text"
                " FROM faults UNION ALL SELECT time_ns, 1, 'request', method || ' ' || path || ' -> ' || coalesce(status, '?') ||"
                " CASE verb WHEN 'watch' THEN ', ' || coalesce(events, 0) || ' events' ELSE '' END FROM requests) ORDER BY time_ns, kind"):
            self.say(f"  {row['what']:8}{row['text']}")


def word_of(row):
    if row["verb"] == "list":
        return "LIST"
    return "STREAM" if "sendInitialEvents=true" in row["path"] else "WATCH"


def short(argument):
    inside = argument.startswith(os.getcwd() + os.sep)
    argument = os.path.relpath(argument) if inside else argument
    return f"'{argument}'" if set(argument) & set(" &?") else argument
