/*
 * crash_tape.c: writes, kills and checks tapes of one history (history.h).
 *
 *   crash_tape write TAPE LAST ACK     goes on with the tape to event LAST; what is durable is noted in the
 *                                      file ACK. A failure is retried, as a recorder would; exit 1 with the
 *                                      sentence when it does not go away
 *   crash_tape check TAPE ACK          everything acknowledged is there, and the tape is sound
 *   crash_tape hold TAPE               reads the tape, says "held", and has it open until stdin ends
 *   crash_tape kill DIR ROUNDS SEED    writers that are killed at any moment, ROUNDS times, while a reader
 *                                      follows
 */
#include "schema/base/clock.h"
#include "schema/tape/verify.h"
#include "tests/crash/history.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Small, so that a few milliseconds see every kind of step. */
static const struct tape_writer_options options = {
	.extent_bytes = 40000, .segment_events = 150, .small_state_bytes = 1};

#define FLUSH_TRIES    50
#define NEW_TAPE_EVERY 40 /* rounds, so that checking does not grow */
#define MAX_LIFE_NS    (60 * NS_PER_MS)
#define ENDLESS        UINT64_MAX

/* What survives a kill: memory that is shared with a file or a parent. */
struct ack {
	_Atomic uint64_t seq;
	_Atomic uint64_t last; /* that the last check of a kill found */
};

static int fail(const struct err *err)
{
	fprintf(stderr, "crash_tape: %s\n", err->text);
	return 1;
}

/* ---- writing ---- */

/* Only what writer.h says may be retried is. */
static int flush(struct tape_writer *w, struct err *err)
{
	int failed = tape_writer_flush(w, err);

	for (int i = 0; (failed == ERR_IO || failed == ERR_NO_SPACE) && i < FLUSH_TRIES; i++) {
		struct timespec pause = {0, NS_PER_MS};

		nanosleep(&pause, NULL);
		failed = tape_writer_flush(w, err);
	}
	return failed;
}

static void acknowledge(const struct tape_writer *w, struct ack *ack)
{
	struct tape_writer_stats stats;

	tape_writer_stats(w, &stats);
	atomic_store(&ack->seq, stats.durable_seq);
}

static int write_events(struct tape_writer *w, uint64_t last, struct ack *ack, struct err *err)
{
	struct tape_writer_stats stats;

	if (history_register(w, err))
		return err->code;
	tape_writer_stats(w, &stats);
	for (uint64_t seq = stats.last_seq + 1; seq <= last; seq++) {
		if (history_append(w, seq, err))
			return err->code;
		if (history_mix(seq ^ 77) % 8 && seq != last)
			continue;
		if (flush(w, err))
			return err->code;
		acknowledge(w, ack);
	}
	return 0;
}

static int write_tape(const char *path, uint64_t last, struct ack *ack, struct err *err)
{
	struct tape_writer *w;
	int failed = tape_writer_open(path, &options, &w, err);

	if (failed)
		return failed;
	failed = write_events(w, last, ack, err);
	if (failed) {
		tape_writer_abandon(w);
		return failed;
	}
	return tape_writer_close(w, err);
}

