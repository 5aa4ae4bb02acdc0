"""Measures the CPU of `kubetape record` for each event beside `curl | zstd -3` reading the same watches.

    record.py BUILD_DIR BENCH.json [SECONDS]

A made session of a cluster at work, a dozen busy kinds with objects of 1 to 14 kB and many quiet ones, is replayed
over HTTP/2 and TLS at several rates, once for each client. What is measured follows on as much as fills an extent, so
that it is as in a recording of hours. CPU is that of the client's processes alone, all threads; the tape is written
to a disk; sealing is part of the highest rate alone, which fills an extent. Beside it is the floor: what the same
watches cost when they are only read, with libcurl, and with nghttp2 and OpenSSL on one connection, resting between
reads as the recorder does, and what is left of the recorder's CPU when it flushes once a second and rests for 50 ms.
At last the same events come as fast as the recorder takes them, some extents of them: its memory at most, less the
largest extent. Adds its rows to BENCH.json.
"""
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

from figures import cpu_s, merge, peak_bytes, row
from record_session import (BUILD, LEAD_S, PAUSE_S, RATES, WARM_EVENTS, WARM_S, Replay, clean_environment, count_recorded,
    make_tape, start_recorder, tool)

RESULT = sys.argv[2]
SECONDS = float(sys.argv[3]) if len(sys.argv) > 3 else 8
GOAL_US = 37
FLOOD_S = 120  # at most
LAZY = ("--flush-interval", "1s", "--coalesce", "50ms")  # what being durable each 50 ms and exact to 10 ms costs
MODERATE_RATE, MODERATE_EVENTS = 150, 8  # from there on the recorder rests until this many more have come, see moderation.c


def measure(processes, seconds, seal=lambda: None):
    """CPU of the processes while the events come. The clock begins a second after the last watch."""
    time.sleep(LEAD_S * 0.7 + WARM_S + PAUSE_S * 0.3)
    seal()
    time.sleep(PAUSE_S * 0.7)
    before = sum(cpu_s(p.pid) for p in processes)
    time.sleep(seconds + LEAD_S * 0.8)
    return sum(cpu_s(p.pid) for p in processes) - before


def recorder(session, folder, seconds, options=()):
    tape = os.path.join(folder, "again.tape")
    with Replay(session) as r:
        p = start_recorder(session, r, tape, options)
        used = measure([p], seconds, lambda: p.send_signal(signal.SIGUSR1))
        peak = peak_bytes(p.pid)
        p.send_signal(signal.SIGINT)
        p.communicate()
    got = count_recorded(tape)
    if got != session["events"] + WARM_EVENTS:
        sys.exit("recorded %d events of %d in time" % (got, session["events"] + WARM_EVENTS))
    shutil.rmtree(tape)
    return used * 1e6 / session["events"], peak


def largest_extent(tape):
    found = 0
    for name in os.listdir(tape):
        if name.endswith(".db"):
            db = sqlite3.connect(os.path.join(tape, name))
            found = max(found, *db.execute("SELECT coalesce(max(raw_bytes), 0) FROM extent").fetchone())
            db.close()
    return found


def flood(session, folder):
    """Memory at most, less that of the open extent."""
    tape = os.path.join(folder, "flood.tape")
    with Replay(session, options=("--speed", "max")) as r:
        p = start_recorder(session, r, tape)
        until = time.monotonic() + FLOOD_S
        while count_recorded(tape) < session["events"] + WARM_EVENTS:
            if time.monotonic() > until:
                sys.exit("the flood did not end in time")
            time.sleep(1)
        peak = peak_bytes(p.pid)
        p.send_signal(signal.SIGINT)
        p.communicate()
    extent = largest_extent(tape)
    shutil.rmtree(tape)
    return peak - extent


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
            lazy, _ = recorder(session, folder, SECONDS, LAZY)
            row(title + "beside fewer flushes and wake-ups", ours, "us", "", lazy, " ".join(LAZY))
            for library in ("curl", "nghttp2"):
                row(title + "beside only reading", ours, "us", "", floor(session, library, rate, SECONDS), library + " alone")
        row("record: memory at most", peak / 1e6, "MB", "<= 64 + extent")
        row("record as fast as it can: memory beside the open extent", flood(session, folder) / 1e6, "MB", "<= 64")
    merge(RESULT)


main()
