/* fault_act.c: see fault_act.h. */
#include "replayer/serve/fault_act_internal.h"

#include "replayer/fault/fault_keys.h"
#include "replayer/fault/fault_tally.h"
#include "replayer/run/run.h"
#include "replayer/serve/ahead.h"
#include "replayer/serve/watch_internal.h"
#include "replayer/wire/server.h"
#include "schema/base/log.h"

#include <stdlib.h>

struct fault_act *fault_act_new(struct faults *faults, struct world *world, struct player *player,
	struct watches *watches, struct run *run)
{
	struct fault_act *a = xcalloc(1, sizeof(*a));

	*a = (struct fault_act){
		.faults = faults, .world = world, .player = player, .watches = watches, .run = run};
	return a;
}

void fault_act_free(struct fault_act *a)
{
	if (!a)
		return;
	faults_free(a->faults);
	free(a);
}

static void tell_missed(struct fault_act *a, size_t rule, uint64_t until_seq)
{
	const struct fault_rule *r = faults_rule(a->faults, rule);
	const struct fault_note note = {.rule = rule, .step = "nobody", .what = fault_do_word(r->what.act)};
	char *why = faults_why_not(a->faults, rule, a->world->seq, until_seq);

	fault_act_note(a, &note);
	if (r->optional)
		log_info("%s", why);
	else
		log_warn("%s", why);
	free(why);
}

size_t fault_act_sum_up(struct fault_act *a, uint64_t until_seq)
{
	size_t missed = 0;

	for (size_t i = 0; a && i < faults_rule_count(a->faults); i++) {
		if (faults_has_struck(a->faults, i))
			continue;
		tell_missed(a, i, until_seq);
		missed += !faults_rule(a->faults, i)->optional;
	}
	return missed;
}

const struct faults *fault_act_faults(const struct fault_act *a)
{
	return a ? a->faults : NULL;
}

void fault_act_jump(struct fault_act *a, const struct tape *t)
{
	faults_settle_past(a->faults, t, a->world->seq, a->world->time_ns);
}

void fault_act_command(struct fault_act *a, const struct fault_act_command *command)
{
	a->command = *command;
}

void fault_act_started(struct fault_act *a)
{
	a->command_is_dead = a->command_starts = false;
	player_nudge(a->player);
}

void fault_act_serve(struct fault_act *a, struct server *server)
{
	a->server = server;
	fault_act_director.tick(a);
	player_nudge(a->player);
}

/* The tape's time is that of the event at hand, where there is one: so the same fault file gives the same run
 * however late the loop is. */
void fault_act_now(const struct fault_act *a, struct fault_now *ret)
{
	bool ended = player_state(a->player) == PLAYER_ENDED;
	bool over = ended && player_speed(a->player) == SPEED_MAX;

	*ret = (struct fault_now){
		.tape_ns = a->at_event ? a->event_ns
			   : over      ? INT64_MAX
				       : player_tape_ns(a->player),
		.mono_ns = clock_mono_ns(&clock_system),
		.seq = a->world->seq,
		.ended = ended,
	};
}

void fault_act_note(struct fault_act *a, const struct fault_note *note)
{
	const struct fault_rule *r = faults_rule(a->faults, note->rule);
	struct run_fault_row row = {.rule = note->rule + 1,
		.episode = note->episode,
		.step = slice_of(note->step),
		.what = slice_of(note->what),
		.detail = slice_of(r && r->name ? r->name : "")};

	if (note->resource) {
		row.where.apigroup = slice_of(note->resource->apigroup);
		row.where.version = slice_of(note->resource->version);
		row.where.resource = slice_of(note->resource->resource);
	}
	run_fault(a->run, note->request, &row);
}

static void note_step(struct fault_act *a, const struct fault_firing *firing, const char *step)
{
	const struct fault_note note = {.rule = firing->rule_index,
		.episode = firing->episode,
		.step = step,
		.what = fault_do_word(firing->rule->what.act)};

	fault_act_note(a, &note);
}

/* A watch was struck, or one of its frames, by that rule. */
static void note_watch(
	struct fault_act *a, size_t rule, uint64_t episode, const char *step, const struct watch *w)
{
	const struct fault_note note = {.rule = rule,
		.episode = episode,
		.step = step,
		.what = fault_do_word(faults_rule(a->faults, rule)->what.act),
		.resource = &w->collection->resource,
		.request = w->stored};

	fault_act_note(a, &note);
}

/* ---- what happens to watches ---- */

static void end_with_error(struct watch *w, const struct fault_what *what)
{
	struct status st = {0};

	if (what->status) {
		watch_end_with_error_json(w, slice_of(what->status));
		return;
	}
	if (what->code == 410 && !what->message)
		status_expired(&st, "too old resource version: %llu (%llu)",
			(unsigned long long)w->collection->rv, (unsigned long long)w->collection->rv + 1);
	else
		fault_status_of(what, &st);
	if (what->reason)
		st.reason = what->reason;
	watch_end_with_error(w, &st);
}

