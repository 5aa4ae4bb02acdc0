#!/usr/bin/env python3
"""Checks what the compiler does not: the DAG of folders, who may use which library, banned functions, errors that may be
NULL, sizes, and that the map of the code in ARCHITECTURE.md has every file.

Prints one line for each finding, `FILE:LINE: what`, and exits 1 when there are any.
"""
import fnmatch
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

SCHEMA = ["schema/base", "schema/tape", "schema/run", "schema/sql", "schema/view"]
# From the ground up. A room includes those of the floors below, and none beside it.
REPLAYER_FLOORS = [
    ["replayer/wire", "replayer/json", "replayer/kinds", "replayer/protobuf"],
    ["replayer/fault"],
    ["replayer/request"],
    ["replayer/world"],
    ["replayer/table", "replayer/run"],
    ["replayer/serve"],
    ["replayer/write", "replayer/seen", "replayer/view"],
    ["replayer"],
]
REPLAYER = sum(REPLAYER_FLOORS, [])
RECORDER = ["recorder/push", "recorder"]
BELOW_TOOLS = SCHEMA + RECORDER + REPLAYER
TOOLS_FLOORS = [
    ["tools/cli"],
    ["tools/out"],
    ["tools/anonymize", "tools/audit", "tools/events", "tools/get", "tools/import", "tools/mcp", "tools/report", "tools/shell", "tools/sweep", "tools/tee", "tools/why"],
    ["tools"],
]
# Which rooms a room may include; each may include its own. See ARCHITECTURE.md.
MAY_INCLUDE = {
    "schema/base": [],
    "schema/tape": ["schema/base"],
    "schema/run": ["schema/base"],
    "schema/sql": ["schema/tape", "schema/run", "schema/base"],
    "schema/view": ["schema/sql", "schema/tape", "schema/base"],
    "recorder/push": ["schema/tape", "schema/base"],
    "recorder": ["recorder/push", "schema/sql", "schema/tape", "schema/base"],
    **{room: SCHEMA + sum(REPLAYER_FLOORS[:n], []) for n, floor in enumerate(REPLAYER_FLOORS) for room in floor},
    **{room: BELOW_TOOLS + sum(TOOLS_FLOORS[:n], []) for n, floor in enumerate(TOOLS_FLOORS) for room in floor},
    "tests": BELOW_TOOLS + sum(TOOLS_FLOORS, []),
}
# Headers of heavy libraries, and the rooms or files that may see them. One file asks each library for its version.
ASKS_ALL = "tools/cli/version.c"
CONFINED = {
    "curl/curl.h": ["recorder/", "tests/"],
    "nghttp2/nghttp2.h": ["replayer/wire/", "tools/tee/", "tests/"],
    "openssl/": ["replayer/wire/", "replayer/request/access.c", "replayer/kubeconfig_out.c", "recorder/", "tools/tee/", "schema/tape/redact_key.c", "tests/"],
    "uv.h": ["replayer/", "recorder/", "tools/tee/", "tests/"],
    "editline/": ["tools/shell/line_reader.c"],
    "libfyaml.h": ["recorder/", "replayer/json/", "tests/"],
    "archive": ["tools/import/bundle_files.c"],
    "zstd.h": ["schema/tape/codec.c", "tests/"],
    "xxhash.h": ["schema/tape/codec.c", "tests/"],
    "sqlite3.h": ["schema/", "tools/", "replayer/", "tests/"],
}
BANNED = re.compile(r"\b(strcpy|strcat|sprintf|vsprintf|strncpy|strtok|atoi|atol|gets|alloca|localtime|ctime|rand|srand)\s*\(")
# Functions of libraries, and what there is instead.
INSTEAD = {"cJSON_Compare": "json_tree_equal, which does not compare twice at each level"}
MAX_SOURCE_LINES = 600
MAX_HEADER_LINES = 200
# Folders in which people have their checkouts, files beside a checkout, and notes to oneself.
MERGE_LEFTOVER = re.compile(r"(<{7}|>{7}) \S")
PERSONAL = re.compile(r"/(?:work|workspace|builds|home/\w+)/|/tmp/w\w*|\.\./shared|\bTODO\b(?!:)")


def room_of(path):
    """The innermost room that the file is in."""
    return max((room for room in MAY_INCLUDE if path.startswith(room + "/")), key=len, default=None)


def tracked():
    out = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                         capture_output=True, text=True, check=True)
    return [p for p in out.stdout.splitlines() if os.path.isfile(os.path.join(ROOT, p))]


def check_include(path, included, report):
    room, target = room_of(path), room_of(included)
    if target and target != room and target not in MAY_INCLUDE[room]:
        report(f"{room} must not include {included}")
    for header, allowed in CONFINED.items():
        if included.startswith(header) and not any(path.startswith(a) for a in [*allowed, ASKS_ALL]):
            report(f"{header} belongs to {', '.join(allowed)}")


def strip_text(line):
    """Without string literals and comments, as far as one line tells."""
    line = re.sub(r'"(\\.|[^"\\])*"', '""', line)
    return re.sub(r"//.*|/\*.*?\*/|^\s*\*(\s|/|$).*", "", line)


def functions(lines):
    """(head, number of the body's first line, body's lines) of each function that a file defines."""
    head, begin = [], None
    for number, line in enumerate(lines, 1):
        if line == "{" and head:
            begin = number
        elif line == "}" and begin is not None:
            yield " ".join(head), begin + 1, lines[begin:number - 1]
            head, begin = [], None
        elif begin is None:
            head = head + [line] if line and not re.match(r"[#/ ]|.*[;}]$", line) else []


