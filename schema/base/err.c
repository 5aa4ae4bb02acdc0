/* err.c: see err.h. */
#include "schema/base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *err, int code, const char *format, ...)
{
	va_list ap;

	if (!err)
		return code;
	err->code = code;
	va_start(ap, format);
	vsnprintf(err->text, sizeof(err->text), format, ap);
	va_end(ap);
	return code;
}

static int code_of_errno(int errnum)
{
	switch (errnum) {
	case ENOSPC:
	case EDQUOT: return ERR_NO_SPACE;
	case ENOENT: return ERR_NOT_FOUND;
	default: return ERR_IO;
	}
}

int err_set_errno(struct err *err, int errnum, const char *format, ...)
{
	int rc = code_of_errno(errnum), n;
	char words[128];
	va_list ap;

	if (!err)
		return rc;
	err->code = rc;
	va_start(ap, format);
	n = vsnprintf(err->text, sizeof(err->text), format, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < sizeof(err->text))
		snprintf(err->text + n, sizeof(err->text) - (size_t)n, ": %s",
			strerror_r(errnum, words, sizeof(words)));
	return rc;
}

int err_prefix(struct err *err, int code, const char *format, ...)
{
	char prefix[ERR_TEXT_MAX], old[ERR_TEXT_MAX];
	va_list ap;

	if (!err)
		return code;
	va_start(ap, format);
	vsnprintf(prefix, sizeof(prefix), format, ap);
	va_end(ap);
	memcpy(old, err->text, sizeof(old));
	snprintf(err->text, sizeof(err->text), "%.400s: %.600s", prefix, old);
	return err_recode(err, code);
}

int err_suffix(struct err *err, int code, const char *format, ...)
{
	char suffix[ERR_TEXT_MAX], old[ERR_TEXT_MAX];
	va_list ap;

	if (!err)
		return code;
	va_start(ap, format);
	vsnprintf(suffix, sizeof(suffix), format, ap);
	va_end(ap);
	memcpy(old, err->text, sizeof(old));
	snprintf(err->text, sizeof(err->text), "%.600s; %.400s", old, suffix);
	return err_recode(err, code);
}

int err_recode(struct err *err, int code)
{
	if (err)
		err->code = code;
	return code;
}

int err_copy(struct err *err, const struct err *from)
{
	if (err)
		*err = *from;
	return from->code;
}
