"""What the server says of itself: OpenAPI documents, the requests for them, connections that are dropped."""

import http.client
import json
import os
import re
import subprocess
import unittest

from recording import KUBETAPE, RecordTest, plain_rows
from waiting import wait_for

PROTOBUF = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"


class OpenApi(RecordTest):
    def setUp(self):
        super().setUp()
        self.hashes = {"api/v1": "AA", "apis/apps/v1": "BB"}
        self.api.handlers["/openapi/v3"] = lambda x: x.json({"paths": {
            name: {"serverRelativeURL": f"/openapi/v3/{name}?hash={h}"} for name, h in self.hashes.items()}})
        for name in self.hashes:
            self.api.handlers["/openapi/v3/" + name] = self.answer

    def body(self, name, is_protobuf):
        if is_protobuf:
            return b"\x0a\x053.0.0\x12\x00" + (name + self.hashes[name]).encode()
        return b'{"openapi":"3.0.0","info":{"title":"%s %s"}}\n' % (name.encode(), self.hashes[name].encode())

    def answer(self, x):
        name = x.request.path[len("/openapi/v3/"):]
        is_protobuf = "protobuf" in x.request.headers["accept"]
        x.body(self.body(name, is_protobuf), content_type=PROTOBUF if is_protobuf else "application/json",
               headers=[f'Etag: "{self.hashes[name]}"'])

    def asked(self):
        return [r.target for r in self.api.requests if r.path.startswith("/openapi/v3/")]

    def index_requests(self):
        return [r for r in self.api.requests if r.path == "/openapi/v3"]

    def kept(self):
        return set(plain_rows(self.tape, "SELECT path, variant, etag FROM document WHERE path LIKE '/openapi/v3/%'"))

    def test_every_document_is_kept_once_in_both_forms(self):
        recording = self.record().ready(1)
        wait_for(lambda: len(self.kept()) == 4, "the documents")
        recording.stop()
        self.assertEqual(sorted(self.kept()), [(f"/openapi/v3/{n}", v, f'"{h}"') for n, h in self.hashes.items()
                                               for v in ("", "protobuf")])
        self.assertIn("/openapi/v3/apis/apps/v1?hash=BB", self.asked())
        rows = recording.query("SELECT purpose, end_reason, http_status FROM connections WHERE target LIKE "
                               "'/openapi/v3/api/v1?hash=AA'")
        self.assertEqual(rows, [{"purpose": "openapi", "end_reason": "complete", "http_status": 200}] * 2)

    def test_going_on_with_a_tape_asks_only_for_what_is_new(self):
        recording = self.record().ready(1)
        wait_for(lambda: len(self.kept()) == 4, "the documents")
        recording.stop()
        before = len(self.asked())
        self.hashes["apis/apps/v1"] = "CC"
        recording = self.record().ready(1)
        wait_for(lambda: len(self.kept()) == 6, "the new documents")
        recording.stop()
        self.assertEqual(self.asked()[before:], ["/openapi/v3/apis/apps/v1?hash=CC"] * 2)

    def test_a_document_that_follows_its_definition_later_is_kept(self):
        crds = self.api.add("customresourcedefinitions", "CustomResourceDefinition", "apiextensions.k8s.io",
                            namespaced=False)
        self.record("--all").ready(2)
        wait_for(lambda: len(self.kept()) == 4, "the documents")
        rounds = len(self.index_requests())
        crds.put("crontabs.stable.example.com")
        self.api.add("crontabs", "CronTab", "stable.example.com", custom=True)
        wait_for(lambda: len(self.index_requests()) > rounds, "a look at what is offered now")
        self.api.handlers["/openapi/v3/apis/stable.example.com/v1"] = self.answer
        self.hashes["apis/stable.example.com/v1"] = "EE"
        wait_for(lambda: len(self.kept()) == 6, "the document of the definition")

    def test_a_change_of_the_hash_fetches_the_document_again(self):
        crds = self.api.add("customresourcedefinitions", "CustomResourceDefinition", "apiextensions.k8s.io",
                            namespaced=False)
        self.record("--all").ready(2)
        wait_for(lambda: len(self.kept()) == 4, "the documents")
        self.hashes["api/v1"] = "DD"
        crds.put("crontabs.stable.example.com")  # makes the recorder look again
        self.api.add("crontabs", "CronTab", "stable.example.com", custom=True)
        wait_for(lambda: len(self.kept()) == 6, "the new documents")

    def test_a_form_that_the_server_does_not_have_is_left_out(self):
        self.api.handlers["/openapi/v3/api/v1"] = lambda x: (
            x.status(406, "NotAcceptable") if "protobuf" in x.request.headers["accept"] else self.answer(x))
        recording = self.record().ready(1)
        wait_for(lambda: len(self.kept()) == 3, "the documents")
        recording.stop()
        self.assertEqual(recording.ends("openapi").count("http_406"), 1)

    def test_a_server_that_dies_is_not_asked_for_all_documents_in_a_row(self):
        self.api.handlers["/openapi/v3/api/v1"] = lambda x: x.reset()
        recording = self.record().ready(1)

        def rows():
            return recording.query("SELECT target, next_delay_ns / 1000000 AS delay_ms FROM connections "
                                   "WHERE purpose='openapi' ORDER BY connection")

        wait_for(lambda: len(rows()) >= 3, "attempts")
        self.api.handlers["/openapi/v3/api/v1"] = self.answer
        wait_for(lambda: len(self.kept()) == 4, "the documents")
        recording.stop()
        self.assertEqual({r["target"] for r in rows()[:4]}, {"/openapi/v3/api/v1?hash=AA"})
        for i, row in enumerate(rows()[:3]):
            self.assertTrue(20 << i <= row["delay_ms"] <= 40 << i, rows())
        self.assertEqual({r["delay_ms"] for r in rows()[-3:]}, {None})

    def test_a_document_that_the_server_fails_at_does_not_keep_it_from_giving_the_others(self):
        self.api.handlers["/openapi/v3/api/v1"] = lambda x: x.status(503, "ServiceUnavailable")
        recording = self.record().ready(1)
        wait_for(lambda: len(self.kept()) == 2, "the documents")
        recording.stop()
        self.assertEqual(self.asked()[:3], [*["/openapi/v3/api/v1?hash=AA"] * 2, "/openapi/v3/apis/apps/v1?hash=BB"])

    def test_a_replay_gives_them_byte_for_byte(self):
        recording = self.record().ready(1)
        wait_for(lambda: len(self.kept()) == 4, "the documents")
        recording.stop()
        replay = subprocess.Popen([KUBETAPE, "replay", self.tape, "--plain", "--listen", "127.0.0.1:0", "--kubeconfig",
                                   os.path.join(self.folder, "config")], stdout=subprocess.PIPE, text=True)
        self.addCleanup(replay.stdout.close)
        self.addCleanup(replay.wait)
        self.addCleanup(replay.kill)
        port = int(re.search(r":(\d+)$", replay.stdout.readline().strip()).group(1))

        def get(path, accept):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            connection.request("GET", path, headers={"Accept": accept})
            answer = connection.getresponse()
            result = answer.status, answer.headers["Content-Type"], answer.read()
            connection.close()
            return result

        index = json.loads(get("/openapi/v3", "application/json")[2])
        for name in self.hashes:
            url = index["paths"][name]["serverRelativeURL"]
            self.assertEqual(get(url, "application/json"), (200, "application/json", self.body(name, False)))
            self.assertEqual(get(url, PROTOBUF), (200, PROTOBUF, self.body(name, True)))


