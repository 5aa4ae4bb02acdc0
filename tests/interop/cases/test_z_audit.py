"""The audit log of a real API server, joined to the tape of what its writes did: nothing that it says surely is left out, and
what a log of level Metadata is joined to is what the whole log says."""

import json
import os
import shutil
import signal
import subprocess

from lib import cluster, paths, process, tape, workload
from lib.case import Case


class AnAuditedClusterRecorded(Case):

    def audited(self, folder):
        """The workload on a cluster with an audit log: (tape, entries)."""
        log, path = (os.path.join(folder, name) for name in ("audit.log", "x.tape"))
        with cluster.fresh(folder, audited=True, nodes=3) as made:
            recorder = process.Child([paths.KUBETAPE, "record", "--all", "-o", path], folder, "recorder", {"KUBECONFIG": made.kubeconfig})
            try:
                recorder.wait_for("^recording [0-9]+ streams")
                work = workload.Workload(made.kubectl)
                work.prepare()
                work.run()
            finally:
                recorder.stop(signal.SIGINT)
        with open(log, encoding="utf-8") as f:
            return path, [json.loads(line) for line in f]

    def join(self, path, entries, name):
        """The audit rows of a copy of the tape, by event."""
        copy, log = path.replace("x.tape", name + ".tape"), path.replace("x.tape", name + ".log")
        shutil.copytree(path, copy)
        with open(log, "w", encoding="utf-8") as f:
            f.writelines(json.dumps(e) + "\n" for e in entries)
        subprocess.run([paths.KUBETAPE, "audit", copy, log], check=True, capture_output=True)
        return {row["seq"]: row for row in tape.rows(copy, "SELECT * FROM audit")}

    def test_every_write_is_joined_and_no_join_is_wrong(self):
        path, entries = self.audited(self.folder())
        joined = self.join(path, entries, "whole")
        bounds = tape.rows(path, "SELECT min(time) AS first, max(time) AS last FROM events WHERE origin = 'watch'")[0]
        recorded = {row["resource"] for row in tape.rows(path, "SELECT resource FROM streams")}
        known = {row["audit_id"] for row in joined.values()}
        # A deletion of what is being deleted already changes nothing.
        left = [f"{e['verb']} {e['requestURI']}" for e in entries if e["responseStatus"]["code"] < 300 and e["auditID"] not in known
                and bounds["first"] < e["requestReceivedTimestamp"] and e["stageTimestamp"] < bounds["last"]
                and e["objectRef"]["resource"] in recorded and not e["verb"].startswith("delete")]
        self.assertNothing(left, "writes that are not joined")
        nobody = tape.rows(path.replace("x.tape", "whole.tape"),
            "SELECT resource || ' ' || name AS what FROM events WHERE type = 'DELETED' AND origin = 'watch' AND user IS NULL")
        self.assertNothing([row["what"] for row in nobody], "deletions that are nobody's")
        for entry in entries:
            entry["level"] = "Metadata"
            entry.pop("requestObject", None)
            entry.pop("responseObject", None)
        short = self.join(path, entries, "metadata")
        self.assertGreater(len(short), len(joined) // 4)
        self.assertNothing([f"event {seq}: {row['audit_id']}, expected {joined.get(seq, {}).get('audit_id')}"
            for seq, row in short.items() if row["audit_id"] != joined.get(seq, {}).get("audit_id")], "joins at level Metadata that are wrong")
