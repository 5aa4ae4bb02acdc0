/* replayer.c: see replayer.h. */
#include "replayer/replayer_internal.h"

#include "replayer/control.h"
#include "replayer/kubeconfig_out.h"
#include "replayer/pod.h"
#include "replayer/process_tree.h"
#include "replayer/run/run.h"
#include "replayer/seen/seen.h"
#include "replayer/serve/ahead.h"
#include "replayer/serve/offload.h"
#include "replayer/serve/openapi.h"
#include "replayer/wire/listener.h"
#include "replayer/wire/server.h"
#include "replayer/write/awaited.h"
#include "replayer/write/service_pool.h"
#include "replayer/write/type_cache.h"
#include "replayer/write/upkeep.h"
#include "schema/base/clock.h"
#include "schema/base/limits.h"
#include "schema/base/log.h"
#include "schema/base/open_files.h"
#include "schema/tape/position.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define HISTORY_WINDOW (1u << 20) /* events of each resource that can be watched from the past: 16 MB */
/* Of the C library's heap: each move starts a thread that reads, and with an arena for each of them all would
 * keep what they once used. */
#define ARENAS_MAX      2
#define CONNECTIONS_MAX 20000
#define FILES_KEPT      128
#define REMIND_MS       10000 /* somebody may wait for a clock that waits for watches */
#define REST_MS         5000  /* how often to look whether the tape is not read any more */

/* ---- playing ---- */

static void on_pause_in_batch(void *context)
{
	delivery_flush(&((struct replayer *)context)->delivery);
}

static void on_changed(
	void *context, struct collection *in, struct change *c, uint64_t number, int64_t due_ns)
{
	delivery_change(&((struct replayer *)context)->delivery, in, c, number, due_ns);
}

static bool is_ready(void *context)
{
	struct replayer *r = context;

	return watches_keep_up(r->watches);
}

static void on_watch_opened(void *context, size_t running)
{
	struct replayer *r = context;

	if ((int64_t)running >= r->options->wait_watchers)
		player_start(r->player);
}

static void on_reminder(uv_timer_t *handle)
{
	const struct replayer *r = handle->data;

	if (player_state(r->player) == PLAYER_WAITING)
		log_info("the clock has not started: %zu of %lld watches are open (--wait-watchers)",
			watches_running(r->watches), (long long)r->options->wait_watchers);
}

/* A replay that serves the last state, or waits, need not keep what it decoded (malloc_trim is GNU's). */
static void on_rest(uv_timer_t *handle)
{
	struct replayer *r = handle->data;

	if (world_rest(r->world))
		malloc_trim(0);
}

static void on_caught_up(void *context)
{
	struct replayer *r = context;

	if (!r->over)
		player_poke(r->player);
}

static const struct player_listener player_listener = {
	on_changed, on_pause_in_batch, is_ready, replayer_on_ended};
static const struct watches_listener watches_listener = {on_watch_opened, on_caught_up};

/* ---- opening ---- */

static int open_tape(struct replayer *r, struct err *err)
{
	const struct replay_options *o = r->options;
	int rc = tape_open(o->tape, &r->tape, err);

	if (rc == 0)
		rc = marks_load(r->tape, &r->marks, err);
	if (rc == 0)
		rc = replay_bounds_find(r->tape, &r->marks, o->from, o->until, &r->bounds, err);
	if (rc == 0)
		rc = world_open(r->tape, &r->marks, r->bounds.from_seq, HISTORY_WINDOW, &r->world, err);
	if (rc)
		return rc;
	r->world->time_ns = r->bounds.from_ns;
	r->world->written_max = o->max_written;
	return awaited_open(r->world, o->awaited, o->rules, &r->awaited, err);
}

static void make_url(struct replayer *r)
{
	bool any = strcmp(r->host, "0.0.0.0") == 0 || strcmp(r->host, "::") == 0;
	const char *host = any ? "127.0.0.1" : r->host;
	bool six = strchr(host, ':') != NULL;

	r->url = xasprintf("%s://%s%s%s:%d", r->options->plain ? "http" : "https", six ? "[" : "", host,
		six ? "]" : "", server_port(r->server));
	r->control_url = control_url(
		r->url, access_control_token(r->api.access), r->tls ? tls_fingerprint(r->tls) : NULL);
}

