/* gen_pods.c: pods: their bytes, and their lives. */
#include "tests/bench/gen.h"

void app_labels_write(struct app *a, struct buf *to)
{
	put(to,
		"'app.kubernetes.io/component':'%s','app.kubernetes.io/instance':'%s-prod',"
		"'app.kubernetes.io/managed-by':'Helm','app.kubernetes.io/name':'%s',"
		"'app.kubernetes.io/part-of':'%s','helm.sh/chart':'%s-%u.%u.0','team':'team-%u'",
		a->job ? "job" : "server", a->meta.name, a->meta.name, a->meta.namespace, a->meta.name,
		1 + a->number % 7, a->number % 23, a->number % 11);
}

static void write_env(struct app *a, unsigned container, struct buf *to)
{
	static const char *const names[] = {"LOG_LEVEL", "DATABASE_URL", "REDIS_ADDR", "HTTP_PORT",
		"METRICS_PORT", "OTEL_EXPORTER_OTLP_ENDPOINT", "FEATURE_FLAGS", "CACHE_TTL_SECONDS",
		"MAX_CONNECTIONS", "REGION", "QUEUE_NAME", "GOMAXPROCS", "REQUEST_TIMEOUT", "AUTH_ISSUER"};

	put(to,
		"'env':[{'name':'POD_NAME','valueFrom':{'fieldRef':{'apiVersion':'v1',"
		"'fieldPath':'metadata.name'}}},{'name':'DB_PASSWORD',"
		"'valueFrom':{'secretKeyRef':{'name':'%s-db','key':'password'}}}",
		a->meta.name);
	for (unsigned i = 0; i < a->env_count; i++) {
		unsigned n = (a->number * 7 + container * 3 + i) % (unsigned)COUNT_OF(names);

		put(to, ",{'name':'%s','value':'%s-%u.%s.svc.cluster.local:%u'}", names[n], a->meta.name,
			(a->number + n) % 9, a->meta.namespace, 1024 + (a->number * 131 + n * 17) % 60000);
	}
	put(to, "],");
}

static void write_probe(const char *kind, unsigned delay, unsigned period, struct buf *to)
{
	put(to,
		"'%s':{'httpGet':{'path':'/healthz','port':'http','scheme':'HTTP'},"
		"'initialDelaySeconds':%u,'timeoutSeconds':3,'periodSeconds':%u,'successThreshold':1,"
		"'failureThreshold':3},",
		kind, delay, period);
}

/* The token's volume has a random name in each pod; suffix NULL leaves it out, as in a template. */
static void write_container(
	struct app *a, unsigned number, unsigned revision, const char *suffix, struct buf *to)
{
	char image[160];

	app_image(a, number, revision, image);
	put(to, "{'name':'%s%s','image':'%s',",
		number == 0   ? a->meta.name
		: number == 1 ? "proxy"
			      : "metrics",
		number ? "-sidecar" : "", image);
	put(to, "'args':['--config=/etc/%s/config.yaml','--v=%u'],", a->meta.name, a->number % 4);
	put(to, "'ports':[{'name':'http','containerPort':%u,'protocol':'TCP'}],", 8080 + number);
	if (number == 0)
		write_env(a, number, to);
	put(to,
		"'resources':{'limits':{'cpu':'%u','memory':'%uMi'},'requests':{'cpu':'%um',"
		"'memory':'%uMi'}},",
		1 + a->number % 3, 256 << a->number % 4, 50 * (1 + a->number % 8), 128 << a->number % 4);
	put(to, "'volumeMounts':[{'name':'config','readOnly':true,'mountPath':'/etc/%s'}", a->meta.name);
	if (suffix)
		put(to,
			",{'name':'kube-api-access-%s','readOnly':true,"
			"'mountPath':'/var/run/secrets/kubernetes.io/serviceaccount'}",
			suffix);
	put(to, "],");
	if (!a->job && number == 0 && a->number % 2)
		write_probe("livenessProbe", 10, 10, to);
	if (!a->job && number == 0)
		write_probe("readinessProbe", 2, 5, to);
	put(to, "'terminationMessagePath':'/dev/termination-log','terminationMessagePolicy':'File',"
		"'imagePullPolicy':'IfNotPresent'");
	if (a->number % 3 == 0)
		put(to, ",'securityContext':{'capabilities':{'drop':['ALL']},"
			"'readOnlyRootFilesystem':true,'allowPrivilegeEscalation':false}");
	put(to, "}");
}

