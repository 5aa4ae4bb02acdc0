"""`query --tapes`: many tapes in one question."""
import json
import os
import shutil
import signal
import subprocess
from hashlib import sha512

from s3_store import S3Store
from tamper import zero_a_page
from tapes import KUBETAPE, TapeTest, event, pod
from waiting import PATIENCE_S, wait_for


def open_files(pid):
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            yield os.readlink(f"/proc/{pid}/fd/{fd}")
        except FileNotFoundError:
            pass  # closed meanwhile


class Tapes(TapeTest):
    def setUp(self):
        super().setUp()
        self.folder = os.path.join(self.dir, "fleet")
        os.mkdir(self.folder)
        for n, name in enumerate(("eu", "us")):
            rows = [event(10 * i, "ADDED" if i == 0 else "MODIFIED", pod("web", f"u{n}", 10 * n + i + 1, spec={"i": i})) for i in range(3 + n)]
            self.make_tape(os.path.join(self.folder, name + ".tape"), [*rows, event(5, "ADDED", pod(f"only-{name}", f"o{n}", 99))])

    def ask(self, sql, *places, code=0, env=None):
        words = [w for p in places or [self.folder] for w in ("--tapes", p)]
        done = self.run_tape("query", *words, sql, "--format", "json", env=env)
        self.assertEqual(done.returncode, code, done.stderr)
        return json.loads(done.stdout) if code == 0 else done

    def test_every_table_has_the_rows_of_all_tapes_with_their_cluster_first(self):
        self.assertEqual(self.ask("SELECT cluster, count(*) AS n FROM events GROUP BY 1"), [{"cluster": "eu", "n": 4}, {"cluster": "us", "n": 5}])
        self.assertEqual(list(self.ask("SELECT * FROM objects LIMIT 1")[0])[0], "cluster")
        for table in ("objects", "changes", "gaps", "missed", "connections", "streams", "segments", "coverage", "audit"):
            self.ask(f"SELECT cluster, count(*) AS n FROM {table} GROUP BY 1")

    def test_the_cluster_is_that_of_the_place_below_what_was_pushed_to(self):
        place = os.path.join(self.folder, "cluster=old", "tape=x", "cluster=new")
        os.makedirs(place)
        os.rename(os.path.join(self.folder, "eu.tape"), os.path.join(place, "tape=y"))
        self.assertEqual(self.ask("SELECT DISTINCT cluster FROM events", os.path.join(place, "tape=y")), [{"cluster": "new"}])

    def test_a_tape_whose_name_begins_with_a_dot_is_asked_and_other_such_folders_are_not(self):
        os.rename(os.path.join(self.folder, "eu.tape"), os.path.join(self.folder, ".eu.tape"))
        os.mkdir(os.path.join(self.folder, ".old"))
        shutil.copytree(os.path.join(self.folder, "us.tape"), os.path.join(self.folder, ".old", "copy.tape"))
        self.assertEqual([row["n"] for row in self.ask("SELECT count(*) AS n FROM events GROUP BY cluster ORDER BY n")], [4, 5])

    def test_answers_are_those_of_each_tape_alone(self):
        together = self.ask("SELECT * FROM events WHERE cluster = 'us' AND name = 'web' ORDER BY seq")
        alone = json.loads(self.run_tape("query", os.path.join(self.folder, "us.tape"), "SELECT * FROM events WHERE name = 'web' ORDER BY seq",
                                         "--format", "json").stdout)
        self.assertEqual(together, [{"cluster": "us", **row} for row in alone])

    def test_clusters_are_joined_at_positions_of_their_own(self):
        sql = ("SELECT jget(a.object, '$.spec.i') AS a, jget(b.object, '$.spec.i') AS b FROM objects a JOIN objects b USING (namespace, name) "
               "WHERE a.cluster = 'eu' AND b.cluster = 'us' AND a.at = '+10s' AND b.at = 'end' AND name = 'web'")
        self.assertEqual(self.ask(sql), [{"a": 1, "b": 3}])
        missing = ("SELECT a.name FROM objects a LEFT JOIN objects b ON b.cluster = 'us' AND b.name = a.name "
                   "WHERE a.cluster = 'eu' AND b.name IS NULL")
        self.assertEqual(self.ask(missing), [{"name": "only-eu"}])

    def test_a_position_that_is_no_constant_is_refused(self):
        for sql in ("SELECT count(*) FROM objects WHERE at = (SELECT min(time) FROM events)",
                    "SELECT (SELECT count(*) FROM objects AS o WHERE o.AT_SEQ = e.seq) FROM events AS e",
                    "WITH p(t) AS (VALUES('+10s')) SELECT count(*) FROM p JOIN coverage ON \"at\" = t"):
            with self.subTest(sql=sql):
                self.assertIn("over several tapes at, at_seq and at_rv have to be compared with constants", self.ask(sql, code=1).stderr)
        for sql in ("SELECT count(*) AS n FROM objects WHERE at IN ('start', 'end')", "SELECT max(time) AS at FROM objects", "SELECT 'at' FROM objects -- at"):
            with self.subTest(sql=sql):
                self.assertTrue(self.ask(sql))
        one = self.ask("SELECT count(*) AS n FROM objects WHERE at_seq = (SELECT max(seq) FROM events)", os.path.join(self.folder, "eu.tape"))
        self.assertEqual(one, [{"n": 2}])

    def test_a_position_is_compared_with_equal_alone(self):
        for sql in ("SELECT 1 FROM objects WHERE at > '+10s'", "SELECT 1 FROM coverage WHERE at <> 3", "SELECT 1 FROM objects WHERE at_seq >= 1"):
            with self.subTest(sql=sql):
                self.assertIn("they can only be compared with =", self.ask(sql, code=1).stderr)
                self.assertIn("they can only be compared with =", self.ask(sql, os.path.join(self.folder, "eu.tape"), code=1).stderr)

    def test_tapes_are_named_on_the_command_line(self):
        rows = self.ask("SELECT cluster, tape FROM tapes ORDER BY 1", "before=" + os.path.join(self.folder, "eu.tape"),
                        "after=" + os.path.join(self.folder, "us.tape"))
        self.assertEqual([r["cluster"] for r in rows], ["after", "before"])
        self.assertTrue(rows[0]["tape"].endswith("us.tape"))

    def test_two_tapes_of_one_cluster_are_told(self):
        place = lambda name: "one=" + os.path.join(self.folder, name + ".tape")
        done = self.run_tape("query", "--tapes", place("eu"), "--tapes", place("us"), "SELECT count(*) FROM events")
        self.assertRegex(done.stderr, "^kubetape query: '.*eu.tape' and '.*us.tape' are both of cluster 'one': an object that both have is there twice\n$")
        self.assertEqual(self.run_tape("query", "--tapes", self.folder, "SELECT count(*) FROM events").stderr, "")

    def test_a_tape_of_two_names_is_asked_once_and_a_link_to_where_one_comes_from_is_not_followed(self):
        os.symlink("us.tape", os.path.join(self.folder, "a-latest.tape"))
        os.symlink(".", os.path.join(self.folder, "loop"))
        shutil.copytree(os.path.join(self.folder, "eu.tape"), os.path.join(self.folder, "half.ktape.tmp-123"))
        self.assertEqual(self.ask("SELECT cluster, count(*) AS n FROM events GROUP BY 1"), [{"cluster": "eu", "n": 4}, {"cluster": "us", "n": 5}])

    def test_a_link_to_a_tape_that_is_not_there_is_told(self):
        os.symlink("/nowhere/gone.tape", os.path.join(self.folder, "gone.tape"))
        done = self.run_tape("query", "--tapes", self.folder, "SELECT count(*) AS n FROM events", "--format", "json")
        self.assertEqual((done.returncode, json.loads(done.stdout)), (3, [{"n": 9}]))
        self.assertIn(f"'{self.folder}/gone.tape' is left out: ", done.stderr)

    def test_pins_beside_their_tape_are_asked_where_they_are_named_and_copies_are_told(self):
        tape = os.path.join(self.folder, "eu.tape")
        self.assertEqual(self.run_tape("pin", tape, "--from", "start", "--name", "all").returncode, 0)
        count = ["SELECT cluster, count(*) AS n FROM events GROUP BY 1", "--format", "json"]
        done = self.run_tape("query", "--tapes", self.folder, *count)
        self.assertEqual((json.loads(done.stdout), done.stderr),
                         ([{"cluster": "eu", "n": 4}, {"cluster": "us", "n": 5}], f"'{tape}.pins': pins are asked where they are named\n"))
        self.assertEqual(self.ask(count[0], tape + ".pins"), [{"cluster": "all", "n": 4}])
        copy = os.path.join(self.dir, "copy.tape")
        shutil.copytree(tape, copy)
        done = self.run_tape("query", "--tapes", tape, "--tapes", copy, *count)
        self.assertEqual((json.loads(done.stdout), done.stderr), ([{"cluster": "copy", "n": 4}, {"cluster": "eu", "n": 4}],
                         f"'{tape}' and '{copy}' are the same tape: the events that both have are there twice\n"))
        more = [shutil.copytree(tape, os.path.join(self.dir, f"more{i}.tape")) for i in range(3)]
        done = self.run_tape("query", *(f"--tapes={one}" for one in [tape, copy, *more]), *count)
        self.assertEqual((len(json.loads(done.stdout)), done.stderr),
                         (5, f"'{tape}', '{copy}' and 3 more are the same tape: the events that several of them have are there several times\n"))

    def test_segments_in_a_store_without_a_manifest_are_told(self):
        with S3Store() as store:
            env = {"PATH": os.environ["PATH"], "XDG_CACHE_HOME": os.path.join(self.dir, "cache"), **store.env}
            for name in ("eu", "us"):
                self.run_tape("push", os.path.join(self.folder, name + ".tape"), "s3://tapes/prod", "--cluster", name, env=env)
            del store.objects[next(k for k in store.keys("manifest.json") if "cluster=us" in k)]
            done = self.run_tape("query", "--tapes", "s3://tapes/prod", "SELECT cluster, count(*) AS n FROM events GROUP BY 1", "--format", "json", env=env)
        self.assertEqual((done.returncode, json.loads(done.stdout)), (3, [{"cluster": "eu", "n": 4}]))
        self.assertRegex(done.stderr, "^kubetape query: 's3://tapes/prod/cluster=us/.*' is left out: .*: it has segments and no manifest.json: [^\n]*\n$")

    def test_a_store_is_asked_as_a_folder_is(self):
        with S3Store() as store:
            env = {"PATH": os.environ["PATH"], "XDG_CACHE_HOME": os.path.join(self.dir, "cache"), **store.env}
            for name in ("eu", "us"):
                done = self.run_tape("push", os.path.join(self.folder, name + ".tape"), "s3://tapes/prod", "--cluster", name + "-1", env=env)
                self.assertEqual(done.returncode, 0, done.stderr)
            rows = self.ask("SELECT cluster, count(*) AS n FROM events GROUP BY 1", "s3://tapes/prod", env=env)
            none = self.ask("SELECT 1", "s3://tapes/none", code=1, env=env)
        self.assertEqual(rows, [{"cluster": "eu-1", "n": 4}, {"cluster": "us-1", "n": 5}])
        self.assertEqual(none.stderr, "kubetape query: cannot read 's3://tapes/none': no tape there\n")

    def test_a_position_that_a_tape_does_not_have_is_told_with_its_name(self):
        done = self.run_tape("query", "--tapes", self.folder, "SELECT count(*) FROM objects WHERE at = '2001-01-01'")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertRegex(done.stderr, "^kubetape query: '.*[eu][us].tape': '2001-01-01' .* before the beginning of the tape.*; "
                                      "the same holds for 1 of the other tapes\n$")

    def test_a_tape_that_cannot_be_read_is_left_out_and_told(self):
        broken = os.path.join(self.folder, "ap.tape")
        os.mkdir(broken)
        with open(os.path.join(broken, "seg-000001.db"), "wb") as f:
            f.write(b"no segment")
        os.mkdir(os.path.join(self.folder, "me.tape"))
        done = self.run_tape("query", "--tapes", self.folder, "SELECT cluster, count(*) AS n FROM events GROUP BY 1", "--format", "json")
        self.assertEqual((done.returncode, json.loads(done.stdout)), (3, [{"cluster": "eu", "n": 4}, {"cluster": "us", "n": 5}]))
        self.assertRegex(done.stderr, "^kubetape query: '.*ap.tape' is left out: .*\nkubetape query: '.*me.tape' is left out: .* it has no segment\n$")
        done = self.run_tape("query", "--tapes", self.folder, "SELECT cluster, problem IS NULL AS ok FROM tapes", "--format", "json")
        self.assertEqual(json.loads(done.stdout), [{"cluster": "ap", "ok": 0}, {"cluster": "eu", "ok": 1}, {"cluster": "me", "ok": 0}, {"cluster": "us", "ok": 1}])
        self.assertIn("ap.tape': ", self.ask("SELECT 1", broken, code=1).stderr)
        self.ask("SELECT 1", os.path.join(self.folder, "eu.tape"), os.path.join(self.folder, "no.tape"), code=1)

    def test_a_tape_that_is_damaged_further_on_is_read_until_there_and_told(self):
        tape = os.path.join(self.folder, "ap.tape")
        self.make_tape(tape, [event(i, "MODIFIED", pod(f"a{i % 7}", f"u{i % 7}", 10 + i, text=sha512(b"%d" % i).hexdigest() * 3)) for i in range(400)])
        zero_a_page(os.path.join(tape, "seg-000001.db"), "block", "overflow")
        alone = self.run_tape("query", tape, "SELECT sum(length(object)) FROM events")
        self.assertEqual(alone.returncode, 1)
        done = self.run_tape("query", "--tapes", self.folder, "--format", "ndjson", "SELECT cluster, count(*) AS n, sum(length(object)) AS sum FROM events "
                             "GROUP BY 1; SELECT problem FROM tapes WHERE cluster = 'ap'")
        damaged, *others, tapes = map(json.loads, done.stdout.splitlines())
        self.assertEqual(done.returncode, 3)
        self.assertEqual([(r["cluster"], r["n"]) for r in others], [("eu", 4), ("us", 5)])
        self.assertLess(damaged["n"], 400)
        self.assertEqual(done.stderr, f"kubetape query: the answer lacks a part of '{tape}': {tapes['problem']}\n")
        self.assertIn(tapes["problem"], alone.stderr)

    def test_a_tape_that_vanishes_while_it_is_asked_does_not_end_the_answer(self):
        tape = os.path.join(self.folder, "eu.tape")
        sql = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 3000000) SELECT count(*) AS n FROM c; " \
            "SELECT count(*) AS n FROM events WHERE name = 'only-us'; SELECT cluster FROM tapes WHERE problem NOT NULL"
        process = subprocess.Popen([KUBETAPE, "query", "--tapes", self.folder, sql, "--format", "ndjson"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_for(lambda: os.path.join(self.folder, "us.tape") in " ".join(open_files(process.pid)), "the last tape")
        process.send_signal(signal.SIGSTOP)
        os.rename(tape, os.path.join(self.dir, "away"))
        process.send_signal(signal.SIGCONT)
        output, errors = process.communicate(timeout=PATIENCE_S)
        self.assertEqual([json.loads(line) for line in output.splitlines()], [{"n": 3000000}, {"n": 1}, {"cluster": "eu"}])
        self.assertEqual(process.returncode, 3)
        self.assertIn(f"the answer lacks a part of '{tape}': cannot open tape", errors)

    def test_statements_cannot_write(self):
        for sql in ("DROP VIEW events", "CREATE TEMP TABLE x(a)", "INSERT INTO tapes VALUES('a', 'b')", "ATTACH 'x' AS y"):
            self.assertIn("a tape can only be read", self.ask(sql, code=1).stderr)

    def test_bad_words_are_usage_errors(self):
        tape = os.path.join(self.folder, "eu.tape")
        self.assert_fails(self.run_tape("query", "--tapes", tape, tape, "SELECT 1"), 2, "'--tapes' names the tapes")
        self.assert_fails(self.run_tape("query"), 2, "expected a tape")
        self.assert_fails(self.run_tape("query", "--tapes", self.dir + "/none", "SELECT 1"), 1, "No such file")
        os.mkdir(self.dir + "/empty")
        self.assert_fails(self.run_tape("query", "--tapes", self.dir + "/empty", "SELECT 1"), 1, "no tape in")