static void strike_watch(struct watch *w, const struct fault_what *what, uint64_t episode)
{
	switch ((enum fault_do)what->act) {
	case FAULT_END: watch_end(w); break;
	case FAULT_FIN: watch_break(w, ABORT_FIN, 0); break;
	case FAULT_RESTART:
	case FAULT_RST: watch_break(w, ABORT_RST, 0); break;
	case FAULT_GOAWAY: watch_break(w, ABORT_GOAWAY, 0); break;
	case FAULT_RST_STREAM: watch_break(w, ABORT_STREAM, (uint32_t)what->code); break;
	case FAULT_STALL: watch_freeze(w, fault_act_bit(episode)); break;
	case FAULT_ERROR: end_with_error(w, what); break;
	/* Frames are cut where they are sent; the others are about requests and frames. */
	case FAULT_CUT:
	case FAULT_REFUSE:
	case FAULT_HTTP:
	case FAULT_STALE_LIST:
	case FAULT_STALE_VIEW:
	case FAULT_SLOW:
	case FAULT_WAIT:
	case FAULT_DELAY:
	case FAULT_DUPLICATE:
	case FAULT_REORDER:
	case FAULT_DROP:
	case FAULT_BURST:
	case FAULT_ECHO:
	case FAULT_WRITE_ERROR:
	case FAULT_WRITE_RESET:
	case FAULT_WRITE_LATE:
	case FAULT_PAUSE:
	case FAULT_NOTHING:
	case FAULT_DO_COUNT: break;
	}
}

struct strike {
	struct fault_act *act;
	const struct fault_firing *firing;
	size_t hits;
};

static void strike_if_hit(void *context, struct watch *w)
{
	struct strike *s = context;
	const struct fault_what *what = &s->firing->rule->what;

	if (!w->faulty || !fault_hits(s->act->faults, s->firing, &w->fault))
		return;
	s->hits++;
	if (what->act == FAULT_CUT) /* with the next frame, if one comes: see fault_act_cut */
		return;
	faults_count_watch(s->act->faults, s->firing->rule_index);
	note_watch(s->act, s->firing->rule_index, s->firing->episode, "watch", w);
	strike_watch(w, what, s->firing->episode);
}

static void release_if_free(void *context, struct watch *w)
{
	(void)context;
	if (w->state == WATCH_WAITING && !exchange_is_frozen(w->x))
		watch_release(w);
}

/* Whatever still comes of the one that is dead is not answered. */
static void kill_command(struct fault_act *a, const struct fault_firing *firing)
{
	if (!a->command.kill || !a->command.kill(a->command.context))
		return;
	a->command_is_dead = true;
	faults_count_watch(a->faults, firing->rule_index);
	note_step(a, firing, "restart");
}

static void fault_act_begin(struct fault_act *a, const struct fault_firing *firing)
{
	struct strike s = {.act = a, .firing = firing};

	note_step(a, firing, "begins");
	if (firing->rule->what.act == FAULT_RESTART)
		kill_command(a, firing);
	if (firing->rule->what.act != FAULT_RESTART || a->command_is_dead)
		watches_each(a->watches, strike_if_hit, &s);
	if (fault_ends_streams(firing->rule->what.act))
		log_info("fault '%s' at event %llu: %s, %zu watches", firing->rule->name,
			(unsigned long long)firing->at.seq, fault_do_word(firing->rule->what.act), s.hits);
	else
		log_info("fault '%s' at event %llu: %s", firing->rule->name,
			(unsigned long long)firing->at.seq, fault_do_word(firing->rule->what.act));
}

static void end(struct fault_act *a, const struct fault_firing *firing)
{
	const struct fault_rule *r = firing->rule;
	bool stalls = fault_keeps_requests(r->what.act) || fault_keeps_requests(r->during.act);

	note_step(a, firing, "ends");
	if (stalls)
		fault_act_let_go(a, firing->episode);
	if (stalls || fault_keeps_frames_back(r->what.act)) {
		watches_each(a->watches, release_if_free, NULL);
		a->run->kept_back++;
	}
	if (r->what.act == FAULT_RESTART && a->command_is_dead) {
		a->command_starts = true;
		a->command.start(a->command.context);
	}
	if (r->for_ns)
		log_info("fault '%s' is over at event %llu", r->name, (unsigned long long)firing->at.seq);
}

/* Whether anybody listens follows from the faults that are active. */
static void listen_or_not(struct fault_act *a)
{
	struct fault_now now;
	struct err err;

	fault_act_now(a, &now);
	if (faults_refuse(a->faults, &now)) {
		server_refuse(a->server);
	} else if (server_accept(a->server, &err)) {
		if (!a->cannot_listen)
			log_error("nobody can connect: %s", err.text);
		a->cannot_listen = true;
	} else {
		a->cannot_listen = false;
	}
}

