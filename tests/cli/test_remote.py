"""Tapes in an object store, read by every command: what is fetched, what is kept, and what is told when the store fails."""

import fcntl
import json
import os
import random
import shutil
import subprocess
import sys
import threading
import unittest

from audit_log import request, write_log
from s3_store import S3Store
from tapes import KUBETAPE, TapeTest, event, pod

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "wire"))
from small_disk import SmallDisk  # noqa: E402

BIG = random.Random(5)


def large(i, n):
    """A pod that takes 20 kB on disk."""
    return pod(f"p{i}-{n}", f"u{i}-{n}", 100 * i + n + 1, spec={"noise": f"{BIG.getrandbits(120000):x}"})


class RemoteTest(TapeTest):
    segments = 4

    def setUp(self):
        super().setUp()
        self.store = S3Store()
        self.store.__enter__()
        self.addCleanup(self.store.__exit__)
        self.cache = os.path.join(self.dir, "cache")
        self.make_tape(self.tape, self.tape_rows())
        self.push(self.tape)

    def tape_rows(self):
        rows = []
        for i in range(self.segments):
            rows += [{"rotate": True}] if i else []
            rows += [event(60 * i + n, "ADDED", large(i, n)) for n in range(20)]
        return rows

    def env(self, **more):
        return {"PATH": os.environ["PATH"], "HOME": self.dir, "XDG_CACHE_HOME": self.cache, **self.store.env, **more}

    def push(self, tape, *options):
        done = self.run_tape("push", tape, "s3://tapes/prod", *options, env=self.env())
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def run_remote(self, *args, code=0, **env):
        done = self.run_tape(*args, env=self.env(**env))
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def fetched_bytes(self):
        """What reads of segments have asked for."""
        return sum(int(b) - int(a) + 1 for a, b in self.store.ranges)

    def stored_bytes(self):
        return sum(len(self.store.objects[k].body) for k in self.store.keys("seg-"))

    def cached_files(self):
        return sorted(os.path.join(d, n) for d, _, names in os.walk(self.cache) for n in names if n.startswith("seg-"))

    def cached_bytes(self):
        return sum(os.stat(f).st_blocks * 512 for f in self.cached_files())


