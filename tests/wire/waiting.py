"""How tests wait: for a condition, with a deadline that only a test that fails ever meets."""

import time

PATIENCE_S = 60  # a test that passes never waits that long, however slow and busy the machine is


def wait_for(condition, what, seconds=PATIENCE_S):
    """Returns the condition's value as soon as it is true; fails the test when it never is."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds:g} s in vain for {what}")
        time.sleep(0.01)
