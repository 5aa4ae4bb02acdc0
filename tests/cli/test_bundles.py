"""kubetape import of bundles: must-gather, support-bundle, crust-gather, as folders and archives, and of broken ones."""
import io
import json
import os
import shutil
import subprocess
import tarfile
import unittest

import bundles
from tapes import KUBETAPE, TapeTest

FORMS = {"must-gather": bundles.must_gather, "support-bundle": bundles.support_bundle, "crust-gather": bundles.crust_gather}


class Bundle(TapeTest):
    def path(self, name):
        return os.path.join(self.dir, name)

    def load(self, path, *args, code=0, stderr=""):
        done = self.run_tape("import", path, "-o", self.tape, *args)
        self.assertEqual((done.returncode, done.stderr), (code, stderr))
        return done.stdout

    def load_files(self, files, *args, **more):
        return self.load(bundles.write_folder(self.path("in"), files), *args, **more)

    def refuse(self, path, sentence, code=1, *args):
        self.assert_fails(self.run_tape("import", path, "-o", self.tape, *args), code, sentence)
        self.nothing_is_left()

    def nothing_is_left(self):
        self.assertEqual([n for n in os.listdir(self.dir) if "x.tape" in n], [], "nothing half made is left")

    def objects(self):
        return [tuple(row.values()) for row in self.query("SELECT resource, namespace, name, rv FROM objects ORDER BY 1, 2, 3")]


