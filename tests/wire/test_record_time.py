"""Clocks that step, processes that stand still, networks that fall silent."""

import os
import shutil
import signal
import struct
import subprocess
import time
import unittest

from fake_apiserver import Cut, Exchange
from recording import RecordTest, plain_rows, preload, query
from test_record_access import Access, kubeconfig
from waiting import PATIENCE_S, wait_for

S = 1_000_000_000


class ClockTest(Access):
    """The recorder's clocks are what the test says."""

    def setUp(self):
        super().setUp()
        self.clocks = os.path.join(self.folder, "clocks")
        self.wall = self.mono = 0
        self.write_clocks()
        self.env = {**preload(self.folder, "other_time"), "KUBETAPE_CLOCKS": self.clocks}

    def write_clocks(self):
        with open(self.clocks, "r+b" if os.path.exists(self.clocks) else "wb") as f:
            f.write(struct.pack("qq", self.wall, self.mono))

    def pass_time(self, seconds):
        self.wall += seconds * S
        self.mono += seconds * S
        self.write_clocks()

    def step_wall_clock(self, seconds):
        self.wall += seconds * S
        self.write_clocks()

    def start(self, *arguments):
        recording = self.record("pods", *arguments, env=self.env).ready(1)
        self.pods.watching()
        return recording


class OtherClocks(ClockTest):
    def test_a_step_of_the_wall_clock_changes_no_order_and_no_duration(self):
        recording = self.start()
        self.pods.put("a")
        recording.wait_events(1)
        self.step_wall_clock(-3600)
        self.pods.put("b")
        recording.wait_events(2)
        self.step_wall_clock(7200)
        self.pods.put("c")
        events = recording.wait_events(3)
        self.assertEqual([e.split()[1] for e in events], ["a", "b", "c"])
        self.pods.disturb(lambda x: x.end())
        wait_for(lambda: len(self.pods.watches()) == 2, "the next watch")
        recording.stop()
        walls = [r["time_ns"] for r in recording.query("SELECT time_ns FROM events ORDER BY seq")]
        self.assertLess(walls[1], walls[0] - 3000 * S)
        self.assertGreater(walls[2], walls[1] + 7000 * S)
        watch = recording.query("SELECT duration_ns FROM connections WHERE purpose='watch' ORDER BY connection")[0]
        self.assertTrue(0 < watch["duration_ns"] < 60 * S)
        pairs = sorted(plain_rows(self.tape, "SELECT mono_ns, time_ns FROM clock"))
        self.assertLess(pairs[-1][0] - pairs[0][0], 60 * S)
        leads = [wall - mono for mono, wall in pairs]
        self.assertLess(min(leads), leads[0] - 3000 * S)
        self.assertGreater(max(leads), leads[0] + 3000 * S)

    def test_a_moment_after_the_clock_was_set_back_is_pinned(self):
        recording = self.start("--pin-when", "name = 'bad'", "--pin-after", "0s")
        self.pods.put("before")
        recording.wait_events(1)
        self.step_wall_clock(-18000)
        self.pods.put("bad")
        wait_for(lambda: "pinned '" in recording.stderr, "the pin")
        self.assertEqual(recording.stop(), 0)
        folder = self.tape + ".pins"
        pin = os.path.join(folder, os.listdir(folder)[0])
        self.assertEqual([row["name"] for row in query(pin, "SELECT name FROM events ORDER BY seq")][-1], "bad")

    def test_a_watch_with_bookmarks_that_is_silent_for_150_s_is_given_up_and_goes_on(self):
        self.pods.put("a")
        recording = self.start()
        self.pods.bookmark()
        wait_for(lambda: recording.query("SELECT 1 AS x FROM bookmarks"), "the bookmark on the tape")
        self.pass_time(110)
        time.sleep(2.2)  # it must not be given up yet, however often it is looked after
        self.assertEqual(len(self.pods.watches()), 1)
        self.pass_time(41)
        wait_for(lambda: len(self.pods.watches()) == 2, "the next watch")
        self.assertEqual(self.pods.watches()[1].query["resourceVersion"], "1002")
        self.pods.put("b")
        recording.wait_events(2)
        wait_for(lambda: recording.ends()[0] == "stalled", "the end reason on the tape")

    def test_without_bookmarks_a_watch_is_given_up_30_s_after_its_time(self):
        recording = self.start()
        self.pods.put("a")
        recording.wait_events(1)  # the time counts from the answer
        asked = int(self.pods.watches()[0].query["timeoutSeconds"])
        self.pass_time(asked + 2)
        time.sleep(2.2)  # as above
        self.assertEqual(len(self.pods.watches()), 1)
        self.pass_time(29)
        wait_for(lambda: len(self.pods.watches()) == 2, "the next watch")
        wait_for(lambda: recording.ends()[0] == "stalled", "the end reason on the tape")

    def test_an_end_at_the_time_that_was_asked_for_is_a_timeout(self):
        recording = self.start()
        self.pods.put("a")
        recording.wait_events(1)
        self.pass_time(int(self.pods.watches()[0].query["timeoutSeconds"]) - 1)
        self.pods.disturb(lambda x: x.end())
        wait_for(lambda: len(self.pods.watches()) == 2, "the next watch")
        wait_for(lambda: recording.ends()[0] == "server_timeout", "the end reason on the tape")
        self.assertEqual(len(self.pods.lists()), 1)
        self.assertEqual(recording.query("SELECT * FROM gaps"), [])

    def test_a_process_that_stood_still_for_minutes_takes_what_waited_in_the_socket(self):
        recording = self.start()
        self.pods.bookmark()
        wait_for(lambda: recording.query("SELECT 1 AS x FROM bookmarks"), "the bookmark on the tape")
        recording.process.send_signal(signal.SIGSTOP)
        for _ in range(10):
            self.pods.put("a")
        self.pass_time(400)
        recording.process.send_signal(signal.SIGCONT)
        self.assertEqual(len(recording.wait_events(10)), 10)
        self.assertEqual(len(self.pods.watches()), 1)
        self.assertEqual(recording.query("SELECT * FROM gaps"), [])


