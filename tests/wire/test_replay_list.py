"""LIST and GET of a replay, as an API server answers them."""

import json
import subprocess
import unittest

from replays import (CONFIGMAPS, DEPLOYMENTS, EVENTS, NAMESPACES, NODES, PARTIAL, PARTIAL_LIST, PODS, TABLE, WIDGETS, Case,
    Tape, obj)


def names(answer):
    return [i["metadata"].get("namespace", "") + "/" + i["metadata"]["name"] for i in answer["items"]]


def some_pods():
    return [obj(PODS, "a", 5), obj(PODS, "b", 7, namespace="a-b"), obj(PODS, "b", 6, namespace="a"),
        obj(PODS, "z.9", 8, namespace="ab"), obj(PODS, "z-1", 9, namespace="ab")]


class ListTest(Case):
    def test_list_returns_all_objects_in_key_order_with_a_version_not_below_theirs(self):
        r = self.replay(Tape().listed(PODS, 20, some_pods()))
        status, answer = r.get("/api/v1/pods")
        self.assertEqual(status, 200)
        self.assertEqual(answer["kind"], "PodList")
        self.assertEqual(answer["apiVersion"], "v1")
        self.assertEqual(answer["metadata"], {"resourceVersion": "20"})
        self.assertEqual(names(answer), ["a-b/b", "a/b", "ab/z-1", "ab/z.9", "default/a"])

    def test_items_of_built_in_kinds_have_no_kind_and_otherwise_their_recorded_bytes(self):
        r = self.replay(Tape().listed(PODS, 20, [obj(PODS, "a", 5, spec={"x": 1.50, "y": "é<"})]))
        _, _, body = r.request("GET", "/api/v1/pods")
        self.assertEqual(body, b'{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"20"},"items":['
            b'{"metadata":{"name":"a","namespace":"default","uid":"uid-a","resourceVersion":"5",'
            b'"creationTimestamp":"2027-01-15T07:00:00Z"},"spec":{"x":1.5,"y":"\\u00e9<"}}]}\n')

    def test_list_of_a_custom_resource_has_its_keys_in_order_of_name(self):
        widget = {"apiVersion": "example.com/v1", "kind": "Widget",
            "metadata": {"name": "w", "namespace": "n", "resourceVersion": "3", "uid": "u"}}
        r = self.replay(Tape().listed(WIDGETS, 9, [widget]))
        _, _, body = r.request("GET", "/apis/example.com/v1/widgets")
        self.assertEqual(body.decode(), '{"apiVersion":"example.com/v1","items":[' +
            json.dumps(widget, separators=(",", ":")) +
            '],"kind":"WidgetList","metadata":{"continue":"","resourceVersion":"9"}}\n')

    def test_empty_list_has_items_and_a_version(self):
        r = self.replay(Tape().listed(PODS, 20, []))
        _, answer = r.get("/api/v1/pods")
        self.assertEqual(answer["items"], [])
        self.assertEqual(answer["metadata"]["resourceVersion"], "20")

    def test_namespaces_match_exactly_and_not_by_prefix(self):
        r = self.replay(Tape().listed(PODS, 20, some_pods()))
        self.assertEqual(names(r.get("/api/v1/namespaces/a/pods")[1]), ["a/b"])
        self.assertEqual(names(r.get("/api/v1/namespaces/ab/pods/")[1]), ["ab/z-1", "ab/z.9"])
        self.assertEqual(names(r.get("/api/v1/namespaces/none/pods")[1]), [])

    def test_cluster_scoped_resources_are_not_below_a_namespace(self):
        r = self.replay(Tape().listed(NODES, 20, [obj(NODES, "n1", 5)]).listed(PODS, 20, []))
        self.assertEqual(names(r.get("/api/v1/nodes")[1]), ["/n1"])
        self.assertEqual(r.get("/api/v1/namespaces/x/nodes")[0], 404)
        self.assertEqual(r.get("/api/v1/pods/name")[0], 404)

    def test_get_returns_the_object_as_recorded(self):
        thing = obj(PODS, "a", 5, spec={"x": 1})
        r = self.replay(Tape().listed(PODS, 20, [thing]).listed(NAMESPACES, 20, [obj(NAMESPACES, "default", 2)]))
        status, headers, body = r.request("GET", "/api/v1/namespaces/default/pods/a?watch=true")
        self.assertEqual(status, 200)
        self.assertEqual(headers["Content-Type"], "application/json")
        self.assertEqual(body.decode(), json.dumps(thing, separators=(",", ":")) + "\n")
        self.assertEqual(r.get("/api/v1/namespaces/default")[1]["kind"], "Namespace")
        self.assertEqual(r.get("/api/v1/namespaces/default/status")[1]["kind"], "Namespace")

    def test_missing_object_is_not_found_with_the_plural_as_kind(self):
        r = self.replay(Tape().listed(DEPLOYMENTS, 20, []))
        status, answer = r.get("/apis/apps/v1/namespaces/n/deployments/web")
        self.assertEqual(status, 404)
        self.assertEqual(answer["message"], 'deployments.apps "web" not found')
        self.assertEqual(answer["details"], {"name": "web", "group": "apps", "kind": "deployments"})

    def test_short_bodies_have_a_length_and_long_ones_come_in_chunks(self):
        many = [obj(PODS, "p%04d" % i, i + 1) for i in range(2000)]
        r = self.replay(Tape().listed(PODS, 3000, many).listed(NODES, 3000, []))
        _, headers, body = r.request("GET", "/api/v1/nodes")
        self.assertEqual(int(headers["Content-Length"]), len(body))
        _, headers, body = r.request("GET", "/api/v1/pods")
        self.assertEqual(headers["Transfer-Encoding"], "chunked")
        self.assertEqual(len(json.loads(body)["items"]), 2000)


