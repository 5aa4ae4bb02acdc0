"""Writes of much, which are done beside those of others."""

import contextlib
import json
import os
import select
import socket
import sqlite3
import threading
import unittest

from replays import DEADLINE_S, TABLE
from writing import MAPS, MERGE_PATCH, PODS_PATH, STRATEGIC_PATCH, Writes, config_map

MANY = {"k%06d" % i: "v" for i in range(150_000)}


class LongWrites(Writes):

    def large(self, name="large", data=None):
        return config_map(name, data=data or {"k%04d" % i: "v" * 20 for i in range(4000)})

    def test_an_object_is_made_changed_watched_and_deleted_as_a_small_one(self):
        self.start("--write", "overlay")
        with self.server.watch(MAPS + "?watch=1&resourceVersion=" + self.rv(MAPS)) as watch:
            status, made = self.send("POST", MAPS, self.large())
            self.assertEqual((status, self.send("POST", MAPS, self.large())[0]), (201, 409))
            made["data"]["k0000"] = "changed"
            status, put = self.send("PUT", MAPS + "/large", made)
            self.assertEqual((status, put["data"]["k0000"]), (200, "changed"))
            self.error(self.send("PUT", MAPS + "/large", made), 409, "Conflict")
            status, patched = self.send("PATCH", MAPS + "/large", {"metadata": {"labels": {"a": "b"}}}, MERGE_PATCH)
            self.assertEqual((status, patched["metadata"]["labels"]), (200, {"a": "b"}))
            self.assertEqual(self.get(MAPS + "/large")[1], patched)
            self.assertEqual(self.send("PATCH", MAPS + "/large", {"metadata": {"labels": {"c": "d"}}}, MERGE_PATCH,
                Accept=TABLE)[1]["kind"], "Table")
            self.assertEqual(self.send("DELETE", MAPS + "/large")[0], 200)
            self.assertEqual([e["type"] for e in watch.take(5)], ["ADDED", "MODIFIED", "MODIFIED", "MODIFIED", "DELETED"])
        self.assertEqual(self.get(MAPS + "/large")[0], 404)

    def test_what_is_wrong_with_it_is_told(self):
        self.start("--write", "overlay")
        self.error(self.send("POST", MAPS, {**self.large(), "kind": "Pod"}), 400, "BadRequest")
        self.error(self.send("POST", MAPS, b"{" + b" " * 100_000), 400, "BadRequest")
        self.error(self.send("POST", MAPS + "?dryRun=no", self.large()), 422, "Invalid")
        self.error(self.send("PATCH", MAPS + "/none", self.large(), MERGE_PATCH), 404, "NotFound")

    def test_no_change_is_lost_when_small_ones_come_between(self):
        """A patch is large although its object is small: it is done beside the loop, and the others are not."""
        self.start("--write", "overlay")
        self.send("POST", MAPS, config_map("contended", data={}))
        nothing = {"gone%05d" % i: None for i in range(3000)}
        told = []

        def send(who, padding):
            for i in range(30):
                body = {"data": {"%s%02d" % (who, i): "", **padding}}
                told.append(self.send("PATCH", MAPS + "/contended", body, MERGE_PATCH)[0])
        threads = [threading.Thread(target=send, args=who) for who in (("a", nothing), ("b", nothing), ("c", {}), ("d", {}))]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        kept = self.get(MAPS + "/contended")[1]["data"]
        self.assertLessEqual(set(told), {200, 409})
        self.assertEqual(len(kept), told.count(200))
        self.assertEqual(len([k for k in kept if k[0] in "cd"]), 60)

    def test_others_are_served_meanwhile(self):
        self.start("--write", "overlay")
        self.assertEqual(self.send("POST", MAPS, self.large(data=MANY))[0], 201)
        patch = json.dumps({"data": MANY}).encode()
        with contextlib.closing(socket.create_connection((self.server.host, self.server.port), timeout=DEADLINE_S)) as s:
            for _ in range(5):
                s.sendall(b"PATCH %s/large HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s" % (
                    MAPS.encode(), STRATEGIC_PATCH.encode(), len(patch), patch))
                self.assertEqual(self.get(PODS_PATH)[0], 200)
                self.assertEqual(select.select([s], [], [], 0)[0], [])
                s.recv(1)
                while select.select([s], [], [], 0.1)[0]:
                    s.recv(1 << 20)

    def test_a_client_that_goes_leaves_its_write_behind(self):
        run = os.path.join(self.folder, "x.run")
        self.start("--write", "overlay", "--run", run)
        body = json.dumps(self.large("left", MANY)).encode()
        with self.server.watch(MAPS + "?watch=1&resourceVersion=" + self.rv(MAPS)) as watch:
            with contextlib.closing(socket.create_connection((self.server.host, self.server.port))) as s:
                s.sendall(b"GET /version HTTP/1.1\r\nHost: x\r\n\r\n")
                s.recv(100_000)  # by now it knows who asks
                s.sendall(b"POST %s HTTP/1.1\r\nHost: x\r\nUser-Agent: goes\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (
                    MAPS.encode(), len(body), body))
            self.assertEqual(watch.take(1)[0]["object"]["metadata"]["name"], "left")
        self.assertEqual(self.server.stop(), 0)
        with contextlib.closing(sqlite3.connect(run)) as db:
            self.assertEqual(db.execute("SELECT verb, name, status, client, body FROM writes").fetchall(),
                [("create", "left", 201, "goes", body.decode())])

    def test_many_objects_are_deleted_at_once(self):
        self.start("--write", "overlay")
        for i in range(250):
            self.send("POST", MAPS, config_map("m%03d" % i, metadata={"labels": {"odd": str(i % 2)}}))
        status, answer = self.send("DELETE", MAPS + "?labelSelector=odd%3D1")
        self.assertEqual((status, answer["kind"], len(answer["items"])), (200, "ConfigMapList", 125))
        self.assertEqual(len(self.get(MAPS)[1]["items"]), 2 + 125)

    def test_a_replay_that_is_told_to_end_does_not_wait_for_all_of_them(self):
        self.start("--write", "overlay")
        body = json.dumps(self.large(data=MANY)).encode()
        for _ in range(8):
            s = socket.create_connection((self.server.host, self.server.port))
            self.addCleanup(s.close)
            s.sendall(b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (
                MAPS.encode(), len(body), body))
        self.assertEqual(self.server.stop(), 0)


if __name__ == "__main__":
    unittest.main()
