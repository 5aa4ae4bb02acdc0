"""An unmodified kubectl against a replay: what a user of kubectl would try first."""

import json
import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "wire"))
from replays import DEPLOYMENTS, KUBETAPE, NAMESPACES, PODS, Case, Tape, obj  # noqa: E402

KUBECTL = os.environ.get("KUBECTL") or shutil.which("kubectl")


def version():
    out = subprocess.run([KUBECTL, "version", "--client", "-o", "json"], capture_output=True, text=True, check=False)
    return json.loads(out.stdout)["clientVersion"]["gitVersion"]


def small_cluster():
    tape = Tape().listed(NAMESPACES, 10, [obj(NAMESPACES, "default", 2, status={"phase": "Active"})])
    tape.listed(DEPLOYMENTS, 20, [obj(DEPLOYMENTS, "web", 7, spec={"replicas": 2})])
    tape.listed(PODS, 20, [obj(PODS, "a", 5, labels={"app": "x"}, spec={"containers": []}), obj(PODS, "b", 6)])
    for i in range(5):
        tape.event(0.2 + 0.2 * i, PODS, "MODIFIED", obj(PODS, "a", 30 + i, labels={"app": "x"}, spec={"containers": []}))
    return tape.event(1.5, PODS, "DELETED", obj(PODS, "a", 60, labels={"app": "x"}))


