"""`sweep --shard` and `--merge`: one sweep over several processes comes to what one alone comes to."""
import json
import os
import shutil
import signal
import subprocess
import sys
import unittest

import test_sweep
from s3_store import S3Store
from test_sweep import CONTROLLER, DEADLINE_S, KUBETAPE
from waiting import wait_for


class Shards(unittest.TestCase):
    setUp, arguments = test_sweep.SweepTest.setUp, test_sweep.SweepTest.arguments
    sweep, begin, end, wrong = (getattr(test_sweep.SweepTest, name) for name in ("sweep", "begin", "end", "wrong"))

    def results(self, report):
        """What a report says of each fault, wherever its files are."""
        return [{k: v for k, v in gap.items() if k not in ("faults", "repeat")} for gap in report["gaps"]]

    def merge(self, folders, *options, code):
        words = [w for f in folders for w in ("--merge", f)]
        done = subprocess.run([KUBETAPE, "sweep", *words, *options], capture_output=True, text=True, timeout=DEADLINE_S, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout

    def with_words(self, folder, words, others):
        """The folder, whose reports have other words now."""
        for part in os.listdir(folder):
            path = os.path.join(folder, part, "sweep.json")
            with open(path, encoding="utf-8") as file:
                text = file.read()
            self.assertIn("stopped", text)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text.replace(words, others))
        return folder

    def shards(self, count, kind="buggy", *options):
        command = [sys.executable, CONTROLLER, kind, "tombstone"]
        folders = [os.path.join(self.folder, f"part-{i}") for i in range(count)]
        running = [self.begin("--at", "deletions", *options, "-o", folder, "--shard", f"{i}/{count}", command=command)
                   for i, folder in enumerate(folders)]
        return folders, [self.end(process, 0) for process in running]

    def test_shards_make_one_report_equal_to_that_of_one_sweep(self):
        folders, reports = self.shards(2)
        tried = [{i for i, gap in enumerate(r["gaps"]) if gap["verdict"] != "untried"} for r in reports]
        reached = {i for i, gap in enumerate(reports[0]["gaps"]) if gap["verdict"] != "not reached"}
        self.assertEqual(reached - (tried[0] | tried[1]), set())
        whole = self.end(self.begin("--at", "deletions", command=[sys.executable, CONTROLLER, "buggy", "tombstone"]), 1)
        out = os.path.join(self.folder, "merged")
        merged = json.loads(self.merge(folders, "--json", "-o", out, "--junit", out + ".xml", code=1))
        self.assertEqual(self.results(merged), self.results(whole))
        for name in ("without", "wrong", "fine", "unsure", "not_reached", "positions", "positions_found", "tape"):
            self.assertEqual(merged[name], whole[name], name)
        self.assertEqual([c["cause"] for c in merged["causes"]], [c["cause"] for c in whole["causes"]])
        for gap in self.wrong(merged):
            self.assertTrue(os.path.exists(gap["faults"]), gap)
            self.assertIn(gap["faults"], gap["repeat"])
        self.assertIn("WRONG: deletion of pods default/web-2", self.merge(folders, code=1))
        with open(os.path.join(out, "sweep.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["wrong"], whole["wrong"])
        self.assertTrue(os.path.exists(out + ".xml"))

    def test_folders_that_were_carried_elsewhere_are_merged_and_what_is_missing_is_told(self):
        folders, _ = self.shards(2)
        moved = os.path.join(self.folder, "carried")
        os.rename(folders[0], moved)
        for gap in self.wrong(json.loads(self.merge([moved, folders[1]], "--json", code=1))):
            self.assertTrue(os.path.exists(gap["faults"]), gap)
        both = os.path.join(self.folder, "both")
        os.mkdir(both)
        for i, folder in enumerate((moved, folders[1])):
            shutil.copytree(folder, os.path.join(both, f"{i}"))
        self.assertEqual(self.results(json.loads(self.merge([both], "--json", code=1))),
                         self.results(json.loads(self.merge([moved, folders[1]], "--json", code=1))))
        self.assertEqual(self.merge([self.with_words(both, '"wrong"', '"fine"')], code=0), self.merge([self.with_words(both, '"stopped": false', '"stopped": true')], code=0))
        one = self.merge([moved], code=1 if self.wrong(json.load(open(os.path.join(moved, "sweep.json"), encoding="utf-8"))) else 3)
        self.assertRegex(one, "[0-9]+ faults were not tried by any shard")

    def test_parts_of_other_sweeps_are_refused_and_another_command_is_told(self):
        command = [sys.executable, CONTROLLER, "mended", "tombstone"]
        parts = {"own": [], "more": ["--max", "3"], "less": ["--invariant", "@no-hot-loop"], "command": []}
        for part, options in parts.items():
            words = [*command, "--other"] if part == "command" else command
            self.end(self.begin("--at", "deletions", "--shard", "0/100000", *options, "-o", os.path.join(self.folder, part), command=words), 0)
        merged = lambda *names: subprocess.run([KUBETAPE, "sweep", *(w for n in names for w in ("--merge", os.path.join(self.folder, n)))],
                                               capture_output=True, text=True, timeout=DEADLINE_S, check=False)
        done = merged("own", "more")
        self.assertEqual((done.returncode, done.stderr), (2, f"kubetape sweep: '{self.folder}/more' is a sweep with '--max=3', the others are without\n"))
        done = merged("less", "own")
        self.assertEqual((done.returncode, done.stderr),
                         (2, f"kubetape sweep: '{self.folder}/own' is a sweep without '--invariant=@no-hot-loop', the others have it\n"))
        done = merged("own", "command")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn(f"'{self.folder}/command' ran '{' '.join(command)} --other', others ran '{' '.join(command)}': ", done.stderr)
        before, self.tape = self.tape, test_sweep.Story(["web-0", "web-1", "web-2"]).write(os.path.join(self.folder, "again.tape"))
        self.end(self.begin("--at", "deletions", "--shard", "0/100000", "-o", os.path.join(self.folder, "again"), command=command), 0)
        done = merged("own", "again")
        self.assertEqual((done.returncode, done.stderr), (2, f"kubetape sweep: '{self.folder}/again' is a sweep of '{self.tape}', the others are of '{before}'\n"))

    def test_refuses_what_it_does_not_understand(self):
        for index in ("", "8", "index/1", "-1"):
            done = subprocess.run([KUBETAPE, "sweep", self.tape, "--shard", "index/8", "--", "true"], capture_output=True, text=True,
                                  check=False, env={**os.environ, "JOB_COMPLETION_INDEX": index})
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), index)
        for shard in ("3/3", "1", "x/2", "1/0", "-1/2", "1/2/3"):
            done = self.sweep("--shard", shard, command=["true"])
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), shard)
        done = subprocess.run([KUBETAPE, "sweep", self.tape, "--merge", self.folder], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        done = subprocess.run([KUBETAPE, "sweep", "--merge", os.path.join(self.folder, "none")], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        done = subprocess.run([KUBETAPE, "sweep", "--merge", self.folder], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (1, f"kubetape sweep: no sweep.json in '{self.folder}', nor in its folders\n"))


class Stored(Shards):
    """Results that go into an object store, and come out of it."""
    PLACE = "s3://tapes/sweeps"

    def setUp(self):
        super().setUp()
        self.store = S3Store()
        self.store.__enter__()
        self.addCleanup(self.store.__exit__)
        before = dict(os.environ)
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(before)))
        self.here = os.path.join(self.folder, "temporary")
        os.mkdir(self.here)
        os.environ.update(self.store.env, TMPDIR=self.here)

    def short(self, *options, code):
        """A sweep that tries next to nothing."""
        done = self.sweep("--at", "deletions", "--shard", "0/100000", *options, command=["true"])
        self.assertEqual((done.returncode, done.stderr.count("\n")), (code, 1 if code else 0), done.stderr)
        return done

    def test_shards_make_one_report_equal_to_that_of_one_sweep(self):
        command = [sys.executable, CONTROLLER, "buggy", "tombstone"]
        running = [self.begin("--at", "deletions", "-o", f"{self.PLACE}/part-{i}", "--shard", f"{i}/2", command=command) for i in range(2)]
        reports = [self.end(process, 0) for process in running]
        for i, report in enumerate(reports):
            self.assertEqual(report["folder"], f"{self.PLACE}/part-{i}")
            for gap in self.wrong(report):
                self.assertIn(gap["faults"].removeprefix("s3://tapes/"), self.store.objects)
        self.assertEqual(os.listdir(self.here), [])
        out = os.path.join(self.folder, "merged")
        merged = json.loads(self.merge([self.PLACE], "--json", "-o", out, code=1))
        for gap in self.wrong(merged):
            self.assertTrue(gap["faults"].startswith(out), gap)
            with open(gap["faults"], "rb") as file:
                name = gap["faults"].rsplit("/", 1)[1]
                self.assertIn(file.read(), [o.body for k, o in self.store.objects.items() if k.endswith(name)])
            self.assertIn(gap["faults"], gap["repeat"])
        self.assertIn("default/web-2", {gap["object"] for gap in self.wrong(merged)})
        self.assertEqual(self.results(json.loads(self.merge([os.path.join(out, f"part-{n}") for n in (1, 2)], "--json", code=1))), self.results(merged))
        there = json.loads(self.merge([self.PLACE], "--json", "-o", "s3://tapes/all", code=1))
        self.assertEqual(self.results(there), self.results(merged))
        for gap in self.wrong(there):
            self.assertIn(gap["faults"].removeprefix("s3://tapes/"), self.store.objects)
        self.assertEqual(json.loads(self.store.objects["all/sweep.json"].body)["wrong"], merged["wrong"])

    def test_folders_that_were_carried_elsewhere_are_merged_and_what_is_missing_is_told(self):
        self.short("-o", self.PLACE + "/a", code=0)
        one = self.merge([self.PLACE], code=3)
        self.short("-o", self.PLACE + "/b", code=0)
        self.assertEqual(self.merge([self.PLACE], code=3), one)

    def test_the_report_comes_last_and_what_is_half_there_is_none(self):
        self.short("-o", self.PLACE, code=0)
        written = [key for method, key, _ in self.store.requests if method == "PUT"]
        self.assertEqual(written[-1], "sweeps/sweep.json")
        self.assertEqual(sorted(written), sorted(self.store.objects))
        del self.store.objects["sweeps/sweep.json"]
        done = subprocess.run([KUBETAPE, "sweep", "--merge", self.PLACE], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (1, f"kubetape sweep: no sweep.json at or below '{self.PLACE}'\n"))

    def test_refuses_what_it_does_not_understand(self):
        self.short("-o", self.PLACE, code=0)
        before = dict(self.store.objects)
        self.assertIn(f"'{self.PLACE}' holds an earlier sweep, which is not thrown away", self.short("-o", self.PLACE, code=2).stderr)
        self.assertIn("names no bucket", self.short("-o", "s3:///x", code=2).stderr)
        self.assertIn("the store has no bucket 'other'", self.short("-o", "s3://other/x", code=1).stderr)
        self.assertEqual((self.store.objects, os.listdir(self.here)), (before, []))

    def test_results_that_the_store_does_not_take_stay_here(self):
        self.store.fail("PUT", "sweep.json", "AccessDenied")
        done = self.short("-o", self.PLACE, code=1)
        folder = os.path.join(self.here, os.listdir(self.here)[0])
        self.assertIn(f"the results are in '{folder}' and not in the store: ", done.stderr)
        self.assertIn("3 not reached", self.merge([folder], code=3))

    def test_of_a_sweep_without_an_answer_it_is_told_where_its_runs_are(self):
        done = self.sweep("--timeout", "1s", "-o", self.PLACE, command=["sleep", "60"])
        self.assertEqual(done.returncode, 1, done.stderr)
        folder = os.path.join(self.here, os.listdir(self.here)[0])
        told, why = done.stderr.splitlines()
        self.assertEqual(told, f"kubetape sweep: what the runs wrote is in '{folder}', and not in the store")
        self.assertIn(f"see '{folder}/without-1.log'", why)
        self.assertTrue(os.path.exists(folder + "/without-1.log"))
        self.assertEqual(self.store.objects, {})

    def test_a_sweep_that_is_stopped_before_it_has_an_answer_leaves_nothing(self):
        begun = os.path.join(self.folder, "begun")
        process = self.begin("-o", self.PLACE, command=["sh", "-c", 'touch "$0"; exec sleep 60', begun])
        wait_for(lambda: os.path.exists(begun), "the command")
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=DEADLINE_S)
        self.assertEqual((process.returncode, errors), (3, "kubetape sweep: stopped before any gap was tried\n"), output)
        self.assertEqual((self.store.objects, os.listdir(self.here)), ({}, []))

    def test_keys_that_no_sweep_writes_are_not_fetched(self):
        self.short("-o", self.PLACE, code=0)
        for name in ("notes", "..", ".hidden", "0/../../x.run"):
            self.store.objects["sweeps/" + name] = self.store.objects["sweeps/sweep.json"]
        out = os.path.join(self.folder, "merged")
        self.merge([self.PLACE], "-o", out, code=3)
        self.assertEqual({n for n in os.listdir(os.path.join(out, "part-1")) if not n.endswith((".run", ".log", ".faults.json"))}, {"sweep.json"})
        self.assertEqual(sorted(os.listdir(out)), ["part-1", "sweep.json"])
