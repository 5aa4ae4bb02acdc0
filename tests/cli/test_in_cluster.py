"""replay --in-cluster, and sweep: a command that knows no kubeconfig finds the replay as in a pod."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from replays import KUBETAPE
from test_sweep import CONTROLLER, DEADLINE_S, Story

ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
NOBODY = 65534
# What the client libraries do: host and port from the environment, the rest from the account's folder.
ASK = """import json, os, ssl, urllib.request
account = %r
def said(name):
    with open(os.path.join(account, name)) as f:
        return f.read()
url = "https://" + os.environ["KUBERNETES_SERVICE_HOST"] + ":" + os.environ["KUBERNETES_SERVICE_PORT"]
request = urllib.request.Request(url + "/api/v1/pods", headers={"Authorization": "Bearer " + said("token")})
with urllib.request.urlopen(request, context=ssl.create_default_context(cafile=os.path.join(account, "ca.crt"))) as answer:
    pods = json.load(answer)["items"]
print(json.dumps({"pods": [pod["metadata"]["name"] for pod in pods], "namespace": said("namespace"), "uid": os.geteuid(),
    "kubeconfig": os.environ.get("KUBECONFIG"), "beside": sorted(os.listdir("/var/run"))}))""" % ACCOUNT
# Becomes the controller of other tests, which reads a kubeconfig.
CONTROL = """import base64, json, os, sys
account = %r
with open(os.path.join(account, "ca.crt"), "rb") as f:
    authority = base64.b64encode(f.read()).decode()
with open(os.path.join(account, "token")) as f:
    token = f.read()
server = "https://%%(KUBERNETES_SERVICE_HOST)s:%%(KUBERNETES_SERVICE_PORT)s" %% os.environ
path = os.path.join(sys.argv[1], "%%d.kubeconfig" %% os.getpid())
with open(path, "w") as f:
    json.dump({"clusters": [{"cluster": {"server": server, "certificate-authority-data": authority}}], "users": [{"user": {"token": token}}]}, f)
os.environ["KUBECONFIG"] = path
os.execv(sys.executable, [sys.executable, *sys.argv[2:]])""" % ACCOUNT


def may_isolate():
    return os.geteuid() == 0 or not subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode


def user_may_isolate():
    return os.geteuid() == 0 and not subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/run"], capture_output=True,
        check=False, user=NOBODY, group=NOBODY, extra_groups=[]).returncode


@unittest.skipUnless(may_isolate(), "no namespaces of its own here")
class InClusterTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name
        os.chmod(self.folder, 0o755)
        self.tape = Story(["web-0", "web-1", "web-2"]).write(os.path.join(self.folder, "story.tape"))

    def run_it(self, *options, program=KUBETAPE, command=(sys.executable, "-c", ASK), **more):
        return subprocess.run([program, "replay", self.tape, "--wait-watchers", "0", "--speed", "0.001", *options, "--", *command],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=DEADLINE_S, check=False, **more)

    def answer(self, done):
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout.splitlines()[-1])

    def assert_in_pod(self, answer, uid):
        self.assertEqual((answer["pods"], answer["namespace"], answer["kubeconfig"], answer["uid"]),
            (["web-0", "web-1", "web-2"], "shop", None, uid))
        self.assertLessEqual(set(os.listdir("/var/run")), set(answer["beside"]))

    def test_it_finds_the_replay_by_its_environment_and_the_service_accounts_files(self):
        self.assert_in_pod(self.answer(self.run_it("--in-cluster", "shop", env={**os.environ, "KUBERNETES_SERVICE_HOST": "10.0.0.1"})),
            os.geteuid())

    @unittest.skipUnless(user_may_isolate(), "not root, or users get no namespaces here")
    def test_a_user_needs_no_rights_for_that(self):
        program = shutil.copy(KUBETAPE, os.path.join(self.folder, "kubetape"))
        os.mkdir(os.path.join(self.folder, "home"))
        os.chmod(os.path.join(self.folder, "home"), 0o777)
        for path in (self.tape, *(os.path.join(self.tape, name) for name in os.listdir(self.tape))):
            shutil.chown(path, NOBODY)
        home = os.path.join(self.folder, "home")
        done = self.run_it("--in-cluster", "shop", program=program, command=(shutil.which("python3", path="/usr/bin:/bin"), "-c", ASK),
            user=NOBODY, group=NOBODY, extra_groups=[], cwd=home, env={**os.environ, "HOME": home, "TMPDIR": home})
        self.assert_in_pod(self.answer(done), NOBODY)
        self.assertEqual(os.listdir(home), [])

    def test_nobody_else_sees_any_of_it(self):
        there = os.path.exists(ACCOUNT), sorted(os.listdir("/var/run"))
        done = self.run_it("--in-cluster", "shop", command=("sh", "-c", f"test -e {ACCOUNT}/token && ls -d /proc/self/ns/mnt >/dev/null"),
            env={**os.environ, "TMPDIR": self.folder})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((os.path.exists(ACCOUNT), sorted(os.listdir("/var/run"))), there)
        self.assertEqual(os.listdir(self.folder), ["story.tape"])

    def test_a_command_that_is_not_there_is_one_sentence(self):
        done = self.run_it("--in-cluster", "shop", command=("/no/such/command",))
        self.assertEqual(done.returncode, 1)
        self.assertIn("kubetape replay: cannot run '/no/such/command': No such file or directory\n", done.stderr)

    def test_without_tls_or_a_command_there_is_no_pod(self):
        for options, words in ((["--plain", "--", "true"], "leave out '--plain'"), ([], "'--in-cluster' needs a COMMAND")):
            with self.subTest(words=words):
                done = subprocess.run([KUBETAPE, "replay", self.tape, "--in-cluster", "shop", *options], capture_output=True, text=True,
                    timeout=DEADLINE_S, check=False)
                self.assertEqual(done.returncode, 2)
                self.assertIn(words, done.stderr)

    def test_a_sweep_runs_it_in_a_pod_each_time_and_so_does_the_line_that_repeats_a_finding(self):
        words = ["--in-cluster", "shop", "--at", "deletions", "--patterns", "unobserved,restart", "--settle", "1s"]
        done = subprocess.run([KUBETAPE, "sweep", self.tape, "-o", os.path.join(self.folder, "out"), "--json", *words, "--", sys.executable, "-c",
            CONTROL, self.folder, CONTROLLER, "buggy", "tombstone"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=DEADLINE_S,
            check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        lines = [gap["repeat"] for gap in json.loads(done.stdout)["gaps"] if gap["verdict"] == "wrong"]
        self.assertIn(" --in-cluster shop ", lines[0])
        again = subprocess.run(["sh", "-c", lines[0]], cwd=self.folder, capture_output=True, text=True, timeout=DEADLINE_S, check=False,
            env={**os.environ, "PATH": os.path.dirname(KUBETAPE) + ":" + os.environ["PATH"]})
        self.assertEqual(again.returncode, 1, again.stderr)


if __name__ == "__main__":
    unittest.main()