/* Pod NULL writes the spec of a template. */
static void write_spec(struct app *a, unsigned revision, struct pod *p, struct buf *to)
{
	put(to, "{'volumes':[{'name':'config','configMap':{'name':'%s-config','defaultMode':420}}",
		a->meta.name);
	if (p)
		put(to,
			",{'name':'kube-api-access-%s','projected':{'sources':[{'serviceAccountToken':"
			"{'expirationSeconds':3607,'path':'token'}},"
			"{'configMap':{'name':'kube-root-ca.crt','items':[{'key':'ca.crt',"
			"'path':'ca.crt'}]}},{'downwardAPI':{'items':[{'path':'namespace',"
			"'fieldRef':{'apiVersion':'v1','fieldPath':'metadata.namespace'}}]}}],"
			"'defaultMode':420}}",
			p->suffix);
	put(to, "],'containers':[");
	for (unsigned i = 0; i < a->containers; i++) {
		put(to, i ? "," : "");
		write_container(a, i, revision, p ? p->suffix : NULL, to);
	}
	put(to,
		"],'restartPolicy':'%s','terminationGracePeriodSeconds':30,'dnsPolicy':'ClusterFirst',"
		"'serviceAccountName':'%s','serviceAccount':'%s',",
		a->job ? "OnFailure" : "Always", a->meta.name, a->meta.name);
	if (p && p->node)
		put(to, "'nodeName':'%s',", p->node->meta.name);
	put(to,
		"'securityContext':{'runAsUser':%u,'runAsNonRoot':true,'fsGroup':%u,"
		"'seccompProfile':{'type':'RuntimeDefault'}},'schedulerName':'default-scheduler'",
		1000 + a->number, 1000 + a->number);
	if (p)
		put(to, ",'tolerations':[{'key':'node.kubernetes.io/not-ready','operator':'Exists',"
			"'effect':'NoExecute','tolerationSeconds':300},"
			"{'key':'node.kubernetes.io/unreachable','operator':'Exists','effect':'NoExecute',"
			"'tolerationSeconds':300}],'priority':0,'enableServiceLinks':true,"
			"'preemptionPolicy':'PreemptLowerPriority'");
	put(to, "}");
}

void pod_template_write(struct app *a, unsigned revision, struct buf *to)
{
	put(to, "{'metadata':{'labels':{");
	app_labels_write(a, to);
	put(to,
		"},'annotations':{'checksum/config':'%s','prometheus.io/port':'9090',"
		"'prometheus.io/scrape':'true'}},'spec':",
		a->digest);
	write_spec(a, revision, NULL, to);
	put(to, "}");
}

/* The part of metadata that the controller owns. */
static void write_owned_metadata(struct pod *p, struct buf *to)
{
	put(to, "'labels':{");
	app_labels_write(p->app, to);
	put(to,
		",'pod-template-hash':'%s'},'annotations':{'checksum/config':'%s',"
		"'prometheus.io/port':'9090','prometheus.io/scrape':'true'},",
		p->hash, p->app->digest);
	put(to,
		"'ownerReferences':[{'apiVersion':'%s','kind':'%s','name':'%s','uid':'%s',"
		"'controller':true,'blockOwnerDeletion':true}]",
		p->of_job ? "batch/v1" : "apps/v1", p->of_job ? "Job" : "ReplicaSet", p->owner_name,
		p->owner_uid);
}