@unittest.skipUnless(KUBECTL, "no kubectl on the PATH and none named by KUBECTL")
class KubectlTest(Case):
    @classmethod
    def setUpClass(cls):
        print("kubectl is %s, %s" % (KUBECTL, version()))

    def run_beside(self, script, *options, made=None, streaming=None):
        """Runs a shell script as the replay's child; $K is kubectl. Returns the finished process."""
        tape = self.tape(made or small_cluster())
        env = {**os.environ, "HOME": self.folder, "K": KUBECTL, "TMPDIR": self.folder}
        if streaming is not None:
            env["KUBE_FEATURE_WatchListClient"] = "true" if streaming else "false"
        return subprocess.run([KUBETAPE, "replay", tape, *options, "--", "sh", "-c", script], env=env,
            capture_output=True, text=True, timeout=60, check=False)

    def succeed(self, script, *options, **more):
        done = self.run_beside(script, *options, **more)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout.split("\n", 1)[1]

    def test_get_lists_by_short_name_selector_and_field(self):
        self.assertEqual(self.succeed("$K get po -o name; $K get pods -l app=x -o name; "
            "$K get pods --field-selector metadata.name=b -o name; $K get deploy,ns -o name"),
            "pod/a\npod/b\npod/a\npod/b\ndeployment.apps/web\nnamespace/default\n")

    def test_go_reads_yaml_as_the_object_that_json_is(self):
        texts = ["true", "no", "1e3", "0x1f", "- a", "a: b", "#", "'", '"', "\\", "a\nb\n", "\n\n", " a", "\u0085", "\ufeff", "é<&>", "", "~", "=", "0o7"]
        r = self.replay(Tape().listed(PODS, 20, [{**obj(PODS, "a", 5), "spec": {"list": [[1], [], {}, [{"x": texts}], None, 1.5e300]},
            "data": {"t%d" % i: t for i, t in enumerate(texts)}}]))
        path = os.path.join(self.folder, "a.yaml")
        with open(path, "wb") as f:
            f.write(r.request("GET", "/api/v1/namespaces/default/pods/a", {"Accept": "application/yaml"})[2])
        out = subprocess.run([KUBECTL, "--kubeconfig", r.kubeconfig, "create", "--dry-run=client", "--validate=false", "-o", "json", "-f", path],
            env={**os.environ, "HOME": self.folder}, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(out.returncode, 0, out.stderr)
        self.assertEqual(json.loads(out.stdout), r.get("/api/v1/namespaces/default/pods/a")[1])

    def test_get_prints_a_table_from_the_server(self):
        out = self.succeed("$K get pods")
        self.assertRegex(out.splitlines()[0], r"^NAME ")
        self.assertRegex(out.splitlines()[1], r"^a ")

    def test_get_json_is_the_recorded_object(self):
        out = self.succeed("$K get pod a -o json")
        self.assertEqual(json.loads(out), obj(PODS, "a", 5, labels={"app": "x"}, spec={"containers": []}))

    def test_watch_prints_each_change_as_it_happens(self):
        out = self.succeed("$K get pods -w -o 'jsonpath={.metadata.name}={.metadata.resourceVersion}{\"\\n\"}' "
            "--request-timeout=8s; true")
        self.assertEqual(out.split(), ["a=5", "b=6", "a=30", "a=31", "a=32", "a=33", "a=34", "a=60"])

    def test_wait_for_deletion_ends_when_the_object_goes(self):
        for streaming in (False, True):
            out = self.succeed("$K wait --for=delete pod/a --timeout=20s", streaming=streaming)
            self.assertEqual(out, "pod/a condition met\n")

    def test_wait_that_is_in_vain_times_out(self):
        done = self.run_beside("$K wait --for=delete pod/b --timeout=2s")
        self.assertEqual(done.returncode, 1)
        self.assertIn("timed out", done.stderr)

    def test_describe_and_missing_objects_read_as_usual(self):
        out = self.succeed("$K describe pod b")
        self.assertRegex(out, r"Name: +b\n")
        done = self.run_beside("$K get pod none")
        self.assertEqual(done.returncode, 1)
        self.assertIn('Error from server (NotFound): pods "none" not found', done.stderr)

    def test_api_resources_and_version_are_answered(self):
        names = self.succeed("$K api-resources --no-headers -o name").split()
        self.assertLessEqual({"configmaps", "deployments.apps", "namespaces", "pods"}, set(names))  # on the tape or not
        self.assertIn("serverVersion", json.loads(self.succeed("$K version -o json")))

    def test_rights_are_granted_and_writes_absorbed(self):
        self.assertEqual(self.succeed("$K auth can-i delete pods"), "yes\n")
        self.assertIn("deleted", self.succeed("$K delete pod b --wait=false"))
        self.assertIn("pod/b", self.succeed("$K get pods -o name"))

    def test_large_lists_are_paged(self):
        many = Tape().listed(PODS, 5000, [obj(PODS, "p%05d" % i, i + 1) for i in range(1700)])
        out = self.succeed("$K get pods -o name --chunk-size=200 | wc -l", made=many)
        self.assertEqual(int(out), 1700)


class ReplayCommandTest(Case):
    def run_replay(self, *arguments):
        return subprocess.run([KUBETAPE, "replay", *arguments], capture_output=True, text=True, timeout=60, check=False)

    def test_child_gets_the_kubeconfig_and_its_exit_code_is_returned(self):
        tape = self.tape(small_cluster())
        done = self.run_replay(tape, "--", "sh", "-c", 'test -s "$KUBECONFIG" && echo "$KUBECONFIG"; exit 7')
        self.assertEqual(done.returncode, 7)
        serving, path = done.stdout.split()[:4], done.stdout.split()[-1]
        self.assertEqual(serving[:3], ["serving", tape, "at"])
        self.assertRegex(serving[3], r"^https://127\.0\.0\.1:\d+$")
        self.assertFalse(os.path.exists(path))
        done = self.run_replay(tape, "--", "sh", "-c", "kill -TERM $$")
        self.assertEqual(done.returncode, 128 + 15)

    def test_kubeconfig_that_was_asked_for_stays(self):
        path = os.path.join(self.folder, "kc")
        done = self.run_replay(self.tape(small_cluster()), "--plain", "--kubeconfig", path, "--", "true")
        self.assertEqual(done.returncode, 0)
        with open(path) as f:
            text = f.read()
        self.assertNotIn("\t", text, "YAML readers that are strict take no tab")
        made = json.loads(text)
        self.assertEqual(made["clusters"][0]["cluster"]["insecure-skip-tls-verify"], True)
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)

    def test_bad_usage_is_one_sentence_and_exit_code_2(self):
        tape = self.tape(small_cluster())
        for arguments, words in (
                ([], "expected one tape"), ([tape, "--speed", "0"], "bad speed '0'"), ([tape, "--speed", "fast"], "bad speed"),
                ([tape, "--listen", "nowhere"], "bad address 'nowhere'"), ([tape, "--listen", "host.example:1"], "numeric"),
                ([tape, "--from", "soon"], "soon"), ([tape, "--from", "end", "--until", "seq:1"], "nothing to replay"),
                ([tape, "--loop", "--exit-at-end"], "never comes to the end"), ([tape, "--nonsense"], "unknown option"), ([tape, "--"], "no command after")):
            done = self.run_replay(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertEqual(len(done.stderr.strip().split("\n")), 1, done.stderr)
            self.assertIn(words, done.stderr)

    def test_what_is_no_tape_fails_with_one_sentence(self):
        for path in ("/nonexistent.tape", "/etc/hostname", self.folder):
            done = self.run_replay(path)
            self.assertEqual(done.returncode, 1, path)
            self.assertEqual(len(done.stderr.strip().split("\n")), 1, done.stderr)
            self.assertTrue(done.stderr.startswith("kubetape replay: "))

    def test_address_in_use_is_said(self):
        one = self.replay(small_cluster())
        done = self.run_replay(self.tape(small_cluster(), "u.tape"), "--listen", "127.0.0.1:%d" % one.port)
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot listen on '127.0.0.1'", done.stderr)

    def test_signal_ends_it_with_exit_code_0(self):
        running = self.replay(small_cluster())
        self.assertEqual(running.stop(), 0)

    def test_command_that_does_not_exist_is_said(self):
        done = self.run_replay(self.tape(small_cluster()), "--", "/no/such/program")
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot run '/no/such/program'", done.stderr)


if __name__ == "__main__":
    unittest.main()
