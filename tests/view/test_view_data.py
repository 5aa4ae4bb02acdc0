"""What `kubetape view` answers, held against SQL over the same tape; who may ask; hostile tapes."""
import json
import os
import socket
import subprocess
import threading
import time

from viewing import View
from audit_log import request, write_log
from tapes import MAKE_TAPE, NODES, PODS, SECOND, START, TapeTest, event, lines_of, pod

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ROLLING = os.path.join(ROOT, "tests/tapes/rolling-update.tape")
GAPS = os.path.join(ROOT, "tests/tapes/watch-gaps.tape")
EVENTS = {"version": "v1", "resource": "events", "kind": "Event", "namespaced": True}


def running(name, uid, rv, **more):
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}], **more}
    return pod(name, uid, rv, status=status)


def warning(name, about, rv):
    return {"kind": "Event", "apiVersion": "v1", "metadata": {"name": name, "namespace": "shop", "uid": name, "resourceVersion": str(rv)},
            "type": "Warning", "reason": "BackOff", "message": "no", "involvedObject": {"kind": "Pod", "apiVersion": "v1", "namespace": "shop", "name": about}}


class Bundled(TapeTest):
    """The recordings that come with the project."""

    def test_the_strip_counts_every_event_of_every_resource(self):
        self.tape = ROLLING
        rows = {(r["resource"], r["apigroup"]): r["n"] for r in self.query("SELECT resource, apigroup, count(*) AS n FROM events GROUP BY 1, 2")}
        with View(ROLLING) as view:
            names = {r["id"]: (r["resource"], r["group"]) for r in view.whole()["resources"]}
            strip = view.ask("density")["resources"]
        self.assertEqual({names[r["id"]]: sum(r["counts"]) for r in strip}, rows)
        self.assertEqual({names[r["id"]]: r["events"] for r in strip}, rows)

    def test_there_is_a_lane_for_every_object_but_events_and_each_has_its_events(self):
        self.tape = ROLLING
        rows = self.query("SELECT resource || iif(apigroup = '', '', '.' || apigroup) || '/' || coalesce(namespace, '') || '/' || name AS key, "
                          "count(*) AS n, count(DISTINCT uid) AS lives FROM events WHERE resource <> 'events' GROUP BY 1")
        with View(ROLLING) as view:
            lanes = [lane for lane in view.lanes() if lane["type"] == "object" and lane["events"]]
        self.assertEqual({lane["key"]: lane["life_count"] for lane in lanes}, {r["key"]: r["lives"] for r in rows})
        self.assertEqual({lane["key"]: lane["events"] for lane in lanes}, {r["key"]: r["n"] for r in rows})

    def test_what_was_made_again_under_its_name_is_marked_once_and_has_both_uids(self):
        with View(ROLLING) as view:
            lanes = {lane["key"]: lane for lane in view.lanes() if lane["type"] == "object"}
            found = next(k for k in view.ask("notable")["kinds"] if k["note"] == "recreated")
        marked = {key for key, lane in lanes.items() if any(m[1] == "recreated" for m in lane["marks"])}
        self.assertEqual(marked, {"configmaps/shop/settings", "pods/shop/lonely"})
        self.assertEqual([life[1][:8] for life in lanes["pods/shop/lonely"]["lives"]], ["e6a81ef7", "de791674"])
        self.assertEqual({item["key"] for item in found["items"]}, marked)

    def test_pods_stand_below_the_replica_sets_that_own_them(self):
        with View(ROLLING) as view:
            path, owners = [], {}
            for lane in view.lanes():
                path = path[:lane["depth"]] + [lane.get("name")]
                owners[lane["key"]] = path[1:-1]
        self.assertEqual(owners["pods/shop/web-585f66c874-nbzft"], ["web", "web-585f66c874"])
        self.assertEqual(owners["pods/shop/lonely"], [])

    def test_the_step_line_ends_with_the_replicas_that_the_tape_ends_with(self):
        self.tape = ROLLING
        row = self.query("SELECT jget(object, '$.spec.replicas') AS w, jget(object, '$.status.readyReplicas') AS r FROM objects WHERE resource = 'deployments' AND name = 'web'")[0]
        with View(ROLLING) as view:
            web = next(lane for lane in view.lanes() if lane["key"] == "deployments.apps/shop/web")
        self.assertEqual(web["steps"][-1][1:], [row["w"], row["r"]])

    def test_gaps_and_what_they_hid_are_those_of_the_tables(self):
        self.tape = GAPS
        rows = self.query("SELECT gap, reason, recreated FROM gaps ORDER BY gap")
        with View(GAPS) as view:
            answer = view.ask("gaps", **view.window())
            missed = [m for lane in view.lanes() for m in lane["marks"] if m[1] in ("missed", "recreated")]
        self.assertEqual(sorted((int(g["gap"]), g["reason"], g["recreated"]) for g in answer["gaps"]), [(r["gap"], r["reason"], r["recreated"]) for r in rows])
        self.assertTrue(missed)

    def test_writers_count_the_events_that_sql_counts(self):
        self.tape = ROLLING
        rows = self.query("SELECT coalesce(manager, '(no manager)') AS name, count(DISTINCT seq) AS n FROM changes WHERE type = 'MODIFIED' GROUP BY 1")
        with View(ROLLING) as view:
            while (answer := view.ask("writers"))["share"] < 1:
                time.sleep(0.01)
            kept = view.ask("lanes", **view.window(), count=2000, writer="kubectl-set")["lanes"]
        self.assertEqual({w["name"]: w["events"] for w in answer["writers"]}, {r["name"]: r["n"] for r in rows})
        self.assertEqual({w["name"]: sum(w["counts"]) for w in answer["writers"]}, {r["name"]: r["n"] for r in rows})
        self.assertEqual([lane["key"] for lane in kept if lane["type"] == "object"], ["deployments.apps/shop/web"])

    def test_the_state_is_the_table_that_get_prints(self):
        printed = self.run_tape("get", ROLLING, "pods", "-n", "shop", "--at", "09:51:40", "-o", "wide").stdout.splitlines()[1:]
        with View(ROLLING) as view:
            at = view.ask("position", at="09:51:40")
            rows = view.ask("state", resource="pods", time=at["time_ns"])["rows"]
        self.assertEqual([" ".join(map(str, r[4:])).split() for r in rows if r[0] == "shop"], [line.split() for line in printed])

    def test_from_change_to_change_there_and_back_every_event_of_an_object_is_visited(self):
        self.tape = ROLLING
        seqs = [str(r["seq"]) for r in self.query("SELECT seq FROM events WHERE resource = 'pods' AND name = 'lonely' ORDER BY seq")]
        with View(ROLLING) as view:
            view.whole()
            there, seq = [], seqs[0]
            while seq != "0":
                there.append(seq)
                seq = view.ask("object", key="pods/shop/lonely", seq=seq, brief=1)["after"]
            back, seq = [], seqs[-1]
            while seq != "0":
                back.append(seq)
                seq = view.ask("object", key="pods/shop/lonely", seq=seq, brief=1)["before"]
        self.assertEqual((there, back), (seqs, seqs[::-1]))

    def test_an_object_comes_byte_for_byte_and_its_changes_name_their_writers(self):
        self.tape = ROLLING
        row = self.query("SELECT seq, object FROM events WHERE resource = 'deployments' AND name = 'web' ORDER BY seq LIMIT 1 OFFSET 3")[0]
        changes = self.query(f"SELECT path, manager FROM changes WHERE seq = {row['seq']}")
        with View(ROLLING) as view:
            view.whole()
            answer = view.ask("object", key="deployments.apps/shop/web", seq=row["seq"])
            told = view.ask("changes", key="deployments.apps/shop/web", after=row["seq"] - 1, until=row["seq"])["changes"]["rows"]
        self.assertEqual(json.loads(answer["object"]), row["object"] if isinstance(row["object"], dict) else json.loads(row["object"]))
        self.assertEqual([[r[3], r[7]] for r in told], [[c["path"], c["manager"]] for c in changes])


