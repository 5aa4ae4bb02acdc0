/* gen_workloads.c: deployments, replica sets, endpoint slices, autoscalers and jobs. */
#include "tests/bench/gen.h"

void app_image(const struct app *a, unsigned container, unsigned revision, char to[160])
{
	static const char *const sidecars[] = {"mesh/proxy:1.22.3", "monitoring/exporter:0.9.1"};

	if (container == 0)
		snprintf(to, 160, "images.example.com/%s/%s:%u.%u.%u", a->meta.namespace, a->meta.name,
			1 + a->number % 5, a->number % 13, revision);
	else
		snprintf(to, 160, "images.example.com/%s", sidecars[container - 1]);
}

static struct replica_set *current_set(struct app *a)
{
	return &a->sets[1];
}

struct pod *app_add_pod(struct gen *g, struct app *a)
{
	struct replica_set *set = current_set(a);
	struct pod *p = xcalloc(1, sizeof(*p));
	char name[96], suffix[6];

	gen_letters(g, suffix, 5);
	gen_letters(g, p->suffix, 5);
	snprintf(name, sizeof(name), "%.70s-%s", set->meta.name, suffix);
	gen_meta(g, &p->meta, a->meta.namespace, name);
	p->app = a;
	p->revision = set->revision;
	memcpy(p->hash, set->hash, sizeof(p->hash));
	memcpy(p->owner_uid, set->meta.uid, sizeof(p->owner_uid));
	memcpy(p->owner_name, set->meta.name, sizeof(p->owner_name));
	p->of_job = a->job;
	p->crashes = !a->job && a->number % 40 == 7;
	if (a->pod_count < COUNT_OF(a->pods))
		a->pods[a->pod_count++] = p;
	set->made++;
	return p;
}

void app_forget_pod(struct pod *p)
{
	struct app *a = p->app;

	for (size_t i = 0; i < a->pod_count; i++) {
		if (a->pods[i] == p) {
			memmove(a->pods + i, a->pods + i + 1, (a->pod_count - i - 1) * sizeof(p));
			a->pod_count--;
			break;
		}
	}
}

static unsigned count_pods(const struct app *a, const char *owner_uid, bool ready_only)
{
	unsigned count = 0;

	for (size_t i = 0; i < a->pod_count; i++)
		count += (!owner_uid || memcmp(a->pods[i]->owner_uid, owner_uid, 36) == 0) &&
			 a->pods[i]->state < POD_TERMINATING &&
			 (!ready_only || a->pods[i]->state == POD_READY);
	return count;
}

static void write_head(
	struct gen *g, const char *kind, const char *api_version, const struct meta *m, struct buf *to)
{
	char made[32];

	buf_clear(to);
	put(to,
		"{'kind':'%s','apiVersion':'%s','metadata':{'name':'%s','namespace':'%s','uid':'%s',"
		"'resourceVersion':'%08llu','generation':%u,'creationTimestamp':'%s',",
		kind, api_version, m->name, m->namespace, m->uid, (unsigned long long)gen_next_rv(g),
		m->generation, gen_time(made, m->created_ms));
}

/* Two managers: who wrote the spec, and the controller that writes the status. */
static void write_managers(struct gen *g, const char *api_version, int64_t made_ms, const char *spec_manager,
	struct slice spec, const char *status_manager, struct slice status, struct buf *to)
{
	char made[32], now[32];

	put(to,
		"'managedFields':[{'manager':'%s','operation':'Update','apiVersion':'%s','time':'%s',"
		"'fieldsType':'FieldsV1','fieldsV1':{'f:spec':",
		spec_manager, api_version, gen_time(made, made_ms));
	put_fields(to, spec);
	put(to,
		"}},{'manager':'%s','operation':'Update','apiVersion':'%s','time':'%s',"
		"'fieldsType':'FieldsV1','fieldsV1':{'f:status':",
		status_manager, api_version, gen_time(now, g->now_ms));
	put_fields(to, status);
	put(to, "},'subresource':'status'}]},");
}

