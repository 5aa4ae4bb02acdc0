"""Small tapes with exactly known content for the CLI tests, and running the program on them."""
import json
import os
import shutil
import subprocess
import tempfile
import unittest

BUILD = os.path.abspath(os.environ.get("KUBETAPE_BUILD", "build"))
KUBETAPE = os.environ.get("KUBETAPE", os.path.join(BUILD, "kubetape"))
EXTENSION = os.path.join(BUILD, "kubetape")
BUNDLED = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tapes", "rolling-update.tape")
MAKE_TAPE = os.path.join(BUILD, "make_tape")
SECOND = 10**9
START = 1700000000 * SECOND  # 2023-11-14T22:13:20Z

PODS = {"version": "v1", "resource": "pods", "kind": "Pod", "namespaced": True}
NODES = {"version": "v1", "resource": "nodes", "kind": "Node", "namespaced": False}
DEPLOYMENTS = {"group": "apps", "version": "v1", "resource": "deployments", "kind": "Deployment", "namespaced": True}


def loading_environment():
    """For programs that load our extension: one built with the address sanitizer wants its runtime first."""
    env = dict(os.environ)
    if "asan" in BUILD.split(os.sep):
        found = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
        env.update(LD_PRELOAD=found.stdout.strip(), ASAN_OPTIONS="detect_leaks=0")
    return env


def table_names():
    """All that SQL has over a tape."""
    done = subprocess.run([KUBETAPE, "query", BUNDLED, "--format", "json", "SELECT name FROM pragma_table_list WHERE type = 'virtual'"],
                          capture_output=True, check=True, timeout=60)
    return [row["name"] for row in json.loads(done.stdout)]


def pod(name, uid, rv, namespace="shop", **more):
    meta = {"name": name, "namespace": namespace, "uid": uid, "resourceVersion": str(rv)}
    meta.update(more.pop("metadata", {}))
    return {"kind": "Pod", "apiVersion": "v1", "metadata": meta, **more}


def event(seconds, type_, obj, stream=PODS, origin="watch", **more):
    return {"time_ns": START + int(seconds * SECOND), "type": type_, "stream": stream, "origin": origin,
            "object": obj, **more}


def lines_of(rows):
    """One line each, compact; a row that is a str stands as it is, so that a test decides about its bytes."""
    return "\n".join(r if isinstance(r, str) else json.dumps(r, separators=(",", ":"), ensure_ascii=False)
                     for r in rows) + "\n"


class TapeTest(unittest.TestCase):
    """Gives every test a directory of its own and the tape `self.tape` that `rows` describes."""
    rows = []

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="kubetape-cli-")
        self.addCleanup(shutil.rmtree, self.dir)
        self.tape = os.path.join(self.dir, "x.tape")
        if self.rows:
            self.make_tape(self.tape, self.rows)

    def make_tape(self, path, rows, extent_bytes=0):
        subprocess.run([MAKE_TAPE, path, str(extent_bytes)], input=lines_of(rows).encode(),
                       check=True, timeout=60)

    def run_tape(self, *args, stdin=None, timeout=60, env=None):
        """Runs kubetape with text in and out; returns the finished process."""
        return subprocess.run([KUBETAPE, *args], input=stdin, capture_output=True, text=True, timeout=timeout,
                              stdin=subprocess.DEVNULL if stdin is None else None, env=env)

    def query(self, sql, *args):
        """The rows of an SQL text as a list of dicts."""
        done = self.run_tape("query", self.tape, sql, "--format", "json", *args)
        self.assertEqual((done.returncode, done.stderr), (0, ""), sql)
        return json.loads(done.stdout)

    def assert_fails(self, done, code, sentence):
        """One line on stderr that holds the sentence, nothing like a crash."""
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(sentence, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
