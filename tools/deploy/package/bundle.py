#!/usr/bin/env python3
"""Collects the libraries that a program links with, their loader among them, and the licences under which they come.

usage: bundle.py PROGRAM libraries     one path a line; the dynamic loader is the first
       bundle.py PROGRAM licences DIR  copies the copyright files of their Debian packages to DIR/PACKAGE
"""
import os
import re
import shutil
import subprocess
import sys

VIRTUAL = "linux-vdso.so.1"


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def libraries(program):
    """Paths as the loader finds them: the loader, then the libraries in the order of ldd."""
    loader, found = None, []
    for line in run("ldd", program).splitlines():
        match = re.match(r"\s*(?:(\S+) => )?(/\S+|not found)(?: \(|$)", line)
        if not match or match[1] == VIRTUAL:
            continue
        if match[2] == "not found":
            raise SystemExit(f"bundle: '{match[1]}', which {program} links with, is not there")
        if match[1]:
            found.append(match[2])
        else:
            loader = match[2]
    return [loader, *found]


def package_of(path):
    """dpkg knows /lib, a link to /usr/lib, by either name."""
    plain = os.path.realpath(path).removeprefix("/usr")
    return run("dpkg", "-S", "*" + plain).split(":")[0]


def copy_licences(program, folder):
    for package in sorted({package_of(path) for path in libraries(program)}):
        os.makedirs(os.path.join(folder, package), exist_ok=True)
        shutil.copy(f"/usr/share/doc/{package}/copyright", os.path.join(folder, package, "copyright"))


def main():
    program, what, *more = sys.argv[1:]
    if what == "libraries":
        print("\n".join(libraries(program)))
    else:
        copy_licences(program, *more)


if __name__ == "__main__":
    main()
