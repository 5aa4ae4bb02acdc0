/* write_service.c: what an API server gives a service: addresses, node ports, and the fields that follow from them; see
 * write_internal.h. */
#include "replayer/write/service_pool.h"
#include "replayer/write/write_internal.h"
#include "schema/base/count_of.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

struct service_change {
	struct write *w;
	cJSON *object, *spec;
	const cJSON *old; /* the spec that was there; NULL: it is created */
	struct service_pool *pool;
};

static bool has_type(const cJSON *spec, const char *type)
{
	return strcmp(json_tree_text(spec, "type"), type) == 0;
}

static bool is_external_name(const cJSON *spec)
{
	return has_type(spec, "ExternalName");
}

static bool has_node_ports(const cJSON *spec)
{
	return has_type(spec, "NodePort") || has_type(spec, "LoadBalancer");
}

static void keep(struct service_change *s, const char *name)
{
	const cJSON *value = json_tree_at(s->old, name, NULL);

	if (value && !json_tree_at(s->spec, name, NULL))
		json_tree_set(s->spec, name, cJSON_Duplicate(value, true));
}

static void fill(cJSON *spec, const char *name, cJSON *value)
{
	if (json_tree_at(spec, name, NULL))
		cJSON_Delete(value);
	else
		json_tree_set(spec, name, value);
}

/* ---- the cluster IP ---- */

static const char *first_ip(const cJSON *spec)
{
	const cJSON *list = json_tree_at(spec, "clusterIPs", NULL);
	const char *one = json_tree_text(spec, "clusterIP");

	return *one ? one : list && cJSON_IsString(list->child) ? list->child->valuestring : "";
}

/* 422 that shows the list. */
static int refuse_ips(struct service_change *s, const char *field, const char *format, const char *ip)
{
	char *list = cJSON_PrintUnformatted(json_tree_at(s->spec, "clusterIPs", NULL)),
	     *why = xasprintf(format, ip);
	int rc = write_invalid(s->w, "Service", "FieldValueInvalid", field, "Invalid value: %s: %s",
		list ? list : "null", why);

	cJSON_free(list);
	free(why);
	return rc;
}

/* Both forms of an address say the same. */
static void set_ip(struct service_change *s, const char *ip)
{
	char *copy = xstrdup(ip);
	const char *one = copy;

	json_tree_set_text(s->spec, "clusterIP", copy);
	if (cJSON_GetArraySize(json_tree_at(s->spec, "clusterIPs", NULL)) < 2)
		json_tree_set(s->spec, "clusterIPs", cJSON_CreateStringArray(&one, 1));
	free(copy);
}

static bool is_address(const char *text)
{
	unsigned char address[sizeof(struct in6_addr)];

	return inet_pton(AF_INET, text, address) == 1 || inet_pton(AF_INET6, text, address) == 1;
}

static int check_ip(struct service_change *s, const char *ip)
{
	const char *before = s->old && !is_external_name(s->old) ? first_ip(s->old) : "";

	if (*before && strcmp(before, ip) != 0)
		return refuse_ips(s, "spec.clusterIPs[0]", "%smay not change once set", "");
	if (strcmp(ip, "None") == 0)
		return 0;
	if (!is_address(ip))
		return write_invalid(s->w, "Service", "FieldValueInvalid", "spec.clusterIPs[0]",
			"Invalid value: \"%s\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
			ip);
	if (service_pool_has_ip(s->pool, ip))
		return refuse_ips(s, "spec.clusterIPs",
			"failed to allocate IP %s: provided IP is already allocated", ip);
	return 0;
}

static int give_ip(struct service_change *s)
{
	char ip[SERVICE_IP_BYTES];

	if (!service_pool_give_ip(s->pool, ip))
		return status_set(&s->w->st, 500, "InternalError",
			"Internal error occurred: failed to allocate a serviceIP: range is full");
	set_ip(s, ip);
	return 0;
}

/* A headless service without a selector may be of both families: its endpoints tell. */
static void fill_families(cJSON *spec)
{
	const char *ip = first_ip(spec), *families[] = {"IPv4", "IPv6"};
	bool is_six = strchr(ip, ':') != NULL;
	bool any = strcmp(ip, "None") == 0 && !cJSON_GetArraySize(json_tree_at(spec, "selector", NULL));

	fill(spec, "ipFamilies", cJSON_CreateStringArray(families + is_six, any && !is_six ? 2 : 1));
	fill(spec, "ipFamilyPolicy", cJSON_CreateString(any ? "RequireDualStack" : "SingleStack"));
}

