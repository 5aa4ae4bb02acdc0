"""`kubetape sweep`: finds the gaps at which small controllers with classic bugs go wrong, and none for the mended."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from xml.etree import ElementTree

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "wire"))

from replays import KUBETAPE, NODES, PODS, Tape, obj  # noqa: E402

TESTS_APART = True  # each takes long
CONTROLLER = os.path.join(ROOT, "tests", "sweep", "controller.py")
DEADLINE_S = 300


class Story(Tape):
    """Pods on two nodes that end and are made anew, as a StatefulSet does it; the last one is not made again."""

    def __init__(self, names):
        self.begin()
        pods = [self.pod(name, 0, "Running", "node-0") for name in names]
        nodes = [self.node("node-0"), self.node("node-1")]
        self.listed(PODS, self.rv, pods).listed(NODES, self.rv, nodes)
        for name in names:
            end = {"deletionTimestamp": "2027-01-15T08:00:00Z"}
            self.next(PODS, "MODIFIED", self.pod(name, 0, "Running", "node-0", **end))
            self.next(PODS, "DELETED", self.pod(name, 0, "Succeeded", "node-0", **end))
            if name != names[-1]:
                self.next(PODS, "ADDED", self.pod(name, 1, "Pending", "node-1"))
                self.next(PODS, "MODIFIED", self.pod(name, 1, "Running", "node-1"))
            self.next(NODES, "MODIFIED", self.node("node-0"))
            self.next(NODES, "MODIFIED", self.node("node-1"))

    def begin(self):
        Tape.__init__(self)
        self.rv, self.at = 100, 0

    def pod(self, name, life, phase, node, **meta):
        self.rv += 1
        pod = obj(PODS, name, self.rv, uid="%s-life-%d" % (name, life), spec={"nodeName": node}, status={"phase": phase})
        pod["metadata"].update(meta)
        return pod

    def node(self, name):
        self.rv += 1
        return obj(NODES, name, self.rv)

    def next(self, stream, kind, thing):
        self.at += 1
        self.event(self.at, stream, kind, thing)


class Ending(Story):
    """Pods that run and fail, one after the other; the second one loses its label for a while, the third for ever."""

    def __init__(self, names):
        self.begin()
        self.listed(PODS, self.rv, [self.pod(name, 0, "Pending", "node-0", labels={"app": "web"}) for name in names])
        for name in names:
            self.next(PODS, "MODIFIED", self.pod(name, 0, "Running", "node-0", labels={"app": "web"}))
            if name != names[0]:
                self.next(PODS, "MODIFIED", self.pod(name, 0, "Running", "node-0", labels={"app": "other"}))
            if name == names[1]:
                self.next(PODS, "MODIFIED", self.pod(name, 0, "Running", "node-0", labels={"app": "web"}))
            label = "other" if name == names[2] else "web"
            self.next(PODS, "MODIFIED", self.pod(name, 0, "Failed", "node-0", labels={"app": label}))


class Forgotten(Ending):
    """Ending, and then the pods are deleted: who did not see that they failed cannot know it any more."""

    def __init__(self, names):
        super().__init__(names)
        for name in names:
            self.next(PODS, "DELETED", self.pod(name, 0, "Failed", "node-0", labels={"app": "web"}))


class Leaving(Story):
    """Each pod has a node of its own. The pods are deleted, one after the other; the first one's node goes with it."""

    def __init__(self, names):
        self.begin()
        self.listed(PODS, self.rv, [self.pod(name, 0, "Running", "node-" + name) for name in names])
        self.listed(NODES, self.rv, [self.node("node-" + name) for name in names])
        for name in names:
            self.next(PODS, "DELETED", self.pod(name, 0, "Running", "node-" + name))
            self.next(NODES, "DELETED" if name == names[0] else "MODIFIED", self.node("node-" + name))


class Tied(Story):
    """Two events at a time."""

    def next(self, stream, kind, thing):
        self.count = getattr(self, "count", 0) + 1
        self.at = (self.count - 1) // 2  # and one more
        super().next(stream, kind, thing)


