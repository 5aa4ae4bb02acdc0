#!/bin/sh
# Makes ROOT/kubetape-VERSION-linux-ARCH and OUTPUT/kubetape-VERSION-linux-ARCH.tar.xz of what `make install` collected in
# STAGED: the program with all the libraries it links with, which runs on any Linux of its architecture.
#
# usage: tarball.sh STAGED ARCH ROOT OUTPUT
set -eu
staged=$1 arch=$2 root=$3 output=$4
here=$(dirname "$0")
name=kubetape-$("$staged/bin/kubetape" --version | sed -n '1s/kubetape //p')-linux-$arch
tree=$root/$name
bundle=$tree/lib/kubetape/bundle
rm -rf "$tree"
mkdir -p "$root" "$output"
cp -a "$staged" "$tree"
rm -r "$tree/lib/kubetape"  # the SQLite extension belongs to a SQLite of the machine
mkdir -p "$bundle"
mv "$tree/bin/kubetape" "$bundle/program"
strip "$bundle/program"
loader=
"$here/bundle.py" "$bundle/program" libraries | while read -r library; do
	[ -n "$loader" ] && cp -L "$library" "$bundle" || { loader=1; cp -L "$library" "$bundle/kubetape"; }
done
chmod 755 "$bundle/kubetape"
"$here/bundle.py" "$bundle/program" licences "$tree/share/doc/kubetape/licences"
${CC:-gcc} -std=c11 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -static -s -o "$tree/bin/kubetape" "$here/launcher.c"
tar -C "$root" --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --mtime="@${SOURCE_DATE_EPOCH:-$(date +%s)}" -c "$name" |
	xz -T0 -6 >"$output/$name.tar.xz"
(cd "$output" && sha256sum "$name.tar.xz" >"$name.tar.xz.sha256")
