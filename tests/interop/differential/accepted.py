"""The differences that are accepted, each with its reason. An entry is applied to both answers only when they
differ; one that no request needs any more fails the test."""

import json
from typing import Callable, NamedTuple


class Accepted(NamedTuple):
	name: str
	reason: str
	apply: Callable  # (live Side, replayed Side): changes both, so that what is accepted is no difference any more


def _plain_bookmarks(*sides):
	"""Bookmarks other than the one that ends the initial events are out."""
	for side in sides:
		if side.lines:
			side.lines = [line for line in side.lines
				if not line.startswith(b'{"type":"BOOKMARK"') or b"initial-events-end" in line]


ACCEPTED = (
	Accepted("periodic bookmarks", "they come at the server's discretion, near the end of a short watch once or twice",
		_plain_bookmarks),
)