static int settle_ip(struct service_change *s)
{
	static const char *const names[] = {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"};
	int rc;

	if (is_external_name(s->spec)) {
		for (size_t i = 0; s->old && i < COUNT_OF(names); i++)
			json_tree_set(s->spec, names[i], NULL);
		return 0;
	}
	if (s->old && !is_external_name(s->old) && !*first_ip(s->spec)) {
		json_tree_set(s->spec, "clusterIP", NULL);
		for (size_t i = 0; i < COUNT_OF(names); i++)
			keep(s, names[i]);
	}
	if (*first_ip(s->spec)) {
		set_ip(s, first_ip(s->spec));
		rc = check_ip(s, first_ip(s->spec));
	} else {
		rc = give_ip(s);
	}
	if (rc == 0)
		fill_families(s->spec);
	return rc;
}

/* ---- node ports ---- */

static int number_of(const cJSON *object, const char *name)
{
	const cJSON *value = json_tree_at(object, name, NULL);

	return cJSON_IsNumber(value) ? (int)value->valuedouble : 0;
}

/* The node port of a port with the same number in a list of ports: of the same protocol, or of another one. */
static int node_port_like(const cJSON *spec, const cJSON *port, bool same_protocol)
{
	const cJSON *other;

	cJSON_ArrayForEach(other, json_tree_at(spec, "ports", NULL))
	{
		bool same = strcmp(json_tree_text(other, "protocol"), json_tree_text(port, "protocol")) == 0;

		if (other != port && same == same_protocol &&
			number_of(other, "port") == number_of(port, "port"))
			return number_of(other, "nodePort");
	}
	return 0;
}

static int refuse_port(struct service_change *s, int at, int port)
{
	char *field = xasprintf("spec.ports[%d].nodePort", at);
	int rc = write_invalid(s->w, "Service", "FieldValueInvalid", field,
		"Invalid value: %d: provided port is already allocated", port);

	free(field);
	return rc;
}

static int settle_port(struct service_change *s, cJSON *port, int at)
{
	int asked = number_of(port, "nodePort");
	char *label;

	if (!asked)
		asked = node_port_like(s->old, port, true);
	if (!asked)
		asked = node_port_like(s->spec, port, false);
	if (asked && service_pool_has_port(s->pool, asked))
		return refuse_port(s, at, asked);
	if (!asked) {
		label = xasprintf("%d/%s", number_of(port, "port"), json_tree_text(port, "protocol"));
		asked = service_pool_give_port(s->pool, label);
		free(label);
	}
	if (!asked)
		return status_set(&s->w->st, 500, "InternalError",
			"Internal error occurred: failed to allocate a nodePort: range is full");
	json_tree_set(port, "nodePort", cJSON_CreateNumber(asked));
	return 0;
}

static bool wants_node_ports(const cJSON *spec)
{
	return has_type(spec, "NodePort") ||
	       (has_type(spec, "LoadBalancer") &&
		       !cJSON_IsFalse(json_tree_at(spec, "allocateLoadBalancerNodePorts", NULL)));
}

/* A service that no longer has node ports loses them, unless its writer has changed them. */
static void drop_ports(struct service_change *s)
{
	cJSON *port;

	cJSON_ArrayForEach(port, json_tree_at(s->spec, "ports", NULL))
	{
		if (s->old && has_node_ports(s->old) &&
			number_of(port, "nodePort") == node_port_like(s->old, port, true))
			json_tree_set(port, "nodePort", NULL);
	}
}

static int settle_ports(struct service_change *s)
{
	cJSON *port;
	int rc = 0, at = 0;

	if (!has_node_ports(s->spec)) {
		drop_ports(s);
		return 0;
	}
	cJSON_ArrayForEach(port, json_tree_at(s->spec, "ports", NULL))
	{
		if (rc == 0 && (wants_node_ports(s->spec) || number_of(port, "nodePort")))
			rc = settle_port(s, port, at);
		at++;
	}
	return rc;
}

/* ---- the rest ---- */

static void settle_policies(struct service_change *s)
{
	cJSON *spec = s->spec, *timeout;

	if (is_external_name(spec)) {
		if (s->old && !is_external_name(s->old))
			json_tree_set(spec, "internalTrafficPolicy", NULL);
	} else {
		fill(spec, "internalTrafficPolicy", cJSON_CreateString("Cluster"));
	}
	if (has_node_ports(spec))
		fill(spec, "externalTrafficPolicy", cJSON_CreateString("Cluster"));
	else if (s->old && has_node_ports(s->old))
		json_tree_set(spec, "externalTrafficPolicy", NULL);
	if (has_type(spec, "LoadBalancer"))
		fill(spec, "allocateLoadBalancerNodePorts", cJSON_CreateTrue());
	else if (s->old && has_type(s->old, "LoadBalancer"))
		json_tree_set(spec, "allocateLoadBalancerNodePorts", NULL);
	if (strcmp(json_tree_text(spec, "sessionAffinity"), "ClientIP") == 0 &&
		!json_tree_at(spec, "sessionAffinityConfig", NULL)) {
		timeout = json_tree_object(json_tree_object(spec, "sessionAffinityConfig"), "clientIP");
		json_tree_set(timeout, "timeoutSeconds", cJSON_CreateNumber(10800));
	}
}

static int give_health_port(struct service_change *s)
{
	bool wanted = has_type(s->spec, "LoadBalancer") &&
		      strcmp(json_tree_text(s->spec, "externalTrafficPolicy"), "Local") == 0;

	if (wanted)
		keep(s, "healthCheckNodePort");
	if (wanted && !number_of(s->spec, "healthCheckNodePort"))
		json_tree_set(s->spec, "healthCheckNodePort",
			cJSON_CreateNumber(service_pool_give_port(s->pool, "health")));
	return 0;
}

static int settle(void *context)
{
	struct service_change *s = context;
	struct api *api = s->w->call->api;
	int rc;

	if (!api->services)
		api->services = service_pool_new(api->world);
	s->pool = api->services;
	service_pool_look(s->pool, s->w->c, (struct service_name){s->w->namespace, slice_of(s->w->name)});
	settle_policies(s);
	if (!s->old)
		fill(json_tree_object(s->object, "status"), "loadBalancer", cJSON_CreateObject());
	rc = settle_ip(s);
	if (rc == 0)
		rc = settle_ports(s);
	return rc ? rc : give_health_port(s);
}

int write_settle_service(struct write *w, cJSON *object)
{
	struct service_change s = {.w = w, .object = object};

	if (*w->c->resource.apigroup || strcmp(w->c->resource.resource, "services") != 0)
		return 0;
	s.spec = json_tree_object(object, "spec");
	s.old = json_tree_at(w->old, "spec", NULL);
	fill(s.spec, "type", cJSON_CreateString("ClusterIP"));
	return write_in_world(w, settle, &s);
}
