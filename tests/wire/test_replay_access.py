"""Who may talk to a replay: tokens, users of the machine, web pages in browsers, and who steers."""

import contextlib
import http.client
import json
import os
import signal
import socket
import stat
import subprocess
import threading
import unittest

from http2_raw import DATA, END_STREAM, HEADERS, Http2
from replays import DEADLINE_S, KUBETAPE, Case, obj
from writing import MAPS, config_map, tape

NOBODY = 65534
ACCOUNTS = {"version": "v1", "resource": "serviceaccounts", "kind": "ServiceAccount", "namespaced": True}
PODS = "/api/v1/pods"
UPGRADE = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}


def bearer(token):
    return {"Authorization": "Bearer " + token}


def ctl(*words):
    return subprocess.run([KUBETAPE, "ctl", *words], capture_output=True, text=True, timeout=DEADLINE_S, check=False)


class Access(Case):

    def begin(self, *options, plain=True, **more):
        return self.replay(tape(), "--wait-watchers", "0", *options, plain=plain, **more)

    def status(self, r, target=PODS, **headers):
        return r.request("GET", target, {k.replace("_", "-"): v for k, v in headers.items()})[0]


class Tokens(Access):

    def test_programs_of_the_same_user_need_none_and_a_wrong_one_is_refused(self):
        for plain in (True, False):
            r = self.begin(plain=plain)
            self.assertEqual(self.status(r), 200)
            self.assertEqual(self.status(r, Authorization="Bearer "), 200)  # an empty variable in a script
            self.assertEqual(self.status(r, **bearer(r.token())), 200)
            self.assertEqual(self.status(r, Authorization="bearer " + r.token()), 200)
            for wrong in ("wrong", r.token()[:-1], r.token() + "0", "replay"):
                status, _, body = r.request("GET", PODS, bearer(wrong))
                self.assertEqual((status, json.loads(body)), (401, {"kind": "Status", "apiVersion": "v1", "metadata": {},
                    "status": "Failure", "message": "Unauthorized", "reason": "Unauthorized", "code": 401}))

    def test_each_replay_has_another_one(self):
        one, other = self.begin(), self.begin()
        self.assertGreaterEqual(len(one.token()), 43)  # 256 bits
        self.assertEqual(self.status(other, **bearer(one.token())), 401)
        self.assertNotIn(one.token(), one.control())

    def test_tokens_that_it_has_given_out_open_it_and_no_other(self):
        made = tape().listed(ACCOUNTS, 100, [obj(ACCOUNTS, "robot", 60)])
        one, other = (self.replay(made, "--wait-watchers", "0") for _ in range(2))
        status, _, body = one.request("POST", "/api/v1/namespaces/default/serviceaccounts/robot/token",
            {"Content-Type": "application/json"}, json.dumps({"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "spec": {}}))
        self.assertEqual(status, 201)
        token = json.loads(body)["status"]["token"]
        self.assertEqual([self.status(one, **bearer(t)) for t in (token, token[:-1] + "x", "x" + token, token.split(".")[0])], [200, 401, 401, 401])
        self.assertEqual(self.status(other, **bearer(token)), 401)

    def test_a_token_file_makes_everybody_need_it(self):
        path = os.path.join(self.folder, "token")
        with open(path, "w") as f:
            f.write("my-token.of_mine\n")
        r = self.begin("--token-file", path)
        self.assertEqual(r.token(), "my-token.of_mine")
        self.assertEqual([self.status(r), self.status(r, **bearer("my-token.of_mine")), self.status(r, **bearer("x"))], [401, 200, 401])

    def test_a_token_file_without_a_token_is_no_replay(self):
        path = os.path.join(self.folder, "token")
        for text, problem in (("", "no token in"), (" \n", "no token in"), ("a b", "byte 0x20"), ("x" * 5000, "more than 4096 bytes"), (None, "cannot read")):
            if text is None:
                os.unlink(path)
            else:
                with open(path, "w") as f:
                    f.write(text)
            done = subprocess.run([KUBETAPE, "replay", self.tape(tape()), "--token-file", path], capture_output=True, text=True,
                timeout=DEADLINE_S, check=False)
            self.assertIn(done.returncode, (1, 2))
            self.assertIn(problem, done.stderr)

    def test_anonymous_lets_everybody_in_with_any_token(self):
        r = self.begin("--anonymous")
        self.assertEqual([self.status(r), self.status(r, **bearer("x"))], [200, 200])
        done = subprocess.run([KUBETAPE, "replay", self.tape(tape()), "--anonymous", "--token-file", "x"], capture_output=True,
            text=True, timeout=DEADLINE_S, check=False)
        self.assertEqual(done.returncode, 2, done.stderr)

    def test_beyond_loopback_everybody_is_served_and_standard_error_says_so(self):
        for options, told in ((["--listen", "0.0.0.0:0"], True), (["--listen", "0.0.0.0:0", "--anonymous"], False), ([], False)):
            r = self.begin(*options)
            self.assertEqual("everybody who reaches" in r.stderr(), told, r.stderr())
            self.assertEqual(self.status(r), 200)


@unittest.skipIf(os.getuid() != 0, "takes root, to be somebody else")
class OtherUsers(Access):

    def as_nobody(self, ask, *arguments):
        """What the function returns in a process of another user."""
        reads, writes = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
                os.write(writes, ask(*arguments).encode())
            finally:
                os._exit(0)
        os.close(writes)
        with os.fdopen(reads) as f:
            said = f.read()
        os.waitpid(child, 0)
        return said

    @staticmethod
    def ask(host, port, token=None):
        c = http.client.HTTPConnection(host, port, timeout=DEADLINE_S)
        c.request("GET", PODS, headers=bearer(token) if token else {})
        return str(c.getresponse().status)

    @staticmethod
    def steer(port):
        with socket.socket(socket.AF_UNIX) as s:
            s.connect("\0kubetape-control-%d" % port)
            s.sendall(b"POST /kubetape/v1/pause HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
            return s.recv(12).decode()

    def test_they_need_the_token(self):
        r = self.begin()
        self.assertEqual(self.as_nobody(self.ask, "127.0.0.1", r.port), "401")
        self.assertEqual(self.as_nobody(self.ask, "127.0.0.1", r.port, r.token()), "200")
        self.assertIn("a request of user 65534 was refused", r.stderr())

    def test_also_over_ipv6(self):
        with contextlib.closing(socket.socket(socket.AF_INET6)) as s:
            try:
                s.bind(("::1", 0))
            except OSError:
                self.skipTest("no IPv6 here")
            port = s.getsockname()[1]
        listening = subprocess.Popen([KUBETAPE, "replay", self.tape(tape()), "--plain", "--listen", "[::1]:%d" % port],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            self.assertIn("serving", listening.stdout.readline())
            self.assertEqual(self.as_nobody(self.ask, "::1", port), "401")
            with socket.create_connection(("::1", port)) as s:
                s.sendall(b"GET /version HTTP/1.1\r\nHost: [::1]\r\n\r\n")
                self.assertTrue(s.recv(100).startswith(b"HTTP/1.1 200"))
        finally:
            listening.terminate()
            listening.wait(DEADLINE_S)
            listening.stdout.close()

    def test_they_cannot_steer_by_the_control_socket(self):
        r = self.begin()
        self.assertEqual(self.as_nobody(self.steer, r.port), "HTTP/1.1 401")


class Names(Access):
    OURS = ("127.0.0.1", "127.0.0.1:80", "[::1]:80", "::1", "localhost", "localhost:1", "LOCALHOST.", "a.localhost", "replay", "replay:80",
        "10.0.0.1", "host.docker.internal", "x.y.svc", "x.y.svc.cluster.local", "kind.other.example", "")
    FOREIGN = ("evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example", "evil.example.", "svc.evil", "x.internal.evil",
        "kind.other.example.evil", "127.0.0.1.nip.io", "-.a")

    def test_only_names_that_no_site_of_the_internet_has_are_ours(self):
        r = self.begin("--host", "kind.other.example", "--host", "second.example")
        for host in self.OURS:
            self.assertEqual(self.status(r, Host=host), 200, host)
        for host in self.FOREIGN:
            status, _, body = r.request("GET", PODS, {"Host": host})
            self.assertEqual((status, json.loads(body)["kind"]), (421, "Status"), host)
            self.assertIn("--host", json.loads(body)["message"])
            self.assertEqual(self.status(r, Host=host, **bearer(r.token())), 200, host)

    def test_the_same_over_http2(self):
        h = Http2(self.begin())
        answers = []
        for authority in ("127.0.0.1", "evil.example"):
            h.ask("GET", "/version", {"user-agent": "x"}, authority=authority)
            frames = h.until(lambda f: f[0] == DATA and f[1] & END_STREAM)
            answers.append(b'"code":421' in b"".join(f[3] for f in frames))
            self.assertEqual(frames[0][0], HEADERS)
        self.assertEqual(answers, [False, True])


class Pages(Access):

    def test_a_page_of_another_site_reads_and_writes_nothing(self):
        r = self.begin("--write", "overlay")
        own = "http://127.0.0.1:%d" % r.port
        for headers in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": own + "0"}, {"Origin": own.replace("http", "https")},
                {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}):
            self.assertEqual(r.request("GET", PODS, headers)[0], 403, headers)
            self.assertEqual(r.request("GET", PODS + "?watch=1", {**headers, **UPGRADE})[0], 403, headers)
            for kind in ("text/plain", "application/x-www-form-urlencoded", None):
                status = r.request("POST", MAPS, {**headers, **({"Content-Type": kind} if kind else {})}, json.dumps(config_map("new")))[0]
                self.assertEqual(status, 403, headers)
        self.assertEqual(self.status(r, MAPS + "/new"), 404)

    def test_one_of_its_own_does_and_so_does_who_has_the_token(self):
        r = self.begin()
        self.assertEqual(self.status(r, Origin="http://127.0.0.1:%d" % r.port, Sec_Fetch_Site="same-origin"), 200)
        self.assertEqual(self.status(r, Sec_Fetch_Site="none"), 200)
        self.assertEqual(self.status(r, Origin="http://localhost:8001", **bearer(r.token())), 200)

    def test_what_a_page_may_send_without_asking_is_no_object(self):
        r = self.begin("--write", "overlay")
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
            self.assertEqual(r.request("POST", MAPS, {"Content-Type": kind}, json.dumps(config_map("new")))[0], 415)


class Control(Access):

    def test_through_the_port_it_takes_its_own_token(self):
        r = self.begin()
        path = r.control()[len("http://127.0.0.1:%d" % r.port):]
        token = path.split("=")[1]
        c = r.connect()
        answers = []
        for headers, target in (({}, "/kubetape/v1/status"), (bearer(r.token()), "/kubetape/v1/status"), ({}, "/kubetape/v1/status?token=x"),
                (bearer(token), "/kubetape/v1/status"), ({}, path), ({"Host": "evil.example"}, path), (bearer(token), PODS)):
            c.request("GET", target, headers=headers)
            answer = c.getresponse()
            answer.read()
            answers.append(answer.status)
        c.close()
        self.assertEqual(answers, [401, 401, 401, 200, 200, 200, 401])

    def test_beside_the_port_nothing_else_is_served(self):
        r = self.begin(plain=False)
        for path, line in ((PODS, b"HTTP/1.1 404"), ("/kubetape/v1/status", b"HTTP/1.1 200")):
            with socket.socket(socket.AF_UNIX) as s:
                s.connect("\0kubetape-control-%d" % r.port)
                s.sendall(b"GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" % path.encode())
                self.assertEqual(s.recv(12), line)

    def test_the_run_file_does_not_keep_the_token(self):
        run = os.path.join(self.folder, "x.run")
        r = self.begin("--run", run)
        token = r.control().split("=")[1]
        self.assertEqual(ctl(r.control(), "status").returncode, 0)
        c = r.connect()
        c.request("GET", "/kubetape/v1/status?token=" + token)
        self.assertEqual(c.getresponse().status, 200)
        c.close()
        r.stop()
        with open(run, "rb") as f:
            stored = f.read()
        self.assertIn(b"/kubetape/v1/status", stored)
        self.assertNotIn(token.encode(), stored)

    def test_ctl_takes_every_form_of_the_address(self):
        for plain in (True, False):
            r = self.begin(plain=plain)
            url = "%s://127.0.0.1:%d" % ("http" if plain else "https", r.port)
            for address in (str(r.port), "127.0.0.1:%d" % r.port, "localhost:%d" % r.port, url, url + "/", "serving x.tape at " + url, r.control(),
                    r.control().split("&")[0] if plain else r.control(), "control at " + r.control()):
                done = ctl(address, "status")
                self.assertEqual(done.returncode, 0, (address, done.stderr))

    def test_ctl_tells_the_replay_from_others_by_its_certificate(self):
        r = self.begin(plain=False)
        address, fingerprint = r.control().split("&certificate=")
        self.assertEqual(ctl(r.control(), "status").returncode, 0)
        other = fingerprint[:-1] + ("0" if fingerprint[-1] != "0" else "1")
        with Forward(r.port) as port:  # where nobody is beside the port
            there = address.replace(str(r.port), str(port))
            self.assertEqual(ctl(there + "&certificate=" + fingerprint, "status").returncode, 0)
            done = ctl(there + "&certificate=" + other, "status")
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1), done.stderr)
            done = ctl(there, "status")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("whole control address", done.stderr)

    def test_ctl_does_not_wait_without_end(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            s.listen()
            port = s.getsockname()[1]
            done = ctl("http://127.0.0.1:%d/kubetape/v1/?token=x" % port, "status", "--timeout", "200ms")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no replay of this machine serves at port", done.stderr)
        done = ctl("192.0.2.1:1", "status")
        self.assertEqual(done.returncode, 2)
        self.assertIn("'192.0.2.1' is not this machine", done.stderr)


class Forward:
    """Another port that leads to the same server; a context manager."""

    def __init__(self, port):
        self.port = port

    def __enter__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.accept, daemon=True).start()
        return self.listener.getsockname()[1]

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self.listener.accept()
                far = socket.create_connection(("127.0.0.1", self.port))
                for a, b in ((near, far), (far, near)):
                    threading.Thread(target=self.pump, args=(a, b), daemon=True).start()

    @staticmethod
    def pump(a, b):
        with contextlib.suppress(OSError):
            while data := a.recv(65536):
                b.sendall(data)
            b.shutdown(socket.SHUT_WR)

    def __exit__(self, *failure):
        self.listener.close()


class Kubeconfig(Access):

    def start(self, *options, folder=None, child=None):
        command = [KUBETAPE, "replay", self.tape(tape()), "--plain", *options, *(["--", *child] if child else [])]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL,
            env={**os.environ, "TMPDIR": folder or self.folder})

    def test_a_temporary_one_is_in_a_folder_that_nobody_can_foresee_and_goes_with_the_replay(self):
        folder = os.path.join(self.folder, "tmp")
        os.mkdir(folder)
        self.addCleanup(signal.signal, signal.SIGHUP, signal.signal(signal.SIGHUP, signal.SIG_DFL))  # also under nohup
        for end in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            p = self.start(folder=folder)
            self.assertIn("serving", p.stdout.readline())
            made = os.listdir(folder)
            self.assertEqual([stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode) for name in made], [0o700])
            self.assertNotIn(str(p.pid), made[0])
            p.send_signal(end)
            p.communicate(timeout=DEADLINE_S)
            self.assertEqual((p.returncode, os.listdir(folder)), (0, []))

    def test_it_goes_also_when_the_command_cannot_be_run(self):
        folder = os.path.join(self.folder, "tmp")
        os.mkdir(folder)
        p = self.start(folder=folder, child=["/no/such/program"])
        p.communicate(timeout=DEADLINE_S)
        self.assertEqual((p.returncode, os.listdir(folder)), (1, []))

    def test_what_lies_where_it_is_written_is_neither_followed_nor_kept(self):
        victim, path = os.path.join(self.folder, "victim"), os.path.join(self.folder, "kc")
        with open(victim, "w") as f:
            f.write("precious")
        os.symlink(victim, path + ".part")
        with open(path, "w") as f:
            f.write("old")
        os.chmod(path, 0o666)
        p = self.start("--kubeconfig", path, child=["true"])
        p.communicate(timeout=DEADLINE_S)
        with open(victim) as f:
            self.assertEqual(f.read(), "precious")
        with open(path) as f:
            self.assertIn("token", f.read())
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        self.assertEqual(sorted(n for n in os.listdir(self.folder) if n.startswith("kc")), ["kc", "kc.part"])

    def test_the_command_is_told_how_to_steer(self):
        p = self.start("--wait-watchers", "0", child=["sh", "-c", '"$0" ctl "$KUBETAPE_CONTROL" pause', KUBETAPE])
        out, err = p.communicate(timeout=DEADLINE_S)
        self.assertEqual(p.returncode, 0, err)
        self.assertRegex(out, "(?m)^(paused|ended) at event")


if __name__ == "__main__":
    unittest.main()
