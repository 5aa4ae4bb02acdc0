/* replayer.c: see replayer.h. */
#include "replayer/replayer.h"

#include "replayer/api/ahead.h"
#include "replayer/api/api.h"
#include "replayer/api/watch.h"
#include "replayer/child.h"
#include "replayer/delivery.h"
#include "replayer/keys.h"
#include "replayer/kubeconfig_out.h"
#include "replayer/replay_faults.h"
#include "replayer/run.h"
#include "replayer/settle.h"
#include "replayer/wire/server.h"
#include "replayer/world/deck.h"
#include "replayer/world/player.h"
#include "replayer/write/type_cache.h"
#include "schema/base/clock.h"
#include "schema/base/limits.h"
#include "schema/base/log.h"
#include "schema/tape/position.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define HISTORY_WINDOW (1u << 20) /* events of each resource that can be watched from the past: 16 MB */
#define EXIT_CODE_LOSS 3          /* done, but not as it was asked for: see is_short */
#define DRAIN_TICK_MS  20
/* Of the C library's heap: each move starts a thread that reads, and with an arena for each of them all would
 * keep what they once used. */
#define ARENAS_MAX  2
#define DRAIN_NS    (10 * NS_PER_S) /* at the end, for slow watchers */
#define FAREWELL_MS 1000            /* for a child to end because its watches have */
#define GRACE_MS    10000           /* for one that was asked to */
#define REMIND_MS   10000           /* somebody may wait for a clock that waits for watches */

struct replayer {
	const struct replay_options *options;
	uv_loop_t loop;
	uv_signal_t interrupt, terminate;
	uv_timer_t drain, grace, reminder;
	struct settle *settle; /* NULL: nobody waits for quiet */
	const char *ended_by;  /* as the run file says */
	int64_t drain_until_ns;
	struct tape *tape;
	struct marks marks;
	uint64_t from_seq, until_seq, ended_seq;
	int64_t from_ns; /* tape time at the beginning */
	struct world *world;
	struct player *player;
	struct watches *watches;
	struct deck deck;
	struct replay_faults faults;
	struct run *run;
	struct delivery delivery;
	struct tls *tls;
	struct server *server;
	struct child *child;
	struct keys *keys; /* NULL: no terminal */
	struct api api;
	char *host, *url, *kubeconfig;
	bool remove_kubeconfig, over, too_late;
	bool asked;    /* the child was asked to end */
	bool restless; /* the clients were never quiet at the end */
	size_t missed; /* faults that struck nobody and should have */
	int port, exit_code;
	struct err failure; /* of reading the tape while playing; code 0: none */
};

/* ---- the end ---- */

static void finish(struct replayer *r, int exit_code)
{
	if (r->over)
		return;
	r->over = true;
	r->exit_code = exit_code;
	uv_stop(&r->loop);
}

/* With a child the child decides: it is asked to end and its code is ours. */
static void on_signal(uv_signal_t *handle, int signal_number)
{
	struct replayer *r = handle->data;

	r->ended_by = "signal";
	if (r->child)
		child_signal(r->child, signal_number);
	else
		finish(r, 0);
}

/* A child that dies of the signal by which it was asked to end has done nothing wrong. */
static void on_child_exit(void *context, int exit_code)
{
	struct replayer *r = context;

	if (!r->ended_by)
		r->ended_by = "command";
	finish(r, r->asked && exit_code == 128 + SIGTERM ? 0 : exit_code);
}

static void on_grace_over(uv_timer_t *handle)
{
	struct replayer *r = handle->data;

	child_signal(r->child, SIGKILL);
}

/* What the child writes from now on is no part of what it did. */
static void ask_child(struct replayer *r)
{
	r->asked = true;
	run_store_quiet(r->run);
	child_signal(r->child, SIGTERM);
	uv_timer_start(&r->grace, on_grace_over, GRACE_MS, 0);
}

static void on_quit(void *context)
{
	struct replayer *r = context;

	r->ended_by = "signal";
	if (r->child)
		ask_child(r);
	else
		finish(r, 0);
}

static void on_quiet(void *context, bool in_time)
{
	struct replayer *r = context;

	if (r->ended_by)
		return;
	r->ended_by = in_time ? "quiet" : "limit";
	r->restless = !in_time;
	if (r->child) {
		ask_child(r);
		return;
	}
	run_store_quiet(r->run);
	finish(r, 0);
}

static void on_farewell_over(uv_timer_t *handle)
{
	ask_child(handle->data);
}

/* What was due has been sent. Its watches end, as they do without a child; one that watches again is asked to
 * end. */
