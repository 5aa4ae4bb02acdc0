"""HTTP/2 over TLS, spoken by a replay: how many connections the watches take."""

import os

from recording import RecordTest
from replays import EVENTS, PODS, Replay, Tape, obj
from waiting import wait_for

QUIET = [{"group": "quiet.example.com", "version": "v1", "resource": f"things{i}", "kind": f"Thing{i}", "namespaced": True}
         for i in range(250)]


def connections_to(port, pid):
    """How many established connections a process has to a port of 127.0.0.1."""
    inodes = set()
    with open("/proc/net/tcp", encoding="utf-8") as f:
        for line in f.readlines()[1:]:
            columns = line.split()
            if columns[2] == f"0100007F:{port:04X}" and columns[3] == "01":
                inodes.add(f"socket:[{columns[9]}]")
    count = 0
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            count += os.readlink(f"/proc/{pid}/fd/{fd}") in inodes
        except FileNotFoundError:  # closed meanwhile
            pass
    return count


BUSY = [{"group": "busy.example.com", "version": "v1", "resource": f"works{i}", "kind": f"Work{i}", "namespaced": True}
        for i in range(10)]


class Connections(RecordTest):
    def test_what_comes_last_before_a_silence_is_recorded_like_all_else(self):
        """Two watches share a connection, and libcurl reads for both when one is read. With events of these sizes
        libcurl 7.88 forgot the end of one nearly every time."""
        tape = Tape()
        for stream in BUSY:
            tape.listed(stream, 10, [obj(stream, f"a{n}", 5) for n in range(20)])
        for n in range(6000):
            stream = BUSY[n % len(BUSY)]
            tape.event(1 + n / 1e4, stream, "MODIFIED", obj(stream, f"a{n % 20}", 100 + n, x="y" * (n * 37 % 900)))
        tape.write(os.path.join(self.folder, "served.tape"))
        for run in range(3):
            with self.subTest(run=run):
                self.flood(f"{run}.tape")

    def flood(self, name):
        self.tape = os.path.join(self.folder, name)
        with Replay(os.path.join(self.folder, "served.tape"), self.folder, "--speed", "max", "--wait-watchers",
                    str(len(BUSY)), plain=False) as replay:
            recording = self.record(*(f"{s['resource']}.{s['group']}" for s in BUSY), "--kubeconfig", replay.kubeconfig,
                                    server=None).ready(len(BUSY))
            recording.wait_events(6000, "origin='watch'")
            self.assertEqual(recording.stop(), 0)

    def test_few_connections_carry_hundreds_of_watches(self):
        tape = Tape()
        for stream in [*QUIET, EVENTS, PODS]:
            tape.listed(stream, 10, [])
        names = [f"{s['resource']}.{s['group']}" for s in QUIET]
        with Replay(tape.write(os.path.join(self.folder, "served.tape")), self.folder, plain=False) as replay:
            recording = self.record(*names, "events", "pods", "--kubeconfig", replay.kubeconfig, server=None).ready(252)
            # Three for the quiet ones, which are more than two hundred, and one for each of the others.
            wait_for(lambda: connections_to(replay.port, recording.process.pid) >= 5, "connections of the watches")
            self.assertLessEqual(connections_to(replay.port, recording.process.pid), 8)
            self.assertEqual(recording.stop(), 0)
