"""Where output goes: files of every kind that a person may name, full disks, closed descriptors, and who may read it."""
import itertools
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import threading
import time
import unittest

from tapes import KUBETAPE, TapeTest, event, pod

BUNDLED = "tests/tapes/rolling-update.tape"


def mode_of(path):
    return stat.S_IMODE(os.lstat(path).st_mode)


def some_of(things):
    """Every combination, but for none at all."""
    return itertools.chain.from_iterable(itertools.combinations(things, n + 1) for n in range(len(things)))


class OutputCase(TapeTest):
    rows = [event(0, "ADDED", pod("web-0", "u1", 10), origin="list"), event(1, "MODIFIED", pod("web-0", "u1", 11)),
            event(2, "DELETED", pod("web-0", "u1", 12))]

    def path(self, name):
        return os.path.join(self.dir, name)

    def expected(self):
        return self.run_tape("export", self.tape).stdout

    def export_to(self, path, *args, **more):
        return subprocess.run([KUBETAPE, "export", self.tape, "-o", path, *args], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60, **more)

    def read(self, path):
        with open(path, encoding="utf-8") as file:
            return file.read()

    def mounted(self, script):
        """What a shell prints whose mounts are its own."""
        if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], stderr=subprocess.DEVNULL, check=False).returncode:
            self.skipTest("only root mounts")
        done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, timeout=60,
                              cwd=self.dir, check=False)
        self.assertEqual(done.stderr, "")
        return done.stdout

    def assert_nothing_left(self, *known):
        self.assertEqual(sorted(os.listdir(self.dir)), sorted(("x.tape", *known)))