static void write_selector(struct app *a, const char *hash, struct buf *to)
{
	put(to,
		"'selector':{'matchLabels':{'app.kubernetes.io/instance':'%s-prod',"
		"'app.kubernetes.io/name':'%s'%s%s%s}}",
		a->meta.name, a->meta.name, hash ? ",\"pod-template-hash\":\"" : "", hash ? hash : "",
		hash ? "\"" : "");
}

static void write_deployment_status(struct gen *g, struct app *a, struct buf *to)
{
	unsigned all = count_pods(a, NULL, false), ready = count_pods(a, NULL, true);
	unsigned updated = count_pods(a, current_set(a)->meta.uid, false);
	char since[32], now[32];

	put(to,
		"{'observedGeneration':%u,'replicas':%u,'updatedReplicas':%u,'readyReplicas':%u,"
		"'availableReplicas':%u,",
		a->meta.generation, all, updated, ready, ready);
	if (all > ready)
		put(to, "'unavailableReplicas':%u,", all - ready);
	put(to,
		"'conditions':[{'type':'Available','status':'True','lastUpdateTime':'%s',"
		"'lastTransitionTime':'%s','reason':'MinimumReplicasAvailable',"
		"'message':'Deployment has minimum availability.'},",
		gen_time(since, a->meta.created_ms + 60000), since);
	put(to,
		"{'type':'Progressing','status':'True','lastUpdateTime':'%s','lastTransitionTime':'%s',"
		"'reason':'%s','message':'ReplicaSet \\'%s\\' %s.'}]}",
		gen_time(now, g->now_ms), since, a->rolling ? "ReplicaSetUpdated" : "NewReplicaSetAvailable",
		current_set(a)->meta.name, a->rolling ? "is progressing" : "has successfully progressed");
}

void app_emit(struct gen *g, struct app *a, const char *type)
{
	struct buf spec, status, *to = &g->text;

	buf_init(&spec, TEXT_MAX);
	buf_init(&status, TEXT_MAX);
	put(&spec, "{'replicas':%u,", a->replicas);
	write_selector(a, NULL, &spec);
	put(&spec, ",'template':");
	pod_template_write(a, current_set(a)->revision, &spec);
	put(&spec, ",'strategy':{'type':'RollingUpdate','rollingUpdate':{'maxUnavailable':'25%%',"
		   "'maxSurge':'25%%'}},'revisionHistoryLimit':10,'progressDeadlineSeconds':600}");
	write_deployment_status(g, a, &status);
	write_head(g, "Deployment", "apps/v1", &a->meta, to);
	put(to, "'labels':{");
	app_labels_write(a, to);
	put(to,
		"},'annotations':{'deployment.kubernetes.io/revision':'%u',"
		"'meta.helm.sh/release-name':'%s','meta.helm.sh/release-namespace':'%s'},",
		current_set(a)->revision, a->meta.name, a->meta.namespace);
	write_managers(g, "apps/v1", a->meta.created_ms, "helm", buf_slice(&spec), "kube-controller-manager",
		buf_slice(&status), to);
	put(to, "'spec':%.*s,'status':%.*s}", (int)spec.len, spec.ptr, (int)status.len, status.ptr);
	gen_emit(g, type, to);
	buf_release(&spec);
	buf_release(&status);
}

void app_emit_set(struct gen *g, struct app *a, struct replica_set *set, const char *type)
{
	unsigned all = count_pods(a, set->meta.uid, false), ready = count_pods(a, set->meta.uid, true);
	struct buf spec, status, *to = &g->text;

	buf_init(&spec, TEXT_MAX);
	buf_init(&status, TEXT_MAX);
	put(&spec, "{'replicas':%u,", set->wanted);
	write_selector(a, set->hash, &spec);
	put(&spec, ",'template':");
	pod_template_write(a, set->revision, &spec);
	put(&spec, "}");
	put(&status,
		"{'replicas':%u,'fullyLabeledReplicas':%u,'readyReplicas':%u,'availableReplicas':%u,"
		"'observedGeneration':%u}",
		all, all, ready, ready, set->meta.generation);
	write_head(g, "ReplicaSet", "apps/v1", &set->meta, to);
	put(to, "'labels':{");
	app_labels_write(a, to);
	put(to,
		",'pod-template-hash':'%s'},'annotations':{'deployment.kubernetes.io/desired-replicas':"
		"'%u','deployment.kubernetes.io/max-replicas':'%u',"
		"'deployment.kubernetes.io/revision':'%u','meta.helm.sh/release-name':'%s',"
		"'meta.helm.sh/release-namespace':'%s'},",
		set->hash, a->replicas, a->replicas + (a->replicas + 3) / 4, set->revision, a->meta.name,
		a->meta.namespace);
	put(to,
		"'ownerReferences':[{'apiVersion':'apps/v1','kind':'Deployment','name':'%s','uid':'%s',"
		"'controller':true,'blockOwnerDeletion':true}],",
		a->meta.name, a->meta.uid);
	write_managers(g, "apps/v1", set->meta.created_ms, "kube-controller-manager", buf_slice(&spec),
		"kube-controller-manager", buf_slice(&status), to);
	put(to, "'spec':%.*s,'status':%.*s}", (int)spec.len, spec.ptr, (int)status.len, status.ptr);
	gen_emit(g, type, to);
	buf_release(&spec);
	buf_release(&status);
}

