"""The keys and certificates of a test cluster, made by openssl."""

import os
import subprocess

# The service range's first address is the cluster's own name for the API server.
SERVER_NAMES = "DNS:localhost,DNS:kubernetes.default.svc,IP:127.0.0.1,IP:10.0.0.1"


def _openssl(*args):
    subprocess.run(["openssl", *args], check=True, capture_output=True)


def _signed(folder, name, subject, extensions, days=30):
    """A key and a certificate signed by the folder's CA. With a negative number of days it expired that long ago."""
    key, crt = (os.path.join(folder, f"{name}.{end}") for end in ("key", "crt"))
    request = os.path.join(folder, f"{name}.csr")
    config = os.path.join(folder, f"{name}.ext")
    with open(config, "w", encoding="utf-8") as f:
        f.write(extensions)
    _openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
        "-keyout", key, "-subj", subject, "-out", request)
    _openssl("x509", "-req", "-in", request, "-CA", os.path.join(folder, "ca.crt"),
        "-CAkey", os.path.join(folder, "ca.key"), "-CAcreateserial", "-days", str(days), "-extfile", config, "-out", crt)
    os.remove(request)
    os.remove(config)
    return crt, key


def make(folder):
    """ca, server and admin pairs and the service account key pair sa.key, sa.pub."""
    os.makedirs(folder, mode=0o700)
    _openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
        "-keyout", os.path.join(folder, "ca.key"), "-out", os.path.join(folder, "ca.crt"), "-days", "30",
        "-subj", "/CN=interop-ca", "-addext", "basicConstraints=critical,CA:TRUE",
        "-addext", "keyUsage=critical,keyCertSign,digitalSignature")
    _signed(folder, "server", "/CN=kube-apiserver",
        f"subjectAltName={SERVER_NAMES}\nextendedKeyUsage=serverAuth\n")
    _signed(folder, "admin", "/O=system:masters/CN=admin-by-certificate", "extendedKeyUsage=clientAuth\n")
    sa = os.path.join(folder, "sa.key")
    _openssl("genrsa", "-out", sa, "2048")
    _openssl("rsa", "-in", sa, "-pubout", "-out", os.path.join(folder, "sa.pub"))


def make_expired(folder):
    """A certificate of loopback that expired yesterday, and its key: their paths."""
    return _signed(folder, "expired", "/CN=expired", "subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth\n", days=-1)
