/* gen_cluster.c: nodes, leases, Events, custom resources, secrets, bookmarks. */
#include "tests/bench/gen.h"

#include <stdlib.h>

static void write_node_conditions(const struct node *n, struct buf *to)
{
	static const char *const rows[][3] = {
		{"MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"},
		{"DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"},
		{"PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"},
		{"Ready", "KubeletReady", "kubelet is posting ready status"},
	};
	char beat[32], since[32];

	gen_time(beat, n->heartbeat_ms);
	gen_time(since, n->meta.created_ms);
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		put(to,
			"%s{'type':'%s','status':'%s','lastHeartbeatTime':'%s','lastTransitionTime':'%s',"
			"'reason':'%s','message':'%s'}",
			i ? "," : "", rows[i][0], i == 3 ? "True" : "False", beat, since, rows[i][1],
			rows[i][2]);
}

static void write_node_status(struct gen *g, const struct node *n, struct buf *to)
{
	put(to, "{'capacity':{'cpu':'16','ephemeral-storage':'209612780Ki','hugepages-1Gi':'0',"
		"'hugepages-2Mi':'0','memory':'64816012Ki','pods':'110'},'allocatable':{'cpu':'15890m',"
		"'ephemeral-storage':'192105397243','hugepages-1Gi':'0','hugepages-2Mi':'0',"
		"'memory':'63799180Ki','pods':'110'},'conditions':[");
	write_node_conditions(n, to);
	put(to,
		"],'addresses':[{'type':'InternalIP','address':'10.0.%u.10'},{'type':'Hostname',"
		"'address':'%s'},{'type':'InternalDNS','address':'%s.eu-central-1.compute.internal'}],"
		"'daemonEndpoints':{'kubeletEndpoint':{'Port':10250}},",
		n->number, n->meta.name, n->meta.name);
	put(to,
		"'nodeInfo':{'machineID':'%.8s%.4s%.4s%.12s','systemUUID':'%s','bootID':'%s',"
		"'kernelVersion':'6.1.0-31-amd64','osImage':'Debian GNU/Linux 12 (bookworm)',"
		"'containerRuntimeVersion':'containerd://1.7.27','kubeletVersion':'v1.34.2',"
		"'kubeProxyVersion':'','operatingSystem':'linux','architecture':'amd64'},'images':[",
		n->meta.uid, n->meta.uid + 9, n->meta.uid + 14, n->meta.uid + 24, n->meta.uid,
		n->lease_meta.uid);
	for (unsigned i = 0; i < 50; i++) {
		const struct app *a = &g->apps[(n->first_image + i * 3) % APP_COUNT];
		char image[160];

		app_image(a, 0, a->revision, image);
		put(to, "%s{'names':['%.*s@sha256:%s','%s'],'sizeBytes':%u}", i ? "," : "",
			(int)strcspn(image, ":"), image, a->digest, image, 20000000 + a->number * 1234567);
	}
	put(to, "],'runtimeHandlers':[{'name':'','features':{'recursiveReadOnlyMounts':true,"
		"'userNamespaces':true}}],'features':{'supplementalGroupsPolicy':true}}");
}

