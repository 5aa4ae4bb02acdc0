"""kubetape get, log and diff-state: everyday questions without SQL."""
import json
import os
import unittest

from tapes import DEPLOYMENTS, NODES, SECOND, START, TapeTest, event, pod


def running(name, uid, rv, **more):
    return pod(name, uid, rv, metadata={"creationTimestamp": "2023-11-14T22:13:00Z", "labels": {"app": name[:3]}},
               spec={"nodeName": "n1", "containers": [{"name": "main"}]},
               status={"phase": "Running", "podIP": "10.0.0.1",
                       "containerStatuses": [{"name": "main", "ready": True, "restartCount": 2,
                                             "state": {"running": {}}}]}, **more)


def deployment(rv, replicas):
    return {"kind": "Deployment", "apiVersion": "apps/v1",
            "metadata": {"name": "web", "namespace": "shop", "uid": "d1", "resourceVersion": str(rv)},
            "spec": {"replicas": replicas, "paused": False, "note": "a: b\n- c\n"}, "status": {"readyReplicas": 1}}


class State(TapeTest):
    rows = [
        event(0, "ADDED", running("web-0", "u1", 10), origin="list"),
        event(1, "ADDED", pod("db-0", "u2", 11, namespace="data", status={"phase": "Pending"})),
        event(2, "ADDED", deployment(12, 2), stream=DEPLOYMENTS),
        event(3, "MODIFIED", deployment(13, 3), stream=DEPLOYMENTS),
        event(10, "DELETED", pod("db-0", "u2", 14, namespace="data", status={"phase": "Pending"})),
        event(11, "DELETED", running("web-0", "u1", 15)),
        event(12, "ADDED", running("web-0", "u3\u001b[31m", 16)),
        {"gap": "reset", "how_ended": "rewatch", "stream": DEPLOYMENTS, "begin_ns": START + 5 * SECOND,
         "end_ns": START + 7 * SECOND, "duration_ns": 2 * SECOND, "begin_seq": 4, "end_seq": 4},
    ]

    def ok(self, *args):
        done = self.run_tape(*args)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_get_shows_the_pods_of_that_moment(self):
        self.assertEqual(self.ok("get", self.tape, "po", "--at", "seq:4"), (
            "NAMESPACE  NAME   READY  STATUS   RESTARTS  AGE\n"
            "data       db-0   0/0    Pending  0         <unknown>\n"
            "shop       web-0  1/1    Running  2         23s\n"))
        self.assertIn(" 29s\n", self.ok("get", self.tape, "pods", "--at", "22:13:29.5"))

    def test_get_of_nothing_says_so_as_kubectl_does(self):
        done = self.run_tape("get", self.tape, "pods", "-n", "data", "--at", "22:13:31")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", "No resources found in data namespace.\n"))
        self.assertEqual(self.run_tape("get", self.tape, "deploy", "-A", "--at", "1").stderr, "No resources found\n")
        self.assertEqual(self.ok("get", self.tape, "deploy", "-o", "name", "--at", "1"), "")

    def test_get_of_several_resources_names_them(self):
        self.assertEqual(self.ok("get", self.tape, "deploy,po", "-n", "shop").split("\n"), [
            "NAME                 READY  UP-TO-DATE  AVAILABLE  AGE", "deployment.apps/web  1/3    0           0          <unknown>",
            "", "NAME       READY  STATUS   RESTARTS  AGE", "pod/web-0  1/1    Running  2         32s", ""])

    def test_get_wide_and_custom_resources_have_the_servers_columns(self):
        self.assertIn("NOMINATED NODE", self.ok("get", self.tape, "pods", "-o", "wide"))
        crontabs = self.ok("get", "tests/tapes/rolling-update.tape", "crontabs").splitlines()
        self.assertEqual(crontabs[0].split(), ["NAMESPACE", "NAME", "AGE"])

    def test_get_finds_by_name_and_label(self):
        self.assertEqual(self.ok("get", self.tape, "pods,deploy", "-o", "name", "--at", "4"),
                         "pod/db-0\npod/web-0\ndeployment.apps/web\n")
        self.assertEqual(self.ok("get", self.tape, "pod", "-l", "app in (web)", "-o", "name", "--at", "4"),
                         "pod/web-0\n")
        self.assertEqual(self.ok("get", self.tape, "pod/db-0", "-o", "name", "--at", "4"), "pod/db-0\n")
        self.assertEqual(self.ok("get", self.tape, "deploy/web", "po/web-0", "-o", "name"), "deployment.apps/web\npod/web-0\n")

    def test_get_json_has_the_objects_as_delivered(self):
        got = json.loads(self.ok("get", self.tape, "deployments.apps", "-o", "json", "--at", "deployments@12"))
        self.assertEqual(got["items"], [deployment(12, 2)])
        one = json.loads(self.ok("get", self.tape, "deploy", "web", "-o", "json"))
        self.assertEqual(one, deployment(13, 3))
        self.assertEqual(json.loads(self.ok("get", self.tape, "deploy", "-o", "json", "--at", "1"))["items"], [])

    def test_get_yaml_reads_back_as_the_object(self):
        text = self.ok("get", self.tape, "deploy/web", "-o", "yaml")
        self.assertIn("  note: |\n    a: b\n    - c\n", text)
        self.assertIn('  resourceVersion: "13"\n', text)
        self.assertIn("  paused: false\n", text)

    def test_get_says_what_is_not_there(self):
        self.assert_fails(self.run_tape("get", self.tape, "cats"), 1, "no resource 'cats'")
        done = self.run_tape("get", self.tape, "pods", "nope", "web-0", "-o", "name")
        self.assertEqual((done.returncode, done.stdout), (1, "pod/web-0\n"))
        self.assertEqual(done.stderr, 'kubetape get: pods "nope" not found\n')
        self.assert_fails(self.run_tape("get", self.tape, "deploy/x", "-o", "json"), 1, 'deployments.apps "x" not found')
        self.assert_fails(self.run_tape("get", self.tape, "pod/web-0", "web"), 2, "expected RESOURCE/NAME beside another")
        self.assert_fails(self.run_tape("get", self.tape, "pods", "--at", "noon"), 2, "bad position 'noon'")
        self.assert_fails(self.run_tape("get", self.tape), 2, "expected a tape and a resource")
        self.assert_fails(self.run_tape("get", self.tape, "pods", "-l", "a in"), 2, "bad selector")

    def test_log_tells_the_fields_and_the_gap(self):
        self.assertEqual(self.ok("log", self.tape, "deploy/web"), (
            "2023-11-14T22:13:22.000000000Z ADDED    deployments shop/web rv 12 uid d1\n"
            "2023-11-14T22:13:23.000000000Z MODIFIED deployments shop/web rv 13 uid d1 +1.0s\n"
            "    ~ spec.replicas: 2 -> 3\n"
            "2023-11-14T22:13:25.000000000Z NOT WATCHED for 2.0s: reset, ended by rewatch\n"))

    def test_log_follows_a_uid_and_escapes_what_it_prints(self):
        self.assertEqual(len(self.ok("log", self.tape, "u1").splitlines()), 3)
        self.assertIn("uid u3\\x1b[31m", self.ok("log", self.tape, "pods/web-0", "-n", "shop"))
        self.assertIn("\u001b[33m    ~ spec.replicas\u001b[0m: 2 -> 3",
                      self.ok("log", self.tape, "d1", "--color", "always"))
        self.assert_fails(self.run_tape("log", self.tape, "u9"), 1, "no event of 'u9'")

    def test_log_takes_an_object_in_all_the_ways_to_name_it(self):
        want = self.ok("log", self.tape, "deploy/web")
        for words in (["deploy", "web"], ["deployments.apps", "web", "-n", "shop"], ["d1"], ["d"]):
            self.assertEqual(self.ok("log", self.tape, *words), want, words)
        self.assert_fails(self.run_tape("log", self.tape, "u"), 2, "several UIDs begin with 'u'")
        for words in (["pods"], ["po", "-n", "shop"]):
            self.assert_fails(self.run_tape("log", self.tape, *words), 2, f"'{words[0]}' is a resource, not an object; name one: {words[0]}/NAME")
        self.assert_fails(self.run_tape("log", self.tape, "pods/web-0", "web-1"), 2, "expected RESOURCE/NAME or RESOURCE NAME")
        self.assert_fails(self.run_tape("log", self.tape, "pods/"), 2, "expected RESOURCE/NAME or RESOURCE NAME")
        self.assert_fails(self.run_tape("log", self.tape, "cats", "tom"), 1, "no resource 'cats'")

    def test_log_says_which_of_several_objects_is_not_there(self):
        self.assert_fails(self.run_tape("log", self.tape, "deploy/web", "pods/web-7"), 1, "no event of 'pods/web-7'")
        self.assert_fails(self.run_tape("log", self.tape, "pods/web-7", "--with-owned"), 1, "no event of 'pods/web-7'")

    def test_log_tells_several_objects_together_in_the_order_of_time(self):
        told = [line.split()[1:4] for line in self.ok("log", self.tape, "deploy/web", "pods/web-0", "pods/db-0").splitlines() if "rv" in line]
        self.assertEqual(told, [["ADDED", "pods", "shop/web-0"], ["ADDED", "pods", "data/db-0"], ["ADDED", "deployments", "shop/web"],
                                ["MODIFIED", "deployments", "shop/web"], ["DELETED", "pods", "data/db-0"], ["DELETED", "pods", "shop/web-0"],
                                ["ADDED", "pods", "shop/web-0"]])
        rows = [json.loads(line) for line in self.ok("log", self.tape, "pods/web-0", "pods/db-0", "--json").splitlines()]
        self.assertEqual([r["seq"] for r in rows if r["type"]], [1, 2, 5, 6, 7])
        self.assert_fails(self.run_tape("log", self.tape, "pods/web-0", "pods/db-0", "u1"), 2, "found 'u1' beside other objects")
        self.assert_fails(self.run_tape("log", self.tape, "d1", "-f", "--until", "3"), 2, "--until '3'")

    def test_diff_state_tells_what_came_went_and_changed(self):
        self.assertEqual(self.ok("diff-state", self.tape, "3", "end"), (
            "- pods data/db-0\n"
            "! pods shop/web-0 (deleted and made again)\n"
            "    ~ metadata.uid: u1 -> u3\\x1b[31m\n"
            "~ deployments.apps shop/web\n"
            "    ~ spec.replicas: 2 -> 3\n"))
        self.assertEqual(self.ok("diff-state", self.tape, "end", "end"), "")
        self.assertEqual(self.ok("diff-state", self.tape, "3", "-r", "deploy"),
                         "~ deployments.apps shop/web\n    ~ spec.replicas: 2 -> 3\n")
        self.assert_fails(self.run_tape("diff-state", self.tape, "3", "-r", "cats"), 1, "no resource 'cats'")
        rows = [json.loads(line) for line in self.ok("diff-state", self.tape, "1", "2", "--json").splitlines()]
        self.assertEqual([(r["change"], r["name"], r["field"]) for r in rows],
                         [("added", "db-0", None)])


