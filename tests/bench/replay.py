"""Measures `kubetape replay` beside a bare write(2) loop over as many connections, in turns, in one run.

    replay.py BUILD_DIR BENCH.json [SECONDS]

Prints a table and adds its rows to BENCH.json. Events are 1 kB and spaced so that 20,000 deliveries fall due each
second, whatever the number of watchers; CPU is that of the server's process alone, all threads. Where
tests/interop/build has been run, a real kube-apiserver delivers the same in the same run.
"""
import http.client
import json
import os
import random
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time

from figures import Ended, cpu_s, head, merge, row

BUILD, RESULT = os.path.abspath(sys.argv[1]), sys.argv[2]
SECONDS = float(sys.argv[3]) if len(sys.argv) > 3 else 4
DELIVERIES_A_SECOND = 20_000
EVENT_BYTES = 1000
LARGE_EVENTS = int(os.environ.get("BENCH_REPLAY_EVENTS", "1000000"))
T0 = 1_800_000_000_000_000_000
LEAD_S = 2  # between the first list and the first event
PODS = {"version": "v1", "resource": "pods", "kind": "Pod", "namespaced": True}
TARGET = "/api/v1/pods?watch=1&resourceVersion=10"
NOTHING = "/api/v1/namespaces/none/pods?watch=1&resourceVersion=10"


def tool(name):
    return os.path.join(BUILD, name)


# ---- tapes ----

def pod(number, rv, due_ns, size):
    thing = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p%d" % number, "namespace": "default",
        "uid": "%032x" % number, "resourceVersion": str(rv), "creationTimestamp": "2027-01-15T07:00:00Z"}, "due": "%019d" % due_ns}
    room = size - len(json.dumps(thing, separators=(",", ":"))) - 40
    if room > 0:
        thing["x"] = "%0*x" % (room, random.Random(rv).getrandbits(4 * room))
    return thing


def make_tape(path, count, rate, size=EVENT_BYTES, objects=50):
    """A list of nothing, then `count` events, `rate` of them a second."""
    p = subprocess.Popen([tool("make_tape"), path], stdin=subprocess.PIPE, text=True)
    p.stdin.write(json.dumps({"mark": "list", "time_ns": T0, "stream": PODS, "rv": "10"}) + "\n")
    for i in range(count):
        due = T0 + LEAD_S * 10**9 + (int(i * 1e9 / rate) if rate else i * 1000)
        p.stdin.write(json.dumps({"time_ns": due, "origin": "watch", "stream": PODS, "type": "MODIFIED" if i >= objects else "ADDED",
            "object": pod(i % objects, 11 + i, due, size)}, separators=(",", ":")) + "\n")
        if i % 10000 == 9999:
            p.stdin.write('{"flush":true}\n')
    p.stdin.close()
    if p.wait() != 0:
        sys.exit("make_tape failed")
    return path


# ---- a replay ----

class Replay(Ended):
    def __init__(self, tape, *options):
        self.kubeconfig = tape + ".kubeconfig"
        begin = time.monotonic()
        self.process = subprocess.Popen([tool("kubetape"), "replay", tape, "--kubeconfig", self.kubeconfig, *options],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        line = self.process.stdout.readline()
        self.start_s = time.monotonic() - begin
        self.port = int(line.rsplit(":", 1)[1])

    def ask(self, method, path):
        """Beside the port, which may be busy."""
        c = http.client.HTTPConnection("localhost")
        c.sock = socket.socket(socket.AF_UNIX)
        c.sock.settimeout(60)
        c.sock.connect("\0kubetape-control-%d" % self.port)
        c.request(method, path)
        answer = json.loads(c.getresponse().read())
        c.close()
        return answer

    def cpu_s(self):
        return cpu_s(self.process.pid)

    def loop_cpu_s(self):
        with open("/proc/%d/task/%d/schedstat" % (self.process.pid, self.process.pid)) as f:
            return int(f.read().split()[0]) / 1e9

    def memory(self):
        with open("/proc/%d/status" % self.process.pid) as f:
            return next(int(line.split()[1]) * 1024 for line in f if line.startswith("VmRSS"))


def watchers(port, connections, streams, seconds, target, anchored=True):
    """Starts the clients and waits until all connections are open."""
    p = subprocess.Popen([tool("bench/replay_watchers"), str(port), str(connections), str(streams), str(seconds), target]
        + (["anchor"] if anchored else []), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if p.stderr.readline() != "open\n":
        sys.exit("the watchers did not connect")
    return p


def result(p, anchor=None):
    out, _ = p.communicate(anchor)
    if p.returncode != 0:
        sys.exit("the watchers failed")
    return json.loads(out)


# ---- figures ----

rivals = {}  # the real API server's CPU for a delivery, where there is one


def play(tape, connections, streams, seconds, *options):
    """Figures of the clients, and the server's CPU for each delivery in us."""
    total = connections * max(streams, 1)
    with Replay(tape, "--wait-watchers", str(total), *options) as r:
        p = watchers(r.port, connections, streams, seconds, TARGET)
        while r.ask("GET", "/kubetape/v1/status")["watches"] < total:
            time.sleep(0.05)
        before = r.cpu_s()
        anchor = r.ask("GET", "/kubetape/v1/status")["anchor"]
        got = result(p, "%d %d 1\n" % (anchor["mono_ns"], anchor["tape_ns"]))
        got["cpu_us"] = (r.cpu_s() - before) * 1e6 / max(got["events"], 1)
    return got


def bare(connections, rate, events, seconds, tls=False):
    """The same from the write loop."""
    loop = subprocess.Popen([tool("bench/write_loop"), str(connections), str(rate), str(events), str(EVENT_BYTES)]
        + (["tls"] if tls else []), stdout=subprocess.PIPE, text=True)
    port = int(loop.stdout.readline())
    got = {}
    if connections:
        got = result(watchers(port, connections, -1 if tls else 0, seconds, TARGET), "1 1 1\n")
    got.update(json.loads(loop.stdout.readline()))
    loop.kill()
    loop.wait()
    loop.stdout.close()
    return got


def spaced_updates(server, rate, events):
    """Writes a ConfigMap again and again; it says when it was written."""
    c = http.client.HTTPSConnection(server, timeout=60, context=ssl._create_unverified_context())
    begin = time.monotonic()
    for i in range(events):
        time.sleep(max(begin + i / rate - time.monotonic(), 0))
        thing = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "c"},
            "data": {"x": "%0*x" % (EVENT_BYTES - 330, random.getrandbits(4 * (EVENT_BYTES - 330)))}}
        thing["data"]["due"] = "%019d" % time.monotonic_ns()
        c.request("PUT", "/api/v1/namespaces/default/configmaps/c", json.dumps(thing, separators=(",", ":")),
            {"Content-Type": "application/json"})
        if c.getresponse().read()[:1] != b"{":
            sys.exit("the API server refused a write")
    c.close()


