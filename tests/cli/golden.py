"""The golden tapes: copies of the good ones, and the bad ones made of them, for the tests to work on."""
import importlib.util
import json
import os
import shutil

TAPES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tapes")
GOLDEN = os.path.join(TAPES, "golden")

_spec = importlib.util.spec_from_file_location("make_golden", os.path.join(TAPES, "make_golden.py"))
make_golden = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(make_golden)

with open(os.path.join(GOLDEN, "damages.json"), encoding="ascii") as _file:
    DAMAGES = json.load(_file)
GOOD = sorted([*make_golden.TAPES, *make_golden.REPACKED])


def copy_good(name, to):
    """As the writer left it: sealed segments read-only, which a checkout does not keep."""
    shutil.copytree(os.path.join(GOLDEN, name + ".tape"), to)
    for file in os.listdir(to):
        os.chmod(os.path.join(to, file), 0o400 if file.startswith("seg-") else 0o600)
    return to


def make_bad(name, to):
    damage = DAMAGES[name]
    path = os.path.join(copy_good(damage["of"], to), damage["file"])
    os.chmod(path, 0o600)
    if damage.get("remove"):
        os.unlink(path)
    if "cut" in damage:
        os.truncate(path, damage["cut"])
    for change in damage.get("put", []):
        with open(path, "r+b") as file:
            file.seek(change["at"])
            file.write(bytes.fromhex(change["bytes"]))
    return to
