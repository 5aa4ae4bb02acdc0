"""Clients that mean no good, or know no better, and what others notice of them."""

import contextlib
import json
import os
import resource
import select
import signal
import socket
import sqlite3
import struct
import subprocess
import threading
import time
import unittest

from http2_raw import CLOSED, END_HEADERS, END_STREAM, HEADERS, RESET, RST_STREAM, Http2, header
from recording import preload
from replays import DEADLINE_S, KUBETAPE, PODS, Case, Tape, obj
from writing import APPLY_PATCH, MAPS, MERGE_PATCH, PROGRAM, Writes, config_map, tape

# What a name may hold that a header may not, as JSON writes it.
ODD = ("\\u007f", "\x7f", "\\u0085", "\\n", "\\r\\nX-Injected: 1", "\\u001f", "\\\"", "\\\\", "\\ud83d\\ude00")


class Headers(Writes):

    def ask(self, method, target, body, content_type="application/json"):
        status, headers, _ = self.server.request(method, target, {**PROGRAM, "Content-Type": content_type}, body.encode())
        self.assertNotIn("X-Injected", headers)
        return status, headers.get("Warning")

    def test_names_of_unknown_fields_cannot_spoil_the_header_that_warns_of_them(self):
        self.start("--write", "overlay")
        for i, odd in enumerate(ODD):
            named = '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x%d"},"z%sz":1}' % (i, odd)
            twice = '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"y%d"},"data":{"z%sz":"1","z%sz":"2"}}' % (i, odd, odd)
            for status, warning in (self.ask("POST", MAPS, named), self.ask("POST", MAPS + "?fieldValidation=Warn", twice),
                    self.ask("PATCH", MAPS + "/x%d" % i, '{"a%s":1}' % odd, MERGE_PATCH),
                    self.ask("PATCH", MAPS + "/x%d?fieldManager=m&force=true" % i, named, APPLY_PATCH)):
                self.assertIn(status, (200, 201), odd)
                self.assertRegex(warning, r'^299 - "[^\x00-\x1f\x7f]*"$', odd)

    def test_nor_over_http2(self):
        self.start("--write", "overlay")
        body = '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x"},"z\\u007fz":1}'
        done = subprocess.run(["curl", "-sS", "--http2-prior-knowledge", "--noproxy", "*", "-D", "-", "-o", "/dev/null", "-H",
            "Content-Type: application/json", "-d", body, "http://127.0.0.1:%d%s" % (self.server.port, MAPS)],
            capture_output=True, text=True, timeout=60, check=True)
        self.assertRegex(done.stdout, "^HTTP/2 201")
        self.assertIn('warning: 299 - "unknown field \\"z z\\""', done.stdout)

    def test_quotes_in_a_warning_are_told_apart_from_those_around_it(self):
        self.start("--write", "overlay")
        body = json.dumps({**config_map("q"), 'a"b\\c': 1})
        self.assertEqual(self.ask("POST", MAPS, body), (201, r'299 - "unknown field \"a\"b\\c\""'))


