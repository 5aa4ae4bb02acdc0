"""The tables that kubectl prints: columns and cells as the API server gives them."""

import unittest

from replays import (CONFIGMAPS, DEPLOYMENTS, EVENTS, NODES, PODS, TABLE, WIDGETS, Case, Tape, obj)

CRDS = {"group": "apiextensions.k8s.io", "version": "v1", "resource": "customresourcedefinitions",
    "kind": "CustomResourceDefinition", "namespaced": False}
SERVICES = {"version": "v1", "resource": "services", "kind": "Service", "namespaced": True}
ROLES = {"group": "rbac.authorization.k8s.io", "version": "v1", "resource": "roles", "kind": "Role", "namespaced": True}
AUTOSCALERS = {"group": "autoscaling", "version": "v2", "resource": "horizontalpodautoscalers",
    "kind": "HorizontalPodAutoscaler", "namespaced": True}
JOBS = {"group": "batch", "version": "v1", "resource": "jobs", "kind": "Job", "namespaced": True}
QUOTAS = {"version": "v1", "resource": "resourcequotas", "kind": "ResourceQuota", "namespaced": True}
ADDRESSES = {"group": "networking.k8s.io", "version": "v1", "resource": "ipaddresses", "kind": "IPAddress",
    "namespaced": False}
CLAIMS = {"group": "resource.k8s.io", "version": "v1", "resource": "resourceclaims", "kind": "ResourceClaim",
    "namespaced": True}
BINDINGS = {"group": "admissionregistration.k8s.io", "version": "v1", "resource": "validatingadmissionpolicybindings",
    "kind": "ValidatingAdmissionPolicyBinding", "namespaced": False}
SCHEMAS = {"group": "flowcontrol.apiserver.k8s.io", "version": "v1", "resource": "flowschemas", "kind": "FlowSchema",
    "namespaced": False}
AGE = "60m"  # of everything in a small tape


def running(**more):
    return {"name": "c", "ready": True, "restartCount": 0, "state": {"running": {}}, **more}


