"""record --pin-when: what lies around the moments that matter is kept, and a hook hears of them."""

import http.server
import json
import os
import re
import signal
import subprocess
import threading
import unittest

from recording import KUBETAPE, RecordTest, query
from waiting import PATIENCE_S, wait_for

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CRASHES = "resource='pods' AND jget(object,'$.status.reason')='CrashLoopBackOff'"


class Pins(RecordTest):
    def pins(self):
        folder = self.tape + ".pins"
        return sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".ktape")) if os.path.isdir(folder) else []

    def record_pins(self, *options):
        recording = self.record("pods", "--pin-when", CRASHES, *options).ready(1)
        self.pods.watching()
        return recording

    def crash(self, name, **more):
        self.pods.put(name, status={"reason": "CrashLoopBackOff"}, **more)

    def test_an_event_for_which_the_expression_holds_is_pinned_with_what_came_before(self):
        self.pods.put("quiet")
        recording = self.record_pins("--pin-after", "0s")
        self.pods.put("before")
        recording.wait_events(1, "name = 'before'")
        self.assertEqual(self.pins(), [])
        self.crash("bad")
        pin = wait_for(self.pins, "a pin")[0]
        wait_for(lambda: f"pinned '{pin}'" in recording.stderr, "the line that says so")
        names = [row["name"] for row in query(pin, "SELECT name FROM events WHERE type = 'ADDED' ORDER BY seq")]
        self.assertEqual(names, ["quiet", "before", "bad"])
        self.assertEqual(recording.stop(), 0)
        self.assertEqual(subprocess.run([KUBETAPE, "verify", pin], capture_output=True, timeout=PATIENCE_S, check=False).returncode, 0)

    def test_one_moment_is_answered_once_and_the_next_one_only_after_a_while(self):
        recording = self.record_pins("--pin-after", "0s", "--pin-every", "1h")
        for i in range(20):
            self.crash(f"bad-{i}")
        wait_for(lambda: "pinned '" in recording.stderr, "a pin")
        self.crash("late")
        recording.wait_events(1, "name = 'late'")
        self.assertEqual(recording.stop(), 0)
        self.assertEqual(len(self.pins()), 1)

    def test_a_recording_that_ends_before_the_time_is_over_pins_what_there_is(self):
        recording = self.record_pins("--pin-after", "1h")
        self.crash("bad")
        recording.wait_events(1, "name = 'bad'")
        self.assertEqual(recording.stop(), 0)
        self.assertEqual(query(self.pins()[0], "SELECT name FROM events"), [{"name": "bad"}])

    def test_a_first_list_is_no_moment(self):
        self.crash("long since")
        recording = self.record_pins("--pin-after", "0s")
        self.pods.put("now")
        recording.wait_events(1, "name = 'now'")
        self.assertEqual(recording.stop(), 0)
        self.assertEqual(self.pins(), [])

    def test_the_hook_hears_what_happened_and_where_the_pin_will_be(self):
        told = os.path.join(self.folder, "told")
        hook = f"env | grep ^KUBETAPE_ >{told}.part && mv {told}.part {told}"
        recording = self.record_pins("--pin-after", "0s", "--pin-hook", hook)
        self.crash("bad", namespace="shop")
        wait_for(lambda: os.path.exists(told), "the hook")
        with open(told, encoding="utf-8") as file:
            facts = dict(line.rstrip("\n").split("=", 1) for line in file)
        pin = wait_for(self.pins, "a pin")[0]
        self.assertEqual({name: facts["KUBETAPE_" + name] for name in ("TAPE", "PIN", "WHEN", "TYPE", "RESOURCE", "NAMESPACE", "NAME", "SEQ")},
                         {"TAPE": self.tape, "PIN": pin, "WHEN": CRASHES, "TYPE": "ADDED", "RESOURCE": "pods", "NAMESPACE": "shop",
                          "NAME": "bad", "SEQ": "1"})
        self.assertEqual(recording.stop(), 0)

    def test_each_expression_has_a_time_of_its_own_in_which_it_is_answered_once(self):
        told, done = (os.path.join(self.folder, name) for name in ("told", "done"))
        recording = self.record_pins("--pin-when", "name = 'other'", "--pin-after", "1h", "--pin-every", "1h",
                                     "--pin-hook", f"echo $KUBETAPE_NAME $KUBETAPE_PIN >>{told}; until test -e {done}; do sleep 0.05; done")
        heard = lambda: os.path.exists(told) and open(told, encoding="utf-8").read().splitlines()
        self.crash("bad-0")
        wait_for(heard, "the hook")
        self.crash("bad-1")
        self.pods.put("other")
        wait_for(lambda: ": name = 'other'" in recording.stderr, "the other event")
        self.assertEqual(len(heard()), 1)  # it waits until the first has ended
        open(done, "w", encoding="utf-8").close()
        wait_for(lambda: len(heard()) == 2, "the other hook")
        self.assertEqual(recording.stop(), 0)
        self.assertEqual([line.split() for line in heard()], [[name, self.pins()[0]] for name in ("bad-0", "other")])

    def test_what_a_pin_waits_for_is_not_removed(self):
        recording = self.record_pins("--pin-after", "1h", "--max-age", "1ms")
        sealed = lambda: sorted(name for name in os.listdir(self.tape) if name.startswith("seg-"))
        self.crash("bad")
        for i in range(4):
            self.pods.put(f"later-{i}")
            recording.wait_events(1, f"name = 'later-{i}'")
            recording.process.send_signal(signal.SIGUSR1)
            wait_for(lambda: len(sealed()) == i + 1, "the next segment")
        self.assertEqual(recording.stop(), 0)
        self.assertEqual(query(self.pins()[0], "SELECT name FROM events ORDER BY seq LIMIT 1"), [{"name": "bad"}])

    def test_a_pin_that_a_killed_recorder_was_to_make_is_made_by_the_next_one(self):
        recording = self.record_pins("--pin-after", "1h", "--max-age", "1ms")
        self.crash("bad")
        recording.wait_events(1, "name = 'bad'")
        recording.kill()
        again = self.record_pins("--pin-after", "0s", "--max-age", "1ms")
        pin = wait_for(self.pins, "the pin")[0]
        wait_for(lambda: f"pinned '{pin}'" in again.stderr, "the line that says so")
        self.assertEqual(query(pin, "SELECT name FROM events"), [{"name": "bad"}])
        self.assertEqual(again.stop(), 0)
        self.assertFalse(os.path.exists(self.tape + ".pin-pending"))

    def record_with_an_endless_hook(self, after):
        """The recording, and the file in which the hook has said its process group."""
        told, never = (os.path.join(self.folder, name) for name in ("told", "never"))
        os.mkfifo(never)
        recording = self.record_pins("--pin-after", after, "--pin-hook", f"trap '' TERM; echo $$ >{told}.part; mv {told}.part {told}; read x <>{never}")
        self.crash("bad")
        wait_for(lambda: os.path.exists(told), "the hook")
        return recording, told

    def test_a_hook_that_does_not_end_is_ended_with_the_recorder(self):
        recording, told = self.record_with_an_endless_hook("0s")
        self.assertEqual(recording.stop(), 0)
        with open(told, encoding="utf-8") as file:
            group = int(file.read())
        self.assertRaises(ProcessLookupError, os.killpg, group, 0)

    def test_a_pin_whose_time_comes_while_the_hook_is_waited_for_at_the_end_is_made(self):
        recording, _ = self.record_with_an_endless_hook("4s")
        self.assertEqual(recording.stop(), 0, recording.stderr)
        self.assertEqual(query(self.pins()[0], "SELECT name FROM events"), [{"name": "bad"}])

    def test_a_hook_that_fails_is_told_and_the_recording_goes_on(self):
        recording = self.record_pins("--pin-after", "0s", "--pin-hook", "exit 7")
        self.crash("bad")
        wait_for(lambda: "ended with exit code 7" in recording.stderr, "the warning")
        self.pods.put("later")
        recording.wait_events(1, "name = 'later'")
        self.assertEqual(recording.stop(), 0)

    def test_a_webhook_is_posted_the_same_facts_as_json(self):
        posted = []

        class Hook(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                posted.append((self.path, self.headers["Content-Type"], self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(500 if self.path == "/broken/secret" else 204)
                self.end_headers()

            def log_message(self, *_):
                pass

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hook) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            address = f"http://127.0.0.1:{server.server_port}"
            for path in ("/services/secret", "/broken/secret"):
                recording = self.record_pins("--pin-after", "0s", "--pin-every", "0s", "--pin-hook", address + path)
                self.crash(f"bad-{len(posted)}", namespace="shop")
                wait_for(lambda: "pinned '" in recording.stderr, "a pin")
                self.assertEqual(recording.stop(), 0, recording.stderr)
            server.shutdown()
        (path, kind, body), (_, _, other) = posted
        facts, second = json.loads(body), json.loads(other)
        self.assertEqual((path, kind), ("/services/secret", "application/json"))
        self.assertEqual({name: facts[name] for name in ("tape", "when", "type", "resource", "namespace", "name", "seq", "text")},
                         {"tape": self.tape, "when": CRASHES, "type": "ADDED", "resource": "pods", "namespace": "shop", "name": "bad-0",
                          "seq": 1, "text": f"pods shop/bad-0: {CRASHES}"})
        self.assertEqual(second["name"], "bad-1")
        self.assertIn(f"the hook at '{address}' was not told: it answered 500", recording.stderr)
        self.assertNotIn("secret", recording.stderr)

    def test_the_expressions_of_the_page_about_running_it_for_days_hold_for_what_they_are_about(self):
        with open(os.path.join(ROOT, "tools", "deploy", "README.md"), encoding="utf-8") as page:
            expressions = re.findall(r'--pin-when "(.*?)" \\\n', page.read(), re.DOTALL)
        self.assertEqual(len(expressions), 2)
        nodes = self.api.add("nodes", "Node", namespaced=False)
        for resource, expression, bad in (
                (self.pods, expressions[0], {"containerStatuses": [{"state": {"waiting": {"reason": "CrashLoopBackOff"}}}]}),
                (nodes, expressions[1], {"conditions": [{"type": "Ready", "status": "Unknown"}]})):
            with self.subTest(expression=expression):
                resource.put("it", status={"conditions": [{"type": "Ready", "status": "True"}]})
                recording = self.record("pods,nodes", "--pin-when", expression, "--pin-after", "0s").ready(2)
                resource.watching()
                resource.put("it", status=bad)
                wait_for(lambda: "pinned '" in recording.stderr, "a pin")
                self.assertEqual(recording.stop(), 0)

    def test_an_expression_that_cannot_be_computed_is_told_once(self):
        recording = self.record("pods", "--pin-when", "jget(name,'$.x')=1").ready(1)
        self.pods.watching()
        for name in ("a", "b", "c"):
            self.pods.put(name)
            recording.wait_events(1, f"name = '{name}'")
        self.assertEqual(recording.stop(), 0)
        self.assertEqual(recording.stderr.count("cannot be told of event"), 1)

    def test_a_column_that_is_misspelt_in_double_quotes_is_told(self):
        recording = self.record("pods", "--pin-when", '"naem" = 1').ready(1)
        self.assertIn("naem names no column of an event and is taken for a text", recording.stderr)
        self.assertEqual(recording.stop(), 0)

    def test_an_event_that_comes_when_the_end_of_a_pin_is_settled_is_on_the_next_one(self):
        told, folder = os.path.join(self.folder, "told"), self.tape + ".pins"
        open(folder, "w", encoding="utf-8").close()  # no pin can be made there
        recording = self.record_pins("--pin-when", "name = 'other'", "--pin-after", "0s", "--pin-hook", f"echo $KUBETAPE_NAME $KUBETAPE_PIN >>{told}")
        self.crash("bad")
        wait_for(lambda: "trying again in a minute" in recording.stderr, "a copy that fails")
        self.pods.put("other")
        heard = lambda: [line.split() for line in open(told, encoding="utf-8")]
        wait_for(lambda: os.path.exists(told) and len(heard()) == 2, "both hooks")
        os.remove(folder)
        self.assertEqual(recording.stop(), 0)
        self.assertEqual([[name, query(pin, f"SELECT name FROM events WHERE name = '{name}'")] for name, pin in heard()],
                         [[name, [{"name": name}]] for name in ("bad", "other")])
        self.assertEqual(sorted(pin for _, pin in heard()), sorted(self.pins()))

    def test_what_is_no_expression_is_refused_before_there_is_a_tape(self):
        for options, sentence in ((("--pin-when", "nonsense ="), "cannot pin when 'nonsense =': "), (("--pin-hook", "true"), "add '--pin-when SQL'"),
                (("--pin-when", "type = 'DELETED'", "--pin-before", "0s", "--pin-after", "0s"), "leave nothing to pin")):
            with self.subTest(options=options):
                recording = self.record("pods", *options)
                self.assertEqual(recording.wait(), 2)
                self.assertIn(sentence, recording.stderr)
                self.assertFalse(os.path.exists(self.tape))


if __name__ == "__main__":
    unittest.main()