static int open_access(struct replayer *r, struct err *err)
{
	const struct access_options *given = r->options->access;

	r->access = given ? *given : (struct access_options){0};
	r->access.host = r->host;
	return access_open(&r->access, &r->api.access, err);
}

/* Some descriptors are for other things than connections: the tape, the run file, the command's output. */
static size_t connection_places(struct replayer *r)
{
	size_t files = open_files_raise(&r->open_files), kept = files / 4;

	if (kept > FILES_KEPT)
		kept = FILES_KEPT;
	return files - kept < CONNECTIONS_MAX ? files - kept : CONNECTIONS_MAX;
}

static int open_server(struct replayer *r, struct err *err)
{
	struct server_options so = {.handle = api_handle, .context = &r->api, .has_control = true};
	const char *listen = r->options->listen ? r->options->listen : "127.0.0.1:0";
	int rc = listener_parse(listen, &r->host, &r->port, err);

	if (rc == 0)
		rc = open_access(r, err);
	if (rc == 0 && !r->options->plain)
		rc = tls_new(r->host, true, &r->tls, err);
	if (rc)
		return rc;
	so.host = r->host;
	so.port = r->port;
	so.tls = r->tls;
	so.connections = connection_places(r);
	rc = server_open(&r->loop, &so, &r->server, err);
	r->delivery.server = r->server;
	if (rc)
		return rc;
	make_url(r);
	access_warn(r->api.access);
	return 0;
}

static int write_kubeconfig(struct replayer *r, struct err *err)
{
	const struct kubeconfig_out contents = {.name = "replay",
		.url = r->url,
		.authority_pem = r->tls ? tls_authority_pem(r->tls) : NULL,
		.token = access_token(r->api.access)};
	int rc = 0;

	if (r->options->kubeconfig)
		r->kubeconfig = xstrdup(r->options->kubeconfig);
	else
		rc = kubeconfig_make_folder(&r->kubeconfig, err);
	return rc ? rc : kubeconfig_write(r->kubeconfig, &contents, err);
}

static int make_pod(struct replayer *r, struct err *err)
{
	const char *token = access_token(r->api.access);
	const struct pod_options options = {.namespace = r->options->in_cluster,
		.url = r->url,
		.authority_pem = r->tls ? tls_authority_pem(r->tls) : "",
		.token = token ? token : "replay"};

	return r->options->in_cluster ? pod_make(&options, &r->pod, err) : 0;
}

static int open_player(struct replayer *r, struct err *err)
{
	const struct player_options options = {.world = r->world,
		.speed = r->options->speed,
		.start_tape_ns = r->bounds.from_ns,
		.listener = &player_listener,
		.context = r};
	int rc;

	r->watches = watches_new(&r->loop, r->world, &r->marks, r->run, &watches_listener, r);
	rc = player_open(&r->loop, &options, &r->player, err);
	if (rc)
		return rc;
	r->deck = (struct deck){.path = r->options->tape,
		.tape = r->tape,
		.marks = &r->marks,
		.world = r->world,
		.player = r->player,
		.watches = r->watches,
		.first_seq = r->bounds.from_seq,
		.until_seq = r->bounds.until_seq,
		.first_ns = r->bounds.from_ns,
		.longest_silence_ns = r->options->max_idle_ns};
	if (r->options->rebase_time)
		world_rebase(r->world, r->bounds.from_ns);
	return deck_open(&r->deck, err);
}

static int open_run(struct replayer *r, struct err *err)
{
	const struct run_facts facts = {.tape = r->options->tape,
		.secrets_key = r->options->secrets_key,
		.first_seq = r->bounds.from_seq,
		.last_seq = r->bounds.until_seq,
		.speed = r->options->speed,
		.rebased = r->options->rebase_time};

	return r->options->run ? run_store_begin(r->run, r->options->run, &facts, err) : 0;
}

static void on_seen_sent(void *context)
{
	settle_sent(((struct replayer *)context)->settle);
}

