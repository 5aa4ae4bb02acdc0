"""A tee between a program and its API server, as a service."""

import os
import signal
import subprocess

from lib import paths, tape, wait


class Tee:
    """`kubetape tee` before the server of a kubeconfig; programs are given its own."""

    def __init__(self, kubeconfig, folder, name):
        self.tape, self.run = os.path.join(folder, name + ".tape"), os.path.join(folder, name + ".run")
        self.kubeconfig, self.log = os.path.join(folder, name + ".kubeconfig"), os.path.join(folder, name + ".log")
        subprocess.run(["rm", "-rf", self.tape, self.tape + ".key", self.run], check=True)
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen([paths.KUBETAPE, "tee", "-o", self.tape, "--kubeconfig", kubeconfig,
                "--client-kubeconfig", self.kubeconfig], stdout=subprocess.PIPE, stderr=log, text=True)
        line = self.process.stdout.readline()
        if not line.startswith("teeing "):
            raise RuntimeError(f"the tee has not started, see {self.log}")
        self.port = int(line.strip().rsplit(":", 1)[1])

    def rows(self, sql):
        return tape.rows(self.tape, sql, "--run", self.run)

    def end(self):
        """Its exit code; it ends once."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        code = self.process.wait(timeout=wait.PATIENCE_S)
        self.process.stdout.close()
        return code

    def check(self):
        """After its end: the tape is sound, and all that passed could be read and is written down."""
        subprocess.run([paths.KUBETAPE, "verify", self.tape], check=True, capture_output=True)
        wrong = self.rows("SELECT what || ' ' || ifnull(detail, '') AS what FROM faults WHERE what = 'not_recorded' UNION ALL"
            " SELECT 'unread ' || path FROM requests WHERE how = 'unread' UNION ALL"
            " SELECT 'an event of request ' || d.request FROM deliveries AS d LEFT JOIN frames AS f USING (request, number)"
            " WHERE d.seq = 0 AND f.number IS NULL")
        if wrong:
            raise RuntimeError(f"the tee has lost something: {wrong[:5]}")
