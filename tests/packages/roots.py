"""Bare root file systems of Debian releases, and commands run in them as a user would run them. A root has nothing but what
apt needs; what a package needs beyond that, it has to say."""
import os
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DIST = os.path.join(ROOT, "build", "dist")
TAPE = os.path.join(ROOT, "tests", "tapes", "rolling-update.tape")
EVENTS = 747  # on it
SOMEBODY = "1000:1000"


def run(*command, timeout=600, code=0, **more):
    """What a command prints; fails the test with all that it said if it does not end with that exit code."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=timeout, check=False, **more)
    if done.returncode != code:
        raise AssertionError(f"{' '.join(command)}: exit code {done.returncode}: {done.stdout[-4000:]}")
    return done.stdout


def newest(pattern_start, pattern_end):
    """The one file of build/dist with such a name."""
    found = [name for name in os.listdir(DIST) if name.startswith(pattern_start) and name.endswith(pattern_end)]
    if len(found) != 1:
        raise AssertionError(f"build/dist has {len(found)} files '{pattern_start}...{pattern_end}', expected one; run make first")
    return os.path.join(DIST, found[0])


class Root:
    """A folder to chroot into, with the bundled tape at /X.tape."""

    def __init__(self, case):
        self.path = tempfile.mkdtemp(prefix="kubetape-root-")
        os.chmod(self.path, 0o755)
        case.addClassCleanup(shutil.rmtree, self.path)

    def debian(self, suite):
        run("mmdebstrap", "--quiet", "--variant=apt", suite, self.path)
        return self.with_tape()

    def with_tape(self):
        shutil.copytree(TAPE, os.path.join(self.path, "X.tape"))
        return self

    def run(self, *command, user=SOMEBODY, code=0):
        """In a mount namespace of its own, with /proc and /dev/null."""
        script = 'mkdir -p "$1/proc" "$1/dev"; mount -t proc proc "$1/proc"; mount --rbind /dev "$1/dev"; root=$1; user=$2; shift 2; ' \
            'exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp LC_ALL=C.UTF-8 chroot --userspec="$user" "$root" "$@"'
        return run("unshare", "-m", "sh", "-c", script, "sh", self.path, user, *command, code=code)

    def as_root(self, *command):
        return self.run(*command, user="0:0")


@unittest.skipUnless(os.geteuid() == 0, "only root may chroot")
class InRoots(unittest.TestCase):
    """Tests of one package in bare roots."""
    maxDiff = None

    def assertReadsTheTape(self, root, program="kubetape"):
        self.assertRegex(root.run(program, "--version"), r"^kubetape \d+\.\d+\.\d+\ncommit: \w+")
        self.assertEqual(root.run(program, "query", "/X.tape", "SELECT count(*) AS n FROM events").split(), ["n", str(EVENTS)])
        pods = root.run(program, "get", "/X.tape", "pods", "-n", "shop", "--at", "09:51:40")
        self.assertIn("web-585f66c874-chscg", pods)
        root.run(program, "verify", "/X.tape")

    def assertReplaysTheTape(self, root, program="kubetape"):
        """The replay's child is a recording of it, over TLS and HTTP/2, with the libraries of the package on both sides."""
        root.run(program, "replay", "/X.tape", "--", program, "record", "pods", "-o", "/tmp/Y.tape", "--duration", "10s")
        self.assertGreater(int(root.run(program, "query", "/tmp/Y.tape", "SELECT count(*) AS n FROM events").split()[1]), 0)
