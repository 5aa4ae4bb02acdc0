"""What two servers answered to one request, and how the two answers differ."""

import json

from differential import wire

# Headers that mean something. The others are different each time (Audit-Id, Date).
HEADERS = ("content-type", "content-encoding", "content-length", "transfer-encoding", "vary", "cache-control", "etag",
    "retry-after", "warning", "location", "allow", "www-authenticate", "x-content-type-options",
    "x-kubernetes-pf-flowschema-uid", "x-kubernetes-pf-prioritylevel-uid")
SHOWN = 300


class Side:
    """One server's answer, taken apart: what is compared. Accepted differences change it."""

    def __init__(self, request, answer):
        self.request = request
        self.failure = answer if isinstance(answer, Exception) else None
        if self.failure:
            return
        self.status = answer.status
        self.ended = answer.ended
        self.took_s = answer.took_s
        self.headers = {name: answer.headers[name] for name in HEADERS if name in answer.headers}
        self.body = wire.unpacked(answer)
        self.lines = None
        if request.watches and answer.status == 200 and answer.headers.get("content-type") == "application/json":
            self.lines = self.body.split(b"\n")

    def parts(self):
        if self.failure:
            return {"failure": repr(self.failure)}
        body = self.lines if self.lines is not None else self.body
        return {"status": self.status, "end": self.ended, "headers": self.headers, "body": body}

    def json(self):
        """The body as JSON, None when it is none."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None


def differences(live, replayed):
    """[(what, live, replayed)], short enough to read."""
    one, two = live.parts(), replayed.parts()
    found = []
    for name in sorted(one.keys() | two.keys()):
        if one.get(name) != two.get(name):
            found += _explain(name, one.get(name), two.get(name))
    return found


def _explain(name, one, two):
    if isinstance(one, dict) and isinstance(two, dict):
        return [(f"{name} {key}", one.get(key), two.get(key)) for key in sorted(one.keys() | two.keys())
            if one.get(key) != two.get(key)]
    if isinstance(one, list) and isinstance(two, list):
        return _explain_lines(one, two)
    if isinstance(one, bytes) and isinstance(two, bytes):
        return _explain_bodies(name, one, two)
    return [(name, _short(one), _short(two))]


def _explain_lines(one, two):
    for at, (x, y) in enumerate(zip(one, two)):
        if x != y:
            return _explain_bodies(f"line {at + 1} of {len(one)}/{len(two)}", x, y)
    return [("number of lines", f"{len(one)}: {_short(b' '.join(one[len(two):]))}",
        f"{len(two)}: {_short(b' '.join(two[len(one):]))}")]


def _explain_bodies(name, one, two):
    try:
        paths = list(_paths(name, json.loads(one), json.loads(two)))
    except ValueError:
        paths = []
    if paths:
        return paths[:4]
    at = next((n for n, (x, y) in enumerate(zip(one, two)) if x != y), min(len(one), len(two)))
    begin = max(at - 60, 0)
    return [(f"{name} at byte {at} of {len(one)}/{len(two)}", _short(one[begin:]), _short(two[begin:]))]


def _paths(at, one, two):
    if isinstance(one, dict) and isinstance(two, dict):
        for key in one | two:
            if key not in one or key not in two:
                yield (f"{at}.{key}", _short(one.get(key, "absent")), _short(two.get(key, "absent")))
            else:
                yield from _paths(f"{at}.{key}", one[key], two[key])
    elif isinstance(one, list) and isinstance(two, list) and len(one) == len(two):
        for n, (x, y) in enumerate(zip(one, two)):
            yield from _paths(f"{at}[{n}]", x, y)
    elif isinstance(one, list) and isinstance(two, list):
        yield (f"{at}: length", f"{len(one)} {_names(one)}", f"{len(two)} {_names(two)}")
    elif one != two:
        yield (at, _short(one), _short(two))


def _names(items):
    return [o.get("metadata", {}).get("name", o.get("name", "?")) if isinstance(o, dict) else o for o in items][:40]


def _short(value):
    text = value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)
    return text if len(text) <= SHOWN else text[:SHOWN] + "..."
