"""The pairs of releases, and how `kubetape sweep` is asked about one."""

import json
import os
import shlex
import subprocess
import sys
from typing import NamedTuple

import stories

HERE = os.path.dirname(os.path.abspath(__file__))
GOES_WRONG, IS_CLEAN = 1, 0  # exit codes of sweep


class Custom(NamedTuple):
    """The custom resources of a program."""
    module: str        # that defines them
    definitions: list  # files of it
    group: str
    version: str
    resources: list    # (plural, kind)


class Release(NamedTuple):
    name: str
    modfile: str           # in the folder of the pair
    arguments: tuple = ()  # for the program, besides those of the pair


class Pair(NamedTuple):
    """Two releases of one program. The folder has a .mod for each, and a main.go unless `package` is the program's own."""
    folder: str
    vulnerable: Release
    fixed: Release
    story: str
    custom: Custom
    options: list           # for sweep
    command: tuple = ()     # that starts the program, which comes next
    arguments: tuple = ()   # for the program
    package: str = "."
    older: tuple = ()       # (group, version) that it needs, and API servers of today do not have
    defined_by_fixed: bool = False  # whose definitions of custom resources lack nothing that the other one writes


def release(version):
    return Release(version, f"{version}.mod")


RABBITMQ = Custom("github.com/rabbitmq/cluster-operator", ["config/crd/bases/rabbitmq.com_rabbitmqclusters.yaml"],
    "rabbitmq.com", "v1beta1", [("rabbitmqclusters", "RabbitmqCluster")])
ZOOKEEPER = Custom("github.com/pravega/zookeeper-operator", ["deploy/crds/zookeeper.pravega.io_zookeeperclusters_crd.yaml"],
    "zookeeper.pravega.io", "v1beta1", [("zookeeperclusters", "ZookeeperCluster")])
RABBITMQ_2 = RABBITMQ._replace(module="github.com/rabbitmq/cluster-operator/v2")
RAY = Custom("github.com/ray-project/kuberay/ray-operator",
    [f"config/crd/bases/ray.io_{plural}.yaml" for plural in ("rayclusters", "rayjobs", "rayservices")],
    "ray.io", "v1", [("rayclusters", "RayCluster"), ("rayjobs", "RayJob"), ("rayservices", "RayService")])
METALLB = Custom("go.universe.tf/metallb",
    [f"config/crd/bases/metallb.io_{plural}.yaml" for plural in ("bfdprofiles", "bgpadvertisements", "bgppeers", "communities", "ipaddresspools",
        "l2advertisements")],
    "metallb.io", "v1beta1", [("addresspools", "AddressPool"), ("bfdprofiles", "BFDProfile"), ("bgpadvertisements", "BGPAdvertisement"),
        ("bgppeers", "BGPPeer"), ("communities", "Community"), ("ipaddresspools", "IPAddressPool"), ("l2advertisements", "L2Advertisement")])
CERTIFICATES = Custom("github.com/cert-manager/cert-manager",
    [f"deploy/crds/cert-manager.io_{plural}.yaml" for plural in ("certificaterequests", "certificates", "clusterissuers", "issuers")],
    "cert-manager.io", "v1", [("certificaterequests", "CertificateRequest"), ("certificates", "Certificate"), ("clusterissuers", "ClusterIssuer"),
        ("issuers", "Issuer")])
DASK = Custom("dask_kubernetes",
    [f"operator/deployment/helm/dask-kubernetes-operator/crds/dask{what}.yaml" for what in ("autoscaler", "cluster", "job", "workergroup")],
    "kubernetes.dask.org", "v1", [("daskautoscalers", "DaskAutoscaler"), ("daskclusters", "DaskCluster"), ("daskjobs", "DaskJob"),
        ("daskworkergroups", "DaskWorkerGroup")])