class Owned(TapeTest):
    """Kubernetes has no owner in another namespace; owners without one own objects everywhere."""
    node = {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n1", "uid": "n", "resourceVersion": "9"}}
    rows = [event(0, "ADDED", node, stream=NODES), event(1, "ADDED", deployment(10, 2), stream=DEPLOYMENTS)] + [
        event(rv, "ADDED", pod(name, name, rv, namespace=namespace, metadata={"ownerReferences": [{"kind": "Any", "name": "any", "uid": owner}]}))
        for rv, name, namespace, owner in ((11, "near", "shop", "d1"), (12, "below", "shop", "near"), (13, "far", "data", "d1"), (14, "mirror", "data", "n"))]

    def owned_by(self, *roots):
        tree = self.run_tape("log", self.tape, *roots, "--with-owned").stdout.split("\n\n")[0]
        return [line.split()[1] for line in tree.splitlines()]

    def test_log_with_owned_takes_what_is_in_the_namespace_of_a_namespaced_owner(self):
        self.assertEqual(self.owned_by("deploy/web"), ["shop/web", "shop/near", "shop/below"])

    def test_log_with_owned_takes_what_is_anywhere_of_an_owner_without_a_namespace(self):
        self.assertEqual(self.owned_by("no/n1"), ["n1", "data/mirror"])
        self.assertEqual(self.owned_by("deploy/web", "no/n1"), ["shop/web", "shop/near", "shop/below", "n1", "data/mirror"])


BUNDLED = "tests/tapes/rolling-update.tape"


class Bundled(TapeTest):
    def setUp(self):
        super().setUp()
        self.tape = BUNDLED

    def test_log_with_owned_shows_the_tree_that_owner_references_make_and_tells_all_of_it(self):
        done = self.run_tape("log", BUNDLED, "deploy/web", "-n", "shop", "--with-owned")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        tree, told = done.stdout.split("\n\n", 1)
        owners = self.query("SELECT DISTINCT resource, name, uid, jget(o.value, '$.uid') AS owner FROM events, "
                            "json_each(jget(object, '$.metadata.ownerReferences')) AS o WHERE resource IN ('pods', 'replicasets')")
        root = self.query("SELECT DISTINCT uid FROM events WHERE resource = 'deployments' AND name = 'web' AND namespace = 'shop'")[0]["uid"]
        sets = {r["uid"]: r["name"] for r in owners if r["owner"] == root}
        lines = [(len(line) - len(line.lstrip()), line.split()[1]) for line in tree.splitlines()]
        self.assertEqual(lines[0], (0, "shop/web"))
        self.assertEqual({name for depth, name in lines if depth == 2}, {"shop/" + name for name in sets.values()})
        self.assertEqual({name for depth, name in lines if depth == 4}, {"shop/" + r["name"] for r in owners if r["owner"] in sets})
        self.assertIn(", deleted", tree)
        uids = [root, *sets, *(r["uid"] for r in owners if r["owner"] in sets)]
        count = self.query(f"SELECT count(*) AS n FROM events WHERE uid IN ({','.join(repr(u) for u in uids)})")[0]["n"]
        self.assertEqual(sum(" rv " in line for line in told.splitlines()), count)

    def test_diff_state_says_who_wrote_and_leaves_out_bookkeeping(self):
        done = self.run_tape("diff-state", BUNDLED, "245", "246")
        self.assertEqual(done.returncode, 0)
        self.assertIn("registry.example/web:1 -> registry.example/web:2  (kubectl-set)\n", done.stdout)
        done = self.run_tape("diff-state", BUNDLED, "246", "end")
        self.assertNotIn("leases", done.stdout)
        left = int(done.stderr.split("left out ")[1].split()[0])
        everything = self.run_tape("diff-state", BUNDLED, "246", "end", "--all")
        self.assertEqual(everything.stderr, "")
        heads = [[line for line in d.stdout.splitlines() if not line.startswith(" ")] for d in (done, everything)]
        self.assertEqual(len(heads[1]) - len(heads[0]), left)
        named = self.run_tape("diff-state", BUNDLED, "246", "end", "-r", "leases")
        self.assertEqual((named.stderr, "leases.coordination.k8s.io" in named.stdout), ("", True))

    def test_times_are_local_when_asked(self):
        env = {**os.environ, "TZ": "JST-9"}
        for words in (["info"], ["log", "deploy/web", "-n", "shop"]):
            text = self.run_tape(words[0], BUNDLED, *words[1:], "--local", env=env).stdout
            self.assertIn("2026-11-21T18:51:29.4", text)
            self.assertIn("+09:00", text)
        self.assertIn("2023-11-15T07:13:50.000000000+09:00", self.run_tape("gaps", "tests/tapes/watch-gaps.tape", "--local", env=env).stdout)


if __name__ == "__main__":
    unittest.main()