static void write_endpoint(const struct pod *p, struct buf *to)
{
	bool serving = p->state == POD_READY || p->state == POD_TERMINATING;

	put(to,
		"{'addresses':['10.%u.%u.%u'],'conditions':{'ready':%s,'serving':%s,'terminating':%s},"
		"'targetRef':{'kind':'Pod','namespace':'%s','name':'%s','uid':'%s'},'nodeName':'%s',"
		"'zone':'eu-central-1%c'}",
		64 + p->node->number % 64, p->meta.uid[0] % 256, p->meta.uid[3] + p->meta.uid[5],
		p->state == POD_READY ? "true" : "false", serving ? "true" : "false",
		p->state == POD_TERMINATING ? "true" : "false", p->meta.namespace, p->meta.name, p->meta.uid,
		p->node->meta.name, 'a' + (char)(p->node->number % 3));
}

void app_emit_slice(struct gen *g, struct app *a, const char *type)
{
	struct buf *to = &g->text;
	char now[32];
	bool first = true;

	a->slice_meta.generation++;
	write_head(g, "EndpointSlice", "discovery.k8s.io/v1", &a->slice_meta, to);
	put(to, "'labels':{");
	app_labels_write(a, to);
	put(to,
		",'endpointslice.kubernetes.io/managed-by':'endpointslice-controller.k8s.io',"
		"'kubernetes.io/service-name':'%s'},'annotations':"
		"{'endpoints.kubernetes.io/last-change-trigger-time':'%s'},",
		a->meta.name, gen_time(now, g->now_ms));
	put(to,
		"'ownerReferences':[{'apiVersion':'v1','kind':'Service','name':'%s','uid':'%s',"
		"'controller':true,'blockOwnerDeletion':true}],",
		a->meta.name, a->scaler_meta.uid);
	put(to,
		"'managedFields':[{'manager':'kube-controller-manager','operation':'Update',"
		"'apiVersion':'discovery.k8s.io/v1','time':'%s','fieldsType':'FieldsV1',"
		"'fieldsV1':{'f:addressType':{},'f:endpoints':{},'f:metadata':{'f:annotations':{'.':{},"
		"'f:endpoints.kubernetes.io/last-change-trigger-time':{}},'f:generateName':{},"
		"'f:labels':{'.':{},'f:endpointslice.kubernetes.io/managed-by':{},"
		"'f:kubernetes.io/service-name':{}},'f:ownerReferences':{'.':{},"
		"'k:{\\'uid\\':\\'%s\\'}':{}}},'f:ports':{}}}]},'addressType':'IPv4','endpoints':[",
		now, a->scaler_meta.uid);
	for (size_t i = 0; i < a->pod_count; i++) {
		if (a->pods[i]->state < POD_RUNNING || a->pods[i]->state > POD_TERMINATING)
			continue;
		put(to, first ? "" : ",");
		write_endpoint(a->pods[i], to);
		first = false;
	}
	put(to, "],'ports':[{'name':'http','port':8080,'protocol':'TCP'},{'name':'metrics','port':9090,"
		"'protocol':'TCP'}]}");
	gen_emit(g, type, to);
}