static void make_creator_fields(struct pod *p)
{
	struct buf owned, fields;

	buf_init(&owned, TEXT_MAX);
	buf_init(&fields, TEXT_MAX);
	put(&owned, "{'metadata':{'generateName':'',");
	write_owned_metadata(p, &owned);
	put(&owned, "},'spec':");
	write_spec(p->app, p->revision, p, &owned);
	put(&owned, "}");
	put_fields(&fields, buf_slice(&owned));
	p->creator_fields = slice_dup(buf_slice(&fields));
	buf_release(&owned);
	buf_release(&fields);
}

static void write_condition(
	const char *type, bool is_true, int64_t since_ms, const char *reason, struct buf *to)
{
	char since[32];

	put(to, "{'type':'%s','status':'%s','lastProbeTime':null,'lastTransitionTime':'%s'", type,
		is_true ? "True" : "False", gen_time(since, since_ms));
	if (reason)
		put(to, ",'reason':'%s','message':'containers with unready status: [all]'", reason);
	put(to, "}");
}

static bool has_started(const struct pod *p)
{
	return p->state == POD_RUNNING || p->state == POD_READY || p->state == POD_TERMINATING;
}

static void write_conditions(struct pod *p, struct buf *to)
{
	bool ready = p->state == POD_READY || p->state == POD_TERMINATING;
	const char *reason = ready ? NULL : p->state == POD_DONE ? "PodCompleted" : "ContainersNotReady";
	int64_t since_ms = ready ? p->ready_ms : p->changed_ms;

	if (p->state >= POD_CREATING) {
		write_condition("PodReadyToStartContainers", has_started(p), p->started_ms, NULL, to);
		put(to, ",");
		write_condition("Initialized", true, p->scheduled_ms, NULL, to);
		put(to, ",");
		write_condition("Ready", ready, since_ms, reason, to);
		put(to, ",");
		write_condition("ContainersReady", ready, since_ms, reason, to);
		put(to, ",");
	}
	write_condition("PodScheduled", true, p->scheduled_ms, NULL, to);
}

static void write_run_state(struct pod *p, unsigned container, struct buf *to)
{
	char started[32], ended[32];

	gen_time(started, p->started_ms);
	gen_time(ended, p->changed_ms);
	if (has_started(p))
		put(to, "'running':{'startedAt':'%s'}", started);
	else if (p->state == POD_CREATING)
		put(to, "'waiting':{'reason':'ContainerCreating'}");
	else if (p->state == POD_BACKOFF)
		put(to,
			"'waiting':{'reason':'CrashLoopBackOff','message':'back-off 5m0s restarting "
			"failed container=%s pod=%s_%s(%s)'}",
			p->app->meta.name, p->meta.name, p->meta.namespace, p->meta.uid);
	else
		put(to,
			"'terminated':{'exitCode':%u,'reason':'%s','startedAt':'%s','finishedAt':'%s',"
			"'containerID':'containerd://%s'}",
			p->state == POD_CRASHED ? 137 : 0,
			p->state == POD_CRASHED ? "OOMKilled" : "Completed", started, ended,
			p->container_id[container]);
}

static void write_container_status(struct pod *p, unsigned container, struct buf *to)
{
	bool ready = p->state == POD_READY || p->state == POD_TERMINATING;
	char image[160], ended[32];

	app_image(p->app, container, p->revision, image);
	put(to, "{'name':'%s%s','state':{",
		container == 0   ? p->app->meta.name
		: container == 1 ? "proxy"
				 : "metrics",
		container ? "-sidecar" : "");
	write_run_state(p, container, to);
	put(to, "},'lastState':{");
	if (p->restarts)
		put(to,
			"'terminated':{'exitCode':137,'reason':'OOMKilled','startedAt':'%s',"
			"'finishedAt':'%s','containerID':'containerd://%s'}",
			gen_time(ended, p->changed_ms), ended, p->last_container_id);
	put(to, "},'ready':%s,'restartCount':%u,'image':'%s','imageID':'", ready ? "true" : "false",
		p->restarts, image);
	if (p->state > POD_CREATING)
		put(to, "%.*s@sha256:%.40s%08u%.16s',", (int)strcspn(image, ":"), image, p->app->digest,
			p->revision * 7919 + container, p->app->digest + 40);
	else
		put(to, "',");
	if (p->state > POD_CREATING)
		put(to, "'containerID':'containerd://%s',", p->container_id[container]);
	put(to, "'started':%s}", has_started(p) ? "true" : "false");
}

