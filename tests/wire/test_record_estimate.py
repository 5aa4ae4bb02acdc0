"""record --estimate: what a day would take, and nothing is kept."""

import base64
import os
import random
import re
import subprocess
import unittest

from recording import KUBETAPE, RecordTest
from waiting import PATIENCE_S, wait_for


class Estimate(RecordTest):
    def setUp(self):
        super().setUp()
        self.temporary = os.path.join(self.folder, "tmp")
        os.mkdir(self.temporary)
        self.maps = self.api.add("configmaps", "ConfigMap")
        self.pods.put("a")
        self.maps.put("b")

    def start(self, *options):
        return subprocess.Popen([KUBETAPE, "record", "--server", self.serve(), "pods", "configmaps", *options], text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "TMPDIR": self.temporary, "HOME": "/nonexistent"})

    @staticmethod
    def wait_for_the_sample(process):
        """It begins when every first list is there."""
        while not process.stderr.readline().startswith("recording"):
            pass

    def estimate(self, *options, changes=100):
        process = self.start("--estimate", "5s", *options)
        self.pods.watching()
        self.wait_for_the_sample(process)
        for i in range(changes):
            self.pods.put(f"p{i % 10}")
        out, err = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 0, err)
        return out

    def test_it_counts_what_came_after_the_first_lists_and_leaves_nothing(self):
        out = self.estimate()
        events = re.search(r"^pods +(\d+) ", out, re.MULTILINE)
        self.assertGreater(int(events[1]), 0)
        self.assertLess(int(events[1]), 100 * 86400 / 4.9)  # the first list's are not among them
        self.assertNotRegex(out, r"(?m)^configmaps ")
        self.assertRegex(out, r"(?m)^a day takes about \d.* on disk, and the objects that are there now \d.* once$")
        self.assertEqual(os.listdir(self.temporary), [])

    def test_what_could_not_be_listed_is_no_part_of_it_and_that_is_told(self):
        self.maps.broken = lambda x: x.status(403, "Forbidden", "configmaps is forbidden: no")
        process = self.start("--estimate", "2s")
        self.pods.watching()
        self.wait_for_the_sample(process)
        self.pods.put("another")
        out, err = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 3, err)
        self.assertIn("a day takes about", out)
        self.assertIn("a day will take more: of 2 streams 1 could not be listed, 0 could not be watched at the end, and gaps hid 0 changes", err)

    def test_with_a_limit_it_tells_how_many_days_that_keeps(self):
        out = self.estimate("--max-size", "1G")
        self.assertRegex(out, r"(?m); --max-size 1\.1 GB keeps the last \d+\.\d days$")
        self.assertRegex(out, r"\ngive or take \d+ %( or more)?, as far as the halves of the sample tell; .*\n$")

    def test_a_cluster_in_which_nothing_happens_takes_next_to_nothing(self):
        out = self.estimate(changes=0)
        self.assertNotRegex(out, r"(?m)^pods ")
        self.assertIn("a day takes about", out)
        self.assertIn("give or take 100 % or more", out)

    def events_of_a_day(self, change):
        """What they take on disk, in bytes, if that is what happens in the sample."""
        process = self.start(*self.kinds, "--estimate", "5s")
        self.wait_for_the_sample(process)
        change()
        out, err = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 0, err)
        units = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}
        rows = re.findall(r"(?m)^\S+(?: resources)? +[1-9]\d* .* (\d[\d.]*) (k?B|MB|GB)$", out)
        return sum(float(number) * units[unit] for number, unit in rows)

    def test_few_changes_of_each_of_many_resources_take_what_they_take_of_one(self):
        self.kinds = [f"kind{i}s" for i in range(24)]
        resources = [self.api.add(kind, kind[:-1].title()) for kind in self.kinds]
        text = " ".join(f"word{i * i % 977}" for i in range(150))
        put = lambda resource, name: resource.put(name, spec={"text": text}, status={"name": name})
        for i, resource in enumerate(resources):
            put(resource, f"a{i}")
            put(resources[0], f"b{i}")
        many = self.events_of_a_day(lambda: [put(resource, f"a{i}") for i, resource in enumerate(resources)])
        one = self.events_of_a_day(lambda: [put(resources[0], f"b{i}") for i in range(24)])
        self.assertGreater(one, 0)
        self.assertLess(many, 2 * one)

    def test_a_day_has_more_whole_versions_of_large_objects_than_a_sample_in_which_no_chain_ends(self):
        self.kinds = ["blobs"]
        blobs = self.api.add("blobs", "Blob")
        text = base64.b64encode(random.Random(1).randbytes(30_000)).decode()
        def put(count):
            for i in range(count):
                blobs.put(f"b{i % 3}", spec={"text": text, "n": i})
        put(3)
        events_a_day = 36 * 86400 / 5
        self.assertGreater(self.events_of_a_day(lambda: put(36)), events_a_day / 16 * 30_000 * 0.8)

    def test_a_signal_ends_the_sample_and_tells_what_it_has(self):
        process = self.start("--estimate", "1h")
        self.pods.watching()
        self.pods.put("x")
        wait_for(lambda: self.pods.watches(), "a watch")
        self.wait_for_the_sample(process)
        process.terminate()
        out, err = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 0, err)
        self.assertIn("a day takes about", out)
        self.assertEqual(os.listdir(self.temporary), [])

    def test_it_keeps_nothing_and_so_takes_no_tape(self):
        for options in (("--estimate", "1s", "-o", self.tape), ("--estimate", "1s", "--duration", "1s"), ("--estimate", "0")):
            with self.subTest(options=options):
                process = self.start(*options)
                _, err = process.communicate(timeout=PATIENCE_S)
                self.assertEqual(process.returncode, 2)
                self.assertIn("'--estimate' wants", err)


if __name__ == "__main__":
    unittest.main()
