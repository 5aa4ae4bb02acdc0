"""Slow disks, full disks, slow clients: the stream goes on as it would without a tee, or waits, as it was told to."""

import os
import subprocess
import threading
import unittest

from fake_apiserver import encode
from recording import is_sanitized, preload
from small_disk import SmallDisk
from teeing import ApiCase
from waiting import PATIENCE_S, wait_for

PODS = "/api/v1/pods"
LARGE = 200_000


def pod(i, size=LARGE):
    return {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p%d" % i, "namespace": "n", "uid": "u%d" % i, "resourceVersion": str(5000 + i)}, "spec": {"x": "y" * size}}


def frame(i, size=LARGE):
    return b'{"type":"ADDED","object":%s}\n' % encode(pod(i, size))


class Pressure(ApiCase):
    def follow(self, tee):
        tee.get(PODS)
        watch = tee.watch(PODS + "?watch=1&resourceVersion=1000")
        self.addCleanup(watch.close)
        self.pods.watching()
        return watch

    def peak_kb(self, tee):
        with open("/proc/%d/status" % tee.process.pid, encoding="utf-8") as f:
            return next(int(line.split()[1]) for line in f if line.startswith("VmHWM"))


class SlowDisk(Pressure):
    def start(self, *options):
        self.switch = self.path("slow")
        tee = self.tee(self.api.url, *options, env={**preload(self.folder, "slow_sync"), "KUBETAPE_SYNC_MS": self.switch})
        return tee, self.follow(tee)

    def hold_a_flush(self, watch):
        """Of an event; it lasts until the switch is gone."""
        with open(self.switch + ".new", "w", encoding="utf-8") as f:
            f.write("-1\n")
        os.replace(self.switch + ".new", self.switch)
        self.pods.disturb(lambda x: x.chunk(frame(0, 10)))
        self.assertEqual(watch.next_raw(), frame(0, 10))
        wait_for(lambda: os.path.exists(self.switch + ".seen"), "the flush")

    def test_open_what_has_no_room_passes_and_a_row_says_so(self):
        tee, watch = self.start()
        self.hold_a_flush(watch)
        self.pods.disturb(lambda x: [x.chunk(frame(i)) for i in range(1, 301)])
        for i in range(1, 301):
            self.assertEqual(watch.next_raw(), frame(i))
        os.remove(self.switch)
        wait_for(lambda: tee.events("name = 'p1'"), "what had room")

        def comes_again():
            self.pods.disturb(lambda x: x.chunk(frame(400, 10)))
            watch.next_raw()
            return tee.events("name = 'p400'")

        wait_for(comes_again, "an event after it")
        self.assertEqual(tee.query("SELECT reason, how_ended FROM gaps"), [{"reason": "not_recorded", "how_ended": "skipped"}])
        self.assertEqual(tee.query("SELECT count(*) AS n FROM events WHERE name = 'p300'"), [{"n": 0}])
        tee.codes = (3,)
        self.assertEqual(tee.stop(), 3)
        self.assertRegex(tee.stderr(), r"MB passed on and not written down")
        self.assertEqual([r[0] for r in tee.rows("SELECT what FROM faults")], ["not_recorded"])

    def test_closed_the_stream_waits_and_nothing_is_missing(self):
        tee, watch = self.start("--fail-closed")
        self.hold_a_flush(watch)
        sent = []
        self.pods.disturb(lambda x: [(x.chunk(frame(i)), sent.append(i)) for i in range(1, 301)])
        lines = []
        reader = threading.Thread(target=lambda: lines.extend(watch.next_raw() for _ in range(300)))
        reader.start()
        with self.assertRaises(AssertionError):
            wait_for(lambda: len(sent) == 300, "all of it", 3)
        os.remove(self.switch)
        reader.join(PATIENCE_S)
        self.assertEqual(lines, [frame(i) for i in range(1, 301)])
        wait_for(lambda: len(tee.events()) == 301, "all of it")
        self.assertEqual(tee.rows("SELECT what FROM faults"), [])
        self.assertLess(self.peak_kb(tee), 250_000)


@unittest.skipUnless(os.geteuid() == 0, "mounting needs root")
class FullDisk(SmallDisk, Pressure):
    def setUp(self):
        super().setUp()
        self.mount(self.path("disk"))

    def test_clients_are_served_on_and_the_tape_goes_on_when_there_is_room_again(self):
        tee = self.tee(self.api.url, "--run", self.path("x.run"), tape=os.path.join(self.disk, "x.tape"))
        watch = self.follow(tee)
        self.pods.put("a")
        watch.next()
        tee.wait_events(["ADDED a 1001"])
        self.fill()
        for _ in range(40):
            self.pods.put("b", spec={"x": os.urandom(20_000).hex()})
            watch.next()
        wait_for(lambda: "disk is full" in tee.stderr(), "the message")
        self.assertIsNone(tee.process.poll())
        os.remove(os.path.join(self.disk, "ballast"))
        subprocess.run(["mount", "-o", "remount,size=64m", self.disk], check=True)
        wait_for(lambda: len(tee.events()) == 41, "all of it")
        self.assertEqual(tee.stderr().count("disk is full"), 1)

    def test_a_run_that_has_no_room_is_told_of_and_the_tape_goes_on(self):
        tee = self.tee(self.api.url, "--run", os.path.join(self.disk, "x.run"))
        watch = self.follow(tee)
        self.pods.put("a")
        watch.next()
        tee.wait_events(["ADDED a 1001"])
        self.fill()
        for i in range(200):
            self.pods.put("b%d" % i)
            watch.next()
        wait_for(lambda: "nothing more is in the run" in tee.stderr(), "the message")
        wait_for(lambda: len(tee.events()) == 201, "the tape")
        tee.codes = (1,)

    def test_no_room_at_all_at_the_start(self):
        self.fill()
        with self.assertRaisesRegex(AssertionError, "disk is full|No space left"):
            self.tee(self.api.url, "--run", self.path("x.run"), tape=os.path.join(self.disk, "x.tape"))
        self.assertEqual(os.listdir(self.disk), ["ballast"])
        self.assertFalse(os.path.exists(self.path("x.run")))


class SlowClient(Pressure):
    def test_one_that_never_reads_slows_its_own_stream_alone(self):
        tee = self.tee(self.api.url)
        tee.get(PODS)
        slow = tee.watch(PODS + "?watch=1&resourceVersion=1000", room_bytes=4096)
        self.addCleanup(slow.close)
        self.pods.watching()
        stuck = []
        self.pods.disturb(lambda x: [(x.chunk(frame(i)), stuck.append(i)) for i in range(500)])
        other = tee.watch(PODS + "?watch=1&resourceVersion=1000")
        self.addCleanup(other.close)
        self.pods.watching(2)
        self.pods.put("a")
        self.assertEqual(other.next()["object"]["metadata"]["name"], "a")
        with self.assertRaises(AssertionError):
            wait_for(lambda: len(stuck) == 500, "all of it", 2)
        if not is_sanitized():
            self.assertLess(self.peak_kb(tee), 150_000)


if __name__ == "__main__":
    unittest.main()
