"""What the benchmarks in Python share: a table of figures beside those of a rival, kept in a JSON file."""
import json
import os
import signal

rows = []


def head():
    print("\n%-60s %10s %-11s %-14s %10s %8s" % ("what", "ours", "", "goal", "rival", "ratio"))


def row(what, ours, unit, goal="", rival=0, rival_name=""):
    ratio = ours / rival if rival else 0
    print("%-60s %10.4g %-11s %-14s" % (what, ours, unit, goal) +
        (" %10.4g %8.3g  %s" % (rival, ratio, rival_name) if rival else ""), flush=True)
    rows.append({"what": what, "ours": ours, "rival": rival, "rival_name": rival_name, "ratio": ratio, "unit": unit})


def merge(path):
    """Adds the rows to the file, in the place of those of the same names."""
    earlier = []
    if os.path.exists(path):
        with open(path) as f:
            earlier = [r for r in json.load(f) if r["what"] not in {x["what"] for x in rows}]
    with open(path, "w") as f:
        f.write("[\n  " + ",\n  ".join(json.dumps(r) for r in earlier + rows) + "\n]\n")


def cpu_s(pid):
    """CPU of a process, all its threads, to the nanosecond."""
    total = 0
    for task in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/schedstat" % (pid, task)) as f:
            total += int(f.read().split()[0])
    return total / 1e9


def peak_bytes(pid):
    """The most memory that the process ever had."""
    with open("/proc/%d/status" % pid) as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith("VmHWM"))


class Ended:
    """What has a `process` that ends with the block it is used in."""

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        self.process.stdout.close()