def quiet(pid):
    """Waits until a server that has just started does little; returns what it uses then, in seconds of a second."""
    for _ in range(15):
        before, begin = cpu_s(pid), time.monotonic()
        time.sleep(2)
        idle = (cpu_s(pid) - before) / (time.monotonic() - begin)
        if idle < 0.05:
            break
    return idle


def real(folder, connections, rate, events):
    """The same from a kube-apiserver; None when there is none. Its lateness includes the write through etcd."""
    if not os.path.exists(tool("interop/bin/kube-apiserver")):
        return None
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "interop"))
    from lib.cluster import Cluster
    cluster = Cluster(os.path.join(folder, "cluster")).up(("etcd", "kube-apiserver"))
    try:
        server = cluster.server.split("//")[1]
        # The watchers carry no credentials.
        cluster.kubectl("create", "clusterrolebinding", "everybody", "--clusterrole=cluster-admin", "--user=system:anonymous")
        cluster.kubectl("create", "configmap", "c")
        rv = json.loads(cluster.kubectl("get", "configmap", "c", "-o", "json"))["metadata"]["resourceVersion"]
        p = watchers(int(server.split(":")[1]), connections, 1, events / rate + 1.5,
            "/api/v1/namespaces/default/configmaps?watch=1&resourceVersion=" + rv)
        pid = cluster.state["processes"]["kube-apiserver"]["pid"]
        idle = quiet(pid)
        before, begin = cpu_s(pid), time.monotonic()
        p.stdin.write("1 1 1\n")
        p.stdin.flush()
        spaced_updates(server, rate, events)
        got = result(p)
        used = cpu_s(pid) - before - idle * (time.monotonic() - begin)
        got["cpu_us"] = used * 1e6 / max(got["events"], 1)
        return got
    finally:
        cluster.down()


def against_real(folder, ours, rate, events):
    """Rows for 1,000 watchers, a connection each; the server's CPU for a delivery, None without one."""
    rival = real(folder, 1000, rate, events)
    if not rival:
        print("(no kube-apiserver beside it: tests/interop/build makes one)")
        return None
    if rival["events"] != events * 1000:
        print("kube-apiserver: %d events of %d arrived in time; it cuts watches that it finds slow" % (rival["events"], events * 1000))
    for what, key in (("CPU for a delivery", "cpu_us"), ("late, p50", "p50_us"), ("late, p99", "p99_us")):
        row("1000 watchers, HTTP/2 and TLS: %s, beside the real one" % what, ours[key], "us", "", rival[key], "kube-apiserver")
    return rival["cpu_us"]


