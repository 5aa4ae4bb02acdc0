"""Measures the CPU of `kubetape record` for each event beside `curl | zstd -3` reading the same watches.

    record.py BUILD_DIR BENCH.json [SECONDS]

A made session of a cluster at work, a dozen busy kinds with objects of 1 to 14 kB and many quiet ones, is replayed
over HTTP/2 and TLS at several rates, once for each client. What is measured follows on as much as fills an extent, so
that it is as in a recording of hours. CPU is that of the client's processes alone, all threads; the tape is written to a
disk; sealing is part of the highest rate alone, which fills an extent. Beside it is the floor: what the same watches cost when they are only read, with
libcurl, and with nghttp2 and OpenSSL on one connection, resting between reads as the recorder does. Adds its rows to
BENCH.json.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from figures import cpu_s, merge, row

BUILD, RESULT = os.path.abspath(sys.argv[1]), sys.argv[2]
SECONDS = float(sys.argv[3]) if len(sys.argv) > 3 else 8
RATES = (300, 1000, 3000)
GOAL_US = 37
T0 = 1_800_000_000_000_000_000
MODERATE_RATE, MODERATE_EVENTS = 150, 8  # from there on the recorder rests until so many more have come, see moderation.c
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
	return {"path": path, "targets": targets, "events": len(events) - WARM_EVENTS, "bytes": size, "names": [
		"%s.%s" % (s["resource"], s["group"]) if s["group"] else s["resource"] for s in streams.values()]}


# ---- playing it ----

class Replay:
	def __init__(self, session):
		self.kubeconfig = session["path"] + ".kubeconfig"
		self.process = subprocess.Popen([tool("kubetape"), "replay", session["path"], "--kubeconfig", self.kubeconfig,
			"--wait-watchers", str(len(session["targets"]))], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
		self.url = "https://127.0.0.1:" + self.process.stdout.readline().rsplit(":", 1)[1].strip()

	def __enter__(self):
		return self

	def __exit__(self, *failure):
		self.process.send_signal(signal.SIGTERM)
		self.process.wait()
		self.process.stdout.close()


def measure(processes, seconds, seal=lambda: None):
	"""CPU of the processes while the events come. The clock begins a second after the last watch."""
	time.sleep(LEAD_S * 0.7 + WARM_S + PAUSE_S * 0.3)
	seal()
	time.sleep(PAUSE_S * 0.7)
	before = sum(cpu_s(p.pid) for p in processes)
	time.sleep(seconds + LEAD_S * 0.8)
	return sum(cpu_s(p.pid) for p in processes) - before


def clean_environment():
	return {k: v for k, v in os.environ.items() if not k.upper().endswith("_PROXY")}


def recorder(session, folder, seconds):
	tape = os.path.join(folder, "again.tape")
	with Replay(session) as r:
		p = subprocess.Popen([tool("kubetape"), "record", *session["names"], "-o", tape, "--kubeconfig", r.kubeconfig],
			stderr=subprocess.PIPE, text=True, env=clean_environment())
		while not p.stderr.readline().startswith("recording "):
			if p.poll() is not None:
				sys.exit("the recorder failed")
		used = measure([p], seconds, lambda: p.send_signal(signal.SIGUSR1))
		with open("/proc/%d/status" % p.pid) as f:
			peak = next(int(line.split()[1]) * 1024 for line in f if line.startswith("VmHWM"))
		p.send_signal(signal.SIGINT)
		p.communicate()
	got = json.loads(subprocess.run([tool("kubetape"), "query", tape, "SELECT count(*) AS n FROM events WHERE origin='watch'",
		"--format", "json"], capture_output=True, check=True).stdout)[0]["n"]
	if got != session["events"] + WARM_EVENTS:
		sys.exit("recorded %d events of %d in time" % (got, session["events"] + WARM_EVENTS))
	shutil.rmtree(tape)
	return used * 1e6 / session["events"], peak


def curl(session, folder, seconds):
	out = os.path.join(folder, "stream.zst")
	with Replay(session) as r:
		with open(out, "wb") as to:
			reader = subprocess.Popen(["curl", "-skN", "--no-progress-meter", "-Z", "--parallel-max", "100", "--http2", "-A", "bench",
				*(r.url + t for t in session["targets"])], stdout=subprocess.PIPE, env=clean_environment())
			packer = subprocess.Popen(["zstd", "-3", "-q", "-T1"], stdin=reader.stdout, stdout=to)
		reader.stdout.close()
		used = measure([reader, packer], seconds)
		reader.kill()
		reader.wait()
		packer.wait()
	os.remove(out)
	return used * 1e6 / session["events"]


def floor(session, library, rate, seconds):
	"""Watches that are only read."""
	rest_ms = 0 if rate < MODERATE_RATE else min(10, 1000 * MODERATE_EVENTS // rate)
	with Replay(session) as r:
		p = subprocess.Popen([tool("bench/record_floor"), library, r.url.rsplit(":", 1)[1], str(rest_ms)], stdin=subprocess.PIPE)
		p.stdin.write("".join(t + "\n" for t in session["targets"]).encode())
		p.stdin.close()
		used = measure([p], seconds)
		p.kill()
		p.wait()
	return used * 1e6 / session["events"]


def main():
	if not shutil.which("curl") or not shutil.which("zstd"):
		sys.exit("record.py wants curl and zstd")
	with tempfile.TemporaryDirectory(prefix="kubetape-bench-", dir=BUILD) as folder:
		for rate in RATES:
			session = make_tape(os.path.join(folder, "%d.tape" % rate), rate, SECONDS)
			rival = curl(session, folder, SECONDS)
			ours, peak = recorder(session, folder, SECONDS)
			title = "record %d events/s of %.1f kB: " % (rate, session["bytes"] / 1000)
			row(title + "CPU for an event", ours, "us", "<= %d" % GOAL_US, rival, "curl | zstd -3")
			for library in ("curl", "nghttp2"):
				row(title + "beside only reading", ours, "us", "", floor(session, library, rate, SECONDS), library + " alone")
		row("record: memory at most", peak / 1e6, "MB", "<= 64 + extent")
	merge(RESULT)


main()
