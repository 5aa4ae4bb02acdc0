"""What programs write to a replay: every verb, every error form, and what others see of it."""

import unittest

from replays import brief
from writing import LEASES_PATH, MAPS, MERGE_PATCH, PODS_PATH, STRATEGIC_PATCH, Writes, config_map


class Creating(Writes):

    def test_a_created_object_gets_what_the_server_gives_and_is_seen_by_get_list_and_watch(self):
        server = self.start("--write", "overlay")
        with server.watch(MAPS + "?watch=true&resourceVersion=100") as watch:
            status, made = self.send("POST", MAPS, config_map("new", data={"x": "y"}))
            self.assertEqual(status, 201)
            metadata = made["metadata"]
            self.assertEqual(metadata["namespace"], "default")
            self.assertRegex(metadata["uid"], "^[0-9a-f]{8}-[0-9a-f]{4}-4")
            self.assertRegex(metadata["creationTimestamp"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
            self.assertGreater(int(metadata["resourceVersion"]), 100)
            event = watch.next()
            self.assertEqual((event["type"], event["object"]), ("ADDED", made))
        self.assertEqual(self.get(MAPS + "/new"), (200, made))
        listed = self.get(MAPS)[1]
        self.assertEqual([o["metadata"]["name"] for o in listed["items"]], ["a", "b", "new"])
        self.assertEqual(listed["metadata"]["resourceVersion"], metadata["resourceVersion"])

    def test_a_name_is_generated(self):
        self.start("--write", "overlay")
        status, made = self.send("POST", MAPS, config_map(metadata={"generateName": "web-"}))
        self.assertEqual(status, 201)
        self.assertRegex(made["metadata"]["name"], "^web-[bcdfghjklmnpqrstvwxz2456789]{5}$")

    def test_names_are_what_the_kind_allows(self):
        self.start()
        for path, kind, name, code in (
                ("/apis/networking.k8s.io/v1/ipaddresses", "networking.k8s.io/v1 IPAddress", "fe80::1", 201),
                ("/apis/certificates.k8s.io/v1/certificatesigningrequests", "certificates.k8s.io/v1 CertificateSigningRequest",
                    "system:node:n1", 201),
                ("/apis/apiregistration.k8s.io/v1/apiservices", "apiregistration.k8s.io/v1 APIService", "v1.", 201),
                ("/apis/rbac.authorization.k8s.io/v1/clusterroles", "rbac.authorization.k8s.io/v1 ClusterRole", "a:B", 201),
                ("/apis/rbac.authorization.k8s.io/v1/clusterroles", "rbac.authorization.k8s.io/v1 ClusterRole", "a/b", 422),
                ("/apis/storage.k8s.io/v1/storageclasses", "storage.k8s.io/v1 StorageClass", "a:b", 422)):
            version, kind = kind.split()
            with self.subTest(kind=kind, name=name):
                status, answer = self.send("POST", path, {"apiVersion": version, "kind": kind, "metadata": {"name": name}})
                self.assertEqual((status, answer.get("metadata", {}).get("name")), (code, name if code == 201 else None), answer)

    def create(self, version, resource, kind, spec):
        api = "/api/v1" if version == "v1" else "/apis/" + version
        status, made = self.send("POST", f"{api}/namespaces/default/{resource}", {"apiVersion": version, "kind": kind,
            "metadata": {"name": "new"}, "spec": spec})
        self.assertEqual(status, 201, made)
        return made

    def test_a_workload_has_what_controllers_do_not_ask_for(self):
        self.start("--write", "overlay")
        template = {"metadata": {}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        for resource, kind, strategy, expected in (
                ("deployments", "Deployment", {"strategy": {}}, {"maxUnavailable": "25%", "maxSurge": "25%"}),
                ("statefulsets", "StatefulSet", {"updateStrategy": {"type": "RollingUpdate"}}, {"partition": 0}),
                ("daemonsets", "DaemonSet", {"updateStrategy": None}, {"maxUnavailable": 1, "maxSurge": 0})):
            spec = self.create("apps/v1", resource, kind, {"template": template, **strategy})["spec"]
            self.assertEqual(spec[next(iter(strategy))], {"type": "RollingUpdate", "rollingUpdate": expected})
            self.assertEqual(spec.get("replicas"), None if resource == "daemonsets" else 1)
            self.assertEqual(spec["template"]["spec"]["schedulerName"], "default-scheduler")

    def test_a_replication_controller_selects_what_its_template_says(self):
        self.start("--write", "overlay")
        made = self.create("v1", "replicationcontrollers", "ReplicationController", {"template": {"metadata": {"labels": {"a": "b"}},
            "spec": {"containers": []}}})
        self.assertEqual((made["spec"]["selector"], made["metadata"]["labels"], made["spec"]["replicas"]), ({"a": "b"}, {"a": "b"}, 1))

    def test_what_a_workload_says_stays(self):
        self.start("--write", "overlay")
        given = {"replicas": 0, "strategy": {"type": "Recreate"}, "revisionHistoryLimit": 2, "progressDeadlineSeconds": 3,
            "template": {"spec": {"containers": [{"name": "c", "ports": [{"containerPort": 1, "protocol": "UDP"}], "imagePullPolicy": "Never",
                "resources": {"limits": {"cpu": "1"}}, "terminationMessagePath": "/x", "terminationMessagePolicy": "FallbackToLogsOnError"}],
                "restartPolicy": "Never",
                "terminationGracePeriodSeconds": 0, "dnsPolicy": "None", "securityContext": {"runAsUser": 1}, "schedulerName": "mine"}}}
        self.assertEqual(self.create("apps/v1", "deployments", "Deployment", given)["spec"], given)
        self.assertEqual(self.create("v1", "configmaps", "ConfigMap", {})["spec"], {})

    def test_an_update_that_leaves_out_what_a_workload_was_given_changes_nothing(self):
        self.start("--write", "overlay")
        made = self.create("apps/v1", "statefulsets", "StatefulSet", {"template": {"spec": {"containers": [{"name": "c"}]}}})
        path = "/apis/apps/v1/namespaces/default/statefulsets/new"
        bare = {**made, "spec": {"template": {"spec": {"containers": [{"name": "c"}]}}}}
        self.assertEqual(self.send("PUT", path, bare), (200, made))
        bare["spec"]["replicas"] = 3
        status, changed = self.send("PUT", path, bare)
        self.assertEqual(status, 200, changed)
        self.assertEqual(changed["spec"], {**made["spec"], "replicas": 3})
        self.assertEqual(changed["metadata"]["generation"], made["metadata"]["generation"] + 1)

    def test_a_pod_gets_its_scheduler_and_a_service_its_ports(self):
        self.start("--write", "overlay")
        pod = self.create("v1", "pods", "Pod", {"containers": [{"name": "c", "ports": [{"containerPort": 1}]}]})
        self.assertEqual((pod["spec"]["schedulerName"], pod["spec"]["restartPolicy"]), ("default-scheduler", "Always"))
        self.assertEqual(pod["spec"]["containers"], [{"name": "c", "ports": [{"containerPort": 1, "protocol": "TCP"}], "resources": {},
            "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File", "imagePullPolicy": "IfNotPresent"}])
        service = self.create("v1", "services", "Service", {"ports": [{"port": 1}, {"port": 2, "targetPort": "x", "protocol": "UDP"}, {"port": 3, "targetPort": 0, "protocol": "TCP"}]})
        self.assertEqual(service["spec"]["ports"], [{"port": 1, "protocol": "TCP", "targetPort": 1},
            {"port": 2, "targetPort": "x", "protocol": "UDP"}, {"port": 3, "targetPort": 3, "protocol": "TCP"}])
        self.assertEqual(service["spec"]["type"], "ClusterIP")

    def test_a_template_is_made_what_programs_compare_it_with(self):
        self.start("--write", "overlay")
        template = {"spec": {"serviceAccountName": "robot", "volumes": [{"name": "s", "secret": {"secretName": "s"}}, {"name": "e", "emptyDir": {}}],
            "initContainers": [{"name": "i", "image": "reg:5000/i:1"}], "containers": [{"name": "c", "image": "reg:5000/c",
                "readinessProbe": {"httpGet": {"port": 1}, "periodSeconds": 5}, "env": [{"name": "N", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]},
                {"name": "d", "image": "d@sha256:0"}, {"name": "l", "image": "l:latest"}]}}
        spec = self.create("apps/v1", "replicasets", "ReplicaSet", {"template": template})["spec"]["template"]["spec"]
        self.assertEqual(spec["serviceAccount"], "robot")
        self.assertEqual(spec["volumes"], [{"name": "s", "secret": {"secretName": "s", "defaultMode": 420}}, {"name": "e", "emptyDir": {}}])
        self.assertEqual(spec["containers"][0]["readinessProbe"], {"httpGet": {"port": 1, "path": "/", "scheme": "HTTP"}, "periodSeconds": 5,
            "timeoutSeconds": 1, "successThreshold": 1, "failureThreshold": 3})
        self.assertEqual(spec["containers"][0]["env"][0]["valueFrom"]["fieldRef"], {"fieldPath": "metadata.name", "apiVersion": "v1"})
        self.assertEqual([c["imagePullPolicy"] for c in spec["initContainers"] + spec["containers"]], ["IfNotPresent", "Always", "IfNotPresent", "Always"])
        self.assertNotIn("enableServiceLinks", spec)

    def test_a_job_selects_its_pods_by_its_uid(self):
        self.start("--write", "overlay")
        job = self.create("batch/v1", "jobs", "Job", {"template": {"spec": {"restartPolicy": "Never", "containers": []}}})
        uid, spec = job["metadata"]["uid"], job["spec"]
        self.assertEqual(spec["selector"], {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}})
        self.assertEqual(spec["template"]["metadata"]["labels"], {"batch.kubernetes.io/controller-uid": uid,
            "batch.kubernetes.io/job-name": "new", "controller-uid": uid, "job-name": "new"})
        self.assertEqual((spec["parallelism"], spec["completions"], spec["backoffLimit"]), (1, 1, 6))

    def test_what_is_there_already_is_a_conflict(self):
        self.start()
        body = self.error(self.send("POST", MAPS, config_map("a")), 409, "AlreadyExists")
        self.assertEqual(body["message"], 'configmaps "a" already exists')
        self.assertEqual(body["details"], {"name": "a", "kind": "configmaps"})

    def test_bodies_that_make_no_sense_are_refused_with_the_right_code(self):
        self.start()
        for body, code, reason in (
                (config_map(), 422, "Invalid"), (config_map("Not A Name"), 422, "Invalid"),
                (config_map("x", namespace="other"), 400, "BadRequest"), (b"{", 400, "BadRequest"), (b"[]", 400, "BadRequest"),
                (b"", 400, "BadRequest"), (b'{"a":01}', 400, "BadRequest"), (b'{"a":1}}', 400, "BadRequest"),
                ({**config_map("x"), "kind": "Secret"}, 400, "BadRequest"),
                ({**config_map("x"), "apiVersion": "apps/v1"}, 400, "BadRequest"),
                (config_map("x", metadata={"resourceVersion": "7"}), 500, "InternalError"),
                (b'{"a":' * 300 + b"1" + b"}" * 300, 413, "RequestEntityTooLarge")):
            with self.subTest(body=body):
                self.error(self.send("POST", MAPS, body), code, reason)
        self.error(self.send("POST", MAPS, b"x", "text/plain"), 415, "UnsupportedMediaType")
        self.error(self.send("POST", "/api/v1/namespaces/nowhere/configmaps", config_map("x")), 404, "NotFound")
        self.error(self.send("POST", "/api/v1/configmaps", config_map("x")), 405, "MethodNotAllowed")

    def test_what_is_done_in_a_container_says_that_this_is_a_recording(self):
        self.start()
        for what in ("exec", "attach", "portforward", "proxy"):
            for method in ("GET", "POST"):
                with self.subTest(what, method=method):
                    body = self.error(self.send(method, f"/api/v1/namespaces/default/pods/p/{what}"), 403, "Forbidden")
                    self.assertEqual(body["message"], f"{what} is not possible in a recording")

    def test_a_dry_run_changes_nothing(self):
        self.start("--write", "overlay")
        status, made = self.send("POST", MAPS + "?dryRun=All", config_map("new"))
        self.assertEqual(status, 201)
        self.assertIn("uid", made["metadata"])
        self.assertNotIn("resourceVersion", made["metadata"])
        self.error(self.get(MAPS + "/new"), 404, "NotFound")
        self.error(self.send("POST", MAPS + "?dryRun=Some", config_map("new")), 422, "Invalid")

    def test_yaml_is_read_and_aliases_are_not(self):
        self.start("--write", "overlay")
        text = b"kind: ConfigMap\napiVersion: v1\nmetadata: {name: new}\ndata:\n  on: 'yes'\n  n: \"1\"\n"
        status, made = self.send("POST", MAPS, text, "application/yaml")
        self.assertEqual((status, made.get("data")), (201, {"on": "yes", "n": "1"}))
        bomb = b"kind: ConfigMap\nmetadata: {name: x}\ndata: &a {k: v}\nmore: *a\n"
        self.error(self.send("POST", MAPS, bomb, "application/yaml"), 400, "BadRequest")
        self.error(self.send("POST", MAPS, b'{"a": "b"x}', "application/yaml"), 400, "BadRequest")
        self.assertNotIn("flow mapping", self.server.stderr())


def field(number, value):
    """A field of a protobuf message: bytes, a text, or a small number."""
    if isinstance(value, int):
        return bytes([number << 3, value])
    value = value.encode() if isinstance(value, str) else value
    assert len(value) < 128
    return bytes([number << 3 | 2, len(value)]) + value


def protobuf(version, kind, raw):
    return b"k8s\0" + field(1, field(1, version) + field(2, kind)) + field(2, raw)


class Encoding(Writes):
    TYPE = "application/vnd.kubernetes.protobuf"

    def lease(self, holder, metadata=b""):
        return protobuf("coordination.k8s.io/v1", "Lease", field(1, field(1, "lock") + metadata) +
            field(2, field(1, holder) + field(2, 15)))

    def test_protobuf_bodies_are_taken_for_every_policy_and_answered_as_json(self):
        for policy in ("overlay", "absorb"):
            with self.subTest(policy=policy):
                self.start("--write", policy)
                entry = field(1, "k") + field(2, "v")
                status, made = self.send("POST", MAPS, protobuf("v1", "ConfigMap", field(1, field(1, "new")) + field(2, entry)), self.TYPE)
                self.assertEqual((status, made["kind"], made["data"]), (201, "ConfigMap", {"k": "v"}))
                self.assertEqual(self.server.request("GET", MAPS + "/new")[0], 200 if policy == "overlay" else 404)
                options = field(2, field(1, "uid-other"))
                self.error(self.send("DELETE", MAPS + "/a", protobuf("v1", "DeleteOptions", options), self.TYPE), 409, "Conflict")

    def test_a_leader_is_elected_with_protobuf(self):
        self.start()
        status, made = self.send("POST", LEASES_PATH, self.lease("me"), self.TYPE)
        self.assertEqual((status, made["spec"]), (201, {"holderIdentity": "me", "leaseDurationSeconds": 15}))
        first = made["metadata"]["resourceVersion"]
        status, made = self.send("PUT", LEASES_PATH + "/lock", self.lease("me2", field(6, first)), self.TYPE)
        self.assertEqual((status, made["spec"]["holderIdentity"]), (200, "me2"))
        self.error(self.send("PUT", LEASES_PATH + "/lock", self.lease("me3", field(6, first)), self.TYPE), 409, "Conflict")

    def test_what_protobuf_does_not_know_is_a_clear_400(self):
        self.start()
        for body, words in ((protobuf("v1", "Gizmo", b""), "Gizmo"), (b"k8s\0\xff", "protobuf"), (b"nonsense", "protobuf")):
            with self.subTest(body=body):
                self.assertIn(words, self.error(self.send("POST", MAPS, body, self.TYPE), 400, "BadRequest")["message"])

    def test_fields_that_types_no_longer_have_are_skipped_in_protobuf(self):
        def field(number, data):
            return bytes([number << 3 | 2, len(data)]) + data

        self.start()
        meta = field(1, b"older") + field(15, b"the clusterName of clients before 1.24") + field(11, field(1, b"k") + field(2, b"v"))
        body = b"k8s\0" + field(1, field(1, b"v1") + field(2, b"ConfigMap")) + field(2, field(1, meta) + field(9, b"?"))
        status, made = self.send("POST", MAPS, body, "application/vnd.kubernetes.protobuf")
        self.assertEqual((status, made["metadata"]["labels"]), (201, {"k": "v"}))
        self.assertNotIn("clusterName", made["metadata"])


class Updating(Writes):

    def test_a_put_at_the_current_version_replaces_and_a_stale_one_conflicts(self):
        self.start("--write", "overlay")
        thing = self.get(MAPS + "/a")[1]
        thing["data"] = {"k": "2"}
        status, put = self.send("PUT", MAPS + "/a", thing)
        self.assertEqual((status, put["data"], put["metadata"]["uid"]), (200, {"k": "2"}, "uid-a"))
        thing["data"] = {"k": "3"}
        body = self.error(self.send("PUT", MAPS + "/a", thing), 409, "Conflict")
        self.assertEqual(body["message"], 'Operation cannot be fulfilled on configmaps "a": the object has been '
            "modified; please apply your changes to the latest version and try again")
        self.assertEqual(body["details"], {"name": "a", "kind": "configmaps"})

    def test_without_a_version_most_kinds_are_replaced_and_leases_are_not(self):
        self.start("--write", "overlay")
        self.assertEqual(self.send("PUT", MAPS + "/a", config_map("a"))[0], 200)
        lease = {"kind": "Lease", "apiVersion": "coordination.k8s.io/v1", "metadata": {"name": "l"}, "spec": {}}
        gone = {**lease, "metadata": {"name": "l", "uid": "of-one-that-is-gone"}}
        body = self.error(self.send("PUT", LEASES_PATH + "/l", gone), 409, "Conflict")
        self.assertTrue(body["message"].endswith("StorageError: invalid object, Code: 4, Key: /registry/leases/default/l, ResourceVersion: 0, "
            "AdditionalErrorMsg: Precondition failed: UID in precondition: of-one-that-is-gone, UID in object meta: "), body["message"])
        self.assertEqual(self.send("PUT", LEASES_PATH + "/l", lease)[0], 201)
        body = self.error(self.send("PUT", LEASES_PATH + "/l", lease), 422, "Invalid")
        self.assertIn("metadata.resourceVersion: Invalid value: 0x0: must be specified for an update", body["message"])

    def test_a_put_elsewhere_or_of_something_else_is_refused(self):
        self.start()
        self.error(self.send("PUT", MAPS + "/none", config_map("none")), 404, "NotFound")
        self.error(self.send("PUT", MAPS + "/a", config_map("b")), 400, "BadRequest")
        self.error(self.send("PUT", MAPS + "/a", config_map("a", metadata={"uid": "other"})), 409, "Conflict")

    def test_what_changes_nothing_makes_no_version(self):
        self.start("--write", "overlay")
        thing = self.get(MAPS + "/a")[1]
        self.assertEqual(self.send("PUT", MAPS + "/a", thing), (200, thing))
        self.assertEqual(self.rv(MAPS), "100")

    def test_a_status_update_changes_the_status_alone_and_an_update_all_but_the_status(self):
        self.start("--write", "overlay")
        path = "/apis/apps/v1/namespaces/default/deployments/shop"
        thing = self.get(path)[1]
        thing["spec"]["replicas"], thing["status"]["replicas"] = 9, 7
        made = self.send("PUT", path + "/status", thing)[1]
        self.assertEqual((made["spec"]["replicas"], made["status"]["replicas"]), (2, 7))
        made["spec"]["replicas"], made["status"]["replicas"] = 9, 1
        made = self.send("PUT", path, made)[1]
        self.assertEqual((made["spec"]["replicas"], made["status"]["replicas"]), (9, 7))
        self.assertEqual(made["metadata"]["generation"], 1)

    def test_both_forms_of_the_address_of_a_pod_agree(self):
        self.start("--write", "overlay")
        for status, address in (({"podIP": "10.0.0.1"}, "10.0.0.1"), ({"podIP": "10.0.0.2"}, "10.0.0.2"),
                ({"podIP": None, "podIPs": [{"ip": "10.0.0.3"}, {"ip": "fe80::1"}]}, "10.0.0.3"), ({"phase": "Running"}, "10.0.0.3")):
            made = self.send("PATCH", PODS_PATH + "/idle/status", {"status": status}, MERGE_PATCH)[1]["status"]
            self.assertEqual((made["podIP"], made["podIPs"][0]["ip"]), (address, address), status)
        self.assertEqual(len(made["podIPs"]), 2)
        self.assertNotIn("podIPs", self.send("PATCH", PODS_PATH + "/web/status", {"status": {"phase": "Failed"}}, MERGE_PATCH)[1]["status"])

    def test_annotations_may_come_with_the_status_of_a_deployment_and_labels_not(self):
        self.start("--write", "overlay")
        path = "/apis/apps/v1/namespaces/default/deployments/shop"
        thing = self.get(path)[1]
        labels = thing["metadata"].get("labels")
        thing["metadata"].update(annotations={"deployment.kubernetes.io/revision": "2"}, labels={"l": "v"})
        made = self.send("PUT", path + "/status", thing)[1]["metadata"]
        self.assertEqual((made["annotations"], made.get("labels")), (thing["metadata"]["annotations"], labels))

    def test_subresources_that_are_the_whole_object_can_be_read(self):
        self.start()
        for what in ("status", "resize", "ephemeralcontainers"):
            self.assertEqual(self.get(PODS_PATH + "/idle/" + what), self.get(PODS_PATH + "/idle"), what)
        for path in (PODS_PATH + "/idle/approval", MAPS + "/a/ephemeralcontainers", MAPS + "/a/resize"):
            self.error(self.get(path), 404, "NotFound")

    def test_a_certificate_request_is_approved(self):
        self.start()
        requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
        made = self.send("POST", requests, {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
            "metadata": {"name": "r"}, "spec": {"request": "eA==", "signerName": "example.com/s", "usages": ["client auth"]}})[1]
        self.assertEqual(self.get(requests + "/r/approval"), (200, made))
        made["status"] = {"conditions": [{"type": "Approved", "status": "True", "reason": "x"}]}
        status, approved = self.send("PUT", requests + "/r/approval", made)
        self.assertEqual((status, approved["status"]["conditions"][0]["type"]), (200, "Approved"))
        self.assertEqual(self.get(requests + "/r/approval"), (200, approved))

    def test_a_scale_is_read_and_written(self):
        self.start("--write", "overlay")
        path = "/apis/apps/v1/namespaces/default/deployments/shop/scale"
        scale = self.get(path)[1]
        self.assertEqual((scale["kind"], scale["spec"], scale["status"]), ("Scale", {"replicas": 2},
            {"replicas": 2, "selector": "app=shop"}))
        scale["spec"]["replicas"] = 5
        self.assertEqual(self.send("PUT", path, scale)[1]["spec"], {"replicas": 5})
        self.assertEqual(self.send("PATCH", path, {"spec": {"replicas": 6}}, MERGE_PATCH)[1]["spec"], {"replicas": 6})
        self.error(self.send("PUT", path, scale), 409, "Conflict")
        self.assertEqual(self.get(path)[1]["spec"], {"replicas": 6})
        self.error(self.get(MAPS + "/a/scale"), 404, "NotFound")


class Settling(Writes):
    """What the API server makes of an object as soon as it has read it."""

    def test_texts_of_a_secret_become_data(self):
        self.start("--write", "overlay")
        path = "/api/v1/namespaces/default/secrets"
        made = self.send("POST", path, {"metadata": {"name": "s"}, "data": {"a": "eA==", "k": "eA=="}, "stringData": {"a": "b", "e": ""}})[1]
        self.assertEqual((made["data"], made["type"], made.get("stringData")), ({"a": "Yg==", "e": "", "k": "eA=="}, "Opaque", None))
        self.assertIn("f:data", made["metadata"]["managedFields"][0]["fieldsV1"])
        for kind in (MERGE_PATCH, STRATEGIC_PATCH):
            self.assertEqual(self.send("PATCH", path + "/s", {"stringData": {"n": kind}}, kind)[0], 200)
        put = self.send("PUT", path + "/s", {"metadata": {"name": "s"}, "stringData": {"only": "b"}})[1]
        self.assertEqual((put["data"], put["type"]), ({"only": "Yg=="}, "Opaque"))
        self.assertEqual(self.get(path + "/s")[1]["data"], {"only": "Yg=="})
        self.error(self.send("PATCH", path + "/s", {"type": "example.com/x"}, MERGE_PATCH), 422, "Invalid")

    def test_a_namespace_is_labelled_with_its_name(self):
        self.start("--write", "overlay")
        label = {"kubernetes.io/metadata.name": "new"}
        self.assertEqual(self.send("POST", "/api/v1/namespaces", {"metadata": {"name": "new"}})[1]["metadata"]["labels"], label)
        for labels in (None, {"kubernetes.io/metadata.name": "other"}):
            patched = self.send("PATCH", "/api/v1/namespaces/new", {"metadata": {"labels": labels}}, MERGE_PATCH)[1]
            self.assertEqual(patched["metadata"]["labels"], label)


class Deleting(Writes):

    def test_a_deletion_says_what_went_and_watchers_see_its_last_state_at_a_new_version(self):
        server = self.start("--write", "overlay")
        with server.watch(MAPS + "?watch=true&resourceVersion=100") as watch:
            status, body = self.send("DELETE", MAPS + "/a")
            self.assertEqual((status, body["status"], body["details"]),
                (200, "Success", {"name": "a", "kind": "configmaps", "uid": "uid-a"}))
            self.assertEqual(brief(watch.next()), ("DELETED", "a", "101"))
        self.error(self.get(MAPS + "/a"), 404, "NotFound")
        self.error(self.send("DELETE", MAPS + "/a"), 404, "NotFound")

    def test_preconditions_are_held(self):
        self.start("--write", "overlay")
        for preconditions, told in (({"uid": "other"}, "the UID in the precondition (other) does not match the UID in record (uid-a)"),
                ({"resourceVersion": "9"}, "the ResourceVersion in the precondition (9) does not match")):
            body = self.error(self.send("DELETE", MAPS + "/a", {"preconditions": preconditions}), 409, "Conflict")
            self.assertIn(told, body["message"])
        self.assertEqual(self.send("DELETE", MAPS + "/a", {"preconditions": {"uid": "uid-a"}})[0], 200)

    def test_finalizers_hold_an_object_until_the_last_is_gone(self):
        server = self.start("--write", "overlay")
        self.send("PATCH", MAPS + "/a", {"metadata": {"finalizers": ["x/y"]}}, MERGE_PATCH)
        status, body = self.send("DELETE", MAPS + "/a")
        self.assertEqual((status, body["kind"]), (200, "ConfigMap"))
        self.assertIn("deletionTimestamp", body["metadata"])
        with server.watch(MAPS + "?watch=true&resourceVersion=" + self.rv(MAPS)) as watch:
            self.send("PATCH", MAPS + "/a", {"metadata": {"finalizers": None}}, MERGE_PATCH)
            event = watch.next()
            self.assertEqual((event["type"], event["object"]["metadata"]["finalizers"]), ("DELETED", ["x/y"]))

    def test_a_pod_on_a_node_ends_when_its_node_says_so(self):
        self.start("--write", "overlay")
        status, pod = self.send("DELETE", PODS_PATH + "/web")
        self.assertEqual((status, pod["metadata"]["deletionGracePeriodSeconds"]), (200, 30))
        for target, options in ((PODS_PATH + "/web", {"gracePeriodSeconds": 0}), (PODS_PATH + "/idle", None)):
            status, pod = self.send("DELETE", target, options)
            self.assertEqual((status, pod["kind"], pod["metadata"]["deletionGracePeriodSeconds"]), (200, "Pod", 0))
        self.assertEqual(self.get(PODS_PATH)[1]["items"], [])

    def test_a_collection_is_deleted_by_selector(self):
        self.start("--write", "overlay")
        self.send("PATCH", MAPS + "/b", {"metadata": {"labels": {"app": "x"}}}, MERGE_PATCH)
        status, body = self.send("DELETE", MAPS + "?labelSelector=app%3Dx")
        self.assertEqual((status, body["kind"], [o["metadata"]["name"] for o in body["items"]]), (200, "ConfigMapList", ["b"]))
        self.assertEqual([o["metadata"]["name"] for o in self.get(MAPS)[1]["items"]], ["a"])
        self.error(self.send("DELETE", "/api/v1/namespaces"), 405, "MethodNotAllowed")


class Subresources(Writes):

    def test_a_binding_puts_a_pod_on_a_node_once(self):
        self.start("--write", "overlay")
        binding = {"kind": "Binding", "apiVersion": "v1", "metadata": {"name": "idle"}, "target": {"kind": "Node", "name": "n1"}}
        status, body = self.send("POST", PODS_PATH + "/idle/binding", binding)
        self.assertEqual((status, body["status"]), (201, "Success"))
        pod = self.get(PODS_PATH + "/idle")[1]
        self.assertEqual((pod["spec"]["nodeName"], pod["status"]["conditions"][0]["type"]), ("n1", "PodScheduled"))
        self.error(self.send("POST", PODS_PATH + "/idle/binding", binding), 409, "Conflict")

    def test_an_eviction_deletes(self):
        self.start("--write", "overlay")
        eviction = {"kind": "Eviction", "apiVersion": "policy/v1", "metadata": {"name": "idle"}}
        self.assertEqual(self.send("POST", PODS_PATH + "/idle/eviction", eviction)[0], 201)
        self.error(self.get(PODS_PATH + "/idle"), 404, "NotFound")


if __name__ == "__main__":
    unittest.main()
