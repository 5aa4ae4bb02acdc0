"""kubetape audit: who made each change, by the API server's audit log."""
import gzip
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "wire"))
from audit_log import managed, request, write_log
from tapes import KUBETAPE, TapeTest, event, pod
from waiting import wait_for


class Audit(TapeTest):
    def audit(self, entries, *args, tape=None, code=0):
        """Joins the entries; returns the result as JSON."""
        log = write_log(os.path.join(self.dir, f"audit{len(os.listdir(self.dir))}.log"), entries)
        done = self.run_tape("audit", tape or self.tape, log, "--json", *args)
        self.assertEqual(done.returncode, code, done.stderr)
        return json.loads(done.stdout)

    def who(self, tape=None):
        """(rv, user, verb) of all events whose request is known."""
        done = self.run_tape("query", tape or self.tape, "SELECT rv, user, verb FROM audit ORDER BY seq", "--format", "json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return [(r["rv"], r["user"], r["verb"]) for r in json.loads(done.stdout)]


def web(rv, name="web-0", uid="u1", **more):
    return pod(name, uid, rv, **more)


class Evictions(Audit):
    """The server notes why in the pod's status, begins to delete it, and the kubelet ends that."""
    TAKEN = {"metadata": {"deletionTimestamp": "2023-11-14T22:13:55Z"}, "status": {"conditions": [{"type": "DisruptionTarget"}]}}
    rows = [event(1, "ADDED", web(10)), event(5, "MODIFIED", web(11, status=TAKEN["status"])), event(5.01, "MODIFIED", web(12, **TAKEN)),
            event(5.5, "MODIFIED", web(13, metadata={**TAKEN["metadata"], "managedFields": managed(("kubelet", 5, "status"))}, status={"phase": "Failed"})),
            event(5.6, "DELETED", web(14, **TAKEN))]

    def test_an_eviction_is_joined_to_the_deletion_that_it_began(self):
        success = {"kind": "Status", "apiVersion": "v1", "status": "Success", "code": 201}
        for level in ("Metadata", "RequestResponse"):
            with self.subTest(level=level):
                tape = os.path.join(self.dir, level + ".tape")
                self.make_tape(tape, self.rows)
                totals = self.audit([request("create", web(10), 4.99, user="bob", subresource="eviction", answer=success, level=level, code=201)], tape=tape)
                self.assertEqual((totals["joined"], self.who(tape)), (1, [("12", "bob", "create")]))
                self.assertIn("by bob with kubectl", self.run_tape("why", tape, "pods/web-0").stdout)


class ByVersion(Audit):
    rows = [event(1, "ADDED", web(10)), event(5, "MODIFIED", web(11)), event(9, "DELETED", web(12))]

    def test_a_write_is_joined_to_the_version_that_it_answered(self):
        result = self.audit([request("create", web(10), 0.9, user="bob"), request("patch", web(11), 4.9)])
        self.assertEqual((result["joined"], result["events"]), (2, 2))
        self.assertEqual(self.who(), [("10", "bob", "create"), ("11", "alice", "patch")])

    def test_events_and_changes_say_who_and_null_is_unknown(self):
        self.audit([request("patch", web(11), 4.9)])
        self.assertEqual(self.query("SELECT rv, user, user_agent, source_ip, verb FROM events ORDER BY seq"), [
            {"rv": "10", "user": None, "user_agent": None, "source_ip": None, "verb": None},
            {"rv": "11", "user": "alice", "user_agent": "kubectl/v1.30.0 (linux/amd64)", "source_ip": "10.1.2.3", "verb": "patch"},
            {"rv": "12", "user": None, "user_agent": None, "source_ip": None, "verb": None}])
        self.assertEqual(self.query("SELECT DISTINCT user FROM changes WHERE rv = '10'"), [{"user": None}])
        self.assertEqual(self.query("SELECT user FROM audit WHERE seq = 2"), [{"user": "alice"}])

    def test_events_and_log_name_the_user_and_the_program(self):
        self.audit([request("patch", web(11), 4.9), request("delete", web(12), 8.9, user="carol")])
        lines = self.run_tape("events", self.tape).stdout.splitlines()
        self.assertIn("by alice (kubectl)", lines[1])
        self.assertIn("by carol (kubectl)", lines[2])
        objects = [json.loads(x) for x in self.run_tape("events", self.tape, "-o", "json").stdout.splitlines()]
        self.assertEqual([(o["user"], o["verb"]) for o in objects], [(None, None), ("alice", "patch"), ("carol", "delete")])
        self.assertIn(" by carol (kubectl)", self.run_tape("log", self.tape, "pods/web-0").stdout)

    def test_a_scale_to_zero_is_joined_although_no_manager_is_named_for_it(self):
        """Kubernetes takes the field from the manager that had it, and notes nobody for it."""
        path = os.path.join(self.dir, "zero.tape")
        one, none = managed(("helm", 1)), managed(("helm", 1))
        one[0]["fieldsV1"], none[0]["fieldsV1"] = {"f:spec": {"f:paused": {}, "f:replicas": {}}}, {"f:spec": {"f:paused": {}}}
        self.make_tape(path, [event(1, "ADDED", web(10, spec={"replicas": 1}, metadata={"managedFields": one})),
                              event(5, "MODIFIED", web(11, spec={"replicas": 0}, metadata={"managedFields": none}))])
        self.audit([request("patch", web(11), 4.9, subresource="scale")], tape=path)
        self.assertEqual(self.who(path), [("11", "alice", "patch")])
        self.assertIn("by alice (kubectl)", self.run_tape("events", path).stdout)

    def test_diff_state_names_the_user_of_what_was_made_changed_and_deleted(self):
        path = os.path.join(self.dir, "diff.tape")
        self.make_tape(path, [event(0, "ADDED", web(5, "old", "u5")), event(1, "ADDED", web(10)),
                              event(5, "MODIFIED", web(11, spec={"nodeName": "n1"})), event(6, "MODIFIED", web(12, spec={"nodeName": "n1"}, status={"phase": "Running"})),
                              event(7, "ADDED", web(13, "new", "u6")), event(8, "DELETED", web(14, "old", "u5"))])
        before = self.run_tape("diff-state", path, "2", "end")
        self.audit([request("patch", web(11), 4.9), request("create", web(13, "new", "u6"), 6.9, user="bob"),
                    request("delete", web(14, "old", "u5"), 7.9, user="carol")], tape=path)
        done = self.run_tape("diff-state", path, "2", "end")
        self.assertEqual([line for line in done.stdout.splitlines() if line not in before.stdout.splitlines()],
                         ["+ pods shop/new  made by bob (kubectl)", "- pods shop/old  deleted by carol (kubectl)",
                          '    + spec: {"nodeName":"n1"}  (asked by alice)'])
        self.assertIn('    + status: {"phase":"Running"}\n', done.stdout)
        objects = [json.loads(x) for x in self.run_tape("diff-state", path, "2", "end", "--json").stdout.splitlines()]
        self.assertEqual([(o["field"], o["user"], o["made_by"], o["deleted_by"]) for o in objects],
                         [(None, None, "bob", None), (None, None, None, "carol"), ("spec", "alice", None, None), ("status", None, None, None)])

    def test_a_file_that_is_no_audit_log_is_told_beside_claims_too(self):
        self.audit([request("patch", web(11), 4.9)])
        wrong = os.path.join(self.dir, "wrong.log")
        for text in ('{"kind":"Pod","apiVersion":"v1"}\n', "not JSON\n" * 3):
            with open(wrong, "w", encoding="utf-8") as f:
                f.write(text)
            done = self.run_tape("audit", self.tape, wrong)
            self.assertEqual(done.returncode, 3)
            self.assertIn("no line is an event of audit.k8s.io: is it an audit log?", done.stderr)
            self.assertEqual(self.who(), [("11", "alice", "patch")])

    def test_joining_twice_changes_nothing(self):
        log = [request("create", web(10), 0.9), request("patch", web(11), 4.9)]
        self.audit(log)
        before = self.query("SELECT * FROM audit")
        again = self.audit(log + log)
        self.assertEqual((again["joined"], again["known"]), (0, 4))
        self.assertEqual(self.query("SELECT * FROM audit"), before)

    def test_a_delete_is_joined_by_the_object_or_by_the_uid_that_it_answered(self):
        last = web(11)
        status = {"kind": "Status", "apiVersion": "v1", "status": "Success", "details": {"name": "web-0", "uid": "u1"}}
        for answer in (last, status, web(12)):
            with self.subTest(answer=answer):
                if os.path.exists(self.tape + "/audit.sqlite"):
                    os.remove(self.tape + "/audit.sqlite")
                self.audit([request("delete", last, 8.9, user="carol", answer=answer)])
                self.assertEqual(self.who(), [("12", "carol", "delete")])

    def test_a_deletecollection_is_joined_to_each_deletion(self):
        items = {"kind": "PodList", "apiVersion": "v1", "items": [web(11)]}
        self.audit([request("deletecollection", web(11), 8.9, user="gc", answer=items)])
        self.assertEqual(self.who(), [("12", "gc", "deletecollection")])

    def test_a_deletecollection_listed_what_another_request_deleted_meanwhile(self):
        items = {"kind": "PodList", "apiVersion": "v1", "items": [web(11)]}
        log = [request("deletecollection", web(11), 8.8, took=0.3, user="namespaces", answer=items),
               request("delete", web(11), 8.9, user="gc")]
        for order in (log, log[::-1]):
            self.audit(order)
            self.assertEqual(self.who(), [("12", "gc", "delete")])

    def test_a_deletecollection_that_finds_nothing_or_what_goes_already_deletes_nothing(self):
        going = web(11, metadata={"deletionTimestamp": "2023-11-14T22:13:30Z"})
        for items in ([], [going]):
            with self.subTest(items=items):
                result = self.audit([request("deletecollection", web(11), 8.9, answer={"kind": "PodList", "apiVersion": "v1", "items": items})], code=3)
                self.assertEqual(result["unchanged"], 1)

    def test_a_write_that_changed_nothing_is_not_the_author(self):
        result = self.audit([request("patch", web(11), 7, user="noop")], code=3)
        self.assertEqual((result["unchanged"], result["joined"]), (1, 0))

    def test_of_two_that_answered_one_version_the_first_made_it(self):
        log = [request("patch", web(11), 4.9, took=0.02, user="first"), request("patch", web(11), 5.1, user="second")]
        for order in (log, log[::-1]):
            self.audit(order)
            self.assertEqual(self.who(), [("11", "first", "patch")])

    def test_of_two_that_answered_one_version_at_one_time_neither_is_named(self):
        result = self.audit([request("patch", web(11), 4.9, took=0.3, user="one"), request("patch", web(11), 5, user="two")])
        self.assertEqual((result["events"], result["disputed_events"]), (0, 1))
        self.assertEqual(self.who(), [])

    def test_what_cannot_be_joined_is_counted_by_reason(self):
        result = self.audit([
            request("get", web(11), 4.9), request("create", web(11), 4.9, subresource="exec"),
            request("patch", web(11), 4.9, code=409), request("patch", web(11), 4.9, query="?dryRun=All"),
            request("patch", web(11), 4.9, stage="RequestReceived"), request("patch", web(99), 4.9),
            request("create", {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "s", "uid": "x", "resourceVersion": "5"}}, 1),
            "not json", '{"kind":"Event","apiVersion":"v1"}', "",
            request("create", web(11), 4.9, level="Metadata", ref={"name": ""}),
        ], code=3)
        self.assertEqual({k: v for k, v in result.items() if v}, {
            "lines": 10, "no_write": 2, "failed": 1, "dry_run": 1, "other_stage": 1, "not_on_tape": 1, "not_recorded": 1,
            "bad_line": 2, "no_name": 1})

    def test_compressed_logs_and_standard_input_are_read(self):
        line = json.dumps(request("create", web(10), 0.9))
        path = os.path.join(self.dir, "audit.log.gz")
        with gzip.open(path, "wt") as f:
            f.write(line)  # without a line feed
        self.assertEqual(self.run_tape("audit", self.tape, path).returncode, 0)
        self.assertIn("joined before", self.run_tape("audit", self.tape, "-", stdin=line + "\n").stdout)

    def test_a_damaged_gzip_is_named_and_called_so(self):
        whole = gzip.compress(json.dumps(request("create", web(10), 0.9)).encode() * 9)
        path = os.path.join(self.dir, "audit.log.gz")
        for damaged in (whole[:3] + b"\xff" + whole[4:], whole[:20] + bytes([whole[20] ^ 0xff]) + whole[21:]):
            with open(path, "wb") as f:
                f.write(damaged)
            done = self.run_tape("audit", self.tape, path)
            self.assert_fails(done, 1, f"cannot read '{path}': it is a damaged gzip file (")
            self.assertNotIn("<fd", done.stderr)

    def test_a_log_that_is_not_there_is_one_sentence(self):
        there = write_log(os.path.join(self.dir, "audit.log"), [])
        self.assert_fails(self.run_tape("audit", self.tape, there, os.path.join(self.dir, "no.log")), 1, "no.log")
        self.assertNotIn("audit.sqlite", os.listdir(self.tape))


