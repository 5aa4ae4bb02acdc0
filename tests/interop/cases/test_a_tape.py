"""The tape holds exactly what the server sent, judged by a watcher that shares no code with the recorder."""

import glob
import json
import os
import sqlite3

from lib import cluster, tape, witness, workload
from lib.case import Case, events
from lib.session import TAPES


def brief(data):
    return data if len(data) <= 160 else data[:120] + b"..." + data[-30:]


class TheTape(Case):

    def test_holds_every_resource_that_can_be_watched_and_one_of_the_two_events(self):
        followed = {e["name"] + ("." + e["apigroup"] if e["apigroup"] else "") for e in tape.rows(
            self.all_tape, "SELECT DISTINCT resource AS name, apigroup FROM events")}
        with_content = {name for name, s in self.seen.items() if s.items or s.seen}
        twins = {"events", "events.events.k8s.io"}
        self.assertEqual(followed - twins, with_content - twins)
        self.assertEqual(len(followed & twins), 1, "one of the twins, not both and not none")

    def test_counts_its_streams_as_it_said(self):
        said = int(self.session.facts["all"]["said"].split()[1])
        self.assertEqual(said, len(self.seen) - 1, "the raw watcher follows both kinds of events")

    def test_equals_the_watch_of_each_resource_event_for_event_and_byte_for_byte(self):
        for name, of_resource in tape.by_resource(self.all_events).items():
            with self.subTest(resource=name):
                self.compare(of_resource, self.seen[name])

    def test_by_name_with_client_certificate_equals_the_watch_as_well(self):
        self.compare_named("named")

    def test_through_a_network_that_resets_connections_equals_the_watch_as_well(self):
        self.assertGreater(self.session.facts["cuts"], 10)
        self.compare_named("cut")

    def test_of_a_recorder_that_was_killed_and_started_again_equals_the_watch_as_well(self):
        self.assertGreater(self.session.facts["kills"], 3)
        self.compare_named("killed")

    def compare_named(self, which):
        recorded = tape.by_resource(events(self.session.tape(which)))
        self.assertEqual(set(recorded),
            {"pods", "deployments.apps", "configmaps", "secrets", "crontabs.stable.example.com"})
        for name in set(recorded) - {"secrets"}:  # whose values are digests
            with self.subTest(resource=name):
                self.compare(recorded[name], self.seen[name])

    def compare(self, of_resource, stream):
        """Both lists were made at some moment; after the later of the two, both must have the same events, in the
        same order, at least up to the end of the workload."""
        watched = [e for e in of_resource if e.origin == "watch"]
        listed = [int(e.rv) for e in of_resource if e.origin == "list"]
        self.assertEqual(len(watched) + len(listed), len(of_resource), "nothing was found by listing again")
        begin = max(stream.list_rv, *listed, 0)
        end = max([int(e.rv) for e in watched] + [self.session.facts["end_rv"]])
        expected = [(s.type, s.rv, s.object) for s in stream.seen if begin < s.rv <= end]
        found = [(e.type, int(e.rv), e.object) for e in watched if begin < int(e.rv)]
        self.assertEqual([x[:2] for x in found], [x[:2] for x in expected], "types and resourceVersions")
        self.assertNothing([f"{f[:2]}: found {brief(f[2])}, expected {brief(x[2])}"
            for f, x in zip(found, expected) if f != x], "objects differ in their bytes")

    def test_holds_the_items_of_each_list_byte_for_byte(self):
        compared = 0
        for name, of_resource in tape.by_resource(self.all_events).items():
            stream = self.seen[name]
            items = {(o["metadata"]["uid"], o["metadata"]["resourceVersion"]): witness.typed(item, stream)
                for item in stream.items for o in [json.loads(item)]}
            for e in of_resource:
                if e.origin != "list" or (e.uid, e.rv) not in items:
                    continue
                compared += 1
                self.assertEqual(brief(e.object), brief(items[e.uid, e.rv]), f"{name} {e.key}")
                self.assertEqual(e.object, items[e.uid, e.rv], f"{name} {e.key}")
        self.assertGreater(compared, 150, "both lists were made of nearly the same state")

    def test_ends_with_the_state_that_the_raw_watcher_ends_with(self):
        for name, of_resource in tape.by_resource(self.all_events).items():
            stream = self.seen[name]
            live = {o["metadata"]["uid"]: o["metadata"]["resourceVersion"] for o in map(json.loads, stream.items)}
            last = max((int(e.rv) for e in of_resource), default=0)
            for s in stream.seen:
                if s.rv > max(last, self.session.facts["end_rv"]):
                    break
                metadata = json.loads(s.object)["metadata"]
                live[metadata["uid"]] = metadata["resourceVersion"]
                if s.type == "DELETED":
                    del live[metadata["uid"]]
            with self.subTest(resource=name):
                self.assertEqual(dict(tape.versions(tape.state(of_resource)).values()), live)

    def test_has_columns_that_agree_with_the_object(self):
        wrong = []
        for e in self.all_events:
            o = json.loads(e.object)
            meta = o["metadata"]
            api = f"{e.group}/{e.version}" if e.group else e.version
            columns = (e.uid, e.rv, e.namespace, e.object_name, api)
            content = (meta["uid"], meta["resourceVersion"], meta.get("namespace", ""), meta["name"],
                o["apiVersion"])
            if columns != content:
                wrong.append(f"seq {e.seq}: columns {columns}, object {content}")
        self.assertNothing(wrong, "events have columns that differ from their object")

    def test_numbers_its_events_without_holes_and_times_them_in_order(self):
        rows = tape.rows(self.all_tape, "SELECT seq, time_ns, time FROM events ORDER BY seq")
        self.assertEqual([r["seq"] for r in rows], list(range(1, len(rows) + 1)))
        self.assertNothing([f"seq {a['seq']} at {a['time']}, then {b['time']}" for a, b in zip(rows, rows[1:])
            if b["time_ns"] < a["time_ns"]], "events are earlier than the one before")
        self.assertRegex(rows[0]["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$")

    def test_tells_of_each_cut_and_that_nothing_was_lost_by_it(self):
        """A watch that goes on at once is only a connection; where that took a second attempt there is a gap."""
        cut = self.session.tape("cut")
        ended = {row["end_reason"]: row["n"] for row in tape.rows(cut,
            "SELECT end_reason, count(*) AS n FROM connections WHERE purpose='watch' GROUP BY 1")}
        self.assertGreater(ended.get("cut", 0) + ended.get("reset", 0), 10, ended)
        gaps = tape.rows(cut, 'SELECT stream, begin, "end", reason, how_ended FROM gaps')
        self.assertEqual({g["how_ended"] for g in gaps} - {"rewatch"}, set())
        self.assertEqual([g for g in gaps if not g["begin"] <= g["end"]], [])
        self.assertEqual(tape.rows(cut, "SELECT * FROM missed"), [])

    def test_shows_objects_recreated_under_one_name(self):
        for resource, key in (("configmaps", "settings"), ("pods", "lonely")):
            lives = tape.rows(self.all_tape, f"SELECT uid, count(*) AS n FROM events WHERE resource='{resource}'"
                f" AND name='{key}' AND namespace='shop' AND type <> 'MODIFIED' GROUP BY uid ORDER BY min(seq)")
            self.assertEqual([life["n"] for life in lives], [2, 1], f"{resource} {key}")

    def test_is_described_by_info(self):
        info = json.loads(tape.kubetape("info", self.all_tape, "--json"))
        self.assertEqual(info["events"], len(self.all_events))
        self.assertEqual(info["gaps"], 0)
        self.assertEqual(info["raw_bytes"], sum(len(e.object) for e in self.all_events))
        stored = sum(os.path.getsize(f) for f in glob.glob(self.all_tape + "/**", recursive=True)
            if os.path.isfile(f))
        self.assertEqual(info["disk_bytes"], stored)
        documents = tape.rows(self.all_tape, "SELECT sum(bytes) AS bytes FROM documents")[0]["bytes"]
        self.assertLess(stored, (info["raw_bytes"] + documents) / 4, "a tape is small")

    def test_is_a_set_of_sqlite_files(self):
        segments = glob.glob(self.all_tape + "/*")
        self.assertEqual([os.path.basename(s) for s in segments if s.endswith(("-wal", "-shm", "-journal"))], [])
        opened = [s for s in segments if open(s, "rb").read(15) == b"SQLite format 3"]
        self.assertTrue(opened)
        for s in opened:
            with sqlite3.connect(f"file:{s}?mode=ro", uri=True) as db:
                self.assertEqual(db.execute("PRAGMA integrity_check").fetchone(), ("ok",))


class TheRecorder(Case):

    def test_ends_with_exit_code_0_on_sigint_and_on_sigterm(self):
        self.assertEqual({name: self.session.facts[name]["exit_code"] for name in TAPES}, dict.fromkeys(TAPES, 0))

    def test_keeps_the_values_of_secrets_out_of_the_tape_unless_told(self):
        secrets, kept = ([e for e in events(self.session.tape(name))
            if e.resource == "secrets" and e.namespace == workload.NAMESPACE] for name in ("named", "all"))
        self.assertEqual([e.object_name for e in secrets if e.type == "DELETED"], ["lost"])
        self.assertEqual([(e.type, e.uid, e.rv) for e in secrets], [(e.type, e.uid, e.rv) for e in kept])
        for digested, whole in zip(secrets, kept):
            value = json.loads(whole.object)["data"]["password"]
            self.assertIn(value.encode(), whole.object)
            self.assertNotIn(value.encode(), digested.object)

    def test_leaves_no_credential_in_the_tape_or_on_its_output(self):
        for name in TAPES:
            for path in glob.glob(self.session.tape(name) + "/*"):
                with open(path, "rb") as f:
                    self.assertNotIn(cluster.TOKEN.encode(), f.read(), path)
            self.assertNotIn(cluster.TOKEN, self.session.facts[name]["stderr"])