class Forms(Bundle):
    def test_every_container_of_a_form_makes_the_same_tape(self):
        for form, make in FORMS.items():
            files, seen = make(), set()
            for name, write in (("d", bundles.write_folder), ("t.tar", lambda p, f: bundles.write_tar(p, f, "w:")), ("t.tgz", bundles.write_tar),
                                ("t.xz", lambda p, f: bundles.write_tar(p, f, "w:xz")), ("z.zip", bundles.write_zip)):
                tape = self.path(f"{form}.{name}.tape")
                done = self.run_tape("import", write(self.path(form + name), files), "-o", tape, "--secrets=keep")
                self.assertEqual((done.returncode, done.stderr), (0, ""), (form, name))
                rows = self.run_tape("query", tape, "SELECT time, type, resource, namespace, name, rv, object FROM events ORDER BY 3, 4, 5",
                                     "--format", "ndjson").stdout
                seen.add(rows if form != "support-bundle" else "".join(json.dumps({**json.loads(r), "time": 0}) for r in rows.splitlines()))
            self.assertEqual(len(seen), 1, form)

    def test_must_gather_takes_the_newest_of_an_object_at_the_moment_of_its_end(self):
        out = self.load_files(bundles.must_gather())
        self.assertIn("not taken in: 3 logs, 1 audit log, 2 other files", out)
        self.assertEqual(self.objects(), [("leafmen", "shop", "one", "44"), ("namespaces", "", "shop", "3"), ("nodes", "", "n1", "5"),
                                          ("pods", "shop", "web-0", "12"), ("pods", "shop", "web-1", "11"), ("secrets", "shop", "key", "9")])
        self.assertEqual(self.query("SELECT DISTINCT time, origin FROM events"), [{"time": bundles.MOMENT, "origin": "list"}])
        self.assertEqual(self.query("SELECT jget(object, '$.status.phase') AS phase, jget(object, '$.spec.containers[0].image') AS image "
                                    "FROM events WHERE name = 'web-0'"), [{"phase": "Running", "image": "x<1>&"}])
        self.assertNotIn("aHVzaA==", self.run_tape("export", self.tape, "--table", "all").stdout)
        told = self.query("SELECT purpose, content_type FROM connections")
        self.assertEqual(told, [{"purpose": "import", "content_type": "must-gather: a snapshot, nothing was watched, its own moment, "
                                 "no discovery: names of resources from paths and definitions"}])

    def test_lists_that_are_whole_are_known_and_folders_of_objects_are_not(self):
        self.load_files(bundles.must_gather())
        states = {(r["resource"], r["namespace"]): r["certainty"] for r in self.query("SELECT resource, namespace, certainty FROM coverage")}
        self.assertEqual(states, {("pods", "shop"): "watched", ("secrets", "shop"): "watched", ("deployments", "shop"): "watched",
                                  ("configmaps", "shop"): "watched", ("nodes", ""): "untold", ("namespaces", ""): "untold",
                                  ("leafmen", "shop"): "untold", ("leafmen", ""): "watched"})
        self.assertEqual({r["reason"] for r in self.query("SELECT reason FROM gaps WHERE how_ended = 'open'")}, {"snapshot"})
        for args, code, words in ((("pods", "-n", "shop"), 0, ""), (("deploy", "-n", "shop"), 0, ""), (("pods", "-n", "other"), 3, "were not recorded"),
                                  (("nodes",), 3, "does not tell when"),
                                  (("pods", "-n", "shop", "--at", "2026-08-07T15:30Z"), 3, "after the end of the tape"),
                                  (("pods", "-n", "shop", "--at", "2026-08-07T15:00Z"), 3, "before the beginning of the tape")):
            done = self.run_tape("get", self.tape, *args)
            self.assertEqual(done.returncode, code, (args, done.stderr))
            self.assertIn(words, done.stderr)
        self.assertEqual(self.run_tape("log", self.tape, "pods/web-0", "-n", "shop").returncode, 0)

    def test_support_bundle_brings_the_names_that_its_discovery_has(self):
        self.load_files(bundles.support_bundle())
        self.assertEqual(self.objects(), [("customresourcedefinitions", "", "leafmen.stable.example.com", "7"), ("leafmen", "shop", "one", "44"),
                                          ("namespaces", "", "shop", "3"), ("persistentvolumeclaims", "shop", "d", "8"), ("pods", "shop", "web-0", "12")])
        self.assertEqual({r["path"] for r in self.query("SELECT path FROM documents")},
                         {"/api", "/apis", "/api/v1", "/apis/stable.example.com/v1", "/version"})
        for namespace in ("shop", "empty"):
            self.assertEqual(self.run_tape("get", self.tape, "pods,lm", "-n", namespace).returncode, 0, namespace)

    def test_lists_of_old_support_bundles_are_of_what_their_folder_is_called(self):
        at = "old/cluster-resources/"
        items = [{"metadata": {"name": "d", "namespace": "shop", "uid": "v-1", "resourceVersion": "8"}}]
        self.load_files({at + "pvcs/shop.json": json.dumps({"metadata": {"resourceVersion": "9"}, "items": items}),
                         at + "storage-classes.json": json.dumps({"metadata": {"resourceVersion": "9"}, "items": []})})
        self.assertEqual(self.objects(), [("persistentvolumeclaims", "shop", "d", "8")])
        self.assertEqual(self.run_tape("get", self.tape, "sc").returncode, 0)

    def test_the_moment_is_that_of_the_files_where_the_bundle_tells_none(self):
        self.load(bundles.write_tar(self.path("b.tgz"), bundles.support_bundle()))
        self.assertEqual(self.query("SELECT DISTINCT time_ns FROM events"), [{"time_ns": 1786116061 * 10**9}])
        self.assertIn("the moment of its newest file", self.query("SELECT content_type FROM connections")[0]["content_type"])

    def test_times_of_objects_and_of_reading_can_be_asked_for(self):
        path = bundles.write_folder(self.path("in"), bundles.crust_gather())
        self.run_tape("import", path, "-o", self.tape, "--times=objects")
        self.assertEqual(self.query("SELECT DISTINCT time FROM events"), [{"time": "2026-08-07T15:00:00.000000000Z"}])
        self.tape = self.path("y.tape")
        self.run_tape("import", path, "-o", self.tape, "--times=now")
        self.assertEqual(self.query("SELECT count(*) AS n FROM events WHERE time > '2026-08-08'"), [{"n": 3}])

    def test_crust_gather_brings_aggregated_discovery(self):
        self.load_files(bundles.crust_gather())
        self.assertEqual(self.objects(), [("leafmen", "shop", "one", "44"), ("nodes", "", "n1", "5"), ("pods", "shop", "web-0", "12")])
        self.assertEqual([tuple(r.values()) for r in self.query("SELECT path, variant FROM documents ORDER BY path")],
                         [("/api", "aggregated"), ("/apis", "aggregated"), ("/version", "")])

    def test_crust_gather_tars_whose_sizes_are_one_too_large_are_read(self):
        self.load(bundles.write_off_by_one(self.path("b.tar"), bundles.crust_gather()))
        self.assertEqual(len(self.objects()), 3)

    def test_a_file_that_such_a_tar_swallows_is_told(self):
        files = bundles.crust_gather()
        name = "gathered/namespaces/shop/v1/pod/full.yaml"
        text = bundles.to_yaml(bundles.pod("full", "p-7", 70)) + "\n# "
        whole = {name: text + "x" * (-len(text) % 512), **files}
        out = self.load(bundles.write_off_by_one(self.path("b.tar"), whole), "--from=crust-gather", code=3)
        self.assertIn("at least 1 file lost", out)
        self.assertIn(("pods", "shop", "full", "70"), self.objects())

    def test_a_recording_of_crust_gather_is_played(self):
        self.load_files(bundles.crust_record())
        rows = self.query("SELECT substr(time, 15, 7) AS at, type, origin, uid, rv, jget(object, '$.status.phase') AS phase FROM events ORDER BY seq")
        self.assertEqual([tuple(r.values()) for r in rows], [
            ("20:01.5", "ADDED", "watch", "p-0", "12", "Pending"), ("20:02.0", "MODIFIED", "watch", "p-0", "13", "Running"),
            ("20:04.0", "DELETED", "watch", "p-0", "14", "Running"), ("20:05.0", "ADDED", "watch", "p-9", "20", "Running")])
        self.assertIn("a recording without its gaps", self.query("SELECT content_type FROM connections")[0]["content_type"])
        self.assertEqual(self.run_tape("verify", self.tape).returncode, 0)

    def test_two_bundles_of_a_cluster_become_one_tape(self):
        files = bundles.must_gather()
        self.load_files(files)
        later = {path: text.replace("2026-08-07 15:2", "2026-08-07 16:2").replace("2026-08-07 17:2", "2026-08-07 18:2") for path, text in files.items()}
        shop = "must-gather.local.1/quay-io-x-sha256-1/namespaces/shop/"
        del later[shop + "pods/web-0/web-0.yaml"]
        later[shop + "core/pods.yaml"] = bundles.to_yaml(bundles.list_of("v1", "PodList", "90", bundles.pod("web-0", "p-0", 80, phase="Failed")))
        first, self.tape = self.tape, self.path("y.tape")
        self.load(bundles.write_folder(self.path("later"), later))
        both = self.path("both.tape")
        self.assertEqual(self.run_tape("merge", first, self.tape, "-o", both).returncode, 0)
        self.tape = both
        self.assertEqual(self.query("SELECT reason, how_ended, substr(begin, 12, 5) AS begin FROM gaps WHERE resource = 'pods' ORDER BY begin"),
                         [{"reason": "snapshot", "how_ended": "relist", "begin": "15:21"}, {"reason": "snapshot", "how_ended": "open", "begin": "16:21"}])
        done = self.run_tape("diff-state", both, "15:21:02", "end", "-r", "pods")
        self.assertIn("- pods shop/web-1", done.stdout)
        self.assertEqual(self.run_tape("get", both, "pods", "-n", "shop").returncode, 0)

    @unittest.skipUnless(shutil.which("kubectl"), "no kubectl on the PATH")
    def test_kubectl_reads_a_replay_of_every_form(self):
        for form, make in FORMS.items():
            tape = self.path(form + ".tape")
            self.run_tape("import", bundles.write_folder(self.path(form), make()), "-o", tape)
            said = self.run_tape("replay", tape, "--", "sh", "-c", "kubectl get pods,leafmen -A --no-headers -o name && kubectl get pod web-0 -n shop "
                                 "-o 'jsonpath={.status.phase}' && kubectl describe pod web-0 -n shop | head -n 1").stdout
            for words in ("pod/web-0", "leafman.stable.example.com/one", "Running", "web-0"):
                self.assertIn(words, said, form)

    def test_one_file_is_made_as_well(self):
        self.tape = self.path("case.ktape")
        self.load_files(bundles.must_gather())
        self.assertEqual(len(self.objects()), 6)

    def test_a_form_can_be_named_where_nothing_tells_it(self):
        files = {"x/namespaces/shop/apps/deployments.yaml": bundles.to_yaml(bundles.list_of("apps/v1", "DeploymentList", "1", bundles.thing(
            "apps/v1", "Deployment", "web", "d", 1, "shop")))}
        path = bundles.write_folder(self.path("in"), files)
        self.refuse(path, "is no bundle", 2)
        self.load(path, "--from=must-gather")
        self.assertEqual(self.objects(), [("deployments", "shop", "web", "1")])


