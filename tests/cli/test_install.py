"""make install and make uninstall, the manual pages, the systemd unit."""
import glob
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from tapes import BUILD, TapeTest, event, loading_environment, pod

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PREFIX = "/opt/kubetape"
FILES = """
bin/kubectl-tape
bin/kubectl_complete-tape
bin/kubetape
lib/kubetape/kubetape.so
lib/systemd/system/kubetape-record.service
share/bash-completion/completions/kubectl-tape
share/bash-completion/completions/kubetape
share/doc/kubetape/FORMAT.md
share/doc/kubetape/LICENSE
share/fish/vendor_completions.d/kubetape.fish
share/man/man1/kubectl-tape.1
share/man/man1/kubetape.1
share/man/man5/kubetape-tape.5
share/zsh/site-functions/_kubetape
""".split()


def run(*command, timeout=60, **more):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout, **more)


def make(*targets):
    """Runs make for the build under test, as if by hand."""
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "PREFIX", "DESTDIR")}
    variant = os.path.relpath(BUILD, os.path.join(ROOT, "build"))
    return run("make", "-s", f"VARIANT={'' if variant == '.' else variant}", *targets, timeout=600, cwd=ROOT, env=env)


def files_below(folder):
    return sorted(os.path.relpath(os.path.join(where, name), folder)
                  for where, _, names in os.walk(folder) for name in names)


