"""kubetape diff and replay --golden: whether a program did the same in two replays."""

import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import unittest

from replays import CONFIGMAPS, KUBETAPE, PODS, WIDGETS, Case, Tape, obj

LEDGER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "controller.py")
MAPS = "/api/v1/namespaces/default/configmaps"
PODS_PATH = "/api/v1/namespaces/default/pods"
WIDGETS_PATH = "/apis/example.com/v1/namespaces/default/widgets"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
EVENTS = "/api/v1/namespaces/default/events"


def config_map(name=None, data=None, **metadata):
    metadata = {**({"name": name} if name else {}), **metadata}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data or {}}


class Diff(Case):
    @staticmethod
    def run_kubetape(*arguments):
        return subprocess.run([KUBETAPE, *arguments], capture_output=True, text=True, timeout=100, check=False)

    def diff(self, first, second, *options):
        return self.run_kubetape("diff", first, second, *options)

    def assert_same(self, first, second, *options):
        done = self.diff(first, second, *options)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertTrue(done.stdout.startswith("no difference: "), done.stdout)

    def differences(self, first, second, *options):
        done = self.diff(first, second, "--json", *options)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]


SECRETS = "/api/v1/namespaces/default/secrets"


class Writes(Diff):
    """Runs that are made of single requests."""

    def setUp(self):
        super().setUp()
        made = Tape().listed(PODS, 20, [obj(PODS, "a", 5, spec={"x": 1})]).listed(WIDGETS, 20, [obj(WIDGETS, "w", 6)])
        self.tape_path = self.tape(made.listed(CONFIGMAPS, 20, [obj(CONFIGMAPS, "old", 7)]))
        self.count = 0

    def run_of(self, *requests, options=("--write", "overlay")):
        """A run in which these were sent: (method, path, body), or a function that sends."""
        self.count += 1
        path = os.path.join(self.folder, "%d.run" % self.count)
        server = self.replay(self.tape_path, "--wait-watchers", "0", "--run", path, *options)
        self.send_all(server, requests)
        self.assertEqual(server.stop(), 0)
        return path

    @staticmethod
    def send_all(server, requests):
        for method, target, body, *content_type in requests:
            headers = {"Content-Type": content_type[0] if content_type else "application/json", "User-Agent": "one/v1"}
            server.request(method, target, headers, json.dumps(body) if body is not None else None)

    def test_order_and_repetition_count_only_when_order_is_asked_for(self):
        a, b = ("POST", MAPS, config_map("a")), ("POST", MAPS, config_map("b"))
        put = ("PUT", MAPS + "/a", config_map("a", {"k": "1"}))
        first, second = self.run_of(a, b, put), self.run_of(b, a, put, put)
        self.assert_same(first, second)
        self.assertEqual(self.diff(first, second, "--ordered").returncode, 1)
        self.assert_same(first, first, "--ordered")

    def test_digests_of_secrets_are_no_difference_in_data_and_in_text(self):
        """Without the tape's key each run has one of its own."""
        def secret(value):
            return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"p": value}, "stringData": {"q": "x"}}
        first, second = (self.run_of(("POST", SECRETS, secret("aHVudGVyMg=="))) for _ in range(2))
        self.assert_same(first, second)
        self.assertEqual(self.diff(first, second, "--keep", "@secrets").returncode, 1)

    def test_a_changed_body_is_told_field_by_field(self):
        first = self.run_of(("POST", MAPS, config_map("a", {"k": "1", "same": "x"})))
        second = self.run_of(("POST", MAPS, config_map("a", {"k": "2", "same": "x"})))
        found = self.differences(first, second)
        self.assertEqual([(d["difference"], d["verb"], d["resource"], d["namespace"], d["name"]) for d in found],
            [("body", "create", "configmaps", "default", "a")])
        self.assertEqual(found[0]["fields"], [{"op": "replace", "field": "data.k", "old": "1", "new": "2"}])
        self.assertEqual(found[0]["first"]["write"], 1)
        text = self.diff(first, second)
        self.assertEqual(text.stdout.splitlines()[2:], ["~ create configmaps default/a", '    ~ data.k: "1" -> "2"'])
        self.assertIn("\033[", self.diff(first, second, "--color", "always").stdout)

    def test_a_write_of_one_run_alone_is_told_with_its_side(self):
        first = self.run_of(("POST", MAPS, config_map("a")), ("DELETE", MAPS + "/old", None))
        second = self.run_of(("POST", MAPS, config_map("a")), ("POST", MAPS, config_map("b")))
        lines = self.diff(first, second).stdout.splitlines()
        self.assertEqual([x for x in lines if x[:2] in ("- ", "+ ")], ["+ create configmaps default/b", "- delete configmaps default/old"])
        self.assertEqual({d["difference"] for d in self.differences(second, first)}, {"only in first", "only in second"})

    def test_conflicts_and_their_retries_are_no_difference(self):
        stale = config_map("old", {"k": "1"}, resourceVersion="3")
        fresh = config_map("old", {"k": "1"})
        first = self.run_of(("PUT", MAPS + "/old", stale), ("PUT", MAPS + "/old", fresh))
        second = self.run_of(("PUT", MAPS + "/old", fresh))
        self.assert_same(first, second)
        self.assertEqual(self.diff(first, second, "--ordered", "--keep", "@conflicts").returncode, 1)

    def test_generated_names_and_uids_are_no_difference_wherever_they_stand(self):
        def run():
            self.count += 1
            path = os.path.join(self.folder, "g%d.run" % self.count)
            server = self.replay(self.tape_path, "--wait-watchers", "0", "--run", path, "--write", "overlay")
            body = json.dumps(config_map(None, {"n": "1"}, generateName="made-"))
            made = json.loads(server.request("POST", MAPS, {}, body)[2])["metadata"]
            owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": made["name"], "uid": made["uid"]}
            self.send_all(server, [("POST", MAPS, config_map("child", {"text": "of %s." % made["name"]}, ownerReferences=[owner])),
                ("PUT", MAPS + "/" + made["name"], config_map(made["name"], {"n": "2"}))])
            self.assertEqual(server.stop(), 0)
            return path
        first, second = run(), run()
        self.assert_same(first, second)
        self.assert_same(first, second, "--ordered")
        self.assertEqual(self.diff(first, second, "--keep", "@names").returncode, 1)
        self.assertEqual(self.diff(first, second, "--keep", "@uids").returncode, 1)

    def test_how_many_objects_with_generated_names_were_made_counts(self):
        make = ("POST", MAPS, config_map(generateName="made-"))
        found = self.differences(self.run_of(make), self.run_of(make, make))
        self.assertEqual([(d["difference"], d["name"], d["first"]["times"], d["second"]["times"]) for d in found],
            [("times", "made-*", 1, 2)])

    def test_what_differs_between_good_runs_is_no_difference(self):
        def run(k, other="x", more=()):
            return self.run_of(("POST", MAPS, config_map("a", {"k": k, "l.m": k, "other": other})),
                ("POST", MAPS, config_map("b", {"k": k, "l.m": k})), *more)
        extra = ("DELETE", MAPS + "/old", None)
        one, two = run("1"), run("2", more=[extra])
        self.assertEqual(self.diff(one, run("3", more=[extra])).returncode, 1)
        done = self.diff(one, run("3", more=[extra]), "--also", two)
        self.assertEqual(done.returncode, 0, done.stdout)
        for taught in ("'configmaps:create=data.k'", "'configmaps:create=data[l.m]'", "delete configmaps 'default/old'"):
            self.assertEqual(done.stderr.count(taught), 1, done.stderr)
        found = [json.loads(line) for line in self.diff(one, run("3", "y"), "--also", two, "--json").stdout.splitlines()]
        self.assertEqual([f["field"] for d in found for f in d["fields"]], ["data.other"])
        self.assertEqual(self.diff(one, one, "--also", self.tape_path).returncode, 2)

    def test_times_versions_and_managed_fields_are_no_difference_unless_kept(self):
        def put(at, rv, manager):
            return ("PUT", MAPS + "/old", config_map("old", {"at": at}, managedFields=[{"manager": manager, "time": at}],
                annotations={"restartedAt": at, "text": "at " + at[:4]}))
        first = self.run_of(put("2026-11-21T08:00:00Z", "7", "x"))
        second = self.run_of(put("2026-11-21T09:00:00.123456Z", "7", "y"))
        self.assert_same(first, second)
        self.assertEqual([f["field"] for d in self.differences(first, second, "--keep", "@times") for f in d["fields"]],
            ["data.at", "metadata.annotations.restartedAt"])
        self.assertEqual(self.differences(first, second, "--keep", "metadata.managedFields")[0]["fields"][0]["field"],
            "metadata.managedFields[0].manager")

    def test_renewals_of_leases_and_counts_of_events_are_no_difference(self):
        def lease(holder):
            return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "lock"},
                "spec": {"holderIdentity": holder, "renewTime": "2026-11-21T08:00:00.000000Z"}}
        def event(name, count):
            return {"apiVersion": "v1", "kind": "Event", "metadata": {"name": name}, "reason": "Done", "message": "well", "count": count,
                "involvedObject": {"kind": "Pod", "name": "a", "namespace": "default"}, "source": {"component": "one", "host": name}}
        first = self.run_of(("POST", LEASES, lease("x")), ("PUT", LEASES + "/lock", lease("x")),
            ("POST", EVENTS, event("a.17f3b2c9d1e8f0aa", 1)))
        second = self.run_of(("POST", LEASES, lease("y")), ("POST", EVENTS, event("a.1899a2c9d1e8f0aa", 2)))
        self.assert_same(first, second)
        other = dict(event("a.1899a2c9d1e8f0aa", 1), reason="Failed")
        third = self.run_of(("POST", LEASES, lease("y")), ("POST", EVENTS, other))
        self.assertEqual([d["name"] for d in self.differences(first, third)], ["a.*"])
        self.assert_same(first, third, "--ignore", "events=*")

    def test_the_names_of_leaders_are_no_difference_where_they_are_told(self):
        def run(holder):
            lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "lock"}, "spec": {"holderIdentity": holder}}
            return self.run_of(("POST", LEASES, lease), ("POST", MAPS, config_map("a", {"text": holder + " became leader"})))
        self.assert_same(run("vm_f875eb98-8f0b-415c-b634-85b5fdd195ec"), run("vm-2_8cafc45e-dc8e-45c7-b000-9a3839cc0fec"))

    def test_the_status_in_a_write_that_does_not_go_there_is_no_difference(self):
        def pod(phase, x):
            return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"x": x}, "status": {"phase": phase}}
        first, second = self.run_of(("PUT", PODS_PATH + "/a", pod("Pending", 1))), self.run_of(("PUT", PODS_PATH + "/a", pod("Running", 1)))
        self.assert_same(first, second)
        self.assertEqual(self.diff(first, second, "--keep", "@status").returncode, 1)
        first = self.run_of(("PUT", PODS_PATH + "/a/status", pod("Pending", 1)))
        second = self.run_of(("PUT", PODS_PATH + "/a/status", pod("Pending", 2)))
        self.assert_same(first, second)
        third = self.run_of(("PUT", PODS_PATH + "/a/status", pod("Running", 1)))
        self.assertEqual(self.differences(first, third)[0]["fields"][0]["field"], "status.phase")

    def test_a_status_of_a_custom_resource_counts_unless_it_has_a_subresource(self):
        def widget(phase):
            return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w", "resourceVersion": "6"},
                "status": {"phase": phase}}
        first = self.run_of(("PUT", WIDGETS_PATH + "/w", widget("a")))
        second = self.run_of(("PUT", WIDGETS_PATH + "/w", widget("b")))
        self.assertEqual(self.differences(first, second)[0]["fields"][0]["field"], "status.phase")

    def test_json_patches_are_compared_without_what_is_ignored(self):
        def patch(rv, value):
            return ("PATCH", MAPS + "/old", [{"op": "test", "path": "/metadata/resourceVersion", "value": rv},
                {"op": "add", "path": "/metadata/labels", "value": {"x": value}}], "application/json-patch+json")
        first, second = self.run_of(patch("7", "1")), self.run_of(patch("8", "1"))
        self.assert_same(first, second)
        self.assertEqual(self.diff(first, self.run_of(patch("7", "2"))).returncode, 1)

    def test_rules_name_resources_verbs_and_fields(self):
        first = self.run_of(("POST", MAPS, config_map("a", {"k": "1"}, labels={"x.y/z": "1"})))
        second = self.run_of(("POST", MAPS, config_map("a", {"k": "2"}, labels={"x.y/z": "2"})))
        both = ("--ignore", "data.k", "--ignore", "metadata.labels[x.y/z]")
        self.assert_same(first, second, *both)
        self.assert_same(first, second, "--ignore", "configmaps:create,update=data", "--ignore", "**.x.y/z", "--ignore", "metadata.*[x.y/z]")
        self.assert_same(first, second, "--ignore", "*:create=*")
        self.assertEqual(self.diff(first, second, *both, "--keep", "data.k").returncode, 1)
        self.assertEqual(self.diff(first, second, "--ignore", "pods=data", "--ignore", "configmaps.apps=data").returncode, 1)

    def test_bad_rules_are_refused_in_one_sentence(self):
        run = self.run_of()
        for rule in ("", "a..b", "a[b", "@never", "pods:walk=x", ".".join("abcdefghijklmnopqrstu")):
            done = self.diff(run, run, "--ignore", rule)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), (rule, done.stderr))

    def test_the_last_write_to_each_object_can_be_compared_alone(self):
        def put(k):
            return ("PUT", MAPS + "/old", config_map("old", {"k": k}))
        first, second = self.run_of(put("1"), put("2"), put("3")), self.run_of(put("3"))
        self.assertEqual(self.diff(first, second).returncode, 1)
        self.assert_same(first, second, "--last")
        self.assertEqual(self.diff(first, self.run_of(put("3"), put("1")), "--last").returncode, 1)

    def test_only_the_writes_of_one_program_can_be_compared(self):
        first = self.run_of(("POST", MAPS, config_map("a")))
        second = self.run_of()
        self.assertEqual(self.diff(first, second, "--client", "one/").returncode, 1)
        self.assert_same(first, second, "--client", "kubectl")

    def test_a_body_that_is_no_json_is_compared_as_text(self):
        yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: y}\ndata: {k: %s}\n"
        def run(value):
            self.count += 1
            path = os.path.join(self.folder, "y%d.run" % self.count)
            server = self.replay(self.tape_path, "--wait-watchers", "0", "--run", path, "--write", "overlay")
            server.request("POST", MAPS, {"Content-Type": "application/yaml"}, yaml % value)
            self.assertEqual(server.stop(), 0)
            return path
        self.assert_same(run("a"), run("a"))
        self.assertEqual(self.diff(run("a"), run("b")).returncode, 1)

    def test_what_cannot_be_compared_is_2(self):
        run = self.run_of()
        stranger = os.path.join(self.folder, "stranger")
        with sqlite3.connect(stranger) as db:
            db.execute("CREATE TABLE writes (x)")
        text = os.path.join(self.folder, "text")
        with open(text, "w") as f:
            f.write("no run at all")
        for arguments in ((run,), (run, stranger), (text, run), (run, self.folder + "/none"), (run, run, run),
                (run, run, "--ordered", "--last")):
            done = self.run_kubetape("diff", *arguments)
            self.assertEqual((done.returncode, done.stderr.count("\n"), done.stdout), (2, 1, ""), (arguments, done.stderr))

    def test_a_run_that_did_not_end_is_told(self):
        run = self.run_of()
        cut = os.path.join(self.folder, "cut.run")
        shutil.copy(run, cut)
        with sqlite3.connect(cut) as db:
            db.execute("DELETE FROM run WHERE name = 'exit_code'")
        done = self.diff(run, cut)
        self.assertEqual(done.returncode, 3)
        self.assertIn("did not end in order", done.stderr)


