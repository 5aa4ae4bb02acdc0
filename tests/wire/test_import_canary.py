"""No part of a Secret's value reaches a tape that `kubetape import` makes, whatever form it comes in."""

import json
import os
import subprocess
import unittest

import canary
from replays import KUBETAPE, Case

SECRET = canary.secret()
BARE = {k: v for k, v in SECRET.items() if k not in ("kind", "apiVersion")}
WITHOUT_RV = {**SECRET, "metadata": {k: v for k, v in SECRET["metadata"].items() if k != "resourceVersion"}}
LIST = {"kind": "SecretList", "apiVersion": "v1", "metadata": {"resourceVersion": "9"}, "items": [BARE]}
ROW = {"apigroup": "", "version": "v1", "resource": "secrets", "kind": "Secret"}
RECORD = {"captured_at": "2026-01-01T10:00:00Z", "api_path": "/api/v1/namespaces/default/secrets", "response_code": 200}
FORMS = {
    "watch events": [{"type": "ADDED", "object": SECRET}, {"type": "BOOKMARK", "object": SECRET}, {"type": "ERROR", "object": SECRET}],
    "objects": [SECRET, {**SECRET, "data": {"p": canary.VALUE}}],
    "a list": [LIST],
    "a list of anything": [{"kind": "List", "apiVersion": "v1", "items": [SECRET]}],
    "rows of events": [{"seq": 1, "type": "ADDED", "origin": "watch", "time_ns": 5, **ROW, "object": SECRET},
        {"seq": 2, "type": "ADDED", "origin": "watch", "time_ns": 6, **ROW, "object": {**BARE, "kind": "Table"}}],
    "rows of other tables": [{"table": "streams", "stream": 1, **ROW},
        {"table": "marks", "kind": "bookmark", "stream": 1, "time_ns": 5, "object": SECRET},
        {"table": "marks", "kind": "error", "stream": 1, "time_ns": 5, "object": SECRET},
        {"table": "connections", "connection": 1, "stream": 1, "purpose": "watch", "begin_ns": 5, "end_reason": "cut",
            "tail": json.dumps(SECRET)[:-30], "error_status": json.dumps(SECRET)}],
    "records of k8shark": [{**RECORD, "response_body": LIST}, {**RECORD, "response_body": {**LIST, "items": [{**BARE, "x": canary.VALUE}]}},
        {**RECORD, "event_type": "MODIFIED", "response_body": SECRET}, {**RECORD, "response_body": {**LIST, "items": []}}],
    "patches of kwok": [WITHOUT_RV, {"kind": "ResourcePatch", "apiVersion": "action.kwok.x-k8s.io/v1alpha1", "method": "patch",
        "resource": {"group": "", "version": "v1", "resource": "secrets"}, "target": {"name": "s", "namespace": "default"},
        "durationNanosecond": 5, "template": {"stringData": {"new": canary.VALUE}}}],
}


class Canary(Case):
    def load(self, documents, *options):
        path = os.path.join(self.folder, "x.tape")
        text = "".join(json.dumps(d, separators=(",", ":")) + "\n" for d in documents)
        done = subprocess.run([KUBETAPE, "import", "-", "-o", path, *options], input=text, capture_output=True, text=True,
            timeout=60, check=False)
        self.assertIn(done.returncode, (0, 3), done.stderr)
        return path, done.stdout + done.stderr

    def query(self, tape, sql):
        return json.loads(canary.run("query", tape, sql, "--format", "json") or b"[]")

    def test_values_stay_out_of_the_tape_in_every_form(self):
        for what, documents in FORMS.items():
            with self.subTest(what):
                tape, said = self.load(documents)
                canary.assert_nowhere(self, self.folder, [tape], texts=[said])
                kept = self.query(tape, "SELECT (SELECT count(*) FROM events) + (SELECT count(*) FROM marks) AS n")
                self.assertGreater(kept[0]["n"], 0)
                os.rename(tape, os.path.join(self.folder, what))

    def test_yaml_is_json_too(self):
        path = os.path.join(self.folder, "x.tape")
        text = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, uid: u, resourceVersion: '5'}\nstringData:\n  p: %s\n" % json.dumps(canary.VALUE)
        subprocess.run([KUBETAPE, "import", "-", "-o", path], input=text, text=True, timeout=60, check=True, stdout=subprocess.DEVNULL)
        canary.assert_nowhere(self, self.folder, [path])
        self.assertEqual(self.query(path, "SELECT name FROM events"), [{"name": "s"}])

    def test_values_are_kept_if_that_is_asked_for(self):
        tape, _ = self.load(FORMS["objects"], "--secrets=keep")
        self.assertIn("object", self.query(tape, "SELECT object FROM events")[0])
        self.assertIn(canary.b64(canary.VALUE), str(self.query(tape, "SELECT object FROM events")))
        self.assertFalse(os.path.exists(tape + ".key"))

    def test_digests_of_an_exported_tape_come_back_as_they_were(self):
        first, _ = self.load(FORMS["watch events"] + FORMS["rows of other tables"][:1] + FORMS["rows of other tables"][3:])
        exported = canary.run("export", first, "--table", "all")
        os.rename(first, first + ".first")
        second, _ = self.load([json.loads(line) for line in exported.splitlines()])
        self.assertEqual(canary.run("export", second, "--table", "all"), exported)

    def test_no_key_is_made_for_what_has_no_secrets(self):
        pod = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p", "uid": "u", "resourceVersion": "5"}}
        tape, _ = self.load([pod])
        self.assertFalse(os.path.exists(tape + ".key"))


if __name__ == "__main__":
    unittest.main()
