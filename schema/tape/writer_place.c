/*
 * writer_place.c: whether the tape is still where it was opened. A tape that is removed or moved under its
 * writer takes everything that is written, through files that are open, and nobody finds it there.
 */
#include "schema/tape/format.h"
#include "schema/tape/writer_internal.h"

#include <sys/stat.h>

static bool is_segment_in_place(const struct tape_writer *w)
{
	int moved = 0;

	if (w->db)
		sqlite3_file_control(w->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
	return !moved;
}

static bool is_removed(const struct tape_writer *w)
{
	struct stat st;

	return fstat(w->lock.fd, &st) == 0 && st.st_nlink == 0;
}

/* By its path: closing the database would remove the log of another tape that stands there by now. */
static void let_log_be(struct tape_writer *w)
{
	int yes = 1;

	if (w->db)
		sqlite3_file_control(w->db, "main", SQLITE_FCNTL_PERSIST_WAL, &yes);
}

static int say_what_happened(const struct tape_writer *w, bool has_lock, bool has_segment, struct err *err)
{
	if (has_lock)
		return err_set(err, ERR_NOT_FOUND,
			"tape '%s' was changed while it was being written: its open segment, %u, was removed or replaced",
			w->path, w->segment);
	if (has_segment)
		return err_set(err, ERR_NOT_FOUND,
			"tape '%s' was changed while it was being written: its file '" FORMAT_LOCK_NAME
			"' was removed or replaced",
			w->path);
	if (is_removed(w))
		return err_set(err, ERR_NOT_FOUND,
			"tape '%s' was removed while it was being written: what was recorded is lost",
			w->path);
	return err_set(err, ERR_NOT_FOUND,
		"tape '%s' was moved or replaced while it was being written: what was recorded until now is where it "
		"was moved to",
		w->path);
}

int tape_writer_check_place(struct tape_writer *w, struct err *err)
{
	bool has_lock = tape_lock_is_in_place(w->path, &w->lock), has_segment = is_segment_in_place(w);

	if (has_lock && has_segment)
		return 0;
	w->misplaced = true;
	let_log_be(w);
	return say_what_happened(w, has_lock, w->db && has_segment, err);
}
