"""A cluster at the highest rate of events that it gives, with witnesses and recorders to each of which something
else happens meanwhile:

  calm     nothing; it alone records everything, the others the busy resources
  killed   SIGKILL every few seconds, and started again on its tape
  stopped  SIGSTOP for a third of the time
  silent   its network swallows everything for a third of the time, without a word to either side
  full     its file system has no room left, later it has
  stepped  its wall clock steps by an hour, back and forth
"""

import collections
import contextlib
import os
import re
import shutil
import signal
import struct
import subprocess
import threading
import time

from lib import churn, cluster, etcd_witness, kubectl, paths, process, proxy, tape, wait

SEED = 20
NODES = 6
BUSY = ("configmaps", "pods", "deployments.apps", "replicasets.apps", "events")
KILL_EVERY_S = 3.7
STEP_EVERY_S = 2.9
# Events expire within the soak; nothing is compacted, so that etcd can be asked for all of it.
APISERVER_FLAGS = ("--event-ttl=15s", "--etcd-compaction-interval=0")


def can_mount():
    return os.geteuid() == 0 and shutil.which("mount") is not None


class Soak:
    """record() makes everything; what the tests need is kept in the object."""

    def __init__(self, folder, seconds, say):
        self.folder = folder
        self.seconds = seconds
        self.raw = os.path.join(folder, "raw")
        self.names = ["calm", "killed", "stopped", "silent", "stepped"] + (["full"] if can_mount() else [])
        self.children = {}
        self.happened = dict.fromkeys(("kills", "stops", "silences", "steps"), 0)
        self.exit_codes = {}
        self.failures = []
        self.changes = []
        self.begin_rv = self.end_rv = 0
        self.cut_off = collections.Counter()  # watches by resource that the server itself ended
        self._say = say
        self._disk = os.path.join(folder, "disk")
        self._clocks = os.path.join(folder, "clocks")

    def tape(self, name):
        return os.path.join(self._disk if name == "full" else self.folder, name + ".tape")

    def record(self):
        made = cluster.Cluster(os.path.join(self.folder, "cluster")).anew()
        self._unmount()
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.raw)
        with contextlib.ExitStack() as cleaning:
            cleaning.callback(self._unmount)
            cleaning.callback(made.down)
            made.up(nodes=NODES, apiserver_flags=APISERVER_FLAGS)
            self._prepare(made, cleaning)
            self._run(made)
            for name in self.names:
                self.exit_codes[name] = self.children[name].stop(signal.SIGINT)
            self.children["rawwatch"].stop()
            if "full" in self.names:  # before its disk goes
                shutil.copytree(self.tape("full"), os.path.join(self.folder, "full.tape"))
        self._disk = self.folder
        return self

    # --- what surrounds them ---

    def _prepare(self, made, cleaning):
        self._etcd = etcd_witness.EtcdWitness(f"http://127.0.0.1:{made.state['ports']['etcd']}")
        self._etcd.start()
        self._network = proxy.Proxy(made.state["ports"]["kube-apiserver"])
        cleaning.callback(self._network.close)
        self._kubeconfigs = {"silent": made.write_kubeconfig("kubeconfig-proxy", self._network.port)}
        self._kubeconfig = made.kubeconfig
        if "full" in self.names:
            os.makedirs(self._disk)
            _mount("size=64m", self._disk)
        with open(self._clocks, "wb") as f:
            f.write(struct.pack("qq", 0, 0))
        self._library = os.path.join(self.folder, "other_time.so")
        subprocess.run(["gcc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-w", "-o", self._library,
            os.path.join(paths.ROOT, "tests", "wire", "other_time.c"), "-ldl"], check=True)

    def _start(self, name):
        env = {"KUBECONFIG": self._kubeconfigs.get(name, self._kubeconfig)}
        if name == "stepped":
            env.update(LD_PRELOAD=self._library, KUBETAPE_CLOCKS=self._clocks)
        what = ["--all", "--secrets=keep"] if name == "calm" else BUSY
        command = [paths.KUBETAPE, "record", *what, "-o", self.tape(name)]
        if name == "rawwatch":
            command = [paths.program("rawwatch"), "-o", self.raw, "--all"]
        self.children[name] = process.Child(command, self.folder, name, env)

    def _unmount(self):
        while os.path.ismount(self._disk):
            subprocess.run(["umount", self._disk], check=True)

    # --- the soak ---

    def _run(self, made):
        for name in ("rawwatch", *self.names):
            self._start(name)
        for name, child in self.children.items():
            child.wait_for("^watching [0-9]+" if name == "rawwatch" else "^recording [0-9]+")
        began = time.monotonic()
        work = churn.Churn(made, SEED)
        self.begin_rv = work.start()
        over = threading.Event()
        troubles = [threading.Thread(target=trouble, args=(over,)) for trouble in (
            self._kill, self._stop, self._silence, self._step, self._fill) if trouble != self._fill or can_mount()]
        for thread in troubles:
            thread.start()
        wait.until("the end of the soak", lambda: time.monotonic() - began > self.seconds, self.seconds + 60)
        over.set()
        for thread in troubles:
            thread.join()
        self.end_rv = work.stop()
        self.failures = work.failures
        took = time.monotonic() - began
        wait.until("etcd's own account", lambda: self._etcd.has_seen(self.end_rv))
        self.changes = self._etcd.between(self.begin_rv, self.end_rv)
        self._say(f"soak: {len(self.changes) / took:.0f} changes/s, {self.happened}")
        for name in self.names:
            self._wait_for_end(name)
        self.cut_off = _watches_cut_off(kubectl.Kubectl(self._kubeconfig, os.path.join(self.folder, "cache")))

    def _wait_for_end(self, name):
        """The streams of a server are not in step with each other, so each change is waited for."""
        def behind():
            try:
                return self.kept(name).missing(self.changes_for(name))
            except RuntimeError as err:
                return [str(err)]
        try:
            wait.until(f"all changes in {name}.tape", lambda: not behind(), 2 * wait.PATIENCE_S, 1, lambda: behind()[:3])
        except wait.Timeout as err:
            self._say(str(err))  # the tests will say exactly what is missing

    def changes_for(self, name):
        """Those of the resources that it records."""
        folders = tuple(resource.split(".")[0] + "/" for resource in BUSY)
        return [c for c in self.changes if name == "calm" or c.key.startswith(folders)]

    def kept(self, name):
        return Kept(self.tape(name))

    # --- what happens to them ---

    def _kill(self, over):
        while not over.wait(KILL_EVERY_S):
            self.children["killed"].kill()
            self._start("killed")
            self.happened["kills"] += 1

    def _stop(self, over):
        over.wait(self.seconds / 3)
        self.children["stopped"].signal(signal.SIGSTOP)
        self.happened["stops"] += 1
        over.wait(self.seconds / 3)
        self.children["stopped"].signal(signal.SIGCONT)

    def _silence(self, over):
        over.wait(self.seconds / 3)
        self._network.freeze()
        self.happened["silences"] += 1
        over.wait(self.seconds / 3)
        self._network.thaw()

    def _step(self, over):
        hour = 3600 * 10**9
        while not over.wait(STEP_EVERY_S):
            self.happened["steps"] += 1
            with open(self._clocks, "r+b") as f:
                f.write(struct.pack("q", (0, hour, 0, -hour)[self.happened["steps"] % 4]))

    def _fill(self, over):
        """The room is taken away while the recorder writes, and given back."""
        over.wait(self.seconds / 3)
        ballast = os.path.join(self._disk, "ballast")
        with open(ballast, "wb", buffering=0) as f, contextlib.suppress(OSError):
            while True:
                f.write(b"\xa5" * 65536)
        over.wait(self.seconds / 3)
        os.remove(ballast)