class TableTest(Case):
    def table(self, stream, things, path, more=()):
        tape = Tape().listed(stream, 90, things)
        for other, others in more:
            tape.listed(other, 90, others)
        return self.replay(tape).get(path, accept=TABLE)[1]

    def cells(self, stream, thing, path, **options):
        """{column: cell} of the only row."""
        table = self.table(stream, [thing], path, **options)
        return dict(zip([c["name"] for c in table["columnDefinitions"]], table["rows"][0]["cells"]))

    def pod(self, status, **more):
        thing = obj(PODS, "p", 5, spec={"nodeName": "n", "containers": [{"name": "c"}], **more.pop("spec", {})}, status=status)
        thing["metadata"].update(more.pop("metadata", {}))
        return self.cells(PODS, thing, "/api/v1/pods")

    def test_running_pod_is_ready(self):
        cells = self.pod({"phase": "Running", "podIPs": [{"ip": "10.0.0.1"}], "containerStatuses": [running()]})
        self.assertEqual(cells, {"Name": "p", "Ready": "1/1", "Status": "Running", "Restarts": "0", "Age": AGE,
            "IP": "10.0.0.1", "Node": "n", "Nominated Node": "<none>", "Readiness Gates": "<none>"})

    def test_pod_tells_what_keeps_it_from_running(self):
        waiting = {"name": "c", "restartCount": 3, "state": {"waiting": {"reason": "CrashLoopBackOff"}},
            "lastState": {"terminated": {"finishedAt": "2027-01-15T07:59:30Z"}}}
        cells = self.pod({"phase": "Running", "containerStatuses": [waiting]})
        self.assertEqual((cells["Ready"], cells["Status"], cells["Restarts"]), ("0/1", "CrashLoopBackOff", "3 (30s ago)"))
        ended = {"name": "c", "restartCount": 0, "state": {"terminated": {"exitCode": 137, "signal": 9}}}
        self.assertEqual(self.pod({"phase": "Failed", "containerStatuses": [ended]})["Status"], "Signal:9")
        ended = {"name": "c", "restartCount": 0, "state": {"terminated": {"exitCode": 2, "reason": "Error"}}}
        self.assertEqual(self.pod({"phase": "Failed", "containerStatuses": [ended]})["Status"], "Error")
        gated = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}
        self.assertEqual(self.pod({"phase": "Pending", "conditions": [gated]})["Status"], "SchedulingGated")

    def test_init_containers_come_before_the_others(self):
        spec = {"initContainers": [{"name": "i"}, {"name": "j"}]}
        done = {"name": "i", "restartCount": 0, "state": {"terminated": {"exitCode": 0}}}
        waits = {"name": "j", "restartCount": 1, "state": {"waiting": {"reason": "PodInitializing"}}}
        cells = self.pod({"phase": "Pending", "initContainerStatuses": [done, waits]}, spec=spec)
        self.assertEqual(cells["Status"], "Init:1/2")
        failed = {"name": "j", "restartCount": 1, "state": {"terminated": {"exitCode": 1, "reason": "Error"}}}
        cells = self.pod({"phase": "Pending", "initContainerStatuses": [done, failed]}, spec=spec)
        self.assertEqual(cells["Status"], "Init:Error")
        spec = {"initContainers": [{"name": "i", "restartPolicy": "Always"}]}
        side = {"name": "i", "restartCount": 2, "started": True, "ready": True, "state": {"running": {}}}
        cells = self.pod({"phase": "Running", "initContainerStatuses": [side], "containerStatuses": [running()]}, spec=spec)
        self.assertEqual((cells["Ready"], cells["Status"], cells["Restarts"]), ("2/2", "Running", "2"))

    def test_deleted_pod_is_terminating_unless_it_is_over(self):
        gone = {"deletionTimestamp": "2027-01-15T07:30:00Z"}
        self.assertEqual(self.pod({"phase": "Running", "containerStatuses": [running()]}, metadata=gone)["Status"],
            "Terminating")
        self.assertEqual(self.pod({"phase": "Succeeded"}, metadata=gone)["Status"], "Succeeded")
        self.assertEqual(self.pod({"phase": "Running", "reason": "NodeLost"}, metadata=gone)["Status"], "Unknown")

    def test_finished_pod_says_so_beside_its_cells(self):
        table = self.table(PODS, [obj(PODS, "p", 5, status={"phase": "Succeeded"})], "/api/v1/pods")
        self.assertEqual(table["rows"][0]["conditions"][0]["reason"], "Succeeded")

    def test_deployment_counts_its_replicas(self):
        thing = obj(DEPLOYMENTS, "web", 5, status={"readyReplicas": 1, "updatedReplicas": 2},
            spec={"replicas": 3, "selector": {"matchLabels": {"b": "2", "a": "1"},
                "matchExpressions": [{"key": "k", "operator": "In", "values": ["x", "y"]}, {"key": "n", "operator": "DoesNotExist"}]},
                "template": {"spec": {"containers": [{"name": "c", "image": "i:1"}, {"name": "d", "image": "j:2"}]}}})
        self.assertEqual(self.cells(DEPLOYMENTS, thing, "/apis/apps/v1/deployments"),
            {"Name": "web", "Ready": "1/3", "Up-to-date": 2, "Available": 0, "Age": AGE, "Containers": "c,d",
                "Images": "i:1,j:2", "Selector": "a=1,b=2,k in (x,y),!n"})

    def test_service_shows_where_it_can_be_reached(self):
        thing = obj(SERVICES, "s", 5, spec={"type": "LoadBalancer", "clusterIPs": ["10.0.0.9"], "externalIPs": ["4.4.4.4"],
            "ports": [{"port": 80, "nodePort": 30080, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}]},
            status={"loadBalancer": {"ingress": [{"ip": "9.9.9.9"}, {"hostname": "h"}]}})
        self.assertEqual(self.cells(SERVICES, thing, "/api/v1/services"),
            {"Name": "s", "Type": "LoadBalancer", "Cluster-IP": "10.0.0.9", "External-IP": "9.9.9.9,h,4.4.4.4",
                "Port(s)": "80:30080/TCP,53/UDP", "Age": AGE, "Selector": "<none>"})

    def test_node_job_event_and_configmap_have_their_columns(self):
        node = obj(NODES, "n", 5, spec={"unschedulable": True}, status={"conditions": [{"type": "Ready", "status": "False"}],
            "nodeInfo": {"kubeletVersion": "v1", "kernelVersion": "6", "architecture": "arm64"}})
        node["metadata"]["labels"] = {"node-role.kubernetes.io/b": "", "node-role.kubernetes.io/a": ""}
        cells = self.cells(NODES, node, "/api/v1/nodes")
        self.assertEqual((cells["Status"], cells["Roles"], cells["Kernel-Version"]),
            ("NotReady,SchedulingDisabled", "a,b", "6 (arm64)"))
        job = obj(JOBS, "j", 5, spec={"completions": 4}, status={"succeeded": 2, "startTime": "2027-01-15T07:58:00Z"})
        cells = self.cells(JOBS, job, "/apis/batch/v1/jobs")
        self.assertEqual((cells["Status"], cells["Completions"], cells["Duration"]), ("Running", "2/4", "2m"))
        event = obj(EVENTS, "e", 5, involvedObject={"kind": "Pod", "name": "p"}, message=" hello \n", reason="R", type="Normal",
            lastTimestamp="2027-01-15T07:59:00Z", source={"component": "k", "host": "h"})
        cells = self.cells(EVENTS, event, "/api/v1/events")
        self.assertEqual((cells["Last Seen"], cells["Object"], cells["Message"], cells["Source"], cells["Count"]),
            ("60s", "pod/p", "hello", "k, h", 1))
        cells = self.cells(CONFIGMAPS, obj(CONFIGMAPS, "c", 5, data={"a": "", "b": ""}, binaryData={"c": ""}),
            "/api/v1/configmaps")
        self.assertEqual(cells, {"Name": "c", "Data": 3, "Age": AGE})

    def autoscaler(self, metrics, now=(), **spec):
        thing = obj(AUTOSCALERS, "h", 5, spec={"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "maxReplicas": 9,
            "metrics": metrics, **spec}, status={"currentReplicas": 3, "currentMetrics": list(now)})
        return self.cells(AUTOSCALERS, thing, "/apis/autoscaling/v2/horizontalpodautoscalers")

    def test_autoscaler_shows_where_it_stands_and_what_it_aims_at(self):
        cpu = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}
        memory = {"type": "ContainerResource", "containerResource": {"name": "memory", "target": {"averageValue": "100Mi"}}}
        pods = {"type": "Pods", "pods": {"target": {"averageValue": "5"}}}
        queue = {"type": "External", "external": {"target": {"averageValue": "7"}}}
        requests = {"type": "Object", "object": {"target": {"value": "8"}}}
        now = {"type": "Resource", "resource": {"current": {"averageUtilization": 40, "averageValue": "1"}}}
        self.assertEqual(self.autoscaler([cpu], [now], minReplicas=2), {"Name": "h", "Reference": "Deployment/web",
            "Targets": "cpu: 40%/80%", "MinPods": "2", "MaxPods": 9, "Replicas": 3, "Age": AGE})
        without = self.autoscaler([])
        self.assertEqual((without["Targets"], without["MinPods"]), ("<none>", "<unset>"))
        for metrics, targets in (([memory, pods], "memory: <unknown>/100Mi, <unknown>/5"),
                ([queue, requests], "<unknown>/7 (avg), <unknown>/8"),
                ([cpu, queue, pods, requests], "cpu: <unknown>/80%, <unknown>/7 (avg) + 2 more...")):
            self.assertEqual(self.autoscaler(metrics)["Targets"], targets)

    def test_columns_are_described_as_the_server_does(self):
        texts = {c["name"]: c["description"] for c in self.table(PODS, [], "/api/v1/pods")["columnDefinitions"]}
        self.assertRegex(texts["Name"], r"^Name must be unique within a namespace\. .*/names#names$")
        self.assertEqual(texts["Status"], "The aggregate status of the containers in this pod.")
        self.assertRegex(texts["Node"], "^NodeName indicates in which node this pod is scheduled")
        texts = {c["name"]: c["description"] for c in self.table(ROLES, [],
            "/apis/rbac.authorization.k8s.io/v1/roles")["columnDefinitions"]}
        self.assertRegex(texts["Created At"], "^CreationTimestamp is a timestamp representing the server time")

    def test_quota_address_and_claim_have_their_columns(self):
        quota = obj(QUOTAS, "q", 5, status={"hard": {"pods": "10", "limits.cpu": "2", "cpu": "1"}, "used": {"cpu": "500m"}})
        self.assertEqual(self.cells(QUOTAS, quota, "/api/v1/resourcequotas"),
            {"Name": "q", "Request": "cpu: 500m/1, pods: 0/10", "Limit": "limits.cpu: 0/2", "Age": AGE})
        address = obj(ADDRESSES, "10.0.0.1", 5, spec={"parentRef": {"resource": "services", "namespace": "a", "name": "s"}})
        table = self.table(ADDRESSES, [address], "/apis/networking.k8s.io/v1/ipaddresses")
        self.assertEqual([c["name"] for c in table["columnDefinitions"]], ["Name", "ParentRef"])
        self.assertEqual(table["rows"][0]["cells"], ["10.0.0.1", "services/a/s", AGE])  # the server says no name for it either
        claim = obj(CLAIMS, "c", 5, status={"allocation": {}, "reservedFor": [{}]})
        self.assertEqual(self.cells(CLAIMS, claim, "/apis/resource.k8s.io/v1/resourceclaims")["State"], "allocated,reserved")

    def test_admission_policies_tell_their_parameters(self):
        path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
        for ref, text in ((None, "<unset>"), ({"name": "p", "namespace": "n"}, "n/p"), ({"name": "p"}, "*/p"),
                ({"selector": {"matchLabels": {"b": "2", "a": "1"}, "matchExpressions": [
                    {"key": "k", "operator": "In", "values": ["x", "y"]}]}},
                "&LabelSelector{MatchLabels:map[string]string{a: 1,b: 2,},MatchExpressions:[]LabelSelectorRequirement{"
                "LabelSelectorRequirement{Key:k,Operator:In,Values:[x y],},},}")):
            spec = {"policyName": "v", **({"paramRef": ref} if ref else {})}
            self.assertEqual(self.cells(BINDINGS, obj(BINDINGS, "b", 5, spec=spec), path)["ParamRef"], text)

    def test_flow_schemas_are_sorted_by_precedence(self):
        schemas = [obj(SCHEMAS, name, 5, spec={"matchingPrecedence": n}) for name, n in (("a", 100), ("b", 9), ("c", 100))]
        path = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"
        self.assertEqual([row["cells"][0] for row in self.table(SCHEMAS, schemas, path)["rows"]], ["b", "a", "c"])

    def test_other_kinds_have_name_and_creation(self):
        cells = self.cells(ROLES, obj(ROLES, "r", 5), "/apis/rbac.authorization.k8s.io/v1/roles")
        self.assertEqual(cells, {"Name": "r", "Created At": "2027-01-15T07:00:00Z"})

    def test_without_rows_kinds_with_columns_of_their_own_have_an_empty_list_and_others_null(self):
        path = "/apis/rbac.authorization.k8s.io/v1/roles"
        self.assertEqual([len(self.table(ROLES, [obj(ROLES, "r", 5)], path)["rows"]), self.table(ROLES, [], path)["rows"],
            self.table(PODS, [], "/api/v1/pods")["rows"], self.table(WIDGETS, [], "/apis/example.com/v1/widgets")["rows"]], [1, None, [], []])

    def test_custom_resource_has_the_columns_of_its_definition(self):
        crd = obj(CRDS, "widgets.example.com", 3, spec={"versions": [{"name": "v0"}, {"name": "v1", "additionalPrinterColumns": [
            {"name": "Ready", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status'},
            {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "priority": 1, "description": "how big"},
            {"name": "Note", "type": "string", "jsonPath": ".metadata.annotations['a.b/c']"},
            {"name": "Since", "type": "date", "jsonPath": ".metadata.creationTimestamp"}]}]})
        widget = obj(WIDGETS, "w", 5, spec={"size": 4}, status={"conditions": [{"type": "X", "status": "1"},
            {"type": "Ready", "status": "True"}]})
        widget["metadata"]["annotations"] = {"a.b/c": "hi"}
        table = self.table(WIDGETS, [widget, obj(WIDGETS, "x", 6)], "/apis/example.com/v1/widgets", more=[(CRDS, [crd])])
        self.assertEqual([c["name"] for c in table["columnDefinitions"]], ["Name", "Ready", "Size", "Note", "Since"])
        self.assertEqual(table["columnDefinitions"][2]["priority"], 1)
        self.assertEqual(table["columnDefinitions"][2]["description"], "how big")
        self.assertEqual([r["cells"] for r in table["rows"]], [["w", "True", 4, "hi", AGE], ["x", None, None, None, AGE]])

    def test_custom_resource_without_definition_has_name_and_age(self):
        self.assertEqual(self.cells(WIDGETS, obj(WIDGETS, "w", 5), "/apis/example.com/v1/widgets"), {"Name": "w", "Age": AGE})

    def test_what_a_program_writes_is_as_young_as_it_is_by_the_wall_clock(self):
        server = self.replay("tests/tapes/rolling-update.tape", "--wait-watchers", "0", "--write", "overlay")
        server.request("POST", "/api/v1/namespaces", {"Content-Type": "application/json"},
            b'{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"young"}}')
        ages = {row["cells"][0]: row["cells"][2] for row in server.get("/api/v1/namespaces", accept=TABLE)[1]["rows"]}
        self.assertRegex(ages["young"], r"^\d+s$")
        self.assertNotIn("<invalid>", ages.values())


if __name__ == "__main__":
    unittest.main()
