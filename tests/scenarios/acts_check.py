"""The acts of small Python programs and of kubectl, which `make check` plays."""

from acts import CLASSIC, IN_VAIN, act, both_modes, kubectl, lines, program, wait_for_deletion, ways_in

# ---- 000: the watch channel is closed ----

FIRST_HALF = ["ADDED a u1 90 app=web", "ADDED b u2 91 app=db", "MODIFIED a u1 100 app=web", "ADDED c u3 110 app=web"]


@act("000-a", "a program that returns stops without a word", program("naive.py", "return"), gaps="000-a")
def returns(t, p):
    t.assertEqual((p.code, lines(p.out)), (0, FIRST_HALF + ["watch channel closed"]))
    t.assertEqual(p.asked(), [("WATCH", "", 200)])


def goes_on(t, p, before="100"):
    t.assertEqual(p.code, 0, p.out)
    t.assertEqual(ways_in(p), 1, p.asked())
    t.assertEqual(p.asked()[-1], ("WATCH", before, 200))


for gaps, end in (("000-a", "a clean end"), ("000-b", "a reset")):
    both_modes(lambda mode, env, gaps=gaps, end=end: act(gaps, f"kubectl wait goes on after {end}{mode}",
        wait_for_deletion("a"), tape="recreated", gaps=gaps, env=env)(goes_on))


@act("000-b", "a program that returns cannot tell a reset from an end", program("naive.py", "return"), gaps="000-b")
def cannot_tell(t, p):
    t.assertEqual((p.code, lines(p.out)), (0, FIRST_HALF + ["watch channel closed"]))


@act("000-b", "kubectl get -w ends with exit code 0", kubectl("get", "pods", "-A", "-w", "--no-headers"), gaps="000-b")
def get_w_ends(t, p):
    t.assertEqual(p.code, 0)
    t.assertEqual([line.split()[1] for line in lines(p.out)], ["a", "b", "a", "c"])


@act("000-f", "kubectl get -w prints an ERROR as a row and exits with 0",
    kubectl("get", "pods", "-A", "-w", "--output-watch-events"), gaps="000-f")
def get_w_shows_errors(t, p):
    t.assertEqual(p.code, 0, p.err)
    t.assertRegex(lines(p.out)[-1], r"^ERROR .*Expired")


@act("000-c", "a program that reads on spins and asks nobody", program("naive.py", "continue"), gaps="000-a")
def spins(t, p):
    t.assertEqual((p.code, lines(p.out)), (0, FIRST_HALF + ["watch channel closed", "and closed again: very often"]))
    t.assertEqual(p.asked(), [("WATCH", "", 200)])


@act("000-d", "the watch outlives the object", program("watch.py", "/api/v1/pods?watch=true&resourceVersion=95"
    "&fieldSelector=metadata.name%3Da", "200"), tape="recreated")
def outlives(t, p):
    t.assertEqual(lines(p.out)[1:], ["MODIFIED a u1 100", "DELETED a u1 180", "ADDED a u2 200"])
    t.assertEqual(len(p.asked()), 1)


@act("000-e", "watching again without a resourceVersion forgets deletions", program("rewatch.py"), gaps="000-e")
def forgets(t, p):
    out = lines(p.out)
    again = out.index("watch channel closed, watching again in a moment") + 1
    t.assertEqual(out[:again - 1], FIRST_HALF)
    t.assertEqual(out[again:again + 2], ["ADDED a u1 100 app=web", "ADDED c u3 110 app=web"])
    t.assertNotIn("DELETED", p.out)
    t.assertEqual(out[-2:], ["believes in a b c last", "there are a c last"])


@act("000-f", "an ERROR is no pod", program("cast.py"), gaps="000-f")
def is_no_pod(t, p):
    t.assertEqual(lines(p.out)[-2:], ["error casting Status 410", "watch channel closed"])


@act("000-g", "a program's own timer restarts a silent watch", program("idle.py"), options=("--speed", "0.4"))
def restarts(t, p):
    out = lines(p.out)
    t.assertEqual([line.split()[3] for line in out if not line.startswith("nothing")], ["100", "110", "120", "130", "140"])
    t.assertIn("nothing for a while, watching again at 110", out)
    closed_by_client = p.rows("SELECT 1 FROM requests WHERE verb = 'watch' AND NOT whole")
    t.assertGreaterEqual(len(closed_by_client), 2)