class Audited(TapeTest):
    rows = [event(0, "ADDED", running("a", "a1", 1)), event(1, "MODIFIED", running("a", "a1", 2, x="1")), event(2, "MODIFIED", running("a", "a1", 3, x="2"))]

    def test_a_change_names_who_asked_for_it_as_far_as_the_audit_log_was_joined(self):
        log = write_log(os.path.join(self.dir, "audit.log"), [request("update", self.rows[1]["object"], 0.9, user="alice", agent="curl/8")])
        self.assertEqual(self.run_tape("audit", self.tape, log).returncode, 0)
        with View(self.tape) as view:
            view.whole()
            told = [view.ask("event", seq=seq)["changes"]["rows"][0][8:] for seq in (2, 3)]
        self.assertEqual(told, [["alice", "curl/8"], [None, None]])


class Small(TapeTest):
    rows = [
        event(0, "ADDED", running("a", "a1", 1), origin="list"),
        event(1, "MODIFIED", running("a", "a1", 2, containerStatuses=[{"name": "c", "restartCount": 1, "lastState": {"terminated": {"reason": "OOMKilled"}}}])),
        event(2, "MODIFIED", running("a", "a1", 3, containerStatuses=[{"name": "c", "restartCount": 2, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}])),
        event(3, "ADDED", warning("w", "a", 4), EVENTS),
        event(4, "DELETED", running("a", "a1", 5)),
        event(5, "ADDED", running("a", "a2", 6)),
        event(6, "ADDED", {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n", "uid": "n", "resourceVersion": "7"}}, NODES),
    ]

    def lane(self, view, key="pods/shop/a"):
        return next(lane for lane in view.lanes() if lane["key"] == key)

    def test_a_lane_shows_states_and_what_happened_in_the_order_of_time(self):
        with View(self.tape) as view:
            states = view.whole()["states"]
            lane = self.lane(view)
        self.assertEqual([m[1] for m in lane["marks"]], ["added", "oom", "restart", "warning", "deleted", "recreated"])
        self.assertEqual([states[b[2]] for b in lane["bars"]], ["Ready", "CrashLoop", "Ready"])

    def test_two_lives_in_one_extent_stand_in_the_order_of_time_whatever_their_uids(self):
        rows = [event(0, "ADDED", running("b", "z", 1)), event(1, "DELETED", running("b", "z", 2)), event(2, "ADDED", running("b", "a", 3))]
        path = os.path.join(self.dir, "lives.tape")
        self.make_tape(path, rows)
        with View(path) as view:
            lane = self.lane(view, "pods/shop/b")
        self.assertEqual([life[1] for life in lane["lives"]], ["z", "a"])
        self.assertEqual([m[1] for m in lane["marks"]], ["added", "deleted", "recreated"])

    def test_a_window_is_told_in_its_own_pixels(self):
        with View(self.tape) as view:
            view.whole()
            lane = view.ask("lanes", **{"from": START, "to": START + 10 * SECOND, "width": 100, "count": 100, "all": 1})["lanes"]
            marks = [m[:2] for m in next(one for one in lane if one["key"] == "pods/shop/a")["marks"]]
        self.assertEqual(marks, [[0, "added"], [10, "oom"], [20, "restart"], [30, "warning"], [40, "deleted"], [50, "recreated"]])

    def test_what_shares_a_pixel_is_told_as_what_matters_most(self):
        with View(self.tape) as view:
            view.whole()
            lanes = view.ask("lanes", **{"from": START - 1, "to": START + 1000 * SECOND, "width": 1, "count": 100, "all": 1})["lanes"]
        self.assertEqual([m[1] for one in lanes if one["key"] == "pods/shop/a" for m in one["marks"]], ["oom"])

    def test_a_filter_shows_what_matches_and_what_it_stands_below(self):
        with View(self.tape) as view:
            lanes = view.ask("lanes", **view.window(), count=100, filter="NODES/")["lanes"]
        self.assertEqual([lane["label"] for lane in lanes], ["(cluster)", "n"])

    def test_a_tape_that_is_being_written_is_followed(self):
        path = os.path.join(self.dir, "live.tape")
        with subprocess.Popen([MAKE_TAPE, path], stdin=subprocess.PIPE) as maker:
            maker.stdin.write(lines_of(self.rows[:3] + [{"flush": True}]).encode())
            maker.stdin.flush()
            while not os.path.exists(os.path.join(path, "open-000001.db")):
                time.sleep(0.01)
            with View(path) as view:
                view.until(lambda s: s["live"] and s["events"] == "3")
                maker.stdin.write(lines_of(self.rows[3:] + [{"flush": True}]).encode())
                maker.stdin.flush()
                view.until(lambda s: s["events"] == "7")
                view.until(lambda s: "recreated" in [m[1] for m in self.lane(view)["marks"]])
                maker.stdin.close()
                maker.wait(60)

    def test_objects_that_own_each_other_are_both_shown(self):
        owned = lambda name, by, rv: pod(name, name, rv, metadata={"ownerReferences": [{"kind": "Pod", "apiVersion": "v1", "name": by, "uid": by, "controller": True}]})
        path = os.path.join(self.dir, "ring.tape")
        self.make_tape(path, [event(0, "ADDED", owned("a", "b", 1)), event(1, "ADDED", owned("b", "c", 2)), event(2, "ADDED", owned("c", "a", 3)), event(3, "ADDED", owned("d", "d", 4))])
        with View(path) as view:
            self.assertEqual(sorted(lane["label"] for lane in view.lanes() if lane["type"] == "object"), ["a", "b", "c", "d"])

    def test_hostile_names_and_values_come_as_what_they_are(self):
        names = ["<img src=x onerror=alert(1)>", "\u202eevil", "\x1b[31mred", "a\"b\\c", "x" * 253, "../../etc", "a\nb", "%00%0a", "🦆"]
        path = os.path.join(self.dir, "hostile.tape")
        self.make_tape(path, [event(i, "ADDED", running(name, f"u{i}", i + 1)) for i, name in enumerate(names)])
        with View(path) as view:
            self.assertEqual(sorted(lane["name"] for lane in view.lanes() if lane["type"] == "object"), sorted(names))
            for name in names:
                self.assertEqual(view.ask("object", key=f"pods/shop/{name}")["name"], name)

    def test_twenty_thousand_objects_in_one_namespace_come_in_pages(self):
        path = os.path.join(self.dir, "many.tape")
        self.make_tape(path, [event(i / 1000, "ADDED", running(f"p-{i:05}", f"u{i}", i + 1)) for i in range(20000)])
        with View(path) as view:
            page = view.ask("lanes", **view.window(), first=15000, count=50, sort="name", toggled="n/shop")
        self.assertEqual((page["total"], len(page["lanes"])), (20001, 50))
        self.assertEqual(page["lanes"][0]["label"], "p-14999")

    def test_a_tape_without_events_can_be_looked_at(self):
        path = os.path.join(self.dir, "empty.tape")
        self.make_tape(path, [{"mark": "list", "time_ns": START, "stream": PODS, "rv": "1"}])
        with View(path) as view:
            self.assertEqual(view.ask("lanes", **{"from": 0, "to": 10, "count": 10})["total"], 0)
            self.assertEqual(view.ask("density")["resources"], [])
            self.assertEqual(view.whole()["events"], "0")


class Statements(TapeTest):
    rows = Small.rows

    def sql(self, view, text):
        status, _, body = view.request("/_kubetape/data/sql", "POST", text)
        return status, json.loads(body)

    def test_sql_answers_with_exact_numbers(self):
        with View(self.tape) as view:
            status, answer = self.sql(view, "SELECT 9007199254740993 AS big, count(*) AS n, NULL, 0.5, 'x' FROM events")
        self.assertEqual((status, answer["columns"][:2], answer["rows"]), (200, ["big", "n"], [["9007199254740993", 7, None, 0.5, "x"]]))

    def test_sql_can_only_read_and_says_what_it_does_not_understand(self):
        with View(self.tape) as view:
            for text in ("DELETE FROM events", "ATTACH 'x' AS y", "SELEC", "SELECT nothing FROM events"):
                status, answer = self.sql(view, text)
                self.assertEqual(status, 422, text)
                self.assertTrue(answer["error"])

    def test_a_long_statement_holds_nobody_up_and_can_be_stopped(self):
        endless = "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t"
        with View(self.tape) as view:
            found = []
            thread = threading.Thread(target=lambda: found.append(self.sql(view, endless)))
            thread.start()
            while not found:
                view.whole()
                view.request("/_kubetape/data/sql/cancel", "POST")
            thread.join()
        self.assertEqual(found[0][0], 408)

    def test_a_view_ends_while_a_statement_runs(self):
        with View(self.tape) as view:
            with socket.create_connection(("127.0.0.1", view.port)) as client:
                body = "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t"
                client.sendall(f"POST /_kubetape/data/sql HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {view.token}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
                view.whole()


class Access(TapeTest):
    rows = Small.rows

    def test_data_takes_the_token_and_pages_do_not(self):
        with View(self.tape) as view:
            self.assertEqual(view.request("/_kubetape/data/summary", token=False)[0], 401)
            self.assertEqual(view.request("/_kubetape/data/summary", token="x" * len(view.token))[0], 401)
            self.assertEqual(view.request(f"/_kubetape/data/summary?token={view.token}", token=False)[0], 200)
            for name in ("", "index.html", "app.js", "style.css"):
                self.assertEqual(view.request("/_kubetape/" + name, token=False)[0], 200, name)

    def test_another_host_or_site_is_refused_also_with_the_token(self):
        with View(self.tape) as view:
            self.assertEqual(view.request("/_kubetape/", Host="evil.example:80")[0], 421)
            self.assertEqual(view.request("/_kubetape/data/summary", Host="evil.example")[0], 421)
            self.assertEqual(view.request("/_kubetape/data/summary", Origin="http://evil.example")[0], 403)
            self.assertEqual(view.request("/_kubetape/data/summary", Sec_Fetch_Site="cross-site")[0], 403)
            self.assertEqual(view.request("/_kubetape/data/summary", Origin=f"http://127.0.0.1:{view.port}", Sec_Fetch_Site="same-origin")[0], 200)

    def test_the_page_may_load_nothing_from_elsewhere_and_is_small(self):
        with View(self.tape) as view:
            total = 0
            for name in ("", "app.js", "style.css"):
                _, headers, body = view.request("/_kubetape/" + name, Accept_Encoding="gzip")
                self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
                self.assertNotIn("unsafe", headers["Content-Security-Policy"])
                self.assertEqual((headers["Content-Encoding"], headers["X-Content-Type-Options"], headers["Referrer-Policy"]), ("gzip", "nosniff", "no-referrer"))
                total += len(body)
                self.assertNotIn(b"http://", view.request("/_kubetape/" + name)[2].replace(b"http://www.w3.org", b""))
        self.assertLessEqual(total, 100_000)

    def test_nonsense_gets_an_error_and_a_sentence(self):
        with View(self.tape) as view:
            for path, status in (("/", 404), ("/api", 404), ("/_kubetape/x", 404), ("/_kubetape/data/x", 404), ("/_kubetape/data/lanes", 400), ("/_kubetape/data/lanes?from=5&to=3", 400),
                                 ("/_kubetape/data/lanes?from=1&to=3&width=99999999", 400), ("/_kubetape/data/lanes?from=1&to=3&count=99999999", 400), ("/_kubetape/data/event?seq=99", 404),
                                 ("/_kubetape/data/object?key=x", 404), ("/_kubetape/data/changes?key=x", 400), ("/_kubetape/data/state?resource=x", 404), ("/_kubetape/data/position?at=x", 400),
                                 ("/_kubetape/data/desk", 404)):
                found, _, body = view.request(path)
                self.assertEqual((found, bool(json.loads(body)["error"])), (status, True), path)
            self.assertEqual(view.request("/_kubetape/data/lanes", "POST", "x")[0], 405)
            self.assertEqual(view.request("/_kubetape/", "DELETE")[0], 405)

    def test_what_is_no_tape_is_refused_before_anything_is_printed(self):
        self.assert_fails(self.run_tape("view", os.path.join(self.dir, "none.tape")), 1, "none.tape")
        self.assert_fails(self.run_tape("view", self.tape, "--port", "99999"), 2, "bad port 99999")
