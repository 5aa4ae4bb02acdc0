"""The tarball on systems that are not the one it was made on: with an older C library, with another, and with none."""
import os
import shutil
import tarfile
import unittest

from roots import InRoots, Root, newest, run


class Tarball(InRoots):

    @classmethod
    def setUpClass(cls):
        cls.tarball = newest("kubetape-", f"-linux-{run('dpkg', '--print-architecture').strip()}.tar.xz")

    def unpack(self, root, folder="/opt"):
        os.makedirs(root.path + folder, exist_ok=True)
        with tarfile.open(self.tarball) as archive:
            archive.extractall(root.path + folder)
        return os.path.join(folder, os.path.basename(self.tarball).removesuffix(".tar.xz"), "bin")

    def bare(self):
        """A root with a folder for temporary files and nothing else: no C library, no shell."""
        root = Root(type(self)).with_tape()
        os.mkdir(os.path.join(root.path, "tmp"))
        os.chmod(os.path.join(root.path, "tmp"), 0o1777)
        return root

    def test_it_runs_on_a_debian_of_five_years_ago(self):
        root = Root(type(self)).debian("bullseye")
        program = os.path.join(self.unpack(root), "kubetape")
        self.assertReadsTheTape(root, program)
        self.assertReplaysTheTape(root, program)

    def test_it_runs_where_there_is_no_c_library_at_all(self):
        root = self.bare()
        program = os.path.join(self.unpack(root), "kubetape")
        self.assertReadsTheTape(root, program)
        self.assertReplaysTheTape(root, program)

    @unittest.skipUnless(shutil.which("musl-gcc"), "no musl here")
    def test_it_runs_beside_another_c_library_and_as_a_plug_in_through_a_link(self):
        root = self.bare()
        bin_folder = self.unpack(root)
        for name in ("lib", "usr/bin"):
            os.makedirs(os.path.join(root.path, name), exist_ok=True)
        shutil.copy("/usr/lib/x86_64-linux-musl/libc.so", os.path.join(root.path, "lib", "ld-musl-x86_64.so.1"))
        os.symlink(os.path.join(bin_folder, "kubectl-tape"), os.path.join(root.path, "usr/bin/kubectl-tape"))
        self.assertReadsTheTape(root, "/usr/bin/kubectl-tape")

    def test_a_sweep_starts_its_replays_although_the_loader_is_what_runs(self):
        root = self.bare()
        program = os.path.join(self.unpack(root), "kubetape")
        said = root.run(program, "sweep", "/X.tape", "--at", "deletions", "--max", "1", "-o", "/tmp/sweep", "--", program,
                        "--version", code=3)  # it watches nothing, so no gap reaches it
        self.assertIn("without gaps the command ends by itself with exit code 0", said)

    def test_it_names_the_licences_of_all_that_it_carries(self):
        with tarfile.open(self.tarball) as archive:
            names = archive.getnames()
        licences = {name.split("/licences/")[1].split("/")[0] for name in names if "/licences/" in name}
        self.assertLessEqual({"libc6", "libcurl4", "libsqlite3-0", "libssl3", "libzstd1"}, licences)

    def test_its_sum_is_beside_it(self):
        folder, name = os.path.split(self.tarball)
        self.assertEqual(run("sha256sum", "--check", name + ".sha256", cwd=folder), f"{name}: OK\n")


if __name__ == "__main__":
    unittest.main()
