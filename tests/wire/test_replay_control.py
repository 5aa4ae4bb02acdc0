"""Steering a replay: pause, step, speed, seek, run until, loop; and what clients see of it."""

import contextlib
import json
import os
import random
import sqlite3
import subprocess
import sys
import time
import unittest

from replays import DEADLINE_S, KUBETAPE, NODES, PODS, Case, Tape, brief, obj
from waiting import wait_for


def counted(count=30, spacing=10.0):
    """Pods p0..p29 come one after the other, version 31..60; every third one leaves with the one after it."""
    tape = Tape().listed(PODS, 20, [obj(PODS, "a", 5)]).listed(NODES, 20, [obj(NODES, "n", 6)])
    for i in range(count):
        tape.event(1 + spacing * i, PODS, "ADDED", obj(PODS, "p%d" % i, 31 + 2 * i))
        if i % 3 == 1:
            tape.event(1 + spacing * i, PODS, "DELETED", obj(PODS, "p%d" % (i - 1), 32 + 2 * i))
    return tape


def state_at(tape, seq):
    """{name: version} of the pods after the event seq."""
    live = {}
    for event in [l for l in tape.lines if "type" in l and l["stream"] is PODS or "type" in l][:seq]:
        meta = event["object"]["metadata"]
        if event["stream"]["resource"] != "pods":
            continue
        if event["type"] == "DELETED":
            live.pop(meta["name"])
        else:
            live[meta["name"]] = meta["resourceVersion"]
    return live


