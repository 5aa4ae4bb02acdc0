"""A made session of a cluster at work, which the benchmarks of recording play to clients: a dozen busy kinds with objects of 1
to 14 kB and many quiet ones, over HTTP/2 and TLS. What is measured follows on as much as fills an extent of a tape.

The programs that use this have the build's folder as their first argument.
"""
import json
import os
import subprocess
import sys

from figures import Ended

BUILD = os.path.abspath(sys.argv[1])
RATES = (300, 1000, 3000)
T0 = 1_800_000_000_000_000_000
QUIET = 45  # resources that are followed and of which nothing comes, as most in a cluster
LEAD_S = 1  # between the lists and the first event
WARM_EVENTS, WARM_S, PAUSE_S = 18000, 2, 5  # at first, and the pause before what is measured
FLUSH_EVENTS = 10000  # of the tape that is made
CLUSTER_SCOPED = ("Node", "ClusterOperator")


def tool(name):
    return os.path.join(BUILD, name)


# ---- the session ----

def stream_of(thing):
    group, _, version = thing["apiVersion"].rpartition("/")
    kind = thing["kind"]
    return {"group": group, "version": version, "resource": kind.lower() + "s", "kind": kind, "namespaced": kind not in CLUSTER_SCOPED}


def name_of(stream):
    return "%s.%s" % (stream["resource"], stream["group"]) if stream["group"] else stream["resource"]


def lines_of(count):
    """A made stream's objects at the start, and `count` events after that."""
    made = subprocess.Popen([tool("bench/gen_stream"), "--events", str(count + 4000)], stdout=subprocess.PIPE, text=True)
    listed, events = {}, []
    for line in made.stdout:
        event = json.loads(line)
        thing = event["object"]
        if event["type"] == "BOOKMARK":
            continue
        key = (thing["kind"], thing["metadata"].get("namespace"), thing["metadata"]["name"])
        if len(events) == count:
            break
        if events or event["type"] != "ADDED":
            events.append(event)
        else:
            listed[key] = thing
    made.kill()
    made.stdout.close()
    made.wait()
    return listed.values(), events


def due_s(i, rate):
    """When the event is due."""
    if i < WARM_EVENTS:
        return LEAD_S + i * WARM_S / WARM_EVENTS
    return LEAD_S + WARM_S + PAUSE_S + (i - WARM_EVENTS) / rate


def make_tape(path, rate, seconds):
    listed, events = lines_of(WARM_EVENTS + int(rate * seconds))
    p = subprocess.Popen([tool("make_tape"), path], stdin=subprocess.PIPE, text=True)

    def put(value):
        p.stdin.write(json.dumps(value, separators=(",", ":"), ensure_ascii=False) + "\n")

    streams, before = {}, {}
    for thing in [*listed, *(e["object"] for e in events)]:
        streams[thing["kind"]] = stream_of(thing)
    for i in range(QUIET):
        kind = "Quiet%d" % i
        streams[kind] = stream_of({"apiVersion": "quiet.example.com/v1", "kind": kind})
    for thing in listed:
        rv = int(thing["metadata"]["resourceVersion"])
        before[thing["kind"]] = max(rv, before.get(thing["kind"], 1))
        put({"time_ns": T0, "origin": "list", "stream": streams[thing["kind"]], "type": "ADDED", "object": thing})
    for kind, stream in streams.items():
        put({"mark": "list", "time_ns": T0, "stream": stream, "rv": str(before.get(kind, 1))})
    for i, event in enumerate(events):
        if i % FLUSH_EVENTS == 0:
            put({"flush": True})
        put({"time_ns": T0 + int(due_s(i, rate) * 1e9), "origin": "watch", "stream": streams[event["object"]["kind"]], **event})
    p.stdin.close()
    if p.wait() != 0:
        sys.exit("make_tape failed")
    targets = ["/%s/%s?watch=1&resourceVersion=%d" % ("apis/%s/%s" % (s["group"], s["version"]) if s["group"] else "api/v1",
        s["resource"], before.get(kind, 1)) for kind, s in streams.items()]
    size = sum(len(json.dumps(e["object"], separators=(",", ":"))) for e in events) / len(events)
    return {"path": path, "targets": targets, "events": len(events) - WARM_EVENTS, "bytes": size, "streams": list(streams.values()),
        "listed": len(listed), "names": [name_of(s) for s in streams.values()]}


# ---- playing it ----

class Replay(Ended):
    """A replay of the session, whose clock starts with the last watch."""

    def __init__(self, session, watches=None, options=()):
        self.kubeconfig = session["path"] + ".kubeconfig"
        self.process = subprocess.Popen([tool("kubetape"), "replay", session["path"], "--kubeconfig", self.kubeconfig,
            "--wait-watchers", str(watches or len(session["targets"])), *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.url = "https://127.0.0.1:" + self.process.stdout.readline().rsplit(":", 1)[1].strip()


def clean_environment():
    return {k: v for k, v in os.environ.items() if not k.upper().endswith("_PROXY")}


def start_recorder(session, replay, tape, options=()):
    p = subprocess.Popen([tool("kubetape"), "record", *session["names"], "-o", tape, "--kubeconfig", replay.kubeconfig, *options],
        stderr=subprocess.PIPE, text=True, env=clean_environment())
    while not p.stderr.readline().startswith("recording "):
        if p.poll() is not None:
            sys.exit("the recorder failed")
    return p


def count_recorded(tape):
    return json.loads(subprocess.run([tool("kubetape"), "query", tape, "SELECT count(*) AS n FROM events WHERE origin='watch'",
        "--format", "json"], capture_output=True, check=True).stdout)[0]["n"]
