"""The objects that the scripted workload creates, as plain data."""



def kubelet_takes(least, most):
    """Annotations that tell the simulated kubelets how long to take for each step of a pod's life."""
    return {f"{stage}.stage.kwok.x-k8s.io/{what}": value
        for stage in ("pod-create", "pod-ready", "pod-complete", "pod-delete")
        for what, value in (("delay", least), ("jitter-delay", most))}


BRISK = kubelet_takes("200ms", "1200ms")
# As a small image on a healthy node.
LIFELIKE = kubelet_takes("1s", "5s")

# Everything that a JSON writer may treat specially: HTML characters, which the API server escapes; quotes and
# backslashes; control characters; text of two to four bytes a character; the separators that JavaScript minds.
AWKWARD = {
    "html": "<b>a && b</b> 'quoted' \"twice\"",
    "escapes": "back\\slash tab\t newline\n return\r bell\u0007 delete\u007f",
    "umlaute": "Grüße aus Köln, Ελλάδα, Москва",
    "wide": "日本語 漢字 한국어",
    "astral": "\U0001f680 \U0001f9ea \U00020000",
    "separators": "a\u2028b\u2029c",
    "empty": "",
}


def meta(name, namespace=None, **more):
    return {"name": name, **({"namespace": namespace} if namespace else {}), **more}


def namespace(name):
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": meta(name)}


def config_map(name, where, data, **metadata):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta(name, where, **metadata), "data": data}


def secret(name, where, text):
    return {"apiVersion": "v1", "kind": "Secret", "metadata": meta(name, where), "stringData": {"password": text}}


def _pod_template(app, image, pace=None, **spec):
    return {"metadata": {"labels": {"app": app}, "annotations": dict(pace or BRISK)},
        "spec": {"terminationGracePeriodSeconds": 2,
            "containers": [{"name": "main", "image": image, "env": [{"name": "APP", "value": app}],
                "resources": {"requests": {"cpu": "50m", "memory": "32Mi"}}}], **spec}}


def pod(name, where):
    template = _pod_template(name, "registry.example/lonely:1", restartPolicy="Always")
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {**template["metadata"], **meta(name, where)},
        "spec": template["spec"]}


def deployment(name, where, replicas, image, pace=None):
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta(name, where, labels={"app": name}),
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}},
            "template": _pod_template(name, image, pace)}}


def service(name, where):
    return {"apiVersion": "v1", "kind": "Service", "metadata": meta(name, where),
        "spec": {"selector": {"app": name}, "ports": [{"port": 80, "targetPort": 8080}]}}


def job(name, where, completions, parallelism):
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta(name, where),
        "spec": {"completions": completions, "parallelism": parallelism,
            "template": _pod_template(name, "registry.example/job:1", restartPolicy="Never")}}


def cron_tab_definition():
    schema = {"type": "object", "properties": {
        "spec": {"type": "object", "properties": {
            "cronSpec": {"type": "string"}, "image": {"type": "string"}, "replicas": {"type": "integer"}}},
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}
    names = {"plural": "crontabs", "singular": "crontab", "kind": "CronTab", "shortNames": ["ct"]}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": meta("crontabs.stable.example.com"),
        "spec": {"group": "stable.example.com", "scope": "Namespaced", "names": names,
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema},
                "subresources": {"status": {}}}]}}


def cron_tab(name, where, replicas):
    return {"apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": meta(name, where),
        "spec": {"cronSpec": "* * * * */5", "image": "registry.example/cron:1", "replicas": replicas}}