FLINK = Custom("flink-kubernetes-operator-api",
    [f"META-INF/fabric8/{plural}.flink.apache.org-v1.yml" for plural in ("flinkdeployments", "flinksessionjobs")],
    "flink.apache.org", "v1beta1", [("flinkdeployments", "FlinkDeployment"), ("flinksessionjobs", "FlinkSessionJob")])
NFD = Custom("sigs.k8s.io/node-feature-discovery", ["deployment/base/nfd-crds/nfd-api-crds.yaml"],
    "nfd.k8s-sigs.io", "v1alpha1", [("nodefeatures", "NodeFeature"), ("nodefeaturerules", "NodeFeatureRule"), ("nodefeaturegroups", "NodeFeatureGroup")])
METALLB_ALONE = ("--port=0", "--disable-cert-rotation", "--webhook-mode=disabled", "--namespace=metallb-system", "--deployment=controller",
    "--ml-secret-name=memberlist")
RAY_ALONE = ("-metrics-addr", "0", "-health-probe-bind-address", "0", "-enable-leader-election=false")
NFD_ALONE = ("-port", "0", "-config", "/nonexistent")
NONE = Custom("", [], "", "", [])

# A StatefulSet with the larger volume is made although the claim was not updated: nothing will update it any more.
LARGER_BEFORE_ITS_CLAIM = ("SELECT w.name FROM writes AS w WHERE w.resource = 'statefulsets' AND w.verb = 'create' "
    "AND w.body LIKE '%\"storage\":\"20Gi\"%' "
    "AND NOT EXISTS (SELECT 1 FROM writes AS c WHERE c.resource = 'persistentvolumeclaims' AND c.write < w.write)")

# A pod is made again and again although it is there, as its view is late.
MADE_AGAIN = "SELECT name FROM writes WHERE resource = 'pods' AND verb = 'create' AND status = 409"

# The status of a newer spec counts fewer pods than were made before a status of the spec before that.
FEWER_THAN_MADE = ("WITH status AS (SELECT write, name, jget(body, '$.status.observedGeneration') AS generation, "
    "jget(body, '$.status.replicas') AS replicas FROM writes WHERE resource = 'replicasets' AND subresource = 'status') "
    "SELECT newer.name FROM status AS newer JOIN status AS older ON older.write < newer.write AND older.generation < newer.generation "
    "WHERE newer.replicas < (SELECT count(*) FROM writes WHERE resource = 'pods' AND verb = 'create' AND write < older.write)")

# It is told by an argument, and not by the environment, where the API server is.
ASKS = ("sh", "-c", 'exec "$0" --kubeconfig "$KUBECONFIG" "$@"')

# It reads in its environment where it runs.
NFD_ASKS = ("env", "NODE_NAME=n1", "KUBERNETES_NAMESPACE=nfd", *ASKS)

# What it writes lies over the tape, and deletions are carried out as they are asked for.
OPERATOR = ["--gc", "--lockstep", "200ms", "--settle", "5s", "--write", "overlay", "--compare", "exit"]


def consistency(controller, kind, story, invariant):
    """kube-controller-manager without and with the feature gate by which it waits for its own writes."""
    gate = f"--feature-gates=StaleControllerConsistency{kind}="
    return Pair("../interop/controlplane", Release("1.36.3-off", "go.mod", (gate + "false",)),
        Release("1.36.3-on", "go.mod", (gate + "true",)), f"kubernetes/{story}", NONE,
        ["--patterns", "echo", "--speed", "1", "--settle", "1s", "--write", "overlay", "--invariant", invariant],
        ASKS, (f"--controllers={controller}-controller", "--leader-elect=false", "--secure-port=0"),
        "k8s.io/kubernetes/cmd/kube-controller-manager")


def coredns(vulnerable, fixed, story, names, patterns):
    ask = shlex.join([sys.executable, os.path.join(HERE, "coredns", "ask.py"), *names])
    return Pair("coredns", release(vulnerable), release(fixed), f"coredns/{story}", NONE,
        ["--patterns", patterns, "--settle", "1s", "--probe", ask],
        arguments=("-quiet", "-conf", os.path.join(HERE, "coredns", "Corefile")))


