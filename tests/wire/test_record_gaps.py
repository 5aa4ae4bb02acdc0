"""What a watch did not see: relists, differences, groups of one resourceVersion, other lives of a cluster."""

import time
import unittest

from recording import RecordTest, plain_rows
from waiting import wait_for


class Relists(RecordTest):
    def gap(self, change, *options):
        """Records a, b, c; then `change` happens in an interval whose history the server forgets."""
        self.a, self.b, self.c = (self.pods.put(name, uid=f"uid-{name}") for name in "abc")
        recording = self.record("pods", *options).ready(1)
        self.pods.watching()
        self.pods.broken = lambda x: x.status(503, "ServiceUnavailable")
        self.pods.disturb(lambda x: x.cut())
        wait_for(lambda: len(self.pods.running) == 0, "the cut")
        change()
        self.pods.compact()
        self.pods.broken = None
        wait_for(lambda: recording.query("SELECT 1 AS x FROM gaps WHERE how_ended='relist'"), "the gap to be closed")
        self.recording = recording
        return recording.query("SELECT * FROM gaps")[0]

    def missed(self):
        return [(r["change"], r["name"], r["uid"], r["old_uid"]) for r in self.recording.query(
            "SELECT change, name, uid, coalesce(old_uid, '') AS old_uid FROM missed ORDER BY name")]

    def events(self):
        return [e for e in self.recording.events() if not e.endswith(" list")]

    def test_every_kind_of_difference_has_its_row(self):
        def change():
            self.pods.put("a")
            self.pods.delete("b")
            self.pods.delete("c")
            self.pods.put("c", uid="uid-c2")
            self.pods.put("d", uid="uid-d")

        gap = self.gap(change)
        rv = self.api.rv
        self.assertEqual(self.missed(), [
            ("modified", "a", "uid-a", "uid-a"), ("deleted", "b", "uid-b", "uid-b"),
            ("recreated", "c", "uid-c2", "uid-c"), ("added", "d", "uid-d", "")])
        self.assertEqual([gap[k] for k in ("modified", "added", "deleted", "recreated", "unchanged")], [1, 1, 1, 1, 0])
        self.assertEqual((gap["from_rv"], gap["to_rv"], gap["reason"]), ("1003", str(rv), "cut"))
        self.assertEqual(self.events(), [
            "MODIFIED a 1004 relist", f"DELETED c {rv} inferred", "ADDED c 1007 relist", "ADDED d 1008 relist",
            f"DELETED b {rv} inferred"])
        self.assertEqual(self.recording.stop(), 0)

    def test_a_recording_that_ends_by_itself_tells_of_its_loss_by_exit_code_3(self):
        self.gap(lambda: self.pods.delete("b"), "--duration", "20s")
        self.assertEqual(self.recording.wait(), 3)
        self.assertIn("1 gaps, in which 1 changes were missed", self.recording.stderr)

    def test_an_inferred_deletion_carries_the_last_known_state(self):
        self.gap(lambda: self.pods.delete("b"))
        rows = self.recording.query("SELECT name, CAST(object AS TEXT) AS object FROM events "
                                    "WHERE name='b' ORDER BY seq")
        self.assertEqual(len(rows), 2)
        self.assertEqual(rows[0]["object"], rows[1]["object"])

    def test_a_relist_without_differences_is_a_gap_that_says_no_visible_change(self):
        gap = self.gap(lambda: None)
        self.assertEqual([gap[k] for k in ("modified", "added", "deleted", "recreated", "unchanged")], [0, 0, 0, 0, 3])
        self.assertEqual(self.missed(), [])
        self.assertEqual(self.events(), [])
        self.assertEqual(self.recording.stop(), 0)
        self.assertIn("listed again, no change is visible", self.recording.stderr)

    def test_it_goes_on_watching_from_the_new_list(self):
        self.gap(lambda: self.pods.delete("a"))
        self.pods.watching()
        self.pods.put("e")
        self.recording.wait_events(5)
        self.assertEqual(self.recording.events()[-1], f"ADDED e {self.api.rv}")

    def test_http_410_is_answered_by_a_list_too(self):
        self.pods.put("a")
        recording = self.record().ready(1)
        self.pods.watching()
        self.pods.on_watch(lambda x: x.status(410, "Expired", "too old"))
        self.pods.disturb(lambda x: x.end())
        wait_for(lambda: len(self.pods.lists()) == 2, "the relist")
        wait_for(lambda: "http_410" in recording.ends(), "the end reason on the tape")


