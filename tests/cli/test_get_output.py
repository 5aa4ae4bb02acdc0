"""kubetape get prints as kubectl does: the same bytes as kubectl against a replay of the same tape."""
import json
import os
import shlex
import subprocess
import unittest

import kubectl
from tapes import DEPLOYMENTS, KUBETAPE, NODES, PODS, SECOND, START, TapeTest, event, pod

BUNDLED = "tests/tapes/rolling-update.tape"
CRDS = {"group": "apiextensions.k8s.io", "version": "v1", "resource": "customresourcedefinitions", "kind": "CustomResourceDefinition", "namespaced": False}
WIDGETS = {"group": "example.com", "version": "v1", "resource": "widgets", "kind": "Widget", "namespaced": True}
RANGE = "{range .items[*]}{.metadata.name}{\"\\t\"}{.status.phase}{'\\n'}{end}"
FORMS = [
    ["pods", "-n", "shop", "-o", "json"],
    ["nodes", "-n", "shop", "-o", "json"],
    ["pods,deploy", "-n", "shop", "-o", "json"],
    ["deploy/web", "-n", "shop", "-o", "json"],
    ["deploy", "web", "-n", "shop", "-o", "json", "--show-managed-fields"],
    ["deploy/web", "-n", "shop", "-o", "yaml"],
    ["cronjobs", "-n", "shop", "-o", "json"],
    ["nodes", "-o", "json"],
    ["pods", "-n", "shop", "-o", "jsonpath={.items[*].metadata.name}"],
    ["pods", "-n", "shop", "-o", "jsonpath=" + RANGE],
    ["pods", "-n", "shop", "-o", "jsonpath={.items[0].spec.containers}"],
    ["pods", "-n", "shop", "-o", "jsonpath={.items[-1:].metadata.labels}{\"|\"}{.items[0:4:2].metadata.name}{.nothing}"],
    ["pods", "-n", "shop", "-o", "jsonpath={.items[*]['metadata.name','status.phase']}{..image}"],
    ["pods", "-n", "shop", "-o", "jsonpath={.items[?(@.status.phase==\"Running\")].metadata.name} is {.kind}"],
    ["pods", "-n", "shop", "-o", "jsonpath={.items[?(@.metadata.generation>=2)].metadata.name}"],
    ["pods", "-n", "shop", "-o", "jsonpath={range .items[*]}{range .status.conditions[?(@.type=='Ready')]}{.status} {end}{\"\\n\"}{end}"],
    ["deploy/web", "-n", "shop", "-o", "jsonpath={.metadata.labels.app} {.spec.replicas} {.metadata.annotations.deployment\\.kubernetes\\.io/revision}"],
    ["deploy/web", "-n", "shop", "-o", "jsonpath={$.spec.template.spec.containers[0].image}{.spec.strategy}{@.metadata.uid}"],
    ["pods", "-n", "shop", "-o", "custom-columns=NAME:.metadata.name,NODE:.spec.nodeName,IP:.status.podIP"],
    ["pods", "-n", "shop", "-o", "custom-columns=A:{.metadata.labels},B:spec.containers[*].image,C:.status.conditions[0],D:.none"],
    ["nodes", "-o", "custom-columns=N:.metadata.name,READY:.status.conditions[?(@.type=='Ready')].status"],
    ["pods", "-n", "shop", "--sort-by", ".metadata.resourceVersion", "-o", "name"],
    ["pods", "-n", "shop", "--sort-by={.status.podIP}", "-o", "jsonpath={.items[*].metadata.name}"],
    ["pods", "-n", "shop", "--sort-by=.spec.nodeName", "-o", "custom-columns=NAME:.metadata.name,NODE:.spec.nodeName"],
]
if (kubectl.minor() or 0) >= 31:  # older ones sort the numbers in names by their size
    FORMS.append(["events", "-n", "shop", "--sort-by=.metadata.name", "-o", "name"])


class Order(TapeTest):
    def test_flow_schemas_come_in_the_order_in_which_they_are_tried_and_their_names_in_that_of_names(self):
        stream = {"group": "flowcontrol.apiserver.k8s.io", "version": "v1", "resource": "flowschemas", "kind": "FlowSchema", "namespaced": False}
        self.make_tape(self.tape, [event(i, "ADDED", {"kind": "FlowSchema", "apiVersion": "flowcontrol.apiserver.k8s.io/v1", "metadata": {
            "name": name, "uid": name, "resourceVersion": str(10 + i)}, "spec": {"matchingPrecedence": precedence}}, stream=stream)
            for i, (name, precedence) in enumerate((("a", 1000), ("b", 9), ("c", 1000)))])
        table = self.run_tape("get", self.tape, "flowschemas", "-o", "wide").stdout
        self.assertEqual([line.split()[0] for line in table.splitlines()], ["NAME", "b", "a", "c"])
        self.assertEqual(self.run_tape("get", self.tape, "flowschemas", "-o", "jsonpath={.items[*].metadata.name}").stdout, "a b c")


