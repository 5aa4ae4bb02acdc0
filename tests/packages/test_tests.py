"""What users test their controllers with: the Go module, the pytest plug-in, the GitHub Action and the GitLab template, each used
from a clean environment, on the bundled tape."""
import glob
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

import yaml

from roots import DIST, EVENTS, ROOT, TAPE, newest, run

CI = os.path.join(ROOT, "tools", "deploy", "ci")
BUILD = os.path.join(ROOT, "build")
CONTROLLER = "kubectl -n shop create configmap made --from-literal=key={}"

GO_TEST = """
package mine

import (
	"context"
	"os"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"kubetape.test/kubetapetest"
)

func TestPods(t *testing.T) {
	client := kubernetes.NewForConfigOrDie(kubetapetest.Replay(t, os.Getenv("MY_TAPE")))
	pods, err := client.CoreV1().Pods("").List(context.Background(), metav1.ListOptions{})
	if err != nil || len(pods.Items) == 0 {
		t.Fatalf("%v, %v", pods, err)
	}
}
"""
PYTEST = """
import subprocess
import pytest

TAPE = {tape!r}
CREATE = ["kubectl", "-n", "shop", "create", "configmap", "made", "--from-literal=key=a"]

def test_a_replay_serves(kubetape_replay):
    replay = kubetape_replay(TAPE)
    names = subprocess.run(["kubectl", "--kubeconfig", replay.kubeconfig, "get", "ns", "-o", "name"], capture_output=True, text=True, check=True)
    assert "namespace/shop" in names.stdout

def test_a_command_runs_and_does_the_same_twice(kubetape_run):
    first = kubetape_run(TAPE, CREATE)
    assert "made created" in first.output
    kubetape_run(TAPE, CREATE, "--golden", first.run)

def test_a_difference_is_told(kubetape_run):
    first = kubetape_run(TAPE, CREATE)
    with pytest.raises(pytest.fail.Exception, match='"a" -> "b"'):
        kubetape_run(TAPE, [*CREATE[:-1], "--from-literal=key=b"], "--golden", first.run)

def test_a_fault_that_strikes_nobody_fails_a_replay_that_serves(kubetape_replay):
    replay = kubetape_replay(TAPE, "--gap", "+1s,1ev,fin,compact,pods")
    with pytest.raises(pytest.fail.Exception, match="exit code 3"):
        replay.stop()
"""


