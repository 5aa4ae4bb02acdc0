"""Patches against the code of Kubernetes that they must agree with."""

import os
import subprocess
import unittest

from lib import paths

FILTER = os.path.join(paths.ROOT, "build", "patch_filter")


class Patches(unittest.TestCase):

    def test_random_patches_come_out_as_in_kubernetes(self):
        made = subprocess.run(["make", "-s", "build/patch_filter"], cwd=paths.ROOT, capture_output=True, timeout=600,
            check=False)
        self.assertEqual(made.returncode, 0, made.stderr.decode())
        done = subprocess.run(["go", "test", "-count=1", "./..."], cwd=os.path.join(paths.HERE, "patches"),
            capture_output=True, timeout=1200, env={**os.environ, "KUBETAPE_PATCH_FILTER": FILTER}, check=False)
        self.assertEqual(done.returncode, 0, done.stdout.decode()[-3000:] + done.stderr.decode()[-1000:])


if __name__ == "__main__":
    unittest.main()
