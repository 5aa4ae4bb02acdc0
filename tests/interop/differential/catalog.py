"""The requests: all combinations of the parameters that lists, watches and gets know, and what else clients ask."""

import itertools
from urllib.parse import quote, urlencode

from differential.wire import Request

CORE, TEST = "/api/v1", "/apis/test.example.com/v1"
MAPS, PODS, WIDGETS = f"{CORE}/configmaps", f"{CORE}/pods", f"{TEST}/widgets"
EVENTS = f"{CORE}/events"
ABSENT = None

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
BETA_DISCOVERY = DISCOVERY.replace("v=v2", "v=v2beta1")
KUBECTL = f"{TABLE},{TABLE.replace('v=v1', 'v=v1beta1')},application/json"

COLLECTIONS = (MAPS, f"{CORE}/namespaces/a/configmaps", f"{CORE}/namespaces/ab/configmaps",
    f"{CORE}/namespaces/nowhere/configmaps", PODS, f"{CORE}/nodes", f"{CORE}/namespaces", EVENTS,
    f"{CORE}/namespaces/a/events", "/apis/events.k8s.io/v1/events", f"{CORE}/secrets", f"{CORE}/services",
    "/apis/apps/v1/deployments", "/apis/apps/v1/namespaces/a/replicasets", "/apis/batch/v1/jobs",
    "/apis/coordination.k8s.io/v1/leases", WIDGETS, f"{TEST}/namespaces/a/widgets", f"{TEST}/gadgets",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas")
# All kinds of which there is an object, for what depends on the kind: tables, metadata.
KINDS = COLLECTIONS + (f"{CORE}/serviceaccounts", f"{CORE}/persistentvolumes", f"{CORE}/persistentvolumeclaims",
    f"{CORE}/replicationcontrollers", f"{CORE}/resourcequotas", f"{CORE}/limitranges", f"{CORE}/endpoints",
    "/apis/apps/v1/replicasets", "/apis/apps/v1/daemonsets", "/apis/apps/v1/statefulsets",
    "/apis/apps/v1/controllerrevisions", "/apis/batch/v1/cronjobs", "/apis/networking.k8s.io/v1/ingresses",
    "/apis/networking.k8s.io/v1/networkpolicies", "/apis/networking.k8s.io/v1/servicecidrs",
    "/apis/networking.k8s.io/v1/ipaddresses", "/apis/storage.k8s.io/v1/storageclasses",
    "/apis/autoscaling/v2/horizontalpodautoscalers", "/apis/policy/v1/poddisruptionbudgets",
    "/apis/discovery.k8s.io/v1/endpointslices", "/apis/scheduling.k8s.io/v1/priorityclasses",
    "/apis/apiregistration.k8s.io/v1/apiservices", "/apis/rbac.authorization.k8s.io/v1/roles",
    "/apis/rbac.authorization.k8s.io/v1/rolebindings", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations",
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations")
OBJECTS = (f"{CORE}/namespaces/a/configmaps/item-1", f"{CORE}/namespaces/a/pods/p-bound", f"{CORE}/nodes/n-1",
    f"{CORE}/namespaces/a", f"{CORE}/namespaces/a/events/before", f"{CORE}/namespaces/a/secrets/s-tls",
    "/apis/apps/v1/namespaces/a/deployments/d-1", f"{TEST}/namespaces/a/widgets/w-1", f"{TEST}/gadgets/g-2",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.test.example.com",
    f"{CORE}/namespaces/a/configmaps/missing", f"{TEST}/namespaces/a/widgets/missing", f"{CORE}/nodes/missing")

LABELS = ("tier", "!tier", "tier=web", "tier==web", "tier!=web", "tier in (web,db)", "tier notin (web)", "n>1", "n<2",
    "n>1,n<3", "tier=web,n=0", "tier=web,!n", "tier in ()", "tier in (,web)", "tier=", "", "n=9", "a.b/c=d",
    " tier = web ", "tier  in  ( web , db )", "!tier,!n", "tier notin (,web)", "n>-1", "n gt 1", "tier in(web)",
    # not selectors
    "a b", "a=b,", "a=b c", "a<x", "a in b", "a in (b", "!", "=", "a=b=c", ",", "a==", "a!", "a in (b c)", "-a", "a=-",
    "a/b/c=d", "/a", "a/", "A.B/c", "a" * 64, "a=" + "b" * 64, "a=b;c", "a>1.5", "a in (b))", "(a)", "a notin b",
    "in", "in (a)", "notin", "a in (b),c", "ä=b", "a=ä", "a=b\nc", "a,,b", "a>", "a<99999999999999999999", "!a=b",
    "! a", "a\t=\tb", "'a'=b")
COMMON_FIELDS = ("metadata.name=item-1", "metadata.namespace=a", "metadata.namespace!=a", "metadata.name!=item-1",
    "metadata.name=item-1,metadata.namespace=a", "metadata.name==", "metadata.name=missing", "", ",", "foo=bar", "foo",
    "=", "a==b=c", "metadata.name= item-1", r"metadata.name=a\,b", r"metadata.name=a\=b", r"metadata.name=a\\b",
    r"metadata.name=a\b", "metadata.name=a,b", "metadata.name", "metadata.name in (a)", "metadata.uid=x",
    "metadata.labels.tier=web", "data.a=b", "metadata.name=item-1,metadata.name=item-2", ",metadata.name=item-1,",
    "metadata.namespace=", "metadata.name!=", "metadata.name=item-1,foo=bar", "Metadata.Name=a", "metadata.name=item_1",
    "metadata.name=a/b", "metadata.name=..")
FIELDS = {
    MAPS: COMMON_FIELDS, WIDGETS: COMMON_FIELDS + ("spec.colour=blue", "spec.colour!=blue", ".spec.colour=blue",
        "spec.replicas=2"),
    f"{CORE}/namespaces/a/configmaps": ("metadata.namespace=a", "metadata.namespace=ab", "metadata.name=item-1"),
    f"{TEST}/gadgets": ("metadata.name=g-2", "metadata.namespace=a", "metadata.namespace=", "spec.size=2"),
    PODS: ("metadata.name=p-free", "spec.nodeName=n-1", "spec.nodeName=", "spec.nodeName!=n-1", "spec.host=n-1",
        "spec.restartPolicy=Never", "spec.schedulerName=default-scheduler", "spec.serviceAccountName=default",
        "spec.hostNetwork=true", "spec.hostNetwork=false", "status.phase=Running", "status.phase!=Running",
        "status.podIP=10.1.0.7", "status.podIPs=10.1.0.7", "status.podIPs!=x", "status.nominatedNodeName=",
        "status.hostIP=x", "spec.nodeName=n-1,status.phase=Running", "status.startTime=x"),
    EVENTS: tuple(f"involvedObject.{f}" for f in ("kind=Pod", "namespace=a", "name=p-bound", "uid=u-1",
        "apiVersion=v1", "resourceVersion=", "fieldPath=spec.containers{main}")) + ("reason=Started",
        "reportingComponent=kubelet", "source=kubelet", "type=Normal", "type!=Normal", "regarding.kind=Pod",
        "metadata.name=before", "message=x"),
    "/apis/events.k8s.io/v1/events": ("regarding.kind=Pod", "regarding.name=p-bound", "reportingController=kubelet",
        "involvedObject.kind=Pod", "reason=Started", "type=Normal", "source=kubelet", "regarding.fieldPath=x"),
    f"{CORE}/namespaces": ("status.phase=Active", "metadata.name=a", "metadata.namespace=a", "name=a"),
    f"{CORE}/nodes": ("spec.unschedulable=true", "spec.unschedulable=false", "metadata.namespace=x"),
    f"{CORE}/secrets": ("type=Opaque", "type=kubernetes.io/basic-auth", "type!=Opaque", "data=x"),
    f"{CORE}/services": ("spec.clusterIP=None", "spec.type=ExternalName", "spec.type=ClusterIP", "spec.ports=x"),
    f"{CORE}/replicationcontrollers": ("status.replicas=0", "status.replicas=1", "spec.replicas=1"),
    "/apis/apps/v1/replicasets": ("status.replicas=0", "metadata.name=r-1"),
    "/apis/batch/v1/jobs": ("status.successful=0", "status.successful=1", "status.failed=0"),
    "/apis/apps/v1/deployments": ("metadata.name=d-1", "spec.replicas=3"),
    "/apis/certificates.k8s.io/v1/certificatesigningrequests": ("spec.signerName=x", "metadata.namespace=x", "x=y"),
    "/apis/resource.k8s.io/v1/resourceslices": ("spec.nodeName=x", "spec.driver=y", "spec.pool.name=z"),
}
BAD_NUMBERS = ("", "abc", "1.5", "0x10", "+1", " 1", "99999999999999999999", "1e3")
BAD_VERSIONS = ("abc", "-1", "1.5", "0x10", "+1", " 1", "99999999999999999999", "18446744073709551615", "1e3")
TRUTHS = ("", "0", "1", "true", "True", "false", "FALSE", "no", "t", "f")
NOT_TOKENS = ("x", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MCwic3RhcnQiOiJhIn0", "%%%", "e30", "bnVsbA",
    "eyJ2IjoibWV0YS5rOHMuaW8vdjIiLCJydiI6NSwic3RhcnQiOiJhIn0", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NSwic3RhcnQiOiIifQ",
    "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NSwic3RhcnQiOiIuLi94In0", "a=b", "AAAA",
    "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6OTk5OTk5OSwic3RhcnQiOiIvYS9pdGVtLTFcdTAwMDAifQ",
    "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiL2EvaXRlbS0xXHUwMDAwIn0",
    "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiYS9pdGVtLTFcdTAwMDAifQ")


def url(path, **query):
    """The target; parameters that are ABSENT are left out."""
    given = [(name, value) for name, value in query.items() if value is not ABSENT]
    return path + ("?" + urlencode(given, quote_via=quote) if given else "")


def watch(path, **query):
    return url(path, **{"watch": "1", "timeoutSeconds": "1", **query})


def crossed(**choices):
    """All combinations, as dictionaries."""
    return [dict(zip(choices, values)) for values in itertools.product(*choices.values())]


def lists(rvs):
    versions = (ABSENT, "", "0", "007", str(rvs["middle"]), str(rvs["last"]))
    matches = (ABSENT, "", "Exact", "NotOlderThan", "exact")
    for query in crossed(resourceVersion=versions, resourceVersionMatch=matches, limit=(ABSENT, "0", "2", "500")):
        yield Request("list", url(MAPS, **query))
    for path in COLLECTIONS:
        for query in crossed(resourceVersion=(ABSENT, "0", str(rvs["middle"])), limit=(ABSENT, "1")):
            yield Request("list", url(path, **query))
        yield Request("list", url(path, resourceVersion=rvs["begin"], resourceVersionMatch="Exact"))
        yield Request("list", url(path, resourceVersion=rvs["late"], resourceVersionMatch="NotOlderThan", limit="-1"))
        yield Request("list", url(path, resourceVersion=rvs["middle"], resourceVersionMatch="Exact",
            labelSelector="tier=web"))
    for rv in range(rvs["begin"], rvs["last"] + 1):
        yield Request("list at", url(MAPS, resourceVersion=rv, resourceVersionMatch="Exact"))
    for flag in TRUTHS:
        yield Request("list", url(MAPS, sendInitialEvents=flag, limit="1"))
        yield Request("list", url(MAPS, allowWatchBookmarks=flag, limit="1"))
    for path in KINDS:
        yield Request("list", url(path))


def pages(rvs):
    for path in COLLECTIONS[:3] + (PODS, EVENTS, WIDGETS, f"{CORE}/nodes", COLLECTIONS[-1], COLLECTIONS[-2]):
        for query in crossed(limit=("1", "3"), labelSelector=(ABSENT, "tier=web"),
                resourceVersion=(ABSENT, str(rvs["middle"]))):
            yield Request("pages", url(path, **query), pages=4)
    for form in (KUBECTL, PARTIAL_LIST):
        yield Request("pages", url(MAPS, limit="2"), {"Accept": form}, pages=2)
    # Of more than one page of these 1.36.3 loses all but the first: its token is of a namespace, its path is not.
    yield Request("pages", url(MAPS, limit="2", fieldSelector="metadata.namespace=a"))
    yield Request("pages", url(MAPS, limit="2", fieldSelector="metadata.name!=item-1"), pages=4)
    for path, token in itertools.product((MAPS, EVENTS, f"{CORE}/namespaces/a/configmaps"), NOT_TOKENS):
        yield Request("token", url(path, **{"continue": token}))
    for query in crossed(resourceVersion=(ABSENT, "", "0", "7"), resourceVersionMatch=(ABSENT, "Exact", "NotOlderThan"),
            limit=(ABSENT, "1")):
        yield Request("token", url(MAPS, **query, **{"continue": NOT_TOKENS[-2]}))


def selectors():
    for text in LABELS:
        yield Request("labels", url(MAPS, labelSelector=text))
        yield Request("labels", watch(MAPS, labelSelector=text, resourceVersion="0"))
    for text in LABELS[:12]:
        yield Request("labels", url(WIDGETS, labelSelector=text))
        yield Request("labels", url(MAPS, labelSelector=text, limit="2"))
    for path, texts in FIELDS.items():
        for text in texts:
            yield Request("fields", url(path, fieldSelector=text))
            yield Request("fields", watch(path, fieldSelector=text))
    for text in ("metadata.name=item-1", "metadata.namespace=a"):
        yield Request("both", url(MAPS, fieldSelector=text, labelSelector="tier=web"))
        yield Request("both", watch(MAPS, fieldSelector=text, labelSelector="tier=web"))


def gets(rvs):
    for path in OBJECTS:
        for rv in (ABSENT, "", "0", "007", str(rvs["middle"]), "abc"):
            yield Request("get", url(path, resourceVersion=rv))
        for accept in (TABLE, PARTIAL, PARTIAL_LIST, KUBECTL, "application/yaml", "text/html"):
            yield Request("get", path, {"Accept": accept})
        yield Request("get", url(path, watch="true", labelSelector="a=b", pretty="1"))
        yield Request("get", path + "/status")
        yield Request("get", path + "/nothing")
        yield Request("get", path + "/")
    for rv in BAD_VERSIONS:
        yield Request("get", url(OBJECTS[0], resourceVersion=rv))
    yield Request("get", url(OBJECTS[0], resourceVersionMatch="Exact"))
    for path in (OBJECTS[0], OBJECTS[-1], OBJECTS[6], OBJECTS[7]):
        yield Request("get", path + "/scale")
    yield Request("get", f"{CORE}/namespaces/a/finalize")


def numbers():
    for path, text in itertools.product((MAPS, EVENTS, WIDGETS), BAD_VERSIONS):
        yield Request("number", url(path, resourceVersion=text))
        yield Request("number", watch(path, resourceVersion=text))
        yield Request("number", url(path, resourceVersion=text, resourceVersionMatch="Exact"))
    for text in BAD_NUMBERS:
        yield Request("number", url(MAPS, limit=text))
        yield Request("number", url(MAPS, timeoutSeconds=text))
        yield Request("number", url(MAPS, watch="1", timeoutSeconds=text, resourceVersion="abc"))
        yield Request("number", watch(MAPS, limit=text))
    for text in ("", "32s", "7m13s", "1h0m5s", "abc", "5", "-3s", "0s", "1.5m", "1d", "s", "1h 5m", "30000ms", "+5s", ".5m"):
        yield Request("number", url(MAPS, timeout=text, limit="1"))
        yield Request("number", watch(MAPS, timeout=text))
    for text in TRUTHS:
        yield Request("number", url(MAPS, watch=text, timeoutSeconds="1", limit="1"))
        yield Request("number", watch(MAPS, allowWatchBookmarks=text))
        yield Request("number", watch(MAPS, sendInitialEvents=text, resourceVersionMatch="NotOlderThan"))
    for text in ("", "0", "1", "false", "true", "x"):
        yield Request("number", url(MAPS, pretty=text, limit="1"))
        yield Request("number", url(MAPS, pretty=text, limit="x"))


def watches(rvs):
    versions = (ABSENT, "", "0", "007", str(rvs["begin"]), str(rvs["middle"]), str(rvs["last"]))
    for query in crossed(resourceVersion=versions, sendInitialEvents=(ABSENT, "true", "false"),
            resourceVersionMatch=(ABSENT, "NotOlderThan", "Exact"), allowWatchBookmarks=(ABSENT, "true")):
        yield Request("watch", watch(MAPS, **query))
    for query in crossed(resourceVersion=(ABSENT, str(rvs["begin"]), str(rvs["late"])),
            sendInitialEvents=(ABSENT, "true"), labelSelector=("tier=web", "tier!=web", "!tier")):
        more = {"resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "1"} if query["sendInitialEvents"] else {}
        for path in COLLECTIONS[:3]:
            yield Request("watch", watch(path, **query, **more))
    for rv in range(rvs["begin"] - 1, rvs["last"] + 1):
        yield Request("watch from", watch(MAPS, resourceVersion=rv))
        yield Request("watch from", watch(WIDGETS, resourceVersion=rv, fieldSelector="spec.colour=red"))
    streaming = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
    for path in KINDS:
        yield Request("watch", watch(path, resourceVersion=rvs["begin"]))
        yield Request("watch", watch(path, **streaming))
    for path in COLLECTIONS:
        yield Request("watch", watch(path))
        yield Request("watch", watch(path, resourceVersion="0", allowWatchBookmarks="1"))
        yield Request("watch", watch(path, resourceVersion=rvs["middle"], **streaming))
    for query in crossed(resourceVersionMatch=(ABSENT, "NotOlderThan", "Exact"), sendInitialEvents=(ABSENT, "1", "0"),
            resourceVersion=(ABSENT, "0", str(rvs["middle"]))):
        yield Request("watch", watch(MAPS, **query, limit="3", **{"continue": "x"}))
    for seconds in ("-1", "-5"):
        yield Request("watch", watch(MAPS, timeoutSeconds=seconds, resourceVersion=rvs["middle"]))
    yield from old_watches(rvs)


def old_watches(rvs):
    for path, rv in itertools.product(("configmaps", "namespaces/a/configmaps", "namespaces/a/configmaps/item-1",
            "namespaces/a/configmaps/missing", "namespaces/a", "namespaces", "nodes/n-2", "pods/p-free", "nothing"),
            (ABSENT, "0", str(rvs["begin"]), "abc")):
        yield Request("old watch", watch(f"{CORE}/watch/{path}", resourceVersion=rv, watch="false"))
    one = f"{CORE}/watch/namespaces/a/configmaps/item-1"
    for more in ({"labelSelector": "tier=db"}, {"fieldSelector": "metadata.name=item-1"},
            {"fieldSelector": "metadata.name=item-2"}, {"fieldSelector": "metadata.namespace=ab"},
            {"sendInitialEvents": "true"}, {"allowWatchBookmarks": "1"}, {"limit": "x"}):
        yield Request("old watch", watch(one, resourceVersion=rvs["begin"], **more))
    for path in ("/apis/apps/v1/watch/deployments", "/apis/apps/v1/watch/namespaces/a/deployments/d-1",
            f"{TEST}/watch/widgets", f"{TEST}/watch/gadgets/g-2", f"{TEST}/watch/namespaces/a/widgets/w-1"):
        yield Request("old watch", watch(path, resourceVersion=rvs["begin"]))


def forms(rvs):
    accepts = ("*/*", "application/json", "application/json, */*", "application/vnd.kubernetes.protobuf,application/json",
        "application/vnd.kubernetes.protobuf, */*", "application/json;q=0.9,application/cbor;q=1", "application/*",
        "text/html", "application/cbor", "application/json;stream=watch", "application/json;pretty=1", "", ",",
        "application/json;as=Foo;g=meta.k8s.io;v=v1", TABLE, TABLE.replace("v=v1", "v=v1beta1"),
        TABLE.replace("v=v1", "v=v1alpha1"), TABLE.replace("g=meta.k8s.io", "g=apps"), KUBECTL, PARTIAL, PARTIAL_LIST,
        PARTIAL + "," + "application/json", PARTIAL_LIST + ",application/json", PARTIAL.replace("v=v1", "v=v1beta1"),
        PARTIAL_LIST.replace("v=v1", "v=v1beta1"), f"{TABLE};q=0.1,application/json;q=0.9", "text/html,*/*;q=0.1",
        "application/json;profile=x", "APPLICATION/JSON", "application/json; as=Table; v=v1; g=meta.k8s.io",
        "application/json;as=Table", "application/json;v=v1;g=meta.k8s.io", "text/html;q=1,application/json;q=0")
    for accept in accepts:
        for target in (url(MAPS, limit="3"), url(WIDGETS), url(PODS, limit="x"), url(f"{CORE}/nothing"),
                watch(MAPS, resourceVersion=rvs["late"]), watch(WIDGETS, allowWatchBookmarks="1"),
                url(MAPS, resourceVersion="9999999", resourceVersionMatch="Exact", timeout="20s") if not accept else
                url(EVENTS, resourceVersion="9999999")):
            yield Request("form", target, {"Accept": accept})
    for path, accept in itertools.product(KINDS, (TABLE, PARTIAL_LIST)):
        yield Request("form", path, {"Accept": accept})
    for path in KINDS:
        yield Request("form", watch(path, resourceVersion=rvs["begin"]), {"Accept": TABLE})
        yield Request("form", watch(path, resourceVersion="0", allowWatchBookmarks="1"), {"Accept": TABLE})
        yield Request("form", watch(path, allowWatchBookmarks="1"), {"Accept": PARTIAL})
    for include, path in itertools.product(("", "None", "Metadata", "Object", "foo"), (MAPS, PODS, WIDGETS, OBJECTS[1])):
        yield Request("form", url(path, includeObject=include), {"Accept": TABLE})
        yield Request("form", url(path, includeObject=include), {"Accept": "application/json"})
    for include in ("None", "Object", "foo"):
        yield Request("form", watch(PODS, includeObject=include, resourceVersion="0"), {"Accept": TABLE})
    for agent in ("curl/8.0", "Wget/1.2", "Mozilla/5.0 (X11)", "kubectl/v1.36.3", None):
        for target in (url(MAPS, limit="1"), OBJECTS[0], OBJECTS[-1], "/version", "/api", "/apis", "/api/v1",
                watch(MAPS, resourceVersion=rvs["late"])):
            yield Request("agent", target, {"User-Agent": agent})
    for encoding in ("gzip", "gzip, deflate", "deflate", "*", "gzip;q=0", "identity", "GZIP", "br,gzip"):
        for target in (MAPS, url(MAPS, limit="1"), OBJECTS[0], watch(MAPS), "/apis", "/openapi/v3"):
            yield Request("encoding", target, {"Accept-Encoding": encoding})


def documents():
    for path in ("/version", "/version/", "/api", "/api/", "/apis", "/apis/", "/api/v1", "/api/v1/", "/api/v2",
            "/apis/apps", "/apis/apps/", "/apis/apps/v1", "/apis/apps/v9", "/apis/nothing", "/apis/nothing/v1",
            "/apis/test.example.com", "/apis/test.example.com/v1", "/apis/events.k8s.io/v1", "/apis/batch/v1",
            "/apis/autoscaling/v1", "/apis/autoscaling/v2", "/apis/apiextensions.k8s.io/v1",
            "/apis/rbac.authorization.k8s.io/v1", "/apis/authorization.k8s.io/v1", "/apis/authentication.k8s.io/v1",
            "/apis/apiregistration.k8s.io/v1", "/apis/metrics.k8s.io/v1beta1", "/foo", "/foo/bar", "/apisx", "/API"):
        for accept in (ABSENT, "application/json", "text/html"):
            yield Request("document", path, {"Accept": accept} if accept else {})
        yield Request("document", path, {"Accept": f"{DISCOVERY},application/json"})
    for accept in ("application/yaml", "application/yaml,*/*", "application/*", PARTIAL, "application/vnd.kubernetes.protobuf;q=0.5,*/*;q=0.1"):
        yield Request("document", "/version", {"Accept": accept})
    for path, accept in itertools.product(("/api", "/apis"), (DISCOVERY, BETA_DISCOVERY,
            f"{BETA_DISCOVERY},application/json", f"{DISCOVERY},{BETA_DISCOVERY},application/json", KUBECTL, "*/*",
            DISCOVERY + ";profile=nopeer", "application/yaml")):
        yield Request("document", path + "?timeout=32s", {"Accept": accept})
        yield Request("etag", path, {"Accept": accept, "If-None-Match": '"x"'})
    for path in ("/healthz", "/livez", "/readyz"):
        for sub in ("", "/ping", "/etcd", "/nothing", "?verbose", "?verbose=1", "/ping?verbose", "?exclude=etcd", "/",
                "/poststarthook/start-apiextensions-informers"):
            yield Request("health", path + sub)
    for path in ("/openapi/v3", "/openapi/v3/", "/openapi/v2", "/openapi", "/openapi/v3/api", "/openapi/v3/apis",
            "/openapi/v3/api/v1", "/openapi/v3/apis/apps/v1", "/openapi/v3/version", "/openapi/v3/nothing",
            "/openapi/v3/apis/test.example.com/v1", "/openapi/v3/apis/apps", "/openapi/v3/apis/apps/v1?hash=wrong"):
        yield Request("openapi", path)
        yield Request("openapi", path, {"Accept": "application/json"})
    for accept in ("application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
            "application/com.github.proto-openapi.spec.v2.v1.0+protobuf", "text/html"):
        yield Request("openapi", "/openapi/v2", {"Accept": accept})
    for path in ("/openapi/v3/api/v1", "/openapi/v3/apis/test.example.com/v1", "/openapi/v3/version"):
        yield Request("openapi", path, {"Accept": "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"})


def errors(rvs):
    for path in (f"{CORE}/nothing", f"{CORE}/namespaces/a/nothing", f"{CORE}/namespaces/a/nodes", "/apis/apps/v1/nothing",
            "/apis/apps/v9/deployments", "/apis/nothing/v1/things", "/api/v2/pods", "//api/v1/pods", "/api/v1//pods",
            f"{CORE}/namespaces//pods", f"{CORE}/namespaces/a/pods/p-bound/status/more", f"{CORE}/pods/p-bound",
            f"{CORE}/namespaces/a/pods/p-bound/log", f"{CORE}/namespaces/a/pods/missing/log", f"{CORE}/PODS",
            f"{CORE}/nodes/n-1/x", f"{CORE}/namespaces/a/nothing/x", f"{CORE}/componentstatuses/x",
            f"{TEST}/namespaces/a/gadgets", f"{TEST}/nothing", "/apis/test.example.com/v2/widgets",
            f"{CORE}/namespaces/nowhere", f"{CORE}/namespaces/a/pods/", "/api/v1/%70ods", "/api/v1/namespaces/a%2fb/pods",
            "/api/v1/pods%2f", "/api/v1/pods;x=1", "/api/v1/pods?%zz=1&limit=1", "/api/v1/pods?limit=1;x",
            "/api/v1/pods?limit=1&limit=x", "/api/v1/./pods", "/", "/index.html"):
        yield Request("error", path)
        if "?" not in path:
            yield Request("error", path + "?watch=1&timeoutSeconds=1")
    for method, path in itertools.product(("HEAD", "OPTIONS", "TRACE", "PROPFIND"), (MAPS, OBJECTS[0], "/api", "/apis",
            "/version", "/healthz", "/api/v1", "/openapi/v2", f"{CORE}/nothing", "/nothing", WIDGETS)):
        yield Request("method", path, method=method)
    for rv in (str(rvs["last"] + 1), "9999999"):
        for path in (MAPS, EVENTS, WIDGETS, OBJECTS[0], OBJECTS[4], OBJECTS[-1]):
            yield Request("future", url(path, resourceVersion=rv))
        for path in (MAPS, EVENTS, WIDGETS):
            for match in ("Exact", "NotOlderThan"):
                yield Request("future", url(path, resourceVersion=rv, resourceVersionMatch=match, limit="1"))
            yield Request("future", url(path, resourceVersion=rv, limit="1"))
            yield Request("future", watch(path, resourceVersion=rv))
            for bookmarks in (ABSENT, "1"):
                yield Request("future", watch(path, resourceVersion=rv, timeoutSeconds="8", sendInitialEvents="1",
                    resourceVersionMatch="NotOlderThan", allowWatchBookmarks=bookmarks))
    yield Request("upgrade", watch(MAPS), {"Connection": "Upgrade", "Upgrade": "websocket"})
    yield Request("id", OBJECTS[0], {"Audit-Id": "my-own"})


def everything(rvs):
    """All requests that read."""
    return itertools.chain(lists(rvs), pages(rvs), selectors(), gets(rvs), numbers(), watches(rvs), forms(rvs), documents(),
        errors(rvs))


def of_each_kind(resources):
    """What depends on the kind: its lists, tables, metadata and bookmarks, if it has objects or not. resources: [(path,
    whether it can be watched)]."""
    streaming = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
    for path, watches_too in resources:
        for accept in ("application/json", TABLE, PARTIAL_LIST, "application/yaml"):
            yield Request("kind", path, {"Accept": accept})
        yield Request("kind", url(path, labelSelector="nothing=x"), {"Accept": TABLE})
        for query in ({"limit": "1", "resourceVersion": "0"}, {"fieldSelector": "metadata.name=x"}, {"fieldSelector": "spec.odd=x"}):
            yield Request("kind", url(path, **query))
        for method in ("HEAD", "OPTIONS"):
            yield Request("kind", path, method=method)
        for accept in ("application/json", TABLE):
            yield Request("kind", f"{path}/missing", {"Accept": accept})
        for accept in ("application/json", TABLE, PARTIAL) if watches_too else ():
            yield Request("kind", watch(path, **streaming), {"Accept": accept})


def once(requests):
    """Each of them once, in a stable order."""
    found = {}
    for request in requests:
        found.setdefault((request.method, request.target, tuple(request.headers.items()), request.body, request.pages), request)
    return list(found.values())