void node_emit(struct gen *g, struct node *n, const char *type)
{
	struct buf status, *to = &g->text;
	char made[32], beat[32];

	n->heartbeat_ms = g->now_ms;
	buf_init(&status, TEXT_MAX);
	write_node_status(g, n, &status);
	buf_clear(to);
	put(to,
		"{'kind':'Node','apiVersion':'v1','metadata':{'name':'%s','uid':'%s',"
		"'resourceVersion':'%08llu','creationTimestamp':'%s',"
		"'labels':{'beta.kubernetes.io/arch':'amd64','kubernetes.io/arch':'amd64',"
		"'kubernetes.io/hostname':'%s','kubernetes.io/os':'linux',"
		"'node.kubernetes.io/instance-type':'m7i.4xlarge',"
		"'topology.kubernetes.io/region':'eu-central-1',"
		"'topology.kubernetes.io/zone':'eu-central-1%c'},"
		"'annotations':{'node.alpha.kubernetes.io/ttl':'0',"
		"'volumes.kubernetes.io/controller-managed-attach-detach':'true'},",
		n->meta.name, n->meta.uid, (unsigned long long)gen_next_rv(g),
		gen_time(made, n->meta.created_ms), n->meta.name, 'a' + (char)(n->number % 3));
	put(to,
		"'managedFields':[{'manager':'kubelet','operation':'Update','apiVersion':'v1','time':'%s',"
		"'fieldsType':'FieldsV1','fieldsV1':{'f:status':",
		gen_time(beat, g->now_ms));
	put_fields(to, buf_slice(&status));
	put(to,
		"},'subresource':'status'}]},'spec':{'podCIDR':'10.%u.0.0/24','podCIDRs':['10.%u.0.0/24'],"
		"'providerID':'aws:///eu-central-1%c/i-%.8s%.8s'},'status':%.*s}",
		64 + n->number % 64, 64 + n->number % 64, 'a' + (char)(n->number % 3), n->meta.uid,
		n->lease_meta.uid, (int)status.len, status.ptr);
	gen_emit(g, type, to);
	buf_release(&status);
}

void lease_emit(struct gen *g, const struct meta *m, const char *holder, unsigned seconds, const char *type)
{
	struct buf *to = &g->text;
	char made[32], now[32], renewed[32];

	gen_time(made, m->created_ms);
	buf_clear(to);
	put(to,
		"{'kind':'Lease','apiVersion':'coordination.k8s.io/v1','metadata':{'name':'%s',"
		"'namespace':'%s','uid':'%s','resourceVersion':'%08llu','creationTimestamp':'%s',",
		m->name, m->namespace, m->uid, (unsigned long long)gen_next_rv(g), made);
	if (seconds == 40)
		put(to, "'ownerReferences':[{'apiVersion':'v1','kind':'Node','name':'%s','uid':'%s'}],",
			m->name, m->uid);
	put(to,
		"'managedFields':[{'manager':'%s','operation':'Update',"
		"'apiVersion':'coordination.k8s.io/v1','time':'%s','fieldsType':'FieldsV1',"
		"'fieldsV1':{'f:metadata':{'f:ownerReferences':{'.':{},'k:{\\'uid\\':\\'%s\\'}':{}}},"
		"'f:spec':{'f:acquireTime':{},'f:holderIdentity':{},'f:leaseDurationSeconds':{},"
		"'f:leaseTransitions':{},'f:renewTime':{}}}}]},'spec':{'holderIdentity':'%s',"
		"'leaseDurationSeconds':%u,",
		seconds == 40 ? "kubelet" : m->name, gen_time(now, g->now_ms), m->uid, holder, seconds);
	if (seconds != 40)
		put(to, "'acquireTime':'%.19s.000000Z','leaseTransitions':3,", made);
	put(to, "'renewTime':'%s'}}", gen_micro_time(renewed, g->now_ms, gen_below(g, 1000)));
	gen_emit(g, type, to);
}

