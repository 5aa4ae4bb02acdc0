"""kubetape anonymize: nothing of what the tape named is left, and everything that matched still does."""
import json
import os
import re
import unittest

from tapes import NODES, PODS, TapeTest, event, pod

ROLLING = "tests/tapes/rolling-update.tape"
CRONS = {"group": "acme.example.com", "version": "v1", "resource": "widgets", "kind": "Widget", "namespaced": True}
UID = "0f8fad5b-d9cb-469f-a165-70867728950e"
SECRET_WORDS = ["payments", "acmecorp", "gandalf", "checkout", "hunter22", "mordor", "7f9c2ba4e8", "m\u00fcller", "123456789012"]


def payments(rv, **more):
    return pod("payments-7f9c2ba4e8-x2x9z", UID, rv, namespace="checkout", metadata={
        "labels": {"app": "payments", "acmecorp.io/team": "gandalf", "pod-template-hash": "7f9c2ba4e8"},
        "annotations": {"note": "{\"image\":\"registry.acmecorp.io/payments:v1.2\",\"text\":\"a\\nhunter22\\tb \\\"mordor\\\"\"}",
                        "mail": "gandalf@acmecorp.io", "url": "https://payments.checkout.svc.cluster.local:8443/gandalf%2Fmordor?x=hunter22",
                        "when": "2026-11-21T09:51:29Z", "size": "512Mi", "unit": "1h30m", "account": "123456789012", "ip": "10.20.30.40/16",
                        "v6": "fd00:10:244::7", "machine": "ip-10-20-30-40", "person": "M\u00fcller"},
        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "payments-7f9c2ba4e8", "uid": UID[::-1].replace("-", "0")[:8] + UID[8:]}]},
        spec={"nodeName": "mordor-1", "containers": [{"name": "payments", "image": "registry.acmecorp.io/payments:v1.2",
              "env": [{"name": "PASSWORD", "value": "hunter22"}], "ports": [{"containerPort": 8443}]}]},
        status={"phase": "Running", "podIP": "10.20.30.40", "hostIP": "127.0.0.1", "message": "Back-off restarting failed container payments",
                "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-21T09:51:29Z"}]}, **more)


