"""kubetape import: tapes of what other programs wrote."""
import json
import os
import signal
import subprocess
import time
import unittest

from tapes import KUBETAPE, TapeTest, event, pod

BUNDLED = "tests/tapes/rolling-update.tape"


def watch(type_, obj):
    return json.dumps({"type": type_, "object": obj}, separators=(",", ":"))


class Import(TapeTest):
    def load(self, text, *args, code=0):
        path = os.path.join(self.dir, "input")
        with open(path, "w") as f:
            f.write(text)
        done = self.run_tape("import", path, "-o", self.tape, *args)
        self.assertEqual((done.returncode, done.stderr), (code, ""))
        return done.stdout

    def test_exported_tape_comes_back_as_it_was(self):
        exported = self.run_tape("export", BUNDLED, "--table", "all").stdout
        self.load(exported)
        self.assertEqual(self.run_tape("export", self.tape, "--table", "all").stdout, exported)

    def test_exported_events_alone_make_a_tape_too(self):
        self.load(self.run_tape("export", BUNDLED).stdout)
        self.assertEqual(self.run_tape("export", self.tape).stdout, self.run_tape("export", BUNDLED).stdout)

    def test_watch_events_keep_their_bytes_and_bookmarks(self):
        strange = '{"kind":"Pod","apiVersion":"v1","metadata":{"name":"x","uid":"u9","resourceVersion":"7"},"n":1.50e0}'
        self.load("\n".join([
            watch("ADDED", pod("web-0", "u1", 10, metadata={"creationTimestamp": "2026-01-01T10:00:00Z"})),
            watch("DELETED", pod("web-0", "u1", 12)),
            '{"type":"ADDED","object":' + strange + "}",
            watch("BOOKMARK", {"kind": "Pod", "apiVersion": "v1", "metadata": {"resourceVersion": "15"}})]))
        rows = self.query("SELECT type, origin, resource, name, rv, time, object FROM events ORDER BY seq")
        self.assertEqual([(r["type"], r["origin"], r["resource"], r["rv"]) for r in rows],
                         [("ADDED", "watch", "pods", "10"), ("DELETED", "watch", "pods", "12"),
                          ("ADDED", "watch", "pods", "7")])
        self.assertEqual([r["time"] for r in rows], ["2026-01-01T10:00:00.000000000Z"] * 3)
        self.assertEqual(rows[2]["object"], strange)
        self.assertEqual(self.query("SELECT kind, rv, resource FROM bookmarks"),
                         [{"kind": "bookmark", "rv": "15", "resource": "pods"}])
        self.assertEqual(self.query("SELECT purpose, events, content_type FROM connections"),
                         [{"purpose": "import", "events": 3, "content_type": "times taken from the objects"}])

    def test_indented_objects_of_kubectl_become_versions(self):
        versions = [pod("web-0", "u1", rv, note="a  b\n\"{") for rv in (10, 11)] + [pod("web-1", "u2", 12)]
        self.load("".join(json.dumps(v, indent=4) + "\n" for v in versions))
        rows = self.query("SELECT type, name, object FROM events ORDER BY seq")
        self.assertEqual([(r["type"], r["name"]) for r in rows],
                         [("ADDED", "web-0"), ("MODIFIED", "web-0"), ("ADDED", "web-1")])
        self.assertEqual(rows[0]["object"], json.dumps(versions[0], separators=(",", ":")))

    def test_lists_are_first_lists_with_typed_items(self):
        item = {"metadata": {"name": "web", "namespace": "shop", "uid": "d1", "resourceVersion": "5"}}
        self.load(json.dumps({"kind": "IngressList", "apiVersion": "networking.k8s.io/v1",
                              "metadata": {"resourceVersion": "9"}, "items": [item]}, separators=(",", ":")))
        rows = self.query("SELECT origin, apigroup, version, resource, flags, object FROM events")
        typed = '{"kind":"Ingress","apiVersion":"networking.k8s.io/v1",' + json.dumps(item, separators=(",", ":"))[1:]
        self.assertEqual(rows, [{"origin": "list", "apigroup": "networking.k8s.io", "version": "v1",
                                 "resource": "ingresses", "flags": 1, "object": typed}])
        self.assertEqual(self.query("SELECT kind, rv FROM marks"), [{"kind": "list", "rv": "9"}])

    def test_what_is_no_object_is_counted_and_exit_3(self):
        out = self.load('{"a":1}\n' + watch("ADDED", pod("web-0", "u1", 10)) + '\n{"kind":"Pod"}\n', "--json", code=3)
        self.assertEqual(json.loads(out), {"events": 1, "marks": 0, "rows": 0, "left_out": 2})

    def test_broken_input_is_a_sentence_and_what_came_before_stays(self):
        path = os.path.join(self.dir, "input")
        good = watch("ADDED", pod("web-0", "u1", 10)) + "\n"
        for number, (bad, sentence) in enumerate([('{"type":"ADDED","obj', "document 2 of"), ("hello\n", "no JSON object"),
                                                  ("[1]", "no JSON object"), ("}", "no JSON object")]):
            with open(path, "w") as f:
                f.write(good + bad)
            tape = os.path.join(self.dir, f"{number}.tape")
            self.assert_fails(self.run_tape("import", path, "-o", tape), 1, sentence)
            self.assertEqual(json.loads(self.run_tape("info", "--json", tape).stdout)["events"], 1)

    def test_usage(self):
        self.assert_fails(self.run_tape("import", "x"), 2, "'--output' is missing")
        self.assert_fails(self.run_tape("import", "-o", self.tape), 2, "expected one file")
        self.assert_fails(self.run_tape("import", self.dir + "/none", "-o", self.tape), 1, "No such file")

    def test_pipe_is_recorded_as_it_comes_until_a_signal(self):
        child = subprocess.Popen([KUBETAPE, "import", "-", "-o", self.tape], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True)
        child.stdin.write(watch("ADDED", pod("web-0", "u1", 10)) + "\n")
        child.stdin.flush()
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            done = self.run_tape("query", self.tape, "SELECT count(*) FROM events", "--format", "csv")
            if done.stdout.endswith("\n1\n"):
                break
        self.assertEqual(done.stdout, "count(*)\n1\n")
        child.send_signal(signal.SIGINT)
        self.assertEqual((child.wait(timeout=30), child.stdout.read()), (0, f"1 events and 0 other rows in '{self.tape}'\n"))
        child.stdin.close()
        child.stdout.close()
        late = self.query("SELECT time_ns FROM events")[0]["time_ns"] / 1e9
        self.assertLess(abs(time.time() - late), 120)


if __name__ == "__main__":
    unittest.main()
