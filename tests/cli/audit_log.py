"""Lines of an API server's audit log about objects on a tape."""
import itertools
import json
from datetime import datetime, timedelta, timezone

from tapes import START, SECOND

numbers = itertools.count(1)


def stamp(seconds):
    base = datetime.fromtimestamp(START / SECOND, timezone.utc) + timedelta(seconds=seconds)
    return base.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def plural(obj):
    return obj["kind"].lower() + "s"


def request(verb, obj, at, took=0.02, user="alice", agent="kubectl/v1.30.0 (linux/amd64)", answer=None, level="RequestResponse",
            query="", subresource="", code=200, stage="ResponseComplete", ref=None, **more):
    """A write of `obj` that was received at that second. answer: the responseObject, `obj` unless given."""
    meta = obj["metadata"]
    group, _, version = obj["apiVersion"].rpartition("/")
    number = next(numbers)
    where = {"resource": plural(obj), "apiVersion": version, "name": meta["name"], **(ref or {})}
    if "namespace" in meta:
        where["namespace"] = meta["namespace"]
    if group:
        where["apiGroup"] = group
    if subresource:
        where["subresource"] = subresource
    entry = {"kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": level, "auditID": f"00000000-0000-4000-8000-{number:012d}",
             "stage": stage, "requestURI": f"/api/{meta['name']}{query}", "verb": verb,
             "user": {"username": user, "groups": ["system:authenticated"]}, "sourceIPs": ["10.1.2.3", "10.0.0.1"],
             "userAgent": agent, "objectRef": where, "responseStatus": {"code": code},
             "requestReceivedTimestamp": stamp(at), "stageTimestamp": stamp(at + took), **more}
    if level == "RequestResponse":
        entry["responseObject"] = obj if answer is None else answer
    return entry


def managed(*entries):
    """metadata.managedFields of (manager, seconds) or (manager, seconds, subresource)."""
    return [{"manager": e[0], "operation": "Update", "apiVersion": "v1", "time": stamp(e[1])[:19] + "Z", "fieldsType": "FieldsV1",
             "fieldsV1": {"f:spec": {}}, **({"subresource": e[2]} if len(e) > 2 else {})} for e in entries]


def write_log(path, entries):
    with open(path, "w", encoding="utf-8") as f:
        for e in entries:
            f.write(e if isinstance(e, str) else json.dumps(e, separators=(",", ":")))
            f.write("\n")
    return path