static int open_seen(struct replayer *r, struct err *err)
{
	const struct replay_options *o = r->options;
	const struct seen_options options = {.run = o->seen_run, .client = o->seen_client, .tape = r->tape};

	return o->seen_client ? seen_open(&options, &r->seen, err) : 0;
}

/* After the upkeep and the faults, which direct the player, too. */
static void begin_seen(struct replayer *r)
{
	const struct seen_place place = {.player = r->player,
		.world = r->world,
		.watches = r->watches,
		.run = r->run,
		.other = &upkeep_director,
		.other_context = r->upkeep};

	if (!r->seen)
		return;
	seen_begin(r->seen, &place);
	seen_tell(r->seen, on_seen_sent, r);
	r->deck.is_fixed = true;
}

/* All that have a say in what happens when. */
static void begin_directors(struct replayer *r)
{
	replay_faults_begin(&r->faults, &r->deck, r->run);
	r->upkeep = upkeep_new(&r->api, r->player, r->options->gc, r->faults.act ? &fault_act_director : NULL,
		r->faults.act);
	begin_seen(r);
}

/* On an address of its own: browsers do not know the certificate that clients of the API do. */
static int show_view(void *context, const char **ret_url, struct err *err)
{
	struct replayer *r = context;
	const struct viewer_options options = {.tape = r->options->tape,
		.run = r->options->run,
		.golden = r->options->golden,
		.desk = view_desk_serve,
		.desk_context = &r->view_desk};
	int rc;

	r->view_desk = (struct view_desk){&r->deck, r->run};
	rc = viewer_open(&r->loop, &options, &r->viewer, err);
	if (rc == 0)
		*ret_url = viewer_url(r->viewer);
	return rc;
}

static int open_view(struct replayer *r, struct err *err)
{
	int rc;

	r->deck.show = show_view;
	r->deck.show_context = r;
	if (!r->options->view)
		return 0;
	rc = deck_show(&r->deck, err);
	return rc ? rc : r->options->viewing(r->options->context, r->deck.view_url, err);
}

static int open_all(struct replayer *r, struct err *err)
{
	int rc = open_tape(r, err);

	if (rc == 0)
		rc = replay_faults_load(r->options, r->tape, r->world, &r->faults, err);
	if (rc == 0)
		rc = open_seen(r, err);
	if (rc == 0)
		rc = open_run(r, err);
	if (rc == 0)
		rc = open_player(r, err);
	r->run->player = r->player;
	r->run->world = r->world;
	r->delivery = (struct delivery){.run = r->run, .player = r->player, .watches = r->watches};
	if (rc == 0)
		begin_directors(r);
	if (rc == 0)
		rc = open_server(r, err);
	if (rc == 0 && r->faults.act)
		fault_act_serve(r->faults.act, r->server);
	if (rc == 0 && r->faults.act)
		fault_act_command(r->faults.act,
			&(struct fault_act_command){replayer_kill_command, replayer_start_command, r});
	if (rc == 0)
		rc = write_kubeconfig(r, err);
	if (rc == 0)
		rc = make_pod(r, err);
	if (rc == 0)
		rc = open_view(r, err);
	r->api = (struct api){
		.tape = r->tape,
		.world = r->world,
		.player = r->player,
		.watches = r->watches,
		.marks = &r->marks,
		.deck = &r->deck,
		.until_seq = r->deck.until_seq,
		.run = r->run,
		.rules = r->options->rules,
		.held_finalizers = r->options->held_finalizers,
		.held_finalizer_count = r->options->held_finalizer_count,
		.released_finalizers = r->options->released_finalizers,
		.released_finalizer_count = r->options->released_finalizer_count,
		.awaited = r->awaited,
		.ahead_policy = r->options->ahead,
		.ahead = ahead_new(&r->loop),
		.faults = r->faults.act,
		.seen = r->seen,
		.upkeep = r->upkeep,
		.types = type_cache_new(),
		.access = r->api.access,
		.route_again = api_route_again,
		.offload = offload_open(&r->loop),
	};
	return rc;
}

