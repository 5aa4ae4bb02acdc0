"""Changing the two sides of a comparison, so that what is accepted is no difference any more."""

import json
from typing import Callable, NamedTuple


class Accepted(NamedTuple):
    name: str
    reason: str
    apply: Callable  # (live Side, replayed Side): changes both, so that what is accepted is no difference any more


def same_length(live, replayed):
    """Bodies that differ as accepted differ in how their length is told."""
    for side in (live, replayed):
        for name in ("content-length", "transfer-encoding"):
            side.headers.pop(name, None)


def drop_body(live, replayed):
    for side in (live, replayed):
        side.headers.pop("content-type", None)
        side.body, side.lines = b"", None
    same_length(live, replayed)


def _changed(change, text, always=False):
    """The text after a change of its JSON; untouched when that changes nothing."""
    try:
        before, after = json.loads(text), change(json.loads(text))
    except ValueError:
        return text
    return text if before == after and not always else json.dumps(after).encode()


def each_json(change, live, replayed):
    """Apply a change to the JSON of both bodies, or of each line of both."""
    texts = [(side.body, side.lines) for side in (live, replayed)]
    for always in (False, True):  # where one of them was changed, the spaces of the others tell nothing any more
        for side in (live, replayed):
            if side.lines is not None:
                side.lines = [_changed(change, line, always) for line in side.lines]
            else:
                side.body = _changed(change, side.body, always)
        if texts == [(side.body, side.lines) for side in (live, replayed)]:
            return
    same_length(live, replayed)
