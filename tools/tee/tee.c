/* tee.c: see tee.h. */
#include "tools/tee/tee.h"

#include "recorder/descriptors.h"
#include "replayer/child.h"
#include "replayer/wire/listener.h"
#include "schema/base/log.h"
#include "tools/tee/door.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#define FEED_MAX_BYTES ((size_t)24 << 20)
#define TICK_MS        1000

struct tee {
	const struct tee_options *o;
	const char *ended_by; /* as in the run */
	uv_loop_t loop;
	uv_signal_t interrupt, terminate, hangup;
	uv_timer_t ticker;
	struct cluster_config *cluster;
	struct target target;
	struct identity *identity;
	struct tee_tls *tls;
	struct feed *feed;
	struct desk *desk;
	struct door *door;
	struct child *child;
	char *host, *url, *kubeconfig;
	int port, exit_code;
	bool is_over, was_serving;
	int64_t begin_mono_ns;
	struct err failure; /* code 0: none */
};

/* ---- the end ---- */

static void tee_finish(struct tee *t, const char *ended_by, int exit_code)
{
	if (t->is_over)
		return;
	t->is_over = true;
	t->ended_by = ended_by;
	t->exit_code = exit_code;
	uv_stop(&t->loop);
}

/* With a child the child decides: it is asked to end and its code is ours. */
static void on_signal(uv_signal_t *handle, int number)
{
	struct tee *t = handle->data;

	if (t->child)
		child_signal(t->child, number);
	else
		tee_finish(t, "signal", 0);
}

static void on_child_exit(void *context, int exit_code)
{
	tee_finish(context, "command", exit_code);
}

/* ---- coming about ---- */

/* The desk may have room before there is a door. */
static void on_room(void *context)
{
	struct tee *t = context;

	if (t->door)
		door_tell_room(t->door);
}

static int open_tls(struct tee *t, struct err *err)
{
	const struct cluster_config *c = t->cluster;
	const struct tee_tls_options o = {.host = t->host,
		.authority_folder = t->o->authority_folder,
		.server_ca = buf_slice(&c->ca_data),
		.server_ca_file = c->ca_file,
		.server_name = c->tls_server_name ? c->tls_server_name : t->target.host,
		.insecure = c->insecure};

	return t->target.has_tls ? tee_tls_new(&o, &t->tls, err) : 0;
}

static int open_cluster(struct tee *t, struct err *err)
{
	int rc = kubeconfig_load(&t->o->cluster, &t->cluster, err);

	if (rc == 0 && t->cluster->proxy_url)
		return err_set(err, ERR_USAGE,
			"the server is behind the proxy '%s', through which the tee cannot reach it",
			t->cluster->proxy_url);
	if (rc == 0)
		rc = target_init(&t->target, &t->loop, t->cluster->server, err);
	if (rc == 0)
		rc = identity_open(&t->loop, t->cluster, &t->o->identity, &t->identity, err);
	if (rc == 0)
		rc = listener_parse(t->o->listen ? t->o->listen : "127.0.0.1:0", &t->host, &t->port, err);
	return rc ? rc : open_tls(t, err);
}

static int open_desk(struct tee *t, struct err *err)
{
	const struct desk_options o = {.feed = t->feed,
		.tape = t->o->tape,
		.run = t->o->run,
		.keep_secrets = t->o->keep_secrets,
		.writer = t->o->writer,
		.server = t->cluster->server,
		.server_path = t->target.path};

	return desk_open(&o, &t->desk, err);
}

static struct pair_context pairs_of(struct tee *t)
{
	struct pair_context x = {.loop = &t->loop,
		.target = &t->target,
		.tls = t->tls,
		.feed = t->feed,
		.rewrite = {.authority = t->target.authority},
		.waits_for_desk = t->o->fail_closed};

	identity_fill(t->identity, &x.rewrite);
	x.certificate = identity_certificate(t->identity);
	x.key = identity_key(t->identity);
	return x;
}

static int open_door(struct tee *t, struct err *err)
{
	const struct door_options o = {.host = t->host, .port = t->port, .pairs = pairs_of(t)};
	bool is_any = strcmp(t->host, "0.0.0.0") == 0 || strcmp(t->host, "::") == 0;
	const char *host = is_any ? "127.0.0.1" : t->host;
	bool six = strchr(host, ':') != NULL;
	int rc = door_open(&o, &t->door, err);

	if (rc == 0)
		t->url = xasprintf("%s://%s%s%s:%d%s", t->tls ? "https" : "http", six ? "[" : "", host,
			six ? "]" : "", door_port(t->door), t->target.path);
	return rc;
}

static int write_kubeconfig(struct tee *t, struct err *err)
{
	const char *folder = getenv("TMPDIR");

	t->kubeconfig = t->o->client_kubeconfig ? xstrdup(t->o->client_kubeconfig)
						: xasprintf("%s/kubetape-tee-%d.kubeconfig",
							  folder && *folder ? folder : "/tmp", (int)getpid());
	return identity_write_kubeconfig(
		t->identity, t->kubeconfig, t->url, t->tls ? tee_tls_authority_pem(t->tls) : NULL, err);
}