void app_emit_scaler(struct gen *g, struct app *a, const char *type)
{
	struct buf spec, status, *to = &g->text;
	char now[32];

	buf_init(&spec, TEXT_MAX);
	buf_init(&status, TEXT_MAX);
	put(&spec,
		"{'scaleTargetRef':{'kind':'Deployment','name':'%s','apiVersion':'apps/v1'},"
		"'minReplicas':2,'maxReplicas':%u,'metrics':[{'type':'Resource','resource':{'name':'cpu',"
		"'target':{'type':'Utilization','averageUtilization':70}}}]}",
		a->meta.name, MAX_REPLICAS);
	put(&status,
		"{'lastScaleTime':'%s','currentReplicas':%u,'desiredReplicas':%u,"
		"'currentMetrics':[{'type':'Resource','resource':{'name':'cpu',"
		"'current':{'averageUtilization':%u,'averageValue':'%um'}}}],",
		gen_time(now, a->scaled_ms), a->replicas, a->replicas, 20 + gen_below(g, 60),
		100 + gen_below(g, 900));
	put(&status,
		"'conditions':[{'type':'AbleToScale','status':'True','lastTransitionTime':'%s',"
		"'reason':'ReadyForNewScale','message':'recommended size matches current size'},"
		"{'type':'ScalingActive','status':'True','lastTransitionTime':'%s',"
		"'reason':'ValidMetricFound','message':'the HPA was able to successfully calculate a "
		"replica count from cpu resource utilization (percentage of request)'}]}",
		gen_time(now, a->meta.created_ms), now);
	write_head(g, "HorizontalPodAutoscaler", "autoscaling/v2", &a->scaler_meta, to);
	put(to, "'labels':{");
	app_labels_write(a, to);
	put(to, "},");
	write_managers(g, "autoscaling/v2", a->meta.created_ms, "helm", buf_slice(&spec),
		"kube-controller-manager", buf_slice(&status), to);
	put(to, "'spec':%.*s,'status':%.*s}", (int)spec.len, spec.ptr, (int)status.len, status.ptr);
	gen_emit(g, type, to);
	buf_release(&spec);
	buf_release(&status);
}

void app_start_rollout(struct gen *g, struct app *a)
{
	struct replica_set *set = current_set(a);
	char name[96];

	if (a->rolling || a->job)
		return;
	a->rolling = true;
	a->revision++;
	a->meta.generation++;
	a->sets[0] = *set;
	memset(set, 0, sizeof(*set));
	gen_letters(g, set->hash, 10);
	snprintf(name, sizeof(name), "%.60s-%s", a->meta.name, set->hash);
	gen_meta(g, &set->meta, a->meta.namespace, name);
	set->revision = a->revision;
	set->wanted = 1;
	app_emit(g, a, "MODIFIED");
	app_emit_set(g, a, set, "ADDED");
	gen_after(g, 50, TIMER_ROLL, a);
}

static struct pod *pick_pod(struct app *a, const char *owner_uid)
{
	for (size_t i = 0; i < a->pod_count; i++) {
		if (memcmp(a->pods[i]->owner_uid, owner_uid, 36) == 0 && a->pods[i]->state == POD_READY)
			return a->pods[i];
	}
	return NULL;
}

/* One new pod, then one old one less, until all are new. */
void app_roll(struct gen *g, struct app *a)
{
	struct replica_set *old = &a->sets[0], *set = current_set(a);
	unsigned fresh = count_pods(a, set->meta.uid, false);
	struct pod *victim = pick_pod(a, old->meta.uid);

	if (fresh < a->replicas && a->pod_count < COUNT_OF(a->pods)) {
		set->wanted = fresh + 1;
		set->meta.generation++;
		pod_enter(g, app_add_pod(g, a), POD_CREATED);
		app_emit_set(g, a, set, "MODIFIED");
	}
	if (victim && count_pods(a, NULL, true) > 1) {
		old->wanted = old->wanted ? old->wanted - 1 : 0;
		old->meta.generation++;
		pod_enter(g, victim, POD_TERMINATING);
		app_emit_set(g, a, old, "MODIFIED");
		app_emit_slice(g, a, "MODIFIED");
	}
	a->rolling = fresh + 1 < a->replicas || victim;
	app_emit(g, a, "MODIFIED");
	if (a->rolling)
		gen_after(g, 4000 + gen_below(g, 9000), TIMER_ROLL, a);
	else
		app_emit_set(g, a, old, "DELETED");
}

