"""No part of a Secret's value, and none of a token, reaches the tape, the run or the log, whatever client and server say."""

import contextlib
import gzip
import http.client
import json
import os
import sqlite3
import subprocess
import unittest

import canary
from fake_apiserver import FakeApiserver, encode
from recording import query
from teeing import TeeCase
from test_record_canary import BAD_FRAMES, BAD_LISTS, ERRORS, FRAME, ODD_FRAMES, list_of
from test_replay_canary import ELSEWHERE, SENT

SECRETS = "/api/v1/namespaces/default/secrets"
TOKEN = {"Authorization": "Bearer " + canary.VALUE.replace("\\", "").replace('"', "")}


class Canary(TeeCase):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("written"))
        self.api = FakeApiserver()
        self.secrets = self.api.add("secrets", "Secret")
        self.addCleanup(self.api.__exit__)
        self.api.listen()
        self.there = self.tee(self.api.url, "-v", tape=self.path("written/x.tape"))

    def ask(self, target=SECRETS, method="GET", body=None, **headers):
        c = self.there.connect()
        with contextlib.closing(c), contextlib.suppress(OSError, http.client.HTTPException):
            c.request(method, target, body, {**TOKEN, "User-Agent": "kubectl", **headers})
            return c.getresponse().read()

    def check(self):
        self.assertEqual(self.there.stop(), 0)
        with contextlib.closing(sqlite3.connect(self.there.run)) as db:
            pieces = [row[0] for row in db.execute("SELECT data FROM answers ORDER BY request, piece")]
        packed = [subprocess.run(["zstd", "-dc"], input=p, capture_output=True, check=True, timeout=60).stdout for p in pieces]
        canary.assert_nowhere(self, self.path("written"), [self.there.tape], [self.there.run], [self.there.stderr(), *packed])
        return packed

    def test_watches(self):
        handlers = []
        for number, at in enumerate(range(FRAME.index(b'"annotations"'), len(FRAME), 11)):
            end = [lambda x: x.cut(), lambda x: x.reset(), lambda x: x.end()][number % 3]
            handlers.append(lambda x, n=at, e=end: (x.start(), x.chunk(FRAME[:n]), e(x)))
        for data in BAD_FRAMES + ODD_FRAMES + ERRORS:
            handlers.append(lambda x, d=data: (x.start(), x.chunk(d), x.end()))
        handlers += [lambda x: x.body(FRAME, code=500), lambda x: x.body(canary.VALUE.encode(), code=403, content_type="text/plain")]
        self.secrets.on_watch(*handlers)
        for _ in handlers:
            self.ask(SECRETS + "?watch=1")
        self.check()

    def test_lists_and_answers(self):
        packed = gzip.compress(list_of())
        handlers = [*BAD_LISTS, lambda x: x.body(list_of()), lambda x: x.body(packed, headers=["Content-Encoding: gzip"]),
            lambda x: x.body(packed[:-9], headers=["Content-Encoding: gzip"]), lambda x: x.body(list_of(), headers=["Content-Encoding: br"]),
            lambda x: x.body(list_of(), content_type="application/vnd.kubernetes.protobuf"), lambda x: x.body(list_of(), content_type="application/cbor"),
            lambda x: x.body(ODD_FRAMES[1]), lambda x: x.body(ODD_FRAMES[2])]
        self.secrets.on_list(*handlers)
        for number, _ in enumerate(handlers):
            self.ask(SECRETS + ("?limit=2" if number % 2 else ""), Accept="application/json;as=Table;g=meta.k8s.io;v=v1" if number % 5 == 4 else "*/*")
        self.api.handlers[SECRETS + "/s"] = lambda x: x.json(canary.secret())
        for accept in ("application/json", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"):
            self.ask(SECRETS + "/s", Accept=accept)
        self.assertTrue(self.check())
        self.assertIn("redacted:", query(self.there.tape, "SELECT object FROM events")[0]["object"])

    def test_a_good_list_is_there_with_digests(self):
        self.secrets.on_list(lambda x: x.body(list_of()))
        self.assertEqual(self.ask(), list_of())
        (packed,) = self.check()
        self.assertEqual([i["metadata"]["name"] for i in json.loads(packed)["items"]], ["0", "1", "2"])

    def test_writes(self):
        there = {SECRETS + path.partition("?")[0] for _, path, _, _ in SENT} | {path for path, _ in ELSEWHERE}
        for path in there:  # the body that comes is not looked at
            self.api.handlers[path] = lambda x: (x.json(canary.secret(), 201), x.cut())
        for method, target, kind, body in [(m, SECRETS + p, k, b) for m, p, k, b in SENT] + [("POST", p, "application/json", b) for p, b in ELSEWHERE]:
            data = body if isinstance(body, (bytes, str)) else json.dumps(body)
            self.ask(target, method, data, **({"Content-Type": kind} if kind else {}))
        self.ask(SECRETS, "POST", gzip.compress(encode(canary.secret())), **{"Content-Encoding": "gzip"})
        self.there.wait_rows("SELECT count(*) > 40 FROM writes", [(1,)])
        self.check()


if __name__ == "__main__":
    unittest.main()
