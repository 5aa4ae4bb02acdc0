"""A whole Kubernetes control plane on loopback, in one directory: etcd, kube-apiserver and, as wished,
kube-controller-manager, kube-scheduler and kwok (which plays the kubelets of simulated nodes).

What is in the directory:
  cluster.json          ports, options, and pid + start time of each process
  pki/                  keys and certificates
  kubeconfig            administrator by token, everything inline
  kubeconfig-cert       administrator by client certificate, as files relative to the kubeconfig
  log/, etcd/           output and data of the processes
  pod.log               what every container says, if kwok plays the kubelets
"""

import base64
import contextlib
import json
import os
import random
import shutil
import socket
import ssl
import urllib.request

from lib import certificates, kubectl, paths, process, wait

# In the order in which they start; they stop in the reverse order.
PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok")
TOKEN = "interop-admin-token"
# People, who may do everything, too.
PEOPLE = ("alice", "bob")
POD_LOG = "pod.log"
# An API server that is told to end keeps running watches for up to a minute. Its clients end at once and etcd
# holds the data, so it need not be waited for.
GRACE_S = {"kube-apiserver": 3.0, "etcd": 20.0}


def _is_free(port):
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with contextlib.suppress(OSError):
            s.bind(("127.0.0.1", port))
            return True
    return False


def free_ports(count):
    """Ports that were free a moment ago, all different, and below those that the kernel gives to others meanwhile."""
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as f:
        end = int(f.read().split()[0])
    free = []
    for port in random.sample(range(max(end - 20000, 1024), end), 100 + count):
        with contextlib.suppress(OSError), socket.socket() as s:
            s.bind(("127.0.0.1", port))
            free.append(port)
        if len(free) == count:
            return free
    raise OSError(f"fewer than {count} ports are free below {end}")


AUDIT_POLICY = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [
    {"level": "RequestResponse", "verbs": ["create", "update", "patch", "delete", "deletecollection"]}, {"level": "None"}]}


@contextlib.contextmanager
def fresh(folder, audited=False, **options):
    """A new cluster while the body runs, up with these options, in a folder that is emptied first. With `audited` its API server
    writes audit.log there, of all that writes."""
    made = Cluster(os.path.join(folder, "cluster")).anew()
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    if audited:
        policy, log = (os.path.join(folder, name) for name in ("policy.json", "audit.log"))
        with open(policy, "w", encoding="utf-8") as f:
            json.dump(AUDIT_POLICY, f)
        options["apiserver_flags"] = [f"--audit-policy-file={policy}", f"--audit-log-path={log}", "--audit-log-mode=blocking"]
    try:
        made.up(**options)
        yield made
    finally:
        made.down()


