"""Discovery, as clients of all ages ask for it."""

import json
import unittest

from replays import DEPLOYMENTS, PODS, WIDGETS, Case, Tape, obj
from writing import CRDS

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
EITHER = AGGREGATED + ",application/json"


def lists():
    return (Tape().listed(PODS, 20, [obj(PODS, "a", 5)]).listed(DEPLOYMENTS, 20, []).listed(WIDGETS, 20, []))


class DiscoveryTest(Case):
    def ask(self, r, path, accept=EITHER, **headers):
        status, got, body = r.request("GET", path, {"Accept": accept, **{k.replace("_", "-"): v for k, v in headers.items()}})
        return status, got, body

    def test_two_aggregated_documents_name_every_resource_and_say_so_in_their_type(self):
        r = self.replay(lists())
        found = set()
        for path in ("/api", "/apis"):
            status, headers, body = self.ask(r, path)
            self.assertEqual((status, headers["Content-Type"]), (200, AGGREGATED))
            for group in json.loads(body)["items"]:
                for version in group["versions"]:
                    found |= {(group["metadata"].get("name", ""), version["version"], one["resource"]) for one in version["resources"]}
        self.assertLessEqual({("", "v1", "pods"), ("apps", "v1", "deployments"), ("example.com", "v1", "widgets")}, found)

    def test_without_the_aggregated_form_each_version_has_its_own_document(self):
        r = self.replay(lists())
        kinds = {}
        for path in ("/api", "/apis", "/api/v1", "/apis/apps/v1", "/apis/example.com/v1"):
            status, headers, body = self.ask(r, path, "application/json")
            self.assertEqual((status, headers["Content-Type"]), (200, "application/json"))
            kinds[path] = json.loads(body)
        self.assertEqual([kinds[path]["kind"] for path in ("/api", "/apis", "/api/v1")], ["APIVersions", "APIGroupList", "APIResourceList"])
        self.assertIn("example.com", [group["name"] for group in kinds["/apis"]["groups"]])
        self.assertIn("widgets", [one["name"] for one in kinds["/apis/example.com/v1"]["resources"]])

    def test_without_recorded_documents_a_resource_takes_writes_and_has_what_its_crd_defines(self):
        crd = obj(CRDS, "widgets.example.com", 5, spec={"group": "example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "shortNames": ["wd"]},
            "versions": [{"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}}]})
        r = self.replay(lists().listed(CRDS, 20, [crd]))
        every = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
        kinds = {one["name"]: one for path in ("/api/v1", "/apis/example.com/v1") for one in json.loads(self.ask(r, path, "application/json")[2])["resources"]}
        self.assertEqual([sorted(kinds[name]["verbs"]) for name in ("pods", "widgets")], [every, every])
        self.assertEqual((kinds["widgets"]["shortNames"], kinds["widgets/status"]["verbs"]), (["wd"], ["get", "patch", "update"]))
        groups = {group["metadata"].get("name", ""): group["versions"][0]["resources"] for group in json.loads(self.ask(r, "/apis")[2])["items"]}
        self.assertEqual([part["subresource"] for part in groups["example.com"][0]["subresources"]], ["status"])
        self.assertEqual([sorted(groups[name][0]["verbs"]) for name in ("apps", "example.com")], [every, every])

    def test_without_recorded_documents_there_is_what_every_kubernetes_has(self):
        r = self.replay(lists())
        for path, name, part in (("/api/v1", "configmaps", None), ("/apis/batch/v1", "jobs", "jobs/status"), ("/apis/apps/v1", "deployments", "deployments/scale")):
            kinds = {one["name"]: one for one in json.loads(self.ask(r, path, "application/json")[2])["resources"]}
            self.assertIn(name, kinds)
            self.assertEqual(r.get(f"{path}/{name}")[1]["items"], [])
            if part:
                self.assertEqual(kinds[part]["verbs"], ["get", "patch", "update"])
        self.assertEqual(json.loads(self.ask(r, "/apis/autoscaling", "application/json")[2])["preferredVersion"]["version"], "v2")
        groups = {group["metadata"].get("name", ""): group for group in json.loads(self.ask(r, "/apis")[2])["items"]}
        scale = next(one for one in groups["apps"]["versions"][0]["resources"] if one["resource"] == "statefulsets")["subresources"][1]
        self.assertEqual((scale["subresource"], scale["responseKind"]), ("scale", {"group": "autoscaling", "version": "v1", "kind": "Scale"}))
        recorded = self.replay(lists().document("/apis", json.dumps({"kind": "APIGroupList", "apiVersion": "v1", "groups": []})))
        self.assertNotIn("configmaps", {one["name"] for one in json.loads(self.ask(recorded, "/api/v1", "application/json")[2])["resources"]})

    def test_a_group_is_told_as_the_recorded_list_has_it_also_one_that_nothing_was_followed_of(self):
        def group(name, *versions):
            named = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
            return {"name": name, "versions": named, "preferredVersion": named[0]}

        groups = [group("events.k8s.io", "v1"), group("apps", "v1", "v1beta1")]
        r = self.replay(lists().document("/apis", json.dumps({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})))
        for one in groups:
            for slash in ("", "/"):
                status, _, body = self.ask(r, f"/apis/{one['name']}{slash}", "application/json")
                self.assertEqual((status, json.loads(body)), (200, {"kind": "APIGroup", "apiVersion": "v1", **one}))
                self.assertTrue(body.endswith(b"}}\n"), body)
        self.assertEqual(json.loads(self.ask(r, "/apis/example.com", "application/json")[2])["name"], "example.com")
        self.assertEqual(self.ask(r, "/apis/nothing.example.com", "application/json")[0], 404)

    def test_a_client_that_prefers_the_aggregated_form_gets_the_classic_one_if_only_that_was_recorded(self):
        group = {"name": "apps", "versions": [{"groupVersion": "apps/v1", "version": "v1"}], "preferredVersion": {"groupVersion": "apps/v1", "version": "v1"}}
        recorded = json.dumps({"kind": "APIGroupList", "apiVersion": "v1", "groups": [group]})
        r = self.replay(lists().document("/apis", recorded))
        status, headers, body = self.ask(r, "/apis")
        self.assertEqual((status, headers["Content-Type"], json.loads(body)), (200, "application/json", json.loads(recorded)))
        self.assertEqual(json.loads(self.ask(r, "/api")[2])["kind"], "APIGroupDiscoveryList")

    def test_who_has_it_already_is_told_304_and_nothing_else(self):
        recorded = json.dumps({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": []})
        r = self.replay(lists().document("/apis", recorded, "aggregated", AGGREGATED, '"ABC"'))
        self.assertEqual(self.ask(r, "/apis")[1]["Etag"], '"ABC"')
        for path in ("/api", "/apis"):  # one that is made here, and one as it was recorded
            status, headers, body = self.ask(r, path)
            tag = headers["Etag"]
            self.assertEqual((status, headers["Vary"]), (200, "Accept"))
            status, headers, nothing = self.ask(r, path, If_None_Match=tag)
            self.assertEqual((status, headers["Etag"], nothing), (304, tag, b""))
            status, _, again = self.ask(r, path, If_None_Match='"other"')
            self.assertEqual((status, again), (200, body))

    def test_the_connection_is_good_for_more_behind_a_304(self):
        r = self.replay(lists())
        tag = self.ask(r, "/apis")[1]["Etag"]
        c = r.connect()
        self.addCleanup(c.close)
        for headers, status in (({"If-None-Match": tag}, 304), ({}, 200)):
            c.request("GET", "/apis", headers={"Accept": EITHER, **headers})
            answer = c.getresponse()
            self.assertEqual((answer.status, bool(answer.read())), (status, status == 200))

    def test_a_server_without_the_core_group_stays_one(self):
        refused = json.dumps({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "NotFound", "code": 404})
        r = self.replay(lists().document("/api", refused, status=404))
        self.assertEqual(self.ask(r, "/api", "application/json")[::2], (404, refused.encode()))
        self.assertIn(b'"apps/v1"', self.ask(r, "/apis", "application/json")[2])


class OpenApiTest(Case):
    PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"

    def documented(self, **paths):
        """A replay whose tape has an OpenAPI document of version 3 for each of the paths, at first."""
        made = lists().document("/openapi/v3", json.dumps({"paths": {path: {} for path in paths}}))
        for path, schemas in paths.items():
            made.document("/openapi/v3/" + path, json.dumps({"paths": {"/%s/x" % path: {"get": {"responses": {}}}},
                "components": {"schemas": schemas}}), etag='"%s"' % path)
        return self.replay(made)

    def test_version_2_is_made_of_the_recorded_documents(self):
        r = self.documented(api={"A": {"type": "object", "properties": {"b": {"$ref": "#/components/schemas/B"}}}},
            apis={"B": {"type": "string", "default": "x"}})
        status, headers, body = r.request("GET", "/openapi/v2")
        self.assertEqual((status, headers["Content-Type"], headers["Content-Length"]), (200, "application/json", str(len(body))))
        document = json.loads(body)
        self.assertEqual(document["definitions"], {"A": {"type": "object", "properties": {"b": {"$ref": "#/definitions/B"}}},
            "B": {"type": "string"}})
        self.assertEqual(sorted(document["paths"]), ["/api/x", "/apis/x"])
        status, headers, body = r.request("GET", "/openapi/v2", {"Accept": self.PROTOBUF})
        self.assertEqual((status, headers["Content-Type"]), (200, self.PROTOBUF.replace("@", ".")))
        self.assertTrue(body.startswith(b"\x0a\x032.0"))
        self.assertIn(b"#/definitions/B", body)

    def test_without_recorded_documents_version_2_is_empty(self):
        r = self.replay(lists())
        self.assertEqual(json.loads(r.request("GET", "/openapi/v2")[2])["paths"], {})
        self.assertEqual(r.request("GET", "/openapi/v2", {"Accept": self.PROTOBUF})[::2], (200, b""))

    def test_who_has_a_document_already_is_told_304(self):
        r = self.documented(api={"A": {}})
        for path in ("/openapi/v2", "/openapi/v3/api"):
            etag = r.request("GET", path)[1]["Etag"]
            status, headers, body = r.request("GET", path, {"If-None-Match": etag})
            self.assertEqual((status, headers["Etag"], body), (304, etag, b""))
            self.assertEqual(r.request("GET", path, {"If-None-Match": '"another"'})[0], 200)

    def test_types_that_there_are_not_are_406(self):
        r = self.documented(api={"A": {}})
        for path in ("/openapi/v2", "/openapi/v3/api"):
            self.assertEqual(r.request("GET", path, {"Accept": "text/html"})[::2], (406, b""))
            self.assertEqual(r.request("GET", path, {"Accept": "text/html,*/*"})[0], 200)
        self.assertEqual(r.request("GET", "/openapi/v3", {"Accept": "text/html"})[0], 200)
        for accept, status in (("application/yaml", 406), ("application/*", 406), ("application/yaml,*/*", 200), ("application/json;q=0.1", 200)):
            self.assertEqual(r.request("GET", "/version", {"Accept": accept})[0], status, accept)

    def test_documents_that_are_none_are_left_out(self):
        made = lists().document("/openapi/v3", json.dumps({"paths": {"api": {}, "apis": {}, "gone": {}}}))
        made.document("/openapi/v3/api", "{").document("/openapi/v3/apis", '{"components":{"schemas":{"A":{}}}}')
        self.assertEqual(self.replay(made).get("/openapi/v2")[1]["definitions"], {"A": {}})


if __name__ == "__main__":
    unittest.main()
