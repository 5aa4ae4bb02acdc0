/* table_writers_kinds.c: cells that only one kind has; see table_writers.h. */
#include "replayer/table/age.h"
#include "replayer/table/table_writers.h"
#include "schema/base/count_of.h"
#include "schema/base/moment.h"

#include <ctype.h>
#include <stdlib.h>

#define LISTED_MAX 3 /* of addresses, ports and hosts; the rest is counted */

/* Texts of which the first few are shown: "a,b,c + 2 more..." */
struct some {
	struct cell_joined shown;
	int count;
};

static void some_add(struct some *s, const char *text)
{
	if (s->count++ < LISTED_MAX)
		cell_join(&s->shown, ",", text);
}

static int some_put(const struct table_cell *c, struct some *s, const char *when_empty)
{
	char *more;

	if (s->count <= LISTED_MAX)
		return cell_put_joined(c, &s->shown, when_empty);
	more = xasprintf("+ %d more...", s->count - LISTED_MAX);
	cell_join(&s->shown, " ", more);
	free(more);
	return cell_put_joined(c, &s->shown, when_empty);
}

/* ---- jobs ---- */

int cell_job_status(const struct table_cell *c)
{
	static const struct {
		const char *condition, *word;
	} words[] = {{"Complete", "Complete"}, {"Failed", "Failed"}, {NULL, "Terminating"},
		{"Suspended", "Suspended"}, {"FailureTarget", "FailureTarget"},
		{"SuccessCriteriaMet", "SuccessCriteriaMet"}};

	for (size_t i = 0; i < COUNT_OF(words); i++) {
		if (words[i].condition ? cell_has_condition(c->object, words[i].condition)
				       : cell_at(c->object, "metadata.deletionTimestamp") != NULL)
			return cell_put_text(c, words[i].word);
	}
	return cell_put_text(c, "Running");
}

int cell_job_completions(const struct table_cell *c)
{
	long long done = cell_integer(c->object, "status.succeeded", 0);
	long long wanted = cell_integer(c->object, "spec.completions", -1);
	long long parallel = cell_integer(c->object, "spec.parallelism", 0);

	if (wanted >= 0)
		return cell_put_format(c, "%lld/%lld", done, wanted);
	if (parallel > 1)
		return cell_put_format(c, "%lld/1 of %lld", done, parallel);
	return cell_put_format(c, "%lld/1", done);
}

int cell_job_duration(const struct table_cell *c)
{
	const char *begin = cell_string(c->object, "status.startTime", "");
	struct slice end = slice_of(cell_string(c->object, "status.completionTime", ""));
	int64_t end_ns;
	char text[AGE_TEXT_MAX];

	if (!*begin)
		return cell_put_text(c, "");
	if (!moment_is_absolute(end, &end_ns))
		end_ns = c->now_ns;
	return cell_put_text(c, age_format(text, slice_of(begin), end_ns));
}

/* ---- services, endpoints, ingresses ---- */

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Addresses of a load balancer, sorted, without repeats. */
static void join_balancer(struct cell_joined *j, const cJSON *object)
{
	const cJSON *list = cell_at(object, "status.loadBalancer.ingress"), *entry;
	const char **texts = xcalloc((size_t)cJSON_GetArraySize(list), sizeof(*texts));
	size_t n = 0;

	cJSON_ArrayForEach(entry, list)
	{
		const char *ip = cell_string(entry, "ip", "");

		texts[n++] = *ip ? ip : cell_string(entry, "hostname", "");
	}
	if (n)
		qsort(texts, n, sizeof(*texts), compare_texts);
	for (size_t i = 0; i < n; i++) {
		if (*texts[i] && (i == 0 || strcmp(texts[i], texts[i - 1]) != 0))
			cell_join(j, ",", texts[i]);
	}
	free(texts);
}

int cell_external_ip(const struct table_cell *c)
{
	const char *type = cell_string(c->object, "spec.type", "");
	struct cell_joined j = {0};
	const cJSON *ip;

	if (strcmp(type, "ExternalName") == 0)
		return cell_put_text(c, cell_string(c->object, "spec.externalName", ""));
	if (!*type)
		return cell_put_text(c, "<unknown>");
	if (strcmp(type, "LoadBalancer") == 0)
		join_balancer(&j, c->object);
	cJSON_ArrayForEach(ip, cell_at(c->object, "spec.externalIPs"))
	{
		cell_join(&j, ",", cJSON_IsString(ip) ? ip->valuestring : "");
	}
	return cell_put_joined(c, &j, strcmp(type, "LoadBalancer") == 0 ? "<pending>" : "<none>");
}