class Controllers(Diff):
    """A controller in a gap: pod b is deleted and made again while it does not watch."""

    GAP = "#1,2ev,fin,compact,hold=10s,pods,event=resource='pods' AND type='DELETED'"

    def setUp(self):
        super().setUp()
        made = Tape().listed(PODS, 20, [obj(PODS, "a", 5), obj(PODS, "b", 6)])
        made.event(0.3, PODS, "ADDED", obj(PODS, "c", 21)).event(0.4, PODS, "MODIFIED", obj(PODS, "a", 22))
        made.event(0.6, PODS, "DELETED", obj(PODS, "b", 23)).event(0.61, PODS, "ADDED", obj(PODS, "b", 24, uid="second"))
        self.tape_path = self.tape(made.event(0.9, PODS, "ADDED", obj(PODS, "last", 30)))

    def replay_controller(self, name, *options, forgetful=False, child=()):
        """Replays into the ledger; the path of the run."""
        path = os.path.join(self.folder, name)
        config = path + ".kubeconfig"
        command = [sys.executable, LEDGER, config, "default", "last"] + (["--forgetful"] if forgetful else [])
        self.done = self.run_kubetape("replay", self.tape_path, "--plain", "--kubeconfig", config, *options,
            *([] if "--golden" in options else ["--run", path]), "--", *(child or command))
        return path

    def test_two_runs_of_one_controller_are_the_same_and_a_bug_in_a_gap_is_a_difference(self):
        calm = self.replay_controller("calm.run")
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        first = self.replay_controller("first.run", "--gap", self.GAP)
        second = self.replay_controller("second.run", "--gap", self.GAP)
        self.assert_same(first, second)
        self.assert_same(calm, first)
        bad = self.replay_controller("bad.run", "--gap", self.GAP, forgetful=True)
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        found = self.differences(first, bad)
        self.assertIn(("only in first", "create", "released-*"), [(d["difference"], d["verb"], d["name"]) for d in found])

    def test_a_golden_run_judges_a_replay_when_it_is_over(self):
        golden = self.replay_controller("golden.run")
        self.replay_controller("x", "--golden", golden, "--gap", self.GAP)
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        self.assertIn("no difference: ", self.done.stdout)
        self.replay_controller("x", "--golden", golden, "--gap", self.GAP, forgetful=True)
        self.assertEqual(self.done.returncode, 1, self.done.stderr)
        self.assertIn("- create configmaps default/released-*", self.done.stdout)
        self.assertIn("+++ this replay: ", self.done.stdout)
        self.replay_controller("x", "--golden", golden, "--gap", self.GAP, "--last")
        self.assertEqual(self.done.returncode, 0, self.done.stdout)
        self.replay_controller("x", "--golden", golden, "--gap", self.GAP, "--ignore", "configmaps=*", forgetful=True)
        self.assertEqual(self.done.returncode, 0, self.done.stdout)

    def test_what_a_program_writes_when_it_is_asked_to_end_is_no_difference(self):
        script = ("import signal, sys\nfrom controller import Api\napi = Api(sys.argv[1])\n"
            "def say(name):\n\tapi.ask('POST', '/api/v1/namespaces/default/configmaps', {'metadata': {'name': name}})\n"
            "def end(*_):\n\tsay(sys.argv[2])\n\tsys.exit(0)\n"
            "signal.signal(signal.SIGTERM, end)\nsay('begun')\n"
            "watch = api.open('GET', '/api/v1/pods?watch=1')  # the clock starts, so nothing is quiet before 'begun'\n"
            "signal.pause()\n")
        def replay(name):
            child = [sys.executable, "-c", script, os.path.join(self.folder, name + ".kubeconfig"), name]
            return self.replay_controller(name, "--speed", "max", "--settle", "300ms", child=child)
        os.environ["PYTHONPATH"] = os.path.dirname(LEDGER)
        self.addCleanup(os.environ.pop, "PYTHONPATH")
        one, two = replay("one"), replay("two")
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        with contextlib.closing(sqlite3.connect(two)) as db:
            self.assertEqual([name for name, in db.execute("SELECT name FROM writes")], ["begun", "two"])
        self.assert_same(one, two)

    def test_the_code_of_a_child_that_failed_stays(self):
        golden = self.replay_controller("golden.run")
        for code, given in ((0, 1), (7, 7)):
            self.replay_controller("x", "--golden", golden, child=["sh", "-c", "exit %d" % code])
            self.assertEqual(self.done.returncode, given, self.done.stderr)
            self.assertIn("- create ", self.done.stdout)

    def test_resources_of_rules_are_named_as_kubectl_takes_them(self):
        golden = self.replay_controller("golden.run")
        self.replay_controller("x", "--golden", golden, "--gap", self.GAP, "--ignore", "cm=*", forgetful=True)
        self.assertEqual(self.done.returncode, 0, self.done.stdout)
        bad = self.replay_controller("bad.run", "--gap", self.GAP, forgetful=True)
        self.assert_same(golden, bad, "--ignore", "cm:create,update=*")
        done = self.diff(golden, bad, "--ignore", "podz=*")
        self.assertEqual(done.returncode, 1)
        self.assertIn("bad rule 'podz=*': neither the tape nor Kubernetes has a resource 'podz'; did you mean 'pods'?", done.stderr)
        self.replay_controller("x", "--golden", golden, "--keep", "podz=@times")
        self.assertEqual((self.done.returncode, self.done.stderr.count("\n")), (2, 1), self.done.stderr)

    def test_a_golden_run_that_cannot_be_used_is_refused_before_the_replay(self):
        golden = self.replay_controller("golden.run")
        for options in (("--golden", self.folder + "/none"), ("--golden", golden, "--run", golden),
                ("--golden", self.tape_path), ("--golden", golden, "--ignore", "@x"), ("--golden", golden, "--last", "--ordered")):
            done = self.run_kubetape("replay", self.tape_path, *options, "--", "false")
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertNotIn("serving", done.stdout)
        self.assertEqual(self.diff(golden, golden).returncode, 0)


if __name__ == "__main__":
    unittest.main()