static struct ack *map_ack(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	void *at;

	if (fd < 0 || ftruncate(fd, sizeof(struct ack)))
		return NULL;
	at = mmap(NULL, sizeof(struct ack), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return at == MAP_FAILED ? NULL : at;
}

static int run_write(const char *path, const char *last, const char *ack_path)
{
	struct ack *ack = map_ack(ack_path);
	struct err err = {0};

	if (!ack)
		return 2;
	return write_tape(path, strtoull(last, NULL, 10), ack, &err) ? fail(&err) : 0;
}

/* ---- checking ---- */

static int show_damage(void *context, const struct tape_damage *d)
{
	(void)context;
	fprintf(stderr, "crash_tape: %s at %lld: %s: found %s, expected %s\n", d->file, (long long)d->offset,
		d->what, d->found, d->expected);
	return 0;
}

static int check_tape(const char *path, uint64_t acked, uint64_t *ret_last, struct err *err)
{
	struct tape_verify_options verify = {.damaged = show_damage};
	struct tape_verify_result result;

	*ret_last = 0;
	if (acked == 0 && (access(path, F_OK) || rmdir(path) == 0))
		return 0; /* nothing was made durable: no directory, or an empty one */
	if (history_check(path, acked, ret_last, err) || tape_verify(path, &verify, &result, err))
		return err->code;
	if (result.damages)
		return err_set(
			err, ERR_CORRUPT, "verify found %llu damages", (unsigned long long)result.damages);
	if (result.events != *ret_last)
		return err_set(err, ERR_CORRUPT, "verify saw %llu events, the reader %llu",
			(unsigned long long)result.events, (unsigned long long)*ret_last);
	return 0;
}

static int run_check(const char *path, const char *ack_path)
{
	struct ack *ack = map_ack(ack_path);
	struct err err = {0};
	uint64_t last;

	if (!ack)
		return 2;
	if (check_tape(path, atomic_load(&ack->seq), &last, &err))
		return fail(&err);
	printf("%llu\n", (unsigned long long)last);
	return 0;
}

/* ---- killing ---- */

/* One reader for many writers' lives. */
struct follower {
	struct tape *tape;
	struct tape_cursor *cursor;
	uint64_t seen;
};

static int follow(struct follower *f, const char *path, const struct ack *ack, struct err *err)
{
	if (!f->tape) {
		bool begun = atomic_load(&ack->seq) > 0;

		if (tape_open(path, &f->tape, err)) {
			f->tape = NULL;
			return begun ? err->code : 0;
		}
		if (tape_cursor_open(f->tape, NULL, TAPE_FORWARD, &f->cursor, err))
			return err->code;
	}
	if (tape_refresh(f->tape, err) < 0)
		return err->code;
	return history_check_on(f->cursor, &f->seen, err);
}

static void unfollow(struct follower *f)
{
	tape_cursor_close(f->cursor);
	tape_close(f->tape);
	*f = (struct follower){0};
}

static int run_hold(const char *path)
{
	struct follower f = {0};
	struct ack begun = {.seq = 1};
	struct err err = {0};
	char byte;

	if (follow(&f, path, &begun, &err) < 0)
		return fail(&err);
	puts("held");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		continue;
	unfollow(&f);
	return 0;
}

/*
 * Forks those that write and those that check, from a process that has no tape open, as the follower has. What SQLite knows
 * of open files may not be used beyond a fork; and a check reads files that it closes again, with which a process loses
 * its locks on them: a follower in the same process would be overlooked by the next writer.
 * An order is a byte; the answers are the child's pid and, when that has ended, its status.
 */
struct nursery {
	int orders, answers;
};

enum order { ORDER_WRITE = 'w', ORDER_CHECK = 'c' };

static _Noreturn void obey(char order, const char *path, struct ack *ack)
{
	struct err err = {0};
	uint64_t last = 0;
	int rc = order == ORDER_WRITE ? write_tape(path, ENDLESS, ack, &err)
				      : check_tape(path, atomic_load(&ack->seq), &last, &err);

	atomic_store(&ack->last, last);
	_exit(rc ? fail(&err) : 0);
}

static _Noreturn void run_nursery(const struct nursery *n, const char *path, struct ack *ack)
{
	char order;

	while (read(n->orders, &order, 1) == 1) {
		pid_t child = fork();
		int status;

		if (child == 0)
			obey(order, path, ack);
		if (write(n->answers, &child, sizeof(child)) != sizeof(child) ||
			waitpid(child, &status, 0) != child ||
			write(n->answers, &status, sizeof(status)) != sizeof(status))
			break;
	}
	_exit(0);
}

static int open_nursery(const char *path, struct ack *ack, struct nursery *ret)
{
	int orders[2], answers[2];
	pid_t child;

	if (pipe(orders) || pipe(answers))
		return -1;
	child = fork();
	if (child == 0) {
		close(orders[1]);
		run_nursery(&(struct nursery){orders[0], answers[1]}, path, ack);
	}
	close(orders[0]);
	close(answers[1]);
	*ret = (struct nursery){orders[1], answers[0]};
	return child < 0 ? -1 : 0;
}

static pid_t start_child(const struct nursery *n, char order)
{
	pid_t child;

	return write(n->orders, &order, 1) == 1 && read(n->answers, &child, sizeof(child)) == sizeof(child)
		       ? child
		       : -1;
}

static int end_of_child(const struct nursery *n)
{
	int status;

	return read(n->answers, &status, sizeof(status)) == sizeof(status) ? status : -1;
}

/* Waits for a while that is made of the round, reading on meanwhile. Returns the writer's status after the
 * kill, -1 when the reader failed. */
static int live_and_kill(const struct nursery *n, struct follower *f, const char *path, const struct ack *ack,
	uint64_t random, struct err *err)
{
	pid_t writer = start_child(n, ORDER_WRITE);
	int64_t until_ns = clock_mono_ns(&clock_system) + (int64_t)(random % (uint64_t)MAX_LIFE_NS);
	int status, failed = 0;

	if (writer < 0)
		return err_set_errno(err, errno, "cannot start a writer");
	while (clock_mono_ns(&clock_system) < until_ns && !failed) {
		struct timespec pause = {0, 500 * NS_PER_US};

		if (random % 3)
			failed = follow(f, path, ack, err);
		nanosleep(&pause, NULL);
	}
	kill(writer, SIGKILL);
	status = end_of_child(n);
	return failed < 0 ? -1 : status;
}

static int run_round(const struct nursery *n, const char *path, struct follower *f, struct ack *ack,
	uint64_t random, uint64_t *ret_last, struct err *err)
{
	int status = live_and_kill(n, f, path, ack, random, err);

	if (status < 0)
		return err_prefix(err, ERR_FAILED, "reader beside the writer");
	if (!WIFSIGNALED(status))
		return err_set(err, ERR_FAILED, "writer ended by itself with %d", WEXITSTATUS(status));
	if (start_child(n, ORDER_CHECK) < 0 || end_of_child(n) != 0)
		return err_set(err, ERR_FAILED, "after the kill: see above");
	*ret_last = atomic_load(&ack->last);
	if (*ret_last && follow(f, path, ack, err) < 0)
		return err_prefix(err, ERR_FAILED, "reader after the kill");
	return 0;
}

static int remove_tape(const char *path)
{
	char *command = xasprintf("rm -rf '%s'", path);
	int failed = system(command);

	free(command);
	return failed;
}

static int run_kill(const char *dir, const char *rounds_text, const char *seed_text)
{
	unsigned long rounds = strtoul(rounds_text, NULL, 10);
	uint64_t seed = strtoull(seed_text, NULL, 10), last = 0, lost = 0, events = 0;
	char *path = xasprintf("%s/kill.tape", dir);
	struct ack *ack = mmap(NULL, sizeof(*ack), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct follower f = {0};
	struct nursery nursery;
	struct err err = {0};

	if (open_nursery(path, ack, &nursery))
		return 2;
	for (unsigned long i = 0; i < rounds; i++) {
		if (i % NEW_TAPE_EVERY == 0) {
			unfollow(&f);
			remove_tape(path);
			atomic_store(&ack->seq, 0);
			events += last;
		}
		if (run_round(&nursery, path, &f, ack, history_mix(seed + i), &last, &err)) {
			err_prefix(&err, ERR_FAILED, "round %lu of seed %s, tape '%s'", i, seed_text, path);
			return fail(&err);
		}
		lost += last < atomic_load(&ack->seq);
	}
	unfollow(&f);
	printf("%lu kills, %llu events, %llu acknowledged ones lost\n", rounds,
		(unsigned long long)(events + last), (unsigned long long)lost);
	remove_tape(path);
	free(path);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 5 && strcmp(argv[1], "write") == 0)
		return run_write(argv[2], argv[3], argv[4]);
	if (argc == 4 && strcmp(argv[1], "check") == 0)
		return run_check(argv[2], argv[3]);
	if (argc == 3 && strcmp(argv[1], "hold") == 0)
		return run_hold(argv[2]);
	if (argc == 5 && strcmp(argv[1], "kill") == 0)
		return run_kill(argv[2], argv[3], argv[4]);
	fprintf(stderr,
		"usage: crash_tape write TAPE LAST ACK | check TAPE ACK | hold TAPE | kill DIR ROUNDS SEED\n");
	return 2;
}
