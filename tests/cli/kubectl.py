"""The kubectl on the PATH, whatever release it is."""
import functools
import json
import subprocess


@functools.cache
def minor():
    """Its minor release; 0 when there is none."""
    try:
        done = subprocess.run(["kubectl", "version", "--client", "-o", "json"], capture_output=True, text=True,
                              timeout=60, check=True)
        return int(json.loads(done.stdout)["clientVersion"]["minor"].rstrip("+"))
    except (OSError, subprocess.SubprocessError, ValueError, KeyError):
        return 0
