"""Where tapes are made that are killed and written by the thousand."""

import os
import shutil
import tempfile


def memory_folder(test, name):
    """A folder in memory, as long as the test runs; elsewhere when there is less than 1 GB: containers have 64 MB."""
    roomy = os.access("/dev/shm", os.W_OK) and shutil.disk_usage("/dev/shm").free > 1 << 30
    path = tempfile.mkdtemp(prefix=f"kubetape-{name}-", dir="/dev/shm" if roomy else None)
    test.addCleanup(shutil.rmtree, path, ignore_errors=True)
    return path
