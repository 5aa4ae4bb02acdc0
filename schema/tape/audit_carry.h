/* audit_carry.h: the audit book of a tape that is made of others. */
#ifndef SCHEMA_TAPE_AUDIT_CARRY_H
#define SCHEMA_TAPE_AUDIT_CARRY_H

#include "schema/tape/audit_book.h"

/* Copies claims from the books of the tapes `from`, if they have one: those of events that the new tape in
 * `folder` has. `skips_damage`: leave out damaged claims instead of failing with ERR_CORRUPT. */
int audit_carry(const char *const *from, size_t count, const char *folder, bool skips_damage,
	struct err *err) MUST_CHECK;

/* Like audit_carry, for a tape in which things have other names: copies each claim of the tape's book as
 * `rewrite` leaves it (NULL: unchanged). What `rewrite` puts there must live until its next call. */
struct audit_rewrite {
	int (*rewrite)(void *context, struct audit_claim *claim, struct err *err);
	void *context;
};
int audit_carry_all(const char *from, const char *folder, const struct audit_rewrite *rewrite,
	struct err *err) MUST_CHECK;

/* Puts the book of a tape that was made in a folder beside the one file that the tape has become. */
int audit_carry_out(const char *folder, const char *file, struct err *err) MUST_CHECK;

#endif