@unittest.skipUnless(kubectl.minor(), "no kubectl here")
class AsKubectl(TapeTest):
    def test_every_form_is_that_of_kubectl_byte_for_byte(self):
        script = "\n".join(f"kubectl get {shlex.join(form)} >{self.dir}/{i}; echo $? >{self.dir}/{i}.code" for i, form in enumerate(FORMS))
        done = subprocess.run([KUBETAPE, "replay", BUNDLED, "--from", "300", "--", "sh", "-c", script], capture_output=True, timeout=300, check=False,
                              env={**os.environ, "HOME": self.dir})
        self.assertEqual(done.returncode, 0, done.stderr)
        for i, form in enumerate(FORMS):
            with self.subTest(form=form):
                with open(f"{self.dir}/{i}.code", encoding="ascii") as file:
                    self.assertEqual(file.read(), "0\n")
                with open(f"{self.dir}/{i}", encoding="utf-8") as file:
                    want = file.read()
                got = self.run_tape("get", BUNDLED, *form, "--at", "300")
                self.assertEqual((got.stdout, got.returncode), (want, 0))


class Output(TapeTest):
    odd = {"z": 1.50, "big": 12345678901234567890, "small": 1e-7, "large": 1e21, "int": 9007199254740993, "html": "<a&b>\u2028", "none": None, "yes": True, "list": []}
    rows = [
        event(0, "ADDED", pod("web-10", "u1", 10, metadata={"labels": {"b": "2", "a": "1"}, "managedFields": [{"manager": "x"}]}, spec=odd)),
        event(1, "ADDED", pod("web-9", "u2", 11, spec={"memory": "1Gi"})),
        event(2, "ADDED", pod("web-1", "u3", 12, spec={"memory": "500Mi"})),
        event(3, "ADDED", {"kind": "Deployment", "apiVersion": "apps/v1", "metadata": {"name": "d", "namespace": "shop", "uid": "d", "resourceVersion": "13"}}, stream=DEPLOYMENTS),
    ]

    def ok(self, *args):
        done = self.run_tape("get", self.tape, *args)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_numbers_and_texts_are_as_go_prints_them(self):
        text = self.ok("pod/web-10", "-o", "json")
        self.assertNotIn("managedFields", text)
        for line in ('"z": 1.5\n', '"yes": true,', '"big": 12345678901234567000,', '"small": 1e-7,', '"large": 1e+21,', '"int": 9007199254740993,',
                     '"html": "\\u003ca\\u0026b\\u003e\\u2028",', '"none": null,', '"list": [],'):
            self.assertIn(line, text)
        self.assertIn('"managedFields": [', self.ok("pod/web-10", "-o", "json", "--show-managed-fields"))
        self.assertEqual(self.ok("pod/web-10", "-o", "jsonpath={.spec.z} {.spec.small} {.spec.large} {.spec.yes}"), "1.5 1e-07 1e+21 true")
        self.assertIn("map[a:1 b:2]", self.ok("pod/web-10", "-o", "custom-columns=L:.metadata.labels"))

    def test_rows_are_sorted_as_kubectl_sorts_them(self):
        self.assertEqual(self.ok("pods", "--sort-by", ".metadata.name", "-o", "name"), "pod/web-1\npod/web-10\npod/web-9\n")
        table = [line.split()[1] for line in self.ok("pods", "--sort-by={.spec.memory}").splitlines()]
        self.assertEqual(table, ["NAME", "web-10", "web-1", "web-9"])
        done = self.run_tape("get", self.tape, "pods", "--sort-by=.nothing")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no object has a value at '.nothing'", done.stderr)

    def test_a_column_of_a_custom_resource_is_blank_where_the_object_has_no_value(self):
        columns = [{"name": name, "type": kind, "jsonPath": ".status." + name.lower()} for name, kind in (("Phase", "string"), ("Count", "integer"), ("When", "date"))]
        crd = {"kind": "CustomResourceDefinition", "apiVersion": "apiextensions.k8s.io/v1", "metadata": {"name": "widgets.example.com", "uid": "c", "resourceVersion": "1"},
               "spec": {"group": "example.com", "names": {"plural": "widgets", "kind": "Widget"}, "scope": "Namespaced",
                        "versions": [{"name": "v1", "served": True, "storage": True, "additionalPrinterColumns": columns}]}}
        widgets = [{"kind": "Widget", "apiVersion": "example.com/v1", "metadata": {"name": name, "namespace": "shop", "uid": name, "resourceVersion": "2"}, "status": status}
                   for name, status in (("a", {"phase": "Up", "count": "many"}), ("b", {"count": 3}))]
        self.make_tape(self.tape, [event(0, "ADDED", crd, stream=CRDS), *(event(1, "ADDED", w, stream=WIDGETS) for w in widgets)])
        lines = [line.rstrip() for line in self.ok("widgets", "-n", "shop").splitlines()]
        self.assertEqual(lines, ["NAME  PHASE  COUNT  WHEN", "a     Up", "b            3"])

    def test_labels_are_the_last_column(self):
        lines = self.ok("pods", "--show-labels").splitlines()
        self.assertEqual([line.split()[-1] for line in lines], ["LABELS", "<none>", "a=1,b=2", "<none>"])

    def test_watching_prints_each_change_after_the_position_in_its_order(self):
        done = self.run_tape("get", BUNDLED, "pods", "-n", "shop", "-w", "-o", "name", "--at", "seq:480")
        self.assertEqual((done.returncode, done.stderr), (0, "kubetape get: the tape is not being recorded\n"))
        before = self.run_tape("get", BUNDLED, "pods", "-n", "shop", "-o", "name", "--at", "seq:480").stdout.splitlines()
        rows = json.loads(self.run_tape("query", BUNDLED, "SELECT 'pod/' || name AS n FROM events WHERE resource = 'pods' AND namespace = 'shop' "
                                        "AND seq > 480 AND origin <> 'list' ORDER BY seq", "--format", "json").stdout)
        self.assertEqual(done.stdout.splitlines(), before + [r["n"] for r in rows])
        for refused in (["pods,nodes"], ["pods", "-o", "json"], ["pods/a", "pods/b"], ["pods", "--sort-by", ".metadata.name"]):
            self.assert_fails(self.run_tape("get", BUNDLED, *refused, "-w"), 2, "--watch")

    def test_watching_tells_of_gaps_of_the_resource_after_the_position(self):
        path = os.path.join(self.dir, "gaps.tape")
        gap = {"gap": "reset", "how_ended": "relist", "stream": PODS, "begin_ns": START + 5 * SECOND, "end_ns": START + 7 * SECOND,
               "duration_ns": 2 * SECOND, "begin_seq": 2, "end_seq": 2}
        other = {**gap, "stream": NODES}
        self.make_tape(path, [event(0, "ADDED", pod("a", "u1", 1), origin="list"), event(1, "MODIFIED", pod("a", "u1", 2)), gap, other,
                              event(8, "MODIFIED", pod("a", "u1", 3))])
        told = "kubetape get: 2023-11-14T22:13:25.000Z        NOT WATCHED pods for 2.0s: the connection was reset, ended by relist\n"
        over = "kubetape get: the tape is not being recorded\n"
        self.assertEqual(self.run_tape("get", path, "pods", "-w", "-o", "name", "--at", "1").stderr, told + over)
        self.assertEqual(self.run_tape("get", path, "pods", "-w", "-o", "name", "--at", "3").stderr, over)

    def test_what_is_no_form_is_a_usage_error(self):
        for words, sentence in (("xml", "option '--output' wants one of"), ("jsonpath={.a", "it does not end"), ("jsonpath={range .a}", "a range without an end"),
                                ("jsonpath={.a[x]}", "expected an index"), ("jsonpath={end}", "an end without a range"), ("jsonpath={.a[?(@.b==1]}", "at byte"),
                                ("custom-columns=A", "expected HEADING:PATH"), ("custom-columns=A:{", "expected a path"), ("jsonpath={'a}", "a text that does not end")):
            self.assert_fails(self.run_tape("get", self.tape, "pods", "-o", words), 2, sentence)
        self.assert_fails(self.run_tape("get", self.tape, "pods", "--sort-by", "{"), 2, "expected a path")
        self.assert_fails(self.run_tape("get", self.tape, "pods", "-o", "jsonpath={.items[7].x}"), 1, "array index out of bounds: 7 of an array of 3")


if __name__ == "__main__":
    unittest.main()
