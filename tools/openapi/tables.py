#!/usr/bin/env python3
"""Writes replayer/kinds/write_table.c from the OpenAPI document that Kubernetes publishes with its source:

    tools/openapi/tables.py .../k8s.io/kubernetes@v1.36.3/api/openapi-spec/swagger.json >replayer/kinds/write_table.c

Two tables come out: the resources that the API server serves (names, kinds, scope, subresources), and what is
special about the fields of their types: lists that are merged by keys or as sets, and maps that are replaced whole.
Defaults of keys come from the v3 folder beside that document.
Types and fields about which there is nothing to say are left out; so are descriptions.
"""
import glob
import json
import os
import re
import sys

LIST_TYPE, KEYS, MAP_TYPE = "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type"
STRATEGY, MERGE_KEY = "x-kubernetes-patch-strategy", "x-kubernetes-patch-merge-key"
MARKS = (LIST_TYPE, KEYS, MAP_TYPE, STRATEGY, MERGE_KEY)


def reference(schema):
    """The name of the type that a field, its items or its values have; None for plain ones."""
    for inner in (schema, schema.get("items") or {}, schema.get("additionalProperties") or {}):
        if isinstance(inner, dict) and "$ref" in inner:
            return inner["$ref"].rsplit("/", 1)[1]
    return None


def telling(definitions):
    """The types that have something to tell, themselves or below."""
    found, grew = set(), True
    while grew:
        grew = False
        for name, schema in definitions.items():
            fields = schema.get("properties", {}).values()
            if name not in found and (MAP_TYPE in schema or any(
                    any(mark in f for mark in MARKS) or reference(f) in found for f in fields)):
                found.add(name)
                grew = True
    return found


def short(name):
    return re.sub(r"^io\.k8s\.", "", name)


def key(name, schema, defaults):
    """A key of a list, with its default."""
    default = defaults.get((reference(schema), name))
    return name if default is None else name + "=" + default


def field(schema, found, defaults):
    """What one field is, in the words of write_table.h; None when there is nothing to say."""
    words = []
    if schema.get("type") == "array":
        kind = schema.get(LIST_TYPE)
        if kind == "map":
            words.append("map:" + "+".join(key(name, schema, defaults) for name in schema[KEYS]))
        elif kind == "set":
            words.append("set")
        if "merge" in schema.get(STRATEGY, "").split(","):
            words.append("merge:" + schema.get(MERGE_KEY, ""))
    elif schema.get(MAP_TYPE) == "atomic":
        words.append("atomic")
    if "retainKeys" in schema.get(STRATEGY, "").split(","):
        words.append("retain")
    if reference(schema) in found and isinstance(schema.get("additionalProperties"), dict):
        words.append("each")
    if reference(schema) in found:
        words.append("=" + short(reference(schema)))
    return words


def string_defaults(folder):
    """{(type, field): default} of fields that may be left out, from the documents of OpenAPI version 3, which alone
    tell defaults."""
    found = {}
    for path in glob.glob(os.path.join(folder, "v3", "*.json")):
        with open(path, encoding="utf-8") as f:
            schemas = json.load(f).get("components", {}).get("schemas", {})
        for name, schema in schemas.items():
            for key, value in schema.get("properties", {}).items():
                if isinstance(value.get("default"), str) and key not in schema.get("required", ()):
                    found[(name, key)] = value["default"]
    return found


def types(definitions, defaults):
    found = telling(definitions)
    for name in sorted(found):
        schema = definitions[name]
        if "items" in schema.get("properties", {}) and name.endswith("List"):
            continue
        words = ["atomic"] if schema.get(MAP_TYPE) == "atomic" else []
        for key, value in sorted(schema.get("properties", {}).items()):
            what = field(value, found, defaults)
            if what:
                words.append(key + " " + " ".join(what))
        yield short(name), ";".join(words)


def kinds(definitions):
    """{(group, version, kind): type}"""
    made = {}
    for name, schema in definitions.items():
        marks = schema.get("x-kubernetes-group-version-kind", [])
        if len(marks) == 1:
            made[(marks[0]["group"], marks[0]["version"], marks[0]["kind"])] = name
    return made


def resources(paths, types_of):
    """{(group, version, resource): [kind, namespaced, {subresource}]}"""
    made, subresources = {}, {}
    for path, methods in paths.items():
        at = re.match(r"^/(?:api|apis/([^/]+))/([^/]+)/(namespaces/\{namespace\}/)?([a-z]+)(?:/\{name\}(?:/([a-z]+))?)?$", path)
        if not at or (at.group(4) == "watch"):
            continue
        group, version, namespaced, resource, sub = at.groups()
        key = (group or "", version, resource)
        if sub:
            subresources.setdefault(key, set()).add(sub)
            continue
        for what in ("post", "get"):
            kind = methods.get(what, {}).get("x-kubernetes-group-version-kind", {}).get("kind")
            if kind:
                entry = made.setdefault(key, [kind, False])
                entry[1] = entry[1] or bool(namespaced)
    for key, (kind, namespaced) in sorted(made.items()):
        yield key, kind, namespaced, sorted(subresources.get(key, ())), types_of.get((*key[:2], kind), "")


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        document = json.load(f)
    definitions = document["definitions"]
    version = re.search(r"(k8s\.io/kubernetes@[^/]+)/", sys.argv[1])
    print(f"""/*
 * write_table.c: generated by tools/openapi/tables.py; do not edit. From the swagger.json of
 * {version[1] if version else "Kubernetes"}.
 */
#include "replayer/kinds/write_table.h"

/* clang-format off */
const struct write_resource write_resources[] = {{""")
    count = 0
    named = {short(n) for n in telling(definitions)}
    for (group, version, resource), kind, namespaced, subs, name in resources(document["paths"], kinds(definitions)):
        name = short(name) if short(name) in named else ""
        print(f'\t{{"{group}", "{version}", "{resource}", "{kind}", {str(namespaced).lower()}, "{",".join(subs)}", "{name}"}},')
        count += 1
    print(f"}};\nconst unsigned write_resource_count = {count};\n\nconst struct write_type write_types[] = {{")
    count = 0
    for name, text in types(definitions, string_defaults(os.path.dirname(sys.argv[1]))):
        print(f'\t{{"{name}",\n\t\t"{text}"}},')
        count += 1
    print(f"}};\nconst unsigned write_type_count = {count};")


main()
