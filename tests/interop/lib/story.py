"""A cluster, a workload and a recording of it, from beginning to end."""

import os
import signal

from lib import cluster, paths, process


def record(folder, out, make_story, nodes, say=print):
    """Record to the tape `out` what a workload.Workload does in a fresh cluster, all of it."""
    made = cluster.Cluster(os.path.join(folder, "cluster"))
    try:
        made.up(nodes=nodes)
        story = make_story(made.kubectl, say)
        story.prepare()
        recorder = process.Child([paths.KUBETAPE, "record", "--all", "-o", out], folder, "record",
            {"KUBECONFIG": made.kubeconfig})
        try:
            say(recorder.wait_for("^recording [0-9]+ streams").group())
            story.run()
        finally:
            code = recorder.stop(signal.SIGINT)
        say(recorder.text("err").strip())
        if code:
            raise RuntimeError(f"kubetape record: exit code {code}")
    finally:
        made.down()
