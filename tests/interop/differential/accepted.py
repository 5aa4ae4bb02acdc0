"""The differences that are accepted, each with its reason. An entry is applied to both answers only when they
differ, and only what it names is taken out of them: the rest has to be equal."""

import json
import re

from differential import accepted_writes
from differential.sides import Accepted, drop_body, each_json, same_length

AGE = re.compile(r"^(<unknown>|<invalid>|(\d+[smhdy])+)$")
# No version of the recording is as low, all of the cluster's beginning are.
BEFORE_THE_RECORDING = 100


def _tables_of(value):
    table = value.get("object", value) if isinstance(value, dict) else {}
    return [table] if isinstance(table, dict) and table.get("kind") == "Table" else []


# --- the entries ---


def plain_bookmarks(live, replayed):
    for side in (live, replayed):
        if side.lines:
            side.lines = [line for line in side.lines
                if not line.startswith(b'{"type":"BOOKMARK"') or b"initial-events-end" in line]


def answered_as_json(live, replayed):
    kind = live.headers.get("content-type", "")
    if kind.startswith("application/vnd.kubernetes.protobuf") and replayed.headers.get("content-type") == "application/json":
        drop_body(live, replayed)


def ended_at_once(live, replayed):
    if "timeoutSeconds=-" in live.request.target and (live.lines == [b""] or replayed.lines == [b""]):
        drop_body(live, replayed)


def before_the_recording(live, replayed):
    rv = live.request.query.get("resourceVersion", "")
    too_old = b"too old" in (replayed.body if replayed.lines is None else b"".join(replayed.lines))
    if rv.isdecimal() and 0 < int(rv) < BEFORE_THE_RECORDING and too_old:
        live.status = replayed.status
        drop_body(live, replayed)


def hint_of_the_store(live, replayed):
    def without(value):
        status = value.get("object") if isinstance(value, dict) else None
        if isinstance(status, dict) and status.get("reason") == "Timeout" and "details" in status:
            status["details"]["retryAfterSeconds"] = status["details"].get("retryAfterSeconds", 0) in (1, 2, 3)
        return value

    if live.lines and "events" in live.request.target:
        each_json(without, live, replayed)


def overflow(live, replayed):
    if live.lines and live.request.query.get("resourceVersion") == str(2 ** 64 - 1):
        live.lines = replayed.lines


def ages(live, replayed):
    def without(value):
        for table in _tables_of(value):
            for row in table.get("rows") or []:
                row["cells"] = ["AGE" if isinstance(c, str) and AGE.match(c) else c for c in row["cells"]]
        return value

    each_json(without, live, replayed)


def twin_events(live, replayed):
    if "/events.k8s.io/v1/events" in live.request.target and b'"before"' not in replayed.body:
        live.status = replayed.status
        drop_body(live, replayed)


def root(live, replayed):
    if live.request.target.split("?")[0] in ("/", "/index.html"):
        drop_body(live, replayed)


def not_recorded(live, replayed):
    named = "/componentstatuses" in live.request.target and (replayed.status >= 400 or live.status == 200)
    if named:
        replayed.headers.pop("warning", None)
    none = b"not part of" in replayed.body or b"not possible in a recording" in replayed.body
    if named or (none and live.status >= 400):
        live.status = replayed.status
        drop_body(live, replayed)


def other_versions(live, replayed):
    if live.request.target.startswith("/apis/autoscaling/v1/") and b'"h-1"' not in replayed.body:
        live.status = replayed.status
        drop_body(live, replayed)


def refused_upgrades(live, replayed):
    if live.status == replayed.status == 400 and "Upgrade" in live.request.headers:
        for side in (live, replayed):
            side.headers.clear()
            side.body = side.body.strip()


def _plain_v2(document):
    """A document of version 2 without what version 3 does not say: what is read by reference, orders, and more."""
    shared = document.pop("parameters", {})

    def plain(parameter):
        return shared.get(parameter.get("$ref", "").rsplit("/", 1)[-1], parameter)

    for item in document["paths"].values():
        for operation in (item, *item.values()):
            if not isinstance(operation, dict):
                continue
            operation.pop("consumes", None)
            for name in ("parameters", "produces"):
                if name in operation:
                    operation[name] = sorted((plain(p) if isinstance(p, dict) else p for p in operation[name]),
                        key=lambda p: json.dumps(p, sort_keys=True))
    for name, schema in document["definitions"].items():
        if name.endswith((".WatchEvent", ".DeleteOptions")):
            schema.pop("x-kubernetes-group-version-kind", None)
    return document


