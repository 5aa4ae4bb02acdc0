"""Whatever stands on a tape, in a run or in a server's words: no command gives a terminal orders, or turns its text around."""
import json
import os
import pty
import re
import shutil
import subprocess

from tapes import DEPLOYMENTS, KUBETAPE, PODS, SECOND, START, TapeTest, event, pod

# Clearing the screen, a window's title, a carriage return, C1 as a character, DEL; from right to left; ends of lines.
ORDERS = "\x1b[2J\x1b]0;t\x07\r\u009b5n\x7f\u202egnp\u2066\u200f\u061c\u2028"
# Bytes as they arrive: line feeds and tabs are ours.
ACTIVE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f]")


def evil(text):
    return text + ORDERS


CRD = {"kind": "CustomResourceDefinition", "apiVersion": "apiextensions.k8s.io/v1",
       "metadata": {"name": "widgets.evil.io", "uid": "crd", "resourceVersion": "1"},
       "spec": {"group": "evil.io", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
                "versions": [{"name": "v1", "served": True, "storage": True, "additionalPrinterColumns": [
                    {"name": evil("COLUMN"), "type": "string", "jsonPath": ".spec.a"}]}]}}
CRDS = {"group": "apiextensions.k8s.io", "version": "v1", "resource": "customresourcedefinitions",
        "kind": "CustomResourceDefinition", "namespaced": False}
WIDGETS = {"group": "evil.io", "version": "v1", "resource": "widgets", "kind": evil("Widget"), "namespaced": True}


def evil_pod(rv, phase):
    return pod(evil("web"), "u1", rv, namespace=evil("shop"), metadata={"labels": {evil("k"): evil("v")}},
               status={"phase": evil(phase), evil("key"): evil(phase)})