def check_errors(head, begin, body, report):
    """Callers may pass NULL for an error, so that a function reads its callee's code, not what it was given. An
    error to be read is const, and one that a function must write is named ret."""
    names = [name for name in re.findall(r"(?<!const )struct err \*(\w+)\s*[,)]", head) if not name.startswith("ret")]
    for name in names:
        for number, line in enumerate(body, begin):
            if re.search(rf"\b{name}->|(?<!struct err )\*{name}\b", strip_text(line)):
                report(f"{name} may be NULL: use the code that the call returned, or err_prefix(), err_recode(), err_copy()", number)


def check_c(path, lines, findings):
    limit = MAX_HEADER_LINES if path.endswith(".h") else MAX_SOURCE_LINES
    generated = any("generated by" in line for line in lines[:3])
    if len(lines) > limit and not generated:
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
        for name, instead in INSTEAD.items():
            if re.search(rf"\b{name}\s*\(", strip_text(line)):
                report(f"use {instead}, for {name}")
    for head, begin, body in functions(lines):
        if not path.startswith("tests/") and path != "schema/base/err.c":
            check_errors(head, begin, body, lambda what, number: findings.append(f"{path}:{number}: {what}"))


def first_comment(header):
    """Of a header, as one line."""
    with open(os.path.join(ROOT, header), encoding="utf-8") as file:
        return re.sub(r"\s*\n \*\s*", " ", file.read().split("*/\n")[0])


def check_internals(paths, findings):
    """A header NAME_internal.h, and one that says that nobody else includes it, is for the files beside it that its first
    comment names, by name or by pattern."""
    comments = {path: first_comment(path) for path in paths if path.endswith(".h")}
    internal = {path for path, text in comments.items() if path.endswith("_internal.h") or "obody else includes it" in text}
    for path in paths:
        if not path.endswith((".c", ".h")) or not room_of(path):
            continue
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            text = file.read()
        for header in internal.intersection(re.findall(r'^#include "([^"]+)"', text, re.MULTILINE)):
            named = re.findall(r"[\w*]+\.[ch]\b", comments[header])
            folder, name = os.path.split(path)
            if folder != os.path.dirname(header) or not any(fnmatch.fnmatch(name, n) for n in named):
                findings.append(f"{path}: {header} is not for it: its first comment does not name {name}")


def map_of_rooms():
    """The patterns of file names in the table of ARCHITECTURE.md by their rooms; a row without a room goes on with the one before."""
    rooms, room = {}, None
    with open(os.path.join(ROOT, "ARCHITECTURE.md"), encoding="utf-8") as file:
        for line in file:
            cells = line.split("|")
            if len(cells) != 5:
                continue
            room = next(iter(re.findall(r"`([^`]+)`", cells[1])), room)
            rooms.setdefault(room, []).extend(re.findall(r"`([^`]+)`", cells[2]))
    return rooms


def check_drawings(findings):
    """The drawings of the floors in ARCHITECTURE.md have every room, by its path or after another one of its folder."""
    with open(os.path.join(ROOT, "ARCHITECTURE.md"), encoding="utf-8") as file:
        drawn = "".join(re.findall(r"^```\n(.*?)^```", file.read(), re.DOTALL | re.MULTILINE)[:3])
    for room in MAY_INCLUDE:
        folder, name = os.path.split(room)
        if room != "tests" and not re.search(rf"\b{folder}/(.*\s)?{name}\b" if folder else rf"\b{name}/", drawn):
            findings.append(f"ARCHITECTURE.md: the drawings of the floors lack {room}")


def check_map(paths, findings):
    """A name in the map stands for its .c and its .h."""
    rooms = map_of_rooms()
    sources = [os.path.split(path) for path in paths if path.endswith((".c", ".h")) and room_of(path) not in (None, "tests")]
    for room, name in sources:
        stem = re.sub(r"(_internal)?\.[ch]$", "", name)
        if not any(fnmatch.fnmatch(stem, p) or fnmatch.fnmatch(name, p) for p in rooms.get(room, [])):
            findings.append(f"{room}/{name}: not in the table 'Where to find things' of ARCHITECTURE.md")
    for room, patterns in rooms.items():
        for pattern in patterns:
            wanted = os.path.join(room, pattern.rstrip("/"))
            if not any(fnmatch.fnmatch(path, wanted) or fnmatch.fnmatch(path, wanted + ".[ch]") or path.startswith(wanted + "/")
                       for path in paths):
                findings.append(f"ARCHITECTURE.md: '{pattern}' of '{room}' is not there")


def check_links(path, lines, findings):
    """Links of a document to files beside it lead somewhere."""
    for number, line in enumerate(lines, 1):
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", line):
            if "://" not in target and not os.path.exists(os.path.join(ROOT, os.path.dirname(path), target)):
                findings.append(f"{path}:{number}: '{target}' is not there")


def main():
    findings = []
    check_drawings(findings)
    check_map(tracked(), findings)
    check_internals(tracked(), findings)
    for path in tracked():
        try:
            with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                lines = file.read().splitlines()
        except UnicodeDecodeError:
            continue
        if path.endswith((".c", ".h")):
            check_c(path, lines, findings)
        if path.endswith(".md"):
            check_links(path, lines, findings)
        findings += [f"{path}:{n}: left by a merge" for n, text in enumerate(lines, 1) if MERGE_LEFTOVER.match(text)]
        if path != "tests/lint/lint.py":
            findings += [f"{path}:{n}: speaks of somebody's machine, or to its author" for n, text in enumerate(lines, 1) if PERSONAL.search(text)]
    print("\n".join(findings) if findings else "lint: nothing found")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
