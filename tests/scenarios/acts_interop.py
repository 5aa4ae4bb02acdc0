"""The acts of client-go, as a program would use it, and of the JavaScript client, which `make interop` plays."""

import re

from acts import CLASSIC, HTTP1, HTTP2, IMPATIENT, STREAMING, act, go, javascript, lines, ways_in
from acts_check import ERRORS

GO_FIRST_HALF = ["ADDED a u1 90", "ADDED b u2 91", "MODIFIED a u1 100", "ADDED c u3 110"]


@act("000-a", "Go: a program that returns stops without a word", go("naive", "return"), gaps="000-a")
def go_returns(t, p):
    t.assertEqual((p.code, lines(p.out)), (0, GO_FIRST_HALF + ["watch channel closed"]))


@act("000-c", "Go: a program that reads on spins and asks nobody", go("naive", "continue"), gaps="000-a")
def go_spins(t, p):
    t.assertEqual((p.code, lines(p.out)), (0, GO_FIRST_HALF + ["watch channel closed", "and closed again: very often"]))
    t.assertEqual(len(p.asked()), 1)


@act("000-e", "Go: watching again without a resourceVersion forgets deletions", go("rewatch"), gaps="000-e")
def go_forgets(t, p):
    t.assertNotIn("DELETED", p.out)
    t.assertEqual(lines(p.out)[-2:], ["believes in a b c last", "there are a c last"])


@act("000-f", "Go: an ERROR is no pod", go("cast"), gaps="000-f")
def go_is_no_pod(t, p):
    t.assertEqual(lines(p.out)[-2:], ["error casting Status 410", "watch channel closed"])


def go_goes_on(t, p):
    t.assertEqual(p.code, 0, p.out)
    t.assertEqual(lines(p.out)[-1], "cache: a=u1 c=u3 last=u9")
    t.assertIn("OnDelete b u2 120", p.out)
    t.assertEqual((ways_in(p), p.asked()[-1]), (1, ("WATCH", "110", 200)))


for gaps, end in (("000-a", "a clean end"), ("000-b", "a reset")):
    for protocol, http in ((HTTP1, "HTTP/1.1"), (HTTP2, "HTTP/2")):
        act(gaps, f"Go: an informer goes on after {end}, {http}", go("informer"), gaps=gaps, protocol=protocol)(go_goes_on)


# Every other end inside the stream.
for word in ("cut=40", "fin", "goaway"):
    for protocol, http in ((HTTP1, "HTTP/1.1"), (HTTP2, "HTTP/2")):
        act("000-b", f"Go: an informer goes on after {word.replace('=40', ' in a frame')}, {http}", go("informer"), protocol=protocol,
            options=("--gap", f"#1,0s,{word},hold=60s,pods,event=type='DELETED'"))(go_goes_on)


def paths(p):
    """Of lists and watches of pods, with the values that are drawn left out."""
    return [re.sub(r"timeout(Seconds)?=[^&]*&?", "", row["path"]) for row in p.rows(
        "SELECT path FROM requests WHERE resource = 'pods' ORDER BY request")]


@act("000-a", "Go: how an informer starts, classic list", go("informer"), env=CLASSIC)
def go_starts(t, p):
    t.assertEqual(paths(p), ["/api/v1/pods?limit=500&resourceVersion=0", "/api/v1/pods?allowWatchBookmarks=true&resourceVersion=95&watch=true"])
    seconds = int(re.search(r"timeoutSeconds=(\d+)", p.rows("SELECT path FROM requests WHERE verb = 'watch'")[0]["path"]).group(1))
    t.assertTrue(300 <= seconds <= 600, seconds)


@act("000-a", "Go: a very short watch makes an informer list again", go("informer"), gaps="000-short", env=CLASSIC)
def go_short(t, p):
    t.assertEqual([one[:2] for one in p.asked()], [("LIST", "0"), ("WATCH", "95"), ("LIST", "95"), ("WATCH", "95")])
    t.assertEqual(lines(p.out)[-1], "cache: a=u1 c=u3 last=u9")


@act("000-a", "Go: 429 makes an informer wait, and watch where it was", go("informer"), env=CLASSIC,
    options=("--gap", "#1,2s,end,wall,hold=60s,pods,event=type='DELETED'"))
def go_waits_at_429(t, p):
    t.assertIn(("WATCH", "110", 429), p.asked())
    t.assertEqual((ways_in(p), p.asked()[-1]), (1, ("WATCH", "110", 200)))
    t.assertIn("OnDelete b u2 120", p.out)