void event_emit(struct gen *g, struct pod *p, const char *component, const char *reason, const char *message)
{
	struct kept_event *e = xcalloc(1, sizeof(*e));
	struct buf *to = &g->text;
	char now[32], tail[9];
	const char *rv;

	gen_time(now, g->now_ms);
	gen_hex(g, tail, 8);
	buf_clear(to);
	put(to,
		"{'kind':'Event','apiVersion':'v1','metadata':{'name':'%s.18a%05llx%s','namespace':'%s',"
		"'uid':'",
		p->meta.name, (unsigned long long)(g->now_ms / 4096 & 0xfffff), tail, p->meta.namespace);
	gen_uid(g, buf_reserve(to, 64));
	to->len += 36;
	put(to, "','resourceVersion':'%08llu','creationTimestamp':'%s',", (unsigned long long)gen_next_rv(g),
		now);
	rv = memmem(to->ptr, to->len, "resourceVersion", 15);
	e->rv_at = (size_t)(rv - to->ptr) + strlen("resourceVersion':'");
	put(to,
		"'managedFields':[{'manager':'%s','operation':'Update','apiVersion':'v1','time':'%s',"
		"'fieldsType':'FieldsV1','fieldsV1':{'f:count':{},'f:firstTimestamp':{},"
		"'f:involvedObject':{},'f:lastTimestamp':{},'f:message':{},'f:reason':{},"
		"'f:reportingComponent':{},'f:reportingInstance':{},'f:source':{'f:component':{},"
		"'f:host':{}},'f:type':{}}}]},",
		component, now);
	put(to,
		"'involvedObject':{'kind':'Pod','namespace':'%s','name':'%s','uid':'%s','apiVersion':'v1',"
		"'resourceVersion':'%08llu','fieldPath':'spec.containers{%s}'},'reason':'%s',"
		"'message':'%s','source':{'component':'%s','host':'%s'},",
		p->meta.namespace, p->meta.name, p->meta.uid, (unsigned long long)g->rv - 2,
		p->app->meta.name, reason, message, component, p->node ? p->node->meta.name : "");
	put(to,
		"'firstTimestamp':'%s','lastTimestamp':'%s','count':%u,'type':'%s','eventTime':null,"
		"'reportingComponent':'%s','reportingInstance':'%s'}",
		now, now, 1 + p->restarts, p->restarts ? "Warning" : "Normal", component,
		p->node ? p->node->meta.name : "");
	gen_emit(g, "ADDED", to);
	e->json = slice_dup(buf_slice(to));
	e->len = to->len;
	gen_after(g, 30 * 60 * 1000, TIMER_EVENT_EXPIRY, e);
}

/* etcd deletes it when its lease ends; the event carries the resourceVersion of that moment. */
void event_expire(struct gen *g, struct kept_event *e)
{
	char rv[9];

	snprintf(rv, sizeof(rv), "%08llu", (unsigned long long)gen_next_rv(g) % 100000000);
	memcpy(e->json + e->rv_at, rv, 8);
	gen_emit(g, "DELETED", &(struct buf){.ptr = e->json, .len = e->len});
	free(e->json);
	free(e);
}

/* A custom resource: all keys sorted, as the API server writes what it keeps as a map. */
static void write_custom_head(struct gen *g, const char *api_version, const char *kind, const struct meta *m,
	const char *manager, const char *fields, struct buf *to)
{
	char made[32], now[32];

	buf_clear(to);
	put(to,
		"{'apiVersion':'%s','kind':'%s','metadata':{'annotations':{'deploy.example.com/revision':"
		"'%u'},'creationTimestamp':'%s','generation':%u,'labels':{'team':'team-%u'},"
		"'managedFields':[{'apiVersion':'%s','fieldsType':'FieldsV1','fieldsV1':%s,'manager':'%s',"
		"'operation':'Update','time':'%s'}],'name':'%s',",
		api_version, kind, m->generation, gen_time(made, m->created_ms), m->generation,
		(unsigned)m->uid[0] % 11, api_version, fields, manager, gen_time(now, g->now_ms), m->name);
	if (*m->namespace)
		put(to, "'namespace':'%s',", m->namespace);
	put(to, "'resourceVersion':'%08llu','uid':'%s'},", (unsigned long long)gen_next_rv(g), m->uid);
}

static void write_application_resources(struct app *a, struct buf *to)
{
	static const char *const kinds[] = {"ConfigMap", "Service", "ServiceAccount", "Deployment",
		"HorizontalPodAutoscaler", "NetworkPolicy", "PodDisruptionBudget", "ServiceMonitor",
		"Ingress", "Secret"};

	for (unsigned i = 0; i < 30 + a->number % 20; i++)
		put(to,
			"%s{'group':'%s','health':{'lastTransitionTime':'2026-01-1%uT0%u:%02u:00Z',"
			"'status':'Healthy'},'kind':'%s','name':'%s-%u','namespace':'%s',"
			"'status':'Synced','version':'v1'}",
			i ? "," : "", i % 3 ? "apps" : "", i % 5, i % 10, (a->number + i * 7) % 60,
			kinds[i % COUNT_OF(kinds)], a->meta.name, i, a->meta.namespace);
}

