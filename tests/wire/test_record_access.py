"""How the recorder finds a cluster and says who it is: kubeconfigs, tokens, plugins, TLS, proxies."""

import base64
import json
import os
import shutil
import socket
import ssl
import subprocess
import threading
import unittest

from fake_apiserver import FakeApiserver
from http2_server import Http2Connection
from recording import RecordTest
from waiting import wait_for


def kubeconfig(server, user="{token: secret}", cluster="", context="main"):
    return f"""apiVersion: v1
kind: Config
clusters:
- name: c
  cluster:
    server: {server}
    {cluster}
users:
- name: u
  user: {user}
contexts:
- name: {context}
  context: {{cluster: c, user: u}}
current-context: {context}
"""


class Access(RecordTest):
    def write(self, name, text, mode=0o600):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path, mode)
        return path

    def go(self, *arguments, env=None):
        return self.record("pods", *arguments, server=None, env=env)

    def certificates(self):
        """A CA, a server certificate for 'api.test' and 127.0.0.1, a client certificate."""
        run = lambda *a: subprocess.run(["openssl", *a], cwd=self.folder, check=True, capture_output=True)
        run("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "ca.key",
            "-out", "ca.crt", "-subj", "/CN=test-ca", "-days", "2")
        for name, extension in (("server", "subjectAltName=DNS:api.test,IP:127.0.0.1"), ("named", "subjectAltName=DNS:api.test"),
                                ("client", "extendedKeyUsage=clientAuth")):
            self.write(name + ".ext", extension)
            run("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", name + ".key",
                "-out", name + ".csr", "-subj", f"/CN={name}")
            run("x509", "-req", "-in", name + ".csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days",
                "2", "-extfile", name + ".ext", "-out", name + ".crt")

    def path(self, name):
        return os.path.join(self.folder, name)

    def data(self, name):
        with open(self.path(name), "rb") as f:
            return base64.b64encode(f.read()).decode()

    def serve_tls(self, name="server", clients=False, http2=False):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.path(name + ".crt"), self.path(name + ".key"))
        if clients:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(self.path("ca.crt"))
        if http2:
            context.set_alpn_protocols(["h2"])
            self.api.http2 = Http2Connection
        self.api.tls = context
        return self.serve()


