"""kubetape import: tapes of what other programs wrote."""
import gzip
import json
import os
import signal
import subprocess
import time
import unittest
import zipfile

import bounded
from tapes import KUBETAPE, TapeTest, pod

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

    def test_a_list_without_objects_is_of_a_resource_as_it_is_defined(self):
        empty = [{"kind": kind + "List", "apiVersion": version, "metadata": {"resourceVersion": "9"}, "items": []}
            for version, kind in (("v1", "Node"), ("v1", "Pod"), ("a.example/v1", "Wolf"), ("a.example/v1", "Sheep"))]
        crds = [{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": plural + ".a.example", "uid": plural},
            "spec": {"group": "a.example", "scope": scope, "names": {"kind": kind, "plural": plural}}}
            for kind, plural, scope in (("Wolf", "wolves", "Cluster"), ("Sheep", "sheep", "Namespaced"))]
        self.load("\n".join(json.dumps(d) for d in (*crds, *empty)))
        found = self.run_tape("query", self.tape, "--format", "csv", "SELECT resource, namespaced FROM streams WHERE resource NOT LIKE 'custom%' ORDER BY 1").stdout
        self.assertEqual(found.split()[1:], ["nodes,0", "pods,1", "sheep,1", "wolves,0"])

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
            done = self.run_tape("import", path, "-o", tape)
            self.assert_fails(done, 1, sentence)
            self.assertIn(f"; what came before it is in '{tape}': 1 event\n", done.stderr)
            self.assertEqual(json.loads(self.run_tape("info", "--json", tape).stdout)["events"], 1)
            self.assertNotIn("what came before", self.run_tape("import", path, "-o", tape + ".ktape").stderr)

    def test_nothing_to_import_is_a_failure_and_no_tape(self):
        nothing = "there is nothing to import in '"
        path = os.path.join(self.dir, "input")
        for text, sentence in (("", nothing), (" \n\n", nothing), ('{"a":1}\n{"kind":"Pod"}\n', "none of its 2 documents"), ("# note\n---\n", nothing),
                               ("[1]", "no JSON object"), ('{"type":"ADDED","obj', "document 1 of"), ("a: [1\nb: }\n", "not a YAML document")):
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            for name, stdin in ((path, None), ("-", text)):
                with self.subTest(text=text, name=name):
                    self.assert_fails(self.run_tape("import", name, "-o", self.tape, stdin=stdin), 1, sentence)
                    self.assert_fails(self.run_tape("import", name, "-o", self.tape, "--json", stdin=stdin), 1, sentence)
                    self.assertEqual(os.listdir(self.dir), ["input"])

    def test_nothing_to_import_leaves_a_tape_that_is_there_as_it_is(self):
        self.load(watch("ADDED", pod("web-0", "u1", 10)))
        self.assert_fails(self.run_tape("import", "-", "-o", self.tape, stdin=""), 1, "there is nothing to import in '-'")
        self.assertEqual(self.query("SELECT count(*) AS n FROM events"), [{"n": 1}])

    def test_an_import_of_a_file_that_is_stopped_leaves_no_part_that_could_pass_for_the_whole(self):
        path = os.path.join(self.dir, "input")
        with open(path, "w", encoding="utf-8") as f:
            f.write("".join(watch("ADDED", pod(f"web-{i}", f"u{i}", i + 1)) + "\n" for i in range(300000)))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            child = subprocess.Popen([KUBETAPE, "import", path, "-o", self.tape], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            while child.poll() is None and not os.path.exists(self.tape):
                time.sleep(0.001)
            child.send_signal(number)
            out, errors = child.communicate(timeout=60)
            self.assertEqual((child.returncode, out), (1, ""))
            self.assertRegex(errors, r"^kubetape import: the import of '.*' was stopped after \d+ documents\n$")
            self.assertEqual(os.listdir(self.dir), ["input"])

    def test_many_kinds_ids_and_paths_take_no_longer_each_than_few(self):
        """Two hundred thousand of each; with a walk through all before for each one they would take minutes."""
        many = range(200000 // bounded.BULK)
        stream = {"table": "streams", "version": "v1", "resource": "pods", "kind": "Pod", "namespaced": 1}
        kinds = [{"kind": f"K{i}", "apiVersion": f"g{i}.io/v1", "metadata": {"name": "a", "uid": f"u{i}", "resourceVersion": str(i + 1)}} for i in many]
        gaps = [dict(stream, stream=1)] + [{"table": "gaps", "gap": i + 1, "stream": 1, "reason": "reset", "how_ended": "relist", "begin_ns": i,
                                            "end_ns": i} for i in many]
        gaps += [{"table": "missed", "gap": i + 1, "change": "deleted", "version": "v1", "resource": "pods", "name": "m"} for i in reversed(many)]
        marks = [dict(stream, stream=i + 1, apigroup=f"g{i}") for i in many]
        marks += [{"table": "marks", "kind": "bookmark", "stream": i + 1, "after_seq": 0, "time_ns": i, "rv": "1"} for i in many]
        polls = [record(0, f"/api/v1/namespaces/n{i}/pods", pod_list(1)) for i in many]
        for name, rows in (("kinds", kinds), ("gaps", gaps), ("marks", marks), ("polls", polls)):
            with self.subTest(name=name):
                done = self.run_tape("import", "-", "-o", os.path.join(self.dir, name), stdin="".join(json.dumps(r) + "\n" for r in rows), timeout=100)
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_words_that_make_no_sense_are_refused(self):
        self.assert_fails(self.run_tape("import", "x"), 2, "'--output' is missing")
        self.assert_fails(self.run_tape("import", "-o", self.tape), 2, "expected one file")
        self.assert_fails(self.run_tape("import", self.dir + "/none", "-o", self.tape), 1, "No such file")

    def test_pipe_is_recorded_as_it_comes_until_a_signal(self):
        child = subprocess.Popen([KUBETAPE, "import", "-", "-o", self.tape], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True)
        child.stdin.write(watch("ADDED", pod("web-0", "u1", 10)) + "\n")
        child.stdin.flush()
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            done = self.run_tape("query", self.tape, "SELECT count(*) FROM events", "--format", "csv")
            if done.stdout.endswith("\n1\n"):
                break
        self.assertEqual(done.stdout, "count(*)\n1\n")
        child.send_signal(signal.SIGINT)
        self.assertEqual((child.wait(timeout=60), child.stdout.read()), (0, f"1 event and 0 other rows in '{self.tape}'\n"))
        child.stdin.close()
        child.stdout.close()
        late = self.query("SELECT time_ns FROM events")[0]["time_ns"] / 1e9
        self.assertLess(abs(time.time() - late), 120)


def record(second, path, body, **more):
    return dict({"id": f"r{second}", "captured_at": f"2026-04-09T10:00:{second:02}Z", "api_path": path, "http_method": "GET",
                 "response_code": 200, "response_body": body}, **more)


def pod_list(rv, *items):
    for item in items:
        del item["kind"], item["apiVersion"]
    return {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": str(rv)}, "items": list(items)}


PODS_PATH = "/api/v1/namespaces/shop/pods"
RECORDS = [
    record(0, "/version", {"gitVersion": "v1.30.2"}),
    record(1, PODS_PATH, pod_list(10, pod("a", "ua", 5), pod("b", "ub", 6), pod("c", "uc", 7))),
    record(1, PODS_PATH + "?as=Table", {"kind": "Table", "rows": []}),
    record(1, "/api/v1/nodes", {"kind": "Status", "code": 403}, response_code=403),
    record(31, PODS_PATH, pod_list(20, pod("a", "ua", 5), pod("b", "ub2", 15), pod("d", "ud", 16))),
    record(32, PODS_PATH + "/a/log?container=x", "text"),
    record(40, "/apis/apps/v1/deployments", {"kind": "Deployment", "apiVersion": "apps/v1", "metadata": {
        "name": "web", "namespace": "shop", "uid": "w", "resourceVersion": "21"}}, event_type="ADDED"),
    record(41, "/apis/apps/v1/deployments", {"kind": "Deployment", "apiVersion": "apps/v1", "metadata": {
        "name": "web", "namespace": "shop", "uid": "w", "resourceVersion": "22"}}, event_type="DELETED"),
]
RECORDED = [("ADDED", "list", "a", "5"), ("ADDED", "list", "b", "6"), ("ADDED", "list", "c", "7"), ("ADDED", "relist", "b", "15"),
            ("ADDED", "relist", "d", "16"), ("DELETED", "inferred", "c", "20"), ("ADDED", "watch", "web", "21"),
            ("DELETED", "watch", "web", "22")]
KWOK = """# made by hand
apiVersion: v1
kind: Pod
metadata:
  name: web-0
  namespace: shop
  uid: u1
  creationTimestamp: $(time-offset-nanosecond -5000000000)
spec:
  containers:
  - {name: a, image: "x:1", args: ["1"]}
  - {name: b, image: "y:1"}
  tolerations: [{key: k1}]
  finalizers: [one, two]
status:
  phase: Pending
  message: gone soon
  strategy: {type: A, rolling: 1}
---
apiVersion: action.kwok.x-k8s.io/v1alpha1
kind: ResourcePatch
resource: {resource: pods, version: v1}
target: {name: web-0, namespace: shop}
durationNanosecond: 1500000000
method: patch
template:
  spec:
    $setElementOrder/containers: [{name: c}, {name: a}]
    containers:
    - {name: c, image: "z:1"}
    - {name: a, args: ["2", "3"]}
    - {name: b, $patch: delete}
    tolerations: [{key: k2}]
    $deleteFromPrimitiveList/finalizers: [one]
    $setElementOrder/finalizers: [two]
  status: {message: null, phase: Running, strategy: {$retainKeys: [type], type: B}}
---
apiVersion: kwok.x-k8s.io/internal
kind: ResourcePatch
target: {type: {group: apps, resource: deployments, version: v1}, name: web, namespace: shop}
durationNanosecond: 2500000000
create: true
patch: {apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop, uid: d1}}
---
apiVersion: kwok.x-k8s.io/internal
kind: ResourcePatch
target: {type: {resource: pods, version: v1}, name: web-0, namespace: shop}
durationNanosecond: 3000000000
delete: true
---
apiVersion: action.kwok.x-k8s.io/v1alpha1
kind: ResourcePatch
resource: {resource: pods, version: v1}
target: {name: never-seen, namespace: shop}
durationNanosecond: 3000000000
method: delete
"""


class OtherRecorders(TapeTest):
    """Recordings of k8shark and kwok, made by hand in their forms."""

    def load(self, path, code=0):
        done = self.run_tape("import", path, "-o", self.tape)
        self.assertEqual((done.returncode, done.stderr), (code, ""))
        return done.stdout

    def archive(self, records, compression=zipfile.ZIP_STORED):
        path = os.path.join(self.dir, "x.kshrk")
        with zipfile.ZipFile(path, "w", compression) as z:
            z.writestr("k8shark-capture/metadata.json", "{}")
            for i, r in enumerate(records):
                data = r if isinstance(r, bytes) else json.dumps(r).encode()
                packed = subprocess.run(["zstd", "-q", "-c"], input=data, capture_output=True, check=True).stdout
                z.writestr(f"k8shark-capture/records/{i:016x}/0.json.zst", packed)
        return path

    def events(self):
        return [(r["type"], r["origin"], r["name"], r["rv"]) for r in
                self.query("SELECT type, origin, name, rv FROM events ORDER BY seq")]

    def test_an_archive_of_k8shark_keeps_its_lists_as_relists_with_gaps_between(self):
        out = self.load(self.archive(reversed(RECORDS)), 3)
        self.assertIn("1 document left out", out)  # the log
        self.assertEqual(self.events(), RECORDED)
        self.assertEqual(self.query("SELECT resource, namespace, reason, how_ended, begin, end, from_rv, to_rv, modified, added, "
                                    "deleted, recreated, unchanged FROM gaps"),
                         [{"resource": "pods", "namespace": "shop", "reason": "polled", "how_ended": "relist",
                           "begin": "2026-04-09T10:00:01.000000000Z", "end": "2026-04-09T10:00:31.000000000Z", "from_rv": "10",
                           "to_rv": "20", "modified": 0, "added": 1, "deleted": 1, "recreated": 1, "unchanged": 1}])
        self.assertEqual(self.query("SELECT change, name, uid, old_uid FROM missed ORDER BY name"), [
            {"change": "recreated", "name": "b", "uid": "ub2", "old_uid": "ub"},
            {"change": "deleted", "name": "c", "uid": "uc", "old_uid": None}, {"change": "added", "name": "d", "uid": "ud", "old_uid": None}])
        self.assertEqual(self.query("SELECT target, http_status FROM connections WHERE purpose = 'list'"),
                         [{"target": "/api/v1/nodes", "http_status": 403}])
        self.assertEqual(self.query("SELECT path, body FROM documents"), [{"path": "/version", "body": '{"gitVersion": "v1.30.2"}'}])
        self.assertEqual(self.query("SELECT name FROM objects"), [{"name": n} for n in "abd"])
        self.assertEqual(self.run_tape("verify", self.tape).returncode, 0)

    def test_records_of_k8shark_one_a_line_are_the_same(self):
        path = os.path.join(self.dir, "records.ndjson")
        with open(path, "w") as f:
            f.write("".join(json.dumps(r) + "\n" for r in RECORDS))
        self.load(path, 3)
        self.assertEqual(self.events(), RECORDED)
        self.assertIn("k8shark", self.query("SELECT content_type FROM connections WHERE purpose = 'import'")[0]["content_type"])

    def test_a_recording_of_kwok_is_played_through_with_made_up_resource_versions(self):
        path = os.path.join(self.dir, "x.yaml")
        with open(path, "w") as f:
            f.write(KWOK)
        self.assertIn("1 document left out", self.load(path, 3))
        self.assertEqual(self.events(), [("ADDED", "list", "web-0", "1"), ("MODIFIED", "watch", "web-0", "2"),
                                         ("ADDED", "watch", "web", "3"), ("DELETED", "watch", "web-0", "4")])
        rows = self.query("SELECT time_ns, object FROM events ORDER BY seq")
        self.assertEqual([r["time_ns"] - rows[0]["time_ns"] for r in rows], [0, 1500000000, 2500000000, 3000000000])
        after = json.loads(rows[1]["object"])
        self.assertEqual(after["spec"], {"containers": [{"name": "c", "image": "z:1"}, {"name": "a", "image": "x:1", "args": ["2", "3"]}],
                                         "tolerations": [{"key": "k2"}], "finalizers": ["two"]})
        self.assertEqual(after["status"], {"phase": "Running", "strategy": {"type": "B"}})
        self.assertEqual(self.query("SELECT to_ns(jget(object, '$.metadata.creationTimestamp')) - time_ns AS ns FROM events WHERE seq = 1"),
                         [{"ns": -5000000000}])
        self.assertIn("made up", self.query("SELECT content_type FROM connections")[0]["content_type"])

    def test_an_archive_that_names_one_record_again_and_again_is_refused(self):
        whole = open(self.archive(RECORDS[:2]), "rb").read()
        end = whole.index(b"PK\x05\x06")
        directory = int.from_bytes(whole[end + 16:end + 20], "little")
        last = whole.rindex(b"PK\x01\x02", 0, end)
        entries = whole[directory:end] + 2000 * whole[last:end]
        count = (3 + 2000).to_bytes(2, "little")
        path = os.path.join(self.dir, "again.kshrk")
        with open(path, "wb") as f:
            f.write(whole[:directory] + entries + whole[end:end + 8] + 2 * count + len(entries).to_bytes(4, "little") + whole[end + 16:])
        self.assert_fails(self.run_tape("import", path, "-o", self.tape), 1, "two entries overlap")
        self.assertFalse(os.path.exists(self.tape))

    def test_a_time_that_stands_behind_a_long_body_is_found(self):
        late = [{"api_path": r["api_path"], "response_code": r["response_code"], "note": "x" * 100000, "response_body": r["response_body"],
                 **{k: v for k, v in r.items() if k in ("event_type", "captured_at")}} for r in RECORDS]
        self.load(self.archive(reversed(late)), 3)
        self.assertEqual(self.events(), RECORDED)

    def test_what_cannot_be_read_is_one_sentence(self):
        whole = open(self.archive(RECORDS), "rb").read()
        bomb = open(self.archive([b"{" + b" " * (300 << 20)]), "rb").read()
        deflated = open(self.archive(RECORDS, zipfile.ZIP_DEFLATED), "rb").read()
        for data, sentence in [(whole[:-30], "it has no directory"), (whole[:700] + whole[800:], "is no whole archive"),
                               (bomb, "more than 268435456 bytes"), (deflated, "only stored ones can be read"),
                               (b"age-encryption.org/v1\n-> X25519", "is encrypted"), (gzip.compress(b"{}\n"), "is compressed"),
                               (b"a: [1\nb: }\n", "not a YAML document"), (b"a: " + b"[" * 3000000, "brackets are open"), (b"PK\x05\x06", "it has no directory")]:
            path = os.path.join(self.dir, "bad")
            with open(path, "wb") as f:
                f.write(data)
            self.assert_fails(self.run_tape("import", path, "-o", os.path.join(self.dir, "bad.tape")), 2 if b"age" in data[:3]
                              or data[:2] == b"\x1f\x8b" or data == deflated else 1, sentence)


if __name__ == "__main__":
    unittest.main()
