#!/usr/bin/env python3
"""Checks what the compiler does not: the DAG of folders, who may use which library, banned functions, sizes.

Prints one line for each finding, `FILE:LINE: what`, and exits 1 when there are any.
"""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# Which rooms a room may include; everybody may include his own. See ARCHITECTURE.md.
MAY_INCLUDE = {
    "schema/base": [],
    "schema/tape": ["schema/base"],
    "schema/sql": ["schema/tape", "schema/base"],
    "recorder": ["schema/sql", "schema/tape", "schema/base"],
    "replayer": ["schema/sql", "schema/tape", "schema/base"],
    "tools": ["recorder", "replayer", "schema/sql", "schema/tape", "schema/base"],
    "tests": ["recorder", "replayer", "tools", "schema/sql", "schema/tape", "schema/base"],
}
# Headers of heavy libraries, and the rooms or files that may see them.
CONFINED = {
    "curl/curl.h": ["recorder/", "tests/"],
    "nghttp2/nghttp2.h": ["replayer/", "tests/"],
    "openssl/": ["replayer/", "recorder/", "tests/"],
    "uv.h": ["replayer/", "recorder/", "tests/"],
    "libfyaml.h": ["recorder/", "tests/"],
    "zstd.h": ["schema/tape/codec.c", "tests/"],
    "xxhash.h": ["schema/tape/codec.c", "tests/"],
    "sqlite3.h": ["schema/", "tools/", "replayer/", "tests/"],
}
BANNED = re.compile(r"\b(strcpy|strcat|sprintf|vsprintf|strncpy|strtok|atoi|atol|gets|alloca|localtime|ctime|rand|srand)\s*\(")
MAX_SOURCE_LINES = 600
MAX_HEADER_LINES = 200
WORKPLACE = re.compile(r"/work/|/tmp/wt|\.\./shared|\bTODO\b(?!:)")


def room_of(path):
    for room in MAY_INCLUDE:
        if path.startswith(room + "/"):
            return room
    return None


def tracked():
    out = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                         capture_output=True, text=True, check=True)
    return [p for p in out.stdout.splitlines() if os.path.isfile(os.path.join(ROOT, p))]


def check_include(path, included, report):
    room, target = room_of(path), room_of(included)
    if target and target != room and target not in MAY_INCLUDE[room]:
        report(f"{room} must not include {included}")
    for header, allowed in CONFINED.items():
        if included.startswith(header) and not any(path.startswith(a) for a in allowed):
            report(f"{header} belongs to {', '.join(allowed)}")


def strip_text(line):
    """Without string literals and comments, as far as one line tells."""
    line = re.sub(r'"(\\.|[^"\\])*"', '""', line)
    return re.sub(r"//.*|/\*.*?\*/|^\s*\*.*", "", line)


def check_c(path, lines, findings):
    limit = MAX_HEADER_LINES if path.endswith(".h") else MAX_SOURCE_LINES
    if len(lines) > limit:
        findings.append(f"{path}:{len(lines)}: {len(lines)} lines, at most {limit}")
    for number, line in enumerate(lines, 1):
        def report(what, number=number):
            findings.append(f"{path}:{number}: {what}")
        match = re.match(r'\s*#\s*include\s+["<]([^">]+)[">]', line)
        if match and room_of(path):
            check_include(path, match.group(1), report)
        banned = BANNED.search(strip_text(line))
        if banned and not path.startswith("tests/"):
            report(f"{banned.group(1)} is banned")


def main():
    findings = []
    for path in tracked():
        try:
            with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                lines = file.read().splitlines()
        except UnicodeDecodeError:
            continue
        if path.endswith((".c", ".h")):
            check_c(path, lines, findings)
        if path != "tests/lint/lint.py":
            findings += [f"{path}:{n}: speaks of a workplace" for n, text in enumerate(lines, 1) if WORKPLACE.search(text)]
    print("\n".join(findings) if findings else "lint: nothing found")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