static bool is_command_awake(void *context)
{
	const struct replayer *r = context;
	pid_t pid = r->child ? child_pid(r->child) : 0;

	return pid && process_tree_is_awake(pid);
}

static bool is_owed(void *context)
{
	return upkeep_is_owed(((struct replayer *)context)->upkeep);
}

static void show_all(void *context)
{
	const struct replayer *r = context;

	if (r->faults.act)
		fault_act_yield(r->faults.act);
}

static void give_up(void *context)
{
	upkeep_give_up(((struct replayer *)context)->upkeep);
}

static bool is_late(void *context)
{
	const struct replayer *r = context;

	return r->faults.act && fault_act_is_late(r->faults.act);
}

static void stop_awaiting(void *context)
{
	const struct replayer *r = context;

	if (r->faults.act)
		fault_act_stop_awaiting(r->faults.act);
}

static void prolong(void *context)
{
	const struct replayer *r = context;

	if (r->faults.act)
		fault_act_prolong(r->faults.act);
}

/* The shortest quiet that a fault waits for; 0: no fault does. */
static int64_t pause_of_faults(const struct replayer *r)
{
	return r->faults.act ? faults_quiet_ns(fault_act_faults(r->faults.act)) : 0;
}

static void open_settle(struct replayer *r)
{
	const struct settle_options options = {.quiet_ns = r->options->settle_ns,
		.limit_ns = r->options->settle_limit_ns,
		.step_ns = r->options->step_ns,
		.player = r->player,
		.watches = r->watches,
		.run = r->run,
		.is_awake = is_command_awake,
		.quiet = replayer_on_quiet,
		.moment = r->options->probe ? replayer_on_moment : NULL,
		.is_asking = replayer_is_probing,
		.is_owed = is_owed,
		.show_all = show_all,
		.give_up = give_up,
		.is_late = is_late,
		.stop_awaiting = stop_awaiting,
		.pause_ns = pause_of_faults(r),
		.busy = prolong,
		.context = r};

	r->delivery.settle = r->settle = settle_open(&r->loop, &options);
}

static void open_loop(struct replayer *r)
{
	signal(SIGPIPE, SIG_IGN);
	mallopt(M_ARENA_MAX, ARENAS_MAX);
	uv_loop_init(&r->loop);
	uv_signal_init(&r->loop, &r->interrupt);
	uv_signal_init(&r->loop, &r->terminate);
	uv_signal_init(&r->loop, &r->hangup);
	uv_timer_init(&r->loop, &r->drain);
	uv_timer_init(&r->loop, &r->grace);
	uv_timer_init(&r->loop, &r->reminder);
	uv_timer_init(&r->loop, &r->rest);
	uv_timer_init(&r->loop, &r->patience);
	r->interrupt.data = r->terminate.data = r->hangup.data = r->drain.data = r->grace.data =
		r->reminder.data = r->rest.data = r->patience.data = r;
	uv_signal_start(&r->interrupt, replayer_on_signal, SIGINT);
	uv_signal_start(&r->terminate, replayer_on_signal, SIGTERM);
	if (signal(SIGHUP, SIG_IGN) != SIG_IGN) /* as under nohup */
		uv_signal_start(&r->hangup, replayer_on_signal, SIGHUP);
}

/* ---- closing ---- */

