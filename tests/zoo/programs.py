"""Released programs, built with Go from modules whose versions are pinned here."""

import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.join(os.path.dirname(os.path.dirname(HERE)), "build", "zoo")


def go(folder, modfile, *words):
    """What `go WORDS` prints in that folder, with that .mod file."""
    done = subprocess.run(["go", *words], cwd=os.path.join(HERE, folder), env={**os.environ, "CGO_ENABLED": "0",
        "GOFLAGS": f"{os.environ.get('GOFLAGS', '')} -modfile={modfile}"}, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"zoo: '{folder}' {modfile}: go {words[0]} failed (is the module proxy reachable?)\n{done.stderr}")
    return done.stdout.strip()


def source(folder, modfile, module):
    """The folder of a module that the program is built from; '' without one."""
    if not module:
        return ""
    go(folder, modfile, "mod", "download", module)
    return go(folder, modfile, "list", "-m", "-f", "{{.Dir}}", module)


def build(folder, modfile, package):
    """The program, and how many seconds it took to build."""
    program = os.path.join(BUILD, "-".join((os.path.basename(folder), modfile.removesuffix(".mod"), os.path.basename(package).strip("."))).strip("-"))
    began = time.monotonic()
    go(folder, modfile, "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", program, package)
    return program, time.monotonic() - began
