/*
 * test_tape_lock.c: writers that begin at the same moment. flock() is ours, so that another process can be
 * let in between a writer's open() of the lock file and its flock().
 */
#include "schema/tape/tape_lock.h"
#include "tests/unit/recover_check.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define PROCESSES 8
#define ROUNDS    25

static void (*before_lock)(void); /* called once */
static struct model own;
static int others_fd = -1;

int flock(int fd, int operation)
{
	void (*hook)(void) = before_lock;

	before_lock = NULL;
	if (hook)
		hook();
	return (int)syscall(SYS_flock, fd, operation);
}

static char *lock_path(void)
{
	return xasprintf("%s/lock", own.path);
}

static void another_takes_it(void)
{
	char *path = lock_path();

	others_fd = open(path, O_RDWR | O_CLOEXEC);
	ck_assert_int_ge(others_fd, 0);
	ck_assert_int_eq(flock(others_fd, LOCK_EX | LOCK_NB), 0);
	free(path);
}

static void another_removes_the_file(void)
{
	char *path = lock_path();

	ck_assert_int_eq(unlink(path), 0);
	free(path);
}

static void another_removes_all(void)
{
	another_removes_the_file();
	ck_assert_int_eq(rmdir(own.path), 0);
}

START_TEST(tape_lock__a_loser_that_made_the_directory_leaves_it_to_the_winner)
{
	struct tape_writer *w;
	struct stat held, named;
	struct err err;
	char *path;

	model_init(&own, 1);
	path = lock_path();
	before_lock = another_takes_it;
	ck_assert_int_eq(tape_writer_open(own.path, NULL, &w, &err), ERR_BUSY);
	ck_assert_int_eq(fstat(others_fd, &held), 0);
	ck_assert_msg(stat(path, &named) == 0, "the winner's lock file is gone");
	ck_assert_uint_eq(held.st_ino, named.st_ino);
	ck_assert_int_eq(tape_writer_open(own.path, NULL, &w, &err), ERR_BUSY);
	close(others_fd);
	ck_assert_ok(tape_writer_open(own.path, NULL, &w, &err), &err);
	ck_assert_ok(tape_writer_close(w, &err), &err);
	free(path);
	model_release(&own);
}
END_TEST

static void check_lock_is_held_where_it_is_named(void (*hook)(void))
{
	struct tape_lock lock, second;
	struct err err;

	model_init(&own, 2);
	before_lock = hook;
	ck_assert_ok(tape_lock_take(own.path, &lock, &err), &err);
	ck_assert_int_eq(tape_lock_take(own.path, &second, &err), ERR_BUSY);
	tape_lock_release(own.path, &lock, false);
	ck_assert_ok(tape_lock_take(own.path, &second, &err), &err);
	tape_lock_release(own.path, &second, true);
	model_release(&own);
}

START_TEST(tape_lock__a_file_that_was_removed_meanwhile_is_no_lock)
{
	check_lock_is_held_where_it_is_named(another_removes_the_file);
}
END_TEST

START_TEST(tape_lock__a_directory_that_was_removed_meanwhile_is_made_again)
{
	check_lock_is_held_where_it_is_named(another_removes_all);
}
END_TEST

START_TEST(tape_lock__leaves_nothing_of_a_tape_that_nothing_was_put_into)
{
	struct tape_writer *w;
	struct err err;

	model_init(&own, 3);
	ck_assert_ok(tape_writer_open(own.path, NULL, &w, &err), &err);
	tape_writer_abandon(w);
	ck_assert_int_eq(access(own.path, F_OK), -1);
	model_release(&own);
}
END_TEST

/* What the processes of a round share. */
struct round {
	int ready, told; /* processes that are there; that have told */
	int winners, busy, begin;
};

static void live(struct round *r)
{
	struct tape_writer *w = NULL;
	struct err err;
	int failed;

	__atomic_add_fetch(&r->ready, 1, __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&r->begin, __ATOMIC_SEQ_CST))
		;
	failed = tape_writer_open(own.path, NULL, &w, &err);
	__atomic_add_fetch(
		failed ? &r->busy : &r->winners, failed == 0 || failed == ERR_BUSY, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&r->told, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&r->told, __ATOMIC_SEQ_CST) < PROCESSES)
		sched_yield();
	if (w) {
		model_register(&own, w);
		model_steps(&own, w, 20, 5);
		failed = tape_writer_close(w, &err);
	}
	_exit(failed && failed != ERR_BUSY);
}

