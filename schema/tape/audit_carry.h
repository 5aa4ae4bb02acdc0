/* audit_carry.h: the audit book of a tape that is made of others. */
#ifndef SCHEMA_TAPE_AUDIT_CARRY_H
#define SCHEMA_TAPE_AUDIT_CARRY_H

#include "schema/tape/audit_book.h"

/* Copies the claims of those events that the new tape in `folder` has out of the books of the tapes `from` that have
 * one. `skips_damage`: what is damaged is left out instead of ending it with ERR_CORRUPT. */
int audit_carry(const char *const *from, size_t count, const char *folder, bool skips_damage,
	struct err *err) MUST_CHECK;

/* The same for a tape in which things have other names: each claim of the tape's book, as `rewrite` leaves it
 * (NULL: as it is); what it puts there lives until the next call. */
struct audit_rewrite {
	int (*rewrite)(void *context, struct audit_claim *claim, struct err *err);
	void *context;
};
int audit_carry_all(const char *from, const char *folder, const struct audit_rewrite *rewrite,
	struct err *err) MUST_CHECK;

/* Puts the book of a tape that was made in a folder beside the one file that the tape has become. */
int audit_carry_out(const char *folder, const char *file, struct err *err) MUST_CHECK;

#endif