class Graceful(Audit):
    """A pod whose deletion is begun by one and finished by another."""
    gone = {"metadata": {"deletionTimestamp": "2023-11-14T22:13:30Z"}}
    rows = [event(1, "ADDED", web(10)), event(5, "MODIFIED", web(11, **gone)), event(5.5, "DELETED", web(12, **gone))]

    def test_the_collection_begins_the_deletion_and_the_kubelet_ends_it(self):
        items = {"kind": "PodList", "apiVersion": "v1", "items": [web(10)]}
        self.audit([request("deletecollection", web(10), 4.9, user="gc", answer=items),
                    request("delete", web(12, **Graceful.gone), 5.45, user="node")])
        self.assertEqual(self.who(), [("11", "gc", "deletecollection"), ("12", "node", "delete")])


class Finalized(Audit):
    going = {"deletionTimestamp": "2023-11-14T22:13:25Z", "finalizers": ["example.com/hold"]}
    rows = [event(1, "ADDED", web(10)), event(5, "MODIFIED", web(11, metadata=going)), event(9, "DELETED", web(12, metadata=going))]

    def test_what_takes_the_last_finalizer_deletes(self):
        answer = web(11, metadata={"deletionTimestamp": "2023-11-14T22:13:25Z"})
        self.audit([request("delete", web(11, metadata=self.going), 4.9, user="owner"), request("patch", answer, 8.95, user="finisher")])
        self.assertEqual(self.who(), [("11", "owner", "delete"), ("12", "finisher", "patch")])