class Anonymize(TapeTest):
    rows = [
        event(0, "ADDED", payments(10), origin="list"),
        event(0, "ADDED", {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "mordor-1", "uid": "n1", "resourceVersion": "11"}},
              stream=NODES, origin="list"),
        {"mark": "list", "stream": PODS, "rv": "11", "time_ns": 1700000000000000000},
        event(1, "MODIFIED", payments(12)),
        event(2, "ADDED", {"kind": "Widget", "apiVersion": "acme.example.com/v1", "metadata": {
            "name": "mordor", "namespace": "checkout", "uid": "w1", "resourceVersion": "13"}, "spec": {"gandalf": True}}, stream=CRONS),
        {"document": "/apis/acme.example.com/v1", "time_ns": 1700000000000000000, "http_status": 200, "content_type": "application/json",
         "body": json.dumps({"kind": "APIResourceList", "resources": [{"name": "widgets", "kind": "Widget", "shortNames": ["wdg"]}]})},
    ]

    def setUp(self):
        super().setUp()
        self.new = os.path.join(self.dir, "y.tape")

    def make(self, tape, new, *args):
        done = self.run_tape("anonymize", tape, "-o", new, *args)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.run_tape("verify", new).returncode, 0)
        return done.stdout

    def export(self, tape):
        done = self.run_tape("export", tape, "--table", "all")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def objects(self, tape):
        return [json.loads(line)["object"] for line in self.run_tape("export", tape).stdout.splitlines()]

    def report(self, path):
        with open(path, encoding="utf-8") as f:
            return {line.split("\t")[0]: line.split("\t")[1] for line in f}

    def test_no_word_of_the_old_tape_is_left_anywhere(self):
        self.make(self.tape, self.new)
        text = self.export(self.new).lower()
        for word in [*SECRET_WORDS, UID, "10.20.30.40", "10-20-30-40", "fd00:10:244", "widget", "acme"]:
            self.assertNotIn(word, text)
            self.assertNotIn(json.dumps(word)[1:-1], text)
        for name in os.listdir(self.new):
            with open(os.path.join(self.new, name), "rb") as f:
                stored = f.read().lower()
            for word in SECRET_WORDS:
                self.assertNotIn(word.encode(), stored)

    def test_what_is_no_name_stays(self):
        self.make(self.tape, self.new)
        old, new = self.objects(self.tape)[0], self.objects(self.new)[0]
        self.assertEqual(new["metadata"]["resourceVersion"], "10")
        self.assertEqual((new["status"]["phase"], new["status"]["conditions"], new["status"]["hostIP"]),
                         (old["status"]["phase"], old["status"]["conditions"], "127.0.0.1"))
        kept = sorted(v for v in new["metadata"]["annotations"].values() if v in old["metadata"]["annotations"].values())
        self.assertEqual(kept, ["1h30m", "2026-11-21T09:51:29Z", "512Mi"])
        self.assertTrue(new["status"]["message"].startswith("Back-off restarting failed container "))
        self.assertEqual(new["spec"]["containers"][0]["ports"], [{"containerPort": 8443}])
        times = "SELECT seq, time_ns, type, origin, rv FROM events ORDER BY seq"
        self.assertEqual(self.run_tape("query", self.tape, times).stdout, self.run_tape("query", self.new, times).stdout)

    def test_the_same_word_is_the_same_everywhere_and_forms_stay(self):
        self.make(self.tape, self.new)
        meta, spec, status = (self.objects(self.new)[0][k] for k in ("metadata", "spec", "status"))
        name = meta["labels"]["app"]
        self.assertEqual(len(name), len("payments"))
        self.assertRegex(meta["name"], f"^{name}-[0-9][a-f][0-9][a-f][0-9][a-f][a-f][0-9][a-f][0-9]-")
        self.assertEqual(meta["ownerReferences"][0]["name"], meta["name"].rsplit("-", 1)[0])
        self.assertEqual(spec["containers"][0]["name"], name)
        self.assertRegex(meta["uid"], "^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$")
        notes = sorted(meta["annotations"].values(), key=len)
        inner = json.loads(next(n for n in notes if n.startswith("{")))
        self.assertIn(spec["containers"][0]["image"], inner.values())
        self.assertRegex(" ".join(notes), f"https://{name}\\.{meta['namespace']}\\.svc\\.cluster\\.local:8443/[a-z]+%2F[a-z]+\\?")
        self.assertIn(status["podIP"] + "/16", notes)
        self.assertIn("ip-" + status["podIP"].replace(".", "-"), notes)
        nodes = [o for o in self.objects(self.new) if o["kind"] == "Node"]
        self.assertEqual(nodes[0]["metadata"]["name"], spec["nodeName"])

    def test_a_name_has_one_pseudonym_also_where_it_is_written_with_escapes(self):
        word = "M\u00fcller\U0001d4b3"
        inner = json.dumps({"who": word, "deep": json.dumps({"who": word})})
        rows = [event(0, "ADDED", pod("a", "u1", 10, metadata={"annotations": {"plain": word, "nested": inner, "other": "x\\u00zz tab\\u0009tab"}}))]
        old = os.path.join(self.dir, "old.tape")
        self.make_tape(old, rows)
        key = os.path.join(self.dir, "names")
        self.make(old, self.new, "--keep", "plain,nested,other,who,deep", "--report", key)
        notes = self.objects(self.new)[0]["metadata"]["annotations"]
        nested = json.loads(notes["nested"])
        self.assertEqual({nested["who"], json.loads(nested["deep"])["who"]}, {notes["plain"]})
        self.assertRegex(notes["plain"], "^[A-Za-z]+$")
        self.assertNotIn("ller", self.report(key))

    def test_custom_resources_are_found_under_their_new_names(self):
        report = os.path.join(self.dir, "report")
        self.make(self.tape, self.new, "--report", report)
        names = self.report(report)
        done = self.run_tape("get", self.new, names["widgets"], "-A", "-o", "name")
        self.assertEqual((done.returncode, done.stdout), (3, f"{names['widget']}.{names['acme']}.example.com/{names['mordor']}\n"))

    def test_the_whole_tape_is_the_old_one_under_other_names(self):
        """Of a real recording: every object is what the report makes of the old one; selectors choose the same ones."""
        report = os.path.join(self.dir, "report")
        self.make(ROLLING, self.new, "--report", report)
        names = self.report(report)
        left = set(re.findall(r"[A-Za-z][A-Za-z0-9]{3,}", self.run_tape("export", self.new, "--format", "csv").stdout.lower()))
        left -= {"stream", "seq"}
        self.assertFalse({w for w in names if len(w) > 3 and w.isalnum() and w[0].isalpha()} & left)
        label = f"app={names['web']}"
        for args in (["pods", "-A", "-l", "{}", "-o", "name"], ["deploy", "-A", "-o", "name"]):
            old = self.run_tape("get", ROLLING, *[a.format("app=web") for a in args]).stdout.split()
            new = self.run_tape("get", self.new, *[a.format(label) for a in args]).stdout.split()
            self.assertEqual(len(old), len(new))
            self.assertTrue(old)
        owned = ("SELECT count(*) AS n FROM objects('end') AS p JOIN objects('end') AS o ON o.uid = "
                 "jget(p.object, '$.metadata.ownerReferences[0].uid')")
        self.assertEqual(self.run_tape("query", ROLLING, owned).stdout, self.run_tape("query", self.new, owned).stdout)

    def test_a_key_makes_the_same_pseudonyms_again_and_another_one_others(self):
        key, made = os.path.join(self.dir, "key"), []
        for n, secret in enumerate(("0123456789abcdef", "0123456789abcdef", "0123456789abcdeg")):
            with open(key, "w", encoding="ascii") as f:
                f.write(secret)
            path = os.path.join(self.dir, f"k{n}.ktape")
            self.make(self.tape, path, "--key", key)
            made.append(self.run_tape("export", path).stdout)
        self.assertEqual(made[0], made[1])
        self.assertNotEqual(made[0], made[2])

    def test_words_may_be_kept(self):
        self.make(self.tape, self.new, "--keep", "payments,Widget", "--keep", "widgets acme")
        self.assertIn("\"payments-", self.export(self.new))
        self.assertNotIn("gandalf", self.export(self.new))

    def test_a_cut_is_anonymized_with_the_state_that_it_begins_with(self):
        part = os.path.join(self.dir, "part.tape")
        self.assertEqual(self.run_tape("cut", self.tape, "--from", "3", "-o", part).returncode, 0)
        self.make(part, self.new)
        done = self.run_tape("get", self.new, "pods", "-A", "-o", "json")
        self.assertNotIn("payments", done.stdout)
        self.assertEqual(len(json.loads(done.stdout)["items"]), 1)

    def test_bad_options_are_refused(self):
        empty = os.path.join(self.dir, "empty")
        with open(empty, "w", encoding="ascii"):
            pass
        for args, code, words in (([], 2, "no tape to make"), (["-o", self.tape], 2, "exists already"),
                                  (["-o", self.new, "--key", empty], 2, "expected at least 16")):
            self.assert_fails(self.run_tape("anonymize", self.tape, *args), code, words)
        self.assertEqual(sorted(os.listdir(self.dir)), ["empty", "x.tape"])


if __name__ == "__main__":
    unittest.main()
