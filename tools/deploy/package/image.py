#!/usr/bin/env python3
"""Makes a container image as a folder in the OCI layout, without a daemon: one layer with the program, what it links with, the
certificates of public authorities, and nothing else, no shell either. It is run by user 65532 and writes to /var/lib/kubetape.

usage: image.py PROGRAM ARCH OUTPUT      OUTPUT/kubetape-VERSION-oci, in which images of other architectures stay
The same files and the same SOURCE_DATE_EPOCH give the same bytes.
"""
import datetime
import gzip
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time

import bundle

USER = 65532
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
PASSWD = f"root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:{USER}:{USER}:nonroot:/var/lib/kubetape:/sbin/nologin\n"
GROUP = f"root:x:0:\nnonroot:x:{USER}:\n"
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
CREATED = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
JSON = "application/vnd.oci.image.{}.v1+json"


class Layer:
    """A tar archive in memory; folders come before what is in them."""

    def __init__(self):
        self.bytes = io.BytesIO()
        self.tar = tarfile.open(fileobj=self.bytes, mode="w", format=tarfile.PAX_FORMAT)
        self.folders = set()

    def entry(self, path, mode, owner=0):
        info = tarfile.TarInfo(path.lstrip("/"))
        info.mode, info.uid, info.gid, info.mtime = mode, owner, owner, CREATED
        return info

    def folder(self, path, mode=0o755, owner=0):
        path = path.rstrip("/")
        if path in self.folders or not path:
            return
        self.folder(os.path.dirname(path))
        info = self.entry(path, mode, owner)
        info.type = tarfile.DIRTYPE
        self.tar.addfile(info)
        self.folders.add(path)

    def file(self, path, content, mode=0o644):
        self.folder(os.path.dirname(path))
        info = self.entry(path, mode)
        info.size = len(content)
        self.tar.addfile(info, io.BytesIO(content))

    def copy(self, path, source, mode=0o644):
        with open(source, "rb") as file:
            self.file(path, file.read(), mode)

    def link(self, path, target):
        self.folder(os.path.dirname(path))
        info = self.entry(path, 0o777)
        info.type, info.linkname = tarfile.SYMTYPE, target
        self.tar.addfile(info)

    def done(self):
        self.tar.close()
        return self.bytes.getvalue()


def stripped(program):
    with tempfile.TemporaryDirectory(prefix="kubetape-image-") as folder:
        path = os.path.join(folder, "program")
        subprocess.run(["strip", "-o", path, program], check=True)
        with open(path, "rb") as file:
            return file.read()


def fill(layer, program):
    layer.file("/usr/bin/kubetape", stripped(program), 0o755)
    layer.link("/usr/bin/kubectl-tape", "kubetape")
    for path in bundle.libraries(program):
        layer.copy(path, path, 0o755)
    for package in sorted({bundle.package_of(path) for path in bundle.libraries(program)}):
        layer.copy(f"/usr/share/doc/{package}/copyright", f"/usr/share/doc/{package}/copyright")
    for name in ("LICENSE", "schema/FORMAT.md"):
        layer.copy("/usr/share/doc/kubetape/" + os.path.basename(name), os.path.join(ROOT, name))
    layer.copy(CERTIFICATES, CERTIFICATES)
    layer.file("/etc/passwd", PASSWD.encode())
    layer.file("/etc/group", GROUP.encode())
    layer.folder("/tmp", 0o1777)
    layer.folder("/var/lib/kubetape", 0o700, USER)


class Layout:
    """The folder of the image: blobs by their digest."""

    def __init__(self, folder):
        self.folder = folder
        os.makedirs(os.path.join(folder, "blobs", "sha256"), exist_ok=True)
        self.write("oci-layout", {"imageLayoutVersion": "1.0.0"})

    def write(self, name, value):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            json.dump(value, file)

    def blob(self, media_type, content):
        digest = hashlib.sha256(content).hexdigest()
        with open(os.path.join(self.folder, "blobs", "sha256", digest), "wb") as file:
            file.write(content)
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(content)}

    def add(self, manifest, arch, version):
        """One image for each architecture; a new one takes the place of the old."""
        try:
            with open(os.path.join(self.folder, "index.json"), encoding="utf-8") as file:
                others = [m for m in json.load(file)["manifests"] if m["platform"]["architecture"] != arch]
        except FileNotFoundError:
            others = []
        manifest.update(platform={"architecture": arch, "os": "linux"},
                        annotations={"org.opencontainers.image.ref.name": version})
        manifests = [*others, manifest]
        self.write("index.json", {"schemaVersion": 2, "mediaType": JSON.format("index"), "manifests": manifests})
        self.prune(manifests)

    def prune(self, manifests):
        """Removes the blobs of images that were replaced."""
        blobs = os.path.join(self.folder, "blobs", "sha256")
        used = set()
        for manifest in manifests:
            name = manifest["digest"].removeprefix("sha256:")
            with open(os.path.join(blobs, name), encoding="utf-8") as file:
                inner = json.load(file)
            used |= {name, *(part["digest"].removeprefix("sha256:") for part in [inner["config"], *inner["layers"]])}
        for name in set(os.listdir(blobs)) - used:
            os.remove(os.path.join(blobs, name))


def facts(program):
    lines = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()
    return lines[0].removeprefix("kubetape "), lines[1].removeprefix("commit: ")


def main():
    program, arch, output = sys.argv[1:]
    version, commit = facts(program)
    layer = Layer()
    fill(layer, program)
    raw = layer.done()
    layout = Layout(os.path.join(output, f"kubetape-{version}-oci"))
    created = datetime.datetime.fromtimestamp(CREATED, datetime.timezone.utc).isoformat()
    labels = {"org.opencontainers.image.title": "kubetape", "org.opencontainers.image.version": version,
              "org.opencontainers.image.revision": commit, "org.opencontainers.image.licenses": "Apache-2.0"}
    config = {"created": created, "architecture": arch, "os": "linux",
              "config": {"User": f"{USER}:{USER}", "Entrypoint": ["/usr/bin/kubetape"], "Cmd": ["--help"],
                         "Env": ["PATH=/usr/bin"], "WorkingDir": "/var/lib/kubetape", "Labels": labels},
              "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(raw).hexdigest()]},
              "history": [{"created": created, "created_by": "tools/deploy/package/image.py"}]}
    manifest = {"schemaVersion": 2, "mediaType": JSON.format("manifest"),
                "config": layout.blob(JSON.format("config"), json.dumps(config).encode()),
                "layers": [layout.blob("application/vnd.oci.image.layer.v1.tar+gzip", gzip.compress(raw, mtime=0))]}
    layout.add(layout.blob(JSON.format("manifest"), json.dumps(manifest).encode()), arch, version)
    print(f"{layout.folder}: {len(raw)} bytes of files")


if __name__ == "__main__":
    main()