def openapi_v2(live, replayed):
    if live.request.target.split("?")[0] != "/openapi/v2" or live.status != 200:
        return
    same_length(live, replayed)
    for side in (live, replayed):
        side.headers["etag"] = bool(side.headers.get("etag"))
        if side.body and side.headers.get("content-type") == "application/json":
            side.body = json.dumps(_plain_v2(json.loads(side.body)), sort_keys=True).encode()
        else:
            side.body = bool(side.body)


def versions_of_caches(live, replayed):
    """Of a list or initial events "at least as new as" a version: the state is compared, its version is not."""
    query = live.request.query
    exact = query.get("resourceVersionMatch") == "Exact" or (query.get("limit", "-1") > "0"
        and query.get("resourceVersionMatch", "") == "" and query.get("resourceVersion") != "0")

    def without(value):
        if not isinstance(value, dict):
            return value
        told = value.get("object") if value.get("type") == "BOOKMARK" else value
        if isinstance(told.get("metadata"), dict) and "type" not in told:
            told["metadata"].pop("resourceVersion", None)
        return value

    if query.get("resourceVersion", "").isdecimal() and not exact:
        each_json(without, live, replayed)


def token_of_a_namespace(live, replayed):
    def without(value):
        value.get("metadata", {}).pop("continue", None)
        return value

    if "fieldSelector=metadata.namespace" in live.request.target and "limit" in live.request.target:
        each_json(without, live, replayed)


def order_of_custom_resources(live, replayed):
    def in_order(value):
        if isinstance(value, dict) and isinstance(value.get("resources"), list):
            value["resources"].sort(key=lambda resource: resource["name"])
        return value

    if live.request.target.startswith("/apis/test.example.com"):
        each_json(in_order, live, replayed)


def compression(live, replayed):
    if live.headers.get("content-encoding") == "gzip":
        for name in ("content-encoding", "vary"):
            if name == "content-encoding" or live.headers.get(name) == "Accept-Encoding":
                del live.headers[name]
        same_length(live, replayed)


def in_pieces(live, replayed):
    if "content-length" in live.headers and replayed.headers.get("transfer-encoding") == "chunked":
        same_length(live, replayed)


def warnings(live, replayed):
    if live.request.method in ("GET", "HEAD"):
        live.headers.pop("warning", None)


def names_of_checks(live, replayed):
    if "/poststarthook/" in live.request.target:
        live.status = replayed.status
        live.headers = replayed.headers
        drop_body(live, replayed)
    if "verbose" in live.request.target:
        for side in (live, replayed):
            side.body = side.body.splitlines()[-1] if side.body else b""
        same_length(live, replayed)


ACCEPTED = (
    Accepted("periodic bookmarks", "they come at the server's discretion, near the end of a short watch once or twice",
        plain_bookmarks),
    Accepted("JSON", "every client that asks for protobuf takes JSON as well, and the tape holds JSON", answered_as_json),
    Accepted("ended at once", "of a watch that ends before it begins the live server sends something by chance", ended_at_once),
    Accepted("before the recording", "what was before the first list is not on the tape: too old", before_the_recording),
    Accepted("hint of the store", "1 to 3 seconds by chance, to streaming lists of Events at a version ahead",
        hint_of_the_store),
    Accepted("overflow", "Events take the version 2^64 - 1 for 0: an error of the live server", overflow),
    Accepted("ages", "the clock of a replay is that of the recording", ages),
    Accepted("twin of Events", "Events have two names; the recording has them under one, and under the other is only "
        "what programs write", twin_events),
    Accepted("not recorded", "what cannot be watched is not on the tape, nor are logs", not_recorded),
    Accepted("other versions", "an object is there in the version that was recorded, and in no other", other_versions),
    Accepted("paths of the root", "the list of all paths is not on the tape", root),
    Accepted("refused upgrades", "the live server answers with a status line and nothing else", refused_upgrades),
    Accepted("OpenAPI v2", "it is made of version 3, in another order", openapi_v2),
    Accepted("versions of caches", "where any version from one on will do the live server answers with that of its "
        "cache of the resource, which lags behind the counter", versions_of_caches),
    Accepted("token of a namespace", "the live server makes a token that it does not understand itself when a field "
        "selector names the namespace: its second page is empty", token_of_a_namespace),
    Accepted("order of custom resources", "the live server lists those of a group in another order each time it is "
        "asked to make the list", order_of_custom_resources),
    Accepted("no compression", "a server may leave bodies as they are; on loopback it costs more than it saves",
        compression),
    Accepted("in pieces", "a replay that is busy sends a short list as it comes, before it knows its length; the bytes "
        "are the same", in_pieces),
    Accepted("no warnings", "headers of the recorder's own requests are not on the tape", warnings),
    Accepted("names of health checks", "a replay has other parts than an API server", names_of_checks),
) + accepted_writes.ACCEPTED
