"""A disk that is soon full."""
import os
import subprocess


class SmallDisk:
    """For a TestCase."""

    def mount(self, folder):
        """A disk of 2 MB, for as long as the test lasts. Skips the test where mounts are not allowed."""
        os.mkdir(folder)
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", folder], capture_output=True, text=True, check=False)
        if done.returncode:
            self.skipTest(f"no mounts of our own here: {done.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", "-l", folder], check=True)
        self.disk = folder

    def fill(self):
        with open(os.path.join(self.disk, "ballast"), "wb", buffering=0) as f:
            try:
                while True:
                    f.write(os.urandom(4096))
            except OSError:
                pass