class Reading(RemoteTest):
    def assert_same(self, *words, place="s3://tapes/prod"):
        """The command says the same of the tape here and of the one in the store."""
        here = self.run_tape(words[0], self.tape, *words[1:])
        there = self.run_remote(words[0], place, *words[1:], code=here.returncode)
        self.assertEqual((there.stdout, there.stderr), (here.stdout, here.stderr))
        self.assertTrue(here.stdout)

    def test_every_command_reads_it_as_it_reads_a_folder(self):
        self.assert_same("query", "SELECT seq, name, length(object), time FROM events")
        self.assert_same("query", "SELECT count(*) FROM connections")
        self.assert_same("get", "pods", "-A", "--at", "30", "-o", "name")
        self.assert_same("log", "pods/p2-3", "-n", "shop")
        self.assert_same("gaps")
        self.assert_same("export", "--format", "ndjson")

    def test_info_and_verify_say_the_same_but_for_the_place(self):
        here = json.loads(self.run_tape("info", self.tape, "--json").stdout)
        there = json.loads(self.run_remote("info", "s3://tapes/prod", "--json").stdout)
        for told in (here, there):
            for key in ("path", "tape", "push"):  # only the tape that was pushed knows of that
                told.pop(key, None)
        self.assertEqual(here, there)
        done = self.run_remote("verify", "s3://tapes/prod/cluster=x")
        self.assertTrue(done.stdout.startswith("s3://tapes/prod/cluster=x is intact"), done.stdout)

    def test_a_tape_is_called_by_the_name_that_the_user_gave_it(self):
        self.assertIn("s3://tapes/prod", self.run_remote("info", "s3://tapes/prod").stdout.splitlines()[0])
        merged = self.run_remote("merge", "s3://tapes/prod", self.tape, "-o", os.path.join(self.dir, "m.tape"))
        self.assertIn("events of 's3://tapes/prod' and", merged.stdout)

    @unittest.skipUnless(shutil.which("kubectl"), "no kubectl here")
    def test_a_replay_serves_it(self):
        done = self.run_remote("replay", "s3://tapes/prod", "--from", "end", "--", "kubectl", "get", "pods", "-n", "shop", "-o", "name")
        self.assertEqual(done.stdout.count("pod/p"), 80)

    def test_recover_makes_an_ordinary_tape_of_it(self):
        out = os.path.join(self.dir, "y.tape")
        self.run_remote("recover", "s3://tapes/prod", "-o", out)
        self.assertEqual(self.run_tape("verify", out).returncode, 0)

    def damage(self, *places):
        """Turns a bit over at each of these places of a segment in the store, negative ones from its end; returns its key."""
        key = self.store.keys("seg-000001")[0]
        body = bytearray(self.store.objects[key].body)
        for place in places:
            body[place] ^= 1
        self.store.objects[key].body = bytes(body)
        return key

    def test_recover_mends_what_is_damaged_in_the_store_or_says_what_is_lost(self):
        size = len(self.store.objects[self.store.keys("seg-000001")[0]].body)
        for places in ((size // 2,), (size // 3, size // 2, size // 2 + 1, 2 * size // 3), (size // 2, -5), (-5,)):
            with self.subTest(places=places):
                shutil.rmtree(self.cache, ignore_errors=True)
                self.damage(*places)
                there, here = os.path.join(self.dir, "there.tape"), os.path.join(self.dir, "here.tape")
                copy = os.path.join(self.dir, "copy.tape")
                shutil.copytree(self.tape, copy)
                with open(os.path.join(copy, "seg-000001.db"), "wb") as f:
                    f.write(self.store.objects[self.store.keys("seg-000001")[0]].body)
                told = [subprocess.run([KUBETAPE, "recover", "--json", tape, "-o", out], capture_output=True, text=True, env=self.env())
                    for tape, out in (("s3://tapes/prod", there), (copy, here))]
                self.assertEqual(told[0].returncode, told[1].returncode, told[0].stderr)
                self.assertNotIn(self.cache, told[0].stdout + told[0].stderr)
                self.assertEqual(*[{k: v for k, v in json.loads(done.stdout).items() if k not in ("tape", "lost")} for done in told])
                self.assertEqual(self.run_tape("verify", there).returncode, 0)
                for made in (there, here, copy):
                    shutil.rmtree(made)
                self.damage(*places)

    def test_only_what_is_asked_for_is_fetched(self):
        self.run_remote("get", "s3://tapes/prod", "pod/p0-1", "-n", "shop", "--at", "10", "-o", "json")
        self.assertLess(self.fetched_bytes(), self.stored_bytes() / 2 + 4 * 300000)
        shares = [os.stat(f).st_blocks * 512 / os.stat(f).st_size for f in self.cached_files()]
        self.assertLess(min(shares), 1)

    def test_many_segments_are_fetched_side_by_side(self):
        together = threading.Barrier(self.segments, timeout=30)
        self.store.fail("GET", "/seg-", together.wait, times=self.segments)
        self.run_remote("info", "s3://tapes/prod")
        self.assertFalse(together.broken)

    def test_what_is_here_is_not_fetched_again(self):
        self.run_remote("export", "s3://tapes/prod", "--format", "ndjson")
        self.store.ranges.clear()
        self.run_remote("export", "s3://tapes/prod", "--format", "ndjson")
        self.assertEqual(self.store.ranges, [])

    def test_who_asked_for_what_comes_along_and_what_is_learnt_later(self):
        who = ("query", "SELECT name, user FROM audit ORDER BY seq")
        for n, user in ((3, "alice"), (5, "bob")):
            log = write_log(os.path.join(self.dir, f"{user}.log"), [request("create", large(2, n), 120 + n, user=user)])
            self.assertEqual(self.run_tape("audit", self.tape, log).returncode, 0)
            self.push(self.tape)
            self.assert_same(*who)
        self.assertEqual(self.run_remote(who[0], "s3://tapes/prod", who[1], "--format", "csv").stdout.split(), ["name,user", "p2-3,alice", "p2-5,bob"])
        before = self.store.count("PUT")
        self.push(self.tape)
        self.run_remote(who[0], "s3://tapes/prod", who[1])
        self.assertEqual(self.store.count("PUT"), before)

    def test_what_is_added_in_the_store_is_seen(self):
        self.run_remote("info", "s3://tapes/prod")
        subprocess.run([os.path.join(os.path.dirname(KUBETAPE), "make_tape"), self.tape, "0"], check=True, timeout=60,
                       input=(json.dumps(event(900, "ADDED", pod("late", "u-late", 9000))) + "\n").encode())
        self.push(self.tape)
        done = self.run_remote("query", "s3://tapes/prod", "SELECT count(*) AS n FROM events WHERE name = 'late'", "--format", "json")
        self.assertEqual(json.loads(done.stdout), [{"n": 1}])

    def test_several_tapes_below_a_place_are_named(self):
        other = os.path.join(self.dir, "other.tape")
        self.make_tape(other, [event(1, "ADDED", pod("a", "u", 1))])
        self.push(other, "--cluster", "eu")
        done = self.run_remote("info", "s3://tapes/prod", code=2)
        self.assert_fails(done, 2, "there are 2 tapes below, name one of them: s3://tapes/prod/cluster=eu/tape=")
        self.run_remote("info", "s3://tapes/prod/cluster=eu")

    def test_files_of_the_cache_are_their_owners_alone(self):
        self.run_remote("info", "s3://tapes/prod")
        modes = {os.stat(os.path.join(d, n)).st_mode & 0o077 for d, _, names in os.walk(self.cache) for n in names}
        self.assertEqual(modes, {0})


class Trouble(RemoteTest, SmallDisk):
    segments = 2

    def query(self, code=0, **env):
        return self.run_remote("query", "s3://tapes/prod", "SELECT sum(length(object)) AS n FROM events", "--format", "json", code=code, **env)

    def expected(self):
        return json.loads(self.run_tape("query", self.tape, "SELECT sum(length(object)) AS n FROM events", "--format", "json").stdout)

    def test_a_store_that_is_busy_or_cuts_off_is_asked_again(self):
        self.store.fail("GET", "seg-", "SlowDown", times=2)
        self.store.fail("GET", "seg-", "cut answer")
        self.assertEqual(json.loads(self.query().stdout), self.expected())

    def test_a_reader_says_what_it_waits_for(self):
        env = self.env(AWS_ENDPOINT_URL="http://127.0.0.1:1")
        with subprocess.Popen([KUBETAPE, "info", "s3://tapes/prod"], env=env, stderr=subprocess.PIPE, text=True) as reader:
            self.assertIn("no whole answer from 'http://127.0.0.1:1'", reader.stderr.readline())
            reader.kill()

    def test_bytes_that_were_changed_in_the_store_are_not_believed(self):
        key = self.store.keys("seg-000001")[0]
        body = bytearray(self.store.objects[key].body)
        body[len(body) // 2] ^= 1
        self.store.objects[key].body = bytes(body)
        self.assertRegex(self.query(code=1).stderr, "^kubetape query: .*page [0-9]+ of .*seg-000001.db' is damaged where it was fetched from\n$")

    def test_messages_name_the_place_in_the_store_and_never_the_cache(self):
        key = self.store.keys("seg-000001")[0]
        url, sql = f"s3://tapes/{key}", "SELECT sum(length(object)) FROM events"
        body = bytearray(self.store.objects[key].body)
        body[len(body) // 2] ^= 1
        self.store.objects[key].body = bytes(body)
        for words in (["query", "s3://tapes/prod", sql], ["query", "--tapes", "s3://tapes", sql], ["verify", "s3://tapes/prod"],
                      ["events", "s3://tapes/prod"]):
            with self.subTest(words):
                done = self.run_remote(*words, code=3 if "--tapes" in words else 1)
                self.assertIn(f"of '{url}' is damaged where it was fetched from", done.stdout + done.stderr)
                self.assertNotIn(self.cache, done.stdout + done.stderr)
        shutil.rmtree(self.cache)
        self.store.fail("GET", "seg-000001", "NoSuchKey", times=100)
        done = self.run_remote("query", "--tapes", "s3://tapes", sql, code=1)
        self.assert_fails(done, 1, f"kubetape query: '{os.path.dirname(url)}': cannot open '{url}': cannot read '{url}': there is no such object")
        done = self.run_remote("replay", "s3://tapes/prod", "--exit-at-end", "--speed", "max", "--wait-watchers", "0", code=1)
        self.assertNotIn(self.cache, done.stdout + done.stderr)

    def warned(self, sentence, *words, **env):
        """Runs it with a cache that is of no use: the answer comes, and one line of warning."""
        done = self.run_remote(*words, **env)
        self.assertRegex(done.stderr, f"^[^\n]*{sentence}[^\n]*\n$")
        return done

    def asks(self):
        return ["query", "s3://tapes/prod", "SELECT sum(length(object)) AS n FROM events", "--format", "json"]

    def left_over(self, folder="/tmp"):
        return [n for n in os.listdir(folder) if n.startswith("kubetape-cache-")]

    def test_where_no_cache_can_be_made_a_command_has_one_of_its_own(self):
        spare = os.path.join(self.dir, "tmp")
        os.mkdir(spare)
        for env, sentence in (({"KUBETAPE_CACHE": "/dev/null/x"}, "cannot make '/dev/null/x': Not a directory; "),
                              ({"XDG_CACHE_HOME": "/dev/null"}, "cannot make '/dev/null/kubetape': Not a directory; "),
                              ({"XDG_CACHE_HOME": "", "HOME": ""}, "there is no folder for what is fetched: neither KUBETAPE_CACHE, XDG_CACHE_HOME nor HOME names one; ")):
            with self.subTest(env):
                sentence += f"until this command ends, '{spare}/kubetape-cache-......' is the cache; KUBETAPE_CACHE names another folder"
                self.assertEqual(json.loads(self.warned(sentence, *self.asks(), TMPDIR=spare, **env).stdout), self.expected())
                self.assertIn("is intact", self.warned(sentence, "verify", "s3://tapes/prod", TMPDIR=spare, **env).stdout)
                self.assertEqual(os.listdir(spare), [])

    def test_what_a_killed_command_has_left_is_removed_by_the_next_one(self):
        spare = os.path.join(self.dir, "tmp")
        held, young, old = (os.path.join(spare, "kubetape-cache-" + name) for name in ("held00", "young0", "old000"))
        for folder in (held, young, old):
            os.makedirs(os.path.join(folder, "prod"))
        for folder in (held, old):
            os.utime(folder, (0, 0))
        holder = os.open(held, os.O_RDONLY)
        self.addCleanup(os.close, holder)
        fcntl.flock(holder, fcntl.LOCK_EX)
        self.run_remote(*self.asks(), KUBETAPE_CACHE="/dev/null/x", TMPDIR=spare)
        self.assertEqual(sorted(os.listdir(spare)), ["kubetape-cache-held00", "kubetape-cache-young0"])

    def test_a_command_finds_the_cache_of_the_one_that_started_it(self):
        done = self.run_remote("replay", "s3://tapes/prod", "--speed", "max", "--", KUBETAPE, "info", "s3://tapes/prod", "--json", KUBETAPE_CACHE="/dev/null/x", TMPDIR=self.dir)
        self.assertEqual(done.stderr.count("cannot make"), 1, done.stderr)
        self.assertEqual(self.left_over(self.dir), [])

    def test_another_folder_can_be_the_cache(self):
        self.run_remote(*self.asks(), KUBETAPE_CACHE=os.path.join(self.dir, "mine"))
        self.assertTrue(os.path.isdir(os.path.join(self.dir, "mine")))
        self.assertFalse(os.path.exists(self.cache))

    def test_on_a_disk_that_is_full_reading_goes_on(self):
        self.mount(os.path.join(self.dir, "disk"))
        self.fill()
        sentence = "No space left on device; until this command ends, '/tmp/kubetape-cache-......' is the cache; "
        self.assertEqual(json.loads(self.warned(sentence, *self.asks(), KUBETAPE_CACHE=self.disk).stdout), self.expected())

    def test_on_a_disk_that_becomes_full_reading_goes_on_without_a_cache(self):
        self.mount(os.path.join(self.dir, "disk"))
        sentence = f"the cache '{self.disk}' takes nothing more \\(cannot write into the cache: No space left on device\\); what is fetched is not kept; KUBETAPE_CACHE names another folder"
        for free in (30_000, 100_000, 500_000):
            with self.subTest(free=free):
                shutil.rmtree(self.disk, ignore_errors=True)
                self.fill()
                os.truncate(os.path.join(self.disk, "ballast"), os.stat(os.path.join(self.disk, "ballast")).st_size - free)
                for words in (self.asks(), ["export", "s3://tapes/prod", "--format", "ndjson"], ["get", "s3://tapes/prod", "pods", "-A", "-o", "json"]):
                    here = self.run_tape(words[0], self.tape, *words[2:])
                    self.assertEqual(self.warned(sentence, *words, KUBETAPE_CACHE=self.disk).stdout, here.stdout)
                done = self.run_remote("verify", "s3://tapes/prod", code=1, KUBETAPE_CACHE=self.disk)
                self.assertEqual(done.stderr.splitlines()[-1], "kubetape verify: cannot write into the cache: No space left on device")
                self.assertEqual(done.stdout, "")

    def test_bytes_that_were_changed_in_the_cache_are_fetched_again(self):
        self.query()
        path = self.cached_files()[0]
        with open(path, "r+b") as file:
            file.seek(os.stat(path).st_size // 2)
            file.write(b"\0" * 5000)
        self.assertEqual(json.loads(self.query().stdout), self.expected())

    def test_a_cache_that_was_cut_short_or_removed_is_filled_again(self):
        self.query()
        os.truncate(self.cached_files()[0], 1000)
        os.remove(self.cached_files()[1])
        self.assertEqual(json.loads(self.query().stdout), self.expected())

    def test_an_object_that_vanished_is_told(self):
        self.run_remote("info", "s3://tapes/prod")
        shutil.rmtree(self.cache)
        for key in self.store.keys("seg-")[1:]:
            del self.store.objects[key]
        done = self.run_remote("query", "s3://tapes/prod", "SELECT max(seq) AS n FROM events", "--format", "json", code=3)
        self.assertEqual(json.loads(done.stdout), [{"n": 20}])
        self.assertRegex(done.stderr, r"the store has lost \d of \d segments, number 2 is the first")

    def test_a_tape_is_read_without_objects_that_vanished_and_whole_once_they_are_back(self):
        key = self.store.keys("seg-000001")[0]
        gone = self.store.objects.pop(key)
        for command in (["verify"], ["query", "SELECT 1"], ["gaps"]):
            done = self.run_remote(command[0], "s3://tapes/prod", *command[1:], code=3)
            self.assertRegex(done.stderr, r"the store has lost 1 of \d segments, number 1 is the first: what they hold is not shown")
        self.store.objects[key] = gone
        self.assertEqual(json.loads(self.query().stdout), self.expected())

    def test_a_store_that_refuses_or_is_away_is_no_damage(self):
        for fault in ("AccessDenied", "InvalidAccessKeyId"):
            with self.subTest(fault):
                shutil.rmtree(self.cache, ignore_errors=True)
                self.store.fail("GET", "seg-", fault, times=100)
                done = self.run_remote("verify", "s3://tapes/prod", "--json", code=1)
                self.store.faults.clear()
                self.assertEqual(done.stdout, "")
                self.assertRegex(done.stderr, f"^kubetape verify: cannot read 's3://tapes/prod/.*: the store says {fault}")
        self.assertIn("is intact", self.run_remote("verify", "s3://tapes/prod").stdout)

    def test_an_object_that_was_cut_in_the_store_is_a_damage(self):
        key = self.store.keys("seg-")[1]
        self.store.objects[key].body = self.store.objects[key].body[:5000]
        self.assertRegex(self.run_remote("verify", "s3://tapes/prod", code=1).stdout, "s3://tapes/prod is damaged: ")

    def test_places_without_a_tape_are_told(self):
        self.assert_fails(self.run_remote("info", "s3://tapes/nothing", code=1), 1, "cannot read 's3://tapes/nothing': no tape there")
        self.assert_fails(self.run_remote("info", "s3://other/x", code=1), 1, "the store has no bucket 'other'")

    def test_an_object_that_vanished_after_the_tape_was_read_is_told_and_the_rest_is_read(self):
        self.query()
        del self.store.objects[self.store.keys("seg-")[-2]]
        done = self.run_remote("query", "s3://tapes/prod", "SELECT min(seq) > 1 AS later FROM events", "--format", "json", code=3)
        self.assertEqual(json.loads(done.stdout), [{"later": 1}])
        self.assertIn("the store has lost 1 of 2 segments, number 1 is the first", done.stderr)

    def test_what_the_store_never_had_is_told(self):
        key = self.store.keys("manifest.json")[0]
        manifest = json.loads(self.store.objects[key].body)
        manifest["lost"] = [{"first": 1, "last": 1, "noticed_ns": 1}]
        manifest["segments"] = manifest["segments"][1:]
        self.store.objects[key].body = json.dumps(manifest).encode()
        done = self.run_remote("query", "s3://tapes/prod", "SELECT 1", code=3)
        self.assertIn("segments that were removed before the store had them are not shown: 1 to 1", done.stderr)

    def test_a_hole_between_segments_is_told_and_the_rest_is_read(self):
        key = self.store.keys("manifest.json")[0]
        manifest = json.loads(self.store.objects[key].body)
        manifest["segments"][1]["segment"] = 3
        self.store.objects[key.replace("manifest.json", "seg-000003.db")] = self.store.objects[self.store.keys("seg-000002")[0]]
        self.store.objects[key].body = json.dumps(manifest).encode()
        done = self.run_remote("query", "s3://tapes/prod", "SELECT min(seq) AS n FROM events", "--format", "json", code=3)
        self.assertEqual(json.loads(done.stdout), [{"n": 21}])
        self.assertIn("the store lacks segments between 1 and 3: the tape is read from 3 on", done.stderr)

    def test_the_cache_stays_within_its_size(self):
        other = os.path.join(self.dir, "other.tape")
        self.make_tape(other, [event(1, "ADDED", pod("a", "u", 1))])
        self.push(other, "--cluster", "eu")
        self.run_remote("export", "s3://tapes/prod/cluster=x", "--format", "ndjson")
        before = self.cached_bytes()
        self.run_remote("info", "s3://tapes/prod/cluster=eu", KUBETAPE_CACHE_SIZE="1G")
        self.assertGreaterEqual(self.cached_bytes(), before)
        self.run_remote("info", "s3://tapes/prod/cluster=eu", KUBETAPE_CACHE_SIZE="100k")
        self.assertLess(self.cached_bytes(), before / 2)
        self.run_remote("export", "s3://tapes/prod/cluster=x", "--format", "ndjson", KUBETAPE_CACHE_SIZE="100k")

    def test_several_readers_fill_one_cache(self):
        readers = [subprocess.Popen([KUBETAPE, "query", "s3://tapes/prod", "SELECT sum(length(object)) AS n FROM events", "--format", "json"],
                                    env=self.env(), stdout=subprocess.PIPE, text=True) for _ in range(4)]
        for reader in readers:
            self.assertEqual(json.loads(reader.communicate(timeout=60)[0]), self.expected())

    def test_a_segment_that_another_reader_laid_out_from_a_later_manifest_is_let_be(self):
        self.query()
        for number in (3, 7):
            with open(os.path.join(os.path.dirname(self.cached_files()[0]), f"seg-{number:06}.db"), "wb") as file:
                file.truncate(50000)
        self.assertEqual(json.loads(self.query().stdout), self.expected())
        self.assertIn("is intact", self.run_remote("verify", "s3://tapes/prod").stdout)

    def test_readers_that_are_killed_while_they_fill_one_cache_leave_nothing_wrong(self):
        for number in range(6):
            shutil.rmtree(self.cache, ignore_errors=True)
            words = [KUBETAPE, "query", "s3://tapes/prod", "SELECT sum(length(object)) AS n FROM events", "--format", "json"]
            readers = [subprocess.Popen(words, env=self.env(), stdout=subprocess.PIPE, text=True) for _ in range(8)]
            with self.store.lock:
                for reader in readers[:4]:
                    self.store.faults += [*[("GET", "", lambda: None)] * (2 * number), ("GET", "", reader.kill)]
            answers = [reader.communicate(timeout=60)[0] for reader in readers]
            self.store.faults.clear()
            self.assertEqual([json.loads(a) for r, a in zip(readers, answers) if r.returncode == 0], [self.expected()] * sum(r.returncode == 0 for r in readers))
            self.assertEqual([r.returncode for r in readers[4:]], [0] * 4)
            self.assertEqual(json.loads(self.query().stdout), self.expected())
            self.assertIn("is intact", self.run_remote("verify", "s3://tapes/prod").stdout)

    def test_nothing_is_kept_beside_a_tape_that_is_not_here(self):
        log = write_log(os.path.join(self.dir, "audit.log"), [])
        for words in (["pin", "s3://tapes/prod"], ["audit", "s3://tapes/prod", log], ["push", "s3://tapes/prod", "s3://tapes/other"]):
            with self.subTest(words[0]):
                done = self.run_remote(*words, code=2)
                self.assertIn("'s3://tapes/prod' is not on this machine: 'kubetape cut s3://tapes/prod -o X.tape'", done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 1)

    def test_a_size_of_the_cache_that_is_none_is_told(self):
        for size in ("banana", "-5"):
            done = self.run_remote("info", "s3://tapes/prod", code=2, KUBETAPE_CACHE_SIZE=size)
            self.assertEqual(done.stderr, f"kubetape info: KUBETAPE_CACHE_SIZE: expected a size such as 600k, 16Gi or 1.5G, found '{size}'\n")

    def test_a_tape_is_not_written_there(self):
        self.assert_fails(self.run_remote("cut", self.tape, "-o", "s3://tapes/y", code=2), 2, "write a tape here and 'kubetape push' it")
