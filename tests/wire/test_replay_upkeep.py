"""What the replay does by itself with what programs wrote: the grace of pods, finalizers, what deletions ask of dependents."""

import time
import unittest

from replays import CONFIGMAPS, DEPLOYMENTS, NAMESPACES, NODES, PODS, Tape, brief, obj
from writing import MAPS, MERGE_PATCH, PODS_PATH, Writes, config_map, tape

SHOP = "/apis/apps/v1/namespaces/default/deployments/shop"


def long_tape():
    """One that lasts for 90 s, with an event each 20 s."""
    made = tape()
    for n in range(1, 5):
        made.event(20 * n, CONFIGMAPS, "MODIFIED", obj(CONFIGMAPS, "b", 200 + n, data={"n": str(n)}))
    return made


class Grace(Writes):

    def start_paused(self, *options):
        server = self.start("--write", "overlay", *options, made=long_tape())
        server.request("POST", "/kubetape/v1/pause")
        server.request("POST", "/kubetape/v1/rewind")
        return server

    def step(self):
        self.assertEqual(self.server.request("POST", "/kubetape/v1/step?count=1")[0], 200)

    def names(self):
        return [o["metadata"]["name"] for o in self.get(PODS_PATH)[1]["items"]]

    def test_a_pod_ends_when_its_grace_is_over_by_the_clock_of_the_replay(self):
        server = self.start_paused()
        rv = self.rv(PODS_PATH)
        with server.watch(PODS_PATH + "?watch=true&resourceVersion=" + rv) as watch:
            self.assertEqual(self.send("DELETE", PODS_PATH + "/web")[1]["metadata"]["deletionGracePeriodSeconds"], 30)
            self.step()
            self.assertEqual(self.names(), ["idle", "web"])
            self.step()
            self.assertEqual(self.names(), ["idle"])
            seen = watch.take(3)
            self.assertEqual([e["type"] for e in seen], ["MODIFIED", "MODIFIED", "DELETED"])
            self.assertEqual([e["object"]["metadata"]["deletionGracePeriodSeconds"] for e in seen], [30, 0, 0])

    def test_a_pod_that_ended_earlier_and_came_back_is_left_alone(self):
        self.start_paused()
        pod = self.get(PODS_PATH + "/web")[1]
        self.send("DELETE", PODS_PATH + "/web")
        self.send("DELETE", PODS_PATH + "/web", {"gracePeriodSeconds": 0})
        again = {**pod, "metadata": {"name": "web"}}
        self.assertEqual(self.send("POST", PODS_PATH, again)[0], 201)
        for _ in range(4):
            self.step()
        self.assertEqual(self.names(), ["idle", "web"])

    def test_a_grace_is_made_shorter_and_never_longer(self):
        self.start_paused()
        first = self.send("DELETE", PODS_PATH + "/web")[1]["metadata"]
        longer = self.send("DELETE", PODS_PATH + "/web", {"gracePeriodSeconds": 60})[1]["metadata"]
        self.assertEqual(longer, first)
        shorter = self.send("DELETE", PODS_PATH + "/web", {"gracePeriodSeconds": 10})[1]["metadata"]
        self.assertEqual(shorter["deletionGracePeriodSeconds"], 10)
        self.assertLess(shorter["deletionTimestamp"], first["deletionTimestamp"])
        self.step()
        self.assertEqual(self.names(), ["idle"])

    def test_a_finalizer_holds_a_pod_whose_grace_is_over(self):
        self.start_paused()
        self.send("PATCH", PODS_PATH + "/web", {"metadata": {"finalizers": ["x/y"]}}, MERGE_PATCH)
        self.send("DELETE", PODS_PATH + "/web")
        self.step()
        self.step()
        self.assertEqual(self.get(PODS_PATH + "/web")[1]["metadata"]["deletionGracePeriodSeconds"], 0)
        self.send("PATCH", PODS_PATH + "/web", {"metadata": {"finalizers": None}}, MERGE_PATCH)
        self.assertEqual(self.names(), ["idle"])

    def test_what_is_left_of_a_grace_is_left_after_a_move_back(self):
        self.start_paused()
        self.step()
        self.send("DELETE", PODS_PATH + "/web")
        self.server.request("POST", "/kubetape/v1/rewind")
        self.step()
        self.assertEqual(self.names(), ["idle", "web"])
        self.step()
        self.assertEqual(self.names(), ["idle"])

    def test_at_speed_max_nothing_waits_for_a_time_after_the_end(self):
        server = self.start("--write", "overlay", "--speed", "max")
        with server.watch(PODS_PATH + "?watch=true&resourceVersion=" + self.rv(PODS_PATH)) as watch:
            self.send("DELETE", PODS_PATH + "/web")
            self.assertEqual([e["type"] for e in watch.take(3)], ["MODIFIED", "MODIFIED", "DELETED"])

    def test_a_pod_that_waits_for_no_node_is_seen_ending_before_it_is_gone(self):
        server = self.start_paused()
        with server.watch(PODS_PATH + "?watch=true&resourceVersion=" + self.rv(PODS_PATH)) as watch:
            gone = self.send("DELETE", PODS_PATH + "/idle")[1]
            marked, deleted = watch.take(2)
            self.assertIn("deletionTimestamp", marked["object"]["metadata"])
            self.assertEqual(brief(deleted), ("DELETED", "idle", gone["metadata"]["resourceVersion"]))


