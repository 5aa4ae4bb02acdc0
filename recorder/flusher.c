/* flusher.c: see flusher.h. */
#include "recorder/flusher.h"

#include "schema/base/log.h"

#include <malloc.h> /* GNU: malloc_trim */
#include <stdlib.h>

/* Where so much waits, it is made durable sooner. Little may wait for longer: a flush of it costs as much as one of four times
 * that. */
#define SOON_BYTES (128u << 10)
#define SOON_MS    50
/* A flush that failed is tried again that much later, and told about that often. */
#define RETRY_MS   500
#define COMPLAIN_S 30
/* Appended and not yet durable: from here on the sockets have to wait. */
#define MAX_PENDING_BYTES (64u << 20)
/* So much may wait while a flush runs: what the open extent and its frame leave of a full extent and some
 * more, within bounds. */
#define BESIDE_EXTENT_BYTES (20u << 20)
#define MAX_BACKLOG_BYTES   (24u << 20)
#define LEAST_BACKLOG_BYTES (4u << 20)
/* What is left to the loop: so little, while flushes do not take so long. */
#define QUICK_BYTES   (256u << 10)
#define SLOW_FLUSH_NS (5 * NS_PER_MS)
/* While flushes take so long, the backlog needs the memory that is kept for the extent to grow. */
#define VERY_SLOW_FLUSH_NS (200 * NS_PER_MS)

struct flusher {
	uv_loop_t *loop;
	const struct clock *clock;
	struct http *http;
	struct tape_writer *tape;
	struct flusher_options o;
	uv_timer_t tick;
	uv_work_t work;
	uv_sem_t finished;
	bool running; /* work was queued and its end was not seen on the loop yet */
	bool ours;    /* while running: the flush is over, the writer is the loop's again */
	bool closing, tick_closed, failing, holding;
	bool soon; /* the timer was set anew, as much waits */
	int64_t complained_mono_ns;
	bool slow;     /* the last flush took long */
	bool crawls;   /* very long, and had nothing to do that takes long */
	bool was_long; /* while running: the writer had said so before */
	int64_t took_ns;
	struct flusher_figures figures;
	int result;
	struct err err;
};

const int64_t flush_bucket_ns[FLUSH_BUCKETS] = {1 * NS_PER_MS, 2 * NS_PER_MS, 5 * NS_PER_MS, 10 * NS_PER_MS,
	50 * NS_PER_MS, 100 * NS_PER_MS, 500 * NS_PER_MS, 1 * NS_PER_S, 5 * NS_PER_S, 30 * NS_PER_S};

static void on_tick(uv_timer_t *timer);

static void shut_gate(struct flusher *f, const struct tape_writer_work *work)
{
	uint64_t full = work->extent_bytes > TAPE_EXTENT_BYTES ? work->extent_bytes : TAPE_EXTENT_BYTES;
	uint64_t most = full + BESIDE_EXTENT_BYTES, used = work->memory_bytes;
	uint64_t room = used < most ? most - used : 0;

	room = room < MAX_BACKLOG_BYTES ? room : MAX_BACKLOG_BYTES;
	http_shut_gate(f->http, room > LEAST_BACKLOG_BYTES ? room : LEAST_BACKLOG_BYTES);
}

static void start_timer(struct flusher *f, int64_t ms)
{
	if (f->closing || uv_is_active((uv_handle_t *)&f->tick))
		return;
	f->soon = false;
	uv_timer_start(&f->tick, on_tick, (uint64_t)ms, 0);
}

/* Not before what waits the longest has waited for SOON_MS. */
static void hurry(struct flusher *f)
{
	int64_t left_ms = (int64_t)uv_timer_get_due_in(&f->tick);
	int64_t soon_ms = SOON_MS - (f->o.interval_ns / NS_PER_MS - left_ms);

	f->soon = true;
	if (soon_ms < left_ms)
		uv_timer_start(&f->tick, on_tick, soon_ms > 0 ? (uint64_t)soon_ms : 0, 0);
}

/* What has filled the extent is sealed before more is taken in, so that an extent is no larger than it has to
 * be: it is most of the memory that we have. */
void flusher_dirty(struct flusher *f)
{
	/* Some say so before they take the writer from a flush that runs. */
	bool is_ours = f->tape && !f->closing && !flusher_is_busy(f);
	struct tape_writer_work work;

	if (is_ours && !f->failing && tape_writer_is_full(f->tape)) {
		tape_writer_work(f->tape, &work);
		shut_gate(f, &work);
		uv_timer_start(&f->tick, on_tick, 0, 0);
		return;
	}
	start_timer(f, f->o.interval_ns / NS_PER_MS);
	if (is_ours && !f->failing && !f->soon && tape_writer_pending_bytes(f->tape) >= SOON_BYTES)
		hurry(f);
}

static void flusher_complain(struct flusher *f)
{
	int64_t now = clock_mono_ns(f->clock);

	if (!f->failing || now - f->complained_mono_ns > COMPLAIN_S * NS_PER_S) {
		log_error("%s; nothing is lost yet, trying again", f->err.text);
		f->complained_mono_ns = now;
	}
	f->failing = true;
	uv_timer_stop(&f->tick);
	start_timer(f, RETRY_MS);
}

