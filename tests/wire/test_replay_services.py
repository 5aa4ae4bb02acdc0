"""What a replay gives to services that programs create: cluster IPs, node ports, and the fields that follow from them."""

import ipaddress
import unittest

from replays import obj
from writing import MERGE_PATCH, Writes, tape

SERVICES = {"version": "v1", "resource": "services", "kind": "Service", "namespaced": True}
CIDRS = {"group": "networking.k8s.io", "version": "v1", "resource": "servicecidrs", "kind": "ServiceCIDR", "namespaced": False}
PATH = "/api/v1/namespaces/default/services"


def service_tape(first=()):
    made = tape()
    made.listed(SERVICES, 100, [obj(SERVICES, "kubernetes", 15, spec={"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "type": "ClusterIP"}),
        obj(SERVICES, "door", 16, spec={"clusterIP": "10.0.0.9", "clusterIPs": ["10.0.0.9"], "type": "NodePort", "ports": [
            {"port": 80, "protocol": "TCP", "nodePort": 30080}]})])
    for stream, things in first:
        made.listed(stream, 100, things)
    return made


class Services(Writes):

    def start_with(self, *more, made=None):
        return self.start("--write", "overlay", *more, made=made or service_tape())

    def make(self, name, **spec):
        return self.send("POST", PATH, {"kind": "Service", "apiVersion": "v1", "metadata": {"name": name}, "spec": spec})

    def made(self, name, **spec):
        status, answer = self.make(name, **spec)
        self.assertEqual(status, 201, answer)
        return answer["spec"]

    def test_a_service_gets_an_address_of_the_range_and_the_fields_that_go_with_it(self):
        self.start_with()
        spec = self.made("s", selector={"app": "s"}, ports=[{"port": 80}])
        self.assertIn(ipaddress.ip_address(spec["clusterIP"]), ipaddress.ip_network("10.0.0.0/16"))
        self.assertEqual((spec["clusterIPs"], spec["ipFamilies"], spec["ipFamilyPolicy"], spec["internalTrafficPolicy"]),
            ([spec["clusterIP"]], ["IPv4"], "SingleStack", "Cluster"))
        self.assertNotIn("nodePort", spec["ports"][0])
        self.assertNotIn("externalTrafficPolicy", spec)

    def test_the_same_service_gets_the_same_each_time_whatever_was_made_before(self):
        self.start_with()
        first = self.made("s", type="NodePort", ports=[{"port": 80}])
        self.start_with()
        self.made("other", type="NodePort", ports=[{"port": 80}])
        self.assertEqual(self.made("s", type="NodePort", ports=[{"port": 80}]), first)

    def test_a_small_range_is_given_out_whole_and_nothing_twice(self):
        self.start_with(made=service_tape([(CIDRS, [obj(CIDRS, "kubernetes", 5, spec={"cidrs": ["10.0.0.0/28"]})])]))
        given = [self.made("s%d" % n)["clusterIP"] for n in range(12)]
        self.assertEqual(sorted(given, key=ipaddress.ip_address), ["10.0.0.%d" % n for n in range(2, 15) if n != 9])
        self.assertIn("range is full", self.error(self.make("one-more"), 500, "InternalError")["message"])

    def test_what_the_tape_gives_to_a_service_later_is_not_given_out(self):
        made = service_tape([(CIDRS, [obj(CIDRS, "kubernetes", 5, spec={"cidrs": ["10.0.0.0/29"]})])])
        for n in range(2, 6):
            made.event(100 + n, SERVICES, "ADDED", obj(SERVICES, "later%d" % n, 200 + n, spec={"clusterIP": "10.0.0.%d" % n}))
        self.start_with(made=made)
        self.assertEqual(self.made("s")["clusterIP"], "10.0.0.6")

    def test_headless_and_external_services_get_no_address(self):
        self.start_with()
        headless = self.made("headless", clusterIP="None", selector={"app": "s"})
        self.assertEqual((headless["clusterIPs"], headless["ipFamilies"]), (["None"], ["IPv4"]))
        self.assertEqual(self.made("bare", clusterIP="None")["ipFamilyPolicy"], "RequireDualStack")
        external = self.made("external", type="ExternalName", externalName="example.com")
        self.assertFalse({"clusterIP", "clusterIPs", "ipFamilies", "internalTrafficPolicy"} & set(external))

    def test_node_ports_are_given_and_protocols_of_one_port_share_one(self):
        self.start_with()
        spec = self.made("s", type="LoadBalancer", ports=[{"name": "t", "port": 53, "protocol": "TCP"}, {"name": "u", "port": 53, "protocol": "UDP"},
            {"name": "w", "port": 80}])
        ports = [p["nodePort"] for p in spec["ports"]]
        self.assertEqual(ports[0], ports[1])
        self.assertEqual(len(set(ports)), 2)
        self.assertTrue(all(30000 <= p <= 32767 for p in ports))
        self.assertEqual((spec["externalTrafficPolicy"], spec["allocateLoadBalancerNodePorts"]), ("Cluster", True))
        local = self.made("local", type="LoadBalancer", externalTrafficPolicy="Local", allocateLoadBalancerNodePorts=False, ports=[{"port": 80}])
        self.assertNotIn("nodePort", local["ports"][0])
        self.assertTrue(30000 <= local["healthCheckNodePort"] <= 32767)

    def test_what_another_service_has_is_refused(self):
        self.start_with()
        for spec, told in (({"clusterIP": "10.0.0.9"}, 'spec.clusterIPs: Invalid value: ["10.0.0.9"]: failed to allocate IP 10.0.0.9: provided IP is already allocated'),
                ({"type": "NodePort", "ports": [{"port": 80, "nodePort": 30080}]}, "spec.ports[0].nodePort: Invalid value: 30080: provided port is already allocated"),
                ({"clusterIP": "nowhere"}, 'spec.clusterIPs[0]: Invalid value: "nowhere": must be a valid IP address')):
            body = self.error(self.make("s", **spec), 422, "Invalid")
            self.assertIn('Service "s" is invalid: ' + told, body["message"])
        self.assertEqual(self.send("DELETE", PATH + "/door")[0], 200)
        self.assertEqual(self.made("s", clusterIP="10.0.0.9")["clusterIP"], "10.0.0.9")

    def test_an_update_keeps_what_was_given_and_cannot_change_the_address(self):
        self.start_with()
        first = self.made("s", type="NodePort", ports=[{"port": 80}])
        plain = {"kind": "Service", "apiVersion": "v1", "metadata": {"name": "s"}, "spec": {"type": "NodePort", "ports": [{"port": 80, "protocol": "TCP"}]}}
        again = self.send("PUT", PATH + "/s", plain)[1]["spec"]
        self.assertEqual((again["clusterIPs"], again["ports"][0]["nodePort"]), (first["clusterIPs"], first["ports"][0]["nodePort"]))
        self.assertIn("may not change once set", self.error(self.send("PATCH", PATH + "/s", {"spec": {"clusterIP": "10.0.0.77", "clusterIPs": ["10.0.0.77"]}},
            MERGE_PATCH), 422, "Invalid")["message"])
        inside = self.send("PATCH", PATH + "/s", {"spec": {"type": "ClusterIP"}}, MERGE_PATCH)[1]["spec"]
        self.assertNotIn("nodePort", inside["ports"][0])
        self.assertNotIn("externalTrafficPolicy", inside)
        outside = self.send("PATCH", PATH + "/s", {"spec": {"type": "ExternalName", "externalName": "example.com"}}, MERGE_PATCH)[1]["spec"]
        self.assertNotIn("clusterIP", outside)
        back = self.send("PATCH", PATH + "/s", {"spec": {"type": "ClusterIP", "externalName": None}}, MERGE_PATCH)[1]["spec"]
        self.assertEqual(back["clusterIP"], first["clusterIP"])

    def test_absorbed_services_get_addresses_of_their_own(self):
        self.start("--write", "absorb", made=service_tape([(CIDRS, [obj(CIDRS, "kubernetes", 5, spec={"cidrs": ["10.0.0.0/28"]})])]))
        given = {self.made("s%d" % n)["clusterIP"] for n in range(8)}
        self.assertEqual(len(given), 8)


if __name__ == "__main__":
    unittest.main()
