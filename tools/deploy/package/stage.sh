#!/bin/sh
# Copies the sources as they are in the work tree into FOLDER, with debian/, the manual pages and the documents, ready for dpkg-buildpackage.
#
# usage: stage.sh PROGRAM PAGES FOLDER
# DEBFULLNAME and DEBEMAIL say who made the package.
set -eu
program=$1 pages=$2 folder=$3
here=$(dirname "$0")
rm -rf "$folder"
mkdir -p "$folder"
cp -r Makefile README.md ARCHITECTURE.md CHANGELOG.md CONTRIBUTING.md SECURITY.md LICENSE docs recorder replayer schema tools "$folder"
cp -r "$here/debian" "$folder/debian"
cp -r "$pages" "$folder/debian/pages"
"$here/documents.py" README.md "$folder/debian/documents"
maintainer="${DEBFULLNAME:-kubetape maintainers} <${DEBEMAIL:-maintainers@kubetape.example}>"
version=$("$program" --version | sed -n '1s/kubetape //p')
sed -i "s|@MAINTAINER@|$maintainer|" "$folder/debian/control"
cat >"$folder/debian/changelog" <<EOF
kubetape ($version-1) unstable; urgency=medium

  * Release $version, see CHANGELOG.md.

 -- $maintainer  $(date -R -u -d "@${SOURCE_DATE_EPOCH:-$(date +%s)}")
EOF
"$program" --version | sed -n 's/^commit: //p' >"$folder/debian/commit"
