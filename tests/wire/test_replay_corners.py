"""Corners of LIST and WATCH that clients run into: what contradicts itself, what is empty, what ends."""

import http.client
import json
import signal
import unittest

from replays import DEADLINE_S, EVENTS, NODES, PODS, TABLE, WIDGETS, Case, Tape, brief, obj
from waiting import wait_for

STREAMING = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"


def two_namespaces():
    """Pods a (default) and b (x) are listed at 20; a changes at 21, then b at 30."""
    return (Tape().listed(PODS, 20, [obj(PODS, "a", 5), obj(PODS, "b", 6, namespace="x")]).listed(NODES, 20, [])
        .event(1, PODS, "MODIFIED", obj(PODS, "a", 21)).event(1, PODS, "MODIFIED", obj(PODS, "b", 30, namespace="x")))


class RefusalTest(Case):
    def setUp(self):
        super().setUp()
        self.r = self.replay(two_namespaces().listed(WIDGETS, 20, []))

    def check(self, query, code, message, path="/api/v1/pods?"):
        status, answer = self.r.get(path + query)
        self.assertEqual((status, answer["kind"], answer["code"]), (code, "Status", code), query)
        self.assertIn(message, json.dumps(answer), query)

    def test_list_options_that_contradict_each_other_are_422_with_one_cause_each(self):
        for query in ("resourceVersionMatch=Exact&resourceVersion=0", "resourceVersionMatch=Newest&resourceVersion=20",
                "resourceVersionMatch=Exact", "sendInitialEvents=true", "sendInitialEvents=false",
                "resourceVersionMatch=NotOlderThan&resourceVersion=20&continue=x"):
            status, answer = self.r.get("/api/v1/pods?" + query)
            self.assertEqual((status, answer["reason"], answer["details"]["kind"]), (422, "Invalid", "ListOptions"), query)
            self.assertGreaterEqual(len(answer["details"]["causes"]), 1)

    def test_watch_options_that_contradict_each_other_are_422_before_any_stream(self):
        for query in ("sendInitialEvents=true", "resourceVersionMatch=NotOlderThan",
                "sendInitialEvents=true&resourceVersionMatch=Exact&resourceVersion=20"):
            self.check("watch=1&" + query, 422, "ListOptions")

    def test_numbers_that_are_none_are_400_and_other_empty_parameters_count_as_absent(self):
        for watch in ("", "watch=1&timeoutSeconds=-1&"):
            for query in ("limit=x", "limit="):
                self.check(watch + query, 400, "strconv.ParseInt")
        self.check("timeoutSeconds=", 400, "strconv.ParseInt")
        self.check("timeoutSeconds=soon", 400, "strconv.ParseInt")
        self.assertEqual(self.r.get("/api/v1/pods?resourceVersion=&continue=&labelSelector=&fieldSelector=&timeout="
            "&resourceVersionMatch=")[0], 200)

    def test_selectors_that_cannot_be_read_are_400_for_lists_and_watches(self):
        for watch in ("", "watch=1&"):
            self.check(watch + "labelSelector=a%3Db,", 400, "BadRequest")
            self.check(watch + "labelSelector=a+in", 400, "BadRequest")
            self.check(watch + "fieldSelector=metadata.name", 400, "BadRequest")
            self.check(watch + "fieldSelector=spec.color%3Dred", 400, "field label not supported: spec.color")
        self.check("fieldSelector=spec.color%3Dred", 400, "field label not supported", "/apis/example.com/v1/widgets?")

    def test_watch_in_a_form_that_does_not_exist_is_406_before_any_stream(self):
        for accept in ("text/html", "application/json;as=Table;v=v1alpha1;g=meta.k8s.io"):
            status, answer = self.r.get("/api/v1/pods?watch=1", accept=accept)
            self.assertEqual((status, answer["reason"]), (406, "NotAcceptable"))
        status, _, body = self.r.request("GET", "/api/v1/pods?watch=1", {"Accept": "application/yaml"})
        self.assertEqual(status, 406)
        self.assertEqual(body.decode(), """apiVersion: v1
code: 406
kind: Status
message: 'only the following media types are accepted: application/json;stream=watch,
  application/vnd.kubernetes.protobuf;stream=watch'
metadata: {}
reason: NotAcceptable
status: Failure
""")
        with self.r.watch("/api/v1/pods?watch=1&resourceVersion=0", accept="application/yaml,application/json;q=0.5") as w:
            self.assertEqual(w.headers["Content-Type"], "application/json")

    def test_tokens_of_another_make_are_400(self):
        # {"v":"meta.k8s.io/v2","rv":20,"start":"/a"} and {"v":"meta.k8s.io/v1","rv":20,"start":"/../../x"}
        for token in ("eyJ2IjoibWV0YS5rOHMuaW8vdjIiLCJydiI6MjAsInN0YXJ0IjoiL2EifQ",
                "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MjAsInN0YXJ0IjoiLy4uLy4uL3gifQ", "%21%21", "bm9uc2Vuc2U"):
            self.check("limit=1&continue=" + token, 400, "continue")


