#!/bin/sh
# Builds the Debian packages of staged sources for ARCH into OUTPUT: on this machine if it is of that architecture, else with
# Debian's cross compiler in a bare root, because libraries of two architectures would meet here.
#
# usage: deb.sh STAGED ARCH OUTPUT
set -eu
staged=$1 arch=$2 output=$3
native=$(dpkg --print-architecture)
build="DEB_BUILD_OPTIONS=nocheck\ parallel=$(nproc) COMMIT=$(cat "$staged/debian/commit") dpkg-buildpackage -b -us -uc"
libraries=$(sed -n '/^Build-Depends/,/^$/p' "$staged/debian/control" | grep -o 'lib[a-z0-9+-]*-dev\|zlib1g-dev' | sed "s/\$/:$arch/" | paste -sd,)
rm -f "$output"/kubetape*_"$arch".deb "$(dirname "$staged")"/*.deb
mkdir -p "$output"
if [ "$arch" = "$native" ]; then
	(cd "$staged" && eval "$build")
	cp "$(dirname "$staged")"/kubetape*_"$arch".deb "$output"
	exit 0
fi
mmdebstrap --quiet --variant=apt --architectures="$native,$arch" \
	--include="debhelper,build-essential,crossbuild-essential-$arch,pkg-config,$libraries" \
	--customize-hook="mkdir -p \"\$1/src/kubetape\"" --customize-hook="sync-in $staged /src/kubetape" \
	--customize-hook="chroot \"\$1\" sh -c 'cd /src/kubetape && $build -a$arch -Pcross,nocheck'" \
	--customize-hook="rm -rf \"\$1/src/kubetape\"" --customize-hook="sync-out /src $output/root-$arch" \
	bookworm /dev/null
mv "$output/root-$arch"/*_"$arch".deb "$output"
rm -rf "$output/root-$arch"
