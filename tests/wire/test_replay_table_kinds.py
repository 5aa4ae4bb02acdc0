"""The cells that kubectl prints of kinds with columns of their own, one object of each."""

import unittest

from replays import TABLE, Case, Tape, obj


def kind(name, resource, group=None, version="v1", namespaced=True):
    return {**({"group": group} if group else {}), "version": version, "resource": resource, "kind": name,
        "namespaced": namespaced}


ADMISSION, DISCOVERY, NETWORK = "admissionregistration.k8s.io", "discovery.k8s.io", "networking.k8s.io"
RIGHTS, DEVICES, STORAGE = "rbac.authorization.k8s.io", "resource.k8s.io", "storage.k8s.io"
FLOW, CERTIFICATES, REGISTRATION = "flowcontrol.apiserver.k8s.io", "certificates.k8s.io", "apiregistration.k8s.io"

TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}}
SELECTOR = {"matchLabels": {"app": "web"}}
OF_TEMPLATE = {"Containers": "c", "Images": "i:1"}
HALF_PAST = "2027-01-15T07:30:00Z"  # half an hour before it is asked for
OWNED = [{"apiVersion": "v1", "kind": "Node", "name": "n"},
    {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "controller": True}]


class Kinds(Case):
    def assert_cells(self, stream, *cases):
        """Each case: members of an object (those of metadata under `meta`), and cells of its row."""
        things = []
        for number, (members, _) in enumerate(cases):
            thing = obj(stream, f"o{number}", 5 + number, **{k: v for k, v in members.items() if k != "meta"})
            thing["metadata"].update(members.get("meta", {}))
            things.append(thing)
        root = f"/apis/{stream['group']}" if "group" in stream else "/api"
        table = self.replay(Tape().listed(stream, 90, things)).get(f"{root}/{stream['version']}/{stream['resource']}",
            accept=TABLE)[1]
        names = [c["name"] for c in table["columnDefinitions"]]
        rows = {row["cells"][names.index("Name")]: dict(zip(names, row["cells"])) for row in table["rows"]}
        for number, (_, cells) in enumerate(cases):
            got = rows[f"o{number}"]
            self.assertEqual({name: got.get(name) for name in cells}, cells)

    def test_workloads_count_their_pods(self):
        three = {"replicas": 3, "template": TEMPLATE, "selector": SELECTOR}
        self.assert_cells(kind("ReplicaSet", "replicasets", "apps"),
            ({"spec": three, "status": {"replicas": 2, "readyReplicas": 1}},
                {"Desired": 3, "Current": 2, "Ready": 1, "Selector": "app=web", **OF_TEMPLATE}))
        self.assert_cells(kind("ReplicationController", "replicationcontrollers"),
            ({"spec": {**three, "selector": {"b": "2", "a": "1"}}, "status": {"replicas": 2}},
                {"Desired": 3, "Current": 2, "Ready": 0, "Selector": "a=1,b=2"}))
        self.assert_cells(kind("StatefulSet", "statefulsets", "apps"),
            ({"spec": three, "status": {"readyReplicas": 2}}, {"Ready": "2/3", **OF_TEMPLATE}))
        status = {"desiredNumberScheduled": 5, "currentNumberScheduled": 4, "numberReady": 3,
            "updatedNumberScheduled": 2, "numberAvailable": 1}
        on_linux = {"spec": {**TEMPLATE["spec"], "nodeSelector": {"os": "linux"}}}
        self.assert_cells(kind("DaemonSet", "daemonsets", "apps"),
            ({"spec": {"template": on_linux, "selector": SELECTOR}, "status": status},
                {"Desired": 5, "Current": 4, "Ready": 3, "Up-to-date": 2, "Available": 1, "Node Selector": "os=linux",
                    **OF_TEMPLATE}),
            ({"spec": {"template": TEMPLATE, "selector": SELECTOR}}, {"Desired": 0, "Node Selector": "<none>"}))

    def test_selectors_are_written_as_kubectl_takes_them(self):
        expressions = [{"key": "a", "operator": "NotIn", "values": ["x", "y"]}, {"key": "b", "operator": "Exists"}]
        self.assert_cells(kind("NetworkPolicy", "networkpolicies", NETWORK),
            ({"spec": {"podSelector": {}}}, {"Pod-Selector": "<none>"}),
            ({"spec": {"podSelector": {"matchExpressions": expressions}}}, {"Pod-Selector": "a notin (x,y),b"}))

    def test_a_job_tells_how_far_it_is(self):
        def condition(word):
            return {"conditions": [{"type": word, "status": "True"}]}
        times = {"startTime": "2027-01-15T07:00:00Z", "completionTime": "2027-01-15T07:01:30Z"}
        self.assert_cells(kind("Job", "jobs", "batch"),
            ({"spec": {"completions": 2}, "status": {**condition("Complete"), "succeeded": 2, **times}},
                {"Status": "Complete", "Completions": "2/2", "Duration": "90s"}),
            ({"spec": {"parallelism": 3}, "status": condition("Failed")},
                {"Status": "Failed", "Completions": "0/1 of 3", "Duration": ""}),
            ({"spec": {"parallelism": 1}, "status": condition("Suspended")},
                {"Status": "Suspended", "Completions": "0/1"}),
            ({"meta": {"deletionTimestamp": HALF_PAST}, "status": condition("Suspended")}, {"Status": "Terminating"}),
            ({"status": condition("FailureTarget")}, {"Status": "FailureTarget"}),
            ({"status": {"conditions": [{"type": "Complete", "status": "False"}]}}, {"Status": "Running"}))
        template = {"spec": {"template": TEMPLATE, "selector": SELECTOR}}
        self.assert_cells(kind("CronJob", "cronjobs", "batch"),
            ({"spec": {"schedule": "* * * * *", "suspend": True, "timeZone": "Etc/UTC", "jobTemplate": template},
                "status": {"active": [{}, {}], "lastScheduleTime": HALF_PAST}},
                {"Schedule": "* * * * *", "Timezone": "Etc/UTC", "Suspend": "True", "Active": 2, "Last Schedule": "30m",
                    "Selector": "app=web", **OF_TEMPLATE}),
            ({"spec": {"suspend": False}},
                {"Timezone": "<none>", "Suspend": "False", "Active": 0, "Last Schedule": "<none>",
                    "Selector": "<none>"}))

    def test_services_and_what_is_behind_them(self):
        self.assert_cells(kind("Service", "services"),
            ({"spec": {"type": "ExternalName", "externalName": "example.com"}},
                {"Cluster-IP": "<none>", "External-IP": "example.com", "Port(s)": "<none>"}),
            ({"spec": {"type": "LoadBalancer", "ports": [{"port": 1, "protocol": "TCP"}]}},
                {"External-IP": "<pending>", "Port(s)": "1/TCP"}),
            ({"spec": {"type": "ClusterIP", "selector": {"app": "web"}}},
                {"External-IP": "<none>", "Selector": "app=web"}), ({}, {"External-IP": "<unknown>"}))
        four = [{"ip": f"10.0.0.{n}"} for n in range(4)]
        self.assert_cells(kind("Endpoints", "endpoints"), ({}, {"Endpoints": "<none>"}),
            ({"subsets": [{"addresses": four[:1]}]}, {"Endpoints": "10.0.0.0"}),
            ({"subsets": [{"addresses": four, "ports": [{"port": 80}]}]},
                {"Endpoints": "10.0.0.0:80,10.0.0.1:80,10.0.0.2:80 + 1 more..."}),
            ({"subsets": [{"addresses": [{"ip": "fd00::1"}], "ports": [{"port": 80}]}]}, {"Endpoints": "[fd00::1]:80"}))
        self.assert_cells(kind("EndpointSlice", "endpointslices", DISCOVERY),
            ({"addressType": "IPv4", "ports": [{"port": 80}, {"name": "any"}],
                "endpoints": [{"addresses": ["10.0.0.1", "10.0.0.2"]}]},
                {"AddressType": "IPv4", "Ports": "80,any", "Endpoints": "10.0.0.1,10.0.0.2"}),
            ({}, {"Ports": "<unset>", "Endpoints": "<unset>"}))

    def test_ingresses_and_their_classes(self):
        balancer = {"ingress": [{"ip": "2.2.2.2"}, {"ip": "1.1.1.1"}, {"ip": "2.2.2.2"}]}
        hosts = [{"host": name} for name in ("a.io", "b.io", "c.io", "d.io", "e.io")]
        self.assert_cells(kind("Ingress", "ingresses", NETWORK),
            ({}, {"Class": "<none>", "Hosts": "*", "Address": "", "Ports": "80"}),
            ({"spec": {"ingressClassName": "nginx", "rules": hosts, "tls": [{}]},
                "status": {"loadBalancer": balancer}},
                {"Class": "nginx", "Hosts": "a.io,b.io,c.io + 2 more...", "Address": "1.1.1.1,2.2.2.2",
                    "Ports": "80, 443"}))
        self.assert_cells(kind("IngressClass", "ingressclasses", NETWORK, namespaced=False),
            ({"spec": {"controller": "k"}}, {"Controller": "k", "Parameters": "<none>"}),
            ({"spec": {"parameters": {"apiGroup": "x.io", "kind": "P", "name": "p"}}}, {"Parameters": "P.x.io/p"}),
            ({"spec": {"parameters": {"kind": "P", "name": "p"}}}, {"Parameters": "P/p"}))
        self.assert_cells(kind("ServiceCIDR", "servicecidrs", NETWORK, namespaced=False),
            ({"spec": {"cidrs": ["10.0.0.0/24", "fd00::/64"]}}, {"CIDRs": "10.0.0.0/24,fd00::/64"}))

    def test_nodes_and_the_leases_that_they_hold(self):
        ready = {"conditions": [{"type": "Ready", "status": "True"}],
            "addresses": [{"type": "InternalIP", "address": "10.1.1.1"}],
            "nodeInfo": {"osImage": "Debian", "containerRuntimeVersion": "containerd://2"}}
        self.assert_cells(kind("Node", "nodes", namespaced=False),
            ({"meta": {"labels": {"kubernetes.io/role": "edge"}}, "status": ready},
                {"Status": "Ready", "Roles": "edge", "Internal-IP": "10.1.1.1", "External-IP": "<none>",
                    "OS-Image": "Debian", "Kernel-Version": "<unknown>", "Container-Runtime": "containerd://2"}),
            ({}, {"Status": "Unknown", "Roles": "<none>", "OS-Image": "<unknown>"}))
        self.assert_cells(kind("Lease", "leases", "coordination.k8s.io"),
            ({"spec": {"holderIdentity": "n"}}, {"Holder": "n"}))
        self.assert_cells(kind("RuntimeClass", "runtimeclasses", "node.k8s.io", namespaced=False),
            ({"handler": "runsc"}, {"Handler": "runsc"}))

    def test_events_in_their_newer_form(self):
        self.assert_cells(kind("Event", "events", "events.k8s.io"),
            ({"regarding": {"kind": "Pod", "name": "p", "fieldPath": "spec.containers{c}"}, "note": "hello",
                "eventTime": "2027-01-15T07:00:00.000000Z", "reportingController": "kubelet", "reportingInstance": "n",
                "series": {"count": 7, "lastObservedTime": "2027-01-15T07:30:00.000000Z"}},
                {"Last Seen": "30m", "First Seen": "60m", "Object": "pod/p", "Subobject": "spec.containers{c}",
                    "Source": "kubelet, n", "Message": "hello", "Count": 7}),
            ({"deprecatedCount": 3, "deprecatedFirstTimestamp": "2027-01-15T07:00:00Z",
                "deprecatedLastTimestamp": HALF_PAST},
                {"Last Seen": "30m", "First Seen": "60m", "Count": 3}))

    def test_namespaces_templates_and_revisions(self):
        self.assert_cells(kind("Namespace", "namespaces", namespaced=False),
            ({"status": {"phase": "Active"}}, {"Status": "Active"}))
        self.assert_cells(kind("PodTemplate", "podtemplates"),
            ({"template": TEMPLATE}, {"Pod Labels": "app=web", **OF_TEMPLATE}))
        self.assert_cells(kind("ControllerRevision", "controllerrevisions", "apps"),
            ({"revision": 4, "meta": {"ownerReferences": OWNED}}, {"Controller": "statefulset.apps/db", "Revision": 4}),
            ({"meta": {"ownerReferences": OWNED[:1]}}, {"Controller": "<none>", "Revision": 0}))

    def test_volumes_claims_and_their_classes(self):
        self.assert_cells(kind("PersistentVolume", "persistentvolumes", namespaced=False),
            ({"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOncePod", "ReadOnlyMany"],
                "persistentVolumeReclaimPolicy": "Retain", "storageClassName": "fast", "volumeMode": "Block",
                "claimRef": {"namespace": "shop", "name": "data"}}, "status": {"phase": "Bound"}},
                {"Capacity": "1Gi", "Access Modes": "ROX,RWOP", "Reclaim Policy": "Retain", "Status": "Bound",
                    "Claim": "shop/data", "StorageClass": "fast", "VolumeAttributesClass": "<unset>",
                    "VolumeMode": "Block"}),
            ({"meta": {"deletionTimestamp": HALF_PAST}, "status": {"phase": "Bound", "reason": "Gone"}},
                {"Status": "Terminating", "Claim": "", "Reason": "Gone"}))
        self.assert_cells(kind("PersistentVolumeClaim", "persistentvolumeclaims"),
            ({"spec": {"volumeName": "pv", "volumeAttributesClassName": "gold"},
                "status": {"phase": "Bound", "capacity": {"storage": "2Gi"}, "accessModes": ["ReadWriteMany"]}},
                {"Status": "Bound", "Volume": "pv", "Capacity": "2Gi", "Access Modes": "RWX",
                    "VolumeAttributesClass": "gold"}))
        self.assert_cells(kind("VolumeAttachment", "volumeattachments", STORAGE, namespaced=False),
            ({"spec": {"attacher": "d", "nodeName": "n", "source": {"persistentVolumeName": "pv"}},
                "status": {"attached": True}},
                {"Attacher": "d", "PV": "pv", "Node": "n", "Attached": True}))
        self.assert_cells(kind("CSIDriver", "csidrivers", STORAGE, namespaced=False),
            ({"spec": {"attachRequired": False, "tokenRequests": [{"audience": "a"}, {"audience": "b"}],
                "volumeLifecycleModes": ["Persistent", "Ephemeral"]}},
                {"AttachRequired": False, "PodInfoOnMount": False, "TokenRequests": "a,b",
                    "Modes": "Persistent,Ephemeral"}),
            ({}, {"AttachRequired": True, "TokenRequests": "<unset>", "Modes": "<none>"}))
        self.assert_cells(kind("CSINode", "csinodes", STORAGE, namespaced=False),
            ({"spec": {"drivers": [{}, {}]}}, {"Drivers": 2}))

    def test_the_default_storage_class_says_so(self):
        stream = kind("StorageClass", "storageclasses", STORAGE, namespaced=False)
        default = obj(stream, "fast", 5, provisioner="p", allowVolumeExpansion=True)
        default["metadata"]["annotations"] = {"storageclass.kubernetes.io/is-default-class": "true"}
        table = self.replay(Tape().listed(stream, 90, [default])).get(f"/apis/{STORAGE}/v1/storageclasses",
            accept=TABLE)[1]
        self.assertEqual(table["rows"][0]["cells"][:5], ["fast (default)", "p", "Delete", "Immediate", True])

    def test_bindings_name_whom_they_bind(self):
        subjects = [{"kind": "User", "name": "u"}, {"kind": "Group", "name": "g"},
            {"kind": "ServiceAccount", "namespace": "shop", "name": "s"},
            {"kind": "User", "name": "v"}]
        for name, resource, namespaced in (("RoleBinding", "rolebindings", True),
            ("ClusterRoleBinding", "clusterrolebindings", False)):
            self.assert_cells(kind(name, resource, RIGHTS, namespaced=namespaced),
                ({"roleRef": {"kind": "ClusterRole", "name": "view"}, "subjects": subjects},
                    {"Role": "ClusterRole/view", "Users": "u, v", "Groups": "g", "ServiceAccounts": "shop/s"}))

    def test_a_signing_request_tells_what_became_of_it(self):
        def decided(*words, **more):
            return {"conditions": [{"type": word, "status": "True"} for word in words], **more}
        self.assert_cells(kind("CertificateSigningRequest", "certificatesigningrequests", CERTIFICATES,
            namespaced=False),
            ({"spec": {"signerName": "k8s.io/x", "username": "u", "expirationSeconds": 3600}},
                {"SignerName": "k8s.io/x", "Requestor": "u", "RequestedDuration": "60m", "Condition": "Pending"}),
            ({"status": decided("Approved", certificate="LS0t")},
                {"SignerName": "<none>", "RequestedDuration": "<none>", "Condition": "Approved,Issued"}),
            ({"status": decided("Approved", "Failed")}, {"Condition": "Approved,Failed"}),
            ({"status": decided("Approved", "Denied")}, {"Condition": "Denied"}))
        self.assert_cells(kind("ClusterTrustBundle", "clustertrustbundles", CERTIFICATES, "v1beta1", namespaced=False),
            ({}, {"SignerName": "<none>"}))

    def test_admission_policies_and_webhooks_are_counted(self):
        self.assert_cells(kind("ValidatingWebhookConfiguration", "validatingwebhookconfigurations", ADMISSION,
            namespaced=False),
            ({"webhooks": [{}, {}]}, {"Webhooks": 2}))
        self.assert_cells(kind("ValidatingAdmissionPolicy", "validatingadmissionpolicies", ADMISSION, namespaced=False),
            ({"spec": {"validations": [{}], "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}},
                {"Validations": 1, "ParamKind": "v1/ConfigMap"}))
        self.assert_cells(kind("MutatingAdmissionPolicy", "mutatingadmissionpolicies", ADMISSION, namespaced=False),
            ({"spec": {"mutations": [{}, {}]}}, {"Mutations": 2, "ParamKind": "<unset>"}))

    def test_priorities_and_budgets(self):
        queuing = {"nominalConcurrencyShares": 0,
            "limitResponse": {"queuing": {"queues": 64, "handSize": 6, "queueLengthLimit": 50}}}
        self.assert_cells(kind("PriorityLevelConfiguration", "prioritylevelconfigurations", FLOW, namespaced=False),
            ({"spec": {"type": "Limited", "limited": queuing}},
                {"NominalConcurrencyShares": 0, "Queues": 64, "HandSize": 6, "QueueLengthLimit": 50}),
            ({"spec": {"type": "Exempt"}}, {"NominalConcurrencyShares": "<none>", "Queues": "<none>"}))
        self.assert_cells(kind("FlowSchema", "flowschemas", FLOW, namespaced=False),
            ({"spec": {"distinguisherMethod": {"type": "ByUser"}},
                "status": {"conditions": [{"type": "Dangling", "status": "False"}]}},
                {"DistinguisherMethod": "ByUser", "MissingPL": "False"}),
                    ({}, {"DistinguisherMethod": "<none>", "MissingPL": "?"}))
        self.assert_cells(kind("PriorityClass", "priorityclasses", "scheduling.k8s.io", namespaced=False),
            ({"value": -5, "globalDefault": True, "preemptionPolicy": "Never"},
                {"Value": -5, "Global-Default": True, "PreemptionPolicy": "Never"}))
        self.assert_cells(kind("PodDisruptionBudget", "poddisruptionbudgets", "policy"),
            ({"spec": {"minAvailable": 2}, "status": {"disruptionsAllowed": 1}},
                {"Min Available": "2", "Max Unavailable": "N/A", "Allowed Disruptions": 1}),
            ({"spec": {"maxUnavailable": "25%"}}, {"Min Available": "N/A", "Max Unavailable": "25%"}))

    def test_an_api_service_tells_whether_it_is_available(self):
        def available(status, **more):
            return {"conditions": [{"type": "Available", "status": status, **more}]}
        self.assert_cells(kind("APIService", "apiservices", REGISTRATION, namespaced=False),
            ({"status": available("True", reason="Local")}, {"Service": "Local", "Available": "True"}),
            ({"spec": {"service": {"namespace": "kube-system", "name": "metrics"}},
                "status": available("False", reason="MissingEndpoints")},
                {"Service": "kube-system/metrics", "Available": "False (MissingEndpoints)"}),
                    ({}, {"Available": "Unknown"}))
        self.assert_cells(kind("ComponentStatus", "componentstatuses", namespaced=False),
            ({"conditions": [{"type": "Healthy", "status": "True", "message": "ok"}]},
                {"Status": "Healthy", "Message": "ok", "Error": ""}),
            ({"conditions": [{"type": "Healthy", "status": "False", "error": "refused"}]},
                {"Status": "Unhealthy", "Error": "refused"}), ({}, {"Status": "Unknown"}))

    def test_devices_and_who_may_lead(self):
        self.assert_cells(kind("ResourceClaim", "resourceclaims", DEVICES), ({}, {"State": "pending"}),
            ({"status": {"allocation": {}}}, {"State": "allocated"}),
            ({"meta": {"deletionTimestamp": HALF_PAST}}, {"State": "deleted"}),
            ({"meta": {"deletionTimestamp": HALF_PAST}, "status": {"allocation": {}, "reservedFor": [{}]}},
                {"State": "deleted,allocated,reserved"}))
        self.assert_cells(kind("ResourceSlice", "resourceslices", DEVICES, namespaced=False),
            ({"spec": {"nodeName": "n", "driver": "d", "pool": {"name": "p"}}},
                {"Node": "n", "Driver": "d", "Pool": "p"}))
        self.assert_cells(kind("DeviceTaintRule", "devicetaintrules", DEVICES, "v1alpha3", namespaced=False),
            ({"spec": {"taint": {"key": "k", "value": "v", "effect": "NoExecute", "timeAdded": HALF_PAST}}},
                {"Key": "k", "Value": "v", "Effect": "NoExecute", "TimeAdded": "30m"}),
            ({"spec": {"taint": {"key": "k"}}}, {"TimeAdded": ""}))
        self.assert_cells(kind("LeaseCandidate", "leasecandidates", "coordination.k8s.io", "v1beta1"),
            ({"spec": {"leaseName": "l", "binaryVersion": "1.36.0", "emulationVersion": "1.35.0"}},
                {"LeaseName": "l", "BinaryVersion": "1.36.0", "EmulationVersion": "1.35.0"}))


if __name__ == "__main__":
    unittest.main()
