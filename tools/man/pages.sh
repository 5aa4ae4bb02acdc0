#!/bin/sh
# Writes every manual page: what the program tells of itself, what is written by hand (PAGE.roff), and the
# references to other pages.
#
# usage: pages.sh PROGRAM FOLDER
set -eu
program=$1
folder=$2
here=$(dirname "$0")
names=$("$program" help --format=names)
mkdir -p "$folder/man1" "$folder/man5"

page() { # NAME [COMMAND]
	"$program" help --format=man ${2+"$2"}
	[ ! -f "$here/$1.roff" ] || cat "$here/$1.roff"
	echo ".SH SEE ALSO"
}

{
	page kubetape
	for name in $names; do
		echo ".BR kubetape\\-$name (1),"
	done
	echo ".BR kubetape\\-tape (5)"
} >"$folder/man1/kubetape.1"
for name in $names; do
	{
		page "kubetape-$name" "$name"
		printf '.BR kubetape (1),\n.BR kubetape\\-tape (5)\n'
	} >"$folder/man1/kubetape-$name.1"
done
ln -sf kubetape.1 "$folder/man1/kubectl-tape.1"
# The version and date of the other pages.
version=$("$program" --version | head -n 1)
date=$(sed -n '1s/.* 1 \([-0-9]*\) .*/\1/p' "$folder/man1/kubetape.1")
python3 "$here/format_page.py" "${version#kubetape }" "$date" <"$here/../../schema/FORMAT.md" >"$folder/man5/kubetape-tape.5"
