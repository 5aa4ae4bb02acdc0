"""kubectl of several releases against a replay, without a change."""

import json
import os

from lib import kubectl, paths, process, tape, wait, workload
from lib.case import Case
from lib.replay import Replay

# Resources whose whole content every release of kubectl knows how to ask for.
COMMON = ("pods", "deployments.apps", "configmaps", "crontabs.stable.example.com", "namespaces", "nodes")


def releases():
    """The kubectl programs to try, {version: path}: the one built here and what the machine has."""
    return {"1.36": paths.program("kubectl"), **kubectl.installed()}


def identities(items):
    return {(o["metadata"].get("namespace", ""), o["metadata"]["name"]):
        (o["metadata"]["uid"], o["metadata"]["resourceVersion"]) for o in items}


class KubectlOnAReplay(Case):

    def replay(self, name, *options, speed="max"):
        return Replay(self.all_tape, self.folder(), name, "--speed", speed, *options)

    def client(self, replay, version, path):
        return kubectl.Kubectl(replay.kubeconfig, os.path.join(self.folder(), f"cache-{version}"), path)

    def at_end(self, name):
        return {e.key: e for e in tape.state(tape.by_resource(self.all_events)[name]).values()}

    def wait_for_end(self, client):
        """The end of the tape is reached when the end mark is there, and every other resource at its last version:
        the replay is one clock, so the last event of the tape is the one to wait for."""
        last = self.all_events[-1]
        where = ["-n", last.namespace] if last.namespace else []

        def there():
            found = client.items(last.name, *where, f"--field-selector=metadata.name={last.object_name}")
            versions = [o["metadata"]["resourceVersion"] for o in found]
            return versions == ([] if last.type == "DELETED" else [last.rv])

        wait.until("the end of the replay", there, every_s=0.2)

    def test_get_shows_every_object_of_the_tape_as_it_was_at_the_end(self):
        with self.replay("get", "--wait-watchers", "0") as replay:
            client = self.client(replay, "1.36", paths.program("kubectl"))
            self.wait_for_end(client)
            for name in tape.by_resource(self.all_events):
                with self.subTest(resource=name):
                    live = self.at_end(name)
                    found = {(o["metadata"].get("namespace", "") + "/" + o["metadata"]["name"]).lstrip("/"): o
                        for o in client.items(name, "-A", "--show-managed-fields")}
                    self.assertEqual(sorted(found), sorted(live))
                    self.assertNothing([key for key, o in found.items() if o != json.loads(live[key].object)],
                        "objects differ from the tape")

    def test_get_of_older_releases_shows_the_same(self):
        with self.replay("get-older", "--wait-watchers", "0") as replay:
            for version, path in releases().items():
                client = self.client(replay, version, path)
                self.wait_for_end(client)
                for name in COMMON:
                    with self.subTest(kubectl=version, resource=name):
                        expected = {(e.namespace, e.object_name): (e.uid, e.rv) for e in self.at_end(name).values()}
                        self.assertEqual(identities(client.items(name, "-A")), expected)

    def test_get_prints_a_table_for_a_person(self):
        with self.replay("table", "--wait-watchers", "0") as replay:
            client = self.client(replay, "1.36", paths.program("kubectl"))
            self.wait_for_end(client)
            lines = client("get", "pods", "-n", workload.NAMESPACE).splitlines()
        self.assertRegex(lines[0], r"^NAME .*AGE")
        self.assertEqual(sorted(line.split()[0] for line in lines[1:]), sorted(
            e.object_name for e in self.at_end("pods").values() if e.namespace == workload.NAMESPACE))

    def test_get_watch_prints_every_event_of_the_tape(self):
        for version, path in releases().items():
            with self.subTest(kubectl=version):
                self.watch_configmaps(version, path)

    def watch_configmaps(self, version, path):
        of_resource = tape.by_resource(self.all_events)["configmaps"]
        last = of_resource[-1]
        with self.replay(f"watch-{version}", "--wait-watchers", "1") as replay:
            command = self.client(replay, version, path).command(
                "get", "configmaps", "-A", "-w", "--output-watch-events", "-o", "json")
            child = process.Child(command, self.folder(), f"kubectl-{version}")
            try:
                wait.until(f"resourceVersion {last.rv} from kubectl", lambda: (last.type, last.uid, last.rv) in
                    printed(child.text("out")), describe=lambda: process.tail(child.files["err"]))
            finally:
                child.kill()
        found = printed(child.text("out"))
        last_list = max(e.seq for e in self.all_events if e.origin == "list")
        starts = [(sorted(("ADDED", e.uid, e.rv) for e in before.values()), [(e.type, e.uid, e.rv) for e in after])
            for before, after in tape.possible_starts(of_resource, last_list)]
        fitting = [after for before, after in starts if sorted(found[:len(before)]) == before]
        self.assertTrue(fitting, f"initial state: found {found[:len(starts[0][0])]}, expected {starts[0][0]}")
        if not any(found[len(found) - len(after):] == after for after in fitting):
            self.assertEqual(found[len(starts[0][0]):], starts[0][1])

    def test_wait_sees_conditions_come_true(self):
        pod = next(e for e in tape.by_resource(self.all_events)["pods"] if e.origin == "list")
        for version, path in releases().items():
            for name, condition in (
                    ("deployment/web", ("--for=jsonpath={.spec.replicas}=2",)),
                    (f"pod/{pod.object_name}", ("--for=delete",))):
                with self.subTest(kubectl=version, condition=condition):
                    with self.replay(f"wait-{version}", "--wait-watchers", "1") as replay:
                        said = self.client(replay, version, path)("wait", name, "-n", workload.NAMESPACE,
                            *condition, "--timeout=60s")
                    self.assertRegex(said, "condition met|deleted")

    def test_wait_for_a_job_that_does_not_exist_yet_sees_it_complete(self):
        """kubectl looks again and again until the job is there, without a watch that would start the clock."""
        with self.replay("wait-job", "--wait-watchers", "0", speed="20") as replay:
            client = self.client(replay, "1.36", paths.program("kubectl"))
            client("wait", "job/sums", "-n", workload.NAMESPACE, "--for=create", "--timeout=60s")
            client("wait", "job/sums", "-n", workload.NAMESPACE, "--for=condition=Complete", "--timeout=60s")

    def test_rollout_status_and_api_resources_work(self):
        with self.replay("other", "--wait-watchers", "0") as replay:
            client = self.client(replay, "1.36", paths.program("kubectl"))
            self.wait_for_end(client)
            said = client("rollout", "status", "deployment/web", "-n", workload.NAMESPACE)
            self.assertIn("successfully rolled out", said)
            self.assertIn("crontabs", client("api-resources", "-o", "name"))
            self.assertIn("v1.36.3", client("version"))

    def test_runs_as_the_command_of_a_replay_with_its_exit_code(self):
        program = paths.program("kubectl")
        for verb, name, code in (("get", "namespaces", 0), ("get", "nothing-of-this-kind", 1)):
            command = [program, "--cache-dir", os.path.join(self.folder(), "cache"), verb, name]
            child = process.Child([paths.KUBETAPE, "replay", self.all_tape, "--speed", "max", "--", *command],
                self.folder(), f"command-{code}")
            self.assertEqual(child.wait_end(), code, child.text("err"))


def printed(text):
    """The watch events that kubectl printed, as (type, uid, rv); an unfinished last one is left out."""
    decoder = json.JSONDecoder()
    at, found = 0, []
    while True:
        while at < len(text) and text[at].isspace():
            at += 1
        try:
            event, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError:
            return found
        meta = event["object"]["metadata"]
        found.append((event["type"], meta["uid"], meta["resourceVersion"]))
