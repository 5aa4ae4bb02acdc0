/* replay_faults.c: see replay_faults.h. */
#include "replayer/replay_faults.h"

#include "replayer/fault/fault_file.h"
#include "replayer/fault/fault_load.h"
#include "schema/base/clock.h"
#include "schema/base/limits.h"

/* At speed max a recorded gap is over at once: the clock waits so long for watches to come back. In lock-step
 * it does so after every gap. */
#define GAP_HOLD_NS (30 * NS_PER_S)

static int load(struct replay_faults *f, struct faults **ret, struct err *err)
{
	const struct replay_options *o = f->options;
	const struct fault_load_options options = {.gaps = o->gaps,
		.text = buf_slice(&f->text),
		.lenient = o->lenient,
		.goes_on = o->speed != SPEED_MAX && !o->exit_at_end && !o->loop,
		.specs = o->gap_specs,
		.spec_count = o->gap_spec_count,
		.seed = o->seed,
		.begin_seq = f->world->seq,
		.begin_ns = f->world->time_ns,
		.recorded_hold_ns = o->speed == SPEED_MAX || o->step_ns ? GAP_HOLD_NS : 0,
		.hold_ns = o->step_ns ? GAP_HOLD_NS : 0};

	return fault_load(f->tape, &options, ret, err);
}

/* Nobody is there to be killed. */
static int check_restarts(const struct replay_faults *f, struct err *err)
{
	for (size_t i = 0; f->loaded && !f->options->child && i < faults_rule_count(f->loaded); i++) {
		const struct fault_rule *r = faults_rule(f->loaded, i);

		if (r->what.act == FAULT_RESTART)
			return err_set(err, ERR_USAGE, "%s: 'restart' needs a COMMAND after '--'", r->name);
	}
	return 0;
}

/* The replay was moved. When it went back, what was over happens again; gaps that it jumped over do not. */
static int on_moved(void *context, bool back, struct err *err)
{
	struct replay_faults *f = context;
	struct faults *faults;
	int rc;

	if (!back) {
		fault_act_jump(f->act, f->tape);
		return 0;
	}
	rc = load(f, &faults, err);
	if (rc == 0)
		fault_act_restart(f->act, faults);
	return rc;
}

int replay_faults_load(const struct replay_options *o, struct tape *tape, const struct world *world,
	struct replay_faults *ret, struct err *err)
{
	int rc;

	*ret = (struct replay_faults){.options = o, .tape = tape, .world = world};
	buf_init(&ret->text, LIMIT_CONFIG_BYTES);
	rc = fault_is_file(o->gaps) ? fault_file_text(o->gaps, &ret->text, err) : 0;
	if (rc == 0)
		rc = load(ret, &ret->loaded, err);
	return rc ? rc : check_restarts(ret, err);
}

void replay_faults_begin(struct replay_faults *f, struct deck *deck, struct run *run)
{
	if (!f->loaded)
		return;
	f->act = fault_act_new(f->loaded, deck->world, deck->player, deck->watches, run);
	f->loaded = NULL;
	player_direct(deck->player, &fault_act_director, f->act);
	watches_use_faults(deck->watches, f->act);
	deck->moved = on_moved;
	deck->context = f;
}

void replay_faults_close(struct replay_faults *f)
{
	fault_act_free(f->act);
	faults_free(f->loaded);
	buf_release(&f->text);
}
