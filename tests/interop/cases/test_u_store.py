"""An object store that is not ours, versitygw: what is pushed to it is there whole, whatever becomes of it meanwhile, and is read back."""

import hashlib
import json
import os
import random
import shutil
import tempfile
import threading
import time
import unittest

from lib import cluster, paths, process, tape, wait

GATEWAY = os.path.join(paths.BUILD, "bin", "versitygw")
BUNDLED = os.path.join(paths.ROOT, "tests", "tapes", "rolling-update.tape")
KEY_ID, SECRET = "AKIDINTEROP", "a secret/of+the=store"
PART_BYTES = 5 << 20  # the least that a store takes
KILLS = 4


class Gateway:
    """The store, with its objects as files of a folder; it can be killed and started again."""

    def __init__(self, folder):
        self.folder, self.data = folder, os.path.join(folder, "data")
        os.makedirs(os.path.join(self.data, "tapes"))
        self.port = cluster.free_ports(1)[0]
        self.env = {"AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}", "XDG_CACHE_HOME": os.path.join(folder, "cache")}
        self.start()

    def start(self):
        self.child = process.Child([GATEWAY, "--port", f"127.0.0.1:{self.port}", "posix", self.data], self.folder, "gateway",
            {"ROOT_ACCESS_KEY": KEY_ID, "ROOT_SECRET_KEY": SECRET})
        self.child.wait_for(r"listening on", "out")

    def run(self, *arguments, **more):
        child = process.Child([paths.KUBETAPE, *arguments], self.folder, arguments[0], {**self.env, **more})
        child.wait_end()
        return child

    def files(self):
        """SHA-256 of each segment that the store has."""
        found = {}
        for folder, _, names in os.walk(os.path.join(self.data, "tapes")):
            found.update({name: digest(os.path.join(folder, name)) for name in names if name.startswith("seg-")})
        return found


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def here(folder):
    return {name: digest(os.path.join(folder, name)) for name in os.listdir(folder) if name.startswith("seg-")}


def config_map(number, megabytes):
    """A line for `import`, of bytes that do not compress."""
    data = random.Random(number).randbytes(megabytes << 20).hex()
    return json.dumps({"kind": "ConfigMap", "apiVersion": "v1", "data": {"it": data},
        "metadata": {"name": f"c{number}", "namespace": "a", "uid": f"u{number}", "resourceVersion": str(number + 1)}}) + "\n"


class Store(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="kubetape-store-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.store = Gateway(self.folder)
        self.addCleanup(lambda: self.store.child.kill())
        self.tape = os.path.join(self.folder, "x.tape")

    def import_segments(self, count, megabytes):
        lines = os.path.join(self.folder, "lines")
        for number in range(count):
            with open(lines, "w", encoding="utf-8") as file:
                file.write(config_map(number, megabytes))
            tape.kubetape("import", lines, "-o", self.tape if number == 0 else f"{self.tape}-{number}")
            if number:
                tape.kubetape("merge", self.tape, f"{self.tape}-{number}", "-o", self.tape + "-merged")
                shutil.rmtree(self.tape)
                os.rename(self.tape + "-merged", self.tape)

    def test_a_tape_is_there_byte_for_byte_and_every_command_reads_it(self):
        shutil.copytree(BUNDLED, self.tape)
        for _ in range(2):
            pushed = self.store.run("push", self.tape, "s3://tapes/prod", "--cluster", "eu-1")
            self.assertEqual(pushed.exit_code, 0, pushed.text("err"))
        self.assertIn("pushed 0 segments", pushed.text("out"))
        self.assertEqual(self.store.files(), here(self.tape))
        there = "s3://tapes/prod/cluster=eu-1"
        for arguments in (("query", "SELECT resource, count(*) FROM events GROUP BY 1 ORDER BY 1", "--format", "json"),
                          ("get", "pods", "-A", "--at", "09:51:40"), ("gaps", "--json"), ("verify", "--json")):
            with self.subTest(command=arguments):
                answers = [self.store.run(arguments[0], place, *arguments[1:]) for place in (self.tape, there)]
                self.assertEqual([a.exit_code for a in answers], [0, 0], answers[1].text("err"))
                if arguments[0] in ("query", "get"):
                    texts = [a.text("out") for a in answers]
                    self.assertEqual(texts[0], texts[1])
        replayed = self.store.run("replay", there, "--plain", "--speed", "max", "--exit-at-end", "--wait-watchers", "0", "--", "true")
        self.assertEqual(replayed.exit_code, 0, replayed.text("err"))

    def test_large_segments_go_in_parts_while_the_store_is_killed_again_and_again(self):
        self.import_segments(1, 12)
        self.assertGreater(max(os.path.getsize(os.path.join(self.tape, n)) for n in here(self.tape)), 2 * PART_BYTES)
        push = process.Child([paths.KUBETAPE, "push", self.tape, "s3://tapes/big", "--part-size", "5M", "--retry-for", "60s"],
            self.folder, "push", self.store.env)
        chance = random.Random(7)
        for _ in range(KILLS):
            time.sleep(chance.uniform(0, 0.2))  # when it is killed is a matter of chance
            self.store.child.kill()
            self.store.start()
        self.assertEqual(push.wait_end(), 0, push.text("err"))
        self.assertEqual(self.store.files(), here(self.tape))
        self.assertEqual(self.store.run("verify", "s3://tapes/big").exit_code, 0)

    def test_two_pushes_at_once_leave_one_manifest_that_names_all(self):
        shutil.copytree(BUNDLED, self.tape)
        threads = [threading.Thread(target=tape.kubetape, args=("push", self.tape, "s3://tapes/both", "--endpoint",
            self.store.env["AWS_ENDPOINT_URL"]), daemon=True) for _ in range(2)]
        os.environ.update({k: self.store.env[k] for k in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION")})
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(wait.PATIENCE_S)
        self.assertEqual(self.store.files(), here(self.tape))

    def test_what_it_refuses_is_one_sentence(self):
        shutil.copytree(BUNDLED, self.tape)
        for more, url, sentence in (({"AWS_SECRET_ACCESS_KEY": "wrong"}, "s3://tapes/x", "SignatureDoesNotMatch"),
                                    ({"AWS_ACCESS_KEY_ID": "nobody"}, "s3://tapes/x", "No user exists with the provided access key ID. (status 404); the credentials are those of the environment"),
                                    ({}, "s3://no-such-bucket/x", "the store has no bucket 'no-such-bucket'")):
            with self.subTest(sentence=sentence):
                refused = self.store.run("push", self.tape, url, **more)
                self.assertEqual((refused.exit_code, refused.text("err").count("\n")), (1, 1))
                self.assertIn(sentence, refused.text("err"))