@act("000-f", "Go: after a 410 for its list, an informer lists without a version", go("informer"), gaps="000-f-list", env=CLASSIC)
def go_lists_without(t, p):
    t.assertEqual(p.asked()[2:4], [("LIST", "110", 410), ("LIST", "", 200)])
    t.assertEqual(lines(p.out)[-1], "cache: a=u1 c=u3 last=u9")


@act("000-f", "Go: after a version that is too large for its list, an informer lists without one", go("informer"),
    gaps="000-f-too-large", env=CLASSIC)
@act("000-f", "Go: the message alone says it as well", go("informer"), gaps="000-f-too-large-message", env=CLASSIC)
def go_lists_smaller(t, p):
    t.assertEqual(p.asked()[2:4], [("LIST", "110", 504), ("LIST", "", 504)])
    t.assertEqual(p.asked()[-2:], [("LIST", "", 200), ("WATCH", "110", 200)])


@act("000-f", "Go: after a server that falls back again and again, a reflector lists at its last version, then without one",
    go("seeks"), env=CLASSIC)
def go_lists_and_lists(t, p):
    t.assertEqual(p.code, 0, p.out + p.err)
    lists = [one[1:] for one in p.asked() if one[0] == "LIST"]
    t.assertEqual(lists, [("0", 200), ("140", 504), ("", 200), ("110", 504), ("", 200), ("120", 504), ("", 200)])


@act("000-f", "Go: what is unchanged after a 410 is told to those who want to be told again, and only to them", go("resync"),
    env=CLASSIC, options=("--wait-watchers", "1000000", "--gap", "#1,1ev,error=410,compact,hold=60s,pods,event=type='DELETED'"))
def go_tells_again(t, p):
    t.assertEqual(p.code, 0, p.out + p.err)
    told = {who: [line.partition(": ")[2] for line in lines(p.out) if line.startswith(who)] for who in ("each hour:", "each second:")}
    t.assertEqual(told["each hour:"], ["OnUpdate a 90->100", "OnDelete default/b", "OnUpdate a 100->130"])
    behind = told["each second:"][told["each second:"].index("OnUpdate a 90->100"):]
    t.assertIn("again c", behind)
    t.assertEqual([word for word in behind if "again" not in word], told["each hour:"])


@act("000-f", "Go: after a 410 on a further page, a pager lists everything at once", go("pages"), gaps="000-f-page")
def go_lists_all(t, p):
    t.assertEqual(lines(p.out), ["there are a b"])
    t.assertEqual([status for _, _, status in p.asked()], [200, 410, 200])
    t.assertNotIn("limit", paths(p)[-1])


@act("000-f", "Go: a RetryWatcher watches again after an ERROR 500", go("retrywatcher"), tape="recreated", gaps="003-no-leader")
def go_retries_500(t, p):
    t.assertEqual([line.split()[-1] for line in lines(p.out)], ["100", "101", "180", "190", "200", "310", "ever"])


@act("000-f", "Go: a RetryWatcher stops at HTTP 403", go("retrywatcher"), gaps="000-f-forbidden")
def go_stops_at_403(t, p):
    t.assertEqual(lines(p.out)[-2:], ["ERROR 403 Forbidden", "stopped for ever"])


def go_told_once(t, p):
    t.assertEqual([line.split()[-1] for line in lines(p.out)], ["100", "110", "120", "130", "140", "ever"])
    t.assertEqual(p.asked(), [("WATCH", "95", 200), ("WATCH", "110", 200)])


# 418: an error that it has never heard of.
for code in (504, 418):
    act("000-f", f"Go: a RetryWatcher watches again after an ERROR {code}", go("retrywatcher"),
        options=("--gap", f"#1,0s,error={code},hold=60s,pods,event=type='DELETED'"))(go_told_once)


@act("000-f", "Go: a RetryWatcher stops at HTTP 401", go("retrywatcher"),
    options=("--gap", "#1,60s,wall,end,http=401,hold=60s,pods,event=type='DELETED'"))
def go_stops_at_401(t, p):
    t.assertEqual(lines(p.out)[-2:], ["ERROR 401 Unauthorized", "stopped for ever"])
    t.assertEqual(p.asked(), [("WATCH", "95", 200), ("WATCH", "110", 401)])


@act("000-a", "Go: a RetryWatcher is told everything once, however often its watch ends", go("retrywatcher"), gaps="000-often")
def go_often(t, p):
    t.assertEqual([line.split()[-1] for line in lines(p.out)], ["100", "110", "120", "130", "140", "ever"])
    t.assertEqual(len(p.asked()), 5)
    starts = [row["time_ns"] for row in p.rows("SELECT time_ns FROM requests WHERE verb = 'watch' ORDER BY request")]
    t.assertTrue(all(b - a > 900_000_000 for a, b in zip(starts, starts[1:])), starts)


