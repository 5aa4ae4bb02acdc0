"""The accepted differences of requests that write."""

import json
import re

from differential.sides import Accepted, drop_body, each_json, same_length

# Values that a server makes up. The ones of an object that was there before are compared.
MADE_UP = {"uid", "creationTimestamp"}
OF_NOW = {"time", "deletionTimestamp"}
MADE_UP_YAML = re.compile(rb'(uid|creationTimestamp|deletionTimestamp|time): .*')
MADE_UP_NAME = re.compile(r"\b([xX]-)[a-z0-9]{5}\b")
SCHEME = re.compile(rb"pkg/(runtime/scheme\.go:\d+|api/legacyscheme/scheme\.go:\d+)")
REFUSED_OBJECT = re.compile(r'Invalid value: ("\{.*\}"): ', re.S)
# Of these only the API server's own code knows what is allowed.
OWN_RULES = ("data[", "spec.progressDeadlineSeconds", ".spec.replicas")


def _writes(live):
    return live.request.method not in ("GET", "HEAD")


def _each_member(value, change):
    """The value after change(name, value of the member) of all members, at any depth."""
    if isinstance(value, dict):
        return {name: change(name, _each_member(inner, change)) for name, inner in value.items()}
    return [_each_member(item, change) for item in value] if isinstance(value, list) else value


def _without_version(value):
    value.get("metadata", {}).pop("resourceVersion", None)
    return value


def made_up_values(live, replayed):
    if not _writes(live):
        return
    names = OF_NOW
    if live.status == replayed.status == 201:
        names = OF_NOW | MADE_UP
        if b"resourceVersion" in (live.request.body or b""):
            each_json(_without_version, live, replayed)
    if b"generateName" in (live.request.body or b""):
        for side in (live, replayed):
            side.body = MADE_UP_NAME.sub(r"\1MADEUP", side.body.decode()).encode()
    each_json(lambda value: _each_member(value, lambda name, inner: "?" if name in names and inner else inner), live, replayed)
    if live.headers.get("content-type") == replayed.headers.get("content-type") == "application/yaml":
        for side in (live, replayed):
            side.body = MADE_UP_YAML.sub(rb"\1: ?", side.body)
        same_length(live, replayed)


def place_of_the_scheme(live, replayed):
    if SCHEME.search(live.body) and SCHEME.search(replayed.body):
        for side in (live, replayed):
            side.body = SCHEME.sub(b"SCHEME", side.body)
        same_length(live, replayed)


def _parsed(text):
    try:
        return json.loads(json.loads(text))
    except ValueError:
        return text


def refused_objects(live, replayed):
    """As patched, before anything is filled in or left out: in any order."""
    def in_order(name, inner):
        if name != "message":
            return inner
        return REFUSED_OBJECT.sub(lambda m: json.dumps(_parsed(m.group(1)), sort_keys=True), inner)

    if live.status == replayed.status == 422 and b"strategic" in live.request.headers.get("Content-Type", "").encode() and (
            b"map[" in live.body):
        drop_body(live, replayed)
    elif live.status == replayed.status == 422:
        each_json(lambda value: _each_member(value, in_order), live, replayed)


def texts_of_yaml(live, replayed):
    def without(name, inner):
        return inner.split("yaml: ")[0] if name == "message" and isinstance(inner, str) else inner

    if live.status == replayed.status == 400 and b"yaml: " in live.body:
        if b"!!" in (live.request.body or b""):
            drop_body(live, replayed)
        each_json(lambda value: _each_member(value, without), live, replayed)
    if "already set in map" in live.headers.get("warning", ""):
        del live.headers["warning"]


def words_about_protobuf(live, replayed):
    kind = live.request.headers.get("Content-Type")
    if kind == "application/vnd.kubernetes.protobuf" and live.status == replayed.status == 400:
        drop_body(live, replayed)


def told_again(live, replayed):
    def once(name, inner):
        return [c for n, c in enumerate(inner) if c not in inner[:n]] if name == "causes" else inner

    each_json(lambda value: _each_member(value, once), live, replayed)


def own_rules(live, replayed):
    causes = ((live.json() or {}).get("details") or {}).get("causes") or [] if live.status == 422 else []
    if not any(cause.get("field", "").startswith(OWN_RULES) for cause in causes):
        return
    if replayed.status == 422:
        both = {cause["field"] for cause in (replayed.json() or {}).get("details", {}).get("causes", [])}
        if not both & {cause["field"] for cause in causes} and "patch" not in both:
            return
    live.status = replayed.status
    live.headers, live.body = replayed.headers, replayed.body


def ends_at_once(live, replayed):
    asked = (live.request.body or b"") + live.request.target.encode()
    if live.request.method == "DELETE" and live.status == replayed.status == 200 and re.search(
            rb"Orphan|Foreground|orphanDependents", asked):
        drop_body(live, replayed)


def defaults(live, replayed):
    """Which defaults of a deployment there are, and who owns them."""
    def without(value):
        if isinstance(value, dict) and value.get("kind") == "Deployment":
            value["metadata"].pop("managedFields", None)
            if live.request.method == "POST":
                value["spec"].pop("template", None)
            if b"null" in (live.request.body or b""):
                value["spec"].pop("replicas", None)
        return value

    if _writes(live) and "/deployments" in live.request.target:
        each_json(without, live, replayed)


ACCEPTED = (
    Accepted("made up", "UIDs and times of what is written", made_up_values),
    Accepted("place of the scheme", "messages name a line of the API server's source, which depends on how it was built",
        place_of_the_scheme),
    Accepted("order in a refused object", "what a patch made of an object is told before the members are put into order, "
        "and of a strategic one that is refused in the words of Go",
        refused_objects),
    Accepted("words about YAML", "what is no YAML is told in the words of another parser, and tags are not looked at",
        texts_of_yaml),
    Accepted("words about protobuf", "what is no protobuf is told in other words", words_about_protobuf),
    Accepted("told again", "an update is checked up to four times, and tells all causes each time", told_again),
    Accepted("own rules", "what only the API server's code knows of a kind is not checked", own_rules),
    Accepted("ends at once", "nobody collects garbage, so no finalizer waits for it", ends_at_once),
    Accepted("defaults", "of a built-in kind there are a few, filled in when it is made, and they own nothing", defaults),
)