static const char *phase_of(const struct pod *p)
{
	if (p->state == POD_DONE)
		return "Succeeded";
	return p->state <= POD_CREATING ? "Pending" : "Running";
}

static void write_status(struct pod *p, struct buf *to)
{
	char text[32];

	put(to, "{'phase':'%s'", phase_of(p));
	if (p->state >= POD_SCHEDULED) {
		put(to, ",'conditions':[");
		write_conditions(p, to);
		put(to, "]");
	}
	if (p->state >= POD_CREATING) {
		put(to, ",'hostIP':'10.0.%u.10','hostIPs':[{'ip':'10.0.%u.10'}],", p->node->number,
			p->node->number);
		if (p->state > POD_CREATING)
			put(to, "'podIP':'10.%u.%u.%u','podIPs':[{'ip':'10.%u.%u.%u'}],",
				64 + p->node->number % 64, p->meta.uid[0] % 256,
				p->meta.uid[3] + p->meta.uid[5], 64 + p->node->number % 64,
				p->meta.uid[0] % 256, p->meta.uid[3] + p->meta.uid[5]);
		put(to, "'startTime':'%s','containerStatuses':[", gen_time(text, p->scheduled_ms));
		for (unsigned i = 0; i < p->app->containers; i++) {
			put(to, i ? "," : "");
			write_container_status(p, i, to);
		}
		put(to, "]");
	}
	put(to, ",'qosClass':'Burstable'}");
}

static void write_managed_fields(struct gen *g, struct pod *p, struct slice status, struct buf *to)
{
	char made[32], changed[32];
	struct slice inner;

	put(to,
		"'managedFields':[{'manager':'kube-controller-manager','operation':'Update',"
		"'apiVersion':'v1','time':'%s','fieldsType':'FieldsV1','fieldsV1':%s}",
		gen_time(made, p->meta.created_ms), p->creator_fields);
	if (p->state >= POD_CREATING) {
		buf_clear(&g->fields);
		put(&g->fields, "{'status':%.*s}", (int)status.len, status.ptr);
		inner = buf_slice(&g->fields);
		put(to,
			",{'manager':'kubelet','operation':'Update','apiVersion':'v1','time':'%s',"
			"'fieldsType':'FieldsV1','fieldsV1':",
			gen_time(changed, p->changed_ms));
		put_fields(to, inner);
		put(to, ",'subresource':'status'}");
	}
	put(to, "]");
}

void pod_write(struct gen *g, struct pod *p, struct buf *to)
{
	char text[32];
	struct buf status;

	buf_init(&status, TEXT_MAX);
	write_status(p, &status);
	buf_clear(to);
	put(to,
		"{'kind':'Pod','apiVersion':'v1','metadata':{'name':'%s','generateName':'%s-',"
		"'namespace':'%s','uid':'%s','resourceVersion':'%08llu','generation':%u,"
		"'creationTimestamp':'%s',",
		p->meta.name, p->owner_name, p->meta.namespace, p->meta.uid,
		(unsigned long long)gen_next_rv(g), p->meta.generation, gen_time(text, p->meta.created_ms));
	if (p->state >= POD_TERMINATING)
		put(to, "'deletionTimestamp':'%s','deletionGracePeriodSeconds':30,",
			gen_time(text, p->deleted_ms + 30000));
	write_owned_metadata(p, to);
	put(to, ",");
	write_managed_fields(g, p, buf_slice(&status), to);
	put(to, "},'spec':");
	write_spec(p->app, p->revision, p, to);
	put(to, ",'status':%.*s}", (int)status.len, status.ptr);
	buf_release(&status);
}

