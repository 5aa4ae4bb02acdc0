"""What --metrics tells, and how it takes bad addresses and bad clients."""

import http.client
import os
import re
import resource
import signal
import socket
import subprocess
import unittest

from recording import KUBETAPE, RecordTest
from waiting import wait_for


class Metrics(RecordTest):
    def start(self, *arguments, **options):
        recording = self.record(*arguments, "--metrics", "0", **options)
        found = wait_for(lambda: re.search(r"metrics at http://127\.0\.0\.1:(\d+)/metrics", recording.stderr), "the port")
        self.port = int(found.group(1))
        return recording

    def get(self, path, method="GET"):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path)
        answer = connection.getresponse()
        try:
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def values(self):
        status, text = self.get("/metrics")
        self.assertEqual(status, 200)
        return {name: float(value) for name, value in re.findall(r"^([a-z_]+(?:\{[^}]*\})?) (\S+)$", text, re.MULTILINE)}

    def test_each_stream_has_its_counts(self):
        self.api.add("nodes", "Node", namespaced=False).put("n")
        self.pods.put("a")
        recording = self.start("pods,nodes", "-n", "default").ready(2)
        self.pods.watching()
        self.pods.put("b")
        self.pods.delete("a")
        recording.wait_events(4)
        wait_for(lambda: self.values()["kubetape_watches"] == 2, "both watches")
        values = self.values()
        pods = '{resource="pods",namespace="default"}'
        self.assertEqual(values["kubetape_events_total" + pods], 3)
        self.assertEqual(values['kubetape_events_total{resource="nodes",namespace=""}'], 1)
        self.assertGreater(values["kubetape_object_bytes_total" + pods], 200)
        self.assertEqual((values["kubetape_objects" + pods], values["kubetape_watched" + pods]), (1, 1))
        self.assertEqual((values["kubetape_streams"], values["kubetape_watches"]), (2, 2))

    def test_a_resource_of_two_versions_is_one_series_and_what_is_gone_is_not_awaited(self):
        crds = self.api.add("customresourcedefinitions", "CustomResourceDefinition", "apiextensions.k8s.io", namespaced=False)
        old = self.api.add("crontabs", "CronTab", "stable.example.com", version="v1alpha1", custom=True)
        crds.put("crontabs.stable.example.com")
        old.put("a", uid="u1")
        recording = self.start("--all").ready(3)
        old.watching()
        self.api.remove(old)
        new = self.api.add("crontabs", "CronTab", "stable.example.com", version="v1", custom=True)
        new.put("a", uid="u1")
        crds.put("crontabs.stable.example.com")
        old.disturb(lambda x: x.end())
        new.watching()
        values = wait_for(lambda: (v := self.values())["kubetape_streams"] == 3 and v, "the old version is gone")
        crons = '{resource="crontabs.stable.example.com",namespace=""}'
        self.assertEqual((values["kubetape_watches"], values["kubetape_watched" + crons]), (3, 1))
        self.assertEqual(values["kubetape_failed_attempts" + crons], 0)
        names = re.findall(r"^([a-z_]+\{[^}]*\}) ", self.get("/metrics")[1], re.MULTILINE)
        self.assertEqual(len(names), len(set(names)))
        recording.stop()

    def test_gaps_flushes_and_the_tape_are_counted(self):
        self.pods.put("a")
        recording = self.start("pods").ready(1)
        self.pods.watching()
        self.pods.put("b")
        recording.wait_events(2)
        self.pods.broken = lambda x: x.status(503, "ServiceUnavailable")
        self.pods.disturb(lambda x: x.cut())
        wait_for(lambda: recording.query("SELECT * FROM gaps"), "the gap")
        values = self.values()
        self.assertEqual(values['kubetape_gaps_total{resource="pods",namespace=""}'], 1)
        self.assertEqual((values["kubetape_watches"], values["kubetape_reconnects_total"]), (0, 1))
        self.assertGreater(values["kubetape_flush_seconds_count"], 0)
        self.assertEqual(values['kubetape_flush_seconds_bucket{le="+Inf"}'], values["kubetape_flush_seconds_count"])
        self.assertGreater(values["kubetape_tape_bytes"], 4096)
        self.assertEqual(values["kubetape_tape_writable"], 1)
        self.assertEqual(values["kubetape_last_sequence"], 2)

    def test_a_stream_that_is_refused_again_and_again_shows(self):
        nodes = self.api.add("nodes", "Node", namespaced=False)
        recording = self.start("pods,nodes").ready(2)
        nodes.watching()
        self.assertEqual(self.values()['kubetape_failed_attempts{resource="nodes",namespace=""}'], 0)
        nodes.broken = lambda x: x.status(429, "TooManyRequests")
        nodes.disturb(lambda x: x.cut())
        wait_for(lambda: self.values()['kubetape_failed_attempts{resource="nodes",namespace=""}'] >= 3, "three failures")
        self.assertEqual(self.values()['kubetape_failed_attempts{resource="pods",namespace=""}'], 0)
        nodes.broken = None
        wait_for(lambda: self.values()['kubetape_failed_attempts{resource="nodes",namespace=""}'] == 0, "the watch")
        self.assertEqual(recording.stop(), 0)

    def test_every_metric_has_its_type_and_its_help(self):
        self.start("pods").ready(1)
        text = self.get("/metrics")[1]
        typed = set(re.findall(r"^# TYPE (\S+) (?:counter|gauge|histogram)$", text, re.MULTILINE))
        self.assertEqual(typed, set(re.findall(r"^# HELP (\S+) \S.*\.$", text, re.MULTILINE)))
        names = {re.sub(r"_(bucket|sum|count)$", "", n) for n in re.findall(r"^([a-z_]+)[ {]", text, re.MULTILINE)}
        self.assertEqual(names, typed)

    def test_it_is_healthy_at_once_and_ready_when_the_lists_are_on_the_tape(self):
        held = []
        self.pods.on_list(lambda x: (held.append(x), x.hang()))
        recording = self.start("pods")
        wait_for(lambda: held, "the list")
        self.assertEqual(self.get("/healthz"), (200, "ok\n"))
        self.assertEqual(self.get("/readyz"), (503, "0 of 1 first lists are on the tape\n"))
        self.api.drop_connections()
        recording.ready(1)
        self.assertEqual(self.get("/readyz"), (200, "ok\n"))

    def test_other_paths_methods_and_nonsense_are_refused(self):
        self.start("pods").ready(1)
        self.assertEqual(self.get("/nope")[0], 404)
        self.assertEqual(self.get("/metrics", "POST")[0], 405)
        self.assertEqual(self.get("/metrics?x=1", "HEAD"), (200, ""))
        for bad, says in ((b"\r\n\r\n", b"HTTP/1.1 400 "), (b"x" * 9000, b"")):
            with socket.create_connection(("127.0.0.1", self.port), timeout=60) as s:
                s.sendall(bad)
                try:
                    self.assertTrue(s.recv(100).startswith(says))
                except ConnectionResetError:
                    pass

    def test_clients_that_only_hold_connections_keep_nobody_from_being_answered_for_long(self):
        self.start("pods").ready(1)
        held = [socket.create_connection(("127.0.0.1", self.port), timeout=60) for _ in range(40)]
        self.assertEqual(held[35].recv(1), b"")  # the 33rd and later are left at once
        self.assertEqual(held[0].recv(1), b"")   # the others after ten seconds
        self.assertEqual(self.get("/healthz")[0], 200)
        for s in held:
            s.close()

    def limited(self, count, *arguments):
        self.tape = os.path.join(self.folder, f"{count}.tape")
        return self.start(*arguments, before=["sh", "-c", f'ulimit -n {count}; exec "$@"', "sh"])

    def knock(self):
        """As many clients as may be, which ask for nothing."""
        held = []
        for _ in range(48):
            s = socket.create_connection(("127.0.0.1", self.port), timeout=60)
            self.addCleanup(s.close)
            held.append(s)
        return held

    def test_clients_take_no_file_that_the_recording_needs(self):
        for count in (44, 48, 52, 54, 57, 60, 62, 66, 70):
            with self.subTest(count):
                recording = self.limited(count, "pods").ready(1)
                self.pods.watching()
                self.knock()
                recording.process.send_signal(signal.SIGUSR1)  # a new segment takes files
                name = f"a{count}"
                self.pods.put(name)
                recording.wait_events(1, f"name='{name}' AND origin='watch'")
                self.knock()
                self.assertEqual(recording.stop(), 0)
                self.pods.watching(0)

    def test_whoever_comes_when_files_are_plenty_again_is_answered(self):
        recording = self.limited(62, "pods").ready(1)
        for s in self.knock():
            s.close()

        def answered():
            try:
                return self.get("/healthz")[0] == 200
            except OSError:
                return False

        wait_for(answered, "an answer")
        self.assertEqual(recording.stop(), 0)

    def test_too_few_files_at_the_start_are_told_in_one_sentence(self):
        for count in (6, 9, 20, 35):
            with self.subTest(count):
                done = subprocess.run(["sh", "-c", f'ulimit -n {count}; exec "$@"', "sh", KUBETAPE, "record", "pods", "-o", self.tape,
                                       "-s", self.serve()], capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done.stderr)
                self.assertIn(f"cannot record: of {count} open files that the system allows", done.stderr)
                self.assertFalse(os.path.exists(self.tape))

    def test_a_stop_without_a_file_left_says_that_nothing_is_lost(self):
        recording = self.start("pods").ready(1)
        self.pods.watching()
        self.pods.put("a")
        recording.wait_events(1)
        resource.prlimit(recording.process.pid, resource.RLIMIT_NOFILE, (10, 10))
        self.assertEqual(recording.stop(), 1)
        self.assertRegex(recording.lines[-1], "^kubetape record: tape .*; all events are stored, and the next writer of the tape seals them$")
        self.assertEqual(recording.events(), ["ADDED a 1001"])
        second = self.record("pods").ready(1)
        self.assertEqual(second.stop(), 0)

    def test_as_many_files_may_be_open_as_the_system_lets_us(self):
        recording = self.start("pods", before=["sh", "-c", 'ulimit -Sn 100; ulimit -Hn 300; exec "$@"', "sh"]).ready(1)
        with open(f"/proc/{recording.process.pid}/limits", encoding="utf-8") as f:
            self.assertRegex(f.read(), r"Max open files +300 +300 ")

    def test_addresses_that_cannot_be_are_told_in_one_sentence(self):
        taken = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(taken.close)
        here = f"127.0.0.1:{taken.getsockname()[1]}"
        for address, code, says in (("nine", 2, "'nine': expected PORT or ADDRESS:PORT"), ("::1:9090", 2, "'::1:9090'"),
                                    ("127.0.0.1:70000", 2, "'127.0.0.1:70000'"), ("example.com:9090", 2, "'example.com:9090'"),
                                    (here, 1, f"'{here}': address already in use")):
            done = subprocess.run([KUBETAPE, "record", "pods", "-o", self.tape, "-s", self.serve(), "--metrics", address],
                                  capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (code, 1), done.stderr)
            self.assertIn(says, done.stderr)
            self.assertFalse(os.path.exists(self.tape))

    def test_an_address_of_version_6_is_written_in_brackets(self):
        try:
            socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        except OSError:
            self.skipTest("no IPv6 here")
        recording = self.record("pods", "--metrics", "[::1]:0").ready(1)
        self.assertRegex(recording.stderr, r"metrics at http://\[::1\]:\d+/metrics")


if __name__ == "__main__":
    unittest.main()
