"""kubetape shrink: the smallest tape, and the fewest faults, with which a command goes wrong in the same way."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "wire"))

from replays import CONFIGMAPS, KUBETAPE, NODES, PODS, Tape, obj  # noqa: E402

DEADLINE_S = 300
# Watches pods, and exits with 7 when it is told that web-3 is on the node that is bad; lost: it relists after a 410.
CLIENT = """
import sys
sys.path.insert(0, {sweep!r})
from informer import Cluster
import json
cluster = Cluster()
_, found = cluster.ask("GET", "/api/v1/pods")
while True:
    connection, answer = cluster.open("GET", "/api/v1/pods?watch=1&resourceVersion=" + found["metadata"]["resourceVersion"])
    for line in answer:
        event = json.loads(line)
        if event["type"] == "ERROR":
            if {lost}:
                print("history is gone")
                sys.exit(7)
            break
        if not {lost} and event["object"]["metadata"]["name"] == "web-3" and event["object"].get("spec", {{}}).get("nodeName") == "bad":
            print("web-3 is on a bad node")
            sys.exit(7)
"""


def story():
    made, rv = Tape(), 100
    pods = [obj(PODS, f"web-{i}", 10 + i, spec={"nodeName": "good", "containers": [{"name": "main", "image": "x"}]},
                status={"phase": "Running", "message": "x" * 200}) for i in range(8)]
    made.listed(PODS, rv, pods).listed(NODES, rv, [obj(NODES, f"n{i}", 20 + i) for i in range(5)])
    made.listed(CONFIGMAPS, rv, [obj(CONFIGMAPS, f"c{i}", 30 + i) for i in range(5)])
    for step in range(20):
        rv += 1
        pod = json.loads(json.dumps(pods[step % 8]))
        pod["metadata"]["resourceVersion"] = str(rv)
        pod["spec"]["nodeName"] = "bad" if step == 11 else "good"
        made.event(1 + step, PODS, "MODIFIED", pod)
        made.event(1.5 + step, NODES, "MODIFIED", obj(NODES, f"n{step % 5}", 200 + step))
    return made


class Shrink(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name
        self.tape = story().write(self.path("story.tape"))
        self.small = self.path("small.ktape")

    def path(self, name):
        return os.path.join(self.folder, name)

    def client(self, lost=False):
        path = self.path("client.py")
        with open(path, "w", encoding="ascii") as f:
            f.write(CLIENT.format(sweep=os.path.join(ROOT, "tests", "sweep"), lost=lost))
        return [sys.executable, path]

    def shrink(self, *args, command=None):
        return subprocess.run([KUBETAPE, "shrink", self.tape, "-o", self.small, "--plain", "--settle", "300ms", *args, "--",
                               *(command or self.client())], capture_output=True, text=True, timeout=DEADLINE_S, check=False)

    def rows(self, sql):
        done = subprocess.run([KUBETAPE, "query", self.small, sql, "--format", "json"], capture_output=True, text=True,
                              timeout=DEADLINE_S, check=True)
        return json.loads(done.stdout)

    def test_what_is_left_is_what_the_command_needs(self):
        done = self.shrink("--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        said = json.loads(done.stdout)
        self.assertTrue(said["smallest"])
        left = self.rows("SELECT type, resource, name, rv, object FROM events ORDER BY seq")
        self.assertEqual([(e["type"], e["name"]) for e in left], [("ADDED", "web-3"), ("MODIFIED", "web-3")])
        thing = left[1]["object"] if isinstance(left[1]["object"], dict) else json.loads(left[1]["object"])
        self.assertEqual(thing["spec"], {"nodeName": "bad"})
        self.assertNotIn("status", thing)
        self.assertEqual(said["events"], 2)
        self.assertLess(said["bytes"], 40000)
        again = subprocess.run([KUBETAPE, "replay", self.small, "--plain", "--speed", "max", "--settle", "1s", "--", *self.client()],
                               capture_output=True, text=True, timeout=DEADLINE_S, check=False)
        self.assertEqual(again.returncode, 7, again.stderr)
        self.assertEqual(subprocess.run([KUBETAPE, "verify", self.small], timeout=DEADLINE_S, check=False,
                                        capture_output=True).returncode, 0)
        self.assertEqual(sorted(os.listdir(self.folder)), ["client.py", "small.ktape", "story.tape"])

    def test_faults_that_are_not_needed_go_and_the_others_still_strike_in_time(self):
        faults = self.path("faults.json")
        rules = [{"name": "slow", "when": {"at": "+2s"}, "what": {"do": "delay", "by": "1ms"}, "for": "1s", "optional": True},
                 {"name": "gone", "when": {"at": "seq:35"}, "what": "end", "for": {"events": 2}, "where": {"resource": "pods"}, "compaction": True},
                 {"name": "late", "when": {"at": "+18s"}, "what": "end", "where": {"resource": "nodes"}, "optional": True}]
        with open(faults, "w", encoding="ascii") as f:
            json.dump({"rules": rules}, f)
        done = self.shrink("--gaps", faults, "--json", command=self.client(lost=True))
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        with open(self.small + ".faults.json", encoding="ascii") as f:
            left = json.load(f)["rules"]
        self.assertEqual([r["name"] for r in left], ["gone"])
        again = subprocess.run([KUBETAPE, "replay", self.small, "--gaps", self.small + ".faults.json", "--plain", "--speed", "max",
                                "--settle", "1s", "--", *self.client(lost=True)], capture_output=True, text=True, timeout=DEADLINE_S,
                               check=False)
        self.assertEqual(again.returncode, 7, again.stderr)

    def test_another_way_of_going_wrong_does_not_count(self):
        done = self.shrink("--match", "on a bad node", "--tries", "12", "--write", "overlay")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("it may become smaller", done.stdout)
        self.assertRegex(done.stdout, "again: kubetape replay .* --write overlay -- ")

    def test_what_a_sweep_has_found_becomes_small(self):
        """A controller that never ends, and leaks an object whose deletion it was not told."""
        command = [sys.executable, os.path.join(ROOT, "tests", "sweep", "controller.py"), "tombstone", "tombstone"]
        sweep = subprocess.run([KUBETAPE, "sweep", self.leaky(), "--at", "deletions", "--max", "1", "-j", "1", "--json", "--plain",
                                "--settle", "500ms", "-o", self.path("out"), "--", *command], capture_output=True, text=True,
                               timeout=DEADLINE_S, check=False)
        self.assertEqual(sweep.returncode, 1, sweep.stderr + sweep.stdout)
        found = next(g for g in json.loads(sweep.stdout)["gaps"] if g["verdict"] == "wrong")
        done = self.shrink("--gaps", found["faults"], "--compare", "writes", "--settle", "500ms", "--json", command=command)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        left = self.rows("SELECT DISTINCT resource || ' ' || name AS what FROM events")
        self.assertEqual([r["what"] for r in left], ["pods web-0"])
        self.assertLessEqual(json.loads(done.stdout)["events"], 4)

    def leaky(self):
        made = Tape().listed(PODS, 100, [obj(PODS, f"web-{i}", 10 + i, status={"phase": "Running"}) for i in range(4)])
        made.listed(NODES, 100, [obj(NODES, "n", 20)])
        for step in range(3):
            made.event(1 + step, NODES, "MODIFIED", obj(NODES, "n", 101 + step))
        made.event(5, PODS, "DELETED", obj(PODS, "web-0", 110, status={"phase": "Running"}))
        self.tape = made.event(6, PODS, "MODIFIED", obj(PODS, "web-1", 111, status={"phase": "Failed"})).write(self.path("leaky.tape"))
        return self.tape

    def test_a_command_that_does_not_go_wrong_is_told(self):
        for args, command, words in (([], ["true"], "the command does not go wrong: it ends with 0"),
                                     (["--match", "nothing like it"], None, "its output lacks 'nothing like it'")):
            done = self.shrink(*args, command=command)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn(words, done.stderr)
            self.assertFalse(os.path.exists(self.small))

    def test_bad_options_are_refused(self):
        for args, words in ((["shrink", self.tape, "--", "true"], "no tape to make"), (["shrink", self.tape, "-o", self.small], "no command"),
                            (["shrink", self.tape, "-o", self.tape, "--", "true"], "exists already")):
            done = subprocess.run([KUBETAPE, *args], capture_output=True, text=True, timeout=DEADLINE_S, check=False)
            self.assertEqual((done.returncode, words in done.stderr), (2, True), done.stderr)


if __name__ == "__main__":
    unittest.main()