class Kubeconfigs(Access):
    def test_the_file_named_counts(self):
        config = self.write("config", kubeconfig(self.serve()))
        self.go("--kubeconfig", config).ready(1)

    def test_the_home_directory_is_looked_into(self):
        os.mkdir(self.path(".kube"))
        self.write(".kube/config", kubeconfig(self.serve()))
        self.go(env={"HOME": self.folder}).ready(1)

    def test_of_several_files_the_first_that_names_a_thing_wins(self):
        first = self.write("one", f"clusters: [{{name: c, cluster: {{server: '{self.serve()}'}}}}]\n")
        second = self.write("two", kubeconfig("http://127.0.0.1:1"))
        missing = self.path("missing")
        self.go(env={"KUBECONFIG": f"{missing}:{first}:{second}"}).ready(1)

    def test_another_context_can_be_named(self):
        config = self.write("config", kubeconfig(self.serve(), context="other").replace(
            "current-context: other", "current-context: nowhere"))
        self.go("--kubeconfig", config, "--context", "other").ready(1)

    def test_an_unknown_context_is_named(self):
        config = self.write("config", kubeconfig(self.serve()))
        recording = self.go("--kubeconfig", config, "--context", "gone")
        self.assertEqual(recording.wait(), 2)
        self.assertIn("context 'gone' does not exist", recording.stderr)

    def test_a_file_that_is_no_kubeconfig_is_named(self):
        config = self.write("config", "- [not, {a: kubeconfig\n")
        recording = self.go("--kubeconfig", config)
        self.assertEqual(recording.wait(), 1)
        self.assertIn(f"'{config}' is no kubeconfig", recording.stderr)

    def test_a_server_that_is_no_url_is_named(self):
        for server in ("http://127.0.0.1:99999", "http://[::1"):
            config = self.write("config", kubeconfig(server))
            recording = self.go("--kubeconfig", config)
            self.assertEqual(recording.wait(), 1)
            self.assertIn(f"cannot reach server '{server}': URL using bad/illegal format", recording.stderr)

    def test_a_server_without_a_host_and_a_cluster_without_a_server_are_named(self):
        config = self.write("config", kubeconfig("https://"))
        recording = self.go("--kubeconfig", config)
        self.assertEqual(recording.wait(), 2)
        self.assertIn("server 'https://' is no http or https URL", recording.stderr)
        recording = self.go("--kubeconfig", self.write("config", kubeconfig("''")))
        self.assertEqual(recording.wait(), 1)
        self.assertIn("cluster 'c' of context 'main' has no server in the kubeconfig", recording.stderr)

    def test_certificates_that_are_no_certificates_are_named_with_their_field_and_file(self):
        nothing = base64.b64encode(b"nothing").decode()
        for field, content in (("certificate-authority-data", {"cluster": "%s"}), ("client-certificate-data", {"user": "{%s}"}),
                               ("client-key-data", {"user": "{%s}"})):
            content = {key: form % f"{field}: {nothing}" for key, form in content.items()}
            config = self.write("config", kubeconfig("https://127.0.0.1:1", **content))
            recording = self.go("--kubeconfig", config)
            self.assertEqual(recording.wait(), 1)
            self.assertIn(f"bad {field} in '{config}': expected PEM", recording.stderr)

    def test_unknown_fields_mean_nothing_and_the_first_of_two_entries_counts(self):
        self.write("config", kubeconfig(self.serve(), cluster="unknown: [1, {a: b}]") + "preferences: {colors: true}\n")
        with open(self.path("config"), encoding="utf-8") as f:
            text = f.read()
        self.write("config", text.replace("users:", "- name: c\n  cluster: {server: 'http://127.0.0.1:1'}\nusers:"))
        self.go("--kubeconfig", self.path("config")).ready(1)

    def test_an_address_of_version_6_and_a_path_before_everything(self):
        try:
            socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        except OSError:
            self.skipTest("no IPv6 here")
        self.api.host, self.api.family = "::1", socket.AF_INET6
        route = self.api.route

        def without_prefix(x):
            self.assertTrue(x.request.path.startswith("/k8s/clusters/c-1/"))
            x.request.path = x.request.path.removeprefix("/k8s/clusters/c-1")
            route(x)

        self.api.route = without_prefix
        self.serve()
        names = {address[4][0] for address in socket.getaddrinfo("localhost", None)}
        for host in ("[::1]", *(["localhost"] if "::1" in names else [])):
            self.tape = self.path(host + ".tape")
            config = self.write("config", kubeconfig(f"http://{host}:{self.api.port}/k8s/clusters/c-1/"))
            recording = self.go("--kubeconfig", config).ready(1)
            self.pods.put("a")
            recording.wait_events(1)

    def test_a_kubeconfig_may_be_json(self):
        config = self.write("config", '{"current-context":"x","contexts":[{"name":"x","context":{"cluster":"c"}}],'
                            f'"clusters":[{{"name":"c","cluster":{{"server":"{self.serve()}"}}}}]}}')
        self.go("--kubeconfig", config).ready(1)