# ---- 001: five abnormal situations ----

@act("S1", "a program waits for the server to be there", program("first_list.py"), gaps="S1")
def waits(t, p):
    t.assertEqual((p.code, lines(p.out)[-1]), (0, "listed 2 pods at 95"))
    t.assertIn("connection refused", p.out)
    t.assertEqual(p.asked(), [("LIST", "", 200)])


@act("S2", "a create on the kept connection after the watch has ended", program("create_after.py"), gaps="000-a")
def creates(t, p):
    t.assertEqual(lines(p.out)[-2:], ["watch over", "created 201"])


@act("S3", "a client that leaves during an outage leaves nothing behind", program("outage.py", "leave"), gaps="S3")
def leaves(t, p):
    t.assertEqual(lines(p.out)[-2:], ["left", "the server is back"])
    t.assertEqual(len(p.rows("SELECT 1 FROM requests")), 1)


@act("S4", "a create during an outage fails at once", program("outage.py", "create"), gaps="S3")
def fails(t, p):
    t.assertEqual(lines(p.out)[-3:], ["create: connection refused", "the server is back", "watching again: 140"])
    t.assertEqual(p.rows("SELECT 1 FROM requests WHERE method = 'POST'"), [])


def never_deleted(t, p):
    t.assertEqual(p.code, 1, p.out + p.err)
    t.assertIn("timed out waiting for the condition", p.err)


def recreated_behind_410(t, p):
    never_deleted(t, p)
    way_in = p.asked()[0][0]
    t.assertEqual([one[:2] for one in p.asked() if one[0] == way_in or one[1] == "100"][1:3], [("WATCH", "100"), (way_in, "100")])


def deleted(t, p):
    t.assertEqual(p.code, 0, p.out)
    t.assertIn("condition met", p.out)


def seen_going(t, p):
    deleted(t, p)
    t.assertEqual((ways_in(p), p.asked()[-1]), (1, ("WATCH", "100", 200)))


def found_gone(t, p):
    deleted(t, p)
    t.assertEqual(ways_in(p), 2, p.asked())


S5 = [
    ("kubectl wait never learns of the deletion", wait_for_deletion("a", IN_VAIN), "S5", recreated_behind_410),
    ("control: with its history kept, it is seen", wait_for_deletion("a"), "S5-kept", seen_going),
    ("control: what only goes is missed by the list", wait_for_deletion("gone"), "S5", found_gone),
    ("control: a server that tells of the new one only", wait_for_deletion("a", IN_VAIN), "S5-untold", never_deleted)]
for title, client, gaps, check in S5:
    both_modes(lambda mode, env, title=title, client=client, gaps=gaps, check=check:
        act("S5", title + mode, client, tape="recreated", gaps=gaps, env=env)(check))


# ---- 003: what a storage watcher promises ----

@act("003-initial", "what is there comes first, then what changes, and nothing twice",
    program("watch.py", "/api/v1/pods?watch=true&resourceVersion=0", "140"), tape="labels")
def initial(t, p):
    t.assertEqual(lines(p.out)[1:], ["ADDED pod u5 92", "ADDED pod u4 91", "ADDED a u1 90 app=web", "MODIFIED a u1 100 app=other",
        "MODIFIED a u1 110 app=web", "MODIFIED pod u4 120", "MODIFIED pod u5 125", "DELETED a u1 130 app=web", "ADDED last u9 140 app=web"])


@act("003-from", "a watch from N begins after N", program("watch.py", "/api/v1/pods?watch=true&resourceVersion=110", "140"),
    tape="labels", options=("--from", "end", "--wait-watchers", "0"))
def begins_behind(t, p):
    t.assertEqual(lines(p.out)[1], "MODIFIED pod u4 120")


@act("003-prefix", "a namespace is not the beginning of another's name",
    program("watch.py", "/api/v1/namespaces/a/pods?watch=true&resourceVersion=95", "125"), tape="labels")
def prefix(t, p):
    t.assertEqual(lines(p.out)[1:], ["MODIFIED pod u5 125"])