static void on_drain_tick(uv_timer_t *handle)
{
	struct replayer *r = handle->data;
	bool late = clock_mono_ns(&clock_system) > r->drain_until_ns;
	bool sent = watches_all_live(r->watches) || late;

	if (sent)
		watches_end_all(r->watches);
	if (r->child && sent && !r->ended_by) {
		r->ended_by = "tape";
		uv_timer_stop(&r->drain);
		uv_timer_start(&r->grace, on_farewell_over, FAREWELL_MS, 0);
	} else if (!r->child && (watches_running(r->watches) == 0 || late)) {
		finish(r, 0);
	}
}

static void rewind_to_start(struct replayer *r)
{
	if (deck_rewind(&r->deck, &r->failure))
		finish(r, 1);
}

static void on_ended(void *context, const struct err *err)
{
	struct replayer *r = context;

	if (err) {
		r->failure = *err;
		finish(r, 1);
		return;
	}
	if (r->options->loop && r->until_seq > r->from_seq) {
		rewind_to_start(r);
		return;
	}
	log_info("the tape has ended; the last state is being served");
	if (!r->options->exit_at_end || (r->child && r->options->settle_ns))
		return; /* settle says when */
	r->drain_until_ns = clock_mono_ns(&clock_system) + DRAIN_NS;
	uv_timer_start(&r->drain, on_drain_tick, 0, DRAIN_TICK_MS);
}

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

static void on_caught_up(void *context)
{
	struct replayer *r = context;

	if (!r->over)
		player_poke(r->player);
}

static const struct player_listener player_listener = {on_changed, on_pause_in_batch, is_ready, on_ended};
static const struct watches_listener watches_listener = {on_watch_opened, on_caught_up};

/* ---- opening ---- */

static int parse_listen(struct replayer *r, const char *text, struct err *err)
{
	const char *colon = strrchr(text, ':');
	char *end;
	long port = colon ? strtol(colon + 1, &end, 10) : -1;
	struct slice host = {text, colon ? (size_t)(colon - text) : 0};

	if (!colon || end == colon + 1 || *end || port < 0 || port > 65535)
		return err_set(err, ERR_USAGE, "bad address '%s': expected ADDRESS:PORT", text);
	if (host.len >= 2 && host.ptr[0] == '[' && host.ptr[host.len - 1] == ']')
		host = (struct slice){host.ptr + 1, host.len - 2};
	r->host = host.len ? slice_dup(host) : xstrdup("127.0.0.1");
	r->port = (int)port;
	return 0;
}

/* Where to begin and to end. The first lists must be complete, or clients would see half a cluster. */
static int find_bounds(struct replayer *r, struct err *err)
{
	const struct replay_options *o = r->options;
	struct tape_position from, until;
	struct tape_info info;
	int rc = tape_info(r->tape, &info, err);

	r->from_seq = info.first_seq ? info.first_seq - 1 : 0;
	r->until_seq = info.last_seq;
	r->from_ns = r->marks.start_ns ? r->marks.start_ns : info.first_time_ns;
	if (rc == 0 && o->from)
		rc = tape_position_find(r->tape, o->from, &from, err);
	if (rc == 0 && o->from) {
		r->from_seq = from.seq;
		r->from_ns = from.time_ns;
	}
	if (rc == 0 && o->until)
		rc = tape_position_find(r->tape, o->until, &until, err);
	if (rc == 0 && o->until)
		r->until_seq = until.seq;
	if (r->from_seq < r->marks.start_seq)
		r->from_seq = r->marks.start_seq;
	if (r->from_ns < r->marks.start_ns)
		r->from_ns = r->marks.start_ns;
	if (rc == 0 && r->until_seq < r->from_seq)
		return err_set(err, ERR_USAGE, "nothing to replay: the end '%s' lies before the beginning",
			o->until ? o->until : "end");
	return rc;
}

static int open_tape(struct replayer *r, struct err *err)
{
	const struct replay_options *o = r->options;
	int rc = tape_open(o->tape, &r->tape, err);

	if (rc == 0)
		rc = marks_load(r->tape, &r->marks, err);
	if (rc == 0)
		rc = find_bounds(r, err);
	if (rc == 0)
		rc = world_open(r->tape, &r->marks, r->from_seq, HISTORY_WINDOW, &r->world, err);
	return rc;
}

static void make_url(struct replayer *r)
{
	bool any = strcmp(r->host, "0.0.0.0") == 0 || strcmp(r->host, "::") == 0;
	const char *host = any ? "127.0.0.1" : r->host;
	bool six = strchr(host, ':') != NULL;

	r->url = xasprintf("%s://%s%s%s:%d", r->options->plain ? "http" : "https", six ? "[" : "", host,
		six ? "]" : "", server_port(r->server));
}