class NamespaceThatEnds(Writes):
    IN_SHOP = "/api/v1/namespaces/shop/configmaps"

    def test_it_takes_nothing_new_and_takes_along_what_programs_wrote_in_it(self):
        made = Tape()
        made.listed(NAMESPACES, 90, [obj(NAMESPACES, "default", 5), obj(NAMESPACES, "shop", 6, status={"phase": "Active"})])
        made.listed(CONFIGMAPS, 100, [obj(CONFIGMAPS, "recorded", 10, namespace="shop", data={})])
        made.event(10, NAMESPACES, "MODIFIED", obj(NAMESPACES, "shop", 200, status={"phase": "Terminating"}))
        made.event(20, CONFIGMAPS, "DELETED", obj(CONFIGMAPS, "recorded", 201, namespace="shop", data={}))
        made.event(30, NAMESPACES, "DELETED", obj(NAMESPACES, "shop", 202, status={"phase": "Terminating"}))
        made.event(40, NAMESPACES, "ADDED", obj(NAMESPACES, "shop", 203, uid="another", status={"phase": "Active"}))
        server = self.start("--write", "overlay", made=made)
        step = lambda: self.assertEqual(server.request("POST", "/kubetape/v1/step?count=1")[0], 200)
        server.request("POST", "/kubetape/v1/pause")
        server.request("POST", "/kubetape/v1/rewind")
        with server.watch(MAPS.replace("default", "shop") + "?watch=true&resourceVersion=" + self.rv(self.IN_SHOP)) as watch:
            self.assertEqual(self.send("POST", self.IN_SHOP, config_map("mine"))[0], 201)
            self.assertEqual(self.send("POST", MAPS, config_map("elsewhere"))[0], 201)
            step()
            refused = self.error(self.send("POST", self.IN_SHOP, config_map("late")), 403, "Forbidden")
            self.assertEqual(refused["message"], 'configmaps "late" is forbidden: unable to create new content in namespace shop '
                             "because it is being terminated")
            self.assertEqual(refused["details"]["causes"], [{"reason": "NamespaceTerminating", "message": "namespace shop is being terminated",
                             "field": "metadata.namespace"}])
            step()
            step()
            self.assertEqual([brief(e)[:2] for e in watch.take(3)], [("ADDED", "mine"), ("DELETED", "recorded"), ("DELETED", "mine")])
        self.error(self.send("POST", self.IN_SHOP, config_map("mine")), 404, "NotFound")
        step()
        self.assertEqual(self.send("POST", self.IN_SHOP, config_map("mine"))[0], 201)
        self.assertEqual([o["metadata"]["name"] for o in self.get(MAPS)[1]["items"]], ["elsewhere"])


