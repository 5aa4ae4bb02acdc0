"""The recorded session that all the tests look at: one cluster, one workload, the raw watcher and four recorders.

  FOLDER/all.tape     everything, secrets kept, by token, ended by SIGINT
  FOLDER/named.tape   a few resources by name, secrets digested, by client certificate, ended by SIGTERM
  FOLDER/cut.tape     the same through a network that resets all connections every few seconds
  FOLDER/killed.tape  the same by a recorder that is killed every few seconds and started again on its tape
  FOLDER/raw/         what the raw watcher saw
  FOLDER/live.out     what a client-go informer on the live server told
  FOLDER/session.json what came out: exit codes, what the programs used, the end mark's resourceVersion
"""

import contextlib
import json
import os
import shutil
import signal
import threading
import time

from lib import cluster, paths, process, proxy, tape, wait, witness, workload

NAMED = ("pods", "deploy", "configmaps", "secrets", "crontabs.v1.stable.example.com")
NAMED_RESOURCES = ("pods", "deployments.apps", "configmaps", "secrets", "crontabs.stable.example.com")
NODES = 4
TAPES = ("all", "named", "cut", "killed")
# Not in step with each other, nor with anything in the workload.
CUT_EVERY_S = 2.9
KILL_EVERY_S = 4.3


class Session:
    def __init__(self, folder):
        self.folder = folder
        self.raw = os.path.join(folder, "raw")
        self.facts = {}
        if os.path.exists(self._facts_path()):
            with open(self._facts_path(), encoding="utf-8") as f:
                self.facts = json.load(f)

    def tape(self, name):
        return os.path.join(self.folder, name + ".tape")

    def _facts_path(self):
        return os.path.join(self.folder, "session.json")

    def record(self, say):
        """Make everything anew."""
        began = time.monotonic()
        made = cluster.Cluster(os.path.join(self.folder, "cluster")).anew()
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.raw)
        try:
            made.up(nodes=NODES)
            say(f"cluster: up in {time.monotonic() - began:.1f} s, MB resident: {made.memory_mb()}")
            self.facts = _Recording(self, made, say).run()
        finally:
            made.down()
        with open(self._facts_path(), "w", encoding="utf-8") as f:
            json.dump(self.facts, f, indent="\t")


class _Recording:
    """The making of a session."""

    def __init__(self, session, made, say):
        self.session = session
        self.cluster = made
        self.say = say
        self.facts = {"cuts": 0, "kills": 0}
        self.children = {}
        self.network = proxy.Proxy(made.state["ports"]["kube-apiserver"])

    def run(self):
        work = workload.Workload(self.cluster.kubectl, self.say)
        work.prepare()
        try:
            for name in ("rawwatch", *TAPES):
                self._start(name)
            for name in self.children:
                self._wait_for_lists(name)
            self._start("live")
            self.children["live"].wait_for('(?s)("synced".*){%d}' % len(NAMED_RESOURCES), "out")
            with self._disturbances():
                work.run()
            self.facts["end_rv"] = work.mark_end()
            self._wait_until_all_have_seen(self.facts["end_rv"])
        finally:
            for name in reversed(list(self.children)):
                self._end(name)
            self.network.close()
        return self.facts

    def _start(self, name):
        if name == "rawwatch":
            command = [paths.program(name), "-o", self.session.raw, "--all"]
        elif name == "live":
            command = [paths.program("informer"), *NAMED_RESOURCES]
        else:
            what = ["--all", "--secrets=keep"] if name == "all" else NAMED
            command = [paths.KUBETAPE, "record", *what, "-o", self.session.tape(name)]
        env = {"KUBECONFIG": self._kubeconfig(name)}
        self.children[name] = process.Child(command, self.session.folder, name, env)

    def _kubeconfig(self, name):
        if name == "named":
            return self.cluster.path("kubeconfig-cert")
        if name == "cut":
            return self.cluster.write_kubeconfig("kubeconfig-proxy", self.network.port)
        return self.cluster.kubeconfig

    def _wait_for_lists(self, name):
        line = "watching" if name == "rawwatch" else "recording"
        said = self.children[name].wait_for(f"^{line} [0-9]+ [a-z]+").group()
        self.facts.setdefault(name, {})["said"] = said
        self.say(f"{name}: {said}")

    @contextlib.contextmanager
    def _disturbances(self):
        """Cuts of the one recorder's connections and kills of the other, at moments that nothing chose. The workload
        does not wait for either: what happens meanwhile, they have to catch up on."""
        over = threading.Event()
        threads = [threading.Thread(target=self._again_and_again, args=(over, *what))
            for what in ((CUT_EVERY_S, self._cut), (KILL_EVERY_S, self._kill))]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            over.set()
            for thread in threads:
                thread.join()

    def _again_and_again(self, over, every_s, act):
        while not over.wait(every_s):
            act()

    def _cut(self):
        self.facts["cuts"] += self.network.cut()

    def _kill(self):
        self.children["killed"].kill()
        self._start("killed")
        self.facts["kills"] += 1

    def _end(self, name):
        child = self.children[name]
        code = child.stop(signal.SIGINT if name == "all" else signal.SIGTERM)
        self.facts.setdefault(name, {}).update(exit_code=code, cpu_s=round(child.cpu_s, 2), peak_mb=child.peak_mb,
            stderr=child.text("err"))
        self.say(f"{name}: exit code {code}, {child.cpu_s:.2f} s of CPU, {child.peak_mb} MB at most")

    def _wait_until_all_have_seen(self, rv):
        """Every event up to this resourceVersion is in the files of the raw watcher and in the tapes. The streams
        of a server are not in step with each other, so each resource is waited for."""
        wait.until("the end mark in the raw watcher's file", lambda: any(
            seen.rv == rv for seen in witness.events(os.path.join(self.session.raw, "configmaps.lines"))))
        for name in TAPES:
            path = self.session.tape(name)
            try:
                wait.until(f"all events in {name}.tape", lambda path=path: not self._unseen(path, rv), every_s=0.5,
                    describe=lambda path=path: f"missing: {self._unseen(path, rv)}")
            except wait.Timeout as err:
                self.say(str(err))  # the tests will say exactly what is missing

    def _unseen(self, path, rv):
        """What the raw watcher saw and the tape does not have, {resource: count}. Without the bytes: this is asked
        while the recorder works."""
        try:
            kept = tape.rows(path, "SELECT apigroup, resource, uid, rv FROM events")
        except RuntimeError as err:
            return str(err)
        have = {(r["resource"], r["apigroup"] or "", r["uid"], int(r["rv"])) for r in kept}
        followed = {key[:2] for key in have}
        missing = {}
        for stream in witness.load(self.session.raw).values():
            if (stream.resource, stream.group) not in followed:
                continue
            for seen in stream.seen:
                uid = json.loads(seen.object)["metadata"]["uid"]
                if seen.rv <= rv and (stream.resource, stream.group, uid, seen.rv) not in have:
                    missing[stream.name] = missing.get(stream.name, 0) + 1
        return missing