@act("S1", "Go: WaitForCacheSync waits for the server to be there", go("informer"), gaps="S1", env=CLASSIC)
def go_waits(t, p):
    t.assertEqual(p.code, 0, p.out)
    t.assertIn("informer: connection refused", lines(p.out))
    t.assertEqual(ways_in(p), 1, p.asked())


@act("S2", "Go: a create after the informer was shut down", go("shutdown"))
def go_creates(t, p):
    t.assertEqual((p.code, lines(p.out)[-2:]), (0, ["shut down", "created"]))
    t.assertEqual(p.rows("SELECT status FROM requests WHERE method = 'POST'"), [{"status": 201}])


@act("S2", "Go: the create is on the kept connection, and what comes after the connection's time is on a new one", go("idle"),
    protocol=HTTP2)
def go_idle(t, p):
    t.assertEqual((p.code, lines(p.out)[-2:]), (0, ["created on the kept connection: true", "listed on a new one: true"]), p.err)


@act("S3", "Go: Shutdown during an outage returns, and nothing follows", go("cut-shutdown"), gaps="S3")
def go_leaves(t, p):
    t.assertEqual((p.code, lines(p.out)[-2:]), (0, ["shut down", "nothing more happened"]))
    ends = p.rows("SELECT min(time_ns) AS t FROM faults WHERE step = 'begins'")[0]["t"]
    t.assertEqual(p.rows("SELECT path FROM requests WHERE time_ns > ?", ends), [])


@act("S4", "Go: a create during an outage fails at once, the informer recovers", go("cut-create"), gaps="S3")
def go_fails(t, p):
    t.assertEqual(p.code, 0, p.out)
    t.assertIn("create: connection refused", lines(p.out))
    t.assertEqual(lines(p.out)[-1], "cache: a=u1 c=u3 last=u9")
    t.assertEqual((ways_in(p), p.asked()[-1]), (1, ("WATCH", "110", 200)))
    t.assertEqual(p.rows("SELECT 1 FROM requests WHERE method = 'POST'"), [])


def go_sees_another(t, p):
    """An update with another UID, never a deletion of a; what only went is an OnDelete(DeletedFinalStateUnknown)."""
    out = lines(p.out)
    t.assertEqual(p.code, 0, p.out)
    t.assertIn("OnUpdate a u1->u2 100->200", out)
    t.assertFalse([line for line in out if line.startswith(("OnDelete", "OnAdd a")) and " a " in line], p.out)
    t.assertIn("OnDelete(DeletedFinalStateUnknown) gone u5 101", out)
    t.assertEqual(out[-1], "cache: a=u2 last=u9")
    t.assertGreater(ways_in(p), 1, p.asked())


def go_sees_all(t, p):
    out = lines(p.out)
    t.assertEqual(p.code, 0, p.out)
    t.assertEqual([line for line in out if line.startswith(("OnAdd", "OnDelete"))],
        ["OnDelete a u1 180", "OnDelete gone u5 190", "OnAdd a u2 200", "OnAdd last u9 310"])
    t.assertEqual(ways_in(p), 1, p.asked())


@act("S5", "Go: control: a server that tells of the new one only", go("informer"), tape="recreated", gaps="S5-untold")
def go_sees_another_untold(t, p):
    t.assertIn("OnUpdate a u1->u2 100->200", lines(p.out))
    t.assertNotIn("OnDelete a", p.out)


@act("S5", "Go: a RetryWatcher passes the 410 on and stops for ever", go("retrywatcher"), tape="recreated", gaps="S5")
def go_stops(t, p):
    t.assertEqual((p.code, lines(p.out)), (0, ["MODIFIED a u1 100", "MODIFIED gone u5 101", "ERROR 410 Expired", "stopped for ever"]))


@act("S5", "Go: control: with its history kept, a RetryWatcher goes on", go("retrywatcher"), tape="recreated", gaps="S5-kept")
def go_retries(t, p):
    t.assertEqual([line.split()[-1] for line in lines(p.out)], ["100", "101", "180", "190", "200", "310", "ever"])