void application_emit(struct gen *g, struct app *a, const char *type)
{
	struct meta m = a->slice_meta;
	struct buf *to = &g->text;
	char now[32];

	gen_time(now, g->now_ms);
	snprintf(m.name, sizeof(m.name), "%s", a->meta.name);
	snprintf(m.namespace, sizeof(m.namespace), "argocd");
	m.uid[0] = m.uid[0] == 'a' ? 'b' : 'a';
	write_custom_head(g, "argoproj.io/v1alpha1", "Application", &m, "argocd-application-controller",
		"{\"f:status\":{\".\":{},\"f:conditions\":{},\"f:health\":{\".\":{},\"f:status\":{}},"
		"\"f:history\":{},\"f:operationState\":{\".\":{},\"f:finishedAt\":{},\"f:phase\":{}},"
		"\"f:reconciledAt\":{},\"f:resources\":{},\"f:sourceType\":{},\"f:summary\":{\".\":{},"
		"\"f:images\":{}},\"f:sync\":{\".\":{},\"f:revision\":{},\"f:status\":{}}}}",
		to);
	put(to,
		"'spec':{'destination':{'namespace':'%s','server':'https://kubernetes.default.svc'},"
		"'project':'default','source':{'helm':{'valueFiles':['values.yaml','values-prod.yaml']},"
		"'path':'apps/%s','repoURL':'https://git.example.com/deploy/apps.git',"
		"'targetRevision':'main'},'syncPolicy':{'automated':{'prune':true,'selfHeal':true}}},"
		"'status':{'health':{'status':'%s'},'history':[",
		a->meta.namespace, a->meta.name, a->rolling ? "Progressing" : "Healthy");
	for (unsigned i = 0; i < 10; i++)
		put(to,
			"%s{'deployStartedAt':'2026-01-1%uT08:%02u:17Z',"
			"'deployedAt':'2026-01-1%uT08:%02u:29Z','id':%u,'revision':'%.32s%08u',"
			"'source':{'path':'apps/%s','repoURL':'https://git.example.com/deploy/apps.git',"
			"'targetRevision':'main'}}",
			i ? "," : "", i % 5, (a->number + i) % 60, i % 5, (a->number + i) % 60,
			a->revision + i, a->digest + i, a->revision + i, a->meta.name);
	put(to,
		"],'operationState':{'finishedAt':'%s','phase':'Succeeded'},'reconciledAt':'%s',"
		"'resources':[",
		gen_time(now, a->progressed_ms), gen_time(now, g->now_ms));
	write_application_resources(a, to);
	put(to,
		"],'sourceType':'Helm','summary':{'images':['images.example.com/%s/%s']},"
		"'sync':{'revision':'%.40s','status':'Synced'}}}",
		a->meta.namespace, a->meta.name, a->digest);
	gen_emit(g, type, to);
}

void operator_emit(struct gen *g, const struct meta *m, const char *type)
{
	static const char *const types[] = {
		"Available", "Degraded", "Progressing", "Upgradeable", "EvaluationConditionsDetected"};
	struct buf *to = &g->text;
	char since[32];

	write_custom_head(g, "config.openshift.io/v1", "ClusterOperator", m, "cluster-version-operator",
		"{\"f:spec\":{},\"f:status\":{\".\":{},\"f:conditions\":{},\"f:extension\":{},"
		"\"f:relatedObjects\":{},\"f:versions\":{}}}",
		to);
	put(to, "'spec':{},'status':{'conditions':[");
	gen_time(since, m->created_ms);
	for (size_t i = 0; i < COUNT_OF(types); i++)
		put(to,
			"%s{'lastTransitionTime':'%s','message':'All is well with %s: %u of %u "
			"controllers observed generation %u','reason':'AsExpected','status':'%s',"
			"'type':'%s'}",
			i ? "," : "", since, m->name, 12 + gen_below(g, 2), 13, m->generation,
			i == 0 ? "True" : "False", types[i]);
	put(to, "],'extension':null,'relatedObjects':[");
	for (unsigned i = 0; i < 8; i++)
		put(to, "%s{'group':'%s','name':'openshift-%s-%u','resource':'%s'}", i ? "," : "",
			i ? "apps" : "", m->name, i, i % 2 ? "deployments" : "namespaces");
	put(to, "],'versions':[{'name':'operator','version':'4.17.9'}]}}");
	gen_emit(g, type, to);
}