class PagingTest(Case):
    def setUp(self):
        super().setUp()
        pods = [obj(PODS, n, 5) for n in "abcde"]
        self.r = self.replay(Tape().listed(PODS, 20, pods)
            .event(1, PODS, "DELETED", obj(PODS, "d", 25)).event(1, PODS, "ADDED", obj(PODS, "cc", 26))
            .event(1, PODS, "MODIFIED", obj(PODS, "e", 27)), "--speed", "max")

    def play(self):
        with self.r.watch("/api/v1/pods?watch=1&resourceVersion=20") as w:
            w.take(3)

    def test_pages_tell_how_many_remain(self):
        _, one = self.r.get("/api/v1/pods?limit=2")
        self.assertEqual(names(one), ["default/a", "default/b"])
        self.assertEqual(one["metadata"]["remainingItemCount"], 3)
        _, two = self.r.get("/api/v1/pods?limit=2&continue=" + one["metadata"]["continue"])
        self.assertEqual(names(two), ["default/c", "default/d"])
        self.assertEqual(two["metadata"]["remainingItemCount"], 1)
        _, three = self.r.get("/api/v1/pods?limit=2&continue=" + two["metadata"]["continue"])
        self.assertEqual(names(three), ["default/e"])
        self.assertEqual(three["metadata"], {"resourceVersion": "20"})

    def test_later_pages_are_of_the_same_state_as_the_first(self):
        _, one = self.r.get("/api/v1/pods?limit=2")
        self.play()
        _, two = self.r.get("/api/v1/pods?limit=10&continue=" + one["metadata"]["continue"])
        self.assertEqual(names(two), ["default/c", "default/d", "default/e"])
        self.assertEqual([i["metadata"]["resourceVersion"] for i in two["items"]], ["5", "5", "5"])
        self.assertEqual(two["metadata"]["resourceVersion"], "20")
        _, now = self.r.get("/api/v1/pods?limit=10")
        self.assertEqual(names(now), ["default/a", "default/b", "default/c", "default/cc", "default/e"])
        self.assertEqual(now["metadata"]["resourceVersion"], "27")

    def test_pages_inside_a_namespace_go_on_where_they_stopped(self):
        _, one = self.r.get("/api/v1/namespaces/default/pods?limit=4")
        _, two = self.r.get("/api/v1/namespaces/default/pods?limit=4&continue=" + one["metadata"]["continue"])
        self.assertEqual(names(two), ["default/e"])

    def test_any_version_ignores_the_limit(self):
        _, answer = self.r.get("/api/v1/pods?limit=2&resourceVersion=0")
        self.assertEqual(len(answer["items"]), 5)
        self.assertNotIn("continue", answer["metadata"])
        _, one = self.r.get("/api/v1/pods?limit=2")
        _, rest = self.r.get("/api/v1/pods?limit=1&resourceVersion=0&continue=" + one["metadata"]["continue"])
        self.assertEqual(len(rest["items"]), 3)

    def test_selector_and_limit_tell_no_remaining_count(self):
        _, one = self.r.get("/api/v1/pods?limit=1&fieldSelector=metadata.name!%3Da")
        self.assertEqual(names(one), ["default/b"])
        self.assertNotIn("remainingItemCount", one["metadata"])
        self.assertIn("continue", one["metadata"])

    def test_exact_version_is_the_state_of_that_version(self):
        self.play()
        for query in ("resourceVersionMatch=Exact&resourceVersion=25", "limit=100&resourceVersion=25"):
            _, then = self.r.get("/api/v1/pods?" + query)
            self.assertEqual(names(then), ["default/a", "default/b", "default/c", "default/e"])
            self.assertEqual(then["metadata"]["resourceVersion"], "25")
        _, now = self.r.get("/api/v1/pods?resourceVersion=25&resourceVersionMatch=NotOlderThan")
        self.assertEqual(now["metadata"]["resourceVersion"], "27")
        _, now = self.r.get("/api/v1/pods?resourceVersion=25")
        self.assertEqual(now["metadata"]["resourceVersion"], "27")

    def test_version_below_the_window_is_expired(self):
        status, answer = self.r.get("/api/v1/pods?resourceVersionMatch=Exact&resourceVersion=19")
        self.assertEqual((status, answer["reason"]), (410, "Expired"))

    def test_old_token_is_expired_and_brings_a_fresh_one_for_the_rest(self):
        # {"v":"meta.k8s.io/v1","rv":3,"start":"/default/b\u0000"}
        old = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6Mywic3RhcnQiOiIvZGVmYXVsdC9iXHUwMDAwIn0"
        status, answer = self.r.get("/api/v1/pods?continue=" + old)
        self.assertEqual((status, answer["reason"]), (410, "Expired"))
        status, rest = self.r.get("/api/v1/pods?limit=2&continue=" + answer["metadata"]["continue"])
        self.assertEqual(names(rest), ["default/c", "default/d"])
        status, rest = self.r.get("/api/v1/pods?limit=2&continue=" + rest["metadata"]["continue"])
        self.assertEqual(names(rest), ["default/e"])

    def test_version_above_the_position_is_a_timeout_without_retry_hint(self):
        status, headers, body = self.r.request("GET", "/api/v1/pods?resourceVersion=900")
        answer = json.loads(body)
        self.assertEqual(status, 504)
        self.assertEqual(answer["details"]["causes"][0]["reason"], "ResourceVersionTooLarge")
        self.assertNotIn("Retry-After", headers)
        self.assertEqual(self.r.get("/api/v1/namespaces/default/pods/a?resourceVersion=900")[0], 504)