class Lists(Audit):
    rows = [event(100, "ADDED", web(10, metadata={"managedFields": managed(("kubectl", 50))}), origin="list")]

    def test_a_version_that_a_list_showed_is_joined_only_if_managed_fields_give_the_time(self):
        obj = web(10)
        self.assertEqual(self.audit([request("patch", obj, 70)], code=3)["unsure"], 1)
        self.assertEqual(self.audit([request("patch", obj, 50.1)])["joined"], 1)


class ByMoment(Audit):
    rows = [
        event(1, "ADDED", web(10, metadata={"managedFields": managed(("kubectl", 1))})),
        event(5, "MODIFIED", web(11, metadata={"managedFields": managed(("kubectl", 1), ("kubelet", 5, "status"))})),
        event(5.2, "MODIFIED", web(12, metadata={"managedFields": managed(("kubectl", 5), ("kubelet", 5, "status"))})),
        event(9, "DELETED", web(13)),
    ]

    def meta(self, verb, at, **more):
        return request(verb, web(0), at, level="Metadata", **more)

    def test_the_one_event_between_the_times_of_a_request_is_its_own(self):
        self.audit([self.meta("create", 0.9, user="bob"), self.meta("delete", 8.9, user="carol")])
        self.assertEqual(self.who(), [("10", "bob", "create"), ("13", "carol", "delete")])

    def test_managed_fields_tell_apart_what_came_at_one_time(self):
        self.audit([self.meta("patch", 4.9, user="node", agent="kubelet/v1.30", subresource="status"), self.meta("patch", 5.1)])
        self.assertEqual(self.who(), [("11", "node", "patch"), ("12", "alice", "patch")])

    def test_two_requests_for_one_event_are_not_joined(self):
        result = self.audit([self.meta("patch", 5.1, user="a"), self.meta("patch", 5.15, user="b")])
        self.assertEqual((result["events"], result["disputed_events"]), (0, 1))

    def test_an_event_outside_the_times_is_not_joined(self):
        self.assertEqual(self.audit([self.meta("delete", 6, user="carol")], code=3)["not_on_tape"], 1)
        self.assertEqual(self.audit([self.meta("delete", 6, user="carol")], "--tolerance", "3s")["joined"], 1)