static void account(struct flusher *f)
{
	struct flusher_figures *g = &f->figures;

	g->flushes++;
	g->failures += f->result != 0;
	g->flush_ns += f->took_ns;
	for (size_t i = 0; i < FLUSH_BUCKETS; i++) {
		if (f->took_ns <= flush_bucket_ns[i]) {
			g->buckets[i]++;
			break;
		}
	}
	tape_writer_stats(f->tape, &g->tape);
}

/* What a flush came to; the writer is the loop's. */
static void flusher_judge(struct flusher *f)
{
	struct tape_writer_work work;
	bool hold;

	account(f);
	if (f->result == ERR_NO_SPACE || f->result == ERR_IO) {
		flusher_complain(f);
	} else if (f->result) {
		f->o.fatal(f->o.owner, &f->err);
		return;
	} else if (f->failing) {
		log_info("the tape is being written again");
		f->failing = false;
	}
	tape_writer_work(f->tape, &work);
	hold = f->failing && work.pending_bytes > MAX_PENDING_BYTES;
	f->figures.pending_bytes = work.pending_bytes;
	f->figures.holds += hold && !f->holding;
	f->holding = hold;
	http_hold(f->http, hold);
	if (work.takes_long && !f->failing)
		start_timer(f, 1);
}

/* On the loop nothing is done that takes long. */
static void flush(struct flusher *f, int (*how)(struct tape_writer *w, struct err *err))
{
	int64_t begin_ns = clock_mono_ns(f->clock);

	f->result = how(f->tape, &f->err);
	f->took_ns = clock_mono_ns(f->clock) - begin_ns;
	f->slow = f->took_ns > SLOW_FLUSH_NS;
}

/* On the flushing thread. */
static void flush_work(uv_work_t *work)
{
	struct flusher *f = work->data;

	flush(f, tape_writer_flush);
	f->crawls = !f->was_long && f->took_ns > VERY_SLOW_FLUSH_NS;
	if (f->was_long) /* sealing and a new segment let go of what malloc would keep */
		malloc_trim(0);
	uv_sem_post(&f->finished);
}

static void reclaim(struct flusher *f)
{
	if (f->running && !f->ours) {
		uv_sem_wait(&f->finished);
		f->ours = true;
	}
}

static void on_flushed(uv_work_t *work, int status)
{
	struct flusher *f = work->data;

	(void)status;
	reclaim(f);
	f->running = f->ours = false;
	if (f->closing) {
		if (f->tick_closed)
			free(f);
		return;
	}
	flusher_judge(f);
	http_open_gate(f->http);
}

/* A disk that has been quick, little to write, nothing that takes long: the loop does it itself, which costs
 * less than to wake another thread. Should the disk be slow this once, the socket's own buffer bridges it. */
static bool is_quick(const struct flusher *f, const struct tape_writer_work *work)
{
	return !f->slow && !f->failing && work->pending_bytes < QUICK_BYTES && !work->takes_long;
}

static void on_tick(uv_timer_t *timer)
{
	struct flusher *f = timer->data;
	struct tape_writer_work work;

	if (f->running) { /* its end was not seen yet: at the next turn of the loop */
		start_timer(f, 1);
		return;
	}
	if (!f->tape)
		return;
	tape_writer_work(f->tape, &work);
	if (is_quick(f, &work)) {
		(void)flusher_now(f);
		return;
	}
	if (f->crawls && !work.takes_long) {
		tape_writer_trim(f->tape);
		tape_writer_work(f->tape, &work);
	}
	f->running = true;
	f->ours = false;
	f->was_long = work.takes_long;
	shut_gate(f, &work);
	uv_queue_work(f->loop, &f->work, flush_work, on_flushed);
}

struct flusher *flusher_new(
	uv_loop_t *loop, const struct clock *clock, struct http *http, const struct flusher_options *options)
{
	struct flusher *f = xcalloc(1, sizeof(*f));

	f->loop = loop;
	f->clock = clock;
	f->http = http;
	f->o = *options;
	f->work.data = f;
	uv_sem_init(&f->finished, 0);
	uv_timer_init(loop, &f->tick);
	f->tick.data = f;
	return f;
}

void flusher_set_tape(struct flusher *f, struct tape_writer *tape)
{
	f->tape = tape;
}

static void on_closed(uv_handle_t *handle)
{
	struct flusher *f = handle->data;

	uv_sem_destroy(&f->finished);
	f->tick_closed = true;
	if (!f->running)
		free(f);
}

void flusher_free(struct flusher *f)
{
	if (!f)
		return;
	reclaim(f);
	f->closing = true;
	uv_close((uv_handle_t *)&f->tick, on_closed);
}

struct flusher_figures flusher_figures(const struct flusher *f)
{
	struct flusher_figures g = f->figures;

	g.failing = f->failing;
	g.backlog_bytes = http_backlog_bytes(f->http);
	return g;
}

struct tape_writer *flusher_tape(struct flusher *f)
{
	reclaim(f);
	return f->tape;
}

bool flusher_is_busy(const struct flusher *f)
{
	return f->running && !f->ours;
}

int flusher_now(struct flusher *f)
{
	reclaim(f);
	flush(f, tape_writer_commit);
	flusher_judge(f);
	return f->result;
}
