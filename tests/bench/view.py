"""Measures the page of `kubetape view` over a tape of a million events: how soon it can be looked at, what each answer takes, and
how many frames a second a browser draws while somebody pans.

    view.py BUILD_DIR BENCH.json

Prints a table and adds its rows to BENCH.json. Without chromium the frames are left out. BENCH_VIEW_EVENTS changes the
number of events; BENCH_VIEW_TAPE takes a tape instead.
"""
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

BUILD, RESULT = os.path.abspath(sys.argv[1]), sys.argv[2]
os.environ["KUBETAPE_BUILD"] = BUILD
sys.path[:0] = [os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "view")]
import browsers  # noqa: E402  pylint: disable=wrong-import-position
from figures import head, merge, peak_bytes, row  # noqa: E402  pylint: disable=wrong-import-position
from viewing import View  # noqa: E402  pylint: disable=wrong-import-position

EVENTS = int(os.environ.get("BENCH_VIEW_EVENTS", "1000000"))
TIMES = 30
PAN = """new Promise(done => {
  const begin = performance.now(), before = kubetape.timeline.frames;
  const step = () => {
    kubetape.timeline.panBy(0.01 * Math.sign(Math.sin((performance.now() - begin) / 500)));
    if (performance.now() - begin < 5000) requestAnimationFrame(step);
    else done((kubetape.timeline.frames - before) / (performance.now() - begin) * 1000);
  };
  step();
})"""


def make_tape(folder):
    if os.environ.get("BENCH_VIEW_TAPE"):
        return os.environ["BENCH_VIEW_TAPE"]
    path = os.path.join(folder, "x.tape")
    with subprocess.Popen([os.path.join(BUILD, "bench/gen_stream"), "--events", str(EVENTS)], stdout=subprocess.PIPE) as stream:
        subprocess.run([os.path.join(BUILD, "kubetape"), "import", "--times", "objects", "-o", path, "-"], stdin=stream.stdout, check=True,
                       stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return path


def measure(view, what, name, make):
    times = []
    for _ in range(TIMES):
        parameters = make()
        begin = time.monotonic()
        view.ask(name, **parameters)
        times.append((time.monotonic() - begin) * 1000)
    row(what, statistics.median(times), "ms", "below 50")
    row(what + ", the slowest of thirty", max(times), "ms", "below 50")


def measure_answers(view, summary):
    begin, end = int(summary["begin"]), int(summary["end"])

    def window():
        a, b = sorted(random.sample(range(begin, end, 1000), 2))
        return {"from": a, "to": b + 1000, "width": 2000}
    lanes = view.ask("lanes", **{"from": begin, "to": end, "width": 2000, "count": 100, "all": 1})["lanes"]
    keys = [lane["key"] for lane in lanes if lane["type"] == "object" and lane["events"]]
    measure(view, "all of the tape, closed: 60 lanes", "lanes", lambda: {"from": begin, "to": end, "width": 2000, "count": 60})
    measure(view, "some window, open: 60 lanes", "lanes", lambda: {**window(), "count": 60, "all": 1, "first": random.randrange(1000)})
    measure(view, "the strip", "density", dict)
    measure(view, "what stands out", "notable", dict)
    measure(view, "one event and who changed what", "event", lambda: {"seq": random.randrange(1, int(summary["last_seq"]))})
    measure(view, "an object at some time", "object", lambda: {"key": random.choice(keys), "at": random.randrange(begin, end)})


def measure_frames(view):
    if not browsers.find("chromium"):
        return
    with browsers.open_browser("chromium") as browser:
        browser.go(view.url)
        browser.wait("document.documentElement.dataset.ready === '1' && kubetape.timeline.model.lanes.length > 0")
        row("panning over all of it", browser.evaluate(PAN), "frames/s", "50")
        browser.evaluate("(kubetape.timeline.zoom(0.05, (kubetape.begin + kubetape.end) / 2n), 1)")
        row("panning over a twentieth of it", browser.evaluate(PAN), "frames/s", "50")


def main():
    folder = tempfile.mkdtemp(prefix="kubetape-bench-view-")
    try:
        tape = make_tape(folder)
        head()
        begin = time.monotonic()
        with View(tape) as view:
            view.ask("lanes", **{"from": 0, "to": 2**62, "width": 1000, "count": 60})
            row("from the command to the first lanes", time.monotonic() - begin, "s")
            summary = view.whole()
            row("from the command until all is read", time.monotonic() - begin, "s")
            row("memory, all read", peak_bytes(view.process.pid) / 2**20, "MiB")
            measure_answers(view, summary)
            measure_frames(view)
        merge(RESULT)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