class ControlTest(Case):
    def post(self, r, what):
        status, _, body = r.request("POST", "/kubetape/v1/" + what)
        return status, json.loads(body)

    def names(self, r):
        return [i["metadata"]["name"] for i in r.get("/api/v1/pods")[1]["items"]]

    def wait_for(self, r, **wanted):
        def status():
            found = r.get("/kubetape/v1/status")[1]
            return all(found[k] == v for k, v in wanted.items()) and found

        return wait_for(status, f"a status with {wanted}")

    def test_step_applies_events_one_by_one_whatever_the_clock_says(self):
        r = self.replay(counted())
        with r.watch("/api/v1/pods?watch=1&resourceVersion=20") as w:
            _, status = self.post(r, "step")
            self.assertEqual((status["state"], status["seq"]), ("paused", 3))
            self.assertEqual(brief(w.next()), ("ADDED", "p0", "31"))
            self.post(r, "step?count=2")
            self.assertEqual([brief(e) for e in w.take(2)], [("ADDED", "p1", "33"), ("DELETED", "p0", "34")])
            self.assertEqual(self.names(r), ["a", "p1"])

    def test_pause_stops_the_clock_and_resume_goes_on(self):
        r = self.replay(counted(spacing=0.2))
        with r.watch("/api/v1/pods?watch=1&resourceVersion=20") as w:
            w.next()
            _, status = self.post(r, "pause")
            self.assertEqual(status["state"], "paused")
            w.take(status["seq"] - 3)  # two were listed, and one is taken
            w.connection.sock.settimeout(0.8)
            with self.assertRaises(TimeoutError):
                w.next()
            self.assertEqual(r.get("/kubetape/v1/status")[1]["seq"], status["seq"])
        self.post(r, "speed?value=max")
        self.post(r, "resume")
        self.wait_for(r, state="ended")

    def test_what_was_paused_stays_so_when_it_is_moved_back_from_the_end(self):
        r = self.replay(counted(spacing=0.001))
        _, status = self.post(r, "step?count=100")
        self.assertEqual(status["state"], "ended")
        _, status = self.post(r, "rewind")
        self.assertEqual(status["state"], "paused")
        self.post(r, "resume")
        self.wait_for(r, state="ended")
        self.assertEqual(self.post(r, "rewind")[1]["state"], "running")

    def test_a_change_of_speed_counts_from_where_the_clock_stands(self):
        r = self.replay(counted(3, 100_000.0))
        with r.watch("/api/v1/pods?watch=1&resourceVersion=20") as w:
            self.assertEqual(brief(w.next())[1], "p0")
            self.assertEqual(self.post(r, "speed?value=1000000")[1]["speed"], 1e6)
            self.assertEqual([brief(e)[1] for e in w.take(3)], ["p1", "p0", "p2"])
            self.post(r, "rewind")
            self.post(r, "speed?value=max")
            self.wait_for(r, seq=6)

    def test_the_clock_waits_for_as_many_watchers_as_it_is_told(self):
        r = self.replay(counted(2, 0.01), "--wait-watchers", "2", "--speed", "max")
        with r.watch("/api/v1/pods?watch=1&resourceVersion=20") as w:
            self.assertEqual(self.wait_for(r, watches=1)["state"], "waiting")
            with r.watch("/api/v1/nodes?watch=1&resourceVersion=20"):
                self.assertEqual(brief(w.next())[1], "p0")

    def test_a_clock_that_waits_for_long_says_what_for(self):
        r = self.replay(counted(2), "--wait-watchers", "2")
        with r.watch("/api/v1/pods?watch=1&resourceVersion=20"):
            wait_for(lambda: "not started" in r.stderr(), "a word of it")
            self.assertIn("info the clock has not started: 1 of 2 watches are open (--wait-watchers)", r.stderr())

    def test_run_until_pauses_at_a_position_and_behind_an_event(self):
        r = self.replay(counted(), "--speed", "max")
        _, status = self.post(r, "run?until=rv:45")
        self.wait_for(r, state="paused")
        self.assertEqual(r.get("/api/v1/pods")[1]["metadata"]["resourceVersion"], "45")
        self.post(r, "run?when=type%3D%27DELETED%27+AND+name%3D%27p9%27")
        self.wait_for(r, state="paused")
        self.assertEqual(r.get("/api/v1/pods")[1]["metadata"]["resourceVersion"], "52")
        self.assertEqual(self.post(r, "run?until=seq:3")[0], 400)
        self.assertEqual(self.post(r, "run?when=nonsense(")[0], 400)

    def test_wrong_words_are_refused(self):
        r = self.replay(counted())
        self.assertEqual(self.post(r, "seek?to=nowhere")[0], 400)
        self.assertEqual(self.post(r, "speed?value=-1")[0], 400)
        self.assertEqual(self.post(r, "step?count=0")[0], 400)
        self.assertEqual(r.request("GET", "/kubetape/v1/pause")[0], 405)
        self.assertEqual(r.request("GET", "/kubetape/v1/nothing")[0], 404)

    @unittest.skipIf("san" in os.environ.get("KUBETAPE_BUILD", ""), "a sanitizer keeps what is freed")
    def test_many_seeks_take_no_more_memory_than_some(self):
        tape = Tape().listed(PODS, 20, [])
        for i in range(20000):
            tape.event(1 + i, PODS, "MODIFIED", obj(PODS, "p%d" % (i % 500), 31 + i, spec={"x": "%01000x" % i}))
        r = self.replay(tape, "--wait-watchers", "9")
        dice = random.Random(1)

        def peak(times):
            most = 0
            for _ in range(times):
                self.post(r, "seek?to=seq:%d" % dice.randrange(2, 20000))
                most = max(most, self.memory(r))
            return most

        limit = 1.3 * peak(25) + 8e6
        peak(75)
        # A moment later what was read ahead last is given back, too.
        wait_for(lambda: self.memory(r) <= limit, f"no more than {limit:.0f} bytes")

    def memory(self, r):
        with open("/proc/%d/status" % r.process.pid) as f:
            return next(int(line.split()[1]) * 1024 for line in f if line.startswith("VmRSS"))

    def test_going_back_ends_streams_with_410_and_versions_ahead_are_a_timeout(self):
        r = self.replay(counted())
        with r.watch("/api/v1/pods?watch=1&resourceVersion=20") as w, \
                r.watch("/api/v1/nodes?watch=1&resourceVersion=20") as quiet:
            self.post(r, "step?count=9")
            last = w.take(9)[-1]["object"]["metadata"]["resourceVersion"]
            _, status = self.post(r, "seek?to=seq:4")
            error = w.next()
            self.assertEqual((error["type"], error["object"]["code"]), ("ERROR", 410))
            self.assertIsNone(w.next())
            # A resource that did not change is at the same version in both positions: its watch goes on.
            quiet.connection.sock.settimeout(0.3)
            with self.assertRaises(TimeoutError):
                quiet.next()
        code, answer = r.get("/api/v1/pods?resourceVersion=" + last)
        self.assertEqual((code, answer["details"]["causes"][0]["reason"]), (504, "ResourceVersionTooLarge"))
        self.assertNotIn("retryAfterSeconds", answer["details"])
        _, answer = r.get("/api/v1/pods")
        self.assertEqual(answer["metadata"]["resourceVersion"], "33")
        self.assertEqual(self.names(r), ["a", "p0", "p1"])

    def test_going_forward_brings_what_lies_between(self):
        r = self.replay(counted())
        with r.watch("/api/v1/pods?watch=1&resourceVersion=20") as w:
            self.post(r, "step?count=2")
            w.take(2)
            self.post(r, "seek?to=end")
            rest = [brief(e)[2] for e in w.take(38)]
            self.assertEqual(rest, sorted(rest, key=int))
            self.assertEqual((rest[0], rest[-1]), ("34", "89"))

    def test_random_seeks_leave_a_reflector_with_the_state_of_the_position(self):
        tape = counted()
        r = self.replay(tape)
        dice = random.Random(7)
        reflector = Reflector(r)
        self.post(r, "pause")
        for _ in range(30):
            seq = dice.randrange(2, 42)
            self.post(r, "seek?to=seq:%d" % seq)
            reflector.settle(str(int(r.get("/api/v1/pods")[1]["metadata"]["resourceVersion"])))
            self.assertEqual(reflector.cache, state_at(tape, seq), seq)
        reflector.close()

    def test_in_lock_step_the_tape_waits_for_whoever_was_given_something_to_do(self):
        tape = counted(2, 0.0)
        for i in range(200):
            tape.event(1, NODES, "MODIFIED", obj(NODES, "n", 100 + i))  # which nobody watches
        r = self.replay(tape, "--speed", "max", "--lockstep", "2s")
        with r.watch("/api/v1/pods?watch=1&resourceVersion=20") as w:
            for _ in range(2):
                event = w.next()
                time.sleep(0.1)
                for _ in range(2):  # the same again
                    self.assertEqual(r.get("/api/v1/pods")[1]["metadata"]["resourceVersion"], brief(event)[2])
            w.next()
            self.wait_for(r, state="ended")

    def test_in_lock_step_the_tape_waits_for_another_try_after_a_write_that_failed_and_after_discovery(self):
        r = self.replay(counted(4, 0.0), "--speed", "max", "--lockstep", "1s")
        with r.watch("/api/v1/pods?watch=1&resourceVersion=20") as w:
            none = "/api/v1/namespaces/default/pods/none"
            for method, target, body, status in (("PUT", none, json.dumps(obj(PODS, "none", 1)), 404), ("GET", "/apis", None, 200)):
                w.next()
                self.assertEqual(r.request(method, target, {"Content-Type": "application/json"}, body)[0], status)
                asked = time.monotonic()
                w.next()
                self.assertGreater(time.monotonic() - asked, 1.4)

    def test_in_lock_step_the_end_is_quiet_when_the_last_step_is(self):
        r = self.replay(counted(3, 0.1), "--speed", "max", "--lockstep", "5ms", "--settle", "300ms")
        with r.watch("/api/v1/pods?watch=1&resourceVersion=20") as w:
            w.take(4)
            self.assertEqual(r.process.wait(timeout=DEADLINE_S), 0)

    def test_loop_begins_anew_and_tells_clients_so(self):
        r = self.replay(counted(3, 0.1), "--loop", "--speed", "max", "--wait-watchers", "1")
        with r.watch("/api/v1/pods?watch=1&resourceVersion=20") as w:
            self.assertEqual([brief(e)[2] for e in w.take(4)], ["31", "33", "34", "35"])
            self.assertEqual(w.next()["object"]["code"], 410)

    def test_long_silences_can_be_cut(self):
        r = self.replay(counted(4, 100.0), "--max-idle", "100ms")
        with r.watch("/api/v1/pods?watch=1&resourceVersion=20") as w:
            self.assertEqual(len(w.take(5)), 5)  # a read gives up before a silence of 100 s is over

    def test_report_tells_who_came_and_what_was_delivered_how_late(self):
        path = os.path.join(self.folder, "report.json")
        began = time.monotonic()
        r = self.replay(counted(10, 0.05), "--report", path, "--exit-at-end")
        r.get("/api/v1/pods", **{"User-Agent": "one"})
        r.get("/api/v1/namespaces/x/pods/none", **{"User-Agent": "one"})
        with r.watch("/api/v1/pods?watch=1&resourceVersion=20") as w:
            self.assertEqual(len(w.rest()), 13)
        self.assertEqual(r.process.wait(timeout=DEADLINE_S), 0)
        with open(path) as f:
            report = json.load(f)
        self.assertEqual((report["requests"], report["watches"], report["events"], report["seq"]), (3, 1, 13, 15))
        self.assertGreater(report["lateness_us"]["max"], 0)
        self.assertLessEqual(report["lateness_us"]["p50"], report["lateness_us"]["max"])
        self.assertLess(report["lateness_us"]["max"], (time.monotonic() - began) * 1e6)
        one = [c for c in report["clients"] if c["user_agent"] == "one"][0]
        self.assertEqual((one["requests"], one["lists"], one["refused"]), (2, 1, 1))

    def test_lateness_above_the_limit_is_a_verdict(self):
        for limit, code in (("1us", 3), ("1m", 0)):
            r = self.replay(counted(10, 0.01), "--max-lateness", limit, "--exit-at-end")
            with r.watch("/api/v1/pods?watch=1&resourceVersion=20") as w:
                w.rest()
            self.assertEqual(r.process.wait(timeout=DEADLINE_S), code)
            r.codes = (code,)

    def test_ctl_says_what_it_does_and_fails_in_one_sentence(self):
        r = self.replay(counted(), plain=False)
        address = "https://127.0.0.1:%d" % r.port

        def ctl(*words):
            return subprocess.run([KUBETAPE, "ctl", *words], capture_output=True, text=True, timeout=60, check=False)

        done = ctl(address, "step", "2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"^paused at event 4 of 42 \(ADDED pods default/p1 rv 33\), \S+Z, speed 1, watches 0\n$")
        done = ctl("127.0.0.1:%d" % r.port, "status", "--json")
        self.assertEqual(json.loads(done.stdout)["seq"], 4)
        self.assertEqual(ctl(address, "seek", "rv:60").returncode, 0)
        self.assertEqual(json.loads(ctl(address, "status", "--json").stdout)["seq"], 22)
        self.assertEqual(ctl(address, "seek", "-5s").returncode, 0)
        self.assertEqual(json.loads(ctl(address, "status", "--json").stdout)["seq"], 41)
        for words, code in (([address, "fly"], 2), ([address, "step", "3x"], 2), ([address, "until-event", "nmae = 1"], 2), ([address, "seek"], 2), ([address], 2), (["nowhere", "status"], 2),
                ([address, "seek", "nowhere"], 2), (["127.0.0.1:1", "status"], 1)):
            done = ctl(*words)
            self.assertEqual(done.returncode, code, words)
            self.assertEqual(len(done.stderr.strip().split("\n")), 1)


    def ctl(self, r, *words, code=0):
        done = subprocess.run([KUBETAPE, "ctl", "127.0.0.1:%d" % r.port, *words], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def test_status_tells_the_event_at_which_the_replay_stands(self):
        r = self.replay(counted())
        self.post(r, "step")
        self.assertEqual(r.get("/kubetape/v1/status")[1]["event"], {"seq": 3, "type": "ADDED", "apigroup": "", "version": "v1",
            "resource": "pods", "namespace": "default", "name": "p0", "uid": "uid-p0", "rv": "31"})
        self.assertIn(" (DELETED pods default/p0 rv 34), ", self.ctl(r, "step", "2").stdout)
        self.assertIn(" (ADDED nodes n rv 6), ", self.ctl(r, "rewind").stdout)

    def test_ctl_waits_until_the_replay_has_paused_there(self):
        r = self.replay(counted(20, 0.02))
        self.assertRegex(self.ctl(r, "until", "seq:9", "--wait").stdout, r"^paused at event 9 of 29 \(DELETED pods default/p3 rv 40\), ")
        status = json.loads(self.ctl(r, "until-event", "name='p9' AND type='DELETED'", "--wait", "--json").stdout)
        self.assertEqual((status["state"], status["event"]["name"], status["stop"]), ("paused", "p9", {"number": 2, "state": "reached"}))

    def test_ctl_says_that_it_waited_in_vain(self):
        r = self.replay(counted(3, 0.01))
        done = self.ctl(r, "until-event", "name='nobody'", "--wait", code=3)
        self.assertEqual(done.stderr, "kubetape ctl: the tape ended before\n")
        self.assertRegex(done.stdout, r"^ended at event 6 of 6 ")
        r = self.replay(counted(3, 1000))
        self.assertEqual(self.ctl(r, "until", "end", "--wait", "--timeout", "50ms", code=3).stderr, "kubetape ctl: the replay did not get there in time\n")
        done = self.ctl(r, "until-event", "1 + abs(-9223372036854775808)", "--wait", code=3)
        self.assertRegex(done.stderr, "the replay paused where the expression cannot be computed: event 3")

    def test_ctl_that_waits_says_when_another_stop_takes_the_place_of_its_own(self):
        r = self.replay(counted(3, 1000))
        waits = subprocess.Popen([KUBETAPE, "ctl", "127.0.0.1:%d" % r.port, "until", "end", "--wait"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_for(lambda: r.get("/kubetape/v1/status")[1]["stop"]["number"], "the stop of the first")
        self.ctl(r, "until-event", "0")
        self.assertEqual(waits.communicate(timeout=DEADLINE_S)[1], "kubetape ctl: the replay was told to pause elsewhere\n")
        self.assertEqual(waits.returncode, 3)

    def test_a_step_over_a_stop_is_one_to_it(self):
        r = self.replay(counted(3, 1000))
        self.post(r, "run?until=4")
        self.assertEqual(self.post(r, "step?count=2")[1]["stop"], {"number": 1, "state": "reached"})

    def test_waiting_goes_with_until_alone(self):
        r = self.replay(counted())
        self.assertIn("'--wait' goes with until", self.ctl(r, "step", "--wait", code=2).stderr)
        self.assertEqual(r.get("/kubetape/v1/status")[1]["seq"], 2)


CHILD = """
import json, os, sys, urllib.request
server = json.load(open(os.environ["KUBECONFIG"]))["clusters"][0]["cluster"]["server"]
while True:
	with urllib.request.urlopen(server + "/api/v1/pods?watch=1&resourceVersion=20") as watch:
		print(len(watch.readlines()), flush=True)
	%s
"""


class CommandTest(Case):
    """When the tape has ended and a command has not."""

    def play(self, child, *options, code):
        command = [KUBETAPE, "replay", self.tape(counted(6, 0.01)), "--plain", *options, "--", *child]
        done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def test_exit_at_end_ends_the_watches_and_so_a_command_that_ends_with_them(self):
        child = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)" + CHILD % "sys.exit(4)"  # a slow machine may ask it to end
        done = self.play([sys.executable, "-c", child], "--speed", "max", "--exit-at-end", code=4)
        self.assertEqual(done.stdout.splitlines()[1:], ["8"])

    def test_exit_at_end_asks_a_command_that_goes_on_to_end(self):
        done = self.play([sys.executable, "-c", CHILD % "pass"], "--exit-at-end", code=0)
        self.assertEqual(done.stdout.splitlines()[1], "8")

    def test_a_command_that_is_asked_to_end_has_its_own_exit_code(self):
        own = "import signal; signal.signal(signal.SIGTERM, lambda *_: os._exit(9))"
        self.play([sys.executable, "-c", CHILD.replace("\n", "\n" + own + "\n", 2).replace(own, "", 1) % "pass"], "--exit-at-end", code=9)

    def test_a_command_that_is_at_work_after_it_was_asked_to_end_is_given_the_time_for_it(self):
        end = """
import os, signal, time
def end(*_):
	until = time.monotonic() + 10.5
	while time.monotonic() < until:
		pass
	os._exit(9)
signal.signal(signal.SIGTERM, end)
"""
        done = self.play([sys.executable, "-c", end + CHILD % "pass"], "--exit-at-end", code=9)
        self.assertNotIn("did not end within", done.stderr)

    def test_with_settle_the_end_is_when_the_clients_are_quiet(self):
        path = os.path.join(self.folder, "x.run")
        self.play([sys.executable, "-c", CHILD % "pass"], "--exit-at-end", "--settle", "200ms", "--run", path, code=0)
        with contextlib.closing(sqlite3.connect(path)) as db:
            self.assertEqual(db.execute("SELECT value FROM run WHERE name = 'ended_by'").fetchone(), ("quiet",))

    def test_clients_that_are_never_quiet_are_not_waited_for_without_end(self):
        busy = """
import itertools, json, os, urllib.request
server = json.load(open(os.environ["KUBECONFIG"]))["clusters"][0]["cluster"]["server"]
for i in itertools.count():
	body = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "x%d" % i}}
	urllib.request.urlopen(urllib.request.Request(server + "/api/v1/namespaces/x/configmaps", json.dumps(body).encode(),
		{"Content-Type": "application/json"})).read()
"""
        done = self.play([sys.executable, "-c", busy], "--wait-watchers", "0", "--settle", "30s", "--settle-limit", "300ms", code=3)
        self.assertIn("the clients were not quiet for 30.0s within 300ms (--settle-limit)", done.stderr)


class Reflector:
    """The list and watch loop of a client, as small as it can be."""

    def __init__(self, r):
        self.r, self.cache, self.rv, self.stream = r, {}, None, None
        self.list("0")

    def list(self, rv):
        status, answer = self.r.get("/api/v1/pods?resourceVersion=" + rv)
        if status == 504:
            status, answer = self.r.get("/api/v1/pods")
        assert status == 200, answer
        self.cache = {i["metadata"]["name"]: i["metadata"]["resourceVersion"] for i in answer["items"]}
        self.rv = answer["metadata"]["resourceVersion"]

    def settle(self, rv):
        """Follows the stream until it is at that version, listing again when it is told to."""
        deadline = time.monotonic() + DEADLINE_S
        while self.rv != rv or self.stream is None:
            assert time.monotonic() < deadline, (self.rv, rv)
            if self.stream is None:
                self.stream = self.r.watch("/api/v1/pods?watch=1&resourceVersion=" + self.rv)
                self.stream.connection.sock.settimeout(0.05)
                continue
            try:
                event = self.stream.next()
            except TimeoutError:
                self.close()  # the reader cannot go on after a timeout
                continue
            if event is None:
                self.close()
            elif event["type"] == "ERROR":
                self.close()
                self.list(self.rv)
            else:
                kind, name, self.rv = brief(event)
                if kind == "DELETED":
                    self.cache.pop(name)
                else:
                    self.cache[name] = self.rv

    def close(self):
        if self.stream:
            self.stream.close()
            self.stream = None


if __name__ == "__main__":
    unittest.main()