/* Carries out what a call may have brought about; where watches may end. */
static void drain(struct fault_act *a)
{
	struct fault_firing firing;

	if (a->draining || !a->server)
		return;
	a->draining = true;
	while (faults_take(a->faults, &firing)) {
		if (firing.step == FAULT_BEGINS)
			fault_act_begin(a, &firing);
		else
			end(a, &firing);
	}
	listen_or_not(a);
	a->draining = false;
}

/* ---- what the player tells ---- */

/* Frames that wait are tried again when a time of theirs has come; those that wait for events, with each. */
static void try_again(void *context, struct watch *w)
{
	struct fault_act *a = context;
	struct fault_now now;
	bool by_event;

	if (w->state != WATCH_WAITING || exchange_is_frozen(w->x))
		return;
	fault_act_now(a, &now);
	by_event = w->wait_tape_ns == INT64_MAX && w->wait_mono_ns == INT64_MAX;
	if (now.tape_ns < w->wait_tape_ns && now.mono_ns < w->wait_mono_ns && !now.ended &&
		!(by_event && a->applied != a->retried))
		return;
	watch_enter(w, WATCH_HISTORY);
	watch_step(w);
	watches_wake(a->watches);
}

static void try_waiting(struct fault_act *a)
{
	for (struct watch *w = a->watches->waiting, *next; w; w = next) {
		next = w->next_behind;
		try_again(a, w);
	}
	a->retried = a->applied;
}

static int before(
	void *context, const struct collection *in, const struct change *c, int64_t tape_ns, struct err *err)
{
	struct fault_act *a = context;
	struct fault_now now;
	struct event e = change_event(c);
	int rc;

	a->at_event = true;
	a->event_ns = tape_ns;
	fault_act_now(a, &now);
	rc = faults_before(a->faults, &now, &in->resource, &e, c->object, err);
	drain(a);
	try_waiting(a);
	return rc;
}

static void after(void *context, const struct collection *in, const struct change *c, int64_t tape_ns)
{
	struct fault_act *a = context;
	struct fault_now now;
	struct event e = change_event(c);

	a->applied++;
	a->event_ns = tape_ns;
	fault_act_now(a, &now);
	faults_after(a->faults, &now, &in->resource, &e, in->rv);
	drain(a);
	if (a->watches->waiting) /* after this event on the wire, too, which may be on another connection */
		player_flush(a->player);
	try_waiting(a);
	a->at_event = false;
}

static void fault_act_tick(void *context)
{
	struct fault_act *a = context;
	struct fault_now now;

	fault_act_now(a, &now);
	faults_tick(a->faults, &now);
	drain(a);
	try_waiting(a);
}

void fault_act_yield(struct fault_act *a)
{
	struct fault_now now;

	fault_act_now(a, &now);
	faults_yield(a->faults, &now);
	drain(a);
	try_waiting(a);
}

bool fault_act_is_late(const struct fault_act *a)
{
	return faults_are_late(a->faults);
}

void fault_act_stop_awaiting(struct fault_act *a)
{
	struct fault_now now;

	fault_act_now(a, &now);
	faults_stop_awaiting(a->faults, &now);
	player_nudge(a->player);
}

void fault_act_prolong(struct fault_act *a)
{
	faults_prolong(a->faults, clock_mono_ns(&clock_system));
}

static void next(void *context, int64_t *ret_tape_ns, int64_t *ret_mono_ns)
{
	const struct fault_act *a = context;

	faults_next(a->faults, ret_tape_ns, ret_mono_ns);
	for (const struct watch *w = a->watches->waiting; w; w = w->next_behind) {
		*ret_tape_ns = w->wait_tape_ns < *ret_tape_ns ? w->wait_tape_ns : *ret_tape_ns;
		*ret_mono_ns = w->wait_mono_ns < *ret_mono_ns ? w->wait_mono_ns : *ret_mono_ns;
	}
	if (a->cannot_listen && *ret_mono_ns == INT64_MAX)
		*ret_mono_ns = clock_mono_ns(&clock_system) + NS_PER_S;
}

static void fault_act_settle(void *context)
{
	struct fault_act *a = context;
	struct fault_now now;

	fault_act_now(a, &now);
	faults_settle(a->faults, &now);
}

static bool is_holding(const void *context)
{
	const struct fault_act *a = context;
	struct fault_now now;

	fault_act_now(a, &now);
	return faults_is_holding(a->faults, &now) || a->command_starts ||
	       (a->ahead && ahead_has_delayed(a->ahead));
}

const struct player_director fault_act_director = {
	.before = before,
	.after = after,
	.tick = fault_act_tick,
	.next = next,
	.settle = fault_act_settle,
	.is_holding = is_holding,
};

