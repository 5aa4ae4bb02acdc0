"""What is under tools/deploy: the manifests ask for what the recorder needs and for nothing more, and the image has
what the program links with. The needs are those of a real recording, the bundled tape."""
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import kubectl
from tapes import BUILD, KUBETAPE

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DEPLOY = os.path.join(ROOT, "tools", "deploy")
TAPE = os.path.join(ROOT, "tests", "tapes", "rolling-update.tape")
# The kustomize inside of kubectl before 1.21 does not know our overlays.
KNOWS_OVERLAYS = kubectl.minor() >= 21
OVERLAYS = ("base", "secrets", "everything") if KNOWS_OVERLAYS else ("base",)


def run(*command, **more):
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **more)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: exit code {done.returncode}: {done.stderr}")
    return done.stdout


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def parse(manifests):
    """The objects of a YAML text. kubectl is our YAML reader: it changes them in memory, without a server."""
    with tempfile.TemporaryDirectory(prefix="kubetape-manifests-") as home:
        out = run("kubectl", "annotate", "--local", "-o", "json", "-f", "-", "for=tests", input=manifests,
                  env={**os.environ, "HOME": home, "KUBECONFIG": os.path.join(home, "none")})
    decoder, objects = json.JSONDecoder(), []
    while out.strip():
        found, end = decoder.raw_decode(out.lstrip())
        objects.append(found)
        out = out.lstrip()[end:]
    return objects


def overlay(name):
    folder = os.path.join(DEPLOY, "kubernetes", name)
    if not KNOWS_OVERLAYS:
        return parse("\n---\n".join(read(os.path.join(folder, file)) for file in
                                   ("namespace.yaml", "rbac.yaml", "service.yaml", "statefulset.yaml")))
    return parse(run("kubectl", "kustomize", folder))


def of_kind(objects, kind):
    return [o for o in objects if o["kind"] == kind]


def container(objects):
    return of_kind(objects, "StatefulSet")[0]["spec"]["template"]["spec"]["containers"][0]


def is_allowed(objects, verb, group, resource, name=None):
    """Whether one of the cluster roles allows it, as the API server decides."""
    def matches(rule):
        return (any(v in ("*", verb) for v in rule["verbs"])
                and any(g in ("*", group) for g in rule.get("apiGroups", []))
                and any(r in ("*", resource) for r in rule.get("resources", []))
                and ("resourceNames" not in rule or name in rule["resourceNames"]))
    return any(matches(rule) for role in of_kind(objects, "ClusterRole") for rule in role["rules"])


def is_path_allowed(objects, path):
    patterns = [url for role in of_kind(objects, "ClusterRole") for rule in role["rules"]
                for url in rule.get("nonResourceURLs", []) if "get" in rule["verbs"]]
    return any(path == p or (p.endswith("*") and path.startswith(p[:-1])) for p in patterns)


def query(sql):
    return json.loads(run(KUBETAPE, "query", TAPE, sql, "--format", "json"))


