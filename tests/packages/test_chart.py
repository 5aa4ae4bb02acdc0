"""The Helm chart and what watches the recorder: read by the tools that read them, and compared with the plain manifests."""
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import yaml

from roots import ROOT, TAPE, newest, run

CHART = os.path.join(ROOT, "tools", "deploy", "chart")
BASE = os.path.join(ROOT, "tools", "deploy", "kubernetes", "base")
ALERTS = os.path.join(CHART, "files", "alerts.yaml")
MONITORING = ("metrics.serviceMonitor.enabled=true", "metrics.rules.enabled=true", "metrics.dashboard.enabled=true")
HELM = shutil.which("helm") or os.path.join(ROOT, "build", "tools", "helm")
KUBETAPE = os.path.join(ROOT, "build", "kubetape")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def render(*values, release="rec"):
    settings = [word for value in values for word in ("--set", value)]
    out = run(HELM, "template", release, newest("kubetape-chart-", ".tgz"), "--namespace", "tapes", "--kube-version", "1.34", *settings)
    return [o for o in yaml.safe_load_all(out) if o]


def of_kind(objects, kind):
    return [o for o in objects if o["kind"] == kind]


def metrics():
    """The names of all metrics, as a recorder serves them: it records a replay of the bundled tape, and would push it."""
    with tempfile.TemporaryDirectory(prefix="kubetape-metrics-") as home:
        script = f'{KUBETAPE} record pods -o {home}/Y.tape --metrics 0 --push clickhouse+http://127.0.0.1:1/tapes --retry-for 1s 2>{home}/log & pid=$!; ' \
            f'for i in $(seq 600); do url=$(sed -n "s/.*metrics at //p" {home}/log); ' \
            f'[ -n "$url" ] && grep -q "^recording" {home}/log && break; sleep 0.1; done; curl -fsS "$url"; kill $pid; wait $pid || true'
        text = subprocess.run([KUBETAPE, "replay", TAPE, "--", "sh", "-c", script], capture_output=True, text=True,
                              timeout=120, check=True).stdout
    return set(re.findall(r"^# TYPE (\S+) ", text, re.MULTILINE))