START_TEST(tape_lock__of_many_writers_that_begin_at_once_exactly_one_gets_the_tape)
{
	struct round *r = mmap(NULL, sizeof(*r), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	for (int i = 0; i < ROUNDS; i++) {
		int status, failed = 0;

		memset(r, 0, sizeof(*r));
		model_init(&own, 4);
		for (int k = 0; k < PROCESSES; k++) {
			if (fork() == 0)
				live(r);
		}
		while (__atomic_load_n(&r->ready, __ATOMIC_SEQ_CST) < PROCESSES)
			sched_yield();
		__atomic_store_n(&r->begin, 1, __ATOMIC_SEQ_CST);
		while (wait(&status) > 0)
			failed += status != 0;
		ck_assert_int_eq(failed, 0);
		ck_assert_int_eq(r->winners, 1);
		ck_assert_int_eq(r->busy, PROCESSES - 1);
		check_sound(own.path);
		model_release(&own);
	}
	munmap(r, sizeof(*r));
}
END_TEST

/* With something on it. */
static struct tape_writer *begin_tape(void)
{
	const struct event e = {.time_ns = 1, .type = EVENT_ADDED, .stream = 1};
	struct slice object =
		slice_of("{\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":\"1\"}}");
	struct tape_writer *w;
	struct err err;

	ck_assert_ok(tape_writer_open(own.path, NULL, &w, &err), &err);
	ck_assert(tape_writer_is_new(w));
	model_register(&own, w);
	ck_assert_int_eq(tape_writer_append(w, &e, object, NULL, &err), 0);
	ck_assert_ok(tape_writer_flush(w, &err), &err);
	return w;
}

START_TEST(writer__discards_a_tape_that_it_has_made_and_no_other)
{
	struct tape_writer *w;
	struct err err;

	model_init(&own, 6);
	w = begin_tape();
	tape_writer_discard(w);
	ck_assert_int_eq(access(own.path, F_OK), -1);
	w = begin_tape();
	ck_assert_ok(tape_writer_close(w, &err), &err);
	ck_assert_ok(tape_writer_open(own.path, NULL, &w, &err), &err);
	ck_assert(!tape_writer_is_new(w));
	tape_writer_discard(w);
	check_sound(own.path);
	model_release(&own);
}
END_TEST

START_TEST(writer__discards_nothing_where_another_tape_stands_by_now)
{
	struct tape_writer *w, *other;
	struct err err;
	char *moved;

	model_init(&own, 7);
	moved = xasprintf("%s.moved", own.path);
	w = begin_tape();
	ck_assert_int_eq(rename(own.path, moved), 0);
	other = begin_tape();
	tape_writer_discard(w);
	ck_assert_ok(tape_writer_close(other, &err), &err);
	check_sound(own.path);
	free(moved);
	model_release(&own);
}
END_TEST

START_TEST(tape_lock__a_fifo_in_its_place_is_refused_and_holds_nobody)
{
	struct tape_writer *w;
	struct err err;
	char *path;
	int fd;

	model_init(&own, 5);
	path = lock_path();
	ck_assert_int_eq(mkdir(own.path, 0700), 0);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_eq(tape_writer_open(own.path, NULL, &w, &err), ERR_CORRUPT);
	ck_assert_ptr_nonnull(strstr(err.text, "lock' is not a regular file"));
	ck_assert_ok(tape_lock_share(own.path, &fd, &err), &err);
	ck_assert_int_eq(fd, -1);
	free(path);
	model_release(&own);
}
END_TEST

UNIT_MAIN("tape lock", tape_lock__a_loser_that_made_the_directory_leaves_it_to_the_winner,
	tape_lock__a_file_that_was_removed_meanwhile_is_no_lock,
	tape_lock__a_directory_that_was_removed_meanwhile_is_made_again,
	tape_lock__leaves_nothing_of_a_tape_that_nothing_was_put_into,
	tape_lock__of_many_writers_that_begin_at_once_exactly_one_gets_the_tape,
	writer__discards_a_tape_that_it_has_made_and_no_other,
	writer__discards_nothing_where_another_tape_stands_by_now,
	tape_lock__a_fifo_in_its_place_is_refused_and_holds_nobody)
