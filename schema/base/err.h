/*
 * err.h: how a function says that it failed.
 *
 * A fallible function returns 0 (or a count) on success and one of the negative codes below on failure, takes
 * a `struct err *` as its last parameter and puts one finished sentence into it, made where the facts are:
 * lower case, no full stop, what failed first, the subject quoted, what was found and what was expected. The
 * sentence is printed once, by the command that gives up.
 *
 * Callers that do not need the sentence pass NULL, to any function. So a function returns the code that its
 * callee returned, and never looks into an err that it was given: it only passes it on, to callees and to the
 * functions below. A function that reads a sentence takes `const struct err *`, which is never NULL.
 */
#ifndef SCHEMA_BASE_ERR_H
#define SCHEMA_BASE_ERR_H

#include <stddef.h>

enum err_code {
	ERR_FAILED = -1,    /* the world refused in a way that no other code covers; nothing was changed */
	ERR_USAGE = -2,     /* the caller's words make no sense (options, names, times); nothing was tried */
	ERR_CORRUPT = -3,   /* no tape, or bytes that are not what was written; the others stay readable */
	ERR_NOT_FOUND = -4, /* the thing named does not exist: file, resource, event */
	ERR_IO = -5, /* the system refused a read or write (EIO, EACCES, ...); what was durable still is */
	ERR_NO_SPACE = -6,   /* disk full or quota used up; what was durable still is, the caller may retry */
	ERR_BUSY = -7,       /* another process holds the tape for writing; nothing was changed */
	ERR_NETWORK = -8,    /* the peer cannot be reached or broke the connection; worth a retry */
	ERR_DENIED = -9,     /* the peer refused our credentials or rights (401, 403) */
	ERR_PROTOCOL = -10,  /* the peer said something that is not the protocol */
	ERR_TOO_LARGE = -11, /* something from outside exceeds the maximum set for it */
	ERR_STOPPED = -12,   /* asked to stop (signal, time limit) before the work was done */
};

#define ERR_TEXT_MAX 1024

struct err {
	int code;                /* 0 or one of enum err_code */
	char text[ERR_TEXT_MAX]; /* the sentence; always terminated, cut when too long */
};

#define MUST_CHECK __attribute__((warn_unused_result))

/* Sets code and sentence, returns the code, so that `return err_set(err, ERR_IO, ...)` is one line. */
int err_set(struct err *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Like err_set, followed by ": " and the system's words for errnum; ENOSPC and EDQUOT become ERR_NO_SPACE,
 * ENOENT ERR_NOT_FOUND, everything else ERR_IO. */
int err_set_errno(struct err *err, int errnum, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Puts "prefix: " before the sentence already in err, and the code, which is as a rule that of the call that
 * wrote the sentence; returns the code. */
int err_prefix(struct err *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* As err_prefix, with "; " and the words after the sentence. */
int err_suffix(struct err *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Another code for the same sentence; returns it. */
int err_recode(struct err *err, int code);

/* Copies an error that was kept; returns its code. */
int err_copy(struct err *err, const struct err *from);

#endif