int cell_service_ports(const struct table_cell *c)
{
	struct cell_joined j = {0};
	const cJSON *port;

	cJSON_ArrayForEach(port, cell_at(c->object, "spec.ports"))
	{
		long long node_port = cell_integer(port, "nodePort", 0);
		char *text = node_port > 0
				     ? xasprintf("%lld:%lld/%s", (long long)cell_integer(port, "port", 0),
					       node_port, cell_string(port, "protocol", ""))
				     : xasprintf("%lld/%s", (long long)cell_integer(port, "port", 0),
					       cell_string(port, "protocol", ""));

		cell_join(&j, ",", text);
		free(text);
	}
	return cell_put_joined(c, &j, "<none>");
}

/* Every address of a subset with one of its ports, or alone. */
static void add_addresses(struct some *s, const cJSON *subset, const cJSON *port)
{
	const cJSON *address;

	cJSON_ArrayForEach(address, cell_at(subset, "addresses"))
	{
		const char *ip = cell_string(address, "ip", "");
		bool six = strchr(ip, ':') != NULL;
		char *text = port ? xasprintf("%s%s%s:%lld", six ? "[" : "", ip, six ? "]" : "",
					    (long long)cell_integer(port, "port", 0))
				  : xstrdup(ip);

		some_add(s, text);
		free(text);
	}
}

int cell_endpoints(const struct table_cell *c)
{
	struct some s = {0};
	const cJSON *subset, *port;

	if (cJSON_GetArraySize(cell_at(c->object, "subsets")) == 0)
		return cell_put_text(c, "<none>");
	cJSON_ArrayForEach(subset, cell_at(c->object, "subsets"))
	{
		if (cJSON_GetArraySize(cell_at(subset, "ports")) == 0)
			add_addresses(&s, subset, NULL);
		cJSON_ArrayForEach(port, cell_at(subset, "ports"))
		{
			add_addresses(&s, subset, port);
		}
	}
	return some_put(c, &s, "");
}

int cell_slice_ports(const struct table_cell *c)
{
	struct some s = {0};
	const cJSON *port;

	cJSON_ArrayForEach(port, cell_at(c->object, "ports"))
	{
		char *number = xasprintf("%lld", (long long)cell_integer(port, "port", 0));

		some_add(&s, cell_at(port, "port") ? number : cell_string(port, "name", "*"));
		free(number);
	}
	return some_put(c, &s, "<unset>");
}

int cell_slice_endpoints(const struct table_cell *c)
{
	struct some s = {0};
	const cJSON *endpoint, *address;

	cJSON_ArrayForEach(endpoint, cell_at(c->object, "endpoints"))
	{
		cJSON_ArrayForEach(address, cell_at(endpoint, "addresses"))
		{
			some_add(&s, cJSON_IsString(address) ? address->valuestring : "");
		}
	}
	return some_put(c, &s, "<unset>");
}

int cell_ingress_hosts(const struct table_cell *c)
{
	struct some s = {0};
	const cJSON *rule;

	cJSON_ArrayForEach(rule, cell_at(c->object, "spec.rules"))
	{
		const char *host = cell_string(rule, "host", "");

		if (*host)
			some_add(&s, host);
	}
	return some_put(c, &s, "*");
}

int cell_balancer_address(const struct table_cell *c)
{
	struct cell_joined j = {0};

	join_balancer(&j, c->object);
	return cell_put_joined(c, &j, "");
}

int cell_ingress_ports(const struct table_cell *c)
{
	return cell_put_text(c, cJSON_GetArraySize(cell_at(c->object, "spec.tls")) ? "80, 443" : "80");
}

int cell_parameters(const struct table_cell *c)
{
	const cJSON *p = cell_at(c->object, "spec.parameters");
	const char *group = cell_string(p, "apiGroup", "");

	if (!p)
		return cell_put_text(c, "<none>");
	return cell_put_format(c, "%s%s%s/%s", cell_string(p, "kind", ""), *group ? "." : "", group,
		cell_string(p, "name", ""));
}

