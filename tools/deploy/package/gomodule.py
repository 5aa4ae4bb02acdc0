#!/usr/bin/env python3
"""Makes a Go module as the module proxy serves it, so that `GOPROXY=file://OUTPUT/goproxy,...` and any web server can.

usage: gomodule.py FOLDER VERSION OUTPUT     the sources, vVERSION, OUTPUT/goproxy/MODULE/@v/...
"""
import json
import os
import re
import shutil
import sys
import time
import zipfile

EPOCH = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())))


def main():
    folder, version, output = sys.argv[1:]
    version = "v" + version
    with open(os.path.join(folder, "go.mod"), encoding="utf-8") as file:
        module = re.search(r"^module (\S+)$", file.read(), re.MULTILINE)[1]
    place = os.path.join(output, "goproxy", module, "@v")
    shutil.rmtree(place, ignore_errors=True)
    os.makedirs(place)
    shutil.copy(os.path.join(folder, "go.mod"), os.path.join(place, version + ".mod"))
    with open(os.path.join(place, version + ".info"), "w", encoding="utf-8") as file:
        json.dump({"Version": version, "Time": time.strftime("%Y-%m-%dT%H:%M:%SZ", EPOCH)}, file)
    with open(os.path.join(place, "list"), "w", encoding="utf-8") as file:
        file.write(version + "\n")
    with zipfile.ZipFile(os.path.join(place, version + ".zip"), "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), "rb") as file:
                archive.writestr(zipfile.ZipInfo(f"{module}@{version}/{name}", max(EPOCH, time.gmtime(315532800))[:6]), file.read())


if __name__ == "__main__":
    main()