class Propagation(Writes):

    def test_a_policy_puts_its_finalizer_and_background_takes_it_away(self):
        for options, finalizers in (({"propagationPolicy": "Foreground"}, ["foregroundDeletion"]), ({"propagationPolicy": "Orphan"}, ["orphan"]),
                ({"orphanDependents": True}, ["orphan"])):
            with self.subTest(options=options):
                self.start("--write", "overlay")
                status, shop = self.send("DELETE", SHOP, options)
                self.assertEqual((status, shop["metadata"]["finalizers"]), (200, finalizers))
                self.assertIn("deletionTimestamp", shop["metadata"])
                self.assertEqual(self.send("DELETE", SHOP, {"propagationPolicy": "Background"})[1]["status"], "Success")
                self.error(self.get(SHOP), 404, "NotFound")

    def test_jobs_leave_their_pods_unless_a_client_says_otherwise(self):
        self.start("--write", "overlay")
        jobs = "/apis/batch/v1/namespaces/default/jobs"
        template = {"spec": {"restartPolicy": "Never", "containers": []}}
        for name in ("kept", "gone"):
            self.send("POST", jobs, {"kind": "Job", "apiVersion": "batch/v1", "metadata": {"name": name}, "spec": {"template": template}})
        self.assertEqual(self.send("DELETE", jobs + "/kept")[1]["metadata"]["finalizers"], ["orphan"])
        self.assertEqual(self.send("DELETE", jobs + "/gone?propagationPolicy=Background")[1]["status"], "Success")

    def test_no_finalizer_is_added_to_what_is_being_deleted(self):
        self.start("--write", "overlay")
        self.send("PATCH", MAPS + "/a", {"metadata": {"finalizers": ["x/y"]}}, MERGE_PATCH)
        self.send("DELETE", MAPS + "/a")
        body = self.error(self.send("PATCH", MAPS + "/a", {"metadata": {"finalizers": ["x/y", "x/z"]}}, MERGE_PATCH), 422, "Invalid")
        self.assertIn('no new finalizers can be added if the object is being deleted, found new finalizers []string{"x/z"}', body["message"])


SETS = {"group": "apps", "version": "v1", "resource": "replicasets", "kind": "ReplicaSet", "namespaced": True}
SETS_PATH = "/apis/apps/v1/namespaces/default/replicasets"


def owned_by(*owners, **more):
    """The metadata of a dependent: owners are (kind, name, uid) of apps/v1, or of v1 for a ConfigMap, a Node."""
    return {"ownerReferences": [{"apiVersion": "v1" if kind in ("ConfigMap", "Node") else "apps/v1", "kind": kind, "name": name, "uid": uid, **more}
        for kind, name, uid in owners]}


def family(stream, name, rv, metadata, **members):
    made = obj(stream, name, rv, **members)
    made["metadata"].update(metadata)
    return made


def family_tape():
    """A deployment with a replica set and its pods, as a cluster has them, and events each 20 s."""
    of_shop = owned_by(("Deployment", "shop", "uid-shop"), controller=True, blockOwnerDeletion=True)
    of_set = owned_by(("ReplicaSet", "shop-1", "uid-shop-1"), controller=True, blockOwnerDeletion=True)
    made = Tape()
    made.listed(NAMESPACES, 90, [obj(NAMESPACES, "default", 5)])
    made.listed(NODES, 100, [obj(NODES, "n1", 30)])
    made.listed(CONFIGMAPS, 100, [obj(CONFIGMAPS, "a", 10, data={"k": "1"}), obj(CONFIGMAPS, "b", 11, data={})])
    made.listed(DEPLOYMENTS, 100, [obj(DEPLOYMENTS, "shop", 40, spec={"replicas": 2})])
    made.listed(SETS, 100, [family(SETS, "shop-1", 60, of_shop, spec={})])
    made.listed(PODS, 100, [obj(PODS, "idle", 21, spec={"containers": []})] + [family(PODS, "shop-1-" + letter, 61, of_set,
        spec={"containers": []}) for letter in "ab"])
    made.event(20, PODS, "ADDED", family(PODS, "shop-1-c", 120, of_set, spec={"containers": []}))
    made.event(40, CONFIGMAPS, "DELETED", obj(CONFIGMAPS, "b", 140, data={}))
    return made.event(60, CONFIGMAPS, "MODIFIED", obj(CONFIGMAPS, "a", 160, data={}))


