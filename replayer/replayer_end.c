/*
 * replayer_end.c: how a replay ends, and what is told then; see replayer_internal.h.
 *
 *     a signal, the key q     without a child at once; a child is asked, and its exit code is the replay's
 *     the tape's end          with --exit-at-end: the watches end, then a child is asked
 *     clients are quiet       with --settle: a child is asked
 *     the child has ended
 */
#include "replayer/replayer_internal.h"

#include "replayer/process_tree.h"
#include "replayer/run/run.h"
#include "replayer/seen/seen.h"
#include "schema/base/clock.h"
#include "schema/base/limits.h"
#include "schema/base/log.h"

#include <signal.h>

#define EXIT_CODE_LOSS 3 /* done, but not as it was asked for */
#define DRAIN_TICK_MS  20
#define DRAIN_NS       (10 * NS_PER_S) /* at the end, for slow watchers */
#define FAREWELL_MS    1000            /* for a child to end because its watches have */
#define GRACE_MS       10000           /* for one that was asked to, */
#define GRACES_AT_WORK 6               /* ... and so many times if it is at work, as on a busy machine */

static void replayer_end_finish(struct replayer *r, int exit_code)
{
	if (r->over)
		return;
	r->over = true;
	r->exit_code = exit_code;
	uv_stop(&r->loop);
}

/* With a child the child decides: it is asked to end and its code is ours. */
void replayer_on_signal(uv_signal_t *handle, int signal_number)
{
	struct replayer *r = handle->data;

	r->ended_by = "signal";
	if (r->child)
		child_signal(r->child, signal_number);
	else
		replayer_end_finish(r, 0);
}

/* A child that dies of the signal by which it was asked to end has done nothing wrong. */
void replayer_on_child_exit(void *context, int exit_code)
{
	struct replayer *r = context;
	bool as_asked = r->asked && exit_code == 128 + (r->options->kill ? SIGKILL : SIGTERM);

	if (replayer_restart_on_exit(r))
		return;
	if (!r->ended_by)
		r->ended_by = "command";
	replayer_end_finish(r, as_asked ? 0 : exit_code);
}

static void on_grace_over(uv_timer_t *handle)
{
	struct replayer *r = handle->data;

	if (++r->graces < GRACES_AT_WORK && process_tree_is_awake(child_pid(r->child))) {
		uv_timer_start(handle, on_grace_over, GRACE_MS, 0);
		return;
	}
	log_warn("the command did not end within %d s of SIGTERM", r->graces * GRACE_MS / 1000);
	run_store_killed(r->run);
	child_signal(r->child, SIGKILL);
}

/* What the child writes from now on is no part of what it did. */
void replayer_ask_child(struct replayer *r)
{
	r->asked = true;
	run_store_quiet(r->run);
	if (r->options->kill && child_kill(r->child))
		return;
	child_signal(r->child, SIGTERM);
	uv_timer_start(&r->grace, on_grace_over, GRACE_MS, 0);
}

void replayer_on_quit(void *context)
{
	struct replayer *r = context;

	r->ended_by = "signal";
	if (r->child)
		replayer_ask_child(r);
	else
		replayer_end_finish(r, 0);
}

void replayer_on_quiet(void *context, bool in_time)
{
	struct replayer *r = context;

	if (r->ended_by)
		return;
	r->ended_by = in_time ? "quiet" : "limit";
	r->restless = !in_time;
	if (r->child) {
		run_store_memory(r->run, process_tree_memory(child_pid(r->child)));
		if (r->options->probe)
			replayer_probe(r, true);
		else
			replayer_ask_child(r);
		return;
	}
	run_store_quiet(r->run);
	replayer_end_finish(r, 0);
}

static void on_farewell_over(uv_timer_t *handle)
{
	replayer_ask_child(handle->data);
}

/* What was due has been sent. Its watches end, as they do without a child; one that watches again is asked to
 * end. */
static void on_drain_tick(uv_timer_t *handle)
{
	struct replayer *r = handle->data;
	int64_t now_ns = clock_mono_ns(&clock_system);
	bool late = now_ns > r->drain_until_ns;
	bool sent = watches_all_live(r->watches) || late;

	if (seen_is_busy(r->seen)) {
		r->drain_until_ns = now_ns + DRAIN_NS;
		return;
	}
	if (sent) {
		watches_end_all(r->watches);
		seen_end_all(r->seen);
	}
	if (r->child && sent && !r->ended_by) {
		r->ended_by = "tape";
		uv_timer_stop(&r->drain);
		uv_timer_start(&r->grace, on_farewell_over, FAREWELL_MS, 0);
	} else if (!r->child && (watches_running(r->watches) == 0 || late)) {
		replayer_end_finish(r, 0);
	}
}

static void rewind_to_start(struct replayer *r)
{
	if (deck_rewind(&r->deck, &r->failure))
		replayer_end_finish(r, 1);
}

void replayer_on_ended(void *context, const struct err *err)
{
	struct replayer *r = context;

	if (err) {
		r->failure = *err;
		replayer_end_finish(r, 1);
		return;
	}
	if (r->options->loop && r->bounds.until_seq > r->bounds.from_seq) {
		rewind_to_start(r);
		return;
	}
	log_info("the tape has ended; the last state is being served");
	if (!r->options->exit_at_end || (r->child && r->options->settle_ns))
		return; /* settle says when */
	r->drain_until_ns = clock_mono_ns(&clock_system) + DRAIN_NS;
	uv_timer_start(&r->drain, on_drain_tick, 0, DRAIN_TICK_MS);
}

/* ---- the report ---- */

int replayer_report(struct replayer *r, struct err *err)
{
	const struct replay_options *o = r->options;
	const struct run_facts facts = {.tape = o->tape,
		.first_seq = r->bounds.from_seq,
		.last_seq = r->bounds.until_seq,
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
	r->missed = fault_act_sum_up(r->faults.act, r->bounds.until_seq) + seen_sum_up(r->seen);
	r->too_late = o->max_lateness_ns && r->run->late.max_ns > o->max_lateness_ns;
	if (r->too_late)
		log_warn("an event was delivered %.3f ms late: the limit is %.3f ms",
			(double)r->run->late.max_ns / (double)NS_PER_MS,
			(double)o->max_lateness_ns / (double)NS_PER_MS);
	return rc;
}

int replayer_exit_code(const struct replayer *r)
{
	bool is_short =
		r->too_late || r->restless || ((r->missed || r->bounds.is_guess) && !r->options->lenient);

	return r->exit_code == 0 && is_short ? EXIT_CODE_LOSS : r->exit_code;
}