void app_scale(struct gen *g, struct app *a)
{
	struct replica_set *set = current_set(a);
	bool up = a->replicas < 3 || (a->replicas < MAX_REPLICAS / 2 && gen_chance(g, 50));
	struct pod *victim = up ? NULL : pick_pod(a, set->meta.uid);

	if (a->rolling || a->job || (!up && !victim) || a->pod_count >= COUNT_OF(a->pods))
		return;
	a->replicas += up ? 1 : -1u;
	a->scaled_ms = g->now_ms;
	set->wanted = a->replicas;
	set->meta.generation++;
	a->meta.generation++;
	app_emit(g, a, "MODIFIED");
	app_emit_set(g, a, set, "MODIFIED");
	pod_enter(g, up ? app_add_pod(g, a) : victim, up ? POD_CREATED : POD_TERMINATING);
}

/* A job is an app whose current set stands for the Job object; its pod keeps the name and the UID. */
void job_run(struct gen *g, struct app *a)
{
	struct replica_set *set = current_set(a);
	char name[96];
	struct pod *p;

	snprintf(name, sizeof(name), "%.60s-%lld", a->meta.name, (long long)(g->now_ms / 60000));
	gen_meta(g, &set->meta, a->meta.namespace, name);
	gen_letters(g, set->hash, 10);
	p = app_add_pod(g, a);
	job_emit(g, p, "ADDED");
	pod_enter(g, p, POD_CREATED);
	job_emit(g, p, "MODIFIED");
}

void job_emit(struct gen *g, struct pod *p, const char *type)
{
	struct app *a = p->app;
	struct buf spec, status, *to = &g->text;
	struct meta meta = p->meta;
	char began[32], ended[32];

	memcpy(meta.name, p->owner_name, sizeof(meta.name));
	memcpy(meta.uid, p->owner_uid, sizeof(meta.uid));
	buf_init(&spec, TEXT_MAX);
	buf_init(&status, TEXT_MAX);
	put(&spec,
		"{'parallelism':1,'completions':1,'backoffLimit':6,"
		"'selector':{'matchLabels':{'batch.kubernetes.io/controller-uid':'%s'}},'template':",
		p->owner_uid);
	pod_template_write(a, p->revision, &spec);
	put(&spec, ",'completionMode':'NonIndexed','suspend':false,"
		   "'podReplacementPolicy':'TerminatingOrFailed'}");
	put(&status, "{'startTime':'%s',", gen_time(began, p->meta.created_ms));
	if (p->state >= POD_DONE)
		put(&status,
			"'conditions':[{'type':'Complete','status':'True','lastProbeTime':'%s',"
			"'lastTransitionTime':'%s','reason':'CompletionsReached',"
			"'message':'Reached expected number of succeeded pods'}],'completionTime':'%s',"
			"'succeeded':1,",
			gen_time(ended, p->changed_ms), ended, ended);
	put(&status, "'active':%u,'terminating':0,'uncountedTerminatedPods':{},'ready':%u}",
		p->state < POD_DONE, p->state == POD_RUNNING);
	write_head(g, "Job", "batch/v1", &meta, to);
	put(to, "'labels':{");
	app_labels_write(a, to);
	put(to,
		"},'annotations':{'batch.kubernetes.io/cronjob-scheduled-timestamp':'%s'},"
		"'ownerReferences':[{'apiVersion':'batch/v1','kind':'CronJob','name':'%s','uid':'%s',"
		"'controller':true,'blockOwnerDeletion':true}],",
		began, a->meta.name, a->meta.uid);
	write_managers(g, "batch/v1", p->meta.created_ms, "kube-controller-manager", buf_slice(&spec),
		"kube-controller-manager", buf_slice(&status), to);
	put(to, "'spec':%.*s,'status':%.*s}", (int)spec.len, spec.ptr, (int)status.len, status.ptr);
	gen_emit(g, type, to);
	buf_release(&spec);
	buf_release(&status);
}