class Unanswered(ClockTest):
    """A server that takes connections and says nothing."""

    def setUp(self):
        super().setUp()
        self.nodes = self.api.add("nodes", "Node", namespaced=False)

    def nodes_go_on(self, recording, seconds=PATIENCE_S):
        self.nodes.put("n")
        recording.wait_events(1, "name='n'", seconds)

    def test_a_list_without_an_answer_is_given_up_after_a_minute_and_delays_no_other(self):
        self.pods.on_list(Exchange.hang)
        recording = self.record("pods", "nodes", env=self.env)
        wait_for(self.pods.lists, "the list")
        self.nodes_go_on(recording)
        self.pass_time(63)
        recording.ready(2)
        self.assertEqual(recording.query("SELECT end_reason, curl_code, http_status, next_action FROM connections "
                                         "WHERE purpose='list' AND end_reason<>'complete'"),
                         [{"end_reason": "no_response", "curl_code": 28, "http_status": 0, "next_action": "retry"}])

    def test_many_lists_without_an_answer_do_not_keep_the_others_from_being_asked_for(self):
        broken = [self.api.add(f"broken{i}", "Broken", "metrics.example.com", custom=True) for i in range(12)]
        for resource in broken:
            resource.broken = Exchange.hang
        recording = self.record(*(r.plural for r in broken), "nodes", env=self.env)
        wait_for(lambda: sum(len(r.lists()) for r in broken) >= 8, "the lists")
        self.pass_time(6)
        self.nodes_go_on(recording, 40)  # those lists themselves are given up after a minute

    def test_a_handshake_that_never_ends_is_given_up_after_half_a_minute_and_delays_no_other(self):
        self.certificates()
        url = self.serve_tls()
        recording = self.record("pods", "nodes", "--certificate-authority", self.path("ca.crt"), server=url, env=self.env).ready(2)
        self.pods.watching()
        self.nodes.watching()
        tls, self.api.tls = self.api.tls, SlowTls(self.api)
        self.pods.disturb(Exchange.cut)
        wait_for(lambda: self.api.tls.waiting, "the next handshake")
        self.nodes_go_on(recording)
        self.api.tls = tls
        self.pass_time(33)
        self.pods.put("a")
        recording.wait_events(1, "name='a'")
        row = recording.query("SELECT end_reason, curl_code, http_status FROM connections WHERE curl_code=28")
        self.assertEqual(row, [{"end_reason": "connect_timeout", "curl_code": 28, "http_status": 0}])
        self.assertIn("connect_timeout: ", recording.stderr)


    def test_a_credential_plugin_that_hangs_is_killed_after_a_minute_and_named(self):
        self.write("plugin", f"#!/bin/sh\necho $$ > '{self.folder}/pid.part'\nmv '{self.folder}/pid.part' '{self.folder}/pid'\n"
                   "exec sleep 1000\n", 0o700)
        config = self.write("config", kubeconfig(self.serve(), user="{exec: {apiVersion: v1, command: ./plugin}}"))
        recording = self.record("pods", "--kubeconfig", config, server=None, env=self.env)
        wait_for(lambda: os.path.exists(self.path("pid")), "the plugin")
        self.pass_time(61)
        self.assertEqual(recording.wait(), 1)
        self.assertIn("credential plugin './plugin' took longer than 60 s", recording.stderr)
        with open(self.path("pid"), encoding="ascii") as f:
            self.assertFalse(os.path.exists("/proc/" + f.read().strip()))