class Install(TapeTest):
    """One installation for all the tests."""
    rows = [event(0, "ADDED", pod("a", "u1", 1), origin="list")]

    @classmethod
    def setUpClass(cls):
        cls.destination = tempfile.mkdtemp(prefix="kubetape-install-")
        cls.addClassCleanup(shutil.rmtree, cls.destination)
        cls.root = cls.destination + PREFIX
        done = make("install", f"DESTDIR={cls.destination}", f"PREFIX={PREFIX}")
        if done.returncode:
            raise RuntimeError(f"make install failed: {done.stdout}{done.stderr}")
        cls.program = os.path.join(cls.root, "bin", "kubetape")
        cls.commands = run(cls.program, "help", "--format=names").stdout.split()

    def test_exactly_the_expected_files_are_installed(self):
        pages = [f"share/man/man1/kubetape-{name}.1" for name in self.commands]
        self.assertEqual(files_below(self.destination), sorted(f"{PREFIX}/{f}".lstrip("/") for f in FILES + pages))

    def test_everybody_may_read_and_nobody_but_the_owner_write(self):
        for path in files_below(self.root):
            mode = os.stat(os.path.join(self.root, path)).st_mode & 0o777
            with self.subTest(path=path):
                self.assertEqual(mode, 0o755 if path.startswith("bin/") else 0o644)

    def test_links_stay_inside_of_the_installation(self):
        for path in files_below(self.root):
            link = os.path.join(self.root, path)
            if os.path.islink(link):
                self.assertNotIn("/", os.readlink(link))
                self.assertTrue(os.path.exists(link), link)

    def test_no_file_knows_where_it_was_built_or_collected(self):
        for path in files_below(self.root):
            if path.startswith(("bin/", "lib/kubetape/")):
                continue  # debug information names the sources
            with open(os.path.join(self.root, path), encoding="utf-8") as file:
                text = file.read()
            self.assertNotIn(self.destination, text)
            self.assertNotIn(ROOT, text)
            self.assertNotRegex(text, r"@[A-Z]+@")

    def test_the_installed_program_runs_under_all_its_names(self):
        version = run(self.program, "--version").stdout
        self.assertRegex(version, r"^kubetape \d")
        self.assertEqual(run(os.path.join(self.root, "bin", "kubectl-tape"), "--version").stdout, version)
        completed = run(os.path.join(self.root, "bin", "kubectl_complete-tape"), "vers", "inf", "")
        self.assertEqual((completed.returncode, completed.stdout), (0, ":4\n"))

    def test_the_installed_extension_loads_into_sqlite3(self):
        extension = os.path.join(self.root, "lib", "kubetape", "kubetape")
        done = run("sqlite3", "-cmd", f".load {extension}", ":memory:",
                   f"SELECT kubetape_open('{self.tape}'); SELECT count(*) FROM events;", env=loading_environment())
        self.assertEqual((done.returncode, done.stdout.splitlines()[-1:]), (0, ["1"]), done.stderr)

    def test_uninstalling_leaves_no_file_and_no_folder_of_ours(self):
        other = tempfile.mkdtemp(prefix="kubetape-uninstall-")
        self.addCleanup(shutil.rmtree, other)
        shutil.copytree(self.destination, other, symlinks=True, dirs_exist_ok=True)
        neighbour = os.path.join(other + PREFIX, "share", "man", "man1", "kubectl.1")
        with open(neighbour, "w", encoding="utf-8"):
            pass
        done = make("uninstall", f"DESTDIR={other}", f"PREFIX={PREFIX}")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertEqual(files_below(other), [os.path.relpath(neighbour, other)])
        folders = [name for _, names, _ in os.walk(other + PREFIX) for name in names]
        self.assertNotIn("kubetape", folders)

    @unittest.skipUnless(shutil.which("mandoc"), "no mandoc here")
    def test_every_manual_page_is_without_warnings(self):
        for page in sorted(glob.glob(os.path.join(self.root, "share/man/man*/*"))):
            with self.subTest(page=os.path.basename(page)):
                done = run("mandoc", "-T", "lint", "-W", "warning", page)
                self.assertEqual((done.returncode, done.stdout), (0, ""))

    @unittest.skipUnless(shutil.which("mandoc"), "no mandoc here")
    def test_the_page_of_a_command_shows_its_name_and_every_option(self):
        for name in self.commands:
            text = re.sub(r".\x08", "", run("mandoc", f"{self.root}/share/man/man1/kubetape-{name}.1").stdout)
            summary = re.search(rf"^  {name} +(.*)$", run(self.program, "--help").stdout, re.MULTILINE).group(1)
            with self.subTest(command=name):
                self.assertIn(f"kubetape-{name} - {summary}", re.sub(r"\s+", " ", text))
                for option in re.findall(r"^(--[\w-]+)\t", run(self.program, "__complete", name, "--").stdout,
                                         re.MULTILINE):
                    self.assertRegex(text, rf"(?m)^ {{7}}(-\w, )?{option}\b")

    @unittest.skipUnless(shutil.which("mandoc"), "no mandoc here")
    def test_the_first_page_names_the_page_of_every_command(self):
        text = re.sub(r".\x08", "", run("mandoc", f"{self.root}/share/man/man1/kubetape.1").stdout)
        for page in [f"kubetape-{name}(1)" for name in self.commands] + ["kubetape-tape(5)"]:
            self.assertIn(page, text)

    @unittest.skipUnless(shutil.which("systemd-analyze"), "no systemd-analyze here")
    def test_systemd_takes_the_unit_and_finds_it_hardened(self):
        folder = tempfile.mkdtemp(prefix="kubetape-unit-")
        self.addCleanup(shutil.rmtree, folder)
        unit = os.path.join(folder, "kubetape-record.service")
        with open(os.path.join(self.root, "lib/systemd/system/kubetape-record.service"), encoding="utf-8") as file:
            text = file.read()
        self.assertIn(f"ExecStart={PREFIX}/bin/kubetape record ", text)
        with open(unit, "w", encoding="utf-8") as file:  # the program is not yet where it will be
            file.write(text.replace(PREFIX, self.root).replace("Documentation=man:", "#"))
        done = run("systemd-analyze", "verify", unit)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        level = run("systemd-analyze", "security", "--offline=true", "--threshold=20", unit)
        self.assertEqual(level.returncode, 0, level.stdout)

    def test_the_command_line_of_the_unit_is_one_that_the_program_takes(self):
        with open(os.path.join(self.root, "lib/systemd/system/kubetape-record.service"), encoding="utf-8") as file:
            text = file.read().replace("\\\n", " ")
        words = re.search(r"^ExecStart=(.*)$", text, re.MULTILINE).group(1).split()
        default = " ".join(re.findall(r'^Environment="?KUBETAPE_\w+=(.*?)"?$', text, re.MULTILINE))
        self.assertIn("--max-size=", default)  # nobody's disk is filled
        self.assertIn("--keep-free=", default)
        known = re.findall(r"^(--[\w-]+)", run(self.program, "__complete", "record", "--").stdout, re.MULTILINE)
        used = [w.split("=")[0] for w in words[1:] + default.split() if w.startswith("--")]
        self.assertGreaterEqual(len(used), 4)
        self.assertEqual([w for w in used if w not in known], [])


if __name__ == "__main__":
    unittest.main()