S5_GO = [
    ("Go: an informer is told of an update", "S5", HTTP1, go_sees_another), ("Go: an informer is told of an update", "S5", HTTP2, go_sees_another),
    ("Go: control: with its history kept, of everything", "S5-kept", HTTP1, go_sees_all),
    ("Go: control: with its history kept, of everything", "S5-kept", HTTP2, go_sees_all),
    # From here on no history is lost at all. Over HTTP/2 the informer lists again all the same.
    ("Go: one stream is reset", "S5-rst-stream", HTTP1, go_sees_all), ("Go: one stream is reset", "S5-rst-stream", HTTP2, go_sees_another),
    ("Go: silence", "S5-silence", HTTP1, go_sees_all), ("Go: silence", "S5-silence", HTTP2, go_sees_another)]
for title, gaps, protocol, check in S5_GO:
    for mode, env in ((", classic list", CLASSIC), (", streaming list", STREAMING)):
        http = ", HTTP/1.1" if protocol is HTTP1 else ", HTTP/2"
        act("S5", title + http + mode, go("informer"), tape="recreated", gaps=gaps, protocol=protocol, env={**env, **IMPATIENT})(check)


@act("S5", "Go: after a 410 an informer lists at its last version, without a limit", go("informer"), tape="recreated", gaps="S5", env=CLASSIC)
def go_lists_at_last(t, p):
    t.assertEqual(paths(p)[2:4], ["/api/v1/pods?allowWatchBookmarks=true&resourceVersion=101&watch=true", "/api/v1/pods?resourceVersion=101"])


for name, message in ERRORS.items():
    act(name, "Go: an informer lists again and misses the recreation", go("informer"), tape="recreated", gaps=name)(go_sees_another)


# ---- 004: writes, older views, and what comes late ----

# The program has told of each event before the next one comes.
IN_STEP = ("--lockstep", "50ms")


def posts(p):
    return [row["status"] for row in p.rows("SELECT status FROM writes WHERE resource = 'configmaps' ORDER BY write")]


@act("004-done", "Go: a create waits as long as a 429 says, and is repeated", go("shutdown"), gaps="004-busy")
def go_waits_and_creates(t, p):
    t.assertEqual((p.code, lines(p.out)[-1], posts(p)), (0, "created", [429, 201]), p.err)


for word in ("write_error=504", "write_reset"):
    @act("004-done", f"Go: a create is not repeated after {word}, although it was done", go("shutdown"),
        options=("--gap", f"#1,0s,{word},after,write=create configmaps"))
    def go_does_not_repeat(t, p):
        t.assertEqual((p.code, len(posts(p))), (1, 1), p.out)
        t.assertNotIn("created", lines(p.out))


@act("004-done", "Go: a create waits for an answer that comes late", go("shutdown"), options=("--gap", "#1,0s,write_late=1s,write=create configmaps"))
def go_waits_for_the_answer(t, p):
    t.assertEqual((p.code, lines(p.out)[-1], posts(p)), (0, "created", [201]), p.err)


@act("004-restart", "Go: an informer's next life is told of no deletion that passed in between", go("informer"),
    options=(*IN_STEP, "--gap", "#1,2ev,restart,event=type='DELETED'"))
def go_begins_anew(t, p):
    t.assertEqual(p.code, 0, p.out + p.err)
    t.assertEqual(lines(p.out)[-1], "cache: a=u1 c=u3 last=u9")
    t.assertEqual(lines(p.out).count("synchronised"), 2)
    t.assertNotIn("OnDelete", p.out)


@act("004-view", "Go: an informer's next life believes an older list, and is told of the deletion again", go("informer"), gaps="004-view", env=CLASSIC,
    options=IN_STEP)
def go_believes(t, p):
    second = lines(p.out)[lines(p.out).index("synchronised") + 1:]
    second = second[next(i for i, line in enumerate(second) if line.startswith("initial")):]
    t.assertEqual(second[:2], ["initial a u1 100", "initial b u2 91"])
    t.assertIn("OnDelete b u2 120", lines(p.out)[:-len(second)])
    t.assertIn("OnDelete b u2 120", second)
    t.assertEqual(second[-1], "cache: a=u1 c=u3 last=u9")


@act("004-view", "Go: a streaming list is not old", go("informer"), gaps="004-view", env=STREAMING, options=(*IN_STEP, "--lenient"))
def go_sees_what_is(t, p):
    t.assertEqual(lines(p.out).count("OnDelete b u2 120"), 1)
    t.assertEqual(lines(p.out)[-1], "cache: a=u1 c=u3 last=u9")


@act("004-burst", "Go: an informer is told of each event that was kept back", go("informer"), env=CLASSIC,
    options=("--gap", "#1,3ev,burst,pods,event=type='MODIFIED'"))
