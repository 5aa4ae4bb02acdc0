/* pinner.c: see pinner.h. */
#include "recorder/pinner.h"

#include "recorder/pin_hook.h"
#include "recorder/pin_pending.h"
#include "schema/base/log.h"
#include "schema/base/own_program.h"
#include "schema/base/unused_name.h"
#include "schema/sql/predicate.h"
#include "schema/tape/beside.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FINISH_LIMIT_MS 60000
#define LACKS_SOMETHING 3                /* exit code of `pin`, which has said what */
#define PREDICATE_NS    (10 * NS_PER_MS) /* for one event: the sockets wait */
#define AGAIN_MS        60000            /* a full disk may have room then */
#define TRIES           5

enum pinner_state { PINNER_IDLE, PINNER_WAITING, PINNER_COPYING };

struct pinner {
	const struct pinner_options *o;
	const struct recorder_context *x;
	struct predicate **predicates;
	bool *complained; /* that a predicate could not be computed */
	enum pinner_state state;
	uv_timer_t after;
	uv_process_t copy;
	bool is_over; /* the tape is closed */
	bool gave_up;
	struct pin_hook *hook; /* NULL: nobody hears of it */
	int64_t *next_mono_ns; /* of each expression: it is not asked before */
	int64_t moment_ns;     /* of the event that is answered */
	uint64_t until_seq;    /* the last event that is to be on the pin; 0: not known yet */
	char *name;            /* of the pin; owned */
	/* Of the pin after this one, for an event that came when this one's end was settled; NULL: none; owned. */
	char *next_name;
	int64_t next_moment_ns;
	int tries;
	bool comes_again; /* the copy failed */
	bool is_left;     /* ... when the recording was over: the next recorder makes it */
};

/* ---- the copy ---- */

#define PIN_ENDING ".ktape"

static char *pins_folder(const struct pinner *p)
{
	return tape_beside(p->x->tape_path, "pins");
}

static char *pin_path(const struct pinner *p, const char *name)
{
	char *folder = pins_folder(p), *path = xasprintf("%s/%s" PIN_ENDING, folder, name);

	free(folder);
	return path;
}

/* Two events of one second have two pins. The caller frees. */
static char *choose_name(const struct pinner *p, int64_t time_ns)
{
	char second[TIME_TEXT_BYTES], *folder = pins_folder(p), *name, *other;

	name = unused_name(folder, time_format_name(second, time_ns), PIN_ENDING);
	free(folder);
	if (p->state == PINNER_IDLE || strcmp(name, p->name) != 0)
		return name;
	other = xasprintf("%s-next", name);
	free(name);
	return other;
}

static void begin_next(struct pinner *p);

/* Nothing is held for a pin any more. */
static void become_idle(struct pinner *p)
{
	p->state = PINNER_IDLE;
	if (!p->is_left)
		pin_pending_remove(p->x->tape_path);
	if (!p->is_over)
		tape_writer_hold(flusher_tape(p->x->flusher), 0);
	if (p->next_name)
		begin_next(p);
}

static void on_after(uv_timer_t *timer);

/* A pin that could not be made, for that reason. */
static void fail(struct pinner *p, const char *why)
{
	p->comes_again = !p->is_over && ++p->tries < TRIES;
	p->is_left |= p->is_over;
	log_warn("the pin '%s' could not be made: %s%s", p->name, why,
		p->comes_again ? "; trying again in a minute"
		: p->is_over   ? "; the next recording of this tape tries again"
			       : "");
}

static void try_later(struct pinner *p)
{
	p->state = PINNER_WAITING;
	uv_timer_start(&p->after, on_after, AGAIN_MS, 0);
}

static void on_copy_closed(uv_handle_t *handle)
{
	struct pinner *p = handle->data;

	if (p->comes_again && !p->is_over)
		try_later(p);
	else
		become_idle(p);
}

static void on_copied(uv_process_t *process, int64_t status, int signal_number)
{
	struct pinner *p = process->data;
	bool failed = (status && status != LACKS_SOMETHING) || signal_number;

	p->comes_again = false;
	if (failed)
		fail(p, "see above");
	else
		log_info("pinned '%s.pins/%s.ktape'", p->x->tape_path, p->name);
	uv_close((uv_handle_t *)process, on_copy_closed);
}

/* The child says on our stderr why it fails, and nothing else. */
static int pinner_start(struct pinner *p, uv_process_t *process, uv_process_options_t *options)
{
	uv_stdio_container_t stdio[3] = {{.flags = UV_IGNORE}, {.flags = UV_IGNORE},
		{.flags = UV_INHERIT_FD, .data.fd = STDERR_FILENO}};
	int rc;

	options->stdio_count = 3;
	options->stdio = stdio;
	rc = uv_spawn(p->x->loop, process, options);
	process->data = p;
	if (rc)
		fail(p, uv_strerror(rc));
	return rc;
}