@unittest.skipUnless(os.access(HELM, os.X_OK), "no helm here")
class Chart(unittest.TestCase):

    def test_helm_finds_nothing_wrong_with_it(self):
        self.assertIn("0 chart(s) failed", run(HELM, "lint", "--strict", CHART))

    def test_values_that_mean_nothing_are_refused(self):
        for value in ("record.exclude=secrets", "record.excludes={secrets}", "metrics.port=abc", "retention.maxAge=30", "retention.maxsize=1G",
                      "retention.maxSize=lots", "volume.size=20GB"):
            with self.subTest(value):
                done = subprocess.run([HELM, "template", "rec", CHART, "--kube-version", "1.34", "--set", value], capture_output=True, text=True, check=False)
                self.assertNotEqual(done.returncode, 0, done.stdout)
                self.assertIn(value.split(".")[0], done.stderr)

    def test_two_releases_of_one_name_stand_side_by_side_in_two_namespaces(self):
        def names(namespace):
            out = run(HELM, "template", "rec", CHART, "--namespace", namespace, "--kube-version", "1.34")
            return {(o["kind"], o["metadata"]["name"]) for o in yaml.safe_load_all(out) if o and "namespace" not in o["metadata"]}
        self.assertEqual({kind for kind, _ in names("a")}, {"ClusterRole", "ClusterRoleBinding"})
        self.assertEqual(names("a") & names("b"), set())

    def test_a_release_with_dots_or_a_digit_in_front_has_names_that_a_service_may_have(self):
        for release in ("eu.west-1", "1cluster", "kubetape.eu"):
            with self.subTest(release):
                for name in (o["metadata"]["name"] for o in render(release=release) if o["kind"] in ("Service", "StatefulSet")):
                    self.assertRegex(name, "^[a-z]([-a-z0-9]{,61}[a-z0-9])?$")

    def test_limits_may_be_numbers_of_bytes(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as values:
            values.write("retention: {maxSize: 17179869184, keepFree: 1073741824}")
            values.flush()
            out = run(HELM, "template", "rec", newest("kubetape-chart-", ".tgz"), "--kube-version", "1.34", "--values", values.name)
        self.assertIn('"--max-size=17179869184"', out)
        self.assertIn('"--keep-free=1073741824"', out)

    def test_a_volume_that_is_there_already_is_taken(self):
        made = of_kind(render("volume.existingClaim=restored"), "StatefulSet")[0]["spec"]
        self.assertNotIn("volumeClaimTemplates", made)
        self.assertIn({"name": "tape", "persistentVolumeClaim": {"claimName": "restored"}}, made["template"]["spec"]["volumes"])

    def test_it_is_of_the_version_of_the_program(self):
        version = run(KUBETAPE, "--version").split()[1]
        chart = yaml.safe_load(read(os.path.join(CHART, "Chart.yaml")))
        self.assertEqual((chart["version"], chart["appVersion"]), (version, version))

    def test_without_values_it_runs_the_recorder_of_the_plain_manifests(self):
        plain = yaml.safe_load(read(os.path.join(BASE, "statefulset.yaml")))["spec"]["template"]["spec"]
        made = of_kind(render(), "StatefulSet")[0]["spec"]["template"]["spec"]
        for pod in (plain, made):
            del pod["serviceAccountName"]
            pod["containers"][0].pop("imagePullPolicy", None)
        self.assertEqual(made, plain)

    def test_its_rights_are_those_of_the_plain_manifests(self):
        plain = [o for o in yaml.safe_load_all(read(os.path.join(BASE, "rbac.yaml"))) if o["kind"] == "ClusterRole"][0]
        self.assertEqual(of_kind(render(), "ClusterRole")[0]["rules"], plain["rules"])

    def test_logs_may_be_read_exactly_if_they_are_recorded(self):
        for values, wanted in (((), False), (("record.logs=true",), True)):
            made = render(*values)
            self.assertEqual(any("pods/log" in r.get("resources", []) for r in of_kind(made, "ClusterRole")[0]["rules"]), wanted)
            self.assertEqual("--logs" in of_kind(made, "StatefulSet")[0]["spec"]["template"]["spec"]["containers"][0]["args"], wanted)

    def test_secrets_may_be_read_exactly_if_they_are_recorded(self):
        def may_read(objects):
            return any("secrets" in r.get("resources", []) or "*" in r.get("apiGroups", []) for r in of_kind(objects, "ClusterRole")[0]["rules"])

        def leaves_out(objects):
            return "--exclude=secrets" in of_kind(objects, "StatefulSet")[0]["spec"]["template"]["spec"]["containers"][0]["args"]
        for values in ((), ("record.exclude={}",), ("record.exclude={events}",), ("record.everything=true",), ("record.resources={secrets}",)):
            with self.subTest(values=values):
                made = render(*values)
                self.assertEqual(may_read(made), not leaves_out(made))

        for name, is_secret in (("secret", True), ("Secret", True), ("secrets.v1.", True), ("secrets.example.com", False)):
            with self.subTest(name=name):
                self.assertEqual(may_read(render(f"record.resources={{{name},pods}}")), is_secret)

    def test_what_is_to_be_left_out_is_left_out_also_of_everything(self):
        args = of_kind(render("record.everything=true", "record.exclude={secrets,leases}"), "StatefulSet")[0]["spec"]["template"]["spec"]["containers"][0]["args"]
        self.assertEqual([a for a in args if a.startswith("--exclude")], ["--exclude=secrets", "--exclude=leases"])

    def test_credentials_for_a_push_have_a_place(self):
        made = render("envFrom[0].secretRef.name=store", "serviceAccount.annotations.role=r")
        self.assertEqual(of_kind(made, "StatefulSet")[0]["spec"]["template"]["spec"]["containers"][0]["envFrom"], [{"secretRef": {"name": "store"}}])
        self.assertEqual(of_kind(made, "ServiceAccount")[0]["metadata"]["annotations"], {"role": "r"})

    def test_no_right_goes_beyond_reading(self):
        for values in ((), ("record.everything=true",)):
            for rule in of_kind(render(*values), "ClusterRole")[0]["rules"]:
                self.assertLessEqual(set(rule["verbs"]), {"get", "list", "watch"})

    def test_monitoring_is_there_if_asked_for(self):
        self.assertEqual({o["kind"] for o in render()} & {"ServiceMonitor", "PrometheusRule", "ConfigMap"}, set())
        made = render(*MONITORING)
        rule = of_kind(made, "PrometheusRule")[0]
        self.assertEqual(rule["spec"], yaml.safe_load(read(ALERTS)))
        service = of_kind(made, "Service")[0]
        monitor = of_kind(made, "ServiceMonitor")[0]["spec"]
        self.assertLessEqual(monitor["selector"]["matchLabels"].items(), service["metadata"]["labels"].items())
        self.assertEqual(monitor["endpoints"][0]["port"], service["spec"]["ports"][0]["name"])
        self.assertEqual(json.loads(of_kind(made, "ConfigMap")[0]["data"]["kubetape.json"])["title"], "kubetape")


class Monitoring(unittest.TestCase):

    @unittest.skipUnless(shutil.which("promtool"), "no promtool here")
    def test_promtool_finds_nothing_wrong_with_the_alerts(self):
        self.assertIn("SUCCESS", run("promtool", "check", "rules", ALERTS))

    @unittest.skipUnless(shutil.which("promtool"), "no promtool here")
    def test_a_disk_that_takes_nothing_raises_the_alert_and_one_that_does_raises_none(self):
        series = [{"series": f'kubetape_tape_writable{{job="{job}"}}', "values": f"{value}+0x10"} for job, value in (("bad", 0), ("good", 1))]
        series += [{"series": 'kubetape_build_info{job="good"}', "values": "1+0x10"}]
        wanted = {"eval_time": "5m", "alertname": "KubetapeTapeNotWritable", "exp_alerts": [{
            "exp_labels": {"severity": "critical", "job": "bad"},
            "exp_annotations": yaml.safe_load(read(ALERTS))["groups"][0]["rules"][1]["annotations"]}]}
        quiet = {"eval_time": "9m", "alertname": "KubetapeDown", "exp_alerts": []}
        with tempfile.TemporaryDirectory(prefix="kubetape-rules-") as home:
            path = os.path.join(home, "test.yaml")
            with open(path, "w", encoding="utf-8") as file:
                json.dump({"rule_files": [ALERTS], "tests": [{"interval": "1m", "input_series": series, "alert_rule_test": [wanted, quiet]}]}, file)
            self.assertIn("SUCCESS", run("promtool", "test", "rules", path))

    def test_alerts_and_board_speak_only_of_metrics_that_the_recorder_serves(self):
        served = metrics()
        self.assertGreater(len(served), 20)
        text = read(ALERTS) + read(os.path.join(CHART, "files", "dashboard.json"))
        named = {re.sub("_bucket$", "", name) for name in re.findall(r"\b(?:kubetape|process)_[a-z_]+\b", text)}
        self.assertGreater(len(named), 10)
        self.assertEqual(named - served, set())


if __name__ == "__main__":
    unittest.main()