class Cluster:
    """A cluster that is, was or will be in a directory."""

    def __init__(self, folder):
        self.folder = os.path.abspath(folder)
        self.state = {"processes": {}, "ports": {}, "options": {}}
        if os.path.exists(self.path("cluster.json")):
            with open(self.path("cluster.json"), encoding="utf-8") as f:
                self.state = json.load(f)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    @property
    def kubeconfig(self):
        return self.path("kubeconfig")

    @property
    def server(self):
        return f"https://127.0.0.1:{self.state['ports']['kube-apiserver']}"

    # --- life ---

    def up(self, programs=PROGRAMS, nodes=0, apiserver_flags=(), flags=None):
        """Start the named programs and wait until the cluster can be used. On failure nothing is left running. flags: more of
        them by program, which win over ours."""
        if any(process.alive(p) for p in self.state["processes"].values()):
            raise RuntimeError(f"a cluster is already running in '{self.folder}'")
        os.makedirs(self.path("log"), exist_ok=True)
        self.state["options"] = {"programs": list(programs), "apiserver_flags": list(apiserver_flags), "flags": flags or {}}
        if not os.path.exists(self.path("pki")):
            certificates.make(self.path("pki"))
        self._choose_ports()
        self._write_credentials()
        try:
            self._start_all(programs)
            self._add_nodes(nodes)
        except BaseException:
            self.down()
            raise
        return self

    def down(self):
        """Stop everything that runs and wait for it to be gone."""
        for name in reversed(PROGRAMS):
            self.stop(name)

    def anew(self):
        """The same directory without anything in it; a cluster that an interrupted run left there is stopped."""
        self.down()
        shutil.rmtree(self.folder, ignore_errors=True)
        return Cluster(self.folder)

    def start(self, name):
        args = getattr(self, "_args_" + name.replace("-", "_"))() + self.state["options"].get("flags", {}).get(name, [])
        program = paths.program("controlplane" if name not in ("kwok",) else name)
        command = [program] + ([name] if name != "kwok" else []) + args
        self.state["processes"][name] = process.spawn_detached(command, self.path("log", name + ".log"))
        self._save()

    def stop(self, name, kill=False):
        record = self.state["processes"].pop(name, None)
        if record:
            process.stop(record, 0.0 if kill else GRACE_S.get(name, 10.0))
            self._save()

    def restart_apiserver(self, kill=False):
        """End the API server, with or without a chance to say goodbye, and start it on the same port."""
        self.stop("kube-apiserver", kill)
        # A process may count as ended while some of its threads still hold its sockets.
        port = self.state["ports"]["kube-apiserver"]
        wait.until(f"port {port} to be free", lambda: _is_free(port))
        self.start("kube-apiserver")
        self.wait_ready()

    def compact(self, revision=None):
        """Make etcd forget everything before a revision (by default: before now). Returns the revision.

        An API server goes on serving what its own caches hold; restart it to have old versions refused.
        """
        url = self._etcd_url()
        revision = revision or int(_post(url + "/v3/kv/range", {"key": "AA=="})["header"]["revision"])
        _post(url + "/v3/kv/compaction", {"revision": str(revision), "physical": True})
        return revision

    def write_kubeconfig(self, name, port):
        """One more kubeconfig of the administrator by token, for the server as reached on another port."""
        _write_kubeconfig(self.path(name), f"https://127.0.0.1:{port}", self._authority(), f"token: {TOKEN}")
        return self.path(name)

    def memory_mb(self):
        return {name: process.resident_mb(p["pid"]) for name, p in self.state["processes"].items()}

    # --- use ---

    @property
    def kubectl(self):
        """The cluster's own release of kubectl, as administrator."""
        return kubectl.Kubectl(self.kubeconfig, self.path("cache"))

    def wait_ready(self):
        context = ssl.create_default_context(cafile=self.path("pki", "ca.crt"))

        def ready():
            self._check_alive()
            with urllib.request.urlopen(self.server + "/readyz", context=context, timeout=60) as answer:
                return answer.status == 200

        wait.until(f"{self.server}/readyz", ready)

    # --- inside ---

    def _save(self):
        with open(self.path("cluster.json.new"), "w", encoding="utf-8") as f:
            json.dump(self.state, f, indent="\t")
        os.replace(self.path("cluster.json.new"), self.path("cluster.json"))

    def _check_alive(self):
        for name, record in self.state["processes"].items():
            if not process.alive(record):
                raise RuntimeError(f"'{name}' ended:\n" + process.tail(self.path("log", name + ".log")))

    def _choose_ports(self):
        names = ("etcd", "etcd-peer", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok")
        self.state["ports"] = dict(zip(names, free_ports(len(names))))

    def _start_all(self, programs):
        self.start("etcd")
        self.start("kube-apiserver")
        self.wait_ready()
        for name in PROGRAMS[2:]:
            if name in programs:
                self.start(name)
        if "kube-controller-manager" in programs:
            wait.until("a service account in namespace 'default'", self._has_service_account, every_s=0.3)

    def _has_service_account(self):
        self._check_alive()
        return self.kubectl("get", "serviceaccounts", "-n", "default", "-o", "name").strip()

    def _add_nodes(self, count):
        if not count:
            return
        self.kubectl("create", "-f", "-", stdin=json.dumps(
            {"apiVersion": "v1", "kind": "List", "items": [_node(n) for n in range(count)]}))
        if "kwok" in self.state["options"]["programs"]:
            self.kubectl("wait", "--for=condition=Ready", "nodes", "--all", f"--timeout={wait.PATIENCE_S:.0f}s",
                timeout_s=wait.PATIENCE_S + 10)

    def _etcd_url(self):
        return f"http://127.0.0.1:{self.state['ports']['etcd']}"

    def _pki(self, name):
        return self.path("pki", name)

    def _args_etcd(self):
        client, peer = self._etcd_url(), f"http://127.0.0.1:{self.state['ports']['etcd-peer']}"
        return ["--data-dir", self.path("etcd"), "--listen-client-urls", client, "--advertise-client-urls", client,
            "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
            "--initial-cluster", f"default={peer}", "--log-level=warn",
            # Only a crash of the machine could lose data by this; on a busy disk it saves half of the run.
            "--unsafe-no-fsync"]

    def _args_kube_apiserver(self):
        return [f"--etcd-servers={self._etcd_url()}", f"--secure-port={self.state['ports']['kube-apiserver']}",
            "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--cert-dir", self._pki(""),
            "--tls-cert-file", self._pki("server.crt"), "--tls-private-key-file", self._pki("server.key"),
            "--client-ca-file", self._pki("ca.crt"), "--service-account-key-file", self._pki("sa.pub"),
            "--service-account-signing-key-file", self._pki("sa.key"),
            "--service-account-issuer=https://kubernetes.default.svc", "--service-cluster-ip-range=10.0.0.0/16",
            "--token-auth-file", self._pki("tokens.csv"), "--authorization-mode=RBAC",
            *self.state["options"]["apiserver_flags"]]

    def _args_kube_controller_manager(self):
        return ["--kubeconfig", self.kubeconfig, "--authentication-kubeconfig", self.kubeconfig,
            "--authorization-kubeconfig", self.kubeconfig,
            "--service-account-private-key-file", self._pki("sa.key"), "--root-ca-file", self._pki("ca.crt"),
            f"--secure-port={self.state['ports']['kube-controller-manager']}", "--bind-address=127.0.0.1",
            "--use-service-account-credentials=false", "--leader-elect=true",
            "--kube-api-qps=200", "--kube-api-burst=400"]

    def _args_kube_scheduler(self):
        return ["--kubeconfig", self.kubeconfig, "--authentication-kubeconfig", self.kubeconfig,
            "--authorization-kubeconfig", self.kubeconfig, "--bind-address=127.0.0.1",
            f"--secure-port={self.state['ports']['kube-scheduler']}", "--leader-elect=true"]

    def _args_kwok(self):
        return ["--kubeconfig", self.kubeconfig, "--manage-all-nodes=true", "--config", paths.STAGES,
            "--node-lease-duration-seconds=40", f"--server-address=127.0.0.1:{self.state['ports']['kwok']}",
            "--node-ip=127.0.0.1", f"--node-port={self.state['ports']['kwok']}", "--config", self._write_kubelets(),
            "--tls-cert-file", self._pki("server.crt"), "--tls-private-key-file", self._pki("server.key")]

    def _write_kubelets(self):
        """What the simulated kubelets answer to exec and logs: they run the command here, and all containers say what is in POD_LOG."""
        about = {"apiVersion": "kwok.x-k8s.io/v1alpha1", "metadata": {"name": "all"}}
        with open(self.path(POD_LOG), "a", encoding="utf-8"), open(self.path("kubelets.yaml"), "w", encoding="utf-8") as f:
            for kind, spec in (("ClusterExec", {"execs": [{"local": {}}]}), ("ClusterLogs", {"logs": [{"logsFile": self.path(POD_LOG), "follow": True}]})):
                f.write(json.dumps({**about, "kind": kind, "spec": spec}) + "\n---\n")
        return self.path("kubelets.yaml")

    def _write_credentials(self):
        with open(self._pki("tokens.csv"), "w", encoding="utf-8") as f:
            f.write(f"{TOKEN},admin,admin,system:masters\n")
            f.writelines(f"{name}-token,{name},{name},system:masters\n" for name in PEOPLE)
        self.write_kubeconfig("kubeconfig", self.state["ports"]["kube-apiserver"])
        _write_kubeconfig(self.path("kubeconfig-cert"), self.server, "certificate-authority: pki/ca.crt",
            "client-certificate: pki/admin.crt\n    client-key: pki/admin.key")

    def _authority(self):
        with open(self._pki("ca.crt"), "rb") as f:
            return f"certificate-authority-data: {base64.b64encode(f.read()).decode()}"


def _write_kubeconfig(path, server, authority, credentials):
    text = f"""apiVersion: v1
kind: Config
current-context: interop
clusters:
- name: interop
  cluster:
    server: {server}
    {authority}
contexts:
- name: interop
  context:
    cluster: interop
    user: admin
users:
- name: admin
  user:
    {credentials}
"""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as f:
        f.write(text)


def _node(number):
    room = {"cpu": "8", "memory": "32Gi", "pods": "110"}
    name = f"node-{number}"
    return {"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}},
        "status": {"allocatable": room, "capacity": room}}


def _post(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)