static char *seconds_text(int64_t time_ns)
{
	return xasprintf("@%lld.%09lld", (long long)(time_ns / NS_PER_S), (long long)(time_ns % NS_PER_S));
}

static void pinner_copy(struct pinner *p)
{
	char program[PATH_MAX], *from = seconds_text(p->moment_ns - p->o->before_ns);
	char *until = p->until_seq ? xasprintf("seq:%llu", (unsigned long long)p->until_seq) : xstrdup("end");
	char *max = xasprintf("%llu", (unsigned long long)p->o->max_bytes);
	char *args[] = {(char *)"kubetape", (char *)"pin", (char *)p->x->tape_path, (char *)"--from", from,
		(char *)"--until", until, (char *)"--name", p->name, (char *)"--max-size", max, NULL};
	uv_process_options_t options = {.exit_cb = on_copied, .file = own_program(program), .args = args};

	p->state = PINNER_COPYING;
	if (pinner_start(p, &p->copy, &options))
		uv_close((uv_handle_t *)&p->copy, on_copy_closed);
	free(from);
	free(until);
	free(max);
}

/* By its number: the clock may have been set back since. */
static void note_last_event(struct pinner *p)
{
	struct tape_writer_stats stats;

	tape_writer_stats(flusher_tape(p->x->flusher), &stats);
	p->until_seq = p->until_seq ? p->until_seq : stats.durable_seq;
}

/* What is to be on the pin has to be on the tape. */
static void on_after(uv_timer_t *timer)
{
	struct pinner *p = timer->data;

	if (flusher_now(p->x->flusher) == 0) {
		note_last_event(p);
		pinner_copy(p);
		return;
	}
	fail(p, "its last events cannot be written yet");
	if (p->comes_again)
		try_later(p);
	else
		become_idle(p);
}

/* ---- events ---- */

static void tell_hook(struct pinner *p, const char *name, const struct tape_resource *r,
	const struct event *e, const char *when)
{
	char *pin = pin_path(p, name);

	pin_hook_run(p->hook, &(struct pin_facts){p->x->tape_path, pin, when, r, e});
	free(pin);
}

static void wait_for_rest(struct pinner *p, int64_t moment_ns, int64_t after_ns)
{
	p->moment_ns = moment_ns;
	p->until_seq = 0;
	p->tries = 0;
	p->state = PINNER_WAITING;
	tape_writer_hold(flusher_tape(p->x->flusher), time_sub(moment_ns, p->o->before_ns));
	uv_timer_start(&p->after, on_after, (uint64_t)(after_ns / NS_PER_MS), 0);
}

/* Of the time after that moment, which may be over. */
static int64_t time_left(const struct pinner *p, int64_t moment_ns)
{
	int64_t left_ns = moment_ns + p->o->after_ns - clock_wall_ns(p->x->clock);

	left_ns = left_ns < p->o->after_ns ? left_ns : p->o->after_ns;
	return left_ns > 0 ? left_ns : 0;
}

static void begin_pin(struct pinner *p, char *name, int64_t moment_ns, int64_t after_ns)
{
	free(p->name);
	p->name = name;
	pin_pending_write(p->x->tape_path, &(struct pin_pending){p->name, moment_ns});
	wait_for_rest(p, moment_ns, after_ns);
}

/* Of a tape that has ended nothing more comes. */
static void begin_next(struct pinner *p)
{
	char *name = p->next_name;

	p->next_name = NULL;
	if (!p->is_over) {
		begin_pin(p, name, p->next_moment_ns, time_left(p, p->next_moment_ns));
		return;
	}
	free(p->name);
	p->name = name;
	p->moment_ns = p->next_moment_ns;
	p->until_seq = 0;
	pinner_copy(p);
}

/* While a pin waits for what follows its event, an event of another expression is a part of it; once its end is settled, of the
 * next one. Returns the name of its pin. */
static const char *find_pin(struct pinner *p, int64_t moment_ns)
{
	bool is_settled = p->state == PINNER_COPYING || (p->state == PINNER_WAITING && p->until_seq);

	if (p->state == PINNER_IDLE)
		begin_pin(p, choose_name(p, moment_ns), moment_ns, p->o->after_ns);
	if (!is_settled)
		return p->name;
	if (!p->next_name) {
		p->next_name = choose_name(p, moment_ns);
		p->next_moment_ns = moment_ns;
	}
	return p->next_name;
}