class Credentials(Access):
    def test_a_token_is_sent_over_tls_but_not_without(self):
        plain = self.write("plain", kubeconfig(self.serve()))
        self.go("--kubeconfig", plain).ready(1).stop()
        self.assertTrue(all("authorization" not in r.headers for r in self.api.requests))
        self.api.__exit__()
        self.api = FakeApiserver(token="secret")
        self.pods = self.api.add("pods", "Pod")
        self.certificates()
        secure = self.write("secure", kubeconfig(self.serve_tls(), cluster=f"certificate-authority-data: {self.data('ca.crt')}"))
        self.tape += "2"
        self.go("--kubeconfig", secure).ready(1)

    def test_a_token_file_is_read_again_when_the_token_is_refused(self):
        token = self.write("token", "old")
        self.api.token = "old"
        recording = self.record("pods", "--token-file", token).ready(1)
        self.pods.watching()
        self.write("token", "new")
        self.api.token = "new"
        self.pods.disturb(lambda x: x.end())
        wait_for(lambda: "http_401" in recording.ends(), "the refusal")
        self.pods.watching()
        self.assertEqual(self.pods.watches()[-1].headers["authorization"], "Bearer new")

    def test_name_and_password_are_sent_as_basic_authentication(self):
        self.certificates()
        config = self.write("config", kubeconfig(self.serve_tls(), user="{username: me, password: pw}",
                                                 cluster="insecure-skip-tls-verify: true"))
        self.go("--kubeconfig", config).ready(1)
        self.assertEqual(self.api.requests[0].headers["authorization"], "Basic " + base64.b64encode(b"me:pw").decode())

    def test_client_certificates_as_files_beside_the_kubeconfig(self):
        self.certificates()
        config = self.write("config", kubeconfig(self.serve_tls(clients=True), cluster="certificate-authority: ca.crt",
                                                 user="{client-certificate: client.crt, client-key: client.key}"))
        self.go("--kubeconfig", config).ready(1)

    def test_client_certificates_that_are_renewed_are_used_by_the_next_connection(self):
        self.certificates()
        names = []
        route = self.api.route

        def note_name(x):
            names.append(dict(pair[0] for pair in x.sock.getpeercert()["subject"])["commonName"])
            route(x)
            x.cut()  # the next watch must find no idle connection, which had the old certificate

        self.api.route = note_name
        config = self.write("config", kubeconfig(self.serve_tls(clients=True), cluster="certificate-authority: ca.crt",
                                                 user="{client-certificate: client.crt, client-key: client.key}"))
        self.go("--kubeconfig", config).ready(1)
        self.pods.watching()
        for kind in ("crt", "key"):
            os.rename(self.path("server." + kind), self.path("client." + kind))
        self.pods.disturb(lambda x: x.cut())
        wait_for(lambda: len(self.pods.watches()) == 2, "the next watch")
        self.assertEqual((names[0], names[-1]), ("client", "server"))

    def test_an_authority_that_is_replaced_in_its_file_is_believed_by_the_next_connection(self):
        self.certificates()
        config = self.write("config", kubeconfig(self.serve_tls(), cluster="certificate-authority: ca.crt"))
        self.go("--kubeconfig", config).ready(1)
        self.pods.watching()
        self.certificates()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.path("server.crt"), self.path("server.key"))
        self.api.tls = context
        self.pods.disturb(lambda x: x.cut())
        wait_for(lambda: len(self.pods.watches()) == 2, "the next watch")

    def test_client_certificates_as_data(self):
        self.certificates()
        user = f"{{client-certificate-data: {self.data('client.crt')}, client-key-data: {self.data('client.key')}}}"
        config = self.write("config", kubeconfig(self.serve_tls(clients=True), user=user,
                                                 cluster=f"certificate-authority-data: {self.data('ca.crt')}"))
        self.go("--kubeconfig", config).ready(1)

    def test_a_plugin_is_asked_and_asked_again_when_its_token_is_refused(self):
        self.certificates()
        self.api.token = "token-1"
        self.write("plugin", f"""#!/bin/sh
n=$(($(cat '{self.folder}/count' 2>/dev/null || echo 0) + 1)); echo $n > '{self.folder}/count'
echo "$KUBERNETES_EXEC_INFO $EXTRA $1" >> '{self.folder}/asked'
echo '{{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{{"token":"token-'$n'"}}}}'
""", 0o700)
        user = ("{exec: {apiVersion: client.authentication.k8s.io/v1, command: ./plugin, args: [login], "
                "env: [{name: EXTRA, value: more}], interactiveMode: Never}}")
        config = self.write("config", kubeconfig(self.serve_tls(), user=user, cluster="certificate-authority: ca.crt"))
        recording = self.go("--kubeconfig", config).ready(1)
        self.pods.watching()
        self.api.token = "token-2"
        self.pods.disturb(lambda x: x.end())
        wait_for(lambda: "http_401" in recording.ends(), "the refusal")
        self.pods.watching()
        with open(self.path("asked"), encoding="utf-8") as f:
            asked = f.read().splitlines()
        self.assertEqual(len(asked), 2)
        self.assertIn('"kind":"ExecCredential"', asked[0])
        self.assertTrue(asked[0].endswith("more login"))

    def test_a_plugin_that_wants_to_is_told_of_the_cluster(self):
        self.certificates()
        self.api.token = "t"
        self.write("plugin", f"""#!/bin/sh
echo "$KUBERNETES_EXEC_INFO" > '{self.folder}/asked'
echo '{{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{{"token":"t"}}}}'
""", 0o700)
        user = ("{exec: {apiVersion: client.authentication.k8s.io/v1, command: ./plugin, provideClusterInfo: true, "
                "interactiveMode: Never}}")
        server = self.serve_tls()
        for cluster in ("certificate-authority: ca.crt", f"certificate-authority-data: {self.data('ca.crt')}"):
            self.write("config", kubeconfig(server, user=user, cluster=cluster))
            self.go("--kubeconfig", self.path("config")).ready(1).stop()
            with open(self.path("asked"), encoding="utf-8") as f:
                told = json.load(f)["spec"]["cluster"]
            self.assertEqual(told, {"insecure-skip-tls-verify": False, "server": server,
                                    "certificate-authority-data": self.data("ca.crt")})

    def test_a_plugin_that_fails_is_named(self):
        for user, says in (("{exec: {apiVersion: v1, command: ./missing, installHint: get it there}}", "get it there"),
                           ("{exec: {apiVersion: v1, command: 'false'}}", "exit code 1"),
                           ("{exec: {apiVersion: v1, command: echo, args: [hello]}}", "bad JSON"),
                           ("{exec: {apiVersion: v1, command: echo, args: ['{\"kind\":\"Pod\"}']}}", "no ExecCredential"),
                           ("{exec: {apiVersion: v1, command: echo, args: ['{\"kind\":\"ExecCredential\"}']}}", "apiVersion"),
                           ("{exec: {apiVersion: v1, command: 'yes'}}", "prints more than 4194304 bytes")):
            config = self.write("config", kubeconfig(self.serve(), user=user))
            recording = self.go("--kubeconfig", config)
            self.assertEqual(recording.wait(), 1)
            self.assertIn("no credentials for server '127.0.0.1:", recording.stderr)
            self.assertIn("credential plugin", recording.stderr)
            self.assertIn(says, recording.stderr)


    def plugin(self, *lines):
        """A kubeconfig whose plugin runs these lines of a shell, and says `asked` into a file each time."""
        self.certificates()
        self.api.token = "t"
        self.write("plugin", f"#!/bin/sh\necho asked >> '{self.folder}/asked'\n" + "\n".join(lines), 0o700)
        user = "{exec: {apiVersion: client.authentication.k8s.io/v1, command: ./plugin, interactiveMode: Never}}"
        return self.write("config", kubeconfig(self.serve_tls(), user=user, cluster="certificate-authority: ca.crt"))

    def asked(self):
        with open(self.path("asked"), encoding="utf-8") as f:
            return len(f.readlines())

    @staticmethod
    def says(token, expires):
        return ('echo \'{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":'
                f'{{"token":"{token}","expirationTimestamp":"{expires}"}}}}\'')

    def test_a_credential_that_has_expired_already_is_used_and_the_server_judges(self):
        self.go("--kubeconfig", self.plugin(self.says("t", "2020-01-01T00:00:00Z"))).ready(1)
        self.assertLess(self.asked(), 4)

    def test_a_plugin_that_fails_for_a_while_is_a_gap_without_loss(self):
        recording = self.go("--kubeconfig", self.plugin(f"[ ! -e '{self.folder}/broken' ] || exit 3",
                                                        self.says("t", "2999-01-01T00:00:00Z"))).ready(1)
        self.pods.watching()
        self.write("broken", "")
        self.api.token = "other"
        self.pods.disturb(lambda x: x.end())
        wait_for(lambda: "credentials" in recording.ends(), "a row that tells")
        self.pods.put("a")
        self.api.token = "t"
        os.unlink(self.path("broken"))
        recording.wait_events(1)
        self.assertEqual(wait_for(lambda: recording.query("SELECT how_ended FROM gaps WHERE end IS NOT NULL"), "the gap"),
                         [{"how_ended": "rewatch"}])
        self.assertIn("credential plugin './plugin' ended with exit code 3", recording.stderr)

    def test_a_token_cannot_bring_headers_of_its_own(self):
        for user in (r'{token: "secret\r\nX-Evil: 1"}', "{tokenFile: token}"):
            self.certificates()
            self.write("token", "secret\rX-Evil: 1")
            config = self.write("config", kubeconfig(self.serve_tls(), user=user, cluster="certificate-authority: ca.crt"))
            recording = self.go("--kubeconfig", config)
            self.assertEqual(recording.wait(), 1)
            self.assertIn("holds a character that no header may have", recording.stderr)
        self.assertEqual(self.api.requests, [])