static int open_server(struct replayer *r, struct err *err)
{
	struct server_options so = {.handle = api_handle, .context = &r->api, .has_control = true};
	int rc = parse_listen(r, r->options->listen ? r->options->listen : "127.0.0.1:0", err);

	if (rc == 0 && !r->options->plain)
		rc = tls_new(r->host, true, &r->tls, err);
	if (rc)
		return rc;
	so.host = r->host;
	so.port = r->port;
	so.tls = r->tls;
	rc = server_open(&r->loop, &so, &r->server, err);
	r->delivery.server = r->server;
	if (rc == 0)
		make_url(r);
	return rc;
}

static int write_kubeconfig(struct replayer *r, struct err *err)
{
	const char *folder = getenv("TMPDIR");

	if (r->options->kubeconfig) {
		r->kubeconfig = xstrdup(r->options->kubeconfig);
	} else {
		r->kubeconfig = xasprintf("%s/kubetape-replay-%d.kubeconfig",
			folder && *folder ? folder : "/tmp", (int)getpid());
		r->remove_kubeconfig = true;
	}
	return kubeconfig_write(r->kubeconfig, r->url, r->tls ? tls_authority_pem(r->tls) : NULL, err);
}

static int open_player(struct replayer *r, struct err *err)
{
	const struct player_options options = {.world = r->world,
		.speed = r->options->speed,
		.start_tape_ns = r->from_ns,
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
		.first_seq = r->from_seq,
		.until_seq = r->until_seq,
		.first_ns = r->from_ns,
		.longest_silence_ns = r->options->max_idle_ns};
	r->world->time_ns = r->from_ns;
	if (r->options->rebase_time)
		world_rebase(r->world, r->from_ns);
	return deck_open(&r->deck, err);
}

static int open_run(struct replayer *r, struct err *err)
{
	const struct run_facts facts = {.tape = r->options->tape,
		.first_seq = r->from_seq,
		.last_seq = r->until_seq,
		.speed = r->options->speed};

	return r->options->run ? run_store_begin(r->run, r->options->run, &facts, err) : 0;
}

static int open_all(struct replayer *r, struct err *err)
{
	int rc = open_tape(r, err);

	if (rc == 0)
		rc = replay_faults_load(r->options, r->tape, &r->faults, err);
	if (rc == 0)
		rc = open_run(r, err);
	if (rc == 0)
		rc = open_player(r, err);
	r->run->player = r->player;
	r->run->world = r->world;
	r->delivery = (struct delivery){.run = r->run, .player = r->player, .watches = r->watches};
	if (rc == 0)
		replay_faults_begin(&r->faults, &r->deck, r->run);
	if (rc == 0)
		rc = open_server(r, err);
	if (rc == 0 && r->faults.act)
		fault_act_serve(r->faults.act, r->server);
	if (rc == 0)
		rc = write_kubeconfig(r, err);
	r->api = (struct api){
		.tape = r->tape,
		.world = r->world,
		.player = r->player,
		.watches = r->watches,
		.marks = &r->marks,
		.deck = &r->deck,
		.run = r->run,
		.rules = r->options->rules,
		.ahead_policy = r->options->ahead,
		.ahead = ahead_new(&r->loop),
		.faults = r->faults.act,
		.types = type_cache_new(),
	};
	return rc;
}