static void start_containers(struct gen *g, struct pod *p)
{
	memcpy(p->last_container_id, p->container_id[0], sizeof(p->last_container_id));
	for (unsigned i = 0; i < p->app->containers; i++)
		gen_hex(g, p->container_id[i], 64);
	p->started_ms = g->now_ms;
}

static void tell_pulled_and_started(struct gen *g, struct pod *p)
{
	char text[400], image[160];

	for (unsigned i = 0; i < p->app->containers; i++) {
		app_image(p->app, i, p->revision, image);
		if (i == 0 && gen_chance(g, 50)) {
			snprintf(text, sizeof(text), "Pulling image \\\"%s\\\"", image);
			event_emit(g, p, "kubelet", "Pulling", text);
		}
		snprintf(text, sizeof(text), "Successfully pulled image \\\"%s\\\" in %u.%03us", image,
			gen_below(g, 9), gen_below(g, 1000));
		event_emit(g, p, "kubelet", "Pulled", text);
		event_emit(g, p, "kubelet", "Created", "Created container");
		event_emit(g, p, "kubelet", "Started", "Started container");
	}
}

/* What is said about a pod that enters a state, and when it goes on. */
static int64_t live(struct gen *g, struct pod *p)
{
	switch (p->state) {
	case POD_CREATED: return 20 + gen_below(g, 60);
	case POD_SCHEDULED:
		event_emit(g, p, "default-scheduler", "Scheduled", "Successfully assigned the pod to a node");
		return 300 + gen_below(g, 900);
	case POD_CREATING: return 2000 + gen_below(g, 6000);
	case POD_RUNNING:
		tell_pulled_and_started(g, p);
		if (gen_chance(g, 15))
			event_emit(g, p, "kubelet", "Unhealthy",
				"Readiness probe failed: HTTP probe failed with statuscode: 503");
		return p->of_job ? 5000 + gen_below(g, 60000) : 3000 + gen_below(g, 12000);
	case POD_READY: return p->crashes ? 60000 + gen_below(g, 120000) : 0;
	case POD_CRASHED: return 700 + gen_below(g, 600);
	case POD_BACKOFF:
		event_emit(g, p, "kubelet", "BackOff", "Back-off restarting failed container");
		return 10000 + gen_below(g, 290000);
	case POD_DONE: return 120000;
	case POD_TERMINATING:
		event_emit(g, p, "kubelet", "Killing", "Stopping container");
		return 1000 + gen_below(g, 5000);
	case POD_STOPPED: return 200 + gen_below(g, 500);
	case POD_GONE: break;
	}
	return 0;
}

void pod_enter(struct gen *g, struct pod *p, enum pod_state state)
{
	int64_t delay_ms;

	p->state = state;
	p->changed_ms = g->now_ms;
	if (state == POD_CREATED)
		make_creator_fields(p);
	if (state == POD_SCHEDULED)
		p->scheduled_ms = g->now_ms;
	if (state == POD_RUNNING)
		start_containers(g, p);
	if (state == POD_READY)
		p->ready_ms = g->now_ms;
	if (state == POD_TERMINATING) {
		p->deleted_ms = g->now_ms;
		p->meta.generation++;
	}
	pod_write(g, p, &g->text);
	gen_emit(g, state == POD_CREATED ? "ADDED" : state == POD_GONE ? "DELETED" : "MODIFIED", &g->text);
	delay_ms = live(g, p);
	if (delay_ms) {
		p->timer = gen_after(g, delay_ms, TIMER_POD, p);
		p->timers_running++;
	}
}