class NamedFiles(OutputCase):
    def test_a_fifo_is_written_to_and_stays_a_fifo(self):
        path, got = self.path("pipe"), []
        os.mkfifo(path)
        reader = threading.Thread(target=lambda: got.append(self.read(path)))
        reader.start()
        done = self.export_to(path)
        reader.join(60)
        self.assertEqual((done.returncode, done.stderr, got), (0, "", [self.expected()]))
        self.assertTrue(stat.S_ISFIFO(os.lstat(path).st_mode))

    @unittest.skipUnless(os.geteuid() == 0, "only root makes devices")
    def test_a_device_is_written_to_and_stays_a_device(self):
        for name, minor, code in (("null", 3, 0), ("full", 7, 1)):
            path = self.path(name)
            os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, minor))
            try:
                done = self.export_to(path)
            finally:
                still = stat.S_ISCHR(os.lstat(path).st_mode)
            self.assertEqual((done.returncode, still), (code, True), done.stderr)
            self.assertEqual("No space left on device" in done.stderr, code == 1, done.stderr)

    def test_a_socket_is_connected_to(self):
        path, got = self.path("socket"), []
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path)
            server.listen()

            def serve():
                with server.accept()[0] as peer, peer.makefile("r", encoding="utf-8") as file:
                    got.append(file.read())

            reader = threading.Thread(target=serve)
            reader.start()
            done = self.export_to(path)
            reader.join(60)
        self.assertEqual((done.returncode, got), (0, [self.expected()]), done.stderr)
        self.assertTrue(stat.S_ISSOCK(os.lstat(path).st_mode))

    def test_a_symbolic_link_stays_and_what_it_leads_to_is_written(self):
        os.mkdir(self.path("sub"))
        for link, to, target in (("a", "sub/old.json", "sub/old.json"), ("b", "sub/new.json", "sub/new.json"),
                                 ("c", "b", "sub/new.json"), ("d", self.path("sub/x"), "sub/x")):
            with self.subTest(link=link):
                os.symlink(to, self.path(link))
                if link == "a":
                    with open(self.path(target), "w", encoding="utf-8") as file:
                        file.write("old")
                done = self.export_to(self.path(link))
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual((os.readlink(self.path(link)), self.read(self.path(target))), (to, self.expected()))
                self.assertFalse(os.path.islink(self.path(target)))

    def test_a_link_to_a_fifo_leads_into_the_fifo(self):
        got = []
        os.mkfifo(self.path("pipe"))
        os.symlink("pipe", self.path("link"))
        reader = threading.Thread(target=lambda: got.append(self.read(self.path("pipe"))))
        reader.start()
        self.assertEqual(self.export_to(self.path("link")).returncode, 0)
        reader.join(60)
        self.assertEqual(got, [self.expected()])

    def test_a_minus_and_the_names_of_descriptors_are_those_descriptors(self):
        want = self.expected()
        for name in ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
            done = self.export_to(name, cwd=self.dir)
            self.assertEqual((done.returncode, done.stdout), (0, want), name)
        self.assertEqual(self.export_to("/dev/stderr").stderr, want)
        os.symlink("/dev/stdout", self.path("out"))
        self.assertEqual(self.export_to(self.path("out")).stdout, want)
        self.assert_nothing_left("out")
        self.assertTrue(os.path.islink("/dev/stdout"))

    def test_stdout_that_is_a_file_is_gone_on_with(self):
        with open(self.path("both"), "w", encoding="utf-8") as file:
            file.write("before\n")
            file.flush()
            subprocess.run([KUBETAPE, "export", self.tape, "-o", "/dev/stdout"], stdout=file, check=True, timeout=60)
        self.assertEqual(self.read(self.path("both")), "before\n" + self.expected())

    def test_a_file_is_replaced_only_by_a_whole_one(self):
        path = self.path("out")
        with open(path, "w", encoding="utf-8") as file:
            file.write("old")
        self.assertEqual(self.export_to(path, "--where", "jget(object, '$.[')").returncode, 1)
        self.assertEqual(self.read(path), "old")
        self.assert_nothing_left("out")
        inode = os.stat(path).st_ino
        self.assertEqual(self.export_to(path).returncode, 0)
        self.assertEqual(self.read(path), self.expected())
        self.assertNotEqual(os.stat(path).st_ino, inode)

    def test_what_cannot_be_a_file_is_refused_in_one_sentence(self):
        self.assert_fails(self.export_to("/nowhere/x"), 1, "cannot make '/nowhere/x': No such file")
        self.assert_fails(self.export_to(self.dir), 1, "Is a directory")
        self.assert_fails(self.export_to(self.path("new/")), 1, "Is a directory")
        os.symlink("loop", self.path("loop"))
        self.assert_fails(self.export_to(self.path("loop")), 1, "Too many levels")
        self.assert_nothing_left("loop")

    def test_a_folder_or_a_database_cannot_go_to_stdout(self):
        for args in (["repack", self.tape, "-o", "-"], ["recover", self.tape, "-o", "/dev/stdout"],
                     ["import", self.tape, "-o", "-"], ["record", "pods", "-o", "-"],
                     ["sweep", self.tape, "-o", "-", "--", "true"], ["replay", self.tape, "--run", "-"],
                     ["replay", self.tape, "--run", "/dev/stdout"]):
            done = subprocess.run([KUBETAPE, *args], capture_output=True, text=True, timeout=60, cwd=self.dir,
                                  stdin=subprocess.DEVNULL)
            self.assert_fails(done, 2, "it cannot be written to '")
        self.assert_nothing_left()
        self.assertTrue(os.path.islink("/dev/stdout"))

    def test_a_report_that_could_not_be_written_is_told_before_the_work(self):
        marker = self.path("marker")
        for name in self.path("none/report"), self.dir:
            for args in (["replay", self.tape, "--plain", "--report", name, "--", "touch", marker],
                         ["anonymize", self.tape, "-o", marker, "--report", name]):
                self.assert_fails(subprocess.run([KUBETAPE, *args], capture_output=True, text=True, timeout=60), 1, f"cannot make '{name}'")
                self.assertFalse(os.path.exists(marker))

    def test_a_mount_is_written_to_as_containers_have_their_files(self):
        """A report that is bound into a container cannot be renamed over."""
        for name in ("outside", "inside"):
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write("old and longer than what comes" * 100)
        self.mounted(f"mount --bind outside inside && {KUBETAPE} export {self.tape} -o inside")
        self.assertEqual(self.read(self.path("outside")), self.expected())

    @unittest.skipIf("asan" in KUBETAPE.split(os.sep), "the sanitizer needs /proc")
    def test_where_files_need_names_they_have_unforeseeable_ones_until_they_are_whole(self):
        """Without /proc, a file that was made without a name cannot be given one."""
        shown = self.mounted(f"mount -t tmpfs none /proc && {KUBETAPE} export {self.tape} -o out; "
                             f"{KUBETAPE} export {self.tape} -o other --where \"jget(object, '$.[')\" 2>&1; ls -lA")
        self.assertEqual(self.read(self.path("out")), self.expected())
        self.assertIn("bad path", shown)
        self.assertRegex(shown, "-rw------- .* out\n")
        self.assert_nothing_left("out")


