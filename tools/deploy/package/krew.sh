#!/bin/sh
# Makes the archives and the manifest with which krew installs `kubectl tape`. krew takes no links, so the plug-in is a copy.
#
# usage: krew.sh TREE VERSION ARCH URL OUTPUT      TREE is that of the tarball; archives will be at URL/NAME
set -eu
tree=$1 version=$2 arch=$3 url=$4 output=$5
name=kubectl-tape-$version-linux-$arch
folder=$(dirname "$tree")/$name
rm -rf "$folder"
mkdir -p "$folder/bin" "$folder/lib"
cp "$tree/bin/kubetape" "$folder/bin/kubetape"
cp "$tree/bin/kubetape" "$folder/bin/kubectl-tape"
cp -r "$tree/lib/kubetape" "$folder/lib/kubetape"
cp -r "$tree/share/doc/kubetape/licences" "$folder/licences"
cp LICENSE "$folder"
tar -C "$(dirname "$folder")" --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --mtime="@${SOURCE_DATE_EPOCH:-$(date +%s)}" \
	-c "$name" | gzip -n9 >"$output/$name.tar.gz"
cat >"$output/tape.yaml" <<EOF
apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: tape
spec:
  version: v$version
  homepage: $url
  shortDescription: Record, replay and query what happens to objects
  description: |
    Records every watch event of a cluster in a tape, serves a tape as an API
    server to unmodified clients and controllers, and answers SQL over it.
  platforms:
EOF
for archive in "$output/kubectl-tape-$version"-linux-*.tar.gz; do
	file=$(basename "$archive")
	of=${file%.tar.gz}
	cat >>"$output/tape.yaml" <<EOF
  - selector:
      matchLabels:
        os: linux
        arch: ${of##*-}
    uri: $url/$file
    sha256: $(sha256sum "$archive" | cut -d' ' -f1)
    files:
    - from: $of/*
      to: .
    bin: bin/kubectl-tape
EOF
done
