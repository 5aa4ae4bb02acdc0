#!/bin/sh
# Installs the Debian packages named as arguments that are missing, and says which before it begins. With
# KUBETAPE_DEPS=refuse it only says what is missing, and fails. Used by `make deps`.
set -eu
missing=
for package; do
	dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
if [ "${KUBETAPE_DEPS:-}" = refuse ]; then
	echo "deps: missing:$missing" >&2
	exit 1
fi
echo "deps: missing, and installed now with apt-get:$missing"
command -v apt-get >/dev/null || { echo "deps: this is not a Debian system; install by hand:$missing" >&2; exit 1; }
as_root=
if [ "$(id -u)" != 0 ]; then
	command -v sudo >/dev/null || { echo "deps: run as root, or install by hand:$missing" >&2; exit 1; }
	as_root=sudo
fi
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get update -qq
# shellcheck disable=SC2086
$as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null