class AbsentTest(Case):
    """What the cluster had and the recording has nothing of."""

    RESOURCES = {"kind": "APIResourceList", "groupVersion": "v1", "resources": [
        {"name": "pods", "namespaced": True, "kind": "Pod", "verbs": ["get", "list", "watch"]},
        {"name": "nodes", "namespaced": False, "kind": "Node", "verbs": ["get", "list", "watch"]},
        {"name": "bindings", "namespaced": True, "kind": "Binding", "verbs": ["create"]}]}
    WIDGETS = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "example.com/v1", "resources": [
        {"name": "widgets", "namespaced": True, "kind": "Widget", "verbs": ["get", "list", "watch"]}]}

    def recording(self):
        return (Tape().document("/apis", json.dumps({"kind": "APIGroupList", "groups": []}))
            .document("/api/v1", json.dumps(self.RESOURCES, separators=(",", ":"))).document("/apis/example.com/v1", json.dumps(self.WIDGETS))
            .listed(PODS, 20, [obj(PODS, "a", 5)]).event(1, PODS, "MODIFIED", obj(PODS, "a", 30)))

    def test_resources_that_discovery_names_are_empty_and_watched_in_silence(self):
        r = self.replay(self.recording(), "--wait-watchers", "9")
        for path, kind in (("/api/v1/nodes", "NodeList"), ("/apis/example.com/v1/namespaces/x/widgets", "WidgetList")):
            status, answer = r.get(path)
            self.assertEqual((status, answer["kind"], answer["items"]), (200, kind, []))
            self.assertEqual(answer["metadata"]["resourceVersion"], "20")
            with r.watch(path + "?watch=1&resourceVersion=20&allowWatchBookmarks=1&timeoutSeconds=1") as w:
                self.assertTrue(all(e["type"] == "BOOKMARK" for e in w.rest()))
            with r.watch(path + "?watch=1&" + STREAMING) as w:
                self.assertEqual([brief(e) for e in w.take(1)], [("BOOKMARK", "", "20")])
        status, answer = r.get("/api/v1/nodes/none")
        self.assertEqual((status, answer["message"]), (404, 'nodes "none" not found'))

    def test_their_version_is_that_of_the_position_also_behind_seeks(self):
        r = self.replay(self.recording(), "--wait-watchers", "9")
        self.assertEqual(r.get("/api/v1/nodes")[1]["metadata"]["resourceVersion"], "20")
        for to, version in (("end", "30"), ("start", "20")):
            self.assertEqual(r.request("POST", "/kubetape/v1/seek?to=" + to)[0], 200)
            self.assertEqual(r.get("/api/v1/nodes")[1]["metadata"]["resourceVersion"], version)

    def test_what_discovery_does_not_name_or_only_creates_is_refused(self):
        r = self.replay(self.recording())
        self.assertEqual(r.get("/api/v1/secrets")[0], 404)
        self.assertEqual(r.get("/api/v1/namespaces/x/nodes")[0], 404)
        self.assertEqual(r.get("/api/v1/namespaces/x/bindings")[0], 405)

    def test_without_recorded_discovery_what_every_cluster_has_is_empty(self):
        r = self.replay(Tape().listed(PODS, 20, []))
        self.assertEqual(r.get("/api/v1/secrets")[1]["items"], [])
        self.assertEqual(r.request("GET", "/apis/example.com/v1/widgets")[0], 404)


def flow_control(resource, kind):
    return {"group": "flowcontrol.apiserver.k8s.io", "version": "v1", "resource": resource, "kind": kind, "namespaced": False}