class Groups(RecordTest):
    def test_a_group_of_deletions_that_was_cut_is_completed_without_repetition(self):
        for name in "abcd":
            self.pods.put(name)
        recording = self.record().ready(1)
        self.pods.watching()
        before = self.pods.put("z")
        recording.wait_events(5)

        def two_of_four(x):
            for value in self.gone[:2]:
                x.frame("DELETED", value)
            x.cut()

        with self.api.lock:
            self.pods.disturb(two_of_four)
            self.gone = self.pods.delete_together("abcd")
        wait_for(lambda: len(self.pods.watches()) == 2, "the next watch")
        self.assertEqual(self.pods.watches()[1].query["resourceVersion"], before["metadata"]["resourceVersion"])
        events = recording.wait_events(9)
        rv = self.api.rv
        self.assertEqual(events[5:], [f"DELETED {name} {rv}" for name in "abcd"])
        self.assertEqual(recording.query("SELECT * FROM gaps"), [])

    def test_when_the_version_before_is_gone_the_last_one_is_tried(self):
        self.pods.put("a")
        self.pods.put("b")
        recording = self.record().ready(1)
        self.pods.watching()
        self.pods.put("z")
        gone = self.pods.delete("a")
        recording.wait_events(4)
        self.pods.floor = int(gone["metadata"]["resourceVersion"])
        self.pods.disturb(lambda x: x.end())
        wait_for(lambda: len(self.pods.watches()) == 3, "two more watches")
        self.assertEqual([w.query["resourceVersion"] for w in self.pods.watches()], ["1002", "1003", "1004"])
        self.assertEqual(len(self.pods.lists()), 1)
        self.assertEqual(len(recording.events()), 4)

    def test_after_a_bookmark_the_group_is_complete(self):
        self.pods.put("a")
        recording = self.record().ready(1)
        self.pods.watching()
        self.pods.delete("a")
        self.pods.bookmark()
        rv = self.api.rv
        wait_for(lambda: recording.query(f"SELECT 1 AS x FROM bookmarks WHERE rv='{rv}'"), "the bookmark")
        self.pods.disturb(lambda x: x.end())
        wait_for(lambda: len(self.pods.watches()) == 2, "the next watch")
        self.assertEqual(self.pods.watches()[1].query["resourceVersion"], str(rv))

    def test_an_event_delivered_twice_is_recorded_once(self):
        recording = self.record().ready(1)
        self.pods.watching()
        value = self.pods.put("a")
        self.pods.disturb(lambda x: x.frame("ADDED", value))
        self.pods.put("b")
        self.assertEqual([e.split()[1] for e in recording.wait_events(2)], ["a", "b"])
        self.assertEqual(len(recording.events()), 2)

    def test_a_server_that_begins_with_everything_it_has_repeats_nothing_on_the_tape(self):
        """As a server does that was asked without a resourceVersion: known objects, versions up and down."""
        for name in "abc":
            self.pods.put(name)
        self.pods.put("a")
        recording = self.record().ready(1)
        self.pods.watching()

        def everything_again(x):
            x.start()
            for key in sorted(self.pods.objects):
                x.frame("ADDED", self.pods.objects[key])
            x.frame("MODIFIED", self.pods.put("b"))
            x.end()

        self.pods.on_watch(everything_again)
        self.pods.disturb(lambda x: x.end())
        events = recording.wait_events(4)
        self.assertEqual(events[3:], ["MODIFIED b 1005"])
        wait_for(lambda: len(self.pods.watches()) == 3, "the next watch")
        self.assertEqual(self.pods.watches()[2].query["resourceVersion"], "1005")
        self.assertEqual(len(recording.events()), 4)


    def test_the_resume_point_is_not_taken_from_what_a_server_repeats(self):
        for name in "abc":
            self.pods.put(name)
        self.api.rv = 2000  # by what happens to other resources
        recording = self.record().ready(1)
        self.pods.watching()
        self.pods.on_watch(lambda x: (x.start(), *(x.frame("ADDED", self.pods.objects["default", name]) for name in "cab"), x.end()))
        self.pods.disturb(lambda x: x.end())
        wait_for(lambda: len(self.pods.watches()) == 3, "the next watch")
        self.assertEqual([w.query["resourceVersion"] for w in self.pods.watches()], ["2000"] * 3)
        self.assertEqual(len(self.pods.lists()), 1)
        recording.stop()
        self.assertEqual(len(recording.events()), 3)

    def test_a_malformed_resource_version_is_kept_and_moves_nothing(self):
        recording = self.record().ready(1)
        self.pods.watching()
        value = self.pods.put("a")
        for odd in ("abc", "", "-5", "0x10", "1e9"):
            odd = {**value, "metadata": {**value["metadata"], "uid": odd, "name": "x" + odd, "resourceVersion": odd}}
            self.pods.disturb(lambda x, v=odd: x.frame("ADDED", v))
        self.pods.disturb(lambda x: x.cut())
        wait_for(lambda: len(self.pods.watches()) == 2, "the next watch")
        self.assertEqual(self.pods.watches()[1].query["resourceVersion"], "1001")
        self.pods.put("b")
        recording.wait_events(7)
        self.assertEqual([row["rv"] for row in recording.query("SELECT rv FROM events ORDER BY seq")],
                         ["1001", "abc", "", "-5", "0x10", "1e9", "1002"])
        recording.stop()
        self.assertEqual(recording.query("SELECT * FROM missed"), [])


