"""kubetape push: a tape into an object store, whatever becomes of the program and of the store."""
import datetime
import json
import os
import shutil
import signal
import subprocess
import threading

from audit_log import request, write_log
from s3_store import SECRET, Answer, Answers, S3Store, StoredObject
from tapes import KUBETAPE, TapeTest, event, pod


def segments(count, each=4):
    """Rows of a tape of so many segments."""
    rows = []
    for i in range(count):
        rows += [{"rotate": True}] if i else []
        rows += [event(10 * i + n, "ADDED", pod(f"p{i}-{n}", f"u{i}-{n}", 10 * i + n + 1)) for n in range(each)]
    return rows


class PushTest(TapeTest):
    rows = segments(3)

    def setUp(self):
        super().setUp()
        self.store = S3Store()
        self.store.__enter__()
        self.addCleanup(self.store.__exit__)

    def env(self, **more):
        return {"PATH": os.environ["PATH"], "HOME": self.dir, "XDG_CACHE_HOME": os.path.join(self.dir, "cache"), **self.store.env, **more}

    def push(self, *options, code=0, url="s3://tapes/prod", env=None):
        done = self.run_tape("push", self.tape, url, *options, env=self.env(**(env or {})))
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def refused(self, sentence, *options, code=1, **more):
        done = self.push(*options, code=code, **more)
        self.assert_fails(done, code, sentence)

    def manifest(self):
        (key,) = self.store.keys("manifest.json")
        return json.loads(self.store.objects[key].body)

    def assert_stored(self, tape=None):
        """The store has what the tape has, byte for byte, and the manifest names each segment once."""
        tape = tape or self.tape
        here = {n: open(os.path.join(tape, n), "rb").read() for n in os.listdir(tape) if n.startswith("seg-")}
        there = {os.path.basename(k): self.store.objects[k].body for k in self.store.keys("seg-")}
        self.assertEqual(there, here)
        self.assertEqual([s["file"] for s in self.manifest()["segments"]], sorted(here))