class SlowTls:
    def __init__(self, api):
        self.api, self.waiting = api, 0

    def wrap_socket(self, sock, **_):
        self.waiting += 1
        self.api.stopping.wait()
        raise Cut()


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("ip"), "network namespaces need root and ip")
class SilentNetwork(RecordTest):
    """The recorder in a network namespace whose cable can be pulled: no FIN, no RST, nothing."""

    def setUp(self):
        super().setUp()
        env = preload(self.folder, "other_time")
        self.name = f"kt{os.getpid()}"
        self.cable = f"{self.name}a"[-15:]
        number = os.getpid() % 16000 * 4
        net = f"10.213.{number // 256}."
        self.addCleanup(subprocess.run, ["ip", "netns", "del", self.name], stderr=subprocess.DEVNULL, check=False)
        self.addCleanup(subprocess.run, ["ip", "link", "del", self.cable], stderr=subprocess.DEVNULL, check=False)
        inside = ["ip", "-n", self.name]
        for command in (["ip", "netns", "add", self.name],
                        ["ip", "link", "add", self.cable, "type", "veth", "peer", "name", "eth0", "netns", self.name],
                        ["ip", "addr", "add", f"{net}{number % 256 + 1}/30", "dev", self.cable],
                        ["ip", "link", "set", self.cable, "up"],
                        [*inside, "addr", "add", f"{net}{number % 256 + 2}/30", "dev", "eth0"],
                        [*inside, "link", "set", "eth0", "up"]):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                self.skipTest(f"no network namespace here: {done.stderr.strip()}")
        self.api.host = f"{net}{number % 256 + 1}"
        self.recording = self.record("pods", env={**env, "KUBETAPE_TCP_HASTE": "20"},
                                     before=["ip", "netns", "exec", self.name]).ready(1)
        self.pods.watching()

    def cable_is(self, state):
        subprocess.run(["ip", "link", "set", self.cable, state], check=True)

    def test_a_cut_network_is_noticed_and_everything_is_there_when_it_is_back(self):
        self.pods.put("a")
        self.recording.wait_events(1)
        self.cable_is("down")
        for _ in range(5):
            self.pods.put("b")
        wait_for(lambda: len(self.recording.ends()) >= 1 and self.recording.ends()[0], "the end of the watch")
        self.cable_is("up")
        events = self.recording.wait_events(6)
        self.assertEqual([e.split()[2] for e in events], [str(1001 + i) for i in range(6)])
        ends = self.recording.query("SELECT end_reason, os_errno FROM connections WHERE purpose='watch'")
        self.assertEqual(ends[0], {"end_reason": "reset", "os_errno": 110})
        self.assertEqual(len(self.pods.lists()), 1)


if __name__ == "__main__":
    unittest.main()