/* ---- what watches tell ---- */

static void note_opened(struct fault_act *a, struct watch *w)
{
	struct fault_now now;
	struct fault_request request = w->fault.request;

	fault_act_now(a, &now);
	fault_stream_open(a->faults, &now, &request, &w->fault);
	w->faulty = true;
}

void fault_act_opened(struct fault_act *a, struct watch *w, const struct api_call *call)
{
	w->agent = slice_dup(call->fault.user_agent);
	w->credential = slice_dup(call->fault.credential);
	w->fault.request = call->fault;
	w->fault.request.kind = FAULT_WATCH;
	w->fault.request.user_agent = slice_of(w->agent);
	w->fault.request.credential = slice_of(w->credential);
	w->fault.request.namespace = w->namespace;
	note_opened(a, w);
	drain(a);
	player_nudge(a->player);
}

void fault_act_closed(struct fault_act *a, struct watch *w)
{
	fault_stream_close(a->faults, &w->fault);
	free(w->agent);
	free(w->credential);
	w->agent = w->credential = NULL;
	w->faulty = false;
}

void fault_act_frame(struct fault_act *a, struct watch *w, const struct change *c, struct fault_frame *ret)
{
	const struct event e = {
		.seq = c->seq, .time_ns = c->time_ns, .resource = c->resource, .type = c->type};
	struct fault_now now;

	fault_act_now(a, &now);
	faults_frame(a->faults, &now, &w->fault, &e, ret);
	for (uint64_t bits = ret->rules; bits; bits &= bits - 1)
		note_watch(a, (size_t)__builtin_ctzll(bits), 0, "frame", w);
	if (ret->act == FRAME_CUT) /* by the code that puts it on the wire, as every other frame */
		*ret = (struct fault_frame){.act = FRAME_SEND, .copies = 1};
	else if (ret->act == FRAME_WAIT)
		player_nudge(a->player);
}

void fault_act_cut(struct fault_act *a, struct watch *w)
{
	w->fault.was_cut = true;
	faults_count_watch(a->faults, w->fault.cut_rule);
	note_watch(a, w->fault.cut_rule, w->fault.cut_by, "watch", w);
}

void fault_act_sent(struct fault_act *a, struct watch *w)
{
	struct fault_now now;

	fault_act_now(a, &now);
	fault_stream_sent(a->faults, &now, &w->fault);
	drain(a);
}

/* ---- writes ---- */

/* What is done to watches happens at once, what is done to the writer when the write is over: the connection
 * on which it came is still needed. */
void fault_act_write_begins(
	struct api_call *call, const struct fault_write *write, struct fault_write_answer *ret)
{
	struct fault_act *a = call->api->faults;
	struct fault_now now;

	fault_act_now(a, &now);
	faults_write_begins(a->faults, &now, write, ret);
	if (ret->what)
		fault_act_note_write(call, ret->rule_index, fault_do_word(ret->what->act));
	else
		drain(a);
	player_nudge(a->player);
}

void fault_act_version(
	struct fault_act *a, const struct collection *in, const struct change *c, bool is_tapes)
{
	const struct fault_written what = {c->seq, c->rv, is_tapes};
	struct fault_now now;

	fault_act_now(a, &now);
	faults_write_version(a->faults, &now, &in->resource, &what);
}

void fault_act_write_ends(struct api_call *call, const struct fault_write_answer *answer)
{
	struct fault_act *a = call->api->faults;
	struct fault_now now;

	fault_act_now(a, &now);
	faults_write_ends(a->faults, &now);
	drain(a); /* first: a command that is to die must not see that its connection ends, and try again */
	if (answer->what && answer->what->act != FAULT_WRITE_ERROR && answer->what->act != FAULT_WRITE_LATE)
		exchange_abort(call->x, ABORT_RST);
	player_nudge(a->player);
}

void fault_act_write_error(const struct fault_write_answer *answer, struct status *st)
{
	fault_status_of(answer->what, st);
}

/* ---- beginning anew ---- */

static void fault_act_forget(void *context, struct watch *w)
{
	struct fault_act *a = context;

	if (w->faulty)
		fault_stream_close(a->faults, &w->fault);
	w->faulty = false;
}

static void reopen(void *context, struct watch *w)
{
	if (w->agent)
		note_opened(context, w);
}

/* What lies before the new position happens to nobody. */

void fault_act_restart(struct fault_act *a, struct faults *faults)
{
	watches_each(a->watches, fault_act_forget, a);
	server_thaw(a->server, UINT64_MAX);
	faults_inherit(faults, a->faults);
	faults_free(a->faults);
	a->faults = faults;
	a->at_event = false;
	fault_act_tick(a);
	watches_each(a->watches, reopen, a);
	player_nudge(a->player);
}