class Terminal(TapeTest):
    rows = [
        {"connection": "watch", "stream": PODS, "begin_ns": START, "duration_ns": SECOND, "end_reason": evil("cut")},
        event(0, "ADDED", CRD, CRDS, origin="list"),
        event(0, "ADDED", evil_pod(10, "Pending"), origin="list"),
        event(1, "MODIFIED", evil_pod(11, "Running")),
        event(2, "ADDED", {"kind": "Widget", "apiVersion": "evil.io/v1", "metadata": {
            "name": evil("w"), "namespace": "shop", "uid": "u2", "resourceVersion": "12"}, "spec": {"a": evil("a")}}, WIDGETS),
        event(3, "ADDED", {"kind": "Deployment", "apiVersion": "apps/v1", "metadata": {
            "name": "web", "namespace": "shop", "uid": "u3", "resourceVersion": "13"}, "x": evil("x")}, DEPLOYMENTS),
        {"gap": evil("reset"), "how_ended": evil("relist"), "stream": PODS, "begin_ns": START + 2 * SECOND,
         "end_ns": START + 3 * SECOND, "duration_ns": SECOND, "begin_seq": 3, "end_seq": 4, "deleted": 1},
        {"missed": "deleted", "gap_id": 1, "stream": PODS, "namespace": evil("n"), "name": evil("m"), "uid": evil("u")},
    ]

    def commands(self):
        odd = os.path.join(self.dir, evil("x") + ".tape")
        shutil.copytree(self.tape, odd)
        return [["info", self.tape], ["info", odd], ["gaps", self.tape], ["gaps", "-a", "--json", self.tape], ["verify", odd],
                ["get", self.tape, "pods"], ["get", self.tape, "widgets.evil.io"], ["get", self.tape, "widgets.evil.io", "-o", "name"],
                ["get", self.tape, "pods", "-o", "json"], ["get", self.tape, "pods", "-o", "yaml"], ["get", self.tape, "pods,deploy"],
                ["get", self.tape, "deploy", "-o", "json"], ["log", self.tape, "u1"], ["log", self.tape, "u1", "--json"],
                ["diff-state", self.tape, "2", "3"], ["diff-state", self.tape, "start", "--json"],
                *(["query", self.tape, f"SELECT * FROM {t}"] for t in ("events", "objects", "changes", "gaps", "missed", "connections")),
                ["query", self.tape, "SELECT * FROM events", "--format", "json"],
                ["query", self.tape, f'SELECT 1 AS "{evil("a")}"'], ["query", self.tape, f'SELECT "{evil("no")}" FROM none'],
                ["export", self.tape, "--format", "trace"], ["recover", self.tape, "-o", os.path.join(self.dir, "r.tape")],
                ["nosuch" + ORDERS], ["info", "--no" + ORDERS], ["get", self.tape, "nosuch" + ORDERS],
                ["replay", self.tape, "--gap", evil("#1")], ["replay", self.tape, "--from", ORDERS]]

    def test_no_command_prints_an_active_character(self):
        for args in self.commands():
            with self.subTest(args=args):
                done = self.run_tape(*args)
                self.assertEqual(ACTIVE.findall(done.stdout + done.stderr), [])

    def test_json_and_yaml_mean_what_the_tape_holds(self):
        done = self.run_tape("get", self.tape, "pods/" + evil("web"), "-o", "json")
        self.assertEqual(json.loads(done.stdout), evil_pod(11, "Running"))
        line = ('{"type":"ADDED","time_ns":1700000009000000000,"stream":{"version":"v1","resource":"pods"},"object":'
                '{"kind":"Pod","metadata":{"name":"raw\x1b[2J","uid":"x\u202e","y":"a\\\\\\"\x9b"}}}')
        self.make_tape(self.tape, [line])
        done = self.run_tape("get", self.tape, "pods/raw\x1b[2J", "-o", "json")
        self.assertEqual(json.loads(done.stdout)["metadata"], {"name": "raw\x1b[2J", "uid": "x\u202e", "y": 'a\\"\x9b'})

    def test_forms_for_programs_are_exact_in_files_and_harmless_on_a_terminal(self):
        for args in (["export", self.tape], ["query", self.tape, "SELECT object, name FROM events", "--format", "csv"],
                     ["export", self.tape, "--format", "csv"]):
            with self.subTest(args=args):
                master, slave = pty.openpty()
                child = subprocess.Popen([KUBETAPE, *args], stdin=subprocess.DEVNULL, stdout=slave, stderr=slave)
                os.close(slave)
                shown = self.read_terminal(master)
                self.assertEqual(child.wait(timeout=60), 0)
                self.assertEqual(ACTIVE.findall(shown.replace("\r\n", "\n")), [])
                self.assertNotEqual(ACTIVE.findall(self.run_tape(*args).stdout), [])

    def read_terminal(self, master):
        shown = b""
        try:
            while part := os.read(master, 65536):
                shown += part
        except OSError:  # the other end is closed
            pass
        os.close(master)
        return shown.decode()

    def test_words_of_clients_in_a_report_are_harmless(self):
        script = ("import os, re, urllib.request as u; kc = open(os.environ['KUBECONFIG']).read(); "
                  "url = re.search('https?://[0-9.:]+', kc)[0]; u.urlopen(u.Request(url + '/version', headers={'User-Agent': 'a\\xc2\\x9b5n\\xe2\\x80\\xae'.encode('latin-1')}))")
        done = self.run_tape("replay", self.tape, "--plain", "--wait-watchers", "0", "--report", "-", "--", "python3", "-c", script)
        self.assertIn("client       a", done.stderr)
        self.assertEqual(ACTIVE.findall(done.stderr), [])

    def test_what_sqlite_says_of_a_strangers_run_is_harmless(self):
        import sqlite3
        path = os.path.join(self.dir, "x.run")
        with sqlite3.connect(path) as db:
            db.execute(f'CREATE TABLE "a{ORDERS}" (b)')
        db.close()
        with open(path, "r+b") as file:
            data = file.read().replace(b"CREATE TABLE", b"CREATE FABLE")
            file.seek(0)
            file.write(data)
        for args in (["query", self.tape, "--run", path, "SELECT 1"], ["diff", path, path], ["export", self.tape, "--format", "trace", "--run", path]):
            done = self.run_tape(*args)
            self.assertNotEqual(done.returncode, 0)
            self.assertEqual(ACTIVE.findall(done.stderr), [])
            self.assertEqual(done.stderr.count("\n"), 1)
