"""HTTP/2 over TLS, spoken by a replay: how many connections the watches take."""

import os

from fake_apiserver import wait_for
from recording import RecordTest
from replays import EVENTS, PODS, Replay, Tape

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


class Connections(RecordTest):
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
