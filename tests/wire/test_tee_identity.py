"""As whom requests pass a tee, what clients are given to find it, and how it ends."""

import base64
import json
import os
import signal
import subprocess
import sys
import unittest

from replays import DEADLINE_S, KUBETAPE
from teeing import RESET, TeeCase

GET = b"GET / HTTP/1.1\r\nHost: x\r\n%s\r\n"


class Identity(TeeCase):
    def kubeconfig(self, server, user, name="config"):
        cluster = {"server": server.url}
        if server.tls:
            cluster["certificate-authority"] = "ca.crt"
        with open(self.path(name), "w") as f:
            json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "c",
                "clusters": [{"name": "c", "cluster": cluster}], "users": [{"name": "u", "user": user}],
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": "shop"}}]}, f)
        return self.path(name)

    def through(self, server, user, *options):
        return self.tee(None, "--kubeconfig", self.kubeconfig(server, user), *options)

    def given(self, tee):
        """The kubeconfig that clients get: its user."""
        with open(tee.kubeconfig) as f:
            config = json.load(f)
        self.assertEqual(config["contexts"][0]["context"]["namespace"], "shop")
        self.assertEqual(os.stat(tee.kubeconfig).st_mode & 0o777, 0o600)
        return config["users"][0]["user"]

    def passed(self, tee, server, *lines):
        """The head that the server gets."""
        client, peer = self.connected(tee, server, ("http/1.1",) if tee.tls else ())
        client.send(GET % b"".join(line + b"\r\n" for line in lines))
        return peer.head().split(b"\r\n")[1:-2]


class ByTheClient(Identity):
    def test_tokens_of_all_sorts_are_the_clients_to_send(self):
        server = self.scripted()
        with open(self.path("token"), "w") as f:
            f.write("from-a-file")
        plugin = {"command": "./plugin", "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never",
            "args": ["a"], "provideClusterInfo": True}
        for user, given in (({"token": "12345"}, {"token": "12345"}),
                ({"tokenFile": "token"}, {"tokenFile": os.path.realpath(self.path("token"))}),
                ({"username": "u", "password": "p"}, {"username": "u", "password": "p"}),
                ({"exec": plugin, "as": "x"}, {"exec": {**plugin, "command": os.path.realpath(self.folder) + "/./plugin"}, "as": "x"})):
            with self.subTest(user=user):
                tee = self.through(server, user)
                self.assertEqual(self.given(tee), given)
                self.assertIn("clients say themselves who they are", tee.stderr())

    def test_what_a_client_says_passes_untouched(self):
        server = self.scripted()
        tee = self.through(server, {"token": "t"})
        said = (b"authorization: Bearer other", b"Impersonate-User: y", b"Cookie: c")
        self.assertEqual(self.passed(tee, server, *said)[1:], list(said))


class ByTheTee(Identity):
    def secret(self, tee):
        user = self.given(tee)
        self.assertEqual(list(user), ["token"])
        return b"Authorization: Bearer " + user["token"].encode()

    def with_certificate(self, *options):
        server = self.scripted(self.server_context(clients=True))
        return server, self.through(server, {"client-certificate": "client.crt", "client-key": "client.key"}, *options)

    def test_a_client_certificate_is_shown_by_the_tee_to_whoever_knows_its_secret(self):
        server, tee = self.with_certificate()
        self.assertIn("with its client certificate: no proxy can pass on that of a client", tee.stderr())
        head = self.passed(tee, server, self.secret(tee), b"X: 1")
        self.assertEqual(head[1:], [b"X: 1"])
        self.assertEqual(dict(x[0] for x in server.peers[0].socket.getpeercert()["subject"])["commonName"], "client")

    def test_a_client_without_the_secret_is_cut_before_anything_is_sent(self):
        for said in ((), (b"Authorization: Bearer wrong",), (b"Authorization: Basic eDp5",)):
            with self.subTest(said=said):
                server, tee = self.with_certificate()
                client, peer = self.connected(tee, server, ("http/1.1",))
                client.send(GET % b"".join(line + b"\r\n" for line in said))
                self.assertEqual(client.to_the_end(), RESET)
                peer.to_the_end()
                self.assertEqual(peer.received, b"")
                self.assertIn("without the tee's own token", tee.stderr())

    def test_what_is_not_http_is_cut_where_the_tee_says_who_asks(self):
        server, tee = self.with_certificate()
        client, peer = self.connected(tee, server, ("http/1.1",))
        client.send(b"nonsense\r\n\r\n")
        self.assertEqual(client.to_the_end(), RESET)
        peer.to_the_end()
        self.assertEqual(peer.received, b"")

    def test_the_tee_says_it_with_a_token_when_told_to(self):
        server = self.scripted()
        with open(self.path("token"), "w") as f:
            f.write("first")
        tee = self.through(server, {"tokenFile": "token"}, "--identity", "own")
        self.assertEqual(self.passed(tee, server, self.secret(tee))[1:], [b"authorization: Bearer first"])

    def test_a_credential_plugin_is_run_by_the_tee_when_told_to(self):
        server = self.scripted()
        with open(self.path("plugin"), "w") as f:
            f.write("#!/bin/sh\necho '" + json.dumps({"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1",
                "status": {"token": "from-a-plugin"}}) + "'\n")
        os.chmod(self.path("plugin"), 0o755)
        tee = self.through(server, {"exec": {"command": "./plugin", "apiVersion": "client.authentication.k8s.io/v1",
            "interactiveMode": "Never"}}, "--identity", "own")
        self.assertEqual(self.passed(tee, server, self.secret(tee))[1:], [b"authorization: Bearer from-a-plugin"])

    def test_somebody_else_can_be_impersonated(self):
        server = self.scripted()
        tee = self.through(server, {"token": "admin"}, "--impersonate", "system:serviceaccount:a:b", "--impersonate-group", "g1",
            "--impersonate-group", "g2")
        self.assertEqual(self.passed(tee, server, self.secret(tee))[1:], [b"authorization: Bearer admin",
            b"impersonate-user: system:serviceaccount:a:b", b"impersonate-group: g1", b"impersonate-group: g2"])
        client, peer = self.connected(tee, server)
        client.send(GET % (self.secret(tee) + b"\r\nImpersonate-User: root\r\n"))
        self.assertEqual(client.to_the_end(), RESET)
        peer.to_the_end()
        self.assertEqual(peer.received, b"")