class FromClean(unittest.TestCase):
    """A home without anything in it, and the program on the PATH."""

    def setUp(self):
        self.home = tempfile.mkdtemp(prefix="kubetape-clean-")
        self.addCleanup(shutil.rmtree, self.home)
        self.env = {"PATH": BUILD + os.pathsep + os.environ["PATH"], "HOME": self.home, "MY_TAPE": TAPE}

    def write(self, name, text):
        path = os.path.join(self.home, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path


class Libraries(FromClean):

    @unittest.skipUnless(shutil.which("go"), "no Go here")
    def test_a_go_module_of_a_user_gets_kubetapetest_from_a_proxy_and_lists_the_pods_of_a_tape(self):
        self.write("mine_test.go", GO_TEST)
        settings = run("go", "env", "GOPROXY", "GOMODCACHE", "GOCACHE", "GOSUMDB").split()
        env = {**self.env, "GOPROXY": f"file://{DIST}/goproxy,{settings[0]}", "GOMODCACHE": settings[1], "GOCACHE": settings[2],
               "GONOSUMDB": "kubetape.test", "GOSUMDB": settings[3], "GOFLAGS": "-mod=mod", "CGO_ENABLED": "0"}
        version = "v" + run(os.path.join(BUILD, "kubetape"), "--version").split()[1]
        # A version that was built before, of other sources, must not be what is tested, nor what Go's index of it says.
        env["GODEBUG"] = "goindex=0"
        shutil.rmtree(os.path.join(settings[1], "cache", "download", "kubetape.test"), ignore_errors=True)
        subprocess.run(f"chmod -R u+w {settings[1]}/kubetape.test; rm -rf {settings[1]}/kubetape.test", shell=True, check=False,
                       stderr=subprocess.DEVNULL)
        for words in (("mod", "init", "user.test/mine"), ("get", f"kubetape.test/kubetapetest@{version}"), ("mod", "tidy"),
                      ("test", "-count=1", ".")):
            run("go", *words, cwd=self.home, env=env)

    def test_the_pytest_plug_in_works_from_its_wheel(self):
        run(sys.executable, "-m", "venv", os.path.join(self.home, "venv"))
        python = os.path.join(self.home, "venv", "bin", "python")
        run(python, "-m", "pip", "-q", "install", newest("pytest_kubetape-", ".whl"))
        self.write("test_mine.py", PYTEST.format(tape=TAPE))
        version = run(os.path.join(BUILD, "kubetape"), "--version").split()[1]
        self.assertIn(f"-{version}-", newest("pytest_kubetape-", ".whl"))
        self.write("pytest.ini", "[pytest]\nkubetape_timeout = 60\n")
        self.assertIn("4 passed", run(python, "-m", "pytest", "-q", cwd=self.home, env=self.env))


class Pipelines(FromClean):
    """The scripts of the files as the runner of each would start them, and the files as their schemas want them."""

    def test_the_files_are_what_the_schemas_of_github_and_gitlab_allow(self):
        checker = os.path.join(os.path.dirname(sys.executable), "check-jsonschema")
        run(checker, "--builtin-schema", "vendor.github-actions", os.path.join(CI, "action.yml"))
        run(checker, "--builtin-schema", "vendor.gitlab-ci", "--data-transform", "gitlab-ci", os.path.join(CI, "gitlab.yml"))

    def github(self, code=0, **inputs):
        """Runs the steps of the action as GitHub's runner does: their conditions, their environment, bash."""
        with open(os.path.join(CI, "action.yml"), encoding="utf-8") as file:
            action = yaml.safe_load(file)
        values = {name: inputs.get(name.replace("-", "_"), spec.get("default", "")) for name, spec in action["inputs"].items()}
        env, path, said = {**self.env, "RUNNER_TEMP": self.home}, self.write("path", ""), ""
        wanted = {"inputs.tarball != ''": values["tarball"] != "", "inputs.sweep == 'true'": values["sweep"] == "true"}
        steps = [step for step in action["runs"]["steps"] if wanted.get(step.get("if"), True)]
        for step in steps:
            given = {name: values[text.split("inputs.")[1].split(" ")[0]] for name, text in step["env"].items()}
            with open(path, encoding="utf-8") as file:
                found = [*reversed(file.read().split()), env["PATH"]]
            script = self.write("step.sh", step["run"])
            said += run("bash", "--noprofile", "--norc", "-eo", "pipefail", script, cwd=self.home, code=code if step is steps[-1] else 0,
                        env={**env, "PATH": os.pathsep.join(found), "GITHUB_PATH": path, **given})
        return said

    def gitlab(self, code=0, **variables):
        with open(os.path.join(CI, "gitlab.yml"), encoding="utf-8") as file:
            job = yaml.safe_load(file)[".kubetape"]
        script = self.write("job.sh", "set -e\n" + "\n".join(job["before_script"] + job["script"]))
        return run("sh", script, cwd=self.home, code=code, env={**self.env, **job["variables"], **variables})

    def test_the_action_brings_the_program_and_its_golden_run_passes_and_fails(self):
        tarball = newest("kubetape-", f"-linux-{run('dpkg', '--print-architecture').strip()}.tar.xz")
        self.env["PATH"] = os.environ["PATH"]  # the program comes from the tarball
        self.github(tape=TAPE, command=CONTROLLER.format("a"), options="", tarball=tarball)
        golden = self.write("good.run", "")
        shutil.move(os.path.join(self.home, "kubetape-results", "replay.run"), golden)
        self.github(tape=TAPE, command=CONTROLLER.format("a"), options="", tarball=tarball, golden=golden)
        said = self.github(code=1, tape=TAPE, command=CONTROLLER.format("b"), options="", tarball=tarball, golden=golden)
        self.assertIn('"a" -> "b"', said)

    def test_the_action_sweeps(self):
        said = self.github(code=3, tape=TAPE, command="kubectl get ns", options="", sweep="true", sweep_options="--at deletions --max 1")
        self.assertIn("without gaps the command ends by itself with exit code 0", said)

    def test_the_template_compares_with_a_golden_run(self):
        self.gitlab(KUBETAPE_TAPE=TAPE, KUBETAPE_COMMAND=CONTROLLER.format("a"), KUBETAPE_OPTIONS="")
        golden = self.write("good.run", "")
        shutil.move(os.path.join(self.home, "kubetape-results", "replay.run"), golden)
        said = self.gitlab(code=1, KUBETAPE_TAPE=TAPE, KUBETAPE_COMMAND=CONTROLLER.format("b"), KUBETAPE_OPTIONS="", KUBETAPE_GOLDEN=golden)
        self.assertIn('"a" -> "b"', said)


class Krew(FromClean):
    """What krew does with the manifest: it checks the sum, takes files and folders (a link in an archive it refuses), and links to `bin`."""

    def test_kubectl_finds_the_plug_in_that_the_manifest_describes(self):
        with open(os.path.join(DIST, "tape.yaml"), encoding="utf-8") as file:
            platform = yaml.safe_load(file)["spec"]["platforms"][0]
        archive = os.path.join(DIST, os.path.basename(platform["uri"]))
        with open(archive, "rb") as file:
            self.assertEqual(hashlib.sha256(file.read()).hexdigest(), platform["sha256"])
        with tarfile.open(archive) as tar:
            self.assertTrue(all(member.isfile() or member.isdir() for member in tar))
            tar.extractall(os.path.join(self.home, "download"))
        taken = glob.glob(os.path.join(self.home, "download", platform["files"][0]["from"]))
        store = os.path.join(self.home, "store")
        os.mkdir(store)
        for path in taken:
            shutil.move(path, store)
        os.mkdir(os.path.join(self.home, "bin"))
        os.symlink(os.path.join(store, platform["bin"]), os.path.join(self.home, "bin", "kubectl-tape"))
        env = {**self.env, "PATH": os.path.join(self.home, "bin") + os.pathsep + os.environ["PATH"]}
        self.assertRegex(run("kubectl", "tape", "--version", env=env), r"^kubetape \d")
        found = run("kubectl", "tape", "query", TAPE, "SELECT count(*) AS n FROM events", env=env)
        self.assertEqual(found.split(), ["n", str(EVENTS)])


if __name__ == "__main__":
    unittest.main()
