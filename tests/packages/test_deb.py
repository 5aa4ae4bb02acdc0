"""The Debian packages: installed by apt in bare roots of two releases, used, and removed."""
import os
import re
import shutil
import tempfile
import unittest

from roots import EVENTS, InRoots, Root, TAPE, newest, run

NATIVE = run("dpkg", "--print-architecture").strip()
SUITES = ("bookworm", "trixie")


def package(name, arch=NATIVE):
    return newest(f"{name}_", f"_{arch}.deb")


class Packages(InRoots):

    @classmethod
    def setUpClass(cls):
        cls.roots = {suite: Root(cls).debian(suite) for suite in SUITES}
        for root in cls.roots.values():
            for name in ("kubetape", "kubetape-sqlite"):
                shutil.copy(package(name), os.path.join(root.path, name + ".deb"))
            root.as_root("sh", "-c", "apt-get update -qq && apt-get install -qq -y --no-install-recommends /kubetape.deb "
                         "/kubetape-sqlite.deb sqlite3")

    def test_the_installed_program_reads_verifies_and_replays_a_tape(self):
        for suite, root in self.roots.items():
            with self.subTest(suite=suite):
                self.assertReadsTheTape(root)
                self.assertReplaysTheTape(root)

    def test_the_extension_loads_into_the_sqlite_of_the_release(self):
        for suite, root in self.roots.items():
            with self.subTest(suite=suite):
                extension = root.run("sh", "-c", "ls /usr/lib/*/kubetape/kubetape.so").strip()
                found = root.run("sqlite3", "-cmd", f".load {extension}", ":memory:",
                                 "SELECT kubetape_open('/X.tape'); SELECT count(*) FROM events")
                self.assertEqual(found.splitlines()[-1], str(EVENTS))

    def test_the_service_lies_where_systemd_looks_and_is_not_started(self):
        files = self.roots["bookworm"].run("dpkg", "-L", "kubetape")
        unit = re.search(r"^.*/systemd/system/kubetape-record\.service$", files, re.MULTILINE)
        with open(self.roots["bookworm"].path + unit[0], encoding="utf-8") as file:
            self.assertIn("ExecStart=/usr/bin/kubetape record", file.read())
        self.assertFalse(os.path.lexists(self.roots["bookworm"].path +
                                         "/etc/systemd/system/multi-user.target.wants/kubetape-record.service"))

    def test_links_between_the_documents_hold(self):
        home = self.roots["bookworm"].path + "/usr/share/doc/kubetape"
        documents = [os.path.join(folder, name) for folder, _, names in os.walk(home) for name in names if name.endswith(".md")]
        self.assertIn(home + "/README.md", documents)
        for document in documents:
            with open(document, encoding="utf-8") as file:
                targets = re.findall(r"\]\((?![a-z]+:)([^)\s#]+)[^)]*\)", re.sub(r"^```.*?^```", "", file.read(), flags=re.DOTALL | re.MULTILINE))
            dead = [target for target in targets if not os.path.exists(os.path.join(os.path.dirname(document), target))]
            self.assertEqual(dead, [], document)

    def test_purging_leaves_no_file_of_ours(self):
        root = Root(type(self)).debian("bookworm")
        before = set(root.run("find", "/usr", "/etc", "-name", "*kubetape*").split())
        shutil.copy(package("kubetape"), os.path.join(root.path, "kubetape.deb"))
        root.as_root("sh", "-c", "apt-get update -qq && apt-get install -qq -y --no-install-recommends /kubetape.deb")
        root.as_root("apt-get", "purge", "-qq", "-y", "kubetape")
        self.assertEqual(set(root.run("find", "/usr", "/etc", "-name", "*kubetape*").split()), before)

    @unittest.skipUnless(shutil.which("lintian"), "no lintian here")
    def test_lintian_finds_nothing(self):
        packages = [package("kubetape"), package("kubetape-sqlite")]
        self.assertEqual(run("lintian", "--allow-root", "--fail-on", "error,warning", "--tag-display-limit", "0", *packages), "")


@unittest.skipUnless(shutil.which("qemu-aarch64-static"), "no qemu for arm64 here")
class OtherArchitecture(unittest.TestCase):
    """The packages of arm64 by an emulated processor; nothing of arm64 is installed, only unpacked."""

    def test_the_program_for_arm64_reads_a_tape(self):
        with tempfile.TemporaryDirectory(prefix="kubetape-arm64-") as home:
            root = os.path.join(home, "root")
            needs = run("dpkg-deb", "-f", package("kubetape", "arm64"), "Depends")
            names = ",".join(re.sub(r"\s*\(.*?\)", "", need) for need in needs.strip().split(", "))
            run("mmdebstrap", "--quiet", "--variant=extract", "--architectures=arm64", f"--include={names}", "bookworm", root)
            run("dpkg-deb", "-x", package("kubetape", "arm64"), root)
            program = ("qemu-aarch64-static", "-L", root, os.path.join(root, "usr/bin/kubetape"))
            self.assertRegex(run(*program, "--version"), r"^kubetape \d")
            found = run(*program, "query", TAPE, "SELECT count(*) AS n FROM events")
            self.assertEqual(found.split(), ["n", str(EVENTS)])


if __name__ == "__main__":
    unittest.main()