@unittest.skipUnless(kubectl.minor(), "no kubectl here")
class Manifests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.objects = {name: overlay(name) for name in OVERLAYS}
        cls.followed = [(row["apigroup"] or "", row["resource"]) for row in query("SELECT * FROM streams")]

    def missing(self, name):
        return {(group, resource) for group, resource in self.followed for verb in ("list", "watch")
                if not is_allowed(self.objects[name], verb, group, resource)}

    def test_the_base_may_read_all_that_a_recording_of_everything_reads_but_secrets_and_custom_resources(self):
        self.assertGreater(len(self.followed), 50)
        self.assertEqual(self.missing("base"), {("", "secrets"), ("stable.example.com", "crontabs")})

    @unittest.skipUnless(KNOWS_OVERLAYS, "this kubectl is older than the overlays (1.21 knows them)")
    def test_the_overlays_add_secrets_and_everything(self):
        self.assertEqual(self.missing("secrets"), {("stable.example.com", "crontabs")})
        self.assertEqual(self.missing("everything"), set())

    def test_the_recorder_may_ask_all_that_it_asks_a_server_about_itself(self):
        with tempfile.TemporaryDirectory(prefix="kubetape-segment-") as folder:
            segment = os.path.join(folder, "segment.db")
            shutil.copy(os.path.join(TAPE, "seg-000001.db"), segment)
            paths = run("sqlite3", segment, "SELECT DISTINCT path FROM document").split()
        self.assertIn("/openapi/v3", paths)
        for path in paths:
            with self.subTest(path=path):
                named = re.match(r"^/api/v1/(\w+)/([\w-]+)$", path)
                allowed = (is_allowed(self.objects["base"], "get", "", named[1], named[2]) if named
                           else is_path_allowed(self.objects["base"], path))
                self.assertTrue(allowed)

    @unittest.skipUnless(KNOWS_OVERLAYS, "this kubectl is older than the overlays (1.21 knows them)")
    def test_the_component_for_logs_adds_the_option_and_one_right(self):
        with tempfile.TemporaryDirectory(prefix="kubetape-logs-") as folder:
            shutil.copytree(os.path.join(DEPLOY, "kubernetes"), folder, dirs_exist_ok=True)
            os.mkdir(os.path.join(folder, "mine"))
            with open(os.path.join(folder, "mine", "kustomization.yaml"), "w", encoding="utf-8") as file:
                file.write("resources: [../base]\ncomponents: [../logs]\n")
            objects = parse(run("kubectl", "kustomize", os.path.join(folder, "mine")))
        self.assertIn("--logs", container(objects)["args"])
        self.assertTrue(is_allowed(objects, "get", "", "pods/log"))
        self.assertFalse(is_allowed(self.objects["base"], "get", "", "pods/log"))

    def test_no_right_goes_beyond_reading(self):
        for name in OVERLAYS:
            for role in of_kind(self.objects[name], "ClusterRole"):
                for rule in role["rules"]:
                    self.assertLessEqual(set(rule["verbs"]), {"get", "list", "watch"})

    def test_nothing_that_answers_to_get_with_more_than_reading_can_be_got(self):
        for name in OVERLAYS:
            for resource in ("pods/exec", "pods/attach", "pods/portforward", "pods/proxy", "services/proxy",
                             "nodes/proxy", "secrets"):
                with self.subTest(overlay=name, resource=resource):
                    self.assertFalse(is_allowed(self.objects[name], "get", "", resource))

    def test_every_role_is_bound_to_the_account_of_the_recorder(self):
        for name in OVERLAYS:
            roles = {o["metadata"]["name"] for o in of_kind(self.objects[name], "ClusterRole")}
            bindings = of_kind(self.objects[name], "ClusterRoleBinding")
            self.assertEqual({b["roleRef"]["name"] for b in bindings}, roles)
            account = of_kind(self.objects[name], "ServiceAccount")[0]["metadata"]
            for binding in bindings:
                self.assertEqual([(s["kind"], s["name"], s["namespace"]) for s in binding["subjects"]],
                                 [("ServiceAccount", account["name"], account["namespace"])])
            pod = of_kind(self.objects[name], "StatefulSet")[0]["spec"]["template"]["spec"]
            self.assertEqual(pod["serviceAccountName"], account["name"])

    def test_secrets_are_left_out_exactly_where_there_is_no_right_to_them(self):
        for name in OVERLAYS:
            with self.subTest(overlay=name):
                args = container(self.objects[name])["args"]
                allowed = is_allowed(self.objects[name], "list", "", "secrets")
                self.assertEqual("--exclude=secrets" in args, not allowed)
                self.assertNotIn("--secrets=keep", args)

    def test_the_recorder_knows_the_arguments_it_is_given(self):
        known = re.findall(r"^(--[\w-]+)", run(KUBETAPE, "__complete", "record", "--"), re.MULTILINE)
        for name in OVERLAYS:
            command, *options = container(self.objects[name])["args"]
            self.assertEqual(command, "record")
            self.assertEqual([o for o in options if o.split("=")[0] not in known], [])

    def test_the_tape_lies_on_the_volume_and_nothing_else_can_be_written(self):
        spec = of_kind(self.objects["base"], "StatefulSet")[0]["spec"]
        mounts = {m["name"]: m["mountPath"] for m in container(self.objects["base"])["volumeMounts"]}
        claims = [c["metadata"]["name"] for c in spec["volumeClaimTemplates"]]
        output = [a for a in container(self.objects["base"])["args"] if a.startswith("--output=")][0]
        self.assertTrue(output.removeprefix("--output=").startswith(mounts[claims[0]] + "/"))
        self.assertTrue(container(self.objects["base"])["securityContext"]["readOnlyRootFilesystem"])
        self.assertEqual(spec["replicas"], 1)

    def test_the_service_leads_to_the_port_where_the_recorder_serves_metrics(self):
        recorder = container(self.objects["base"])
        service = of_kind(self.objects["base"], "Service")[0]
        pod = of_kind(self.objects["base"], "StatefulSet")[0]["spec"]["template"]["metadata"]["labels"]
        ports = {p["name"]: p["containerPort"] for p in recorder["ports"]}
        self.assertEqual(f"0.0.0.0:{ports[service['spec']['ports'][0]['targetPort']]}",
                         [a for a in recorder["args"] if a.startswith("--metrics=")][0].removeprefix("--metrics="))
        self.assertLessEqual(service["spec"]["selector"].items(), pod.items())
        for probe, path in (("startupProbe", "/healthz"), ("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")):
            self.assertEqual(recorder[probe]["httpGet"], {"path": path, "port": "metrics"})

    def test_the_tape_is_kept_smaller_than_its_volume(self):
        claim = of_kind(self.objects["base"], "StatefulSet")[0]["spec"]["volumeClaimTemplates"][0]
        room = int(claim["spec"]["resources"]["requests"]["storage"].removesuffix("Gi"))
        limit = [a for a in container(self.objects["base"])["args"] if a.startswith("--max-size=")][0]
        self.assertLess(int(re.search(r"=(\d+)G$", limit)[1]), room)

    def test_the_image_is_of_the_version_of_the_program(self):
        version = run(KUBETAPE, "--version").split()[1]
        self.assertEqual(container(self.objects["base"])["image"], f"kubetape:{version}")