class Bound(Audit):
    """A binding is answered by a Status: neither a version nor a manager tells its event."""
    node = {"spec": {"nodeName": "n1"}}
    rows = [event(1, "ADDED", web(10)), event(5, "MODIFIED", web(11, **node)),
            event(5.3, "MODIFIED", web(12, **node, metadata={"deletionTimestamp": "2023-11-14T22:13:30Z"})),
            event(9, "ADDED", web(20, uid="u2")), event(14, "MODIFIED", web(21, uid="u2", **node))]

    def bind(self, at, uid=None):
        return request("create", web(0), at, user="scheduler", subresource="binding", answer={"kind": "Status", "apiVersion": "v1", "status": "Success"},
                       ref={"uid": uid} if uid else None)

    def test_a_binding_is_joined_to_what_gave_the_pod_its_node_and_not_to_what_came_beside(self):
        self.audit([self.bind(4.9)])
        self.assertEqual(self.who(), [("11", "scheduler", "create")])

    def test_a_binding_of_a_uid_is_joined_however_late_its_event_came(self):
        self.audit([self.bind(4.9, "u1"), self.bind(9.1, "u2")])
        self.assertEqual(self.who(), [("11", "scheduler", "create"), ("21", "scheduler", "create")])


class Copies(Audit):
    rows = [event(1, "ADDED", web(10)), event(2, "ADDED", web(20, "db-0", "u2", namespace="other")), event(5, "MODIFIED", web(11))]

    def setUp(self):
        super().setUp()
        self.audit([request("create", web(10), 0.9, user="bob"), request("patch", web(11), 4.9),
                    request("create", web(20, "db-0", "u2", namespace="other"), 1.9, user="mallory")])

    def make(self, *args, name="new.tape"):
        path = os.path.join(self.dir, name)
        done = self.run_tape(*args, "-o", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        verified = self.run_tape("verify", path)
        self.assertEqual(verified.returncode, 0, verified.stdout + verified.stderr)
        return path

    def test_a_cut_keeps_what_it_says_of_its_events_and_nothing_else(self):
        path = self.make("cut", self.tape, "-n", "shop")
        self.assertEqual(self.who(path), [("10", "bob", "create"), ("11", "alice", "patch")])
        with open(path + "/audit.sqlite", "rb") as f:
            self.assertNotIn(b"mallory", f.read())

    def test_recover_repack_and_merge_keep_it(self):
        whole = sorted(self.who())
        for args in (("recover", self.tape), ("repack", self.tape), ("merge", self.tape, self.tape)):
            self.assertEqual(sorted(self.who(self.make(*args, name=args[0] + ".tape"))), whole, args[0])

    def test_one_file_has_it_beside_itself(self):
        path = self.make("cut", self.tape, name="x.ktape")
        self.assertEqual(self.who(path), self.who())
        self.assertTrue(os.path.exists(path + "-audit"))
        self.assertEqual(self.who(self.make("cut", path, name="back.tape")), self.who())

    def test_anonymize_has_pseudonyms_for_users_and_addresses(self):
        path = self.make("anonymize", self.tape, name="secret.tape")
        self.assertEqual([(rv, verb) for rv, _, verb in self.who(path)], [(rv, verb) for rv, _, verb in self.who()])
        with open(path + "/audit.sqlite", "rb") as f:
            text = f.read()
        for word in (b"alice", b"mallory", b"10.1.2.3"):
            self.assertNotIn(word, text)

    def test_a_book_that_is_just_being_made_is_waited_for_and_one_that_stays_empty_is_none(self):
        book, made = self.tape + "/audit.sqlite", self.tape + "/made"
        known = self.who()
        os.rename(book, made)
        open(book, "w").close()
        reader = subprocess.Popen([KUBETAPE, "query", self.tape, "SELECT rv, user, verb FROM audit ORDER BY seq", "--format", "json"],
            stdout=subprocess.PIPE, text=True)
        wait_for(lambda: Path(f"/proc/{reader.pid}/stat").read_text(encoding="ascii").split()[2] == "S", "the reader to wait")
        os.rename(made, book)
        rows = json.loads(reader.communicate()[0])
        self.assertEqual(([(r["rv"], r["user"], r["verb"]) for r in rows], reader.returncode), (known, 0))
        os.truncate(book, 0)
        done = self.run_tape("query", self.tape, "SELECT user FROM audit")
        self.assertEqual(done.returncode, 1)
        self.assertIn("is no audit book", done.stderr)

    def test_verify_finds_a_changed_claim(self):
        with sqlite3.connect(self.tape + "/audit.sqlite") as db:
            db.execute("UPDATE actor SET user = 'eve' WHERE user = 'bob'")
        db.close()
        done = self.run_tape("verify", self.tape)
        self.assertEqual(done.returncode, 1)
        self.assertIn("bad checksum of the claim", done.stdout + done.stderr)
        self.assert_fails(self.run_tape("query", self.tape, "SELECT user FROM audit"), 1, "bad checksum of the claim")

    def test_a_book_with_a_foreign_schema_is_refused(self):
        with sqlite3.connect(self.tape + "/audit.sqlite") as db:
            db.execute("CREATE VIEW v AS SELECT 1")
        db.close()
        self.assert_fails(self.run_tape("query", self.tape, "SELECT user FROM audit"), 1, "audit book")


class Following(Audit):
    rows = ByVersion.rows

    def test_a_log_is_followed_through_rotations_and_half_lines(self):
        log = os.path.join(self.dir, "audit.log")
        lines = [json.dumps(request(verb, web(rv), at, user=f"user{rv}")) + "\n"
                 for verb, rv, at in (("create", 10, 0.9), ("patch", 11, 4.9), ("delete", 12, 8.9))]
        with open(log, "w", encoding="utf-8") as f:
            f.write(lines[0] + lines[1][:100])
        process = subprocess.Popen([KUBETAPE, "audit", "-f", self.tape, log, "--json"], stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        self.wait_for_users(["user10"])
        with open(log, "a", encoding="utf-8") as f:
            f.write(lines[1][100:])
        os.rename(log, log + ".1")
        self.wait_for_users(["user10", "user11"])
        with open(log, "w", encoding="utf-8") as f:
            f.write("x" * 3000 + "\n")
        wait_for(lambda: not self.is_behind(process, log), "the new file is read")
        shutil.copy(log, log + ".2")
        os.truncate(log, 0)
        with open(log, "a", encoding="utf-8") as f:
            f.write(lines[2])
        self.wait_for_users(["user10", "user11", "user12"])
        process.send_signal(signal.SIGINT)
        result = json.loads(process.communicate(timeout=60)[0])
        self.assertEqual((result["joined"], result["bad_line"], result["lines"]), (3, 1, 4))

    def is_behind(self, process, log):
        """Whether the process has not read to the end of the file."""
        folder = f"/proc/{process.pid}/fd"
        for fd in os.listdir(folder):
            try:
                if os.path.samefile(os.path.join(folder, fd), log):
                    with open(f"/proc/{process.pid}/fdinfo/{fd}", encoding="ascii") as f:
                        return int(f.readline().split()[1]) < os.path.getsize(log)
            except FileNotFoundError:
                continue
        return True

    def wait_for_users(self, users):
        wait_for(lambda: sorted({user for _, user, _ in self.who()}) == users, f"{users} in the table audit")


if __name__ == "__main__":
    unittest.main()
