"""A real reconnect gap: recorded as what it is, and as a live informer saw it; and an informer on the replay of it."""

import concurrent.futures
import os

from lib import outage, replay, tape
from lib.case import Case, recorded


class AnOutage(Case):

    @classmethod
    def setUpClass(cls):
        cls.outage = outage.Outage(os.path.join(recorded().folder, "outage")).record()

    def test_does_not_make_a_recorder_fail_that_is_ended_by_a_signal(self):
        self.assertEqual(self.outage.exit_code, 0)

    def test_is_one_gap_that_was_ended_by_a_relist(self):
        gaps = tape.rows(self.outage.tape, 'SELECT begin, "end", reason, how_ended FROM gaps')
        self.assertEqual([g["how_ended"] for g in gaps], ["relist"])
        self.assertLess(gaps[0]["begin"], gaps[0]["end"])

    def test_missed_rows_name_what_happened_unseen(self):
        missed = tape.rows(self.outage.tape, "SELECT change, resource, namespace, name, uid, old_uid FROM missed")
        uids = self.outage.uids
        self.assertEqual({row["resource"] for row in missed}, {"configmaps"})
        self.assertEqual(sorted((row["change"], row["name"], row["uid"]) for row in missed), [
            ("added", "added", uids["added", "after"]),
            ("deleted", "vanished", uids["vanished", "before"]),
            ("modified", "changed", uids["changed", "before"]),
            ("recreated", "recreated", uids["recreated", "after"])])
        self.assertEqual([row["old_uid"] for row in missed if row["change"] == "recreated"],
            [uids["recreated", "before"]])

    def test_gives_events_that_are_marked_as_found_by_the_relist(self):
        origins = {(row["name"], row["type"]): row["origin"] for row in tape.rows(self.outage.tape,
            "SELECT name, type, origin FROM events WHERE origin NOT IN ('list', 'watch')")}
        self.assertEqual(origins["vanished", "DELETED"], "inferred")
        self.assertEqual(origins["changed", "MODIFIED"], "relist")
        self.assertEqual(origins["added", "ADDED"], "relist")
        self.assertNotIn(("kept", "MODIFIED"), origins, "what did not change is no event")

    def test_leaves_the_tape_in_the_state_that_the_live_informer_ended_in(self):
        told = replay.told(self.outage.told, ["configmaps"])["configmaps"]
        in_namespace = {key: value for key, value in told.cache.items() if key.startswith(outage.NAMESPACE + "/")}
        self.assertEqual(tape.versions(tape.state(tape.load(self.outage.tape))), in_namespace)
        self.assertEqual(len(in_namespace), 5)

    def test_made_the_live_informer_update_over_two_uids_and_delete_what_it_never_saw_go(self):
        told = replay.told(self.outage.told, ["configmaps"])["configmaps"]
        uids = self.outage.uids
        made = {call.key.split("/")[1]: call for call in told.calls}
        self.assertEqual((made["recreated"].kind, made["recreated"].old[0], made["recreated"].uid),
            ("update", uids["recreated", "before"], uids["recreated", "after"]))
        self.assertEqual((made["vanished"].kind, made["vanished"].unknown), ("delete", True))
        self.assertEqual((made["changed"].kind, made["added"].kind), ("update", "add"))

    # --- the same again, on a replay ---

    def ours(self, told):
        """The calls for each object of the namespace, and the objects that the cache ended with."""
        made = {}
        for call in told.calls:
            made.setdefault(call.key, []).append(call)
        return [{key: value for key, value in of.items() if key.startswith(outage.NAMESPACE + "/")}
            for of in (told.initial, made, told.cache)]

    def follow(self, name, program, streaming, *options):
        """What an informer on the replay told."""
        last = {"configmaps": tape.load(self.outage.tape)[-1]}
        folder = os.path.join(self.folder(), name)
        os.makedirs(folder, exist_ok=True)
        with replay.Replay(self.outage.tape, folder, "replay", *options) as served:
            with replay.Informers(program, ["configmaps"], served, folder, "client", streaming) as client:
                client.wait_until_seen(last, 0)
                return client.end()["configmaps"]

    def test_makes_informers_on_the_replay_make_the_same_calls_and_end_in_the_same_state(self):
        """All at the same time: they are mostly waiting."""
        live = self.ours(replay.told(self.outage.told, ["configmaps"])["configmaps"])
        ways = {"fast, streaming": (["informer"], True, "--speed", "max"),
            "fast, classic, HTTP/1.1": (["informer"], False, "--speed", "max", "--plain"),
            "slow, classic": (["informer"], False), "slow, streaming, HTTP/1.1": (["informer"], True, "--plain"),
            "typed": (["informer", "-mode", "typed"], None, "--speed", "max"),
            "typed of the release before": (["informer-0.36", "-mode", "typed"], None, "--speed", "max"),
            "controller-runtime": (["crcache"], None, "--speed", "max")}
        with concurrent.futures.ThreadPoolExecutor(len(ways)) as pool:
            following = {name: pool.submit(self.follow, name, *way) for name, way in ways.items()}
        for name, one in following.items():
            with self.subTest(name):
                self.assertEqual(self.ours(one.result()), live)

    def test_can_be_healed_so_that_an_informer_sees_the_deletions(self):
        told = self.follow("healed", ["informer"], None, "--speed", "max", "--gaps", "none")
        vanished = [c for c in told.calls if c.key.endswith("/vanished")]
        self.assertEqual([(c.kind, c.unknown) for c in vanished], [("delete", False)])
