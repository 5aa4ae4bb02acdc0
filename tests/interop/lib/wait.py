"""Waiting for a condition with a deadline. Nothing here ever sleeps in the hope that something has happened."""

import time

# The machine may be shared with compilers and other tests: a deadline only has to end a run that hangs.
PATIENCE_S = 120.0


class Timeout(Exception):
    """A condition did not come true in time; the message says which and what was seen last."""


def until(what, condition, deadline_s=PATIENCE_S, every_s=0.1, describe=None):
    """Call condition() until it returns something true and return that.

    An exception of type OSError counts as 'not yet': a server that is still starting refuses connections.
    describe() is called on failure and tells what was there instead.
    """
    end = time.monotonic() + deadline_s
    last = None
    while True:
        try:
            found = condition()
            if found:
                return found
            last = None
        except OSError as err:
            last = err
        if time.monotonic() >= end:
            break
        time.sleep(every_s)
    seen = describe() if describe else last
    raise Timeout(f"not within {deadline_s:.0f} s: {what}" + (f" ({seen})" if seen else ""))