/* ---- nodes ---- */

int cell_node_status(const struct table_cell *c)
{
	const cJSON *ready = cell_entry(cell_at(c->object, "status.conditions"), "type", "Ready");
	bool is_ready = ready && strcmp(cell_string(ready, "status", ""), "True") == 0;
	bool closed = cJSON_IsTrue(cell_at(c->object, "spec.unschedulable"));

	return cell_put_format(c, "%s%s",
		!ready     ? "Unknown"
		: is_ready ? "Ready"
			   : "NotReady",
		closed ? ",SchedulingDisabled" : "");
}

int cell_node_roles(const struct table_cell *c)
{
	static const char prefix[] = "node-role.kubernetes.io/";
	const cJSON *labels = cell_at(c->object, "metadata.labels"), *label;
	const char **roles = xcalloc((size_t)cJSON_GetArraySize(labels), sizeof(*roles));
	struct cell_joined j = {0};
	size_t n = 0;

	cJSON_ArrayForEach(label, labels)
	{
		const char *key = label->string ? label->string : "";

		if (strncmp(key, prefix, sizeof(prefix) - 1) == 0 && key[sizeof(prefix) - 1])
			roles[n++] = key + sizeof(prefix) - 1;
		else if (strcmp(key, "kubernetes.io/role") == 0 && cJSON_IsString(label) &&
			 *label->valuestring)
			roles[n++] = label->valuestring;
	}
	if (n)
		qsort(roles, n, sizeof(*roles), compare_texts);
	for (size_t i = 0; i < n; i++) {
		if (i == 0 || strcmp(roles[i], roles[i - 1]) != 0)
			cell_join(&j, ",", roles[i]);
	}
	free(roles);
	return cell_put_joined(c, &j, "<none>");
}

int cell_node_address(const struct table_cell *c)
{
	const cJSON *address = cell_entry(cell_at(c->object, "status.addresses"), "type", c->column->a);

	return cell_put_text(c, address ? cell_string(address, "address", "") : "<none>");
}

int cell_node_kernel(const struct table_cell *c)
{
	const char *kernel = cell_string(c->object, "status.nodeInfo.kernelVersion", "");
	const char *architecture = cell_string(c->object, "status.nodeInfo.architecture", "");

	return cell_put_format(
		c, *architecture ? "%s (%s)" : "%s%s", *kernel ? kernel : "<unknown>", architecture);
}

/* ---- events, in both of their forms ---- */

/* A member under its name in the core group, else under that of events.k8s.io. */
static const char *event_string(const cJSON *event, const char *core, const char *newer)
{
	const char *text = cell_string(event, core, "");

	return *text ? text : cell_string(event, newer, "");
}

static const char *first_seen(const cJSON *event)
{
	const char *time = event_string(event, "firstTimestamp", "deprecatedFirstTimestamp");

	return *time ? time : cell_string(event, "eventTime", "");
}

int cell_event_first(const struct table_cell *c)
{
	return cell_put_age(c, first_seen(c->object));
}

int cell_event_last(const struct table_cell *c)
{
	const char *time = cell_string(c->object, "series.lastObservedTime", "");

	if (!*time)
		time = event_string(c->object, "lastTimestamp", "deprecatedLastTimestamp");
	return cell_put_age(c, *time ? time : first_seen(c->object));
}

int cell_event_object(const struct table_cell *c)
{
	char *kind = xstrdup(event_string(c->object, "involvedObject.kind", "regarding.kind"));
	const char *name = event_string(c->object, "involvedObject.name", "regarding.name");
	int rc;

	for (char *at = kind; *at; at++)
		*at = (char)tolower((unsigned char)*at);
	rc = cell_put_format(c, "%s%s%s", kind, *name ? "/" : "", name);
	free(kind);
	return rc;
}

int cell_event_field(const struct table_cell *c)
{
	return cell_put_text(c, event_string(c->object, "involvedObject.fieldPath", "regarding.fieldPath"));
}

int cell_event_source(const struct table_cell *c)
{
	const char *component = event_string(c->object, "source.component", "deprecatedSource.component");
	const char *host = event_string(c->object, "source.host", "deprecatedSource.host");

	if (!*component)
		component = event_string(c->object, "reportingComponent", "reportingController");
	if (!*host)
		host = cell_string(c->object, "reportingInstance", "");
	return cell_put_format(c, "%s%s%s", component, *host ? ", " : "", host);
}