def _mount(options, where):
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", where], check=True)


def _watches_cut_off(ctl):
    """A server without a processor to spare ends watches whose events wait too long. It counts them by resource."""
    counted = re.findall(r'^apiserver_terminated_watchers_total\{group="(.*?)",resource="(.*?)"\} (\d+)$', ctl("get", "--raw", "/metrics"), re.M)
    return collections.Counter({(group, resource): int(count) for group, resource, count in counted})


class Kept:
    """What a tape has, to be held against etcd's account, and what its gaps say that it has not."""

    def __init__(self, path):
        self.rows = tape.rows(path, "SELECT type, origin, apigroup, resource, namespace, name, uid, rv FROM events")
        self.gaps = tape.rows(path, "SELECT resource, apigroup, reason, how_ended, from_rv, to_rv FROM gaps")
        self._have = {(int(r["rv"]), key_of(r)) for r in self.rows if r["rv"]}

    def missing(self, changes):
        """The changes that are neither on the tape nor inside one of its gaps that a relist ended."""
        return [c for c in changes if not any((c.revision, tail) in self._have for tail in tails(c.key))
            and not self._in_a_gap(c.revision)]

    def _in_a_gap(self, rv):
        return any(g["how_ended"] == "relist" and int(g["from_rv"]) < rv <= int(g["to_rv"]) for g in self.gaps)


def key_of(row):
    return f"{row['namespace']}/{row['name']}" if row["namespace"] else row["name"]


def tails(key):
    """What the object's name may be, as key_of gives it: namespaced, or not."""
    parts = key.split("/")
    return "/".join(parts[-2:]), parts[-1]