class CounterTest(Case):
    """Resources of one etcd have one counter, which a list of any of them tells."""

    def two_resources(self, pods_rv=20, configmaps_rv=21, between=2):
        """Pods are listed in the second 0, ConfigMaps in the second `between`; then both have events, which come a
        little out of order."""
        t = Tape()
        for stream, rv, at in ((PODS, pods_rv, 0), (CONFIGMAPS, configmaps_rv, between)):
            t.connection("list", stream, at, 1).listed(stream, rv, [obj(stream, "a", 5)], at + 1)
        t.event(10, CONFIGMAPS, "MODIFIED", obj(CONFIGMAPS, "a", 30))
        t.event(11, CONFIGMAPS, "MODIFIED", obj(CONFIGMAPS, "a", 40))
        t.event(12, PODS, "MODIFIED", obj(PODS, "a", 35))
        return t.event(13, PODS, "MODIFIED", obj(PODS, "a", 50))

    def told(self, recorded, at):
        r = self.replay(recorded, "--from", str(at), "--wait-watchers", "1")
        return [r.get(f"/api/v1/{name}")[1]["metadata"]["resourceVersion"] for name in ("pods", "configmaps")]

    def test_list_tells_what_others_have_moved(self):
        self.assertEqual(self.told(self.two_resources(), 3), ["30", "30"])
        self.assertEqual(self.told(self.two_resources(), 6), ["50", "50"])

    def test_list_tells_nothing_that_its_own_next_event_has_not_reached(self):
        self.assertEqual(self.told(self.two_resources(), 4), ["34", "40"])

    def test_watch_from_a_version_told_so_misses_nothing(self):
        r = self.replay(self.two_resources(), "--from", "4", "--speed", "max", "--wait-watchers", "1")
        with r.watch("/api/v1/pods?watch=1&resourceVersion=34") as w:
            self.assertEqual([w.next()["object"]["metadata"]["resourceVersion"] for _ in range(2)], ["35", "50"])

    def test_counter_that_contradicts_the_order_of_the_lists_is_another(self):
        """As of Events in an etcd of their own: what was listed later told less."""
        events = Tape()
        for stream, rv, at in ((PODS, 20, 0), (EVENTS, 7, 2)):
            events.connection("list", stream, at, 1).listed(stream, rv, [], at + 1)
        events.event(10, PODS, "ADDED", obj(PODS, "a", 30))
        r = self.replay(events, "--from", "end")
        self.assertEqual(r.get("/api/v1/pods")[1]["metadata"]["resourceVersion"], "30")
        self.assertEqual(r.get("/api/v1/events")[1]["metadata"]["resourceVersion"], "7")

    def test_lists_of_which_only_the_order_is_known_are_of_the_start_until_something_has_happened(self):
        lists = Tape()
        for at, stream in enumerate((PODS, CONFIGMAPS, NODES)):
            lists.listed(stream, 20, [obj(stream, "a", 5)], 100 * at)
            if stream is CONFIGMAPS:
                lists.event(110, PODS, "MODIFIED", obj(PODS, "a", 21))
        r = self.replay(lists, "--wait-watchers", "1")
        for resource, status, names in (("pods", 200, ["a"]), ("configmaps", 200, ["a"]), ("nodes", 404, None)):
            with self.subTest(resource):
                said, answer = r.get("/api/v1/" + resource)
                self.assertEqual((said, [o["metadata"]["name"] for o in answer["items"]] if names else None), (status, names))
        self.assertEqual(r.get("/api/v1/pods")[1]["items"][0]["metadata"]["resourceVersion"], "5")