static int tee_start(struct tee *t, struct err *err)
{
	const struct tee_options *o = t->o;
	struct child_options child = {.command = o->child, .exited = on_child_exit, .context = t};
	int rc = open_door(t, err);

	if (rc == 0)
		rc = write_kubeconfig(t, err);
	if (rc)
		return rc;
	child.kubeconfig = t->kubeconfig;
	t->was_serving = true;
	if (o->serving)
		o->serving(o->context, t->cluster->server, t->url, t->kubeconfig,
			identity_sentence(t->identity));
	return o->child ? child_start(&t->loop, &child, &t->child, err) : 0;
}

static void on_identity(void *context, const struct err *err)
{
	struct tee *t = context;

	if (t->is_over)
		return;
	t->failure = *err;
	if (err->code || tee_start(t, &t->failure))
		tee_finish(t, "failure", 1);
}

static void on_tick(uv_timer_t *timer)
{
	struct tee *t = timer->data;

	identity_tick(t->identity);
	if (t->door)
		door_identify(t->door, t->identity);
}

/* ---- the loop ---- */

static void open_loop(struct tee *t)
{
	signal(SIGPIPE, SIG_IGN);
	uv_loop_init(&t->loop);
	uv_signal_init(&t->loop, &t->interrupt);
	uv_signal_init(&t->loop, &t->terminate);
	uv_signal_init(&t->loop, &t->hangup);
	uv_timer_init(&t->loop, &t->ticker);
	t->interrupt.data = t->terminate.data = t->hangup.data = t->ticker.data = t;
	uv_signal_start(&t->interrupt, on_signal, SIGINT);
	uv_signal_start(&t->terminate, on_signal, SIGTERM);
	if (signal(SIGHUP, SIG_IGN) != SIG_IGN) /* as under nohup */
		uv_signal_start(&t->hangup, on_signal, SIGHUP);
	uv_timer_start(&t->ticker, on_tick, TICK_MS, TICK_MS);
}

static void sum_up(struct tee *t, struct tee_summary *ret)
{
	struct door_figures f = {0};

	if (t->door)
		f = door_figures(t->door);
	*ret = (struct tee_summary){.was_serving = t->was_serving,
		.connections = f.connections,
		.requests = f.requests,
		.unreached = f.unreached,
		.duration_ns = clock_mono_ns(&clock_system) - t->begin_mono_ns};
}

/* Sockets first, whose ends are still written down. */
static int close_all(struct tee *t, struct tee_summary *ret, struct err *err)
{
	const struct desk_end end = {
		t->ended_by ? t->ended_by : "failure", t->o->child ? t->exit_code : -1, !t->was_serving};
	int rc = 0;

	t->is_over = true;
	sum_up(t, ret);
	door_close(t->door);
	child_close(t->child);
	identity_close(t->identity);
	uv_close((uv_handle_t *)&t->interrupt, NULL);
	uv_close((uv_handle_t *)&t->terminate, NULL);
	uv_close((uv_handle_t *)&t->hangup, NULL);
	uv_close((uv_handle_t *)&t->ticker, NULL);
	feed_close(t->feed);
	if (t->desk)
		rc = desk_close(t->desk, &end, &ret->desk, err);
	target_release(&t->target);
	uv_run(&t->loop, UV_RUN_DEFAULT);
	uv_loop_close(&t->loop);
	feed_free(t->feed);
	tee_tls_free(t->tls);
	cluster_config_free(t->cluster);
	if (t->kubeconfig && !t->o->client_kubeconfig)
		unlink(t->kubeconfig);
	free(t->kubeconfig);
	free(t->host);
	free(t->url);
	return rc;
}

int tee_run(const struct tee_options *options, struct tee_summary *ret, int *ret_exit_code, struct err *err)
{
	struct tee t = {.o = options, .begin_mono_ns = clock_mono_ns(&clock_system)};
	int rc, closed;

	if (!options->core_dumps)
		prctl(PR_SET_DUMPABLE, 0);
	open_loop(&t);
	t.feed = feed_new(FEED_MAX_BYTES, on_room, &t);
	rc = descriptors_prepare(err);
	if (rc == 0)
		rc = open_cluster(&t, err);
	if (rc == 0)
		rc = open_desk(&t, err);
	if (rc == 0) {
		identity_begin(t.identity, on_identity, &t);
		if (!t.is_over)
			uv_run(&t.loop, UV_RUN_DEFAULT);
	}
	if (rc == 0 && t.failure.code)
		rc = err_set(err, t.failure.code, "%s", t.failure.text);
	closed = close_all(&t, ret, rc ? NULL : err);
	*ret_exit_code = t.exit_code;
	return rc ? rc : closed;
}