class Tls(Access):
    def test_a_server_that_nobody_vouches_for_is_refused(self):
        self.certificates()
        recording = self.record("pods", server=self.serve_tls())
        self.assertEqual(recording.wait(), 1)
        self.assertIn("certificate", recording.stderr)

    def test_any_certificate_is_believed_when_insecure(self):
        self.certificates()
        self.record("pods", "--insecure-skip-tls-verify", server=self.serve_tls()).ready(1)

    def test_a_ca_on_the_command_line(self):
        self.certificates()
        self.record("pods", "--certificate-authority", self.path("ca.crt"), server=self.serve_tls()).ready(1)

    def test_another_name_for_the_certificate(self):
        self.certificates()
        config = self.write("config", kubeconfig(self.serve_tls("named"),
                                                 cluster="certificate-authority: ca.crt\n    tls-server-name: api.test"))
        self.go("--kubeconfig", config).ready(1)
        self.assertTrue(self.api.requests[0].headers["host"].startswith("127.0.0.1:"))


class SystemAuthorities(Access):
    """The system's folder of authorities has ours for as long as the recorder runs, and only for it."""

    def setUp(self):
        super().setUp()
        self.certificates()
        os.mkdir(self.path("authorities"))
        run = lambda *a: subprocess.run(["openssl", *a], cwd=self.folder, check=True, capture_output=True, text=True).stdout.strip()
        name = run("x509", "-in", "ca.crt", "-noout", "-hash") + ".0"
        shutil.copy(self.path("ca.crt"), self.path("authorities/" + name))
        run("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "other.key",
            "-out", "other.crt", "-subj", "/CN=other-ca", "-days", "2")
        shutil.copy(self.path("other.crt"), self.path("authorities/ca-certificates.crt"))  # libcurl wants the bundle as well
        self.before = ["unshare", "-m" if os.geteuid() == 0 else "-rm", "sh", "-c",
                       'mount --bind "$0" /etc/ssl/certs && exec "$@"', self.path("authorities")]
        if subprocess.run([*self.before, "true"], stderr=subprocess.DEVNULL, check=False).returncode:
            self.skipTest("no mounts of our own here")

    def go(self, cluster):
        config = self.write("config", kubeconfig(self.serve_tls(), cluster=cluster))
        return self.record("pods", "--kubeconfig", config, server=None, before=self.before)

    def test_they_count_if_the_kubeconfig_names_none(self):
        self.go("").ready(1)
        self.assertEqual(self.api.requests[0].headers["authorization"], "Bearer secret")

    def test_they_do_not_count_beside_the_one_that_the_kubeconfig_names(self):
        for cluster in ("certificate-authority: other.crt", "certificate-authority-data: " + self.data("other.crt")):
            recording = self.go(cluster)
            self.assertEqual(recording.wait(), 1)
            self.assertIn("certificate", recording.stderr)
            self.assertEqual(self.api.requests, [])