static void open_settle(struct replayer *r)
{
	const struct settle_options options = {.quiet_ns = r->options->settle_ns,
		.limit_ns = r->options->settle_limit_ns,
		.step_ns = r->options->step_ns,
		.player = r->player,
		.watches = r->watches,
		.run = r->run,
		.quiet = on_quiet,
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
	uv_timer_init(&r->loop, &r->drain);
	uv_timer_init(&r->loop, &r->grace);
	uv_timer_init(&r->loop, &r->reminder);
	r->interrupt.data = r->terminate.data = r->drain.data = r->grace.data = r->reminder.data = r;
	uv_signal_start(&r->interrupt, on_signal, SIGINT);
	uv_signal_start(&r->terminate, on_signal, SIGTERM);
}

/* ---- closing ---- */

/* Connections first: their ends still reach into the watches and the world. */
static void close_all(struct replayer *r)
{
	r->over = true;
	keys_close(r->keys);
	server_close(r->server);
	uv_run(&r->loop, UV_RUN_NOWAIT);
	deck_close(&r->deck);
	watches_close(r->watches);
	ahead_close(r->api.ahead);
	player_close(r->player);
	if (r->child) /* it may still run when the replay has failed */
		child_signal(r->child, SIGTERM);
	child_close(r->child);
	settle_close(r->settle);
	uv_close((uv_handle_t *)&r->grace, NULL);
	uv_close((uv_handle_t *)&r->interrupt, NULL);
	uv_close((uv_handle_t *)&r->terminate, NULL);
	uv_close((uv_handle_t *)&r->drain, NULL);
	uv_close((uv_handle_t *)&r->reminder, NULL);
	uv_run(&r->loop, UV_RUN_DEFAULT);
	uv_loop_close(&r->loop);
	replay_faults_close(&r->faults);
	type_cache_free(r->api.types);
	r->run->player = NULL;
	r->run->world = NULL;
	world_close(r->world);
	marks_release(&r->marks);
	tape_close(r->tape);
	tls_free(r->tls);
	if (r->remove_kubeconfig && r->kubeconfig)
		unlink(r->kubeconfig);
	free(r->kubeconfig);
	free(r->host);
	free(r->url);
}

/* ---- the report ---- */

static int report(struct replayer *r, struct err *err)
{
	const struct replay_options *o = r->options;
	const struct run_facts facts = {.tape = o->tape,
		.first_seq = r->from_seq,
		.last_seq = r->until_seq,
		.seq = r->world->seq,
		.speed = player_speed(r->player),
		.connections_cut = server_cut_count(r->server),
		.faults = fault_act_faults(r->faults.act)};
	struct buf text;
	int rc = 0;

	buf_init(&text, LIMIT_DOCUMENT_BYTES);
	if (o->over)
		rc = run_report_text(r->run, &facts, &text, err);
	if (rc == 0 && o->over && buf_append(&text, "", 1, NULL) == 0)
		o->over(o->context, text.ptr);
	buf_release(&text);
	if (rc == 0 && o->report)
		rc = run_report_write(r->run, &facts, o->report, err);
	r->missed = fault_act_sum_up(r->faults.act, r->until_seq);
	r->too_late = o->max_lateness_ns && r->run->late.max_ns > o->max_lateness_ns;
	if (r->too_late)
		log_warn("an event was delivered %.3f ms late: the limit is %.3f ms",
			(double)r->run->late.max_ns / (double)NS_PER_MS,
			(double)o->max_lateness_ns / (double)NS_PER_MS);
	return rc;
}

static void on_child_output(void *context, int fd, const char *bytes, size_t len)
{
	keys_write(((struct replayer *)context)->keys, fd, bytes, len);
}

/* The keys, unless a child has the terminal for itself; and the child. */
static int begin_terminal(struct replayer *r, struct err *err)
{
	const struct replay_options *o = r->options;
	const struct child_options child = {
		o->child, r->kubeconfig, on_child_exit, r, o->keys ? on_child_output : NULL};

	if (o->keys || !o->child)
		r->keys = keys_open(&r->loop, &r->deck, r->run, on_quit, r);
	if (o->keys && !r->keys)
		return err_set(err, ERR_USAGE, "'--keys' needs a terminal, as stdin and as stderr");
	return o->child ? child_start(&r->loop, &child, &r->child, err) : 0;
}

/* What begins once clients are served: the command, or the keys; the clock, if nobody is waited for. */
static int begin(struct replayer *r, struct err *err)
{
	const struct replay_options *o = r->options;
	int rc;

	if (o->serving && (rc = o->serving(o->context, r->url, r->kubeconfig, err)))
		return rc;
	rc = begin_terminal(r, err);
	if (rc)
		return rc;
	if (o->settle_ns || o->step_ns)
		open_settle(r);
	if (o->wait_watchers == 0)
		player_start(r->player);
	else if (!r->keys && !o->settle_ns)
		uv_timer_start(&r->reminder, on_reminder, REMIND_MS, 0);
	return 0;
}

/* Done, but not as it was asked for. */
static bool is_short(const struct replayer *r)
{
	return r->too_late || r->restless || (r->missed && !r->options->lenient);
}

int replayer_run(const struct replay_options *options, int *ret_exit_code, struct err *err)
{
	struct replayer r = {.options = options, .run = run_new()};
	int rc;

	open_loop(&r);
	rc = open_all(&r, err);
	if (rc == 0)
		rc = begin(&r, err);
	if (rc == 0 && !r.over)
		uv_run(&r.loop, UV_RUN_DEFAULT);
	if (rc == 0)
		rc = report(&r, err);
	r.ended_seq = r.world ? r.world->seq : 0;
	close_all(&r);
	if (rc == 0)
		rc = run_store_end(r.run, r.ended_seq, r.exit_code, r.ended_by ? r.ended_by : "tape", err);
	else
		(void)!run_store_end(r.run, r.ended_seq, 1, "failure", NULL);
	if (rc == 0 && r.failure.code)
		rc = err_copy(err, &r.failure);
	if (rc == 0)
		*ret_exit_code = r.exit_code == 0 && is_short(&r) ? EXIT_CODE_LOSS : r.exit_code;
	run_free(r.run);
	return rc;
}