class Epochs(RecordTest):
    def test_a_list_below_the_last_version_begins_an_epoch(self):
        self.api.rv = 5000
        self.pods.put("a", uid="u1")
        recording = self.record().ready(1)
        self.pods.watching()
        with self.api.lock:  # the cluster is restored from an old backup
            self.api.rv = 2000
            self.pods.history.clear()
            self.pods.objects.clear()
            self.pods.floor = 1
        self.pods.put("b", uid="u2")
        self.pods.on_watch(lambda x: (x.start(), x.error(410, "Expired"), x.end()))
        self.pods.disturb(lambda x: x.end())
        gap = wait_for(lambda: recording.query("SELECT * FROM gaps WHERE how_ended='epoch'"), "the epoch")[0]
        self.assertEqual((gap["added"], gap["deleted"]), (1, 1))
        recording.stop()
        reasons = [r[0] for r in plain_rows(self.tape, "SELECT reason FROM epoch")]
        self.assertEqual(reasons[0], "start")
        self.assertIn("went back", reasons[1])

    def test_a_silent_watch_is_probed_and_finds_the_restored_cluster(self):
        self.api.rv = 5000
        self.pods.put("a")
        recording = self.record().ready(1)
        self.pods.watching()
        with self.api.lock:
            self.api.rv = 3000
            self.pods.history.clear()

        def end_and_look():
            """A watch that stood for a second without a frame is followed by a probe, a younger one by the next."""
            time.sleep(1.2)
            self.pods.disturb(lambda x: x.end())
            return recording.query("SELECT 1 AS x FROM connections WHERE purpose='probe'")

        wait_for(end_and_look, "the probe")
        wait_for(lambda: recording.query("SELECT 1 AS x FROM gaps WHERE how_ended='epoch'"), "the epoch")

    def test_another_cluster_at_a_restart_begins_an_epoch(self):
        self.pods.put("a", uid="u1")
        self.record().ready(1).stop()
        self.api.cluster_uid = "00000000-0000-4000-8000-0000000other"
        self.pods.objects.clear()
        self.pods.put("b", uid="u2")
        recording = self.record().ready(1)
        self.assertEqual([e.split()[:2] for e in recording.events()],
                         [["ADDED", "a"], ["ADDED", "b"], ["DELETED", "a"]])
        self.assertEqual(recording.query("SELECT how_ended FROM gaps"), [{"how_ended": "epoch"}])
        self.assertEqual(len(self.pods.lists()), 2)


if __name__ == "__main__":
    unittest.main()