class Requests(RecordTest):
    def test_the_requests_of_discovery_are_connections_of_no_stream(self):
        recording = self.record().ready(1)
        recording.stop()
        rows = recording.query("SELECT target, stream, resource, http_status, end_reason FROM connections "
                               "WHERE purpose='discovery' ORDER BY connection")
        self.assertEqual({(r["stream"], r["resource"]) for r in rows}, {(None, "")})
        found = {r["target"]: r["end_reason"] for r in rows}
        self.assertEqual((found["/apis"], found["/version"], found["/openapi/v3"]), ("complete", "complete", "http_404"))

    def test_a_connection_that_is_dropped_before_the_answer_is_tried_again(self):
        failures = {"/api": 2, "/version": 1}

        def drop(path):
            def handler(x):
                failures[path] -= 1
                if failures[path] == 0:
                    del self.api.handlers[path]
                x.reset()
            return handler

        for path in failures:
            self.api.handlers[path] = drop(path)
        self.record().ready(1)

    def test_a_server_that_drops_every_connection_is_named(self):
        self.api.handlers["/apis"] = lambda x: x.cut()
        recording = self.record()
        self.assertEqual(recording.wait(), 1)
        self.assertIn("cannot reach server '127.0.0.1:", recording.stderr)


if __name__ == "__main__":
    unittest.main()