class Proxies(Access):
    @staticmethod
    def pump(a, b):
        try:
            while data := a.recv(65536):
                b.sendall(data)
        except OSError:
            pass
        for s in (a, b):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def listen(self, converse):
        """Calls converse with each client, in a thread of its own; returns the port."""
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)

        def accept():
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=converse, args=(client,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        return listener.getsockname()[1]

    def tunnel(self, client, ready):
        upstream = socket.create_connection(("127.0.0.1", self.api.port))
        client.sendall(ready)
        threading.Thread(target=self.pump, args=(client, upstream), daemon=True).start()
        self.pump(upstream, client)

    def proxy(self, refuses=False):
        """A proxy that tunnels CONNECT, or wants a password for that; returns its URL and the list of what it was asked."""
        asked = []

        def converse(client):
            head = b""
            while b"\r\n\r\n" not in head:
                head += client.recv(4096)
            asked.append(head.split(b"\r\n")[0].decode())
            if refuses:
                client.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
                client.close()
            else:
                self.tunnel(client, b"HTTP/1.1 200 Connection established\r\n\r\n")

        return f"http://127.0.0.1:{self.listen(converse)}", asked

    def test_the_kubeconfigs_proxy_is_used(self):
        self.certificates()
        url, asked = self.proxy()
        config = self.write("config", kubeconfig(self.serve_tls(),
                                                 cluster=f"certificate-authority: ca.crt\n    proxy-url: {url}"))
        recording = self.go("--kubeconfig", config).ready(1)
        self.assertEqual(asked[0], f"CONNECT 127.0.0.1:{self.api.port} HTTP/1.1")
        self.assertEqual(recording.query("SELECT DISTINCT http_status FROM connections WHERE purpose='list'"),
                         [{"http_status": 200}])

    def socks(self):
        """A SOCKS 5 proxy to which every name is the API server; returns its port and the list of what it was asked."""
        asked = []

        def converse(client):
            client.recv(client.recv(2)[1])
            client.sendall(b"\5\0")
            name = client.recv(client.recv(5)[4])
            asked.append((name.decode(), int.from_bytes(client.recv(2), "big")))
            self.tunnel(client, b"\5\0\0\1\0\0\0\0\0\0")

        return self.listen(converse), asked

    def test_a_socks_proxy_looks_the_servers_name_up(self):
        """Over HTTP/2 as well, and whether or not the scheme says so: kubectl knows no difference."""
        self.certificates()
        self.serve_tls(http2=True)
        port, asked = self.socks()
        for scheme in ("socks5", "socks5h"):
            self.tape = self.path(scheme + ".tape")
            config = self.write("config", kubeconfig(f"https://api.test:{self.api.port}", cluster="certificate-authority: ca.crt"
                                                     f"\n    proxy-url: {scheme}://127.0.0.1:{port}"))
            recording = self.go("--kubeconfig", config).ready(1)
            self.assertEqual(set(asked), {("api.test", self.api.port)})
            self.assertEqual(recording.query("SELECT http_version FROM connections WHERE purpose='list'"), [{"http_version": "2"}])
            asked.clear()

    def test_a_proxy_that_wants_a_password_is_named(self):
        self.certificates()
        url, _ = self.proxy(refuses=True)
        config = self.write("config", kubeconfig(self.serve_tls(), cluster=f"certificate-authority: ca.crt\n    proxy-url: {url}"))
        recording = self.go("--kubeconfig", config)
        self.assertEqual(recording.wait(), 1)
        self.assertEqual(recording.stderr, f"kubetape record: cannot reach server '127.0.0.1:{self.api.port}': "
                         "CONNECT tunnel failed, response 407")

    def test_http_2_and_another_name_for_the_certificate_go_through_a_proxy(self):
        self.certificates()
        url, asked = self.proxy()
        config = self.write("config", kubeconfig(self.serve_tls("named", http2=True), cluster="certificate-authority: ca.crt\n"
                                                 f"    proxy-url: {url}\n    tls-server-name: api.test"))
        recording = self.go("--kubeconfig", config).ready(1)
        self.assertEqual(set(asked), {f"CONNECT 127.0.0.1:{self.api.port} HTTP/1.1"})
        self.assertEqual(recording.query("SELECT http_version FROM connections WHERE purpose='list'"), [{"http_version": "2"}])

    def test_the_environments_proxy_is_not_used_for_this_machine(self):
        self.record("pods", env={"HTTP_PROXY": "http://127.0.0.1:1", "http_proxy": "http://127.0.0.1:1"}).ready(1)


if __name__ == "__main__":
    unittest.main()