class Collecting(Writes):

    def start_collecting(self, *options):
        server = self.start("--gc", "--write", "overlay", *options, made=family_tape())
        server.request("POST", "/kubetape/v1/pause")
        server.request("POST", "/kubetape/v1/rewind")
        return server

    def step(self):
        self.assertEqual(self.server.request("POST", "/kubetape/v1/step?count=1")[0], 200)

    def names(self, target):
        return [o["metadata"]["name"] for o in self.get(target)[1]["items"]]

    def make(self, name, *owners, **more):
        status, made = self.send("POST", MAPS, config_map(name, metadata=owned_by(*owners, **more)))
        self.assertEqual(status, 201, made)
        return made["metadata"]["uid"]

    def test_what_a_deletion_leaves_without_owner_goes_in_the_background_recorded_and_written_alike(self):
        self.start_collecting()
        self.make("mine", ("ReplicaSet", "shop-1", "uid-shop-1"))
        self.assertEqual(self.send("DELETE", SHOP)[1]["status"], "Success")
        self.wait_until(lambda: self.names(SETS_PATH) + self.names(PODS_PATH) + self.names(MAPS), ["idle", "a", "b"])

    def test_without_the_option_dependents_stay(self):
        self.start("--write", "overlay", made=family_tape())
        self.send("DELETE", SHOP)
        self.step()
        self.assertEqual(self.names(SETS_PATH), ["shop-1"])

    def test_what_the_tape_still_makes_for_an_owner_that_a_program_deleted_goes_too(self):
        self.start_collecting()
        self.send("DELETE", SETS_PATH + "/shop-1")
        self.wait_until(lambda: self.names(PODS_PATH), ["idle"])
        self.step()
        self.wait_until(lambda: self.names(PODS_PATH), ["idle"])

    def test_what_the_tape_deletes_takes_with_it_what_programs_wrote(self):
        self.start_collecting()
        self.make("mine", ("ConfigMap", "b", "uid-b"))
        self.step()
        self.assertEqual(self.names(MAPS), ["a", "b", "mine"])
        self.step()
        self.wait_until(lambda: self.names(MAPS), ["a"])

    def test_in_the_foreground_dependents_that_block_go_first(self):
        server = self.start_collecting()
        with server.watch("/apis/apps/v1/replicasets?watch=true&resourceVersion=" + self.rv(SETS_PATH)) as sets, \
                server.watch("/apis/apps/v1/deployments?watch=true&resourceVersion=100") as shops:
            self.assertEqual(self.send("DELETE", SHOP, {"propagationPolicy": "Foreground"})[1]["metadata"]["finalizers"], ["foregroundDeletion"])
            self.assertEqual([e["type"] for e in shops.take(2)], ["MODIFIED", "DELETED"])
            seen = sets.take(2)
            self.assertEqual([e["type"] for e in seen], ["MODIFIED", "DELETED"])
            self.assertEqual(seen[0]["object"]["metadata"]["finalizers"], ["foregroundDeletion"])
        self.assertEqual(self.names(PODS_PATH), ["idle"])

    def test_a_dependent_that_a_finalizer_holds_holds_its_owner_in_the_foreground(self):
        self.start_collecting()
        self.send("PATCH", SETS_PATH + "/shop-1", {"metadata": {"finalizers": ["x/y"]}}, MERGE_PATCH)
        self.send("DELETE", SHOP, {"propagationPolicy": "Foreground"})
        self.wait_until(lambda: self.names(PODS_PATH), ["idle"])
        self.assertIn("deletionTimestamp", self.get(SHOP)[1]["metadata"])
        self.send("PATCH", SETS_PATH + "/shop-1", {"metadata": {"finalizers": None}}, MERGE_PATCH)
        self.wait_until(lambda: self.get(SHOP)[0], 404)

    def test_orphans_stay_and_forget_their_owner(self):
        self.start_collecting()
        self.send("DELETE", SHOP, {"propagationPolicy": "Orphan"})
        self.wait_until(lambda: self.get(SHOP)[0], 404)
        self.assertNotIn("ownerReferences", self.get(SETS_PATH + "/shop-1")[1]["metadata"])
        self.assertEqual(self.names(PODS_PATH), ["idle", "shop-1-a", "shop-1-b"])

    def test_one_of_two_owners_is_forgotten_and_the_other_keeps_its_dependent(self):
        self.start_collecting()
        first, second = self.make("first"), self.make("second")
        self.make("both", ("ConfigMap", "first", first), ("ConfigMap", "second", second))
        self.send("DELETE", MAPS + "/first")
        self.wait_until(lambda: [o["name"] for o in self.get(MAPS + "/both")[1]["metadata"]["ownerReferences"]], ["second"])
        self.send("DELETE", MAPS + "/second")
        self.wait_until(lambda: self.names(MAPS), ["a", "b"])

    def test_an_owner_is_its_uid_in_the_namespace_of_the_dependent(self):
        self.start_collecting()
        self.assertEqual(self.send("POST", "/api/v1/namespaces", {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "other"}})[0], 201)
        self.make("of-another-uid", ("ConfigMap", "a", "uid-that-nobody-has"))
        self.make("good", ("ConfigMap", "a", "uid-a"))
        self.make("of-a-node", ("Node", "n1", "uid-n1"))
        elsewhere = "/api/v1/namespaces/other/configmaps"
        self.send("POST", elsewhere, config_map("crossing", metadata=owned_by(("ConfigMap", "a", "uid-a"))))
        self.wait_until(lambda: self.names("/api/v1/configmaps"), ["a", "b", "good", "of-a-node"])

    def test_who_creates_what_has_no_owner_any_more_has_the_answer_first(self):
        server = self.start_collecting()
        with server.watch(MAPS + "?watch=true&resourceVersion=" + self.rv(MAPS)) as watch:
            began = time.monotonic()
            self.make("lost", ("ConfigMap", "a", "uid-that-nobody-has"))
            self.assertEqual([e["type"] for e in watch.take(2)], ["ADDED", "DELETED"])
            self.assertGreaterEqual(time.monotonic() - began, 0.1)

    def test_an_owner_that_nobody_can_know_counts_as_there(self):
        self.start_collecting()
        self.make("mine", ("Gadget", "g", "uid-g"), ("DaemonSet", "d", "uid-d"))
        self.make("last", ("ConfigMap", "a", "uid-that-nobody-has"))
        self.wait_until(lambda: self.names(MAPS), ["a", "b", "mine"])
        self.assertEqual(len(self.get(MAPS + "/mine")[1]["metadata"]["ownerReferences"]), 2)

    def test_what_is_absorbed_is_left_alone_and_blocks_nobody(self):
        self.start_collecting("--write", "pods=absorb")
        self.send("DELETE", SHOP, {"propagationPolicy": "Foreground"})
        self.wait_until(lambda: self.names(SETS_PATH), [])
        self.wait_until(lambda: self.get(SHOP)[0], 404)
        self.assertEqual(self.names(PODS_PATH), ["idle", "shop-1-a", "shop-1-b"])

    def test_many_dependents_go_in_their_order(self):
        server = self.start_collecting()
        owner = self.make("owner")
        names = ["d%03d" % n for n in range(300)]
        for name in reversed(names):
            self.make(name, ("ConfigMap", "owner", owner))
        with server.watch(MAPS + "?watch=true&resourceVersion=" + self.rv(MAPS)) as watch:
            self.send("DELETE", MAPS + "/owner")
            self.assertEqual([e["object"]["metadata"]["name"] for e in watch.take(301)], ["owner"] + names)


if __name__ == "__main__":
    unittest.main()
