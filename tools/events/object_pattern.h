/*
 * object_pattern.h: which objects a person wants to see: "pods", "deploy,rs", "pods/web-?", or "*" for any,
 * resource; resources as kubectl names them, and after a slash the name as a shell's pattern. Without a pattern everything is wanted but
 * bookkeeping (tools/out/bookkeeping.h), which has to be named.
 */
#ifndef TOOLS_OBJECT_PATTERN_H
#define TOOLS_OBJECT_PATTERN_H

#include "schema/tape/reader.h"

struct object_patterns;

enum object_wanted { OBJECT_UNWANTED, OBJECT_WANTED, OBJECT_BOOKKEEPING /* wanted if it were not that */ };

/* `everything`: bookkeeping as well. ERR_NOT_FOUND if the tape has no such resource, ERR_USAGE for an invalid
 * pattern. Resources that a tape gets later are those of "*" alone. */
int object_patterns_new(struct tape *t, char *const *words, size_t count, bool everything,
	struct object_patterns **ret, struct err *err) MUST_CHECK;
void object_patterns_free(struct object_patterns *p);

/* Whether objects of the resource may be wanted at all; of that name. */
enum object_wanted object_patterns_resource(const struct object_patterns *p, const struct tape_resource *r);
bool object_patterns_name(const struct object_patterns *p, const struct tape_resource *r, struct slice name);

/* Whether the resource was named, not only meant by "everything". */
bool object_patterns_names_resource(const struct object_patterns *p, const struct tape_resource *r);

#endif
