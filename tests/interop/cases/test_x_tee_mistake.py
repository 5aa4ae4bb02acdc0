"""A controller goes wrong on a live API server, behind a tee, between two witnesses of every byte; it goes wrong in the same way when it is
given once more what it saw, and the mended one does not."""

import json
import os
import subprocess

from lib import mistake, paths, tape
from lib.case import Case, recorded

WRITES = "SELECT verb, resource, namespace, name, status FROM writes WHERE client LIKE 'controller%' ORDER BY 1, 2, 3, 4"
TOLD_GONE = ("SELECT count(*) AS n FROM requests AS r WHERE client LIKE 'controller%' AND (status = 410 OR EXISTS (SELECT 1 FROM frames AS f"
    " WHERE f.request = r.request AND f.type = 'ERROR' AND CAST(f.body AS TEXT) LIKE '%\"code\":410%'))")
WATCHED = ("SELECT d.type, e.object, CAST(f.body AS TEXT) AS body FROM deliveries AS d JOIN requests AS r USING (request) LEFT JOIN events AS e ON e.seq = d.seq"
    " AND d.seq > 0 LEFT JOIN frames AS f ON f.request = d.request AND f.number = d.number"
    f" WHERE r.client = '{mistake.Watcher.AGENT}' ORDER BY d.number")


class AMistakeMadeLive(Case):

    @classmethod
    def setUpClass(cls):
        cls.live = mistake.Mistake(os.path.join(recorded().folder, "mistake")).record()

    def rows(self, sql):
        return self.live.tee.rows(sql)

    # --- the bytes ---

    def test_every_byte_of_every_connection_is_the_one_that_the_server_sent(self):
        """Of a connection that was cut, or that the client gave up, what was under way may be missing."""
        near = [c for c in self.live.near.connections if c.said["server"]]
        self.assertEqual({c.protocol for c in near}, {"h2", "http/1.1"})
        self.assertGreater(max(len(c.said["server"]) for c in near), 300_000)
        for connection in near:
            with self.subTest(protocol=connection.protocol, bytes=len(connection.said["server"])):
                self.assertTrue(any(self.is_same(connection, far) for far in self.live.far.connections))

    def is_same(self, near, far):
        got, sent = near.said["server"], far.said["server"]
        return got == sent or (far.was_cut or near.ended_by == "client") and sent.startswith(got)

    def test_a_tape_and_a_run_have_each_line_that_a_watcher_read_byte_for_byte(self):
        rows = self.rows(WATCHED)
        self.assertEqual(sorted(row["type"] for row in rows if row["object"]), ["ADDED", "ADDED", "DELETED", "MODIFIED"])
        self.assertEqual(self.live.watcher.lines, [self.line(row) for row in rows])

    def line(self, row):
        if row["object"] is None:
            return row["body"].encode("utf-8", "surrogatepass") + b"\n"
        return b'{"type":"%s","object":%s}\n' % (row["type"].encode(), row["object"].encode("utf-8", "surrogatepass"))

    # --- the mistake ---

    def test_the_controller_was_told_410_and_went_wrong(self):
        self.assertEqual(self.live.codes, {"controller": 0, "tee": 0})
        self.live.tee.check()
        self.assertGreater(self.rows(TOLD_GONE)[0]["n"], 0)
        self.assertEqual(self.live.left - {"kubernetes"}, {"kept", "vanished", "added"})

    def test_it_goes_wrong_again_with_the_same_writes(self):
        again = self.live.again["buggy"]
        self.assertEqual(again.exit_code, 0, again.text("out") + again.text("err"))
        self.assertEqual(tape.rows(self.live.tee.tape, WRITES, "--run", again.run), self.rows(WRITES))
        self.assertEqual(self.diff(again.run), (0, []))

    def test_the_mended_one_does_not(self):
        again = self.live.again["mended"]
        self.assertEqual(again.exit_code, 1, again.text("out") + again.text("err"))
        self.assertEqual(self.diff(again.run), (1, [("only in second", "delete", mistake.COPY + "vanished")]))

    def diff(self, run):
        done = subprocess.run([paths.KUBETAPE, "diff", self.live.tee.run, run, "--client", "controller", "--json"], capture_output=True, text=True, check=False)
        return done.returncode, [(d["difference"], d["verb"], d["name"]) for d in map(json.loads, done.stdout.splitlines())]
