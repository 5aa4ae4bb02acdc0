#!/bin/sh
# demo.sh: a tour in a minute: replays a bundled recording of a real cluster, records from that replay, compares the two
# tapes byte for byte, and asks SQL. Run by `make demo`; needs nothing but what it builds. Exit 0 when all went well.
set -eu
cd "$(dirname "$0")/.."
program=build/kubetape
tape=${1:-tests/tapes/rolling-update.tape}
work=$(mktemp -d)
replay= recorder=

clean_up() {
	[ -z "$recorder" ] || kill "$recorder" 2>/dev/null || true
	[ -z "$replay" ] || kill "$replay" 2>/dev/null || true
	rm -rf "$work"
}
trap clean_up EXIT INT TERM

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
fail() {
	echo "demo: $*" >&2
	sed 's/^/    /' "$work"/*.log >&2
	exit 1
}
# wait_until SECONDS WHAT COMMAND...: runs COMMAND until it is true.
wait_until() {
	left=$(($1 * 10)) what=$2
	shift 2
	until "$@"; do
		left=$((left - 1))
		[ $left -gt 0 ] || fail "$what did not happen in time"
		sleep 0.1
	done
}
number() { $program info --json "$1" 2>/dev/null | sed -n "s/.*\"$2\": \([0-9]*\).*/\1/p" | head -n 1; }
ask() { $program query "$tape" "$1"; }

say "1. A recording of a real cluster during a rolling update: $tape"
$program info "$tape"

say "2. Replay it as an API server, ten times as fast, and record from that"
$program replay "$tape" --plain --speed 10 --wait-watchers "$(number "$tape" streams)" \
	--kubeconfig "$work/kubeconfig" >"$work/replay.log" 2>&1 &
replay=$!
wait_until 10 "the replay's 'serving' line" grep -qs serving "$work/replay.log"
tail -n 1 "$work/replay.log"
$program record --all --secrets=keep --kubeconfig "$work/kubeconfig" -o "$work/copy.tape" 2>"$work/record.log" &
recorder=$!
has_all() { [ "$(number "$work/copy.tape" events || echo 0)" = "$(number "$tape" events)" ]; }
wait_until 60 "the last event in the copy" has_all
kill -INT "$recorder"
wait "$recorder" || fail "the recorder ended with exit code $?"
recorder=
tail -n 1 "$work/record.log"

say "3. Compare: the same events, byte for byte"
sqlite3 -cmd '.load build/kubetape' :memory: <<SQL >"$work/compare.log" || fail "the tapes could not be compared"
CREATE VIRTUAL TABLE original USING kubetape('$tape');
CREATE VIRTUAL TABLE copy USING kubetape('$work/copy.tape');
CREATE TEMP VIEW a AS SELECT type, apigroup, resource, namespace, name, uid, rv, object FROM original;
CREATE TEMP VIEW b AS SELECT type, apigroup, resource, namespace, name, uid, rv, object FROM copy;
SELECT count(*) FROM (SELECT * FROM a EXCEPT SELECT * FROM b);
SELECT count(*) FROM (SELECT * FROM b EXCEPT SELECT * FROM a);
SQL
[ "$(tr '\n' ' ' <"$work/compare.log")" = "0 0 " ] || fail "events that only one of the tapes has: $(tr '\n' ' ' <"$work/compare.log")"
echo "$(number "$tape" events) events, no difference"

say "4. Ask it in SQL: what the rolling update did to the pods, second by second"
ask "SELECT substr(time, 12, 8) AS second, sum(type = 'ADDED') AS added, sum(type = 'MODIFIED') AS modified,
	sum(type = 'DELETED') AS deleted FROM events WHERE resource = 'pods' AND origin = 'watch' GROUP BY 1 LIMIT 20"

say "5. ... and which names were taken again by another object"
ask "SELECT resource, namespace, name, count(DISTINCT uid) AS lives FROM events WHERE resource <> 'events'
	GROUP BY 1, 2, 3 HAVING lives > 1"

say "That is the tour: 'kubetape --help' lists the commands, README.md tells where to read on."
