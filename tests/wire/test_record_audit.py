"""record --audit-log: who made each change is known while it is recorded."""
import json
import os
import unittest
from datetime import datetime, timedelta, timezone

from recording import RecordTest, query
from waiting import wait_for


def line(number, verb, obj, user):
    now = datetime.now(timezone.utc)
    return json.dumps({
        "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "RequestResponse", "auditID": f"a{number}", "stage": "ResponseComplete",
        "requestURI": "/", "verb": verb, "user": {"username": user}, "sourceIPs": ["10.0.0.1"], "userAgent": "x/1",
        "objectRef": {"resource": "pods", "namespace": obj["metadata"]["namespace"], "name": obj["metadata"]["name"], "apiVersion": "v1"},
        "responseStatus": {"code": 200}, "responseObject": obj,
        "requestReceivedTimestamp": (now - timedelta(milliseconds=1)).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "stageTimestamp": now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")}) + "\n"


class Audited(RecordTest):
    def test_the_log_is_followed_and_joined_while_the_recording_goes_on(self):
        log = os.path.join(self.folder, "audit.log")
        with open(log, "w", encoding="utf-8") as f:
            f.write("what was there before is not read\n")
        recording = self.record("pods", "--audit-log", log).ready(1)
        self.pods.watching()
        for i, user in enumerate(("alice", "bob")):
            self.pods.put(f"web-{i}")
            recording.wait_events(i + 1)
            obj = json.loads(recording.query(f"SELECT object FROM events WHERE name = 'web-{i}'")[0]["object"])
            with open(log, "a", encoding="utf-8") as f:
                f.write(line(i, "create", obj, user))
            if i == 0:  # it is there before the recording ends
                wait_for(lambda: query(recording.tape, "SELECT user FROM audit") == [{"user": "alice"}], "alice in the table audit")
        self.assertEqual(recording.stop(), 0)
        self.assertIn("of 2 events it is known which request made them", recording.stderr)
        self.assertTrue(recording.lines[-1].startswith("recorded "))
        self.assertEqual(query(recording.tape, "SELECT name, user FROM audit ORDER BY seq"),
                         [{"name": "web-0", "user": "alice"}, {"name": "web-1", "user": "bob"}])


if __name__ == "__main__":
    unittest.main()