def go_is_told_of_each(t, p):
    t.assertIn("OnDelete b u2 120", p.out)
    t.assertEqual((lines(p.out)[-1], len(p.asked())), ("cache: a=u1 c=u3 last=u9", 2))


@act("004-slow", "Go: an informer waits for a slow list, and asks once", go("informer"), env=CLASSIC, options=("--gap", "+0s,1h,slow=1s,wall,pods"))
def go_waits_for_the_list(t, p):
    t.assertEqual([one[0] for one in p.asked()], ["LIST", "WATCH"])
    t.assertGreaterEqual(p.rows("SELECT duration_ns FROM requests WHERE verb = 'list'")[0]["duration_ns"], 1_000_000_000)


# ---- leases and discovery ----

def go_leads(t, p):
    t.assertEqual((p.code, sorted(lines(p.out))), (0, ["a stale version is a conflict: true", "leader: me"]), p.err)
    asked = [(row["method"], row["status"]) for row in p.rows("SELECT method, status FROM requests WHERE resource = 'leases' ORDER BY request")]
    t.assertEqual(asked[:2], [("GET", 404), ("POST", 201)])
    t.assertEqual(asked[-3:], [("GET", 200), ("PUT", 200), ("PUT", 409)])
    t.assertEqual(set(asked[2:-3]), {("PUT", 200)})


act("leader", "Go: a leader is elected, renews at the version it was given, and not at another", go("lead"))(go_leads)
act("leader", "Go: the recorded holder is in nobody's way", go("lead"), tape="held", options=("--wait-watchers", "0"))(go_leads)


def discovery_paths(p):
    return sorted(row["path"] for row in p.rows("SELECT path FROM requests WHERE path LIKE '/api%' AND resource IS NULL"))


@act("discovery", "Go: two requests tell everything", go("discover"), tape="held")
def go_discovers(t, p):
    t.assertEqual((p.code, lines(p.out)), (0, ["pods v1 Pod", "groups: true"]), p.err)
    t.assertEqual([path.partition("?")[0] for path in discovery_paths(p)], ["/api", "/apis"])


@act("discovery", "Go: the old way asks for each group's version", go("discover", "legacy"), tape="held")
def go_discovers_legacy(t, p):
    t.assertEqual((p.code, lines(p.out)), (0, ["pods v1 Pod", "groups: true"]), p.err)
    t.assertLessEqual({"/api", "/apis", "/api/v1", "/apis/coordination.k8s.io/v1"}, {path.partition("?")[0] for path in discovery_paths(p)})


@act("discovery", "Go: a server without the core group has the others", go("discover", "legacy"), tape="no-core")
def go_discovers_others(t, p):
    t.assertEqual((p.code, lines(p.out)), (0, ["groups: true"]), p.err)
    t.assertEqual(p.rows("SELECT status FROM requests WHERE path LIKE '/api?%'"), [{"status": 404}])


@act("discovery", "Go: a server without any groups is an error", go("discover", "legacy"), gaps="discovery")
def go_discovers_nothing(t, p):
    t.assertEqual((p.code, p.out), (1, ""))
    t.assertIn("scenarios: the server could not find the requested resource", p.err)


# ---- JavaScript ----

IN_A_FRAME = ("--gap", "#1,0s,cut=40,pods,event=type='DELETED'")


@act("000-b", "JavaScript: an informer that was cut off in a frame tells of an error and asks no more", javascript(), options=IN_A_FRAME)
def js_stops(t, p):
    t.assertEqual((p.code, lines(p.out)[-1]), (0, "error"), p.err)
    t.assertEqual([one[0] for one in p.asked()], ["LIST", "WATCH"])


@act("000-b", "JavaScript: an informer that is started again goes on", javascript("again"), options=IN_A_FRAME)
def js_goes_on(t, p):
    t.assertEqual((p.code, lines(p.out)[-1]), (0, "add last"), p.err)
    t.assertEqual([one[0] for one in p.asked()].count("WATCH"), 2)


@act("004-view", "JavaScript: an informer's next life lists without a version, and sees what is", javascript(), gaps="004-view", options=("--lenient",))
def js_sees_what_is(t, p):
    out = lines(p.out)
    t.assertEqual((p.code, out[-3:]), (0, ["add a", "add c", "add last"]), p.err)


@act("004-slow", "JavaScript: an informer waits for a slow list, and asks once", javascript(), options=("--gap", "+0s,1h,slow=1s,wall,pods"))
def js_waits_for_the_list(t, p):
    t.assertEqual((p.code, [one[0] for one in p.asked()]), (0, ["LIST", "WATCH"]), p.err)