class Broken(Bundle):
    def test_a_file_that_is_broken_is_told_with_its_line_and_the_rest_comes(self):
        files = bundles.must_gather()
        bad = "must-gather.local.1/quay-io-x-sha256-1/namespaces/shop/core/pods.yaml"
        files[bad] = "apiVersion: v1\nkind: PodList\nitems:\n- [\n"
        path = bundles.write_folder(self.path("in"), files)
        done = self.run_tape("import", path, "-o", self.tape, "--json")
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stderr, rf"^kubetape import: left out: '{bad}' of '.*', line \d: not a YAML document\n$")
        self.assertEqual(json.loads(done.stdout)["left_out"], 1)
        self.assertIn(("pods", "shop", "web-0", "12"), self.objects())

    def test_broken_json_and_patches_are_told_with_their_lines(self):
        files = bundles.support_bundle()
        files["support-bundle-2026-08-07T15_21_01/cluster-resources/pvcs/shop.json"] = '{\n"kind": "List",\n"items": [}\n'
        out = self.run_tape("import", bundles.write_folder(self.path("a"), files), "-o", self.tape)
        self.assertIn("pvcs/shop.json' of", out.stderr)
        self.assertIn("line 3: bad JSON", out.stderr)
        files = bundles.crust_record()
        files["recorded/namespaces/shop/v1/pod/web-0.patch"] += '[{"op": "remove", "path": "/none"}]\n'
        out = self.run_tape("import", bundles.write_folder(self.path("b"), files), "-o", self.path("y.tape"))
        self.assertEqual((out.returncode, "web-0.patch' of" in out.stderr, "line 5" in out.stderr), (3, True, True), out.stderr)

    def test_many_broken_files_are_counted(self):
        files = {**bundles.crust_gather(), **{f"gathered/cluster/v1/node/b{i}.yaml": "[" for i in range(20)}}
        done = self.run_tape("import", bundles.write_folder(self.path("in"), files), "-o", self.tape)
        self.assertEqual((done.returncode, done.stderr.count("\n"), done.stderr.endswith("and 12 more\n")), (3, 9, True))

    def test_damaged_archives_are_refused_and_leave_nothing(self):
        """Where the damage lies decides whether a file that is read before it is noticed makes sense: that is told, too."""
        path = bundles.write_tar(self.path("b.tgz"), {**bundles.must_gather(), "x.log": os.urandom(200000).hex()})
        with open(path, "rb") as file:
            whole = file.read()
        for number, bytes_ in enumerate((whole[:300], whole[:len(whole) // 2], whole[:-9], whole[:1000] + b"\xff" * 50 + whole[1050:])):
            with open(path, "wb") as file:
                file.write(bytes_)
            with self.subTest(number=number):
                done = self.run_tape("import", path, "-o", self.tape)
                *left_out, last = done.stderr.splitlines()
                self.assertEqual([line for line in left_out if not line.startswith("kubetape import: left out: ")], [])
                self.assertRegex(last, "^kubetape import: .* is a damaged archive")
                self.assertEqual(done.returncode, 1)
                self.nothing_is_left()

    def test_what_is_no_bundle_is_refused(self):
        self.refuse(bundles.write_folder(self.path("d"), {"a/b.txt": "x"}), "is no bundle", 2)
        self.refuse(bundles.write_tar(self.path("t"), {"a/b.txt": "x"}), "is no bundle", 2)
        os.mkdir(self.path("none"))
        self.refuse(self.path("none"), "is no bundle", 2)

    def test_a_bundle_without_objects_is_a_failure(self):
        path = bundles.write_folder(self.path("d"), {"cluster-scoped-resources/core/x.txt": "a"})
        self.refuse(path, "there is nothing to import in")

    def test_a_tape_that_is_there_stays(self):
        path = bundles.write_folder(self.path("in"), bundles.must_gather())
        self.load(path)
        self.assert_fails(self.run_tape("import", path, "-o", self.tape), 2, "exists already")
        self.assertEqual(len(self.objects()), 6)

    def test_names_links_and_devices_of_an_archive_lead_nowhere(self):
        path, outside = self.path("b.tar"), self.path("outside")
        with tarfile.open(path, "w") as tar:
            def add(name, kind, link="", data=b""):
                entry = tarfile.TarInfo(name)
                entry.type, entry.linkname, entry.size = kind, link, len(data)
                tar.addfile(entry, io.BytesIO(data))
            node = bundles.to_yaml(bundles.thing("v1", "Node", "n1", "n-1", 5)).encode()
            add("../../cluster-scoped-resources/core/nodes/n1.yaml", tarfile.REGTYPE, data=node)
            add("cluster-scoped-resources/core/nodes/passwd.yaml", tarfile.SYMTYPE, "/etc/passwd")
            add("cluster-scoped-resources/core/nodes/hard.yaml", tarfile.LNKTYPE, outside)
            add("cluster-scoped-resources/core/nodes/zero.yaml", tarfile.CHRTYPE)
            add(outside, tarfile.REGTYPE, data=b"x")
        self.load(path)
        self.assertEqual(self.objects(), [("nodes", "", "n1", "5")])
        self.assertFalse(os.path.exists(outside))

    def test_links_and_pipes_of_a_folder_are_not_followed(self):
        folder = bundles.write_folder(self.path("in"), bundles.must_gather())
        nodes = os.path.join(folder, "must-gather.local.1/quay-io-x-sha256-1/cluster-scoped-resources/core/nodes")
        os.symlink("/etc/passwd", os.path.join(nodes, "passwd.yaml"))
        os.symlink(folder, os.path.join(nodes, "loop"))
        os.mkfifo(os.path.join(nodes, "pipe.yaml"))
        self.load(folder)
        self.assertEqual(len(self.objects()), 6)

    def test_a_bomb_is_bounded_in_memory(self):
        name = "cluster-scoped-resources/core/nodes/big.yaml"
        files = {"cluster-scoped-resources/core/nodes/n1.yaml": bundles.to_yaml(bundles.thing("v1", "Node", "n1", "n-1", 5)), name: "a" * (300 << 20)}
        path = bundles.write_tar(self.path("b.tgz"), files)
        done = subprocess.run(["sh", "-c", 'ulimit -v 1500000; exec "$@"', "sh", KUBETAPE, "import", path, "-o", self.tape], capture_output=True,
                              text=True, timeout=120, check=False) if "asan" not in KUBETAPE else self.run_tape("import", path, "-o", self.tape)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("the file has more than", done.stderr)
        self.assertEqual(self.objects(), [("nodes", "", "n1", "5")])

    def test_an_archive_from_a_pipe_says_what_to_do(self):
        path = bundles.write_tar(self.path("b.tgz"), bundles.must_gather())
        with open(path, "rb") as file:
            cat = subprocess.run(["sh", "-c", 'cat | "$0" import - -o "$1"', KUBETAPE, self.tape], stdin=file, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(cat.returncode, 2)
        self.assertIn("an archive is read from a file", cat.stderr)

    def test_hostile_names_do_nothing_to_a_terminal(self):
        files = {"cluster-scoped-resources/core/nodes/n1.yaml": bundles.to_yaml(bundles.thing("v1", "Node", "n1", "n-1", 5)),
                 "cluster-scoped-resources/core/nodes/\x1b[31m\n.yaml": "["}
        done = self.run_tape("import", bundles.write_tar(self.path("b.tar"), files, "w:"), "-o", self.tape)
        self.assertEqual((done.returncode, "\x1b" in done.stderr, done.stderr.count("\n")), (3, False, 1))


if __name__ == "__main__":
    unittest.main()
