"""The operator of dask-kubernetes for `kopf run`. Its workers are numbered, as two runs with names at random cannot be compared.
A handler that failed is tried again after 1 s: after kopf's 60 s nobody would be looking."""

import sys
from types import SimpleNamespace

import kopf
from dask_kubernetes.operator.controller import controller


def number():
    """In place of uuid4(): how many workers its group has before this one."""
    asker = sys._getframe(1).f_locals
    return SimpleNamespace(hex=str(asker["current_workers"] + asker["_"]))


controller.uuid4 = number


@kopf.on.startup()
def retry_soon(settings, **_):
    settings.execution.default_backoff = 1