class FlowControlTest(Case):
    SCHEMA, LEVEL = ("c0de0000-1111-4222-8333-44445555666%d" % n for n in (1, 2))

    def told(self, r, method, path, **more):
        _, headers, _ = r.request(method, path, **more)
        return headers.get("X-Kubernetes-Pf-Flowschema-Uid"), headers.get("X-Kubernetes-Pf-Prioritylevel-Uid")

    def recorded(self):
        tape = two_namespaces()
        for stream, uid in ((flow_control("flowschemas", "FlowSchema"), self.SCHEMA),
                (flow_control("prioritylevelconfigurations", "PriorityLevelConfiguration"), self.LEVEL)):
            tape.listed(stream, 20, [obj(stream, "catch-all", 5), obj(stream, "exempt", 6, uid=uid)])
        return self.replay(tape)

    def test_answers_bear_the_uids_of_the_recorded_rule(self):
        r = self.recorded()
        for method, path in (("GET", "/api/v1/pods"), ("GET", "/api/v1/pods?limit=x"), ("GET", "/version"), ("GET", "/healthz"),
                ("GET", "/nothing"), ("HEAD", "/api/v1/pods"), ("DELETE", "/api/v1/namespaces/default/pods/missing")):
            self.assertEqual(self.told(r, method, path), (self.SCHEMA, self.LEVEL), path)
        with r.watch("/api/v1/pods?watch=1&resourceVersion=20") as w:
            self.assertEqual(w.headers["X-Kubernetes-Pf-Flowschema-Uid"], self.SCHEMA)

    def test_requests_that_flow_control_does_not_see_have_none(self):
        r = self.recorded()
        for method, path in (("GET", "/api/v1/namespaces/default/pods/a/log"), ("GET", "/kubetape/v1/status"),
                ("POST", "/api/v1/namespaces/default/pods/a/exec"), ("GET", "/api/v1/pods?timeout=soon")):
            self.assertEqual(self.told(r, method, path), (None, None), path)

    def test_without_a_recorded_rule_all_replays_tell_the_same(self):
        told = {self.told(self.replay(two_namespaces()), "GET", "/api/v1/pods") for _ in range(2)}
        self.assertEqual(len(told), 1)
        self.assertNotIn(None, told.pop())


class BodyTest(Case):
    def test_large_bodies_are_sent_as_they_are_also_to_those_who_would_take_gzip(self):
        things = [obj(PODS, "p%04d" % i, i + 1, spec={"x": "y" * 300}) for i in range(1000)]
        r = self.replay(Tape().listed(PODS, 2000, things))
        plain = r.request("GET", "/api/v1/pods")[2]
        self.assertGreater(len(plain), 256 << 10)
        for accept in ("gzip", "gzip, deflate", "*"):
            _, headers, body = r.request("GET", "/api/v1/pods", {"Accept-Encoding": accept})
            self.assertIsNone(headers["Content-Encoding"])
            self.assertEqual(body, plain)

    def test_http_1_0_clients_get_the_body_up_to_the_end_of_the_connection(self):
        r = self.replay(two_namespaces())
        c = r.connect()
        c.connect()
        c.sock.sendall(b"GET /api/v1/pods HTTP/1.0\r\n\r\n")
        with c.sock.makefile("rb") as stream:
            head, _, body = stream.read().partition(b"\r\n\r\n")
        c.close()
        self.assertNotIn(b"chunked", head)
        self.assertEqual(json.loads(body)["kind"], "PodList")


