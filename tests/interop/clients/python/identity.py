"""What both Python clients tell of an object."""


def identity(o):
    """Of an object or a dict: key, uid, resourceVersion."""
    if isinstance(o, dict):
        m = o["metadata"]
        namespace, name, uid, rv = m.get("namespace"), m["name"], m["uid"], m["resourceVersion"]
    else:
        m = o.metadata
        namespace, name, uid, rv = m.namespace, m.name, m.uid, m.resource_version
    return {"key": f"{namespace}/{name}" if namespace else name, "uid": uid, "rv": rv}