class Push(PushTest):
    def test_every_segment_is_in_the_store_once_with_its_sum(self):
        self.push("--cluster", "eu-1")
        self.assert_stored()
        self.assertTrue(all(k.startswith("prod/cluster=eu-1/tape=") for k in self.store.keys()))
        manifest = self.manifest()
        self.assertEqual((manifest["cluster"], manifest["complete"], manifest["lost"]), ("eu-1", True, []))
        self.assertEqual([(s["segment"], s["first_seq"], s["last_seq"]) for s in manifest["segments"]], [(1, 1, 4), (2, 5, 8), (3, 9, 12)])
        for s in manifest["segments"]:
            (key,) = self.store.keys(s["file"])
            self.assertEqual(self.store.objects[key].sha256, s["sha256"])

    def test_what_is_there_is_not_sent_again(self):
        self.push()
        before = self.store.count("PUT")
        self.assertIn("pushed 0 segments", self.push().stdout)
        self.assertEqual(self.store.count("PUT"), before)

    def test_the_cluster_is_called_after_the_tape_unless_it_is_named(self):
        self.push()
        self.assertEqual(self.manifest()["cluster"], "x")

    def test_a_tape_that_a_killed_writer_left_open_is_sealed_and_pushed_whole(self):
        self.tape = os.path.join(self.dir, "killed.tape")
        self.make_tape(self.tape, [*segments(2), {"flush": True}, {"kill": True}])
        self.push()
        self.assert_stored()
        self.assertEqual(self.manifest()["segments"][-1]["last_seq"], 8)

    def test_large_segments_go_in_parts(self):
        self.push("--part-size", "16K")
        self.assert_stored()
        self.assertGreater(sum(1 for m, _, q in self.store.requests if m == "PUT" and "partNumber" in q), 3)
        self.assertEqual(self.store.uploads, {})

    def test_what_the_store_only_says_it_has_is_sent_again_and_never_named(self):
        self.store.forgets = 1
        self.push("--part-size", "16K")
        self.assert_stored()
        other = os.path.join(self.dir, "other.tape")
        self.make_tape(other, segments(1))
        self.tape, self.store.forgets = other, 99
        self.refused("and then that it has not", "--part-size", "4K")
        self.assertEqual(len(self.store.keys("manifest.json")), 1)

    def test_parts_that_a_killed_push_left_are_given_back(self):
        self.push("--part-size", "16K")
        key = self.store.keys("seg-000003")[0]
        del self.store.objects[key], self.store.objects[self.store.keys("manifest")[0]]
        self.store.uploads["left"] = (key, {1: b"half"}, "")
        self.push("--part-size", "16K")
        self.assert_stored()
        self.assertEqual(self.store.uploads, {})

    def test_an_error_that_comes_with_status_200_is_met_with_another_try(self):
        self.store.late_errors = 1
        self.push("--part-size", "16K")
        self.assert_stored()
        self.assertEqual(self.store.late_errors, 0)

    def test_an_upload_that_was_ended_unheard_is_looked_for(self):
        self.store.ends_unheard = True
        self.push("--part-size", "16K")
        self.assert_stored()
        self.assertEqual(self.store.uploads, {})

    def test_two_tapes_with_one_prefix_stand_side_by_side(self):
        self.push()
        other = os.path.join(self.dir, "other.tape")
        self.make_tape(other, segments(1))
        self.tape = other
        self.push()
        self.assertEqual(len(self.store.keys("manifest.json")), 2)

    def test_what_is_known_of_a_push_is_forgotten_with_the_tape(self):
        self.push()
        self.assertIn("which has every sealed segment", self.run_tape("info", self.tape).stdout)
        shutil.rmtree(self.tape)
        self.make_tape(self.tape, segments(1))
        self.assertNotIn("pushed", self.run_tape("info", self.tape).stdout)
        self.push()
        self.assertIn("which has every sealed segment", self.run_tape("info", self.tape).stdout)

    def test_a_prefix_of_any_characters_is_one_and_is_json_in_json(self):
        for prefix in ("a b", "ä+ö", "x%20y", "q&r=s?t#u", "a'b\"c\\d(e)*", "line\nbreak", "a//b", ".."):
            with self.subTest(prefix):
                told = json.loads(self.push("--json", "--cluster", "c", url=f"s3://tapes/{prefix}").stdout)
                self.assertTrue(told["url"].startswith(f"s3://tapes/{prefix}/cluster=c/tape="), told["url"])
                self.assertIn(told["url"].removeprefix("s3://tapes/") + "/manifest.json", self.store.keys())
                done = self.run_tape("verify", told["url"], env=self.env())
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_pushes_at_once_do_no_harm(self):
        for options in ([], ["--part-size", "16K"]):
            self.store.objects.clear()
            pushes = [subprocess.Popen([KUBETAPE, "push", self.tape, "s3://tapes/prod", *options], env=self.env(),
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(3)]
            for one in pushes:
                _, errors = one.communicate(timeout=60)
                self.assertEqual((one.returncode, errors), (0, b""))
            self.assert_stored()
            self.assertEqual(self.store.uploads, {})

    def test_parts_that_another_push_of_the_same_gives_back_are_not_missed(self):
        self.store.fail("PUT", "seg-000002", self.store.uploads.clear)
        self.push("--part-size", "16K")
        self.assert_stored()

    def test_two_copies_of_a_tape_that_went_on_apart_are_not_mixed(self):
        self.push("--cluster", "eu")
        copy = os.path.join(self.dir, "copy.tape")
        shutil.copytree(self.tape, copy)
        for tape, name in ((self.tape, "here"), (copy, "there")):
            self.make_tape(tape, [{"rotate": True}, event(90, "ADDED", pod(name, "u-" + name, 90))])
        self.push("--cluster", "eu")
        self.assert_stored()
        self.tape = copy
        self.refused("is not the one that the store has of this tape", "--cluster", "eu")
        self.assertEqual(len(self.manifest()["segments"]), len([n for n in os.listdir(copy) if n.startswith("seg-")]))

    def test_a_segment_of_a_copy_is_not_mixed_in_where_those_before_it_are_gone(self):
        copy = os.path.join(self.dir, "copy.tape")
        shutil.copytree(self.tape, copy)
        for tape, name in ((self.tape, "here"), (copy, "there")):
            for rv in (90, 91):
                self.make_tape(tape, [{"rotate": True}, event(rv, "ADDED", pod(f"{name}{rv}", f"u-{name}{rv}", rv))])
        *earlier, newest = sorted(n for n in os.listdir(copy) if n.startswith("seg-"))
        os.remove(os.path.join(self.tape, newest))
        self.push("--cluster", "eu")
        for name in earlier:
            os.remove(os.path.join(copy, name))
        self.tape = copy
        self.refused("does not follow the one before it that the store has", "--cluster", "eu")
        self.assertNotIn(newest, " ".join(self.store.keys("seg-")))

    def test_a_damaged_segment_stays_here_and_the_others_go(self):
        path = os.path.join(self.tape, "seg-000002.db")
        os.chmod(path, 0o600)
        with open(path, "r+b") as file:
            file.seek(5000)
            file.write(b"\xff\xff")
        self.refused("seg-000002.db' is damaged and was not pushed: page ")
        self.assertEqual([os.path.basename(k) for k in self.store.keys("seg-")], ["seg-000001.db", "seg-000003.db"])

    def test_the_rest_of_a_tape_follows_when_it_is_there(self):
        self.push()
        subprocess.run([os.path.join(os.path.dirname(KUBETAPE), "make_tape"), self.tape, "0"], check=True, timeout=60,
                       input=(json.dumps(event(100, "ADDED", pod("late", "u-late", 900))) + "\n").encode())
        self.assertIn("pushed 1 segment (", self.push().stdout)
        self.assert_stored()


class Loss(PushTest):
    """What becomes of the store's copy after it was pushed."""
    rows = segments(4)

    def key(self, part):
        return self.store.keys(part)[0]

    def torn(self, body):
        """A pushed tape whose manifest is that; the manifest as it was."""
        self.push()
        before = self.manifest()
        self.store.objects[self.key("manifest")] = StoredObject(body(self.store.objects[self.key("manifest")].body))
        return before

    def facts(self, manifest):
        return [{k: v for k, v in s.items() if k != "pushed"} for s in manifest["segments"]]

    def remove_here(self, *numbers):
        for number in numbers:
            os.remove(os.path.join(self.tape, f"seg-{number:06}.db"))

    def assert_mended(self, before, done, code=0):
        self.assertEqual(done.returncode, code)
        self.assertRegex(done.stderr, "^kubetape push: 's3://tapes/prod/cluster=x/tape=[0-9a-f]+/manifest.json' was torn; "
                                      "it is made anew from what the store has \([0-9]+ segments?\)\n$")
        self.assertEqual(self.facts(self.manifest()), self.facts(before))
        self.assertTrue(self.manifest()["complete"])
        self.assertEqual(self.run_tape("verify", "s3://tapes/prod", env=self.env()).returncode, 0)
        self.assertEqual(self.push(code=code).stderr, "")

    def test_a_torn_manifest_is_made_anew(self):
        for name, body in (("empty", lambda b: b""), ("half", lambda b: b[:len(b) // 2]), ("all but the end", lambda b: b[:-3]),
                           ("zeros", lambda b: b"\0" * len(b)), ("a page", lambda b: b"<html>no</html>"), ("of nothing", lambda b: b"{}"),
                           ("senseless", lambda b: b.replace(b'"sha256": "', b'"sha256": "x'))):
            with self.subTest(name):
                self.store.objects.clear()
                before = self.torn(body)
                reader = self.run_tape("info", "s3://tapes/prod", env=self.env())
                self.assert_fails(reader, 1, "'kubetape push' of this tape, on the machine that records it, makes it anew")
                self.assertIn("manifest.json': it is no manifest of a tape", reader.stderr)
                puts = self.store.count("PUT", "seg-")
                self.assert_mended(before, self.push())
                self.assertEqual(self.store.count("PUT", "seg-"), puts)

    def test_a_manifest_that_is_made_anew_names_what_this_machine_no_longer_has(self):
        before = self.torn(lambda b: b[:100])
        self.remove_here(1, 2)
        self.store.objects[self.key("seg-000002")].sha256 = ""  # a store that was copied
        self.assert_mended(before, self.push())

    def test_a_manifest_that_vanished_is_made_anew(self):
        self.push()
        before = self.manifest()
        self.remove_here(1, 2)
        del self.store.objects[self.key("manifest")]
        self.push()
        self.assertEqual(self.facts(self.manifest()), self.facts(before))

    def older(self, count):
        """A pushed tape; then a manifest of its first segments is there again. The manifest as it was."""
        self.push()
        before = self.manifest()
        old = {**before, "segments": before["segments"][:count], "complete": False}
        self.store.objects[self.key("manifest")] = StoredObject(json.dumps(old).encode())
        return before

    def test_of_an_older_manifest_that_is_put_back_nothing_counts_as_lost_that_the_store_has(self):
        before = self.older(1)
        self.remove_here(1, 2, 3)
        done = self.push()
        self.assertRegex(done.stderr, "/manifest.json' is older than what the store has; it is made anew from what the store has \\(4 segments\\)\n$")
        self.assertEqual((self.facts(self.manifest()), self.manifest()["lost"]), (self.facts(before), []))
        self.assertEqual(self.push().stderr, "")

    def test_an_older_manifest_stays_if_what_it_does_not_name_is_damaged(self):
        self.older(1)
        self.remove_here(1, 2, 3)
        damaged = self.store.objects[self.key("seg-000002")]
        damaged.body = damaged.body[:len(damaged.body) // 2]
        damaged.sha256 = ""
        self.push(code=3)
        self.assertEqual([(s["first"], s["last"]) for s in self.manifest()["lost"]], [(2, 3)])

    def test_a_manifest_that_is_made_anew_says_what_the_store_lacks(self):
        self.torn(lambda b: b"")
        self.remove_here(1, 2, 3)
        del self.store.objects[self.key("seg-000002")]
        self.push(code=3)
        self.assertEqual([(s["first"], s["last"]) for s in self.manifest()["lost"]], [(2, 2)])
        self.assertEqual([s["segment"] for s in self.manifest()["segments"]], [1, 3, 4])

    def test_a_manifest_is_not_made_anew_from_what_is_damaged_and_not_here(self):
        self.torn(lambda b: b"torn")
        self.remove_here(1)
        before = self.store.objects[self.key("seg-000001")].body
        for body in (before[:5000], before[:-64] + bytes(64), b""):
            self.store.objects[self.key("seg-000001")].body = body
            self.assertRegex(self.push(code=1).stderr, "^kubetape push: cannot make 's3://tapes/prod/.*/manifest.json' anew: .*seg-000001.db.*; "
                                                       "this machine no longer has that segment: move it away there and push again, the manifest will say that it is lost\n$")
            self.assertEqual(self.store.objects[self.key("manifest")].body, b"torn")

    def test_the_audit_book_stays_in_a_manifest_that_is_made_anew(self):
        log = write_log(os.path.join(self.dir, "audit.log"), [request("create", pod("p0-1", "u0-1", 2), 1, user="alice")])
        self.assertEqual(self.run_tape("audit", self.tape, log).returncode, 0)
        before = self.torn(lambda b: b[:-10])
        os.remove(os.path.join(self.tape, "audit.sqlite"))
        torn = self.store.objects[self.key("manifest")]
        for sum_ in (before["audit"]["sha256"], ""):
            self.store.objects[self.key("manifest")], self.store.objects[self.key("audit.sqlite")].sha256 = torn, sum_
            self.push()
            self.assertEqual(self.manifest()["audit"], before["audit"])

    def test_a_manifest_of_a_later_program_is_let_be(self):
        self.torn(lambda b: b.replace(b'"manifest": 1', b'"manifest": 2'))
        before = self.store.objects[self.key("manifest")].body
        self.refused("the manifest is of version 2, this program knows 1")
        self.assertEqual(self.store.objects[self.key("manifest")].body, before)

    def test_killed_while_a_manifest_is_made_anew_it_is_repeated_without_harm(self):
        before = self.torn(lambda b: b[:50])
        self.remove_here(1, 2)
        torn, methods = self.store.objects[self.key("manifest")], ("GET", "HEAD", "PUT")
        for count in range(24):
            process = subprocess.Popen([KUBETAPE, "push", self.tape, "s3://tapes/prod"], env=self.env(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

            def strike(process=process):
                process.send_signal(signal.SIGKILL)
                process.wait()

            with self.store.lock:
                self.store.objects[self.key("manifest")] = torn
                self.store.faults = [(methods[count % 3], "", lambda: None)] * (count // 3) + [(methods[count % 3], "", strike)]
            process.wait(timeout=60)
            self.store.faults = []
            body = self.store.objects[self.key("manifest")].body
            if body != torn.body:
                self.assertEqual(self.facts(json.loads(body)), self.facts(before))
        self.store.objects[self.key("manifest")] = torn
        self.assert_mended(before, self.push())

    def lose(self, part, change):
        key = self.key(part)
        there = self.store.objects[key]
        body = change(there.body)
        if body is None:
            del self.store.objects[key]
        else:
            self.store.objects[key] = StoredObject(body, there.sha256 if len(body) != len(there.body) else "other")

    changes = (("has [0-9]+ bytes in the store, expected [0-9]+", lambda b: b[:5000]),
               ("has 0 bytes in the store, expected [0-9]+", lambda b: b""),
               ("is gone from the store", lambda b: None),
               ("was changed in the store: its sum is 'other', expected '[0-9a-f]{16}'", lambda b: b[:9000] + b"x" + b[9001:]))

    def test_what_was_changed_in_the_store_is_pushed_again(self):
        self.push("--part-size", "16K")
        for size in ("64M", "16K"):
            for words, change in self.changes:
                with self.subTest(words, size=size):
                    self.lose("seg-000002", change)
                    self.assertEqual(self.run_tape("verify", "s3://tapes/prod", env=self.env()).returncode, 3 if "gone" in words else 1)
                    done = self.push("--part-size", size)
                    self.assertRegex(done.stderr, f"^kubetape push: 's3://tapes/prod/.*/seg-000002.db' {words}; pushing it again\n$")
                    self.assertIn("pushed 1 segment (", done.stdout)
                    self.assert_stored()
                    self.assertEqual(self.run_tape("verify", "s3://tapes/prod", env=self.env()).returncode, 0)

    def test_what_was_changed_in_the_store_and_is_not_here_is_told(self):
        self.push()
        self.remove_here(1, 2)
        for words, change in self.changes:
            with self.subTest(words):
                there, key = self.store.objects[self.key("seg-000002")], self.key("seg-000002")
                self.lose("seg-000002", change)
                done = self.push(code=3)
                self.assertRegex(done.stderr, f"seg-000002.db' {words}; this machine no longer has it, and cannot push it again\n$")
                self.assertIn("it lacks 1 segment that is not here any more", done.stdout)
                self.assertEqual(len(self.manifest()["segments"]), 4)
                self.store.objects[key] = there
        self.push()

    def test_another_tape_in_its_place_is_not_overwritten(self):
        self.push()
        self.lose("seg-000002", lambda b: b[:5000])
        key = self.key("manifest")
        self.store.objects[key] = StoredObject(self.store.objects[key].body.replace(self.manifest()["segments"][1]["sha256"].encode(), b"0" * 64))
        self.store.objects[self.key("seg-000002")].sha256 = "0" * 64
        self.assertIn("the store has another", self.push(code=1).stderr)

    def test_a_look_at_what_the_store_has_is_one_list_whatever_the_number_of_segments(self):
        self.push()
        before = len(self.store.requests)
        self.push()
        methods = [m for m, _, _ in self.store.requests[before:]]
        self.assertEqual((methods.count("HEAD"), methods.count("PUT")), (0, 0))

    def test_a_manifest_of_an_older_program_is_compared_segment_by_segment(self):
        self.push()
        key, manifest = self.key("manifest"), self.manifest()
        for segment in manifest["segments"]:
            del segment["etag"]
        self.store.objects[key] = StoredObject(json.dumps(manifest).encode())
        before = self.store.count("HEAD")
        self.push()
        self.assertEqual(self.store.count("HEAD"), before + 4)

    def test_a_store_that_keeps_no_metadata_is_told(self):
        self.store.keeps_metadata = False
        self.refused("has to keep metadata of objects")

    def test_a_list_ends_where_the_store_says_so(self):
        self.push()
        self.store.page = "<ListBucketResult><IsTruncated>false</IsTruncated><NextContinuationToken></NextContinuationToken></ListBucketResult>"
        self.assertIn("pushed 0 segments", self.push().stdout)

    def test_a_list_that_goes_on_at_the_same_place_is_told(self):
        self.push()
        for token in ("", "again"):
            self.store.page = ("<ListBucketResult><IsTruncated>true</IsTruncated>"
                               f"<NextContinuationToken>{token}</NextContinuationToken></ListBucketResult>")
            self.refused("the store says that its list goes on, and names no place where, or the same again")

    def test_a_list_that_breaks_off_is_told(self):
        self.push()
        self.store.page = "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>prod/clus"
        self.refused("the store's list of objects breaks off")

    def test_a_page_for_people_is_no_list(self):
        self.push()
        self.store.page = "<html><body>Welcome</body></html>"
        self.refused("what answers in place of the store gives no list of objects; is its address right?")
        self.assert_fails(self.run_tape("info", "s3://tapes/prod", env=self.env()), 1, "gives no list of objects")

    def test_a_store_that_lists_nothing_is_asked_for_each_segment(self):
        self.push()
        self.store.fail("GET", "", "AccessDenied")
        self.store.fail("GET", "manifest", lambda: None)
        self.store.faults.reverse()
        self.assertEqual(self.push().stderr, "")


class Trouble(PushTest):
    def test_a_busy_store_is_asked_again(self):
        self.store.fail("PUT", "seg-000002", "SlowDown", times=3)
        self.store.fail("GET", "manifest", "InternalError")
        self.push()
        self.assert_stored()

    def test_a_store_that_stays_busy_is_given_up_in_one_sentence(self):
        self.store.fail("PUT", "seg-000002", "SlowDown", times=100)
        done = self.push("--retry-for", "500ms", code=1)
        self.assertIn("kubetape push: cannot write 's3://tapes/prod/", done.stderr.splitlines()[-1])
        self.assertIn("the store says SlowDown", done.stderr)
        self.store.faults.clear()
        self.push()
        self.assert_stored()

    def test_a_connection_that_is_cut_is_made_again(self):
        self.store.fail("PUT", "seg-000001", "cut", times=2)
        self.store.fail("PUT", "manifest", "cut")
        self.push()
        self.assert_stored()

    def test_an_answer_that_is_lost_does_no_harm(self):
        self.store.fail("PUT", "seg-000001", "lost answer")
        self.store.fail("PUT", "manifest", "lost answer", times=2)
        self.push()
        self.assert_stored()

    def test_an_object_that_the_store_has_half_of_is_told_and_not_believed(self):
        self.store.fail("PUT", "seg-000002", "half")
        self.assertIn("the store has another", self.push(code=1).stderr)
        self.assertEqual(len(self.manifest()["segments"]), 1)
        del self.store.objects[self.store.keys("seg-000002")[0]]
        self.push()
        self.assert_stored()

    def test_a_bucket_that_vanishes_is_told_and_nothing_here_is_lost(self):
        before = sorted(os.listdir(self.tape))
        self.store.fail("PUT", "seg-000002", "vanish")
        self.refused("the store has no bucket 'tapes'")
        self.assertEqual(sorted(os.listdir(self.tape)), before)

    def test_wrong_keys_are_told_with_where_they_come_from(self):
        self.refused("SignatureDoesNotMatch", env={"AWS_SECRET_ACCESS_KEY": "wrong"})
        self.refused("the credentials are those of the environment", env={"AWS_ACCESS_KEY_ID": "AKIDNOBODY"})
        self.store.fail("GET", "manifest", "XAdminUserNotFound")
        self.refused("the store says XAdminUserNotFound")
        self.assertEqual(self.store.objects, {})

    def test_a_clock_that_is_off_is_told_by_how_much(self):
        self.store.ahead_s = 7200
        done = self.push(code=1)
        self.assertRegex(done.stderr, "^kubetape push: .*the clock of this machine is (1h59m|2h00m) behind that of the store; set it right\n$")

    def test_a_clock_that_is_off_is_told_where_the_answer_has_no_body(self):
        self.store.fail("HEAD", "seg-", lambda: setattr(self.store, "ahead_s", -7200))
        done = self.push(code=1)
        self.assertRegex(done.stderr, "^kubetape push: cannot look at '.*seg-000001.db': the clock of this machine is (1h59m|2h00m) "
                                      "ahead of that of the store; set it right\n$")

    def test_a_clock_that_is_off_is_told_beside_another_reason(self):
        self.store.ahead_s = 7200
        self.store.fail("GET", "manifest", "AccessDenied")
        self.assertRegex(self.push(code=1).stderr, "AccessDenied: .*; the credentials are those of the environment, "
                                                   "and the clock of this machine is (1h59m|2h00m) behind that of the store\n$")
        self.store.ahead_s = 600
        self.store.fail("GET", "manifest", "AccessDenied")
        self.assertNotIn("clock", self.push(code=1).stderr)

    def test_a_store_that_is_away_is_told(self):
        self.refused("no whole answer from 'http://127.0.0.1:1'", "--endpoint", "http://127.0.0.1:1", "--retry-for", "0")

    def test_what_is_wrong_on_this_machine_is_not_tried_again(self):
        endpoint = self.store.endpoint.replace("http:", "https:")
        for env, why in (({"AWS_CA_BUNDLE": "/nowhere"}, "error setting certificate"), ({"https_proxy": "no such"}, "Unsupported proxy"),
                ({"https_proxy": "ftp://127.0.0.1"}, "Unsupported proxy")):
            with self.subTest(env):
                done = self.push("--endpoint", endpoint, code=2, env=env)
                self.assert_fails(done, 2, f"cannot call '{endpoint}' from here: {why}")
                self.assertNotIn("trying again", done.stderr)

    def test_another_region_is_learnt_from_the_store(self):
        self.store.region = "eu-central-1"
        self.push()
        self.assert_stored()

    def test_without_credentials_it_says_where_it_looked(self):
        env = {k: v for k, v in self.env().items() if not k.startswith(("AWS_ACCESS", "AWS_SECRET"))}
        done = self.run_tape("push", self.tape, "s3://tapes/prod", env=env)
        self.assert_fails(done, 1, "no credentials for the store")
        with open(os.path.join(self.dir, "config"), "w", encoding="utf-8") as f:
            f.write("[profile role]\nrole_arn = arn:aws:iam::1:role/r\nsource_profile = default\n")
        done = self.run_tape("push", self.tape, "s3://tapes/prod", env={**env, "AWS_PROFILE": "role", "AWS_CONFIG_FILE": os.path.join(self.dir, "config")})
        self.assert_fails(done, 1, "profile 'role' has 'source_profile', which is not supported here")

    def test_bad_words_are_usage_errors(self):
        self.refused("'/somewhere' is no place to push to, expected s3://BUCKET/PREFIX or clickhouse+https://HOST/DATABASE", url="/somewhere", code=2)
        for address in ("127.0.0.1:9000", "http://127.0.0.1:99999", "ftp://127.0.0.1"):
            self.refused(f"'{address}' is no address of a store, expected https://HOST[:PORT]", "--endpoint", address, code=2)
        self.refused("names no bucket", url="s3:///x", code=2)
        self.refused("bad name of a cluster 'a/b'", "--cluster", "a/b", code=2)
        self.refused("bad name of a cluster '..': expected one without '/' and control characters that is not '.' or '..'", "--cluster", "..", code=2)
        self.refused("bad name of a cluster 'a\\tb': expected one without '/' and control", "--cluster", "a\tb", code=2)


    def test_what_cannot_be_the_name_of_a_bucket_is_a_usage_error(self):
        for name in ("a b", "ab", "Tapes", "my_tapes", ".tapes", "tapes-", "tape\ts", "x" * 64, "täpes", "tapes:1", ".."):
            with self.subTest(name):
                self.refused(f"no bucket has a name like '{name}'".replace("\t", "\\t"), url=f"s3://{name}/x", code=2)
                done = self.run_tape("info", f"s3://{name}/x", env=self.env())
                self.assert_fails(done, 2, "expected 3 to 63 lower-case letters, digits, dots and hyphens, and a letter or a digit at both ends")
        self.assertEqual(self.store.requests, [])

    def test_a_bucket_of_any_legal_name_is_asked_for(self):
        for name in ("abc", "a.b-c", "0-9", "x" * 63):
            self.refused(f"the store has no bucket '{name}'", url=f"s3://{name}/x")


class Identity(PushTest):
    """Where credentials come from."""
    rows = segments(1)

    def bare(self, **more):
        env = {k: v for k, v in self.env().items() if not k.startswith(("AWS_ACCESS", "AWS_SECRET"))}
        return {**env, **more}

    def file(self, name, text):
        path = os.path.join(self.dir, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def pushes(self, said="", **env):
        done = self.run_tape("push", self.tape, "s3://tapes/prod", env=self.bare(**env))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, f"^{said}$")
        self.assert_stored()

    def test_of_the_profile_in_the_shared_file(self):
        path = self.file("credentials", f"[default]\naws_access_key_id = other\naws_secret_access_key = x\n\n[ops]\n# ours\n"
                                        f"aws_access_key_id=AKIDTEST\naws_secret_access_key = {SECRET}\n")
        self.pushes(AWS_SHARED_CREDENTIALS_FILE=path, AWS_PROFILE="ops")

    def test_region_and_endpoint_of_the_profile_in_the_configuration(self):
        self.store.region = "eu-north-1"
        path = self.file("config", f"[profile ops]\nregion = eu-north-1\nendpoint_url = {self.store.endpoint}\n"
                                   f"aws_access_key_id = AKIDTEST\naws_secret_access_key = {SECRET}\n")
        self.pushes(AWS_CONFIG_FILE=path, AWS_PROFILE="ops", AWS_ENDPOINT_URL="")

    def test_a_profile_that_is_nowhere_is_told(self):
        self.assert_fails(self.run_tape("push", self.tape, "s3://tapes/prod", "--profile", "ops", env=self.bare()), 1, "no profile 'ops'")

    def test_a_profile_that_is_chosen_counts_before_the_environment(self):
        path = self.file("credentials", f"[ops]\naws_access_key_id=AKIDTEST\naws_secret_access_key = {SECRET}\n")
        done = self.run_tape("push", self.tape, "s3://tapes/prod", "--profile", "ops",
                             env=self.env(AWS_ACCESS_KEY_ID="other", AWS_SECRET_ACCESS_KEY="x", AWS_SHARED_CREDENTIALS_FILE=path))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assert_stored()

    def test_a_way_to_keys_that_is_not_followed_is_told_and_the_machines_own_are_not_taken(self):
        base = "/latest/meta-data/iam/security-credentials/"
        for ways in ("role_arn = r\nsource_profile = default", "credential_process = /bin/x", "role_arn = r\ncredential_source = Ec2InstanceMetadata",
                     "sso_session = s"):
            path = self.file("config", f"[profile ops]\n{ways}\n")
            with Answers({("PUT", "/latest/api/token"): "imds", ("GET", base): "r", ("GET", base + "r"): json.dumps(self.keys())}) as service:
                done = self.run_tape("push", self.tape, "s3://tapes/prod", env=self.bare(
                    AWS_CONFIG_FILE=path, AWS_PROFILE="ops", AWS_EC2_METADATA_DISABLED="false", AWS_EC2_METADATA_SERVICE_ENDPOINT=service.url))
                self.assert_fails(done, 1, "which is not supported here")
                self.assertEqual(service.seen, [])

    def test_a_session_token_is_sent(self):
        self.store.token = "session"
        self.push(env={"AWS_SESSION_TOKEN": "session"})
        self.assert_stored()

    def keys(self):
        return {"AccessKeyId": "AKIDTEST", "SecretAccessKey": SECRET, "Token": "session", "Expiration": "2199-01-01T00:00:00Z"}

    def test_of_the_containers_service_with_its_token(self):
        self.store.token = "session"
        with Answers({("GET", "/keys"): json.dumps(self.keys())}) as service:
            self.pushes(AWS_CONTAINER_CREDENTIALS_FULL_URI=service.url + "/keys",
                        AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=self.file("token", "pod-token\n"))
            self.assertEqual(service.seen[0][2]["Authorization"], "pod-token")

    def test_a_token_that_ends_in_the_middle_is_renewed_whatever_is_asked_then(self):
        self.make_tape(os.path.join(self.dir, "three.tape"), segments(3))
        for method, part in (("HEAD", "seg-000002"), ("PUT", "seg-000002"), ("PUT", "manifest"), ("GET", "manifest")):
            with self.subTest(f"{method} {part}"):
                self.tape, self.store.token = os.path.join(self.dir, "three.tape"), "first"
                self.store.objects.clear()
                self.store.fail(method, part, lambda: setattr(self.store, "token", "second"))
                with Answers({("GET", "/keys"): lambda: json.dumps({**self.keys(), "Token": self.store.token})}) as service:
                    self.pushes(AWS_CONTAINER_CREDENTIALS_FULL_URI=service.url + "/keys")
                    self.assertEqual(len(service.seen), 2)

    def test_a_token_that_is_changed_in_the_shared_file_is_read_again(self):
        text = f"[default]\naws_access_key_id = AKIDTEST\naws_secret_access_key = {SECRET}\naws_session_token = "
        path, self.store.token = self.file("credentials", text + "first\n"), "first"

        def change():
            self.store.token = "second"
            self.file("credentials", text + "second\n")

        self.store.fail("HEAD", "seg-", change)
        self.pushes(AWS_SHARED_CREDENTIALS_FILE=path)

    def test_keys_that_were_rotated_in_the_shared_file_are_read_again(self):
        text = "[default]\naws_access_key_id = AKIDTEST\naws_secret_access_key = "
        path = self.file("credentials", text + "old\n")
        self.store.fail("GET", "", lambda: self.file("credentials", text + SECRET + "\n"))
        self.store.fail("HEAD", "", lambda: self.file("credentials", text + SECRET + "\n"))
        self.pushes(AWS_SHARED_CREDENTIALS_FILE=path)

    def test_a_token_that_has_ended_for_good_is_told(self):
        self.store.token = "session"
        self.store.fail("HEAD", "seg-", lambda: setattr(self.store, "token", "other"))
        done = self.push(code=1, env={"AWS_SESSION_TOKEN": "session"})
        self.assertRegex(done.stderr, "^kubetape push: cannot look at '.*seg-000001.db': the store says no \\(status 400: perhaps a session token has ended\\); "
                                      "the credentials are those of the environment\n$")
        self.assertEqual(self.store.count("HEAD"), 2)

    def test_of_the_instances_metadata(self):
        self.store.token = "session"
        base = "/latest/meta-data/iam/security-credentials/"
        with Answers({("PUT", "/latest/api/token"): "imds", ("GET", base): "node-role\n", ("GET", base + "node-role"): json.dumps(self.keys())}) as service:
            self.pushes(AWS_EC2_METADATA_DISABLED="false", AWS_EC2_METADATA_SERVICE_ENDPOINT=service.url)
            self.assertEqual([h.get("X-aws-ec2-metadata-token") for _, _, h in service.seen], [None, "imds", "imds"])

    def role_answer(self):
        return (f"<R><Credentials><AccessKeyId>AKIDTEST</AccessKeyId><SecretAccessKey>{SECRET}</SecretAccessKey>"
                "<SessionToken>session</SessionToken><Expiration>2199-01-01T00:00:00Z</Expiration></Credentials></R>")

    def test_of_a_web_identity(self):
        self.store.token = "session"
        with Answers({("POST", "/"): self.role_answer()}) as service:
            self.pushes(AWS_WEB_IDENTITY_TOKEN_FILE=self.file("jwt", "a.b.c\n"), AWS_ROLE_ARN="arn:aws:iam::1:role/tapes",
                        AWS_ENDPOINT_URL_STS=service.url)
            self.assertIn("WebIdentityToken=a.b.c", service.bodies[0])
            self.assertIn("RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Ftapes", service.bodies[0])

    def test_of_a_web_identity_when_the_service_is_less_busy(self):
        self.store.token = "session"
        answers = [Answer(503, "<E/>"), Answer(400, "<E><Code>Throttling</Code></E>"), self.role_answer()]
        with Answers({("POST", "/"): lambda: answers.pop(0)}) as service:
            self.pushes("kubetape push: the web identity was not taken for the role: .*; trying again\n",
                        AWS_WEB_IDENTITY_TOKEN_FILE=self.file("jwt", "a.b.c\n"), AWS_ROLE_ARN="r", AWS_ENDPOINT_URL_STS=service.url)
            self.assertEqual(len(service.seen), 3)

    def test_of_the_instances_metadata_when_it_is_less_busy(self):
        self.store.token = "session"
        base = "/latest/meta-data/iam/security-credentials/"
        roles = [Answer(503, ""), "node-role"]
        with Answers({("PUT", "/latest/api/token"): "imds", ("GET", base): lambda: roles.pop(0),
                      ("GET", base + "node-role"): json.dumps(self.keys())}) as service:
            self.pushes("kubetape push: the instance's metadata service is busy; trying again\n",
                        AWS_EC2_METADATA_DISABLED="false", AWS_EC2_METADATA_SERVICE_ENDPOINT=service.url)
            self.assertEqual(roles, [])

    def test_keys_that_end_soon_are_good_while_nobody_gives_new_ones(self):
        soon = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(minutes=3)
        first = {**self.keys(), "Expiration": soon.strftime("%Y-%m-%dT%H:%M:%SZ")}
        answers, self.store.token = [json.dumps(first)], "session"
        with Answers({("GET", "/keys"): lambda: answers.pop(0) if answers else Answer(500, "")}) as service:
            self.pushes(AWS_CONTAINER_CREDENTIALS_FULL_URI=service.url + "/keys")
            self.assertGreater(len(service.seen), 1)

    def test_of_the_services_section_that_the_profile_names(self):
        path = self.file("config", "[services local]\ndynamodb =\n  endpoint_url = http://127.0.0.1:1\ns3 =\n"
                                   f"  endpoint_url = {self.store.endpoint}\n[profile ops]\nservices = local\nendpoint_url = http://127.0.0.1:1\n"
                                   f"aws_access_key_id = AKIDTEST\naws_secret_access_key = {SECRET}\n")
        self.pushes(AWS_CONFIG_FILE=path, AWS_PROFILE="ops", AWS_ENDPOINT_URL="")

    def test_a_web_identity_that_is_refused_is_told(self):
        with Answers({}) as service:
            done = self.run_tape("push", self.tape, "s3://tapes/prod", env=self.bare(
                AWS_WEB_IDENTITY_TOKEN_FILE=self.file("jwt", "x"), AWS_ROLE_ARN="r", AWS_ENDPOINT_URL_STS=service.url))
        self.assert_fails(done, 1, "the web identity was not taken for the role: InvalidIdentityToken (status 403)")


class Death(PushTest):
    rows = segments(4)

    def test_killed_at_each_request_it_is_repeated_without_harm(self):
        count = 0
        while True:
            process = subprocess.Popen([KUBETAPE, "push", self.tape, "s3://tapes/prod", "--part-size", "24K"], env=self.env(),
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            struck = threading.Event()

            def strike(process=process, struck=struck):
                struck.set()
                process.send_signal(signal.SIGKILL)
                process.wait()

            with self.store.lock:
                self.store.faults = [("PUT", "", strike if count % 2 else "lost answer")]
                if count % 2 == 0:
                    self.store.faults.append(("PUT", "", strike))
            process.wait(timeout=60)
            if not struck.is_set():
                break
            count += 1
            self.assertLess(count, 60)
        self.store.faults = []
        self.push()
        self.assert_stored()
        self.assertGreater(count, 3)