static void put_random_base64(struct gen *g, size_t len, struct buf *to)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *at = buf_reserve(to, len + 16);

	for (size_t i = 0; i < len; i += 10) {
		uint64_t bits = gen_random(g);

		for (size_t k = 0; k < 10 && i + k < len; k++, bits >>= 6)
			at[i + k] = digits[bits & 63];
	}
	to->len += len;
}

/* A Helm release: compressed by Helm, so that nobody can compress it again. */
void secret_emit(struct gen *g, struct app *a)
{
	struct buf *to = &g->text;
	char now[32], uid[37];

	gen_uid(g, uid);
	gen_time(now, g->now_ms);
	buf_clear(to);
	put(to,
		"{'kind':'Secret','apiVersion':'v1','metadata':{'name':'sh.helm.release.v1.%s.v%u',"
		"'namespace':'%s','uid':'%s','resourceVersion':'%08llu','creationTimestamp':'%s',"
		"'labels':{'modifiedAt':'%lld','name':'%s','owner':'helm','status':'deployed',"
		"'version':'%u'},",
		a->meta.name, a->revision, a->meta.namespace, uid, (unsigned long long)gen_next_rv(g), now,
		(long long)(g->now_ms / 1000), a->meta.name, a->revision);
	put(to,
		"'managedFields':[{'manager':'helm','operation':'Update','apiVersion':'v1','time':'%s',"
		"'fieldsType':'FieldsV1','fieldsV1':{'f:data':{'.':{},'f:release':{}},"
		"'f:metadata':{'f:labels':{'.':{},'f:modifiedAt':{},'f:name':{},'f:owner':{},"
		"'f:status':{},'f:version':{}}},'f:type':{}}}]},'data':{'release':'",
		now);
	put_random_base64(g, 4000 + gen_below(g, 8000), to);
	put(to, "'},'type':'helm.sh/release.v1'}");
	gen_emit(g, "ADDED", to);
}

void config_map_emit(struct gen *g, struct app *a)
{
	struct buf *to = &g->text;
	char now[32], uid[37];

	gen_uid(g, uid);
	gen_time(now, g->now_ms);
	buf_clear(to);
	put(to,
		"{'kind':'ConfigMap','apiVersion':'v1','metadata':{'name':'%s-config','namespace':'%s',"
		"'uid':'%s','resourceVersion':'%08llu','creationTimestamp':'%s','labels':{",
		a->meta.name, a->meta.namespace, uid, (unsigned long long)gen_next_rv(g), now);
	app_labels_write(a, to);
	put(to, "}},'data':{'config.yaml':'listen: 0.0.0.0:8080\\nmetrics: 0.0.0.0:9090\\nname: %s\\n",
		a->meta.name);
	for (unsigned i = 0; i < 8 + a->number % 30; i++)
		put(to, "upstream_%u:\\n  url: http://svc-%u.%s.svc.cluster.local:8080\\n  timeout: %us\\n",
			i, (a->number * i) % 97, a->meta.namespace, 1 + i % 9);
	put(to, "'}}");
	gen_emit(g, "ADDED", to);
}

void bookmark_emit(struct gen *g, const char *kind, const char *api_version)
{
	buf_clear(&g->text);
	put(&g->text,
		"{'kind':'%s','apiVersion':'%s','metadata':{'resourceVersion':'%08llu',"
		"'creationTimestamp':null}}",
		kind, api_version, (unsigned long long)g->rv);
	gen_emit(g, "BOOKMARK", &g->text);
}
