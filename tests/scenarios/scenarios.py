"""The scenarios: a name, what happens, and acts. README.md tells the story."""

import acts_check  # noqa: F401  each adds to the list
import acts_interop  # noqa: F401
from acts import ACTS

__all__ = ["ACTS"]
