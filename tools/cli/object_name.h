/*
 * object_name.h: the object whose events a person asks for: RESOURCE/NAME or RESOURCE NAME, as kubectl takes
 * them, or its UID or a unique beginning of it.
 */
#ifndef TOOLS_OBJECT_NAME_H
#define TOOLS_OBJECT_NAME_H

#include "schema/sql/session.h"

struct object_name {
	bool by_uid; /* else by resource and name */
	char *text;  /* for sentences; the caller frees */
};

/* `words`: one or two. Sets the session's parameters :uid, or :apigroup, :version, :resource and :name.
 * ERR_USAGE for a resource without a name, and for a beginning of several UIDs; ERR_NOT_FOUND if the tape
 * has no such resource or UID. */
int object_name_choose(struct sql_session *s, const char *tape_path, char *const *words, size_t count,
	struct object_name *ret, struct err *err) MUST_CHECK;

#endif
