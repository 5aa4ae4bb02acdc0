/* push_account.c: see push_account.h. */
#include "recorder/push/push_account.h"

#include "recorder/push/push_note.h"

#include <inttypes.h>
#include <string.h>

/* Removed here before it was pushed: that is told as such. */
static bool is_lost(const struct manifest *m, uint32_t number)
{
	for (size_t i = 0; i < m->loss_count; i++) {
		if (number >= m->losses[i].first && number <= m->losses[i].last)
			return true;
	}
	return false;
}

uint64_t push_account(const char *tape_path, const char *url, const struct manifest *m, uint32_t first_here,
	uint32_t *ret_first)
{
	uint64_t missing = 0;
	struct push_note note;

	if (!push_note_read(tape_path, m->tape_id, PUSH_NOTE_CLICKHOUSE, &note))
		return 0;
	*ret_first = strcmp(note.url, url) == 0 ? note.first : 0;
	for (uint32_t n = *ret_first; n && n <= note.through && n < first_here; n++)
		missing += !manifest_has(m, n) && !is_lost(m, n);
	push_note_release(&note);
	return missing;
}

char *push_account_tell(const char *url, uint64_t missing)
{
	return xasprintf("'%s' lacks %" PRIu64 " segment%s that it had, and that %s not here any more", url,
		missing, missing == 1 ? "" : "s", missing == 1 ? "is" : "are");
}