class ErrorTest(Case):
    def setUp(self):
        super().setUp()
        self.r = self.replay(Tape().listed(PODS, 20, [obj(PODS, "a", 5)]).listed(CONFIGMAPS, 20, []))

    def check(self, target, code, message, reason=None, accept="application/json"):
        status, answer = self.r.get(target, accept=accept)
        self.assertEqual((status, answer["code"]), (code, code))
        self.assertIn(message, answer["message"])
        if reason:
            self.assertEqual(answer["reason"], reason)

    def test_bad_versions_are_400_for_lists_and_500_for_objects_and_watches(self):
        problem = 'resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax'
        self.check("/api/v1/pods?resourceVersion=abc", 400, "invalid resource version: " + problem, "BadRequest")
        self.check("/api/v1/namespaces/default/pods/a?resourceVersion=abc", 500, problem)
        self.check("/api/v1/pods?watch=1&resourceVersion=abc", 500, problem)
        self.assertNotIn("reason", self.r.get("/api/v1/pods?watch=1&resourceVersion=abc")[1])

    def test_bad_tokens_and_contradictions_are_refused(self):
        self.check("/api/v1/pods?continue=AAAA", 400, "invalid continue token: continue key is not valid")
        _, one = self.r.get("/api/v1/pods?limit=1")
        token = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MjAsInN0YXJ0IjoiL2EvYlx1MDAwMCJ9"
        self.check("/api/v1/pods?resourceVersion=20&continue=" + token, 400,
            "specifying resource version is not allowed when using continue")
        self.check("/api/v1/pods?resourceVersionMatch=Exact", 422, "is forbidden unless resourceVersion is provided",
            "Invalid")

    def test_unknown_things_are_404_in_the_form_the_server_has_for_them(self):
        self.check("/api/v1/poods", 404, "the server could not find the requested resource")
        self.check("/api/v2", 404, "the server could not find the requested resource")
        self.check("/api/v1//pods", 404, "the server could not find the requested resource")
        for path in ("/apis/nope.io/v1/things", "/apis/nope.io", "/nothing"):
            status, headers, body = self.r.request("GET", path)
            self.assertEqual((status, body), (404, b"404 page not found\n"))
            self.assertTrue(headers["Content-Type"].startswith("text/plain"))

    def test_methods_that_make_no_sense_are_405(self):
        for method in ("HEAD", "OPTIONS", "TRACE", "BREW"):
            status, _, body = self.r.request(method, "/api/v1/pods")
            self.assertEqual(status, 405, method)
        self.assertEqual(self.r.request("HEAD", "/api/v1/pods")[2], b"")

    def test_time_limits_that_are_none_are_refused_but_not_of_watches(self):
        self.check("/api/v1/pods?timeout=5", 400, "invalid timeout specified in the request URL - time: missing unit "
            'in duration "5"', "BadRequest")
        self.assertEqual(self.r.request("GET", "/api/v1/pods?watch=1&timeoutSeconds=-1&timeout=5")[0], 200)

    def test_namespace_that_is_empty_is_all_of_them(self):
        self.assertEqual(self.r.get("/api/v1/namespaces//pods")[1]["kind"], "PodList")

    def test_missing_object_is_not_found_whatever_form_is_asked_for(self):
        self.check("/api/v1/namespaces/default/pods/none", 404, 'pods "none" not found', "NotFound", PARTIAL_LIST)

    def test_forms_that_do_not_exist_are_406(self):
        self.check("/api/v1/pods", 406, "only the following media types are accepted: application/json",
            "NotAcceptable", "application/json;as=Table;v=v1alpha1;g=meta.k8s.io")
        self.check("/api/v1/pods", 406, "406: Not Acceptable", "NotAcceptable", "text/html")
        self.check("/api/v1/pods", 406, "the requested object is a list (*core.PodList)", "NotAcceptable", PARTIAL)
        self.check("/api/v1/namespaces/default/pods/a", 406, "is not a list (*core.Pod)", "NotAcceptable", PARTIAL_LIST)

    def test_who_asks_for_yaml_gets_lists_objects_tables_errors_and_discovery_in_it(self):
        for target, kind in (("/api/v1/pods", "PodList"), ("/api/v1/namespaces/default/pods/a", "Pod"),
                ("/api/v1/namespaces/default/pods/none", "Status"), ("/api/v1", "APIResourceList")):
            _, headers, body = self.r.request("GET", target, {"Accept": "application/yaml"})
            self.assertEqual(headers["Content-Type"], "application/yaml")
            members = [line for line in body.decode().splitlines() if line[0] not in " -"]
            self.assertEqual(members, sorted(members))
            self.assertIn(f"kind: {kind}", members)
        table = TABLE.replace("json", "yaml")
        self.assertTrue(self.r.request("GET", "/api/v1/pods", {"Accept": table})[2].startswith(b"apiVersion: meta.k8s.io/v1\ncolumnDefinitions:\n- "))
        self.assertEqual(self.r.request("GET", "/api/v1/pods", {"Accept": "application/yaml;q=0.5,*/*"})[1]["Content-Type"],
            "application/json")

    def test_pages_of_what_is_selected_among_much_are_together_the_whole_over_both_versions(self):
        notes = {"n%d" % i: i for i in range(500)}  # they take longer to be read than a turn may
        r = self.replay(Tape().listed(PODS, 5000, [obj(PODS, "p%04d" % i, i + 1, notes=notes, labels={"l": str(i % 100)}) for i in range(3000)]))

        def ask(target, version):
            return json.loads(subprocess.run(["curl", "-sS", version, "--noproxy", "*", "http://127.0.0.1:%d%s" % (r.port, target)],
                capture_output=True, timeout=60, check=True).stdout)
        for version in ("--http1.1", "--http2-prior-knowledge"):
            for selector, count in (("labelSelector=l%3D7", 30), ("labelSelector=l%3Dnone", 0)):
                target = "/api/v1/pods?" + selector
                whole, found, token = names(ask(target, version)), [], ""
                while token is not None:
                    page = ask(target + "&limit=12&continue=" + token, version)
                    found += names(page)
                    token = page["metadata"].get("continue")
                self.assertEqual((len(whole), found), (count, whole))

    def test_a_long_list_in_yaml_has_every_item_once_and_all_that_stands_around_them(self):
        made = Tape().listed(PODS, 5000, [obj(PODS, "p%04d" % i, i + 1, note="n" * 200) for i in range(1000)])
        made.listed(WIDGETS, 5000, [{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w%d" % i,
            "namespace": "n", "resourceVersion": str(i + 1), "uid": "u%d" % i}} for i in range(1000)])
        r = self.replay(made)
        for target, accept in (("/api/v1/pods", ""), ("/apis/example.com/v1/widgets", ""),
                ("/api/v1/pods", PARTIAL_LIST[len("application/json"):])):
            body = r.request("GET", target, {"Accept": "application/yaml" + accept})[2].decode().splitlines()
            self.assertEqual(len({line for line in body if "name: p" in line or "name: w" in line}), 1000)
            self.assertEqual(len([line for line in body if line.startswith("- ")]), 1000)
            around = sorted(line for line in body if not line.startswith(("- ", "  ")) or line == '  resourceVersion: "5000"')
            self.assertEqual([line.split(":")[0].strip() for line in around],
                ["resourceVersion", "apiVersion", "items", "kind", "metadata"], around)
        empty = r.request("GET", "/api/v1/namespaces/none/pods", {"Accept": "application/yaml" + PARTIAL_LIST[len("application/json"):]})[2]
        self.assertIn(b"items: null\n", empty)

    def test_a_character_that_begins_no_token_is_quoted_as_go_does(self):
        for token, name in (("abc", "'i'"), ("JxYQ", "'\\''"), ("AAAA", "'\\x00'")):
            self.check("/api/v1/pods?continue=" + token, 400, "invalid character %s looking for beginning of value" % name)

    def test_errors_are_indented_when_no_clause_takes_a_plain_status(self):
        _, _, body = self.r.request("GET", "/api/v1/namespaces/x/pods/none", {"Accept": TABLE})
        self.assertTrue(body.startswith(b'{\n  "kind": "Status",\n  "apiVersion": "v1",\n  "metadata": {},\n'))
        self.assertTrue(body.endswith(b"\n}"))