@act("003-filter", "what leaves the selection is DELETED with its old state, and ADDED when it is back",
    program("watch.py", "/api/v1/pods?watch=true&resourceVersion=95&labelSelector=app%3Dweb", "140"), tape="labels")
def filters(t, p):
    t.assertEqual(lines(p.out)[1:], ["DELETED a u1 100 app=web", "ADDED a u1 110 app=web", "DELETED a u1 130 app=web", "ADDED last u9 140 app=web"])


@act("003-deleted", "DELETED is the last state with the deletion's resourceVersion",
    program("watch.py", "/api/v1/pods?watch=true&resourceVersion=0", "120"))
def deletes(t, p):
    t.assertEqual([line for line in lines(p.out) if " b " in line], ["ADDED b u2 91 app=db", "DELETED b u2 120 app=db"])


@act("003-bookmark", "progress is a BOOKMARK with nothing but a resourceVersion, to those who allow it",
    program("watch.py", "/api/v1/pods?watch=true&resourceVersion=95&timeoutSeconds=3&allowWatchBookmarks=true"))
def bookmark(t, p):
    t.assertEqual(lines(p.out)[-2:], ["BOOKMARK - - 140", "ended"])


@act("003-headers", "a watch is open before anything happens",
    program("watch.py", "/api/v1/pods?watch=true&resourceVersion=95&timeoutSeconds=1"), options=("--wait-watchers", "2"))
def headers_first(t, p):
    t.assertEqual(lines(p.out), ["opened 200", "ended"])


@act("003-compaction", "history that is gone is an ERROR 410, and then the end",
    program("watch.py", "/api/v1/pods?watch=true&resourceVersion=100"), gaps="003-compaction", options=("--wait-watchers", "0"))
def compaction(t, p):
    t.assertEqual(lines(p.out)[1:], ["ERROR - - -", "code 410 Expired too old resource version: 100 (120)", "ended"])


@act("003-compaction", "a watch that runs does not notice", program("watch.py", "/api/v1/pods?watch=true&resourceVersion=95", "140"),
    gaps="003-compaction")
def compaction_while_running(t, p):
    t.assertEqual([line.split()[3] for line in lines(p.out)[1:]], ["100", "110", "120", "130", "140"])


ERRORS = {"003-no-leader": "etcdserver: no leader", "003-decode-error": "unable to transform key: cipher: message authentication failed"}
for name, message in ERRORS.items():
    def error_comes_last(t, p, message=message):
        t.assertEqual(lines(p.out)[-3:], ["ERROR - - -", "code 500 InternalError " + message, "ended"])

    def lists_again(t, p):
        never_deleted(t, p)
        t.assertEqual(ways_in(p), 2, p.asked())

    act(name, "the ERROR comes last, then the end", program("watch.py", "/api/v1/pods?watch=true&resourceVersion=95"),
        tape="recreated", gaps=name)(error_comes_last)
    act(name, "kubectl wait lists again and misses the recreation", wait_for_deletion("a", IN_VAIN), tape="recreated", gaps=name,
        env=CLASSIC)(lists_again)


# ---- 004: writes, older views, and what comes late ----

def statuses(p):
    """Of the writes of ConfigMaps, in order."""
    return [row["status"] for row in p.rows("SELECT status FROM writes WHERE resource = 'configmaps' ORDER BY write")]


def gap(text):
    return ("--gap", text, "--wait-watchers", "0")


@act("004-done", "a write that timed out may have been done", program("writer.py"), options=gap("#1,0s,write_error=504,after,write=create configmaps"))
def timed_out(t, p):
    t.assertEqual((p.code, lines(p.out)), (0, ["creating", "504 Timeout", "creating", "409 AlreadyExists"]))


@act("004-done", "so may one that got no answer", program("writer.py"), options=gap("#1,0s,write_reset,after,write=create configmaps"))
def no_answer(t, p):
    t.assertEqual((p.code, lines(p.out)), (0, ["creating", "no answer", "creating", "409 AlreadyExists"]))


@act("004-done", "or not", program("writer.py"), options=gap("#1,0s,write_reset,write=create configmaps"))
def not_done(t, p):
    t.assertEqual((p.code, lines(p.out)), (0, ["creating", "no answer", "creating", "201 created"]))


@act("004-done", "kubectl create waits for an answer that comes late", kubectl("create", "configmap", "made"),
    options=gap("#1,0s,write_late=1s,write=create configmaps"))
