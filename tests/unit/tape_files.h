/* tape_files.h: the files of a model's tape, to be damaged, and a reader that looks at all of it. */
#ifndef TESTS_UNIT_TAPE_FILES_H
#define TESTS_UNIT_TAPE_FILES_H

#include "tests/unit/tape_model.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

/* A file of the tape, for reading and writing also when it is sealed; the caller closes. */
static inline int model_open_file(const struct model *m, const char *name, uint64_t *ret_size)
{
	char *path = xasprintf("%s/%s", m->path, name);
	struct stat st;
	int fd;

	ck_assert_int_eq(chmod(path, 0600), 0);
	fd = open(path, O_RDWR);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fstat(fd, &st), 0);
	*ret_size = (uint64_t)st.st_size;
	free(path);
	return fd;
}

/* Reads every event and its object; 0, or the first failure. */
static inline int model_read_tape(const struct model *m, struct err *err)
{
	struct tape_cursor *c;
	struct slice object;
	struct event e;
	struct tape *t;
	int more = tape_open(m->path, &t, err);

	if (more)
		return more;
	ck_assert_ok(tape_cursor_open(t, NULL, TAPE_FORWARD, &c, err), err);
	while ((more = tape_cursor_next(c, &e, err)) > 0 && (more = tape_cursor_object(c, &object, err)) == 0)
		;
	tape_cursor_close(c);
	tape_close(t);
	return more;
}

/* Checks every event that the cursor gives until its end, which are those behind *seen up to the last. */
static inline void model_check_rest(const struct model *m, struct tape_cursor *c, uint64_t *seen)
{
	struct slice object;
	struct event e;
	struct err err;

	while (tape_cursor_next(c, &e, &err) > 0) {
		ck_assert_uint_eq(e.seq, ++*seen);
		ck_assert_ok(tape_cursor_object(c, &object, &err), &err);
		model_check_event(m, &e, object);
	}
	ck_assert_uint_eq(*seen, m->count);
}

#endif