static void answer_event(
	struct pinner *p, const struct tape_resource *r, const struct event *e, const char *when)
{
	log_info("event %llu of %s %.*s: %s", (unsigned long long)e->seq, r->resource, (int)e->name.len,
		e->name.ptr, when);
	tell_hook(p, find_pin(p, e->time_ns), r, e, when);
}

static bool is_true(
	struct pinner *p, size_t i, const struct tape_resource *r, const struct event *e, struct slice object)
{
	struct err err;
	int rc = predicate_test(p->predicates[i], r, e, object, &err);

	if (rc < 0 && !p->complained[i])
		log_warn("'%s' cannot be told of event %llu: %s", p->o->whens[i], (unsigned long long)e->seq,
			err.text);
	if (rc < 0)
		p->complained[i] = true;
	return rc > 0;
}

void pinner_event(
	struct pinner *p, const struct tape_resource *resource, const struct event *e, struct slice object)
{
	int64_t now_ns;

	if (!p || e->origin == ORIGIN_LIST)
		return;
	now_ns = clock_mono_ns(p->x->clock);
	for (size_t i = 0; i < p->o->when_count; i++) {
		if (now_ns < p->next_mono_ns[i] || !is_true(p, i, resource, e, object))
			continue;
		p->next_mono_ns[i] = now_ns + p->o->every_ns;
		answer_event(p, resource, e, p->o->whens[i]);
		return;
	}
}

/* ---- life ---- */

static int read_when(
	const char *text, const struct moment_frame *frame, struct predicate **ret, struct err *err)
{
	int rc = predicate_compile(slice_of(text), frame, ret, err);
	char *doubt;

	if (rc)
		return err_prefix(err, rc, "cannot pin when '%s'", text);
	predicate_limit(*ret, PREDICATE_NS);
	doubt = predicate_doubt(*ret);
	if (doubt)
		log_warn("'%s': %s", text, doubt);
	free(doubt);
	return 0;
}

int pinner_new(const struct recorder_context *x, const struct pinner_options *options, struct pinner **ret,
	struct err *err)
{
	int64_t now = clock_wall_ns(x->clock);
	const struct moment_frame frame = {now, now, now};
	struct pinner *p;
	int rc = 0;

	*ret = NULL;
	if (!options->when_count)
		return 0;
	p = xcalloc(1, sizeof(*p));
	*p = (struct pinner){.o = options, .x = x};
	p->predicates = xcalloc(options->when_count, sizeof(*p->predicates));
	p->complained = xcalloc(options->when_count, sizeof(*p->complained));
	p->next_mono_ns = xcalloc(options->when_count, sizeof(*p->next_mono_ns));
	for (size_t i = 0; i < options->when_count && rc == 0; i++)
		rc = read_when(options->whens[i], &frame, &p->predicates[i], err);
	if (rc) {
		pinner_free(p);
		return rc;
	}
	uv_timer_init(x->loop, &p->after);
	p->after.data = p;
	if (options->hook)
		p->hook = pin_hook_new(x, options->hook);
	*ret = p;
	return 0;
}

static bool is_made(const struct pinner *p)
{
	char *path = pin_path(p, p->name);
	bool is_there = access(path, F_OK) == 0;

	free(path);
	return is_there;
}

void pinner_resume(struct pinner *p)
{
	struct pin_pending pending;

	if (!p || p->state != PINNER_IDLE || !pin_pending_read(p->x->tape_path, &pending))
		return;
	free(p->name);
	p->name = pending.name;
	if (is_made(p)) {
		pin_pending_remove(p->x->tape_path);
		return;
	}
	log_info("the pin '%s' was to be made when the recorder ended: it is made now", p->name);
	wait_for_rest(p, pending.moment_ns, time_left(p, pending.moment_ns));
}

static void on_finish_limit(uv_timer_t *timer)
{
	struct pinner *p = timer->data;

	p->gave_up = true;
}

void pinner_finish(struct pinner *p, bool is_tape_there)
{
	if (!p)
		return;
	p->is_over = true;
	uv_timer_stop(&p->after); /* the hook may take longer, and the tape has ended */
	pin_hook_finish(p->hook, is_tape_there);
	if (!is_tape_there || p->state == PINNER_IDLE)
		return;
	if (p->state == PINNER_WAITING)
		pinner_copy(p);
	uv_timer_start(&p->after, on_finish_limit, FINISH_LIMIT_MS, 0);
	while (p->state != PINNER_IDLE && !p->gave_up)
		uv_run(p->x->loop, UV_RUN_ONCE);
}

void pinner_free(struct pinner *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->o->when_count; i++)
		predicate_free(p->predicates[i]);
	pin_hook_free(p->hook);
	free(p->predicates);
	free(p->complained);
	free(p->next_mono_ns);
	free(p->name);
	free(p->next_name);
	free(p);
}
