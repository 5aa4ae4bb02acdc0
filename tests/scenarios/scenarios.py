"""The scenarios: a name, what happens, and acts. README.md tells the story."""

import acts_check  # each adds to the list
import acts_interop
from acts import ACTS

__all__ = ["ACTS", "acts_check", "acts_interop"]
