"""record --logs: the last lines of containers that die are on the tape, in SQL, and answer `kubectl logs` on a replay."""

import http.client
import os
import signal
import subprocess
import time
import urllib.parse

from recording import KUBETAPE, RecordTest, query
from replays import Replay
from waiting import PATIENCE_S, wait_for

PATH = "/api/v1/namespaces/shop/pods/web/log"


def stamp(at, digits=9):
    whole, fraction = divmod(round(at, 3), 1)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole)) + (f".{round(fraction * 1000):03}000000" if digits else "") + "Z"


def lines(texts, at=None):
    """As the kubelet sends them, with the time of each."""
    at = at or int(time.time()) - 1
    return "".join(f"{stamp(at + i / 1000)} {text}\n" for i, text in enumerate(texts)).encode()


def dead(identity, code=1, at=None):
    return {"terminated": {"exitCode": code, "containerID": identity, "finishedAt": stamp(at or int(time.time()), 0)}}


def status(name="app", restarts=0, state=None, last=None, identity=""):
    return {"name": name, "restartCount": restarts, "containerID": identity, "state": state or {"running": {}},
            "lastState": last or {}}


class Logs(RecordTest):
    def setUp(self):
        super().setUp()
        self.asked = []
        self.answers = []  # bodies; what is no bytes is a handler
        self.api.handlers[PATH] = self.answer

    def answer(self, x):
        self.asked.append(x.request.query)
        answer = self.answers.pop(0)
        if isinstance(answer, bytes):
            x.body(answer, content_type="text/plain")
        else:
            answer(x)

    @staticmethod
    def half(x):
        x.raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 99\r\n\r\nha")
        x.cut()

    def start(self, *options):
        recording = self.record("pods", "--logs", *options).ready(1)
        self.pods.watching()
        return recording

    def show(self, *statuses, policy="Always", kind="containerStatuses", **metadata):
        self.pods.put("web", "shop", spec={"restartPolicy": policy, "containers": [{"name": "app"}]},
                      status={kind: list(statuses)}, metadata=metadata)

    def logs(self, columns="*", tape=None):
        return query(tape or self.tape, f"SELECT {columns} FROM logs ORDER BY container_id, line")

    def wait_logs(self, count):
        return wait_for(lambda: (rows := self.logs()) and len(rows) >= count and rows, f"{count} rows of logs")

    def run_tool(self, *arguments, code=0):
        done = subprocess.run([KUBETAPE, *arguments], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout

    def test_the_last_lines_of_a_container_that_dies_are_fetched_once_and_are_rows(self):
        recording = self.start()
        self.answers = [lines(["starting", "panic: <no> config"])]
        self.show(status(state=dead("cri://1"), identity="cri://1"))
        rows = self.wait_logs(2)
        self.show(status(restarts=1, last=dead("cri://1"), identity="cri://2"))
        recording.wait_events(2)
        self.assertEqual(recording.stop(), 0)
        self.assertEqual(self.asked, [{"container": "app", "tailLines": "101", "timestamps": "true"}])
        self.assertEqual([(r["namespace"], r["pod"], r["container"], r["restart"], r["line"], r["text"], r["truncated"], r["reason"])
                          for r in rows], [("shop", "web", "app", 0, 1, "starting", 0, None), ("shop", "web", "app", 0, 2, "panic: <no> config", 0, None)])
        self.assertRegex(rows[1]["time"], r"\.001\d+Z$")
        self.assertEqual([r["purpose"] for r in recording.query("SELECT purpose FROM connections WHERE target LIKE '%/log?%'")], ["log"])
        self.run_tool("verify", self.tape)

    def test_a_container_that_has_begun_again_is_asked_for_its_life_before(self):
        recording = self.start("--log-lines", "2")
        self.answers = [lines(["a", "b", "c"])]
        self.show(status(restarts=3, last=dead("cri://3"), identity="cri://4"))
        rows = self.wait_logs(2)
        self.assertEqual(recording.stop(), 0)
        self.assertEqual((self.asked[0]["previous"], self.asked[0]["tailLines"]), ("true", "3"))
        self.assertEqual([(r["restart"], r["text"], r["truncated"]) for r in rows], [(2, "b", 1), (2, "c", 0)])

    def test_an_answer_of_the_next_life_is_not_taken_for_that_of_the_dead_one(self):
        recording = self.start()
        died = int(time.time()) - 5
        self.answers = [lines(["I am new"], died + 2), lines(["I died"], died)]
        self.show(status(state=dead("cri://1", at=died), identity="cri://1"))
        self.assertEqual([r["text"] for r in self.wait_logs(1)], ["I died"])
        self.assertEqual(recording.stop(), 0)
        self.assertEqual([q.get("previous") for q in self.asked], [None, "true"])

    def test_an_answer_of_a_later_life_that_has_ended_too_is_not_taken_for_it_either(self):
        recording = self.start()
        died = int(time.time()) - 9
        self.answers = [lines(["I am new"], died + 6), lines(["I died later"], died + 3)]
        self.show(status(state=dead("cri://1", at=died), identity="cri://1"))
        row = self.wait_logs(1)[0]
        self.assertEqual((row["text"], row["reason"]), (None, "the container had begun and ended once more before it was fetched"))
        self.assertEqual(recording.stop(), 0)

    def test_of_more_than_a_megabyte_the_end_is_kept(self):
        recording = self.start()
        self.answers = [lines([f"{i} " + "x" * 15000 for i in range(101)])]
        self.show(status(state=dead("cri://1"), identity="cri://1"))
        wait_for(self.logs, "the log")
        rows = self.logs("substr(text, 1, 4) AS text, truncated")
        self.assertEqual(rows[-1], {"text": "100 ", "truncated": 0})
        self.assertEqual((rows[0]["truncated"], len(rows)), (1, 4))
        self.assertEqual(recording.stop(), 0)

    def test_whole_lines_of_an_answer_that_breaks_off_are_kept(self):
        def broken(x):
            body = lines(["first", "second"])
            x.raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 999\r\n\r\n" + body + body[:9])
            x.cut()

        recording = self.start()
        self.answers = [broken]
        self.show(status(state=dead("cri://1"), identity="cri://1"))
        wait_for(self.logs, "the log")
        self.assertEqual(self.logs("text, truncated"), [{"text": "first", "truncated": 0}, {"text": "second", "truncated": 1}])
        self.assertEqual(recording.stop(), 0)

    def test_what_cannot_be_fetched_is_a_row_with_the_reason(self):
        recording = self.start()
        self.answers = [lambda x: x.status(403, "Forbidden", "pods \"web\" is forbidden: no"), self.half, b""]
        for i in range(3):
            self.show(status(restarts=i, state=dead(f"cri://{i}")))
            self.wait_logs(i + 1)
        self.show(status(restarts=3, state=dead("")))
        rows = self.wait_logs(4)
        self.assertEqual(recording.stop(), 0)
        self.assertTrue(all(r["text"] is None and r["line"] is None for r in rows))
        reasons = [r["reason"] for r in rows]
        self.assertEqual(reasons[0], "the cluster gave that container no id")
        self.assertEqual(reasons[1], "pods \"web\" is forbidden: no")
        self.assertIn("the answer broke off", reasons[2])
        self.assertEqual(reasons[3], "the container wrote nothing")

    def test_what_ends_as_it_should_and_what_was_dead_before_is_left_alone(self):
        self.show(status(last=dead("cri://old")))
        recording = self.start()
        self.show(status(last=dead("cri://old"), restarts=1))
        self.show(status(state=dead("cri://init", code=0)), kind="initContainerStatuses")
        self.show(status(state=dead("cri://job", code=0)), policy="Never")
        self.show(status(state=dead("cri://bye", code=0)), deletionTimestamp=stamp(time.time(), 0))
        self.show(status(last=dead("cri://long-ago", at=time.time() - 3600)))
        recording.wait_events(6)
        self.assertEqual(recording.stop(), 0)
        self.assertEqual((self.asked, self.logs()), ([], []))

    def test_without_the_option_nothing_is_asked_for(self):
        recording = self.record("pods").ready(1)
        self.pods.watching()
        self.show(status(state=dead("cri://1")))
        recording.wait_events(1)
        self.assertEqual(recording.stop(), 0)
        self.assertEqual(self.asked, [])

    def test_logs_without_pods_are_doubted(self):
        self.api.add("nodes", "Node", namespaced=False)
        recording = self.record("nodes", "--logs").ready(1)
        wait_for(lambda: "no pods are recorded" in recording.stderr, "the warning")
        self.assertEqual(recording.stop(), 0)

    def test_logs_stay_in_their_segment_and_go_where_their_pods_go(self):
        recording = self.start()
        self.answers = [lines(["the end of web-0.example"])]
        self.show(status(state=dead("cri://1")))
        self.wait_logs(1)
        recording.process.send_signal(signal.SIGUSR1)
        wait_for(lambda: os.path.exists(os.path.join(self.tape, "seg-000001.db")), "a sealed segment")
        self.pods.put("other")
        recording.wait_events(2)
        self.assertEqual(recording.stop(), 0)
        self.assertEqual(len(self.logs()), 1)
        self.assertEqual(recording.query("SELECT count(*) AS n FROM documents WHERE path LIKE '%/log'"), [{"n": 1}])

        def remade(name, command, *options):
            to = os.path.join(self.folder, name)
            self.run_tool(command, self.tape, *options, "-o", to)
            self.run_tool("verify", to)
            return [r["text"] for r in self.logs(tape=to)]

        self.assertEqual(remade("all.ktape", "cut"), ["the end of web-0.example"])
        self.assertEqual(remade("shop.tape", "cut", "-n", "shop"), ["the end of web-0.example"])
        self.assertEqual(remade("default.tape", "cut", "-n", "default"), [])
        self.assertEqual(remade("where.tape", "cut", "--where", "type = 'ADDED'"), [])
        self.assertEqual(remade("nameless.tape", "anonymize"), [])

    def test_kubectl_logs_gets_them_from_a_replay(self):
        recording = self.start()
        self.answers = [lines(["one", "two", "three"], 1_800_000_000)]
        self.show(status(restarts=1, last=dead("cri://1", at=1_800_000_001), identity="cri://2"))
        self.wait_logs(3)
        self.assertEqual(recording.stop(), 0)
        with Replay(self.tape, self.folder, "--from", "end") as replay:
            def get(**parameters):
                code, headers, body = replay.request("GET", f"{PATH}?{urllib.parse.urlencode(parameters)}")
                return code, body.decode(), dict(headers).get("Content-Type")
            self.assertEqual(get(previous="true"), (200, "one\ntwo\nthree\n", "text/plain"))
            self.assertEqual(get(previous="true", tailLines=1, timestamps="true")[1], "2027-01-15T08:00:00.002000000Z three\n")
            self.assertEqual(get(previous="true", sinceTime="2027-01-15T08:00:00.001Z")[1], "two\nthree\n")
            self.assertEqual(get(previous="true", limitBytes=5)[1], "one\nt")
            code, body, _ = get(container="app")
            self.assertEqual(code, 400)
            self.assertIn("still running", body)
            self.assertIn("is not valid for pod web", get(container="nobody")[1])
            self.assertEqual(replay.request("GET", PATH.replace("web", "nobody"))[0], http.client.NOT_FOUND)
