/*
 * new_tape.h: a tape that is made at one go: it has another name until it is whole, so that nobody takes a
 * half for the whole, and nothing is left of it when its making fails.
 */
#ifndef SCHEMA_TAPE_NEW_TAPE_H
#define SCHEMA_TAPE_NEW_TAPE_H

#include "schema/base/buf.h"

#include <stdbool.h>

struct new_tape {
	char *path;      /* that it will have */
	char *temporary; /* an empty folder, to write it to */
	bool is_file;    /* the folder becomes one file, by the name of the tape */
};

/* Whether a tape of that name is one file. */
bool new_tape_is_file(const char *path);

/* The process that makes the tape which has that temporary name, or made it until it was killed; 0: the name is none of that
 * kind. *ret_name: the name that the tape is to have, a part of `name`. */
long new_tape_maker(const char *name, struct slice *ret_name);

/* ERR_USAGE if something has that name already. On success new_tape_end must follow. */
int new_tape_begin(const char *path, struct new_tape *ret, struct err *err) MUST_CHECK;

/* Gives the tape its name, or, after a failure, removes it and returns that code. What becomes one file is made
 * one segment before, if it is several. */
int new_tape_end(struct new_tape *n, int failed, struct err *err) MUST_CHECK;

#endif
