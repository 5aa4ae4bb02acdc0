"""The container image: read by a tool of others, unpacked, and run as a container runtime would run it: as the image's user, with a
root file system that cannot be written and nothing but the volume and /tmp beside it."""
import json
import os
import shutil
import subprocess
import tarfile
import unittest

from roots import DIST, EVENTS, TAPE, InRoots, Root, run

VERSION = run(os.path.join(DIST, "..", "kubetape"), "--version").split()[1]
LAYOUT = os.path.join(DIST, f"kubetape-{VERSION}-oci")


def blob(digest):
    return os.path.join(LAYOUT, "blobs", "sha256", digest.removeprefix("sha256:"))


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


class Image(InRoots):

    @classmethod
    def setUpClass(cls):
        index = read_json(os.path.join(LAYOUT, "index.json"))
        arch = run("dpkg", "--print-architecture").strip()
        manifest = [m for m in index["manifests"] if m["platform"]["architecture"] == arch][0]
        cls.manifest = read_json(blob(manifest["digest"]))
        cls.config = read_json(blob(cls.manifest["config"]["digest"]))["config"]
        cls.root = Root(cls)
        for layer in cls.manifest["layers"]:
            with tarfile.open(blob(layer["digest"])) as archive:
                archive.extractall(cls.root.path, numeric_owner=True)
        os.chmod(cls.root.path, 0o755)
        for name in ("proc", "dev"):
            os.mkdir(os.path.join(cls.root.path, name))
        cls.volume = os.path.join(cls.root.path, "var/lib/kubetape")

    def container(self, *arguments):
        """Exit code and output of the image's entry point."""
        script = 'mount --bind "$1" "$1"; mount -t tmpfs -o uid=65532,gid=65532 none "$1/var/lib/kubetape"; ' \
            'cp -r "$3" "$1/var/lib/kubetape/X.tape"; chown -R 65532:65532 "$1/var/lib/kubetape"; mount -t tmpfs none "$1/tmp"; mount -t proc proc "$1/proc"; mount --rbind /dev "$1/dev"; ' \
            'mount -o remount,bind,ro "$1"; root=$1; user=$2; shift 3; exec env -i PATH=/usr/bin /usr/sbin/chroot --userspec="$user" "$root" "$@"'
        done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", self.root.path, self.config["User"], TAPE,
                               *self.config["Entrypoint"], *arguments], capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, done.stdout, done.stderr

    def test_it_is_one_layer_for_a_user_without_rights(self):
        self.assertEqual(len(self.manifest["layers"]), 1)
        self.assertEqual(self.config["User"], "65532:65532")
        self.assertEqual(os.stat(self.volume).st_uid, 65532)

    def test_it_has_no_shell_and_nothing_that_gives_more_rights(self):
        for folder, _, names in os.walk(self.root.path):
            for name in names:
                path = os.path.join(folder, name)
                self.assertNotIn(name, ("sh", "bash", "dash", "busybox", "apt", "dpkg"))
                self.assertFalse(os.lstat(path).st_mode & 0o6000, path)

    def test_the_program_answers_with_a_root_file_system_that_cannot_be_written(self):
        code, out, err = self.container("query", "/var/lib/kubetape/X.tape", "SELECT count(*) AS n FROM events")
        self.assertEqual((code, out.split(), err), (0, ["n", str(EVENTS)], ""))

    def test_it_records_into_the_volume_and_nowhere_else(self):
        code, _, err = self.container("replay", "/var/lib/kubetape/X.tape", "--", "/usr/bin/kubetape", "record", "pods",
                                      "-o", "/var/lib/kubetape/Y.tape", "--duration", "10s")
        self.assertEqual(code, 0, err)
        code, _, err = self.container("import", "/dev/null", "-o", "/usr/Z.tape")
        self.assertNotEqual(code, 0)

    def test_it_trusts_the_authorities_that_everybody_trusts(self):
        with open(os.path.join(self.root.path, "etc/ssl/certs/ca-certificates.crt"), encoding="ascii") as file:
            self.assertGreater(file.read().count("BEGIN CERTIFICATE"), 50)

    @unittest.skipUnless(shutil.which("skopeo"), "no skopeo here")
    def test_skopeo_reads_it_and_finds_the_version_and_the_commit(self):
        found = json.loads(run("skopeo", "inspect", f"oci:{LAYOUT}:{VERSION}"))
        self.assertEqual(found["Labels"]["org.opencontainers.image.version"], VERSION)
        self.assertRegex(found["Labels"]["org.opencontainers.image.revision"], r"^[0-9a-f]{12}\+?$")


if __name__ == "__main__":
    unittest.main()
