"""Resources that come and go while everything is recorded; rights that are taken away."""

import os
import subprocess
import unittest

from recording import KUBETAPE, RecordTest, plain_rows
from waiting import wait_for


class Offers(RecordTest):
    def setUp(self):
        super().setUp()
        self.crds = self.api.add("customresourcedefinitions", "CustomResourceDefinition", "apiextensions.k8s.io",
                                 namespaced=False)

    def add_crontabs(self):
        crons = self.api.add("crontabs", "CronTab", "stable.example.com", custom=True)
        self.crds.put("crontabs.stable.example.com")
        return crons

    def test_a_new_custom_resource_is_followed_although_its_first_list_is_refused(self):
        recording = self.record("--all").ready(2)
        self.crds.watching()
        crons = self.api.add("crontabs", "CronTab", "stable.example.com", custom=True)
        crons.put("early")
        crons.on_list(lambda x: x.status(429, "TooManyRequests", "storage is (re)initializing", retry_after=1))
        self.crds.put("crontabs.stable.example.com")
        crons.watching()
        crons.put("late")
        self.assertEqual([e.split()[1] for e in recording.wait_events(2, "resource='crontabs'")], ["early", "late"])
        recording.stop()
        lists = recording.query("SELECT end_reason FROM connections WHERE purpose='list' AND resource='crontabs'")
        self.assertEqual([r["end_reason"] for r in lists], ["http_429", "complete"])
        documents = plain_rows(self.tape, "SELECT path FROM document")
        self.assertIn(("/apis/stable.example.com/v1",), documents)
        self.assertEqual(documents.count(("/apis",)), 4)  # both forms, before and after

    def test_a_deleted_custom_resource_ends_with_resource_gone(self):
        crons = self.add_crontabs()
        crons.put("a")
        recording = self.record("--all").ready(3)
        crons.watching()
        crons.delete("a")
        recording.wait_events(1, "resource='crontabs' AND type='DELETED'")
        self.api.remove(crons)
        self.crds.delete("crontabs.stable.example.com")
        crons.disturb(lambda x: x.end())
        wait_for(lambda: "resource_gone" in recording.ends(), "the end reason")
        self.assertIsNone(recording.process.poll())
        self.pods.put("p")
        recording.wait_events(1, "resource='pods'")

    def test_a_resource_that_comes_back_is_followed_again(self):
        crons = self.add_crontabs()
        crons.put("a", uid="u1")
        recording = self.record("--all").ready(3)
        crons.watching()
        crons.delete("a")
        self.api.remove(crons)
        self.crds.delete("crontabs.stable.example.com")
        crons.disturb(lambda x: x.end())
        wait_for(lambda: "resource_gone" in recording.ends(), "the end reason")
        again = self.add_crontabs()
        again.put("a", uid="u2")
        again.compact()
        recording.wait_events(1, "resource='crontabs' AND uid='u2'")

    def gone_unseen(self, recording, how):
        """The tape's account of a CRD that vanished while nobody watched."""
        events = recording.wait_events(2, "resource='crontabs'")
        self.assertEqual([e.split()[0:2] + e.split()[3:] for e in events],
                         [["ADDED", "a", "list"], ["DELETED", "a", "inferred"]])
        self.assertEqual(recording.query("SELECT change, name, old_uid FROM missed"),
                         [{"change": "deleted", "name": "a", "old_uid": "u1"}])
        gaps = recording.query("SELECT reason, how_ended FROM gaps WHERE resource='crontabs'")
        self.assertEqual(gaps, [{"reason": how, "how_ended": "open"}])
        self.assertEqual(recording.query("SELECT * FROM objects WHERE resource='crontabs'"), [])

    def vanish(self, crons):
        self.api.remove(crons)
        self.crds.delete("crontabs.stable.example.com")

    def test_a_custom_resource_that_vanished_while_the_network_was_down_has_its_objects_deleted(self):
        crons = self.add_crontabs()
        crons.put("a", uid="u1")
        recording = self.record("--all").ready(3)
        crons.watching()
        self.vanish(crons)
        crons.disturb(lambda x: x.reset())
        self.gone_unseen(recording, "reset")
        self.assertIsNone(recording.process.poll())

    def test_a_custom_resource_that_vanished_while_no_recorder_ran_has_its_objects_deleted(self):
        crons = self.add_crontabs()
        crons.put("a", uid="u1")
        self.record("--all").ready(3).stop()
        self.vanish(crons)
        recording = self.record("--all").ready(2)
        self.gone_unseen(recording, "client_stop")
        recording.stop()
        self.record("--all").ready(2).stop()  # nothing of it is left to ask for

    def test_a_custom_resource_that_comes_back_after_that_is_a_gap_with_additions(self):
        crons = self.add_crontabs()
        crons.put("a", uid="u1")
        recording = self.record("--all").ready(3)
        crons.watching()
        self.vanish(crons)
        crons.disturb(lambda x: x.reset())
        self.gone_unseen(recording, "reset")
        again = self.add_crontabs()
        again.put("a", uid="u2")
        recording.wait_events(3, "resource='crontabs'")
        gap = wait_for(lambda: recording.query("SELECT how_ended, added, deleted FROM gaps WHERE how_ended<>'open'"),
                       "the end of the gap")
        self.assertEqual(gap, [{"how_ended": "relist", "added": 1, "deleted": 1}])

    def test_a_resource_that_is_still_offered_but_answers_404_is_not_taken_for_gone(self):
        crons = self.add_crontabs()
        crons.put("a", uid="u1")
        recording = self.record("--all").ready(3)
        crons.watching()
        crons.broken = lambda x: x.text(404, "404 page not found\n")
        crons.disturb(lambda x: x.reset())
        wait_for(lambda: recording.ends().count("resource_gone") >= 2, "refusals")
        asked = len([r for r in self.api.requests if r.path == "/apis"])
        wait_for(lambda: len([r for r in self.api.requests if r.path == "/apis"]) > asked + 1, "discovery")
        crons.broken = None
        crons.put("a")
        events = recording.wait_events(2, "resource='crontabs'")
        self.assertEqual([e.split()[0] for e in events], ["ADDED", "MODIFIED"])
        self.assertEqual(recording.query("SELECT * FROM missed"), [])

    def test_a_resource_whose_version_changes_is_followed_in_the_new_one_whether_it_was_named_or_not(self):
        for what, count in (("--all", 3), ("crontabs", 1)):
            with self.subTest(what):
                self.tape = os.path.join(self.folder, what + ".tape")
                old = self.api.add("crontabs", "CronTab", "stable.example.com", version="v1alpha1", custom=True)
                self.crds.put("crontabs.stable.example.com")
                old.put("a", uid="u1")
                recording = self.record(what).ready(count)
                old.watching()
                self.api.remove(old)
                new = self.api.add("crontabs", "CronTab", "stable.example.com", version="v1", custom=True)
                new.put("a", uid="u1")
                self.crds.put("crontabs.stable.example.com")
                old.disturb(lambda x: x.end())
                new.watching()
                wait_for(lambda: recording.query("SELECT version FROM objects WHERE resource='crontabs'") == [{"version": "v1"}], "the old one's end")
                self.assertEqual(recording.query("SELECT type, version FROM events WHERE resource='crontabs' ORDER BY version, seq"),
                                 [{"type": "ADDED", "version": "v1"}, {"type": "ADDED", "version": "v1alpha1"}, {"type": "DELETED", "version": "v1alpha1"}])
                self.assertEqual(recording.stop(), 0)
                self.api.remove(new)
                for name, said in (("crontabs", "shown is version v1 of crontabs; the tape has 'crontabs.v1alpha1.stable.example.com' as well\n"),
                                   ("crontabs.v1alpha1.stable.example.com", "")):
                    done = subprocess.run([KUBETAPE, "log", self.tape, name + "/a"], capture_output=True, text=True, timeout=60, check=False)
                    self.assertEqual((done.returncode, done.stderr), (0, said))

    def test_a_schema_change_is_a_gap_without_visible_change(self):
        crons = self.add_crontabs()
        crons.put("a")
        recording = self.record("--all").ready(3)
        crons.watching()
        crons.compact()  # the new cache starts later
        crons.disturb(lambda x: x.end())
        gap = wait_for(lambda: recording.query("SELECT * FROM gaps WHERE how_ended='relist'"), "the gap")[0]
        self.assertEqual([gap[k] for k in ("modified", "added", "deleted", "recreated", "unchanged")], [0, 0, 0, 0, 1])
        self.assertEqual(recording.stop(), 0)

    def test_a_resource_that_is_forbidden_does_not_keep_the_others_from_being_recorded(self):
        self.crds.broken = lambda x: x.status(403, "Forbidden", "crds are forbidden")
        self.pods.put("a")
        recording = self.record("--all").ready(1)
        self.assertIn("crds are forbidden", recording.stderr)
        self.assertIn("http_403", recording.ends("list"))
        self.crds.broken = None
        self.crds.put("c")
        recording.wait_events(1, "resource='customresourcedefinitions'")

    def test_a_group_whose_discovery_fails_does_not_hide_the_others(self):
        self.api.add("pods", "PodMetrics", "metrics.k8s.io", version="v1beta1", verbs=["get", "list"])
        self.api.handlers["/apis/metrics.k8s.io/v1beta1"] = lambda x: x.status(503, "ServiceUnavailable")
        recording = self.record("--all").ready(2)
        self.assertIn("group 'metrics.k8s.io/v1beta1' does not tell what it has (503)", recording.stderr)

    def test_an_aggregated_api_that_is_down_at_the_start_is_followed_when_it_is_there(self):
        services = self.api.add("apiservices", "APIService", "apiregistration.k8s.io", namespaced=False)
        flunders = self.api.add("flunders", "Flunder", "wardle.example.com", version="v1alpha1")
        flunders.broken = lambda x: x.text(503, "service unavailable\n")
        path = "/apis/wardle.example.com/v1alpha1"
        for self.api.aggregated in (False, True):
            with self.subTest(aggregated=self.api.aggregated):
                self.tape = f"{self.folder}/{self.api.aggregated}.tape"
                self.api.handlers[path] = flunders.broken = lambda x: x.text(503, "service unavailable\n")
                recording = self.record("--all")
                services.watching()
                self.pods.put("a")
                recording.wait_events(1, "resource='pods'")
                del self.api.handlers[path]
                flunders.broken = None
                services.put("v1alpha1.wardle.example.com")
                flunders.watching()
                flunders.put("f")
                recording.wait_events(1, "resource='flunders'")
                recording.stop()
                services.watching(0)


if __name__ == "__main__":
    unittest.main()