/* Connections first: their ends still reach into the watches and the world. */
static void close_all(struct replayer *r)
{
	r->over = true;
	keys_close(r->keys);
	viewer_close(r->viewer);
	server_close(r->server);
	uv_run(&r->loop, UV_RUN_NOWAIT);
	offload_close(r->api.offload);
	deck_close(&r->deck);
	watches_close(r->watches);
	ahead_close(r->api.ahead);
	player_close(r->player);
	if (r->child) /* it may still run when the replay has failed */
		child_signal(r->child, SIGTERM);
	child_close(r->child);
	replayer_probe_close(r);
	settle_close(r->settle);
	uv_close((uv_handle_t *)&r->grace, NULL);
	uv_close((uv_handle_t *)&r->interrupt, NULL);
	uv_close((uv_handle_t *)&r->terminate, NULL);
	uv_close((uv_handle_t *)&r->hangup, NULL);
	uv_close((uv_handle_t *)&r->drain, NULL);
	uv_close((uv_handle_t *)&r->reminder, NULL);
	uv_close((uv_handle_t *)&r->rest, NULL);
	uv_close((uv_handle_t *)&r->patience, NULL);
	uv_run(&r->loop, UV_RUN_DEFAULT);
	uv_loop_close(&r->loop);
	upkeep_free(r->upkeep);
	awaited_free(r->awaited);
	replay_faults_close(&r->faults);
	seen_close(r->seen);
	type_cache_free(r->api.types);
	service_pool_free(r->api.services);
	openapi_kept_release(&r->api.openapi);
	access_free(r->api.access);
	r->run->player = NULL;
	r->run->world = NULL;
	world_close(r->world);
	marks_release(&r->marks);
	tape_close(r->tape);
	tls_free(r->tls);
	if (!r->options->kubeconfig && r->kubeconfig)
		kubeconfig_remove_folder(r->kubeconfig);
	pod_remove(r->pod);
	free(r->kubeconfig);
	free(r->host);
	free(r->url);
	free(r->control_url);
}

/* ---- the whole ---- */

static void on_child_output(void *context, int fd, const char *bytes, size_t len)
{
	keys_write(((struct replayer *)context)->keys, fd, bytes, len);
}

/* The keys, unless a child has the terminal for itself; and the child. */
static int begin_terminal(struct replayer *r, struct err *err)
{
	const struct replay_options *o = r->options;

	r->command = (struct child_options){.command = o->child,
		.kubeconfig = r->kubeconfig,
		.pod = r->pod,
		.control_url = r->control_url,
		.open_files = &r->open_files,
		.exited = replayer_on_child_exit,
		.context = r,
		.output = o->keys ? on_child_output : NULL};

	if (o->keys || !o->child)
		r->keys = keys_open(&r->loop, &r->deck, r->run, replayer_on_quit, r);
	if (o->keys && !r->keys)
		return err_set(err, ERR_USAGE, "'--keys' needs a terminal, as stdin and as stderr");
	return o->child ? child_start(&r->loop, &r->command, &r->child, err) : 0;
}

/* What begins once clients are served: the command, or the keys; the clock, if nobody is waited for. */
static int replayer_begin(struct replayer *r, struct err *err)
{
	const struct replay_options *o = r->options;
	int rc;

	if (o->serving && (rc = o->serving(o->context, r->url, r->control_url, r->kubeconfig, err)))
		return rc;
	rc = begin_terminal(r, err);
	if (rc)
		return rc;
	uv_timer_start(&r->rest, on_rest, REST_MS, REST_MS);
	if (o->settle_ns || o->step_ns || pause_of_faults(r))
		open_settle(r);
	if (o->wait_watchers == 0)
		player_start(r->player);
	else if (!r->keys && !o->settle_ns)
		uv_timer_start(&r->reminder, on_reminder, REMIND_MS, 0);
	return 0;
}

int replayer_run(const struct replay_options *options, int *ret_exit_code, struct err *err)
{
	struct replayer r = {.options = options, .run = run_new()};
	int rc;

	open_loop(&r);
	rc = open_all(&r, err);
	if (rc == 0)
		rc = replayer_begin(&r, err);
	if (rc == 0 && !r.over)
		uv_run(&r.loop, UV_RUN_DEFAULT);
	if (rc == 0)
		rc = replayer_report(&r, err);
	if (rc == 0)
		run_store_left(r.run);
	r.ended_seq = r.world ? r.world->seq : 0;
	close_all(&r);
	if (rc == 0)
		rc = run_store_end(r.run, r.ended_seq, r.exit_code, r.ended_by ? r.ended_by : "tape", err);
	else
		(void)!run_store_end(r.run, r.ended_seq, 1, "failure", NULL);
	if (rc == 0 && r.failure.code)
		rc = err_copy(err, &r.failure);
	if (rc == 0)
		*ret_exit_code = replayer_exit_code(&r);
	run_free(r.run);
	return rc;
}