def kubectl_waits(t, p):
    t.assertEqual((p.code, lines(p.out)), (0, ["configmap/made created"]))
    lasted = p.rows("SELECT w.status, r.duration_ns >= 1000000000 AS late FROM writes AS w JOIN requests AS r USING (request)")
    t.assertEqual(lasted, [{"status": 201, "late": 1}])


@act("004-done", "kubectl create tells of the time-out, and does not try again", kubectl("create", "configmap", "made"),
    options=gap("#1,0s,write_error=504,after,write=create configmaps"))
def kubectl_times_out(t, p):
    t.assertEqual(p.code, 1)
    t.assertIn("error: failed to create configmap: Timeout: ", p.err)
    t.assertEqual(len(statuses(p)), 1)


@act("004-done", "kubectl create waits as long as a 429 says, and tries again", kubectl("create", "configmap", "made"), gaps="004-busy",
    options=("--wait-watchers", "0"))
def kubectl_tries_again(t, p):
    t.assertEqual((p.code, statuses(p)), (0, [429, 201]), p.err)


@act("004-restart", "a program that died within its write finds it done", program("writer.py"),
    options=gap("#1,0s,restart,after,write=create configmaps"))
def died(t, p):
    t.assertEqual((p.code, lines(p.out)), (0, ["creating", "creating", "409 AlreadyExists"]))


@act("004-view", "a list at 0 may be old, a list without a version is not", program("older.py"),
    options=gap("+0s,1h,as_of=seq:3,wall,pods"))
def may_be_old(t, p):
    t.assertEqual(lines(p.out), ["at 0: a b", "now: a c last"])


AT_THE_END = ("--from", "end", "--wait-watchers", "0", "--lenient", "--gap", "end,1h,as_of=seq:3,wall,pods")


@act("004-view", "kubectl get lists without a version, and sees what is", kubectl("get", "pods", "-o", "name"), options=AT_THE_END)
def kubectl_is_not_old(t, p):
    t.assertEqual(lines(p.out), ["pod/a", "pod/c", "pod/last"])


@act("004-list", "under stale_list every list is old, and a read by name is not", program("older.py"), gaps="004-list",
    options=("--wait-watchers", "0"))
def all_are_old(t, p):
    t.assertEqual(lines(p.out), ["at 0: a b", "now: a b"])


@act("004-echo", "a read shows an own write before a watch does", program("own.py"), tape="busy",
    options=("--gap", "+0s,1h,echo=3ev,wall,configmaps", "--wait-watchers", "2"))
def seen_late(t, p):
    t.assertEqual(lines(p.out)[:2], ["created 201", "read 200"])
    t.assertRegex(lines(p.out)[-1], "^ADDED made ")
    told = p.rows("SELECT r.resource, d.out_ns FROM deliveries d JOIN requests r USING (request) ORDER BY d.out_ns")
    t.assertGreaterEqual([row["resource"] for row in told].index("configmaps"), 2)


@act("004-burst", "what is kept back comes in its order and without a list", program("two.py"), tape="busy",
    options=("--gap", "#1,3ev,burst,pods,requests=watch,event=resource='pods'", "--wait-watchers", "2"))
def at_once(t, p):
    t.assertEqual([line.split()[3] for line in lines(p.out) if " n1 " not in line], ["100", "110", "120"])
    t.assertEqual([one[0] for one in p.asked()], ["LIST", "WATCH"])
    told = p.rows("SELECT r.resource, d.seq FROM deliveries d JOIN requests r USING (request) ORDER BY d.out_ns, d.seq")
    t.assertLess(told.index(next(row for row in told if row["resource"] == "nodes")), told.index(next(row for row in told if row["resource"] == "pods")))


@act("004-slow", "one resource is listed long after the other", program("two.py"), tape="busy",
    options=("--gap", "+0s,1h,slow=1s,wall,nodes", "--wait-watchers", "2"))
def listed_late(t, p):
    took = {row["resource"]: row["duration_ns"] for row in p.rows("SELECT resource, duration_ns FROM requests WHERE verb = 'list'")}
    t.assertGreaterEqual(took["nodes"], 1_000_000_000)
    t.assertEqual(len(took), 2)