int cell_event_message(const struct table_cell *c)
{
	const char *text = event_string(c->object, "message", "note");
	size_t len;

	while (isspace((unsigned char)*text))
		text++;
	len = strlen(text);
	while (len && isspace((unsigned char)text[len - 1]))
		len--;
	return cell_put_format(c, "%.*s", (int)len, text);
}

int cell_event_count(const struct table_cell *c)
{
	int64_t count = cell_integer(c->object, "series.count", 0);

	if (!count)
		count = cell_integer(c->object, "count", cell_integer(c->object, "deprecatedCount", 0));
	return cell_put_integer(c, count ? count : 1);
}

/* ---- storage ---- */

int cell_access_modes(const struct table_cell *c)
{
	static const struct {
		const char *mode, *text;
	} modes[] = {{"ReadWriteOnce", "RWO"}, {"ReadOnlyMany", "ROX"}, {"ReadWriteMany", "RWX"},
		{"ReadWriteOncePod", "RWOP"}};
	struct cell_joined j = {0};

	for (size_t i = 0; i < COUNT_OF(modes); i++) {
		const cJSON *entry;

		cJSON_ArrayForEach(entry, cell_at(c->object, c->column->a))
		{
			if (cJSON_IsString(entry) && strcmp(entry->valuestring, modes[i].mode) == 0) {
				cell_join(&j, ",", modes[i].text);
				break;
			}
		}
	}
	return cell_put_joined(c, &j, "");
}

int cell_phase(const struct table_cell *c)
{
	if (cell_at(c->object, "metadata.deletionTimestamp"))
		return cell_put_text(c, "Terminating");
	return cell_put_text(c, cell_string(c->object, "status.phase", ""));
}

int cell_claim(const struct table_cell *c)
{
	const cJSON *claim = cell_at(c->object, "spec.claimRef");

	if (!claim)
		return cell_put_text(c, "");
	return cell_put_format(
		c, "%s/%s", cell_string(claim, "namespace", ""), cell_string(claim, "name", ""));
}

int cell_storage_class(const struct table_cell *c)
{
	const cJSON *annotations = cell_at(c->object, "metadata.annotations");
	const cJSON *mark =
		cJSON_GetObjectItemCaseSensitive(annotations, "storageclass.kubernetes.io/is-default-class");
	bool is_default = cJSON_IsString(mark) && strcmp(mark->valuestring, "true") == 0;

	return cell_put_format(
		c, "%s%s", cell_string(c->object, "metadata.name", ""), is_default ? " (default)" : "");
}

/* ---- rights and API services ---- */

int cell_role(const struct table_cell *c)
{
	return cell_put_format(c, "%s/%s", cell_string(c->object, "roleRef.kind", ""),
		cell_string(c->object, "roleRef.name", ""));
}

int cell_subjects(const struct table_cell *c)
{
	struct cell_joined j = {0};
	const cJSON *subject;

	cJSON_ArrayForEach(subject, cell_at(c->object, "subjects"))
	{
		bool account = strcmp(c->column->a, "ServiceAccount") == 0;
		char *text;

		if (strcmp(cell_string(subject, "kind", ""), c->column->a) != 0)
			continue;
		text = xasprintf("%s%s%s", account ? cell_string(subject, "namespace", "") : "",
			account ? "/" : "", cell_string(subject, "name", ""));
		cell_join(&j, ", ", text);
		free(text);
	}
	return cell_put_joined(c, &j, "");
}

int cell_api_service(const struct table_cell *c)
{
	const cJSON *service = cell_at(c->object, "spec.service");

	if (!service)
		return cell_put_text(c, "Local");
	return cell_put_format(
		c, "%s/%s", cell_string(service, "namespace", ""), cell_string(service, "name", ""));
}

int cell_available(const struct table_cell *c)
{
	const cJSON *condition = cell_entry(cell_at(c->object, "status.conditions"), "type", "Available");
	const char *status = cell_string(condition, "status", "Unknown");
	const char *reason = cell_string(condition, "reason", "");

	if (strcmp(status, "True") == 0 || !*reason)
		return cell_put_text(c, status);
	return cell_put_format(c, "%s (%s)", status, reason);
}
