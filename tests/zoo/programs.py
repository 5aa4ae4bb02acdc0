"""Released programs, built with Go, or installed for Python or Java, from modules whose versions are pinned here."""

import glob
import os
import shlex
import subprocess
import sys
import time
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.join(os.path.dirname(os.path.dirname(HERE)), "build", "zoo")
PACKAGES = "requirements.txt"  # in place of a .mod file, of a program for Python
POM = "pom.xml"  # and of one for Java


def go(folder, modfile, *words):
    """What `go WORDS` prints in that folder, with that .mod file."""
    done = subprocess.run(["go", *words], cwd=os.path.join(HERE, folder), env={**os.environ, "CGO_ENABLED": "0",
        "GOFLAGS": f"{os.environ.get('GOFLAGS', '')} -modfile={modfile}"}, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"zoo: '{folder}' {modfile}: go {words[0]} failed (is the module proxy reachable?)\n{done.stderr}")
    return done.stdout.strip()


def venv(folder):
    """An environment for Python with the packages of that folder."""
    place = os.path.join(BUILD, folder)
    packages = ["install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:", "-r", os.path.join(HERE, folder, PACKAGES)]
    for command in ([sys.executable, "-m", "venv", place], [os.path.join(place, "bin", "pip"), *packages]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"zoo: '{folder}': {shlex.join(command)} failed (is the package index of pip reachable?)\n{done.stderr}")
    return place


def jars(folder):
    """The class path of a program for Java: all that its pom.xml asks for, where Maven keeps it."""
    path = os.path.join(BUILD, f"{folder}.classpath")
    command = ["mvn", "--batch-mode", "--quiet", "--file", os.path.join(HERE, folder, POM), "dependency:build-classpath", f"-Dmdep.outputFile={path}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"zoo: '{folder}': {shlex.join(command)} failed (is Maven's repository reachable?)\n{done.stdout}{done.stderr}")
    with open(path, encoding="utf-8") as file:
        return file.read().strip()


def unpacked(jar):
    """A folder with the YAML files of a jar."""
    place = os.path.join(BUILD, os.path.basename(jar).removesuffix(".jar"))
    with zipfile.ZipFile(jar) as packed:
        packed.extractall(place, [name for name in packed.namelist() if name.endswith((".yml", ".yaml"))])
    return place


def source(folder, modfile, module):
    """The folder of a module that the program is built from; '' without one."""
    if not module:
        return ""
    if modfile == PACKAGES:
        return glob.glob(os.path.join(venv(folder), "lib", "python3*", "site-packages", module))[0]
    if modfile == POM:
        return unpacked(next(jar for jar in jars(folder).split(os.pathsep) if os.path.basename(jar).startswith(f"{module}-")))
    go(folder, modfile, "mod", "download", module)
    return go(folder, modfile, "list", "-m", "-f", "{{.Dir}}", module)


def build(folder, modfile, package):
    """The program, and how many seconds it took to build."""
    began = time.monotonic()
    if modfile == PACKAGES:
        return os.path.join(venv(folder), "bin", package), time.monotonic() - began
    if modfile == POM:
        program = os.path.join(BUILD, f"{folder}.args")
        with open(program, "w", encoding="utf-8") as file:
            file.write(f"-cp {jars(folder)} {package}\n")
        return f"@{program}", time.monotonic() - began
    program = os.path.join(BUILD, "-".join((os.path.basename(folder), modfile.removesuffix(".mod"), os.path.basename(package).strip("."))).strip("-"))
    go(folder, modfile, "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", program, package)
    return program, time.monotonic() - began