class FormTest(Case):
    def setUp(self):
        super().setUp()
        self.r = self.replay(Tape().listed(PODS, 20, [obj(PODS, "a", 5, spec={"nodeName": "n"}, labels={"l": "1"})]))

    def test_metadata_only_lists_carry_kind_and_version_in_every_item(self):
        _, answer = self.r.get("/api/v1/pods", accept=PARTIAL_LIST)
        self.assertEqual(answer["kind"], "PartialObjectMetadataList")
        self.assertEqual(answer["apiVersion"], "meta.k8s.io/v1")
        self.assertEqual(answer["metadata"], {"resourceVersion": "20"})
        self.assertEqual(set(answer["items"][0]), {"kind", "apiVersion", "metadata"})
        self.assertEqual(answer["items"][0]["kind"], "PartialObjectMetadata")
        _, one = self.r.get("/api/v1/namespaces/default/pods/a", accept=PARTIAL)
        self.assertEqual(one, answer["items"][0])

    def test_metadata_only_list_without_items_says_null(self):
        _, answer = self.replay(Tape().listed(PODS, 9, [])).get("/api/v1/pods", PARTIAL_LIST)
        self.assertEqual(answer, {"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1",
            "metadata": {"resourceVersion": "9"}, "items": None})

    def test_watch_of_metadata_lists_ends_without_a_word_at_its_first_event(self):
        with self.replay(Tape().listed(PODS, 9, [obj(PODS, "a", 5)])).watch("/api/v1/pods?watch=1", PARTIAL_LIST) as w:
            self.assertIsNone(w.next())

    def test_table_has_columns_rows_and_metadata(self):
        _, answer = self.r.get("/api/v1/pods", accept=TABLE + ",application/json")
        self.assertEqual((answer["kind"], answer["apiVersion"]), ("Table", "meta.k8s.io/v1"))
        self.assertEqual(answer["columnDefinitions"][0]["name"], "Name")
        self.assertEqual(answer["rows"][0]["cells"][0], "a")
        self.assertEqual(answer["rows"][0]["object"]["kind"], "PartialObjectMetadata")
        _, answer = self.r.get("/api/v1/pods?includeObject=None", accept=TABLE)
        self.assertIsNone(answer["rows"][0]["object"])
        _, answer = self.r.get("/api/v1/pods?includeObject=Object", accept=TABLE)
        self.assertEqual(answer["rows"][0]["object"]["spec"], {"nodeName": "n"})
        self.assertEqual(self.r.get("/api/v1/pods?includeObject=x", accept=TABLE)[0], 400)

    def test_any_accept_is_answered_with_json(self):
        for accept in ("application/vnd.kubernetes.protobuf,application/json", "*/*", "application/vnd.kubernetes.protobuf"):
            status, headers, body = self.r.request("GET", "/api/v1/pods", {"Accept": accept})
            self.assertEqual((status, headers["Content-Type"]), (200, "application/json"))
            self.assertEqual(len(json.loads(body)["items"]), 1)

    def test_pretty_printing_follows_parameter_and_browser(self):
        _, _, body = self.r.request("GET", "/api/v1/pods?pretty=true")
        self.assertTrue(body.startswith(b'{\n  "kind": "PodList",\n'))
        self.assertTrue(body.endswith(b"]\n}"))
        self.assertEqual(json.loads(body)["items"][0]["metadata"]["name"], "a")
        _, _, body = self.r.request("GET", "/api/v1/pods", {"User-Agent": "curl/8"})
        self.assertTrue(body.startswith(b'{\n  "kind"'))
        _, _, body = self.r.request("GET", "/api/v1/pods?pretty=0", {"User-Agent": "curl/8"})
        self.assertTrue(body.startswith(b'{"kind"'))