class Descriptors(Case):
    """A replay that may have few files open."""
    MANY = 120

    def begin(self, limit=64):
        return self.replay(tape(), "--wait-watchers", "0", through=("sh", "-c", 'ulimit -n %d; exec "$0" "$@"' % limit))

    def idle(self, r, count):
        opened = [socket.create_connection((r.host, r.port), timeout=DEADLINE_S) for _ in range(count)]
        for s in opened:
            self.addCleanup(s.close)
        return opened

    def cpu_s(self, r):
        with open("/proc/%d/stat" % r.process.pid) as f:
            return sum(int(n) for n in f.read().rsplit(")", 1)[1].split()[11:13]) / os.sysconf("SC_CLK_TCK")

    def test_idle_connections_give_way_and_control_always_gets_in(self):
        r = self.begin()
        with r.watch("/api/v1/pods?watch=1&resourceVersion=0") as w:
            w.take(2)
            self.idle(r, self.MANY)
            before = self.cpu_s(r)
            for _ in range(3):
                done = subprocess.run([KUBETAPE, "ctl", str(r.port), "status"], capture_output=True, text=True, timeout=DEADLINE_S, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("watches 1", done.stdout)
                time.sleep(1)
            self.assertLess(self.cpu_s(r) - before, 1.5)  # of three seconds: it does not spin
            self.assertEqual(r.request("GET", "/version")[0], 200)  # the oldest of them has been closed
            self.assertEqual(r.request("GET", "/api/v1/pods")[0], 200)

    def test_connections_that_are_busy_keep_others_waiting_until_they_end(self):
        r = self.begin()
        watches = []
        with contextlib.ExitStack() as stack:
            while len(watches) < 40:  # more are not taken
                watches.append(stack.enter_context(r.watch("/api/v1/pods?watch=1&resourceVersion=0")))
                watches[-1].take(2)
            late = self.idle(r, 20)
            for s in late:
                s.sendall(b"GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        for s in late:
            self.assertTrue(s.recv(100).startswith(b"HTTP/1.1 200"))

    def test_the_replay_takes_as_many_as_it_may_and_its_command_what_we_had(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = min(soft, 100)
        out = subprocess.run([KUBETAPE, "replay", self.tape(tape()), "--plain", "--", "sh", "-c",
            'ulimit -Sn; while grep -Eq "open files +%d " /proc/$PPID/limits; do :; done; '  # it has its own again once we run
            'grep "open files" /proc/$PPID/limits' % wanted], capture_output=True, text=True, timeout=DEADLINE_S, check=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))).stdout.splitlines()
        self.assertEqual(out[1], str(wanted))
        self.assertEqual(int(out[2].split()[3]), min(hard, 65536))


def indexed(name, value):
    """A header that goes into the table of those that can be referred to."""
    assert len(name) < 127 and len(value) < 127 + 128
    return b"\x40" + bytes([len(name)]) + name.encode() + bytes([127, len(value) - 127]) + value.encode()


@unittest.skipIf("san" in os.environ.get("KUBETAPE_BUILD", ""), "a sanitizer keeps what is freed")
class Memory(Case):
    """What requests that never end may keep."""
    FIRST_INDEXED = b"\xbe"

    def memory_mb(self, r, what="VmHWM"):
        with open("/proc/%d/status" % r.process.pid) as f:
            return next(int(line.split()[1]) / 1024 for line in f if line.startswith(what))

    def head(self, *more):
        return b"".join((header(":method", "GET"), header(":scheme", "http"), header(":path", "/version"), header(":authority", "x"), *more))

    def test_few_bytes_that_stand_for_many_end_their_connection(self):
        r = self.replay(tape())
        before = self.memory_mb(r)
        for _ in range(4):
            h = Http2(r)
            h.send(HEADERS, END_HEADERS, 1, self.head(indexed("x-a", "v" * 250)))
            head = self.head(*[self.FIRST_INDEXED] * 120)
            for stream in range(3, 1990, 2):
                h.send(HEADERS, END_HEADERS, stream, head)
            self.assertIn(h.rest()[-1], (RESET, CLOSED))
        self.assertEqual(r.request("GET", "/version")[0], 200)
        self.assertLess(self.memory_mb(r) - before, 200)

    def test_all_connections_together_keep_no_more_than_there_is_room_for(self):
        r = self.replay(tape())
        length = 3 << 20
        told, opened = [], []
        for _ in range(120):
            s = socket.create_connection((r.host, r.port), timeout=DEADLINE_S)
            self.addCleanup(s.close)
            opened.append(s)
            with contextlib.suppress(OSError):
                s.sendall(b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (MAPS.encode(), length) + b"x" * (length - 1))
        deadline = time.monotonic() + DEADLINE_S
        while not told and time.monotonic() < deadline:
            ready, _, _ = select.select(opened, [], [], 1)
            for s in ready:
                with contextlib.suppress(OSError):
                    told.append(s.recv(1000))
        self.assertTrue(told[0].startswith(b"HTTP/1.1 429"), told[0])
        self.assertIn(b"Retry-After: 1\r\n", told[0])
        self.assertEqual(r.request("GET", "/version")[0], 200)

    def test_chunks_of_one_byte_take_no_more_room_than_what_is_in_them(self):
        r = self.replay(tape(), "--write", "overlay")
        body = json.dumps(config_map("chunked", data={"k": "v" * 200_000})).encode()
        with socket.create_connection((r.host, r.port), timeout=DEADLINE_S) as s:
            s.sendall(b"POST %s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n" % MAPS.encode())
            s.sendall(b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n")
            self.assertTrue(s.recv(100).startswith(b"HTTP/1.1 201"))
        self.assertEqual(r.get(MAPS + "/chunked")[1]["data"], {"k": "v" * 200_000})

    def test_answers_that_are_not_read_keep_further_requests_of_their_connection_waiting(self):
        r = self.replay(tape(), "--wait-watchers", "0", "--write", "overlay")
        r.request("POST", MAPS, {"Content-Type": "application/json"}, json.dumps(config_map("large", data={"k": "v" * 1_000_000})))
        before = self.memory_mb(r)
        h = Http2(r, window=0)
        for _ in range(500):
            h.get(MAPS + "/large")
        self.assertEqual(r.request("GET", "/version")[0], 200)
        self.assertLess(self.memory_mb(r) - before, 100)


class TooLarge(Writes):
    """Bodies of more than 3 MB get the answer of a cluster, whenever the client reads it."""
    BODY = json.dumps(config_map("x", data={"k": "v" * 4_000_000})).encode()

    def is_refused(self, status, answer):
        answer = json.loads(answer)
        self.assertEqual((status, answer["reason"], answer["message"]),
            (413, "RequestEntityTooLarge", "Request entity is too large: limit is 3145728"))

    def test_over_http1_and_the_connection_goes_on(self):
        self.start("--write", "overlay")
        c = self.server.connect()
        self.addCleanup(c.close)
        for chunked in (False, True):
            c.request("POST", MAPS, iter([self.BODY]) if chunked else self.BODY, {"Content-Type": "application/json"}, encode_chunked=chunked)
            answer = c.getresponse()
            self.is_refused(answer.status, answer.read())
        c.request("GET", MAPS)
        self.assertEqual(c.getresponse().status, 200)

    def test_over_http2_and_the_connection_goes_on(self):
        self.start("--write", "overlay")
        for _ in range(2):
            done = subprocess.run(["curl", "-sS", "--http2-prior-knowledge", "--noproxy", "*", "-w", "\n%{http_code}", "-H",
                "Content-Type: application/json", "--data-binary", "@-", "http://127.0.0.1:%d%s" % (self.server.port, MAPS)],
                input=self.BODY, capture_output=True, timeout=60, check=True)
            answer, _, status = done.stdout.rpartition(b"\n")
            self.is_refused(int(status), answer)

    def test_a_client_that_asks_whether_to_send_it_is_told_before(self):
        self.start("--write", "overlay")
        with socket.create_connection((self.server.host, self.server.port), timeout=DEADLINE_S) as s:
            s.sendall(b"POST %s HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 4000000\r\n\r\n" % MAPS.encode())
            told = b""
            while piece := s.recv(10000):
                told += piece
        self.assertTrue(told.startswith(b"HTTP/1.1 413 "), told)
        self.assertIn(b"RequestEntityTooLarge", told)

    def test_what_is_far_too_large_is_not_waited_for(self):
        self.start("--write", "overlay")
        with socket.create_connection((self.server.host, self.server.port), timeout=DEADLINE_S) as s:
            s.sendall(b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 400000000\r\n\r\n" % MAPS.encode())
            self.assertTrue(s.recv(100).startswith(b"HTTP/1.1 413 "))


class Reviews(Writes):

    def test_a_question_is_repeated_with_its_answer_unless_it_is_far_too_long(self):
        self.start()
        for members, repeated in ((2, True), (100_000, False)):
            question = {"kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1",
                "spec": {"m%d" % i: "" for i in range(members)}}
            status, answer = self.send("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", question)
            self.assertEqual((status, answer["status"], bool(answer["spec"])), (201, {"allowed": True}, repeated))


class Room(Writes):
    """What clients write has only so much room."""

    def fill(self, prefix, size):
        for i in range(1000):
            status, answer = self.send("POST", MAPS, config_map("%s%03d" % (prefix, i), data={"k": "v" * size}))
            if status != 201:
                return i, status, answer
        return None

    def test_a_full_replay_says_what_a_cluster_says_whose_store_is_full(self):
        for policy in ("overlay", "absorb"):
            self.start("--write", policy, "--max-written", "1M")
            made, status, answer = self.fill("m", 100_000)
            self.assertEqual((made, status, answer["message"]), (10, 500, "etcdserver: mvcc: database space exceeded"), policy)
            self.assertNotIn("reason", answer)
            self.assertEqual(self.server.stderr().count("writes that add to it are refused"), 1)

    def test_what_is_there_can_be_changed_and_deleted_and_that_makes_room(self):
        self.start("--write", "overlay", "--max-written", "1M")
        self.fill("m", 100_000)
        self.fill("small", 10)
        changed = {"data": {"k": "w" * 100_000}}
        self.assertEqual(self.send("PATCH", MAPS + "/m000", changed, MERGE_PATCH)[0], 200)
        self.assertEqual(self.send("PATCH", MAPS + "/m000", {"data": {"more": "w" * 10_000}}, MERGE_PATCH)[0], 500)
        self.assertEqual(self.get(MAPS + "/m000")[1]["data"], changed["data"])
        self.assertEqual(self.send("DELETE", MAPS + "/m001")[0], 200)
        self.assertEqual(self.send("PATCH", MAPS + "/m000", {"data": {"more": "w" * 10_000}}, MERGE_PATCH)[0], 200)

    def test_names_that_come_and_go_take_room_too(self):
        self.start("--write", "overlay", "--max-written", "100k")
        for i in range(1000):
            status = self.send("POST", MAPS, config_map("n%d" % i))[0]
            if status == 500:
                break
            self.assertEqual((status, self.send("DELETE", MAPS + "/n%d" % i)[0]), (201, 200))
        self.assertEqual(status, 500)

    def test_there_may_be_no_limit(self):
        self.start("--write", "overlay", "--max-written", "0")
        for i in range(3):
            self.assertEqual(self.send("POST", MAPS, config_map("m%d" % i, data={"k": "v" * 1_000_000}))[0], 201)


class Time(Case):
    """What takes its time has only so much; the clock is moved."""

    def begin(self):
        clocks = os.path.join(self.folder, "clocks")
        with open(clocks, "wb") as f:
            f.write(bytes(16))
        env = {**preload(self.folder, "other_time"), "KUBETAPE_CLOCKS": clocks}
        r = self.replay(tape(), "--wait-watchers", "0", through=("env", *("%s=%s" % item for item in env.items())))

        def later(seconds):
            with open(clocks, "r+b") as f:
                f.seek(8)
                f.write(struct.pack("=q", seconds * 10**9))
        return r, later

    def ends(self, s):
        with contextlib.suppress(ConnectionResetError):
            self.assertEqual(s.recv(10), b"")

    def test_requests_without_an_end_are_given_up_over_both_versions(self):
        r, later = self.begin()
        h = Http2(r)
        stream = h.ask("POST", MAPS, {"content-type": "application/json"}, b"{", end=False)
        kept = h.get("/api/v1/pods?watch=1&resourceVersion=0")
        h.until(lambda f: f[2] == kept)
        heads = socket.create_connection((r.host, r.port), timeout=DEADLINE_S)
        bodies = socket.create_connection((r.host, r.port), timeout=DEADLINE_S)
        self.addCleanup(heads.close)
        self.addCleanup(bodies.close)
        heads.sendall(b"GET /version HTTP/1.1\r\nHost: x\r\n")
        bodies.sendall(b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{" % MAPS.encode())
        self.assertEqual(r.request("GET", "/version")[0], 200)
        later(20)
        heads.sendall(b"X: trickling\r\n")
        later(35)
        self.ends(heads)
        bodies.sendall(b" ")
        later(65)
        self.ends(bodies)
        frames = h.until(lambda f: f[0] == RST_STREAM)
        self.assertEqual(frames[-1][2], stream)
        with r.watch("/api/v1/pods?watch=1&resourceVersion=0") as w:
            w.take(2)


class Turns(Case):
    """Nobody waits for all that one client has asked for."""

    def served_before(self, ask):
        """How many requests of many are served before one that comes at the same time, and how many in all."""
        made = Tape().listed(PODS, 1000, [obj(PODS, "p%d" % i, i + 1) for i in range(60)])
        run = os.path.join(self.folder, "x.run")
        r = self.replay(made, "--wait-watchers", "0", "--run", run)
        with contextlib.closing(socket.create_connection((r.host, r.port), timeout=DEADLINE_S)) as good:
            good.sendall(b"GET /version?first HTTP/1.1\r\nHost: x\r\n\r\n")
            good.recv(10000)
            wait_for_hostile = ask(r)
            good.sendall(b"GET /version?now HTTP/1.1\r\nHost: x\r\n\r\n")
            r.process.send_signal(signal.SIGCONT)
            self.assertTrue(good.recv(10000).startswith(b"HTTP/1.1 200"))
        wait_for_hostile()
        r.stop()
        with sqlite3.connect(run) as db:
            return db.execute("""SELECT count(*) FILTER (WHERE request < (SELECT request FROM requests WHERE path = '/version?now')),
				count(*) FROM requests WHERE path LIKE '/api/%'""").fetchone()

    def test_a_long_answer_is_sent_in_turns_also_to_one_who_reads_at_once(self):
        notes = {"n%d" % i: i for i in range(500)}  # indenting them takes longer than reading them
        run = os.path.join(self.folder, "x.run")
        r = self.replay(Tape().listed(PODS, 10_000, [obj(PODS, "p%d" % i, i + 1, notes=notes) for i in range(2000)]),
            "--wait-watchers", "0", "--run", run)

        def read():
            with socket.create_connection((r.host, r.port), timeout=DEADLINE_S) as s:
                s.sendall(b"GET /api/v1/pods?pretty=1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                while s.recv(1 << 20):
                    pass
        reader = threading.Thread(target=read)
        with contextlib.closing(r.connect()) as good:
            reader.start()
            while reader.is_alive():
                good.request("GET", "/version")
                good.getresponse().read()
        r.stop()
        with sqlite3.connect(run) as db:
            self.assertGreater(db.execute("""SELECT count(*) FROM requests AS a, requests AS b WHERE a.path = '/version'
				AND b.path LIKE '/api/%' AND a.end_ns BETWEEN b.time_ns AND b.end_ns""").fetchone()[0], 1)

    def test_who_sends_requests_without_waiting_for_answers_is_not_taken_for_slow(self):
        """What is sent waits for its turn again and again, also while the replay looks who has been slow."""
        r = self.replay(tape(), "--wait-watchers", "0")
        count, served = 20_000, []

        def read(s):
            ended, rest = 0, b""
            with contextlib.suppress(ConnectionResetError):
                while ended < count and (piece := s.recv(1 << 20)):
                    rest = (rest + piece)[-(len(piece) + 20):]
                    ended += rest.count(b"HTTP/1.1 200 OK")
                    rest = rest[-14:]
            served.append(ended)
        with contextlib.ExitStack() as stack:
            threads = []
            for _ in range(4):
                s = stack.enter_context(socket.create_connection((r.host, r.port), timeout=DEADLINE_S))
                reader = threading.Thread(target=read, args=(s,))
                writer = threading.Thread(target=self.send_all, args=(s, b"GET /api/v1/pods HTTP/1.1\r\nHost: x\r\n\r\n" * count))
                threads += [reader, writer]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
        self.assertEqual(served, [count] * 4)

    def send_all(self, s, data):
        with contextlib.suppress(OSError):
            s.sendall(data)

    def test_requests_that_come_all_at_once_are_served_in_turns(self):
        def ask(r):
            s = socket.create_connection((r.host, r.port), timeout=DEADLINE_S)
            r.process.send_signal(signal.SIGSTOP)
            s.sendall(b"GET /api/v1/pods HTTP/1.1\r\nHost: x\r\n\r\n" * 1200 +
                b"GET /api/v1/pods HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")

            def wait():
                while s.recv(1 << 20):
                    pass
                s.close()
            return wait
        before, theirs = self.served_before(ask)
        self.assertEqual(theirs, 1201)
        self.assertLess(before, theirs)

    def test_over_http2_too(self):
        def ask(r):
            h = Http2(r)
            h.set((4, 1 << 24))
            h.get("/version")
            h.until(lambda f: f[1] & END_STREAM)
            r.process.send_signal(signal.SIGSTOP)
            for _ in range(900):
                h.get("/api/v1/pods")

            def wait():
                ended = 0
                while ended < 900:
                    ended += h.frame()[1] & END_STREAM
            return wait
        before, theirs = self.served_before(ask)
        self.assertEqual(theirs, 900)
        self.assertLess(before, theirs)


if __name__ == "__main__":
    unittest.main()
