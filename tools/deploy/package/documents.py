#!/usr/bin/env python3
"""Copies a document with all that its links lead to inside the sources into FOLDER, at the same paths, so that the links hold.

usage: documents.py DOCUMENT FOLDER
"""
import os
import re
import shutil
import sys


def linked(document):
    with open(document, encoding="utf-8") as file:
        text = re.sub(r"^```.*?^```", "", file.read(), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)\s#]+)[^)]*\)", text):
        if not re.match(r"[a-z]+:", target):
            yield os.path.normpath(os.path.join(os.path.dirname(document), target))


def reached(document):
    """Paths, each once."""
    found, left = [], [document]
    while left:
        path = left.pop()
        if path in found:
            continue
        found.append(path)
        if path.endswith(".md"):
            left.extend(linked(path))
    return found


def main():
    document, folder = sys.argv[1:]
    for path in reached(document):
        to = os.path.join(folder, path)
        os.makedirs(os.path.dirname(to), exist_ok=True)
        if os.path.isdir(path):
            shutil.copytree(path, to, dirs_exist_ok=True)
        else:
            shutil.copy(path, to)


main()