PAIRS = {
    "coredns-3879": coredns("1.6.9", "1.7.0", "names.jsonl", ["web.shop.svc", "db.shop.svc", "api.shop.svc", "last.shop.svc"], "unobserved"),
    "coredns-7119": coredns("1.12.0", "1.12.1", "pods.jsonl", [f"10-1-0-{n}.shop.pod" for n in (0, 1, 2)], "coalesced"),
    "kuberay-715": Pair("kuberay", release("1.2.2"), release("1.3.0"), "kuberay/cluster.jsonl", RAY,
        [*OPERATOR, "--patterns", "echo"],
        arguments=RAY_ALONE, package=RAY.module),
    "kubernetes-59848": consistency("replicaset", "ReplicaSet", "replicas.jsonl", FEWER_THAN_MADE),
    "kubernetes-5647-job": consistency("job", "Job", "job.jsonl", "@no-flapping"),
    "kubernetes-5647-statefulset": consistency("statefulset", "StatefulSet", "parallel.jsonl", MADE_AGAIN),
    "kubernetes-85726": Pair("scheduler", release("1.18.6"), release("1.19.0"), "kubernetes/replaced.jsonl", NONE,
        ["--patterns", "unobserved", "--settle", "1s"], ASKS, ("--leader-elect=false", "--port=0", "--secure-port=0"),
        "k8s.io/kubernetes/cmd/kube-scheduler", (("policy", "v1beta1"),)),
    "metallb-1984": Pair("metallb", release("0.13.12"), release("0.14.3"), "metallb/arrival.jsonl", METALLB,
        ["--gc", "--lockstep", "200ms", "--settle", "3s", "--write", "overlay", "--patterns", "restart"],
        arguments=METALLB_ALONE, package=f"{METALLB.module}/controller"),
    "nfd-2470": Pair("nfd", release("0.18.3"), release("0.19.0"), "nfd/features.jsonl", NFD,
        [*OPERATOR, "--patterns", "unobserved"], NFD_ASKS, NFD_ALONE, f"{NFD.module}/cmd/nfd-master"),
    "rabbitmq-648": Pair("rabbitmq", release("1.6.0"), release("1.7.0"), "rabbitmq/again.jsonl", RABBITMQ,
        [*OPERATOR, "--patterns", "stale"]),
    "rabbitmq-782": Pair("rabbitmq", release("1.8.3"), release("1.10.0"), "rabbitmq/expand.jsonl", RABBITMQ,
        [*OPERATOR, "--patterns", "restart", "--invariant", LARGER_BEFORE_ITS_CLAIM]),
    "zookeeper-312": Pair("zookeeper", release("0.2.9"), release("0.2.12"), "zookeeper/again.jsonl", ZOOKEEPER,
        [*OPERATOR, "--patterns", "stale"], older=(("policy", "v1beta1"),), defined_by_fixed=True),
}


class Swept(NamedTuple):
    """What came of one release."""
    code: int     # sweep's exit code
    said: str     # on standard error
    report: dict  # {} if there is none

    def tried(self):
        return sum(self.report.get(count, 0) for count in ("wrong", "unsure", "fine"))


def make_tape(pair, source, path):
    """`source` is the folder of the module with the custom resources."""
    files = [os.path.join(source, file) for file in pair.custom.definitions]
    stories.make(stories.Story(os.path.join(HERE, pair.story), files, *pair.custom[2:], pair.older), path)


def sweep(pair, of, program, tape, folder):
    done = subprocess.run([stories.KUBETAPE, "sweep", tape, "--json", "-o", folder, *pair.options, "--", *pair.command, program,
        *pair.arguments, *of.arguments], capture_output=True, text=True, check=False)
    return Swept(done.returncode, done.stderr, json.loads(done.stdout) if done.stdout else {})