class StreamTest(Case):
    def test_end_of_a_streamed_namespace_has_the_version_of_the_whole_resource(self):
        r = self.replay(two_namespaces(), "--speed", "max")
        with r.watch("/api/v1/pods?watch=1&resourceVersion=20") as w:
            w.take(2)
        with r.watch("/api/v1/namespaces/default/pods?watch=1&" + STREAMING) as w:
            self.assertEqual([brief(e) for e in w.take(2)], [("ADDED", "a", "21"), ("BOOKMARK", "", "30")])
        with r.watch("/api/v1/pods?watch=1&fieldSelector=metadata.name%3Da&" + STREAMING) as w:
            self.assertEqual([brief(e) for e in w.take(2)], [("ADDED", "a", "21"), ("BOOKMARK", "", "30")])

    def test_streaming_list_from_below_the_window_is_the_whole_state(self):
        r = self.replay(two_namespaces())
        with r.watch("/api/v1/pods?watch=1&resourceVersion=1&" + STREAMING) as w:
            self.assertEqual([brief(e) for e in w.take(3)],
                [("ADDED", "a", "5"), ("ADDED", "b", "6"), ("BOOKMARK", "", "20")])

    def test_streaming_list_of_events_has_its_end_mark(self):
        r = self.replay(Tape().listed(EVENTS, 20, [obj(EVENTS, "e", 5)]))
        with r.watch("/api/v1/events?watch=1&" + STREAMING) as w:
            _, mark = w.take(2)
            self.assertEqual(mark["object"]["metadata"]["annotations"], {"k8s.io/initial-events-end": "true"})

    def test_table_of_a_streaming_list_ends_with_a_table_of_one_row(self):
        r = self.replay(two_namespaces())
        with r.watch("/api/v1/pods?watch=1&" + STREAMING, TABLE) as w:
            mark = w.take(3)[2]
            self.assertEqual((mark["type"], mark["object"]["kind"], len(mark["object"]["rows"])), ("BOOKMARK", "Table", 1))

    def test_bookmark_never_lies_below_what_was_sent_before_it(self):
        r = self.replay(two_namespaces(), "--speed", "max")
        with r.watch("/api/v1/namespaces/x/pods?watch=1&resourceVersion=20&timeoutSeconds=3&allowWatchBookmarks=1") as w:
            got = [brief(e) for e in w.rest()]
        self.assertEqual(got[0], ("MODIFIED", "b", "30"))
        self.assertTrue(got[1:])
        for kind, _, rv in got[1:]:
            self.assertEqual((kind, int(rv) >= 30), ("BOOKMARK", True))

    def test_bookmark_of_a_quiet_namespace_moves_with_the_others(self):
        r = self.replay(two_namespaces(), "--speed", "max")
        with r.watch("/api/v1/namespaces/none/pods?watch=1&resourceVersion=20&timeoutSeconds=3&allowWatchBookmarks=1") as w:
            mark = w.next()
        self.assertEqual(brief(mark), ("BOOKMARK", "", "30"))
        with r.watch("/api/v1/pods?watch=1&resourceVersion=30&timeoutSeconds=1") as w:
            self.assertEqual(w.rest(), [])

    def test_last_state_of_a_deletion_keeps_finalizers_and_the_time_it_was_asked_for(self):
        going = obj(PODS, "a", 21)
        going["metadata"].update(finalizers=["example.com/f"], deletionTimestamp="2027-01-15T08:00:00Z")
        gone = obj(PODS, "a", 22)
        gone["metadata"].update(finalizers=["example.com/f"], deletionTimestamp="2027-01-15T08:00:00Z")
        r = self.replay(Tape().listed(PODS, 20, [obj(PODS, "a", 5)]).event(1, PODS, "MODIFIED", going)
            .event(2, PODS, "DELETED", gone), "--speed", "max")
        with r.watch("/api/v1/pods?watch=1&resourceVersion=20") as w:
            self.assertEqual([e["object"] for e in w.take(2)], [going, gone])

    def test_closed_watches_are_let_go(self):
        r = self.replay(two_namespaces(), "--wait-watchers", "99")
        watches = [r.watch("/api/v1/pods?watch=1&resourceVersion=20") for _ in range(5)]
        self.assertEqual(r.get("/kubetape/v1/status")[1]["watches"], 5)
        for w in watches:
            w.close()
            w.response.close()
        wait_for(lambda: not r.get("/kubetape/v1/status")[1]["watches"], "the end of all watches")

    def test_a_server_that_is_stopped_says_no_error_to_its_watchers(self):
        r = self.replay(two_namespaces(), "--wait-watchers", "99")
        with r.watch("/api/v1/pods?watch=1&resourceVersion=20") as w:
            r.process.send_signal(signal.SIGTERM)
            try:
                self.assertEqual(w.response.read(), b"")
            except (http.client.IncompleteRead, ConnectionError) as e:
                self.assertEqual(getattr(e, "partial", b""), b"")
        self.assertEqual(r.process.wait(timeout=DEADLINE_S), 0)


if __name__ == "__main__":
    unittest.main()
