"""kubetape gaps on a tape that was recorded through a real gap."""

import json
import subprocess

from recording import KUBETAPE, RecordTest
from waiting import wait_for


class Account(RecordTest):
    def test_a_recreated_object_is_named_with_both_uids(self):
        self.pods.put("a", uid="uid-1")
        recording = self.record("pods").ready(1)
        self.pods.watching()
        self.pods.broken = lambda x: x.status(503, "ServiceUnavailable")
        self.pods.disturb(lambda x: x.cut())
        wait_for(lambda: len(self.pods.running) == 0, "the cut")
        self.pods.delete("a")
        self.pods.put("a", uid="uid-2")
        self.pods.compact()
        self.pods.broken = None
        wait_for(lambda: recording.query("SELECT 1 AS x FROM gaps WHERE how_ended='relist'"), "the gap to be closed")
        recording.stop()
        done = subprocess.run([KUBETAPE, "gaps", recording.tape], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (3, ""))
        self.assertIn("the connection was closed in the middle of the watch (cut)", done.stdout)
        self.assertIn("  missed   1 recreated; 0 unchanged\n", done.stdout)
        self.assertIn("a  uid uid-1 is now uid-2\n", done.stdout)
        got = json.loads(subprocess.run([KUBETAPE, "gaps", recording.tape, "--json"], capture_output=True, text=True,
                                        timeout=60).stdout)["gaps"][0]
        self.assertEqual((got["reason"], got["how_ended"], got["recreated"]), ("cut", "relist", 1))
        self.assertGreaterEqual(sum(a["count"] for a in got["attempts"]), 1)
