"""Values of Secrets, and the recorder's own credentials, stay out of the tape."""

import base64
import json
import os
import unittest

from recording import RecordTest


def b64(text):
    return base64.b64encode(text.encode()).decode()


class Secrets(RecordTest):
    def setUp(self):
        super().setUp()
        self.secrets = self.api.add("secrets", "Secret")

    def objects(self, recording):
        return [json.loads(r["object"]) for r in recording.query(
            "SELECT CAST(object AS TEXT) AS object FROM events ORDER BY seq")]

    def raw_tape(self):
        """Everything in the folder of the tape, decompressed by dumping every event and row."""
        dump = b""
        for name in os.listdir(self.tape):
            with open(os.path.join(self.tape, name), "rb") as f:
                dump += f.read()
        return dump

    def test_values_become_digests_that_show_equality_and_change(self):
        self.secrets.put("s", type="Opaque", data={"a": b64("hunter2"), "b": b64("hunter2"), "c": b64("other")})
        recording = self.record("secrets").ready(1)
        self.secrets.put("s", type="Opaque", data={"a": b64("changed"), "b": b64("hunter2"), "c": b64("other")})
        recording.wait_events(2)
        before, after = (x["data"] for x in self.objects(recording))
        plain = base64.b64decode(before["a"]).decode()
        self.assertRegex(plain, r"^redacted:[0-9a-f]{32}$")
        self.assertEqual(before["a"], before["b"])
        self.assertNotEqual(before["a"], before["c"])
        self.assertNotEqual(before["a"], after["a"])
        self.assertEqual(before["b"], after["b"])
        text = json.dumps(self.objects(recording))
        self.assertNotIn("hunter2", text)
        self.assertNotIn(b64("hunter2"), text)
        self.assertIn('"type": "Opaque"', text)

    def test_the_applied_configuration_is_redacted_inside(self):
        applied = {"apiVersion": "v1", "kind": "Secret", "stringData": {"p": "hunter2"}, "data": {"q": b64("hunter2")}}
        self.secrets.put("s", metadata={"annotations": {
            "kubectl.kubernetes.io/last-applied-configuration": json.dumps(applied) + "\n", "other": "kept"}},
            data={"p": b64("hunter2")})
        recording = self.record("secrets").ready(1)
        stored = self.objects(recording)[0]
        annotations = stored["metadata"]["annotations"]
        inside = json.loads(annotations["kubectl.kubernetes.io/last-applied-configuration"])
        self.assertEqual(annotations["other"], "kept")
        self.assertEqual(inside["kind"], "Secret")
        self.assertEqual(base64.b64decode(stored["data"]["p"]).decode(), inside["stringData"]["p"])
        self.assertEqual(stored["data"]["p"], inside["data"]["q"])
        self.assertNotIn("hunter2", json.dumps(stored))

    def test_digests_are_the_same_in_the_next_run_and_differ_between_tapes(self):
        self.secrets.put("s", data={"p": b64("hunter2")})
        first = self.record("secrets").ready(1)
        first.stop()
        self.secrets.put("t", data={"p": b64("hunter2")})
        second = self.record("secrets").ready(1)
        second.wait_events(2)
        one, two = (x["data"]["p"] for x in self.objects(second))
        self.assertEqual(one, two)
        self.assertEqual(os.stat(self.tape + ".key").st_mode & 0o777, 0o600)
        second.stop()
        self.tape = os.path.join(self.folder, "y.tape")
        third = self.record("secrets").ready(1)
        self.assertNotEqual(self.objects(third)[0]["data"]["p"], one)

    def test_values_stay_when_they_are_to_be_kept(self):
        self.secrets.put("s", data={"p": b64("hunter2")})
        recording = self.record("secrets", "--secrets=keep").ready(1)
        self.assertEqual(self.objects(recording)[0]["data"]["p"], b64("hunter2"))
        self.assertFalse(os.path.exists(self.tape + ".key"))

    @unittest.skipUnless(os.geteuid() == 0, "giving a file away needs root")
    def test_a_key_that_another_user_made_is_refused(self):
        self.secrets.put("s", data={"p": b64("hunter2")})
        with open(self.tape + ".key", "wb") as f:
            f.write(b"k" * 32)
        os.chown(self.tape + ".key", 65534, -1)
        recording = self.record("secrets")
        self.assertEqual(recording.wait(), 1)
        self.assertIn(f"key file '{self.tape}.key' belongs to another user (65534)", recording.lines[-1])
        self.assertFalse(os.path.exists(self.tape))

    def test_no_key_is_made_without_secrets(self):
        self.record("pods").ready(1)
        self.assertFalse(os.path.exists(self.tape + ".key"))

    def test_the_token_is_nowhere_on_the_tape_nor_in_the_log(self):
        token = os.path.join(self.folder, "token")
        with open(token, "w", encoding="utf-8") as f:
            f.write("tok-3b1f\n")
        self.api.token = "tok-3b1f"
        recording = self.record("pods", "-v", "--token-file", token).ready(1)
        self.pods.put("a")
        recording.wait_events(1)
        recording.stop()
        self.assertNotIn(b"tok-3b1f", self.raw_tape())
        self.assertNotIn("tok-3b1f", recording.stderr)

    def test_the_tapes_files_are_for_their_owner_only(self):
        self.record("pods").ready(1).stop()
        for name in os.listdir(self.tape):
            self.assertEqual(os.stat(os.path.join(self.tape, name)).st_mode & 0o077, 0, name)


if __name__ == "__main__":
    unittest.main()
