"""What a scenario is made of: *acts*. An act is one client on one tape under one fault file, and what has to come of it."""

import functools
import json
import os
import shutil
import subprocess
import sys

import stage

PYTHON = sys.executable
KUBECTL = os.environ.get("KUBECTL") or shutil.which("kubectl")
ACTS = []

# How long kubectl waits for what never comes. A reflector is back some two seconds after a 410.
IN_VAIN = "--timeout=12s"
CLASSIC, STREAMING = {"KUBE_FEATURE_WatchListClient": "false"}, {"KUBE_FEATURE_WatchListClient": "true"}
# Silence is noticed after 30 s and 15 s; three are enough to see it.
IMPATIENT = {"HTTP2_READ_IDLE_TIMEOUT_SECONDS": "2", "HTTP2_PING_TIMEOUT_SECONDS": "1"}
HTTP1, HTTP2 = ("--plain",), ()


@functools.cache
def kubectl_minor():
    """The minor release of kubectl; 0 when there is none. Old ones do not wait by a reflector."""
    try:
        done = subprocess.run([KUBECTL, "version", "--client", "-o", "json"], capture_output=True, text=True, timeout=60, check=True)
        return int(json.loads(done.stdout)["clientVersion"]["minor"].rstrip("+"))
    except (OSError, TypeError, ValueError, KeyError, subprocess.SubprocessError):
        return 0


class Act:
    def __init__(self, check, scenario, title, client, tape, gaps, options, env, protocol):
        self.check = check
        self.scenario, self.title, self.client = scenario, title, client
        self.tape, self.gaps, self.options, self.env, self.protocol = tape, gaps, options, env, protocol
        self.is_go, self.is_js = client[0] == stage.GO_CLIENT, stage.JS_CLIENT in client
        self.is_kubectl = client[0] == "kubectl"
        self.in_vain = IN_VAIN in client  # takes its time
        self.name = "%s %s" % (scenario, title)

    def missing(self):
        """Why it cannot be played here; None when it can."""
        if self.is_go and not os.path.exists(stage.GO_CLIENT):
            return "needs tests/interop/build scenarios"
        if self.is_js and not os.path.exists(os.path.join(os.path.dirname(stage.JS_CLIENT), "installed")):
            return "needs tests/interop/build javascript"
        return "needs a kubectl of release 1.27 or newer" if self.is_kubectl and kubectl_minor() < 27 else None

    def play(self, folder, say=None):
        client = [KUBECTL, *self.client[1:]] if self.is_kubectl else self.client
        speed = () if "--speed" in self.options else ("--speed", "max")
        return stage.Play(folder, self.tape, self.gaps, (*speed, *self.protocol, *self.options), client, self.env, say)


def act(scenario, title, client, tape="everyday", gaps=None, options=(), env=None, protocol=HTTP1):
    """Decorates check(t, p): t is a unittest.TestCase, p the ended stage.Play."""

    def add(check):
        ACTS.append(Act(check, scenario, title, client, tape, gaps, options, env, protocol))
        return check

    return add


def program(name, *arguments):
    return [PYTHON, os.path.join(stage.HERE, "clients", name), *arguments]


def go(*arguments):
    return [stage.GO_CLIENT, *arguments]


def javascript(*arguments):
    return ["node", stage.JS_CLIENT, *arguments]


def kubectl(*arguments):
    return ["kubectl", *arguments]


def wait_for_deletion(name, timeout="--timeout=60s"):
    return kubectl("wait", "--for=delete", "pod/" + name, timeout)


def lines(text):
    return text.split("\n")[:-1]


def both_modes(add):
    """An act twice: for reflectors that list, and for those that stream their lists. add(title's end, environment)"""
    add(", classic list", CLASSIC)
    add(", streaming list", STREAMING)


def ways_in(p):
    """How often everything was asked for: lists and streaming lists."""
    return sum(word != "WATCH" for word, _, _ in p.asked())
