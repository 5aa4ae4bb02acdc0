"""Tapes made of a story: watch events in JSON, one a line, after what the bundled tape's API server said of itself and
after the definitions of the custom resources in the program's module."""

import json
import os
import shutil
import subprocess
from typing import NamedTuple

from worlds import CLUSTER_WIDE

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KUBETAPE = os.environ.get("KUBETAPE", os.path.join(ROOT, "build", "kubetape"))
BUNDLED = os.path.join(ROOT, "tests", "tapes", "rolling-update.tape")


class Story(NamedTuple):
    path: str          # watch events
    definitions: list  # YAML files of definitions of custom resources
    group: str         # theirs
    version: str
    resources: list    # (plural, kind)
    older: tuple = ()  # groups with versions that API servers no longer serve: ("policy", "v1beta1")


def kubetape(*args, stdin=None):
    done = subprocess.run([KUBETAPE, *args], input=stdin, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"kubetape {' '.join(args)}: exit code {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def discovery():
    """The rows of the bundled tape's discovery by path."""
    rows = map(json.loads, kubetape("export", BUNDLED, "--table", "all", "--where", "0").splitlines())
    return {row["path"]: row for row in rows
        if row["table"] == "documents" and not row["variant"] and row["path"].startswith(("/api", "/version"))}


def add_group(documents, group, version, resources):
    """Adds what discovery says of a group with one version."""
    both = {"groupVersion": f"{group}/{version}", "version": version}
    groups = json.loads(documents["/apis"]["body"])
    groups["groups"].append({"name": group, "versions": [both], "preferredVersion": both})
    documents["/apis"]["body"] = json.dumps(groups)
    made = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{group}/{version}", "resources": [
        {"name": plural + part, "singularName": kind.lower() if not part else "", "namespaced": kind not in CLUSTER_WIDE, "kind": kind,
            "verbs": ["create", "delete", "get", "list", "patch", "update", "watch"] if not part else ["get", "patch", "update"]}
        for plural, kind in resources for part in ("", "/status")]}
    documents[f"/apis/{group}/{version}"] = {**documents["/apis"], "path": f"/apis/{group}/{version}", "body": json.dumps(made)}


def add_older(documents, group, version):
    """Adds what discovery said of an older version of a group of today, with the same kinds."""
    groups = json.loads(documents["/apis"]["body"])
    of = next(g for g in groups["groups"] if g["name"] == group)
    like = documents[f"/apis/{of['preferredVersion']['groupVersion']}"]
    of["versions"].append({"groupVersion": f"{group}/{version}", "version": version})
    documents["/apis"]["body"] = json.dumps(groups)
    made = {**json.loads(like["body"]), "groupVersion": f"{group}/{version}"}
    documents[f"/apis/{group}/{version}"] = {**like, "path": f"/apis/{group}/{version}", "body": json.dumps(made)}


def make(story, out):
    documents = discovery()
    for group, version in story.older:
        add_older(documents, group, version)
    if story.resources:
        add_group(documents, story.group, story.version, story.resources)
    shutil.rmtree(out, ignore_errors=True)
    kubetape("import", "-", "-o", out,
        stdin="".join(json.dumps({**row, "bytes": str(len(row["body"]))}) + "\n" for row in documents.values()))
    for path in [*story.definitions, story.path]:
        kubetape("import", path, "-o", out)