class Usage(Identity):
    def fails(self, *arguments):
        done = subprocess.run([KUBETAPE, "tee", "-o", self.path("x.tape"), *arguments], capture_output=True, text=True, timeout=DEADLINE_S,
            env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"})
        return done.returncode, done.stderr.strip()

    def test_what_makes_no_sense_is_said_in_a_sentence(self):
        for arguments, sentence in (
            ((), "no cluster"),
            (("--server", "http://127.0.0.1:1", "--fail-open", "--fail-closed"), "contradict each other"),
            (("--server", "http://127.0.0.1:1", "--impersonate-group", "g"), "wants a user, too"),
            (("--server", "http://127.0.0.1:1", "--identity", "own"), "names no credentials"),
            (("--server", "http://127.0.0.1:1", "--identity", "client", "--impersonate", "x"), "leaves that to clients"),
            (("--server", "http://127.0.0.1:1", "--listen", "localhost:0"), "no numeric address"),
            (("--server", "http://127.0.0.1:1", "--"), "no command after '--'"),
        ):
            with self.subTest(arguments=arguments):
                code, said = self.fails(*arguments)
                self.assertIn(code, (1, 2))
                self.assertIn(sentence, said)

    def test_a_path_in_front_of_all_others_stays(self):
        server = self.scripted()
        tee = self.tee(server.url + "/k8s/clusters/c-1")
        with open(tee.kubeconfig) as f:
            self.assertTrue(json.load(f)["clusters"][0]["cluster"]["server"].endswith("/k8s/clusters/c-1"))

    def test_an_authority_that_is_kept_is_the_same_the_next_time(self):
        server = self.scripted(self.server_context())
        seen = set()
        for _ in range(2):
            tee = self.tee(server, "--ca-dir", self.path("authority"))
            with open(tee.kubeconfig) as f:
                seen.add(base64.b64decode(json.load(f)["clusters"][0]["cluster"]["certificate-authority-data"]))
            client, _ = self.connected(tee, server)
            client.close()
        with open(self.path("authority/ca.crt"), "rb") as f:
            self.assertEqual(seen, {f.read()})
        self.assertEqual(os.stat(self.path("authority/ca.key")).st_mode & 0o777, 0o600)


class Command(Identity):
    def run_tee(self, *child):
        server = self.scripted()
        return subprocess.run([KUBETAPE, "tee", "-o", self.path("x.tape"), "--server", server.url, "--", *child], capture_output=True, text=True,
            timeout=DEADLINE_S, env={**os.environ, "KUBECONFIG": "/nonexistent"}, check=False)

    def test_the_exit_code_is_that_of_the_command_which_is_given_a_kubeconfig_that_goes_with_the_tee(self):
        done = self.run_tee("sh", "-c", "cat $KUBECONFIG; echo $KUBECONFIG; exit 7")
        self.assertEqual(done.returncode, 7)
        path = done.stdout.strip().splitlines()[-1]
        self.assertIn('"server":', done.stdout)
        self.assertFalse(os.path.exists(path))

    def test_a_command_that_is_not_there_is_named(self):
        done = self.run_tee("/nonexistent/program")
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot run '/nonexistent/program'", done.stderr)

    def test_a_signal_is_passed_to_the_command(self):
        server = self.scripted()
        # It waits for the signal itself: a handler would not run before the end of a sleep that began just after the signal.
        code = "import signal, sys; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM]); print('up', flush=True); " \
            "signal.sigwait([signal.SIGTERM]); sys.exit(9)"
        tee = self.tee(server, child=[sys.executable, "-c", code])
        self.assertEqual(tee.process.stdout.readline(), "up\n")
        tee.codes = (9,)
        tee.process.send_signal(signal.SIGTERM)
        self.assertEqual(tee.process.wait(DEADLINE_S), 9)

    def test_without_a_command_a_signal_ends_it_and_every_connection(self):
        server = self.scripted(self.server_context())
        self.addCleanup(signal.signal, signal.SIGHUP, signal.signal(signal.SIGHUP, signal.SIG_DFL))  # also under nohup
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            tee = self.tee(server)
            client, peer = self.connected(tee, server, ("h2",))
            tee.process.send_signal(number)
            self.assertEqual(tee.process.wait(DEADLINE_S), 0)
            self.assertEqual(client.to_the_end(), "goodbye")
            self.assertEqual(peer.to_the_end(), "goodbye")


if __name__ == "__main__":
    unittest.main()