def fan_out(folder):
    """Spaced events to more and more watchers."""
    for count in (1, 100, 1000, 5000):
        rate = min(DELIVERIES_A_SECOND / count, 2000)
        events = max(int(rate * SECONDS), 1)
        tape = make_tape(os.path.join(folder, "spaced-%d.tape" % count), events, rate)
        span = SECONDS + LEAD_S + 1
        rival = bare(count, rate, events, SECONDS + 1.5)
        if count <= 1000:
            floor = bare(count, rate, events, SECONDS + 1.5, tls=True)
            row("%d connections, a bare loop of SSL_write(3): CPU for a delivery" % count, floor["cpu_us"], "us", "", rival["cpu_us"],
                "write(2)")
        kinds = [("HTTP/1.1", 0, count, "--plain")]
        if count <= 1000:
            kinds.append(("HTTP/2 and TLS", 1, count, None))
        if count >= 1000:
            kinds.append(("HTTP/2 and TLS, 100 on a connection", 100, count // 100, None))
        for name, streams, connections, option in kinds:
            got = play(tape, connections, streams, span, *([option] if option else []))
            title = "%d watchers, %s: " % (count, name)
            if got["events"] != events * count:
                print("%s%d events of %d arrived in time" % (title, got["events"], events * count))
            row(title + "CPU for a delivery", got["cpu_us"], "us", "<= 1.5 x" if streams == 1 else "", rival["cpu_us"], "write(2)")
            row(title + "late, p50", got["p50_us"], "us", "<= 60 over" if count == 1000 else "", rival["p50_us"], "write(2)")
            row(title + "late, p99", got["p99_us"], "us", "<= 150 over" if count == 1000 else "", rival["p99_us"], "write(2)")
            if count == 1000 and streams == 1:
                rivals["cpu_us"] = against_real(folder, got, rate, events)
        shutil.rmtree(tape)
    timer = bare(0, 1000, int(1000 * SECONDS), 0)
    row("a timer alone: late, p50", timer["late_p50_us"], "us")
    row("a timer alone: late, p99", timer["late_p99_us"], "us")


def bursts(folder):
    """Everything at once, to as many watchers as read."""
    events = 5000
    tape = make_tape(os.path.join(folder, "burst.tape"), events, 0)
    rival = bare(100, 0, events, SECONDS + 2)
    for name, streams, connections, options in (("HTTP/1.1", 0, 100, ["--plain"]), ("HTTP/2 and TLS", 1, 100, []),
            ("HTTP/2 and TLS, 100 on a connection", 100, 1, [])):
        got = play(tape, connections, streams, SECONDS + 2, "--speed", "max", *options)
        if got["events"] != events * 100:
            print("%s: %d events of %d arrived in time" % (name, got["events"], events * 100))
        row("speed max, 100 watchers, %s: CPU for a delivery" % name, got["cpu_us"], "us", "<= 2.4", rival["cpu_us"], "write(2)")
        if rivals.get("cpu_us"):
            row("speed max, 100 watchers, %s: CPU, beside the real one spaced" % name, got["cpu_us"], "us", "<= 0.2 x",
                rivals["cpu_us"], "kube-apiserver")
    shutil.rmtree(tape)


def idle_memory(folder):
    tape = make_tape(os.path.join(folder, "idle.tape"), 10, 10)
    for name, streams, connections, options in (("HTTP/1.1", 0, 2000, ["--plain"]), ("HTTP/2 and TLS", 1, 1000, []),
            ("HTTP/2 and TLS, 100 on a connection", 100, 20, [])):
        total = connections * max(streams, 1)
        with Replay(tape, "--wait-watchers", "1000000", *options) as r:
            r.ask("GET", "/api/v1/pods")
            before = r.memory()
            p = watchers(r.port, connections, streams, 1, NOTHING, anchored=False)
            while r.ask("GET", "/kubetape/v1/status")["watches"] < total:
                time.sleep(0.05)
            row("memory for an idle watch, %s" % name, (r.memory() - before) / total / 1000, "kB", "<= 4")
            result(p)
    shutil.rmtree(tape)


def large_tape(folder):
    tape = make_tape(os.path.join(folder, "large.tape"), LARGE_EVENTS, LARGE_EVENTS / 86400, 300, objects=5000)
    dice = random.Random(1)
    thousands = LARGE_EVENTS // 1000
    with Replay(tape, "--plain") as r:
        row("start on a day of %d thousand events" % thousands, r.start_s * 1000, "ms", "<= 1000")
        r.ask("POST", "/kubetape/v1/pause")
        times, used = [], []
        for i in range(200):
            if i == 50:
                early = r.memory()
            begin, before = time.monotonic(), r.loop_cpu_s()
            r.ask("POST", "/kubetape/v1/seek?to=seq:%d" % dice.randrange(2, LARGE_EVENTS))
            times.append((time.monotonic() - begin) * 1000)
            used.append((r.loop_cpu_s() - before) * 1000)
        times.sort()
        used.sort()
        row("seek in it, median", times[len(times) // 2], "ms", "<= 50")
        row("seek in it, median, CPU of the loop", used[len(used) // 2], "ms", "<= 50")
        row("seek in it, slowest of 200", times[-1], "ms", "<= 50")
        row("memory of the replay after 200 seeks, beside that after 50", r.memory() / 1e6, "MB", "", early / 1e6, "itself")
    shutil.rmtree(tape)


def main():
    folder = tempfile.mkdtemp(prefix="kubetape-bench-", dir=os.path.join(BUILD, "bench"))
    head()
    try:
        for part in (fan_out, bursts, idle_memory, large_tape):
            part(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    merge(RESULT)


if __name__ == "__main__":
    main()