class SelectorTest(Case):
    def setUp(self):
        super().setUp()
        self.r = self.replay(Tape().listed(PODS, 20, [
            obj(PODS, "a", 5, labels={"app": "web", "n": "3"}, spec={"nodeName": "n1"}, status={"phase": "Running"}),
            obj(PODS, "b", 6, labels={"app": "db"}, spec={"nodeName": "n2"}, status={"phase": "Pending"}),
            obj(PODS, "c", 7, namespace="x")]))

    def select(self, query):
        return [n.split("/")[1] for n in names(self.r.get("/api/v1/pods?" + query)[1])]

    def test_label_selectors_choose(self):
        self.assertEqual(self.select("labelSelector=app%3Dweb"), ["a"])
        self.assertEqual(self.select("labelSelector=app+in+(web,db)"), ["a", "b"])
        self.assertEqual(self.select("labelSelector=app!%3Dweb"), ["b", "c"])
        self.assertEqual(self.select("labelSelector=n>2"), ["a"])
        self.assertEqual(self.select("labelSelector=!app&limit=5"), ["c"])

    def test_field_selectors_choose(self):
        self.assertEqual(self.select("fieldSelector=spec.nodeName%3Dn2"), ["b"])
        self.assertEqual(self.select("fieldSelector=status.phase!%3DRunning"), ["b", "c"])
        self.assertEqual(self.select("fieldSelector=metadata.namespace%3Dx"), ["c"])
        self.assertEqual(self.select("fieldSelector=metadata.name%3Da,status.phase%3DRunning"), ["a"])


if __name__ == "__main__":
    unittest.main()