class SweepTest(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = self.scratch.name
        self.tape = Story(["web-0", "web-1", "web-2"]).write(os.path.join(self.folder, "story.tape"))

    def arguments(self, *options, command):
        return [KUBETAPE, "sweep", self.tape, "-o", os.path.join(self.folder, "out"), *options, "--", *command]

    def sweep(self, *options, command):
        return subprocess.run(self.arguments(*options, command=command), capture_output=True, text=True,
            timeout=DEADLINE_S)

    def begin(self, *options, command):
        return subprocess.Popen(self.arguments("--json", "--jobs", "3", "--settle", "3s", *options, command=command),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def end(self, process, code):
        output, errors = process.communicate(timeout=DEADLINE_S)
        self.assertEqual(process.returncode, code, output + errors)
        return json.loads(output)

    def wrong(self, report):
        return [gap for gap in report["gaps"] if gap["verdict"] == "wrong"]

    def try_both(self, name, places, *options):
        """The gaps that make the buggy one go wrong; the mended one must stand them all."""
        both = [self.begin("--at", places, *options, "-o", os.path.join(self.folder, kind),
            command=[sys.executable, CONTROLLER, kind, name]) for kind in ("mended", "buggy")]
        mended, report = self.end(both[0], 0), self.end(both[1], 1)
        self.assertGreater(mended["fine"], 0)
        self.assertEqual(mended["wrong"], 0)
        for gap in self.wrong(report):
            self.assertTrue(os.path.exists(gap["faults"]), gap)
        return report

    def query(self, sql):
        done = subprocess.run([KUBETAPE, "query", "--format", "ndjson", self.tape, sql], capture_output=True, text=True, check=True, timeout=DEADLINE_S)
        return [list(json.loads(line).values()) for line in done.stdout.splitlines()]

    def replay(self, report, gap, command):
        """What the reproducing command leaves, as the writes of its run: the last verb for each name."""
        run = os.path.join(self.folder, "again.run")
        parts = report["again"].split()
        done = subprocess.run([KUBETAPE, *parts[1:], "--gaps", gap["faults"], "--run", run, "--", *command],
            capture_output=True, text=True, timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        sql = "SELECT name, verb FROM writes WHERE resource = 'configmaps' AND status < 300 ORDER BY write"
        rows = subprocess.run([KUBETAPE, "query", self.tape, "--run", run, "--format", "json", sql],
            capture_output=True, text=True, check=True, timeout=DEADLINE_S)
        return {row["name"]: row["verb"] for row in json.loads(rows.stdout)}

    def test_finds_a_tombstone_that_is_dropped_and_tells_how_to_see_it_again(self):
        report = self.try_both("tombstone", "deletions")
        missed = {gap["object"] for gap in self.wrong(report)}
        self.assertIn("default/web-2", missed)
        gap = next(gap for gap in self.wrong(report) if gap["object"] == "default/web-2")
        self.assertEqual(gap["differences"], ["configmaps default/web-2 is left (without the gap: not)"])
        self.assertEqual(self.repeat(gap["repeat"]).returncode, 1)
        left = self.replay(report, gap, [sys.executable, CONTROLLER, "buggy", "tombstone"])
        self.assertEqual(left["web-2"], "create")
        self.assertEqual(left["web-1"], "create")

    def repeat(self, line, command=""):
        """What the line of a finding says when it is pasted into a shell; with `command`, of another one."""
        if command:
            line = line.split(" -- ")[0] + " -- " + command
        folder = os.path.dirname(KUBETAPE)
        return subprocess.run(["sh", "-c", line], cwd=self.folder, capture_output=True, text=True, timeout=DEADLINE_S,
            env={**os.environ, "PATH": folder + os.pathsep + os.environ["PATH"]})

    def test_the_line_of_a_finding_repeats_it_with_its_verdict(self):
        done = self.sweep("--at", "deletions", "--settle", "2s", command=[sys.executable, CONTROLLER, "buggy", "tombstone"])
        self.assertEqual(done.returncode, 1, done.stderr)
        paragraph = next(p for p in done.stdout.split("\n\n") if "default/web-2" in p).splitlines()
        self.assertEqual(paragraph[1], "    configmaps default/web-2 is left (without the gap: not)")
        again = self.repeat(paragraph[-1])
        self.assertEqual((again.returncode, again.stdout.splitlines()[-1]), (1, "configmaps default/web-2 is left (golden: not)"), again.stderr)
        mended = self.repeat(paragraph[-1], "%s %s mended tombstone" % (sys.executable, CONTROLLER))
        self.assertEqual(mended.returncode, 0, mended.stdout + mended.stderr)
        self.assertIn("no difference: ", mended.stdout)
        crashed = self.repeat(paragraph[-1], "sh -c 'exit 9'")
        self.assertEqual(crashed.returncode, 1)
        self.assertIn("ends by itself, exit code 9 (golden: is quiet at the end, exit code 0)", crashed.stdout)

    def test_what_the_user_has_seen_through_does_not_count_any_more(self):
        leaking = dict(command=[sys.executable, CONTROLLER, "buggy", "tombstone"])
        done = self.sweep("--at", "deletions", "--settle", "2s", "--ignore", "cm=*", "-o", os.path.join(self.folder, "all"), **leaking)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        done = self.sweep("--at", "deletions", "--settle", "2s", "--ignore", "data[note]", "-o", os.path.join(self.folder, "field"), **leaking)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("\n--ignore: data[note] is not compared\n", done.stdout)
        with open(os.path.join(self.folder, "field", "sweep.json")) as f:
            self.assertEqual(json.load(f)["ignored"], ["data[note]"])
        line = next(p for p in done.stdout.split("\n\n") if "default/web-2" in p).splitlines()[-1]
        self.assertIn("--ignore 'data[note]'", line)
        again = self.repeat(line)
        self.assertEqual((again.returncode, again.stdout.splitlines()[-1]), (1, "configmaps default/web-2 is left (golden: not)"), again.stderr)

    def test_what_an_earlier_sweep_has_left_is_kept(self):
        here = lambda *options: subprocess.run([KUBETAPE, "sweep", self.tape, "--at", "none", *options, "--", "true"], cwd=self.folder,
            capture_output=True, text=True, timeout=DEADLINE_S)
        for name in ("story", "story-2", "story-3"):
            done = here()
            self.assertTrue(os.path.exists(os.path.join(self.folder, name + ".sweep", "without-1.run")), done.stderr)
        self.assertEqual(done.stderr, "kubetape sweep: earlier ones are kept: this one is 'story-3.sweep'\n")
        done = here("-o", "story.sweep")
        self.assertEqual((done.returncode, done.stderr),
            (2, "kubetape sweep: 'story.sweep' holds an earlier sweep, which is not thrown away: remove it, or name another folder\n"))
        os.mkdir(os.path.join(self.folder, "empty"))
        self.assertNotEqual(here("-o", "empty").returncode, 2)

    def test_gaps_can_be_stalls(self):
        done = self.sweep("--at", "deletions", "--max", "1", "--settle", "500ms", "--gap", "stall", command=[sys.executable, CONTROLLER, "mended", "tombstone"])
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)

    def test_a_stretch_outlasts_all_that_comes_at_the_time_of_its_last_event(self):
        self.tape = Tied(["web-0", "web-1", "web-2"]).write(os.path.join(self.folder, "tied.tape"))
        report = self.end(self.begin("--at", "every:3", "--patterns", "unobserved", command=[sys.executable, CONTROLLER, "buggy", "edge"]), 1)
        whole = [gap for gap in self.wrong(report) if gap["until_seq"]]
        self.assertNotEqual(whole, [], report)
        for gap in whole:
            with open(gap["faults"], encoding="utf-8") as file:
                stretch, pause = json.load(file)["rules"]
            self.assertEqual(pause["when"], {"at": "seq:%d" % gap["until_seq"]})
            times = dict(self.query("SELECT seq, time_ns FROM events WHERE seq IN (%d, %d)" % (gap["seq"], gap["until_seq"])))
            self.assertGreater(int(stretch["for"][:-1]), (times[gap["until_seq"]] - times[gap["seq"]]) / 1e9, gap)

    def test_of_a_stretch_only_the_event_that_matters_stays_hidden(self):
        report = self.end(self.begin("--at", "every:8", "--settle", "1s", command=[sys.executable, CONTROLLER, "buggy", "tombstone"]), 1)
        narrowed = [gap for gap in self.wrong(report) if "narrowed_from" in gap]
        self.assertEqual([(gap["hidden"], gap["seq"]) for gap in narrowed], [(1, gap["last_seq"]) for gap in narrowed])
        self.assertEqual(len(narrowed), 1)
        self.assertGreater(narrowed[0]["narrowed_from"]["hidden"], 1)
        self.assertEqual(self.repeat(narrowed[0]["repeat"]).returncode, 1)

    def test_finds_a_deletion_that_is_missed_of_what_the_program_itself_writes(self):
        report = self.try_both("noting", "deletions", "--write", "overlay")
        self.assertIn("default/web-2", {gap["object"] for gap in self.wrong(report)})
        self.assertEqual([gap for gap in report["gaps"] if gap["verdict"] == "not reached"], [])

    def test_finds_an_identity_that_is_a_name(self):
        report = self.try_both("identity", "recreations")
        self.assertEqual({gap["object"] for gap in self.wrong(report)}, {"default/web-0", "default/web-1"})
        self.assertIn("web-0-life-0", self.wrong(report)[0]["differences"][0])

    def test_what_was_written_to_an_object_is_not_left_at_another_one_of_its_name(self):
        for policy, told in (("absorb", "pods/status default/web-0 is missing"), ("overlay", "pods default/web-0 is not written (without the gap: it is)")):
            with self.subTest(policy=policy), tempfile.TemporaryDirectory() as self.folder:
                report = self.try_both("seen", "recreations", "--settle", "1s", "--write", policy)
                self.assertEqual({gap["object"] for gap in self.wrong(report)}, {"default/web-0", "default/web-1"})
                self.assertEqual(self.wrong(report)[0]["differences"], [told])

    def test_finds_that_another_in_the_same_place_must_be_seen_on_its_way_there(self):
        report = self.try_both("moved", "replacements")
        self.assertEqual({(gap["kind"], gap["object"]) for gap in self.wrong(report)}, {("replacement", "default/web-0"), ("replacement", "default/web-1")})
        self.assertIn("data.node", self.wrong(report)[0]["differences"][0])

    def test_finds_a_step_that_must_be_seen(self):
        report = self.try_both("edge", "every:4")
        self.assertTrue(all(gap["resource"] == "pods" for gap in self.wrong(report)))

    def test_finds_a_step_of_which_only_the_end_is_seen(self):
        self.tape = Ending(["web-0", "web-1", "web-2"]).write(os.path.join(self.folder, "ending.tape"))
        report = self.try_both("failed", "changes")
        self.assertIn("status.phase Running, then status.phase Failed", {gap["what"] for gap in self.wrong(report)})

    def test_what_nothing_showed_after_the_gap_is_no_finding(self):
        self.tape = Forgotten(["web-0", "web-1", "web-2"]).write(os.path.join(self.folder, "forgotten.tape"))
        report = self.try_both("alert", "changes,every:6")
        self.assertIn("status.phase Running, then status.phase Failed", {gap["what"] for gap in self.wrong(report)})
        self.assertGreater(report["unseen"], 0)
        self.assertEqual(report["unseen"], sum(gap["verdict"] == "unseen" for gap in report["gaps"]))

    def test_what_two_objects_show_together_only_within_the_gap_is_no_finding(self):
        self.tape = Leaving(["web-0", "web-1", "web-2"]).write(os.path.join(self.folder, "leaving.tape"))
        report = self.try_both("left", "every:2", "--lockstep", "50ms")
        self.assertEqual({gap["verdict"] for gap in report["gaps"] if gap["resource"] == "pods" and gap["seq"] == 7}, {"unseen"})
        self.assertEqual({gap["seq"] for gap in self.wrong(report)}, {11})  # a later deletion heals the others

    def test_patterns_that_could_not_be_tried_are_in_every_report(self):
        # With its writes kept, the second of two pods of one name is refused for ever, and what writes is never quiet.
        junit = os.path.join(self.folder, "junit.xml")
        endless = """import sys, time
sys.path.insert(0, %r)
from informer import Cluster
mine = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "mine"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
for _ in range(2):
    while Cluster().ask("POST", "/api/v1/namespaces/default/pods", mine)[0] != 201:
        pass
time.sleep(60)""" % os.path.dirname(CONTROLLER)
        done = self.sweep("--timeout", "8s", "--settle", "500ms", "--wait-watchers", "0", "--junit", junit,
            command=[sys.executable, "-c", endless])
        why = "with '--write overlay' the command comes to no end within 8 s: in its last 10 s, N times 'create pods'"
        self.assertIn("\nrestart, stale, writes, echo could not be tried: " + why, self.without_counts(done.stdout), done.stderr)
        with open(os.path.join(self.folder, "out", "sweep.json")) as f:
            report = json.load(f)
        self.assertEqual(report["left_out"], ["restart", "stale", "writes", "echo"])
        self.assertEqual(self.without_counts(report["why_left_out"]), why)
        cases = ElementTree.parse(junit).getroot().findall(".//testcase[@name='all places']/skipped")
        self.assertEqual([self.without_counts(case.get("message")) for case in cases], [why] * 4)

    def test_a_program_that_counts_on_being_started_again_is_swept_in_a_loop(self):
        leaving = os.path.join(self.folder, "leaving.py")
        with open(leaving, "w") as f:
            f.write("""import json, sys
sys.path.insert(0, %r)
from informer import Cluster
rv = Cluster().ask("GET", "/api/v1/pods")[1]["metadata"]["resourceVersion"]
while True:
    for line in Cluster().open("GET", "/api/v1/pods?watch=1&resourceVersion=" + rv, None, {})[1]:
        event = json.loads(line)
        if event["type"] == "ERROR":
            sys.exit(1)
        rv = event["object"]["metadata"]["resourceVersion"]
""" % os.path.dirname(CONTROLLER))
        options = ["--at", "deletions", "--patterns", "unobserved", "--settle", "1s", "-j", "3"]
        done = self.sweep(*options, command=[sys.executable, leaving])
        self.assertEqual(done.returncode, 1, done.stderr)
        loop = re.search(r"3 made it end by itself: .* in a loop \(sh -c '(.*)'\)", done.stdout).group(1)
        done = self.sweep(*options, "-o", os.path.join(self.folder, "loop"),
            command=["sh", "-c", loop.replace("COMMAND", sys.executable + " " + leaving)])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_run_that_comes_to_no_end_says_where_the_tape_was(self):
        # As soon as its history has expired, it writes without a pause, for which lock-step waits.
        endless = """import json, sys
sys.path.insert(0, %r)
from informer import Cluster
rv = Cluster().ask("GET", "/api/v1/pods")[1]["metadata"]["resourceVersion"]
expired = False
while not expired:
    answer = Cluster().open("GET", "/api/v1/pods?watch=1&resourceVersion=" + rv, None, {})[1]
    for line in answer:
        event = json.loads(line)
        expired = event["type"] == "ERROR"
        rv = event["object"]["metadata"].get("resourceVersion", rv)
while True:
    Cluster().ask("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "mine"}})""" % os.path.dirname(CONTROLLER)
        report = self.end(self.begin("--timeout", "5s", "--settle", "500ms", "--lockstep", "50ms", "--at", "deletions",
            "--patterns", "unobserved", "--max", "1", command=[sys.executable, "-c", endless]), 1)
        self.assertRegex(self.wrong(report)[0]["differences"][0],
            r"\Adoes not come to an end \(at event 19 of 21; without the gap: is quiet at the end, exit code -?[0-9]+\)\Z")

    @staticmethod
    def without_counts(text):
        return re.sub("[0-9]+ times", "N times", text)

    def test_patterns_are_left_out_with_what_differed(self):
        # Only where what it has made is kept, it makes one thing more, now and then.
        strays = """import os, sys
sys.path.insert(0, %r)
from informer import Cluster
def make(name):
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    return Cluster().ask("POST", "/api/v1/namespaces/default/pods", pod)[0]
make("mine")
with open(sys.argv[1], "a+") as f:
    if make("mine") == 409:
        f.seek(0)
        if len(f.read()) %% 2:
            make("stray")
        f.write(".")""" % os.path.dirname(CONTROLLER)
        done = self.sweep("--wait-watchers", "0", command=[sys.executable, "-c", strays, os.path.join(self.folder, "count")])
        self.assertRegex(done.stderr, r"with '--write overlay' two runs differ, the second: pods default/stray is (missing|left)")

    def test_a_command_that_cannot_run_beside_itself_runs_alone_and_at_full_speed(self):
        lock = os.path.join(self.folder, "lock")
        done = self.sweep("--json", "--at", "deletions", "--max", "1", "--settle", "500ms", command=["flock", "-n", "-E", "7",
            lock, sys.executable, CONTROLLER, "mended", "tombstone"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"\Akubetape sweep: one runs after the other, as those side by side differ from the first: ends by itself, exit code 7 .*\n\Z")
        self.assertTrue(json.loads(done.stdout)["alone"])

    def test_finds_an_object_that_left_a_selection_unseen(self):
        self.tape = Ending(["web-0", "web-1", "web-2"]).write(os.path.join(self.folder, "ending.tape"))
        report = self.try_both("selected", "selections")
        self.assertEqual({gap["object"] for gap in self.wrong(report)}, {"default/web-2"})

    def test_writes_of_status_that_no_list_shows_are_no_finding(self):
        self.tape = Ending(["web-0", "web-1", "web-2"]).write(os.path.join(self.folder, "ending.tape"))
        report = self.end(self.begin("--at", "changes", "--max", "4", "--settle", "500ms", "--invariant", "@no-hot-loop",
            command=[sys.executable, CONTROLLER, "mended", "level"]), 0)
        self.assertEqual((report["without"]["left"], report["fine"]), (3, 4), report)

    def test_finds_a_cache_that_is_believed_while_it_is_stale(self):
        # At speed max it would be chance which of two watches a program hears first, also without a gap.
        report = self.try_both("stale", "every:8", "--speed", "4")
        self.assertIn("nodes", {gap["resource"] for gap in report["gaps"]})
        self.assertIn("pods", {gap["resource"] for gap in self.wrong(report)})

    def test_says_where_nobody_watched(self):
        report = self.end(self.begin("--at", "none", "--event", "resource = 'nodes'", "--event", "type = 'DELETED'",
            command=[sys.executable, CONTROLLER, "mended", "tombstone"]), 0)
        self.assertEqual({gap["resource"] for gap in report["gaps"] if gap["verdict"] == "not reached"}, {"nodes"})
        self.assertEqual({gap["resource"] for gap in report["gaps"] if gap["verdict"] == "fine"}, {"pods"})

    def test_a_command_that_differs_at_full_speed_is_given_time_after_each_event(self):
        count = os.path.join(self.folder, "count")
        script = 'n=$(cat "$0" 2>/dev/null || echo 0); echo $((n + 1)) >"$0"; exit $((n == 1))'
        done = self.sweep(command=["sh", "-c", script, count])
        self.assertIn("each event waits until the command is quiet (--lockstep 50ms)", done.stderr)
        self.assertNotIn("not deterministic", done.stderr)
        self.assertIn("without gaps the command ends by itself with exit code 0", done.stdout)

    def test_a_finding_in_lock_step_is_repeated_in_lock_step(self):
        report = self.end(self.begin("--at", "none", "--event", "name = 'web-2' AND type = 'DELETED'", "--lockstep", "20ms",
            command=[sys.executable, CONTROLLER, "buggy", "tombstone"]), 1)
        self.assertIn(" --lockstep 20ms ", self.wrong(report)[0]["repeat"])

    def test_a_command_that_is_not_deterministic_is_told_so_in_a_sentence(self):
        count = os.path.join(self.folder, "count")
        script = 'n=$(cat "$0" 2>/dev/null || echo 0); echo $((n + 1)) >"$0"; exit $((n % 2))'
        done = self.sweep(command=["sh", "-c", script, count])
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertRegex(done.stderr, r"the command is not deterministic: of two runs without gaps, the second ends by itself, "
            r"exit code (0|1) \(the first: ends by itself, exit code (?!\1)[01]\)")

    def test_a_command_that_cannot_be_run_is_one_sentence(self):
        done = self.sweep(command=["/no/such/command"])
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot run '/no/such/command'", done.stderr)

    def test_a_tape_that_is_not_there_is_one_sentence(self):
        self.tape = os.path.join(self.folder, "none.tape")
        done = self.sweep(command=["true"])
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^kubetape sweep: .*none\.tape.*\n$")
        self.assertFalse(os.path.exists(os.path.join(self.folder, "out")))

    def test_refuses_what_it_does_not_understand(self):
        for options, words in (
                (["--at", "moon"], "bad place 'moon'"),
                (["--gap", "boom!"], "bad gap"),
                (["--from", "7:00"], "bad --from: '7:00' is 2027-01-15T07:00:00"),
                (["--until", "seq:999"], "bad --until: 'seq:999' lies after the end"),
                (["--event", "no_such_column"], "no_such_column"),
                (["--compare", "mood"], "bad --compare 'mood'"),
                (["--ignore", "pods/status=conditions"], "bad rule 'pods/status=conditions': objects are compared, and not writes"),
                (["--ignore", "a..b"], "bad rule 'a..b'"),
                (["--ignore", "moons=*"], "moons")):
            done = self.sweep(*options, command=["true"])
            self.assertEqual(done.returncode, 2, options)
            self.assertIn(words, done.stderr)

    def test_an_interrupt_ends_the_sweep_and_all_that_it_started(self):
        pids = os.path.join(self.folder, "pids")
        script = 'echo $$ >>"%s"; exec "%s" "%s" mended tombstone' % (pids, sys.executable, CONTROLLER)
        process = subprocess.Popen(self.arguments("--settle", "60s", command=["sh", "-c", script]),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 60
        while not (os.path.exists(pids) and os.path.getsize(pids)) and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 3, errors)
        with open(pids) as f:
            for pid in f.read().split():
                self.assertFalse(os.path.exists("/proc/" + pid), "still running: " + pid)

    def test_a_run_that_fails_later_on_does_not_cost_the_report(self):
        cut, missing = (os.path.join(self.folder, name) for name in ("cut.json", "missing.json"))
        with open(cut, "w", encoding="utf-8") as f:
            json.dump({"rules": [{"when": {"event": "type = 'DELETED'"}, "what": "end"}]}, f)
        done = self.sweep("--jobs", "1", "--settle", "1s", "--json", "--faults", cut, "--faults", missing, command=[sys.executable, CONTROLLER, "mended", "nodes"])
        report = json.loads(done.stdout)
        self.assertEqual((done.returncode, report["stopped"], [gap["verdict"] for gap in report["gaps"]]), (3, True, ["fine", "untried"]), done.stderr)
        self.assertRegex(done.stderr, "a replay failed, see '.*': .*missing.json.*: what was found until then is reported")


if __name__ == "__main__":
    unittest.main()
