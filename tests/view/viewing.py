"""A running `kubetape view`, and what it answers."""
import http.client
import json
import os
import signal
import subprocess
import sys
import time
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cli"))
from tapes import KUBETAPE  # noqa: E402  pylint: disable=wrong-import-position

PATIENCE_S = 60


class View:
    def __init__(self, tape, *options):
        self.process = subprocess.Popen([KUBETAPE, "view", tape, "--no-browser", *options], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            raise AssertionError(self.process.stderr.read())
        parts = urllib.parse.urlsplit(self.url)
        self.port, self.token = parts.port, urllib.parse.parse_qs(parts.query)["token"][0]

    def request(self, path, method="GET", body=None, token=None, **headers):
        """(status, headers, body) of any request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        try:
            sent = {name.replace("_", "-"): value for name, value in headers.items()}
            if token is not False:
                sent["Authorization"] = "Bearer " + (token or self.token)
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def ask(self, name, **parameters):
        path = f"/_kubetape/data/{name}?" + urllib.parse.urlencode(parameters)
        status, _, body = self.request(path)
        if status != 200:
            raise AssertionError(f"{path}: {status} {body[:500]}")
        return json.loads(body)

    def whole(self):
        """The summary, once all of the tape was read."""
        return self.until(lambda s: s["share"] == 1)

    def until(self, holds):
        """The picture's part of the summary, once that holds of it."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            summary = self.ask("summary")["picture"]
            if holds(summary):
                return summary
            time.sleep(0.05)
        raise AssertionError(f"never so: {summary}")

    def window(self, width=1000):
        s = self.whole()
        return {"from": int(s["begin"]) - 10**6, "to": int(s["end"]) + 10**6, "width": width}

    def lanes(self, **more):
        return self.ask("lanes", **{**self.window(), "count": 2000, "all": "1", **more})["lanes"]

    def stop(self):
        """The exit code."""
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(PATIENCE_S)
        self.error = self.process.stderr.read()
        self.process.stdout.close()
        self.process.stderr.close()
        return code

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        code = self.stop()
        if failure == (None, None, None) and (code, self.error) != (0, ""):
            raise AssertionError(f"exit code {code}: {self.error}")