class Interrupted(OutputCase):
    """However the program ends, there is the old file or none."""

    def wait_for_rows(self, child):
        """Until it writes: a file without a name shows among its descriptors, one with a name in the folder."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            folder = f"/proc/{child.pid}/fd"
            try:
                sizes = [os.stat(os.path.join(folder, fd)).st_size for fd in os.listdir(folder)
                         if os.readlink(os.path.join(folder, fd)).startswith(self.dir + "/")
                         and ".tape" not in os.readlink(os.path.join(folder, fd))]
            except FileNotFoundError:
                continue
            if any(sizes):
                return
            time.sleep(0.01)
        self.fail("it writes nothing")

    def test_a_signal_leaves_nothing(self):
        many = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL):
            for old in ("", "out"):
                with self.subTest(signal=number, old=old):
                    if old:
                        with open(self.path(old), "w", encoding="utf-8") as file:
                            file.write("old")
                    child = subprocess.Popen([KUBETAPE, "export", self.big_tape(), "-o", self.path("out"), "--where",
                                              f"seq < 4000 OR ({many}) > 0"], stderr=subprocess.PIPE, text=True)
                    self.wait_for_rows(child)
                    child.send_signal(number)
                    _, errors = child.communicate(timeout=60)
                    if number == signal.SIGKILL:
                        self.assertEqual(child.returncode, -number)
                    else:
                        self.assertEqual((child.returncode, errors),
                                         (1, "kubetape export: the statement was interrupted\n"))
                    self.assertEqual(self.read(self.path("out")) if old else None, "old" if old else None)
                    self.assert_nothing_left("big.tape", *([old] if old else []))
            os.unlink(self.path("out"))

    def big_tape(self):
        path = self.path("big.tape")
        if not os.path.exists(path):
            self.make_tape(path, [event(i / 1000, "ADDED", pod(f"web-{i}", f"u{i}", i + 1)) for i in range(4100)])
        return path

    def test_a_pin_that_is_ended_leaves_nothing(self):
        folder = self.path("big.tape.pins")
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            child = subprocess.Popen([KUBETAPE, "pin", self.big_tape(), "--from", "start"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while child.poll() is None and not (os.path.isdir(folder) and os.listdir(folder)):
                pass
            child.send_signal(number)
            self.assertIn(child.wait(timeout=60), (0, 1))
            self.assertEqual([name for name in os.listdir(folder) if not name.endswith(".ktape")], [])
            shutil.rmtree(folder)

    def test_a_repack_that_is_killed_leaves_no_tape_of_that_name(self):
        """What it leaves says by its name that it is not finished."""
        tape, target = self.big_tape(), self.path("r.tape")
        child = subprocess.Popen([KUBETAPE, "repack", tape, "-o", target], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while child.poll() is None and len(os.listdir(self.dir)) < 3:
            self.assertFalse(os.path.exists(target))
        child.kill()
        if child.wait() == -signal.SIGKILL:
            self.assertFalse(os.path.exists(target))

    def test_a_full_disk_leaves_nothing(self):
        shown = self.mounted(f"mkdir small && mount -t tmpfs -o size=64k none small && cd small && echo old >out;"
                             f" {KUBETAPE} export {os.path.abspath(BUNDLED)} -o out 2>&1; echo $? $(cat out) $(ls -A | wc -l)")
        self.assertEqual(shown.splitlines()[1:], ["1 old 1"])
        self.assertIn("No space left on device", shown)


def commands(tape, folder):
    """A command line of every command, and what it does with a good stdout."""
    broken = os.path.join(folder, "none.tape")
    return [(["--help"], 0), (["--version"], 0), (["help"], 0), (["help", "--format=man"], 0),
            (["help", "export", "--format=man"], 0), (["help", "--format=names"], 0), (["get", "--help"], 0),
            (["__complete", "get", "--"], 0), (["info", tape], 0), (["info", tape, "--json"], 0), (["gaps", tape], 0),
            (["gaps", tape, "--json"], 0), (["get", tape, "pods", "--at", "1"], 0), (["get", tape, "pods", "-o", "yaml", "--at", "1"], 0),
            (["get", tape, "pods", "-o", "json"], 0), (["log", tape, "pods/web-0"], 0), (["log", tape, "pods/web-0", "--json"], 0),
            (["diff-state", tape, "1", "end"], 0), (["diff-state", tape, "1", "end", "--json"], 0), (["query", tape, "SELECT 1"], 0),
            (["export", tape], 0), (["export", tape, "-o", "-"], 0), (["export", tape, "--format", "trace"], 0), (["verify", tape], 0),
            (["verify", tape, "--json"], 0), (["repack", tape, "-o", os.path.join(folder, "r.tape")], 0),
            (["recover", tape, "-o", os.path.join(folder, "s.tape")], 0),
            (["import", "-", "-o", os.path.join(folder, "i.tape")], 0), (["info", broken], 1), (["nosuch"], 2)]


class Streams(OutputCase):
    INPUT = b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","uid":"u","resourceVersion":"1"}}\n'

    def run_into(self, args, stdout, closed=()):
        def close():
            for fd in closed:
                os.close(fd)

        source = tempfile.TemporaryFile()
        self.addCleanup(source.close)
        source.write(self.INPUT)
        source.seek(0)
        return subprocess.run([KUBETAPE, *args], stdin=source, stdout=stdout, stderr=subprocess.PIPE, text=True,
                              timeout=60, check=False, preexec_fn=close)

    def test_a_full_output_is_a_sentence_and_exit_1_of_every_command(self):
        with open("/dev/full", "w", encoding="utf-8") as full, tempfile.TemporaryDirectory() as folder:
            for args, code in commands(self.tape, folder):
                with self.subTest(args=args):
                    done = self.run_into(args, full)
                    self.assertEqual(done.returncode, code or 1, done.stderr)
                    self.assertEqual("No space left on device" in done.stderr, code == 0, done.stderr)
                    self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_a_long_output_to_a_full_disk_ends_at_once(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = self.run_into(["log", BUNDLED, "deploy/web", "--all-fields", "--full"], full)
        self.assert_fails(done, 1, "cannot write the output: No space left on device")

    def test_a_replay_whose_address_cannot_be_told_ends(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = self.run_into(["replay", self.tape, "--plain"], full)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("cannot write the output: No space left on device", done.stderr)

    def test_a_reader_that_has_enough_ends_the_command_in_silence(self):
        for how in ("", "trap '' PIPE; "):
            done = subprocess.run(["bash", "-c", f"{how}{KUBETAPE} export {BUNDLED} | head -c 10"], capture_output=True,
                                  text=True, timeout=60, check=False)
            self.assertEqual((len(done.stdout), done.stderr), (10, ""), how)

    def test_closed_descriptors_are_borne_by_every_command(self):
        for closed in some_of((0, 1, 2)):
            with tempfile.TemporaryDirectory() as folder:
                for args, code in commands(self.tape, folder):
                    with self.subTest(args=args, closed=closed):
                        done = self.run_into(args, subprocess.PIPE, closed)
                        fails = 1 in closed or (0 in closed and args[0] == "import")
                        self.assertEqual(done.returncode, code or int(fails), done.stderr)
                        self.assertEqual("Bad file descriptor" in done.stderr, code == 0 and fails and 2 not in closed,
                                         done.stderr)

    def test_closed_descriptors_never_become_those_of_a_tape(self):
        """The lock or a segment as descriptor 1 would be written into."""
        path = self.path("i.tape")
        done = subprocess.run(["bash", "-c", f"{KUBETAPE} import {self.path('in')} -o {path} <&- >&- 2>&-"], timeout=60, check=False)
        self.assertEqual(done.returncode, 1)
        with open(self.path("in"), "wb") as file:
            file.write(self.INPUT)
        done = subprocess.run(["bash", "-c", f"{KUBETAPE} import {self.path('in')} -o {path} <&- >&- 2>&-"], timeout=60, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(self.run_tape("verify", path).returncode, 0)

    def test_a_replay_runs_with_any_of_them_closed_and_cleans_up(self):
        temporary = self.path("tmp")
        os.mkdir(temporary)
        env = dict(os.environ, TMPDIR=temporary)
        for closed in some_of("012"):
            with self.subTest(closed=closed):
                text = " ".join(f"{fd}>&-" for fd in closed)
                done = subprocess.run(["bash", "-c", f"{KUBETAPE} replay {self.tape} --wait-watchers 0 -- sh -c 'exit 7' {text}"],
                                      capture_output=True, text=True, timeout=60, env=env, check=False, stdin=subprocess.DEVNULL)
                self.assertEqual(done.returncode, 7, done.stderr)
                self.assertEqual(os.listdir(temporary), [])


class Modes(OutputCase):
    """What holds data of a cluster is its owner's alone, whatever the umask is."""

    def loose(self):
        found = {}
        for folder, folders, files in os.walk(self.dir):
            for name in (*folders, *files):
                path = os.path.join(folder, name)
                if mode_of(path) & 0o077:
                    found[os.path.relpath(path, self.dir)] = oct(mode_of(path))
        return {name: mode for name, mode in found.items() if not name.startswith("x.tape")}

    def run_openly(self, *args):
        done = subprocess.run([KUBETAPE, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
                              check=False, preexec_fn=lambda: os.umask(0))
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_new_files_and_folders_are_the_owners(self):
        for args in (["export", self.tape, "-o", self.path("e.json")], ["repack", self.tape, "-o", self.path("r.tape")],
                     ["recover", self.tape, "-o", self.path("c.tape")],
                     ["replay", self.tape, "--plain", "--wait-watchers", "0", "--run", self.path("x.run"), "--report",
                      self.path("report.json"), "--", "true"]):
            self.run_openly(*args)
            self.assertEqual(self.loose(), {}, args)

    def test_a_run_is_the_owners_while_it_is_written_too(self):
        script = f"ls -l {self.dir} | grep -v ' x.tape$' | grep -v ^total | cut -c1-10 | sort -u"
        done = subprocess.run([KUBETAPE, "replay", self.tape, "--plain", "--wait-watchers", "0", "--run", self.path("x.run"), "--",
                               "sh", "-c", script], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
                              check=True, preexec_fn=lambda: os.umask(0))
        self.assertEqual(done.stdout.splitlines()[1:], ["-rw-------"])

    def test_a_sweep_is_the_owners(self):
        subprocess.run([KUBETAPE, "sweep", BUNDLED, "-o", self.path("sw"), "--max", "1", "--settle", "100ms", "--", "true"],
                       stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False, preexec_fn=lambda: os.umask(0))
        self.assertTrue(os.listdir(self.path("sw")))
        self.assertEqual(self.loose(), {})

    def test_a_file_that_is_replaced_keeps_its_mode(self):
        path = self.path("e.json")
        for mode in (0o644, 0o600, 0o664):
            with open(path, "w", encoding="utf-8"):
                os.chmod(path, mode)
            self.assertEqual(self.export_to(path).returncode, 0)
            self.assertEqual(mode_of(path), mode)


class Runs(OutputCase):
    def test_faults_come_from_stdin_for_a_minus(self):
        faults = '{"rules": [{"name": "late", "when": {"at": "+1s"}, "what": "rst"}]}'
        for text, code in ((faults, 0), ("", 2), ('{"rules": 1}', 2)):
            done = self.run_tape("replay", self.tape, "--plain", "--wait-watchers", "0", "--gaps=-", "--", "true", stdin=text)
            self.assertEqual(done.returncode in ((0, 3) if code == 0 else (1, 2)), True, done.stderr)
            self.assertEqual("replay: -, line 1" in done.stderr, code != 0, done.stderr)

    def test_a_run_named_by_a_link_is_made_where_it_leads(self):
        os.mkdir(self.path("runs"))
        os.symlink("runs/a.run", self.path("last.run"))
        for _ in range(2):
            subprocess.run([KUBETAPE, "replay", self.tape, "--plain", "--wait-watchers", "0", "--run", self.path("last.run"),
                            "--", "true"], stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=True)
            self.assertEqual(os.readlink(self.path("last.run")), "runs/a.run")
            self.assertEqual(os.listdir(self.path("runs")), ["a.run"])

    def test_a_report_goes_where_a_link_leads_and_into_fifos(self):
        got = []
        os.symlink("report.json", self.path("link"))
        os.mkfifo(self.path("pipe"))
        reader = threading.Thread(target=lambda: got.append(self.read(self.path("pipe"))))
        reader.start()
        for name in ("link", "pipe"):
            subprocess.run([KUBETAPE, "replay", self.tape, "--plain", "--wait-watchers", "0", "--report", self.path(name),
                            "--", "true"], stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=True)
        reader.join(60)
        self.assertEqual(os.readlink(self.path("link")), "report.json")
        self.assertEqual(json.loads(got[0])["last_seq"], json.loads(self.read(self.path("report.json")))["last_seq"])


if __name__ == "__main__":
    unittest.main()