CONTROLLER = """apiVersion: apps/v1
kind: Deployment
metadata: {name: web-operator, annotations: {kubetape/tee: "true"}}
spec:
  selector: {matchLabels: {app: web-operator}}
  template:
    metadata: {labels: {app: web-operator}}
    spec:
      containers: [{name: controller, image: "web-operator:1", env: [{name: A, value: b}]}, {name: beside, image: "other:1"}]
"""


@unittest.skipUnless(KNOWS_OVERLAYS, "no kubectl here that knows components")
class Sidecar(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory(prefix="kubetape-sidecar-") as folder:
            shutil.copytree(os.path.join(DEPLOY, "kubernetes", "tee"), os.path.join(folder, "tee"))
            os.mkdir(os.path.join(folder, "app"))
            for name, text in (("controller.yaml", CONTROLLER), ("kustomization.yaml", "resources: [controller.yaml]\ncomponents: [../tee]\n")):
                with open(os.path.join(folder, "app", name), "w", encoding="utf-8") as file:
                    file.write(text)
            objects = parse(run("kubectl", "kustomize", os.path.join(folder, "app")))
        cls.pod = of_kind(objects, "Deployment")[0]["spec"]["template"]["spec"]
        cls.controller, cls.other = cls.pod["containers"]
        cls.authority, cls.tee = cls.pod["initContainers"]

    def test_the_controller_talks_to_the_tee_on_the_pods_loopback_and_trusts_it(self):
        env = {e["name"]: e["value"] for e in self.controller["env"]}
        listen = [a for a in self.tee["args"] if a.startswith("--listen=")][0].removeprefix("--listen=")
        self.assertEqual(env["KUBERNETES_SERVICE_HOST"] + ":" + env["KUBERNETES_SERVICE_PORT"], listen)
        self.assertTrue(listen.startswith("127.0.0.1:"))
        self.assertEqual(env["A"], "b")
        mount = self.controller["volumeMounts"][0]
        self.assertEqual((mount["mountPath"], mount["subPath"]), ("/var/run/secrets/kubernetes.io/serviceaccount/ca.crt", "ca.crt"))
        places = {m["name"]: m["mountPath"] for m in self.tee["volumeMounts"]}
        self.assertIn("--ca-dir=" + places[mount["name"]], self.tee["args"])
        self.assertIn("--ca-dir=" + places[mount["name"]], self.authority["args"])

    def test_the_tees_own_key_and_server_are_nobody_elses(self):
        self.assertEqual([m.get("subPath") for m in self.controller["volumeMounts"]], ["ca.crt"])
        self.assertNotIn("volumeMounts", self.other)
        self.assertFalse([e for e in self.tee["env"] if e["name"].startswith("KUBERNETES_SERVICE")])

    def test_the_tee_is_a_sidecar_that_starts_first_and_knows_its_arguments(self):
        self.assertEqual(self.tee["restartPolicy"], "Always")
        known = re.findall(r"^(--[\w-]+)", run(KUBETAPE, "__complete", "tee", "--"), re.MULTILINE)
        for part in (self.authority, self.tee):
            command, *options = part["args"]
            options = options[:options.index("--")] if "--" in options else options
            self.assertEqual((command, part["image"]), ("tee", "kubetape:" + run(KUBETAPE, "--version").split()[1]))
            self.assertEqual([o for o in options if o.split("=")[0] not in known], [])

    def test_tape_and_run_are_smaller_than_their_volume_and_nothing_else_can_be_written(self):
        volume = {v["name"]: v for v in self.pod["volumes"]}["kubetape"]
        limit = [a for a in self.tee["args"] if a.startswith("--max-size=")][0]
        self.assertLess(int(re.search(r"=(\d+)G$", limit)[1]), int(volume["emptyDir"]["sizeLimit"].removesuffix("Gi")))
        self.assertTrue(self.tee["securityContext"]["readOnlyRootFilesystem"])


@unittest.skipUnless(KNOWS_OVERLAYS, "kubectl is too old")
class Sweep(unittest.TestCase):
    def test_every_index_of_the_job_takes_a_part_of_its_own(self):
        job = of_kind(overlay("sweep"), "Job")[0]["spec"]
        parts = [a for a in job["template"]["spec"]["containers"][0]["args"] if a.startswith("--shard=")]
        self.assertEqual((job["completionMode"], job["completions"]), ("Indexed", job["parallelism"]))
        self.assertEqual(parts, [f"--shard=index/{job['completions']}"])

    def test_the_program_takes_the_words_of_the_job(self):
        args = of_kind(overlay("sweep"), "Job")[0]["spec"]["template"]["spec"]["containers"][0]["args"]
        words = args[:args.index("--")]
        done = subprocess.run([KUBETAPE, words[0], TAPE, *words[2:]], capture_output=True, text=True, timeout=60, check=False,
                              env={**os.environ, "JOB_COMPLETION_INDEX": "0"})
        self.assertEqual((done.returncode, done.stderr), (2, "kubetape sweep: no command after '--'\n"))


def packages(stage):
    """The packages that a stage of the Dockerfile installs."""
    stages = read(os.path.join(DEPLOY, "Dockerfile")).replace("\\\n", " ").split("\nFROM ")[1:]
    return set(re.search(r"--no-install-recommends\s+(.*?)&&", stages[stage]).group(1).split())


class Image(unittest.TestCase):
    @unittest.skipUnless(shutil.which("dpkg") and "asan" not in BUILD.split(os.sep), "for the plain Debian build")
    def test_the_image_has_every_library_that_the_program_links_with(self):
        needed = re.findall(r"NEEDED\s+(\S+)", run("objdump", "-p", KUBETAPE))
        found = dict(re.findall(r"^\s+(\S+) => (\S+)", run("ldd", KUBETAPE), re.MULTILINE))
        # dpkg knows /lib, a link to /usr/lib, by either name.
        files = [os.path.realpath(found[name]).removeprefix("/usr") for name in needed if name in found]
        owners = {run("dpkg", "-S", "*" + file).split(":")[0] for file in files}
        self.assertIn("libsqlite3-0", owners)
        self.assertEqual(owners - packages(1) - {"libc6"}, set())

    def test_the_image_is_built_with_every_library_that_the_makefile_wants(self):
        makefile = read(os.path.join(ROOT, "Makefile")).replace("\\\n", " ")
        deps = re.search(r"^DEPS := (.*)$", makefile, re.MULTILINE).group(1)
        libraries = {d for d in deps.split() if re.match(r"lib.*-dev$", d)} - {"libclang-rt-dev"}
        self.assertGreaterEqual(len(libraries), 9)
        self.assertEqual(libraries - packages(0), set())

    def test_the_image_is_built_from_all_the_sources(self):
        copied = re.findall(r"^COPY (\w+) \1$", read(os.path.join(DEPLOY, "Dockerfile")), re.MULTILINE)
        kept = re.findall(r"^!(\w+)$", read(os.path.join(DEPLOY, "Dockerfile.dockerignore")), re.MULTILINE)
        self.assertEqual(copied, ["recorder", "replayer", "schema", "tools"])
        self.assertEqual(set(copied) - set(kept), set())


if __name__ == "__main__":
    unittest.main()
